//! The capacity meter (C1): a request from before its table was deleted counts, whenever it is answered.

use crate::store::*;
use futures_util::future::{join, join4};
use std::rc::Rc;
use tabstore::engine::Direction;
use tabstore::model::meter::{Period, Prices, Units};
use tabstore::model::{Consumed, KeyColumn, KeyType, TableName, ValueRef};
use tabstore::storage::faults::{Call, Gates};
use tabstore::tablestore::{
    ComputeConsumed, CreateTable, Existence, GetRow, Instance, OptionsChange, Outcome, SplitRequest, TableRead,
};

/// A table `t` whose blocks come only when a test says so.
struct World {
    store: Store,
    gates: Rc<Gates>,
    instance: Rc<Instance>,
}

impl World {
    fn new() -> Self {
        let store = Store::with_table(OptionsChange::default());
        let blob = vec![9_u8; 300_000];
        (1..5).for_each(|row| store.put(id(row), &[cell("a", ValueRef::Binary(&blob))]));
        store.env.run(store.instance.flush()).expect("flushed");
        let gates = Rc::new(Gates::default());
        let instance = store.opened_with(Rc::clone(&gates)).expect("opens");
        Self { store, gates, instance }
    }

    /// The units used so far. From now on no blocks come.
    async fn begin(&self) -> Units {
        let used = self.used(None).await;
        self.gates.hold(|call| matches!(call, Call::GetBlocks(_)));
        used
    }

    /// Deletes the table, makes another one of its name, and lets the blocks come.
    async fn replace_table(&self) {
        self.instance.delete_table("t").await.expect("deleted");
        let key = vec![KeyColumn::new("id", KeyType::Integer)];
        let again = CreateTable { name: "t".into(), key, ..CreateTable::default() };
        self.instance.create_table(again).await.expect("created");
        self.gates.open();
    }

    async fn used(&self, table: Option<&str>) -> Units {
        let (table, prices) = (table.map(Into::into), Prices::default());
        let request = ComputeConsumed { table, start: None, end: None, period: Period::Hour, prices };
        self.instance.compute_consumed(&request).await.expect("computed").total.consumed
    }

    /// The meter has counted what the callers were told, and none of it for the table that is new.
    async fn check(&self, before: Units, told: &[Consumed]) {
        let told = told.iter().fold(Consumed::default(), |sum, one| sum + *one);
        self.store.env.advance(5000);
        let after = self.used(None).await;
        let counted = (after.read - before.read, after.write - before.write);
        assert_eq!(counted, (f64::from(told.read), f64::from(told.write)));
        let new = self.used(Some("t")).await;
        assert_eq!((new.read, new.write), (0.0, 0.0), "the table that has its name now has used nothing");
    }
}

fn told<T>(outcome: Outcome<T>, consumed: impl FnOnce(T) -> Consumed) -> Consumed {
    outcome.map_or_else(|failure| failure.consumed, consumed)
}

/// C1: a write that is answered after its table was deleted is metered.
#[test]
fn c1_a_write_that_is_answered_after_its_table_was_deleted_is_metered() {
    let world = World::new();
    world.store.env.run(async {
        let before = world.begin().await;
        let write = |row| expecting(Existence::ExpectExist, put("t", id(row), &[cell("a", int(2))]));
        let (one, batch, atomic) = (write(1), [write(2)], [write(3)]);
        let (one, batch, atomic, ()) = join4(
            world.instance.write_row(&one, None),
            world.instance.batch_write_row(&batch, None),
            world.instance.batch_write_row_atomic(&atomic, None),
            world.replace_table(),
        )
        .await;
        let rows = [one, batch.expect("right").remove(0), atomic.expect("right").remove(0)];
        let rows = rows.map(|row| told(row, |written| written.consumed));
        assert!(rows.iter().all(|row| (row.read, row.write) == (1, 1)), "{rows:?}");
        world.check(before, &rows).await;
    });
}

/// C1: so is a read.
#[test]
fn c1_a_read_that_is_answered_after_its_table_was_deleted_is_metered() {
    let world = World::new();
    world.store.env.run(async {
        let before = world.begin().await;
        let table = TableName::parse("t").expect("a name");
        let row = GetRow { table, key: id(1), options: versions(1) };
        let batch = [TableRead { table, keys: vec![id(2)], options: versions(1) }];
        let split = SplitRequest { table: "t", split_size: 1, unit: Some(1 << 20), point_limit: None };
        let (range, mut rows) = (range("t", Direction::Forward), [(); 3].map(|()| Rows::default()));
        let [one, many, all] = &mut rows;
        let reads = join4(
            world.instance.get_row(&row, one),
            world.instance.get_range(&range, many),
            world.instance.batch_get_row(&batch, std::slice::from_mut(all)),
            world.instance.compute_split_points_by_size(&split),
        );
        let ((row, range, batch, splits), ()) = join(reads, world.replace_table()).await;
        let read = [
            told(row, |found| found.consumed),
            told(range, |read| read.consumed),
            told(batch.expect("right").remove(0).remove(0), |found| found.consumed),
            told(splits, |splits| splits.consumed),
        ];
        assert!(read[0].read == 74 && read[1].read == 293, "read as asked: {read:?}");
        world.check(before, &read).await;
    });
}
