//! Damaged records: each harms what depends on it, and nothing else.

use crate::store::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tabstore::Code;
use tabstore::engine::{ClockMode, Direction, Options, Shape};
use tabstore::model::KeyType;
use tabstore::storage::faults::{Call, Hook, Record};
use tabstore::storage::{BlockId, SegmentId, Storage};
use tabstore::tablestore::{Instance, InstanceOptions, OptionsChange};

/// Flips a bit of records, as long as they are listed.
#[derive(Default)]
pub(crate) struct Damage(RefCell<Vec<Record>>, Cell<SegmentId>);

impl Damage {
    pub(crate) fn of(record: Record) -> Self {
        Self(RefCell::new(vec![record]), Cell::default())
    }
}

impl Hook for Damage {
    async fn after(&self, call: &Call) -> tabstore::Result<()> {
        if let Call::Stage(segment, ..) = call {
            self.1.set(*segment);
        }
        Ok(())
    }

    fn read(&self, record: Record, bytes: bytes::Bytes) -> bytes::Bytes {
        if !self.0.borrow().contains(&record) {
            return bytes;
        }
        let mut bytes = bytes.to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        bytes.into()
    }
}

/// Remembers which records of segments were read.
#[derive(Default)]
struct Reads(RefCell<Vec<BlockId>>);

impl Hook for Reads {
    fn read(&self, record: Record, bytes: bytes::Bytes) -> bytes::Bytes {
        if let Record::Block(id) = record {
            self.0.borrow_mut().push(id);
        }
        bytes
    }
}

/// Two tables, `hurt` and `whole`, in a store where everything is read from the storage.
struct World {
    store: Store,
    damage: Rc<Damage>,
    instance: Rc<Instance>,
    told: Rc<RefCell<Vec<String>>>,
}

const ROWS: i64 = 200;

impl World {
    fn new() -> Self {
        let shape = Shape { level0_parts: 4, partition_operations: 0, ..Shape::TINY };
        let options = Options { clock: ClockMode::Injected, cache_bytes: 1, shape, ..Options::default() };
        let store = Store::with(InstanceOptions::default(), options);
        for table in ["hurt", "whole"] {
            store.create(table, &[("id", KeyType::Integer)], OptionsChange::default());
            for row in 0..ROWS {
                store.write(&put(table, id(row), &[cell("a", int(row))])).expect("put");
            }
        }
        store.compact();
        store.env.run(store.instance.close());
        let damage = Rc::new(Damage::default());
        let instance = store.opened_with(Rc::clone(&damage)).expect("opens");
        let told = Rc::new(RefCell::new(Vec::new()));
        let heard = Rc::clone(&told);
        instance.on_trouble(move |trouble| {
            let trouble = trouble.expect("nothing is mended");
            assert_eq!(trouble.code(), Code::Corrupt);
            heard.borrow_mut().push(trouble.message().to_owned());
        });
        Self { store, damage, instance, told }
    }

    /// Damages the block in which the middle row of `hurt` lies. Only this table has several segments with many blocks.
    fn damage_middle_block(&self) {
        let segments = self.store.env.run(self.store.storage.list_segments()).expect("listed");
        let mut found = None;
        for segment in segments {
            for block in 0..100 {
                let record = Record::Block(BlockId { segment, block });
                *self.damage.0.borrow_mut() = vec![record];
                let mut rows = Rows::default();
                let get = tabstore::tablestore::GetRow {
                    table: tabstore::model::TableName::parse("hurt").expect("a name"),
                    key: id(ROWS / 2),
                    options: versions(1),
                };
                if self.store.env.run(self.instance.get_row(&get, &mut rows)).is_err() {
                    found = found.or(Some(record));
                }
            }
        }
        *self.damage.0.borrow_mut() = vec![found.expect("a record that the row depends on")];
        // Indexes were damaged too.
        self.told.take();
    }

    /// Rounds of writes to every row of `whole` and one of `hurt`, each flushed, and the background work that follows.
    fn go_on(&self, rounds: i64) {
        for round in 0..rounds {
            // Rows are stamped without being read.
            self.store.env.advance(1);
            for row in 0..ROWS {
                self.store
                    .env
                    .run(self.instance.write_row(&put("whole", id(row), &[cell("a", int(round))]), None))
                    .expect("put");
            }
            self.store
                .env
                .run(self.instance.write_row(&put("hurt", id(round), &[cell("a", int(-round))]), None))
                .expect("put");
            self.store.env.run(self.instance.flush()).expect("flushed");
            self.store.env.run_until_idle();
        }
    }

    /// Parts in level 0 for each partition of a table.
    fn level0(&self, table: &str) -> u64 {
        let tree = self.instance.tree_of(tabstore::model::TableName::parse(table).expect("a name")).expect("there");
        let metrics = self.instance.metrics();
        let tree = metrics.trees.iter().find(|one| one.tree == tree).expect("stored");
        tree.levels.first().map_or(0, |level| level.segments) / tree.partitions.len().max(1) as u64
    }
}

#[test]
fn q_a_damaged_block_stops_the_compaction_of_its_partition_alone_and_is_told() {
    let world = World::new();
    world.go_on(1);
    world.damage_middle_block();
    world.go_on(60);
    assert!(world.level0("whole") <= 8, "{} parts", world.level0("whole"));
    let metrics = world.instance.metrics();
    assert_eq!((metrics.failed_compactions, metrics.passed_partitions), (1, 1), "the pause is not over");
    let told = world.told.take();
    assert_eq!(told.len(), 1);
    assert!(
        told[0].starts_with("Table 'hurt': Partition ") && told[0].contains(" is not compacted for 1 min: "),
        "{told:?}"
    );
    // The pause doubles.
    for (minutes, failed) in [(1, 2), (1, 2), (1, 3), (3, 3), (1, 4)] {
        world.store.env.advance(minutes * 60_000);
        world.go_on(1);
        assert_eq!(world.instance.metrics().failed_compactions, failed);
    }
    // `compact()` compacts what it can, and names the record.
    let refusal = refused(world.store.env.run(world.instance.compact()));
    assert!(refusal.contains("Corrupt") && refusal.contains("segment"), "{refusal}");
    assert_eq!(world.level0("whole"), 0);
    // The record is whole again: life goes on.
    world.damage.0.borrow_mut().clear();
    world.store.env.advance(3_600_000);
    world.go_on(1);
    assert_eq!(world.instance.metrics().passed_partitions, 0);
    assert!(world.level0("hurt") <= 4);
}

/// Flushes to many partitions are compacted in one job: one unreadable partition harms no other one.
#[test]
fn q_a_damaged_block_of_what_many_partitions_gather_harms_those_that_need_it_alone() {
    let world = World::new();
    let flush = |round: i64, step: usize| {
        world.store.env.advance(1);
        for row in (0..6000).step_by(step) {
            // Nothing compresses it.
            let noise = (row + round).wrapping_mul(0x1E37_79B9_7F4A_7C15);
            let write = put("hurt", id(row), &[cell("a", int(noise))]);
            world.store.env.run(world.instance.write_row(&write, None)).expect("put");
        }
        world.store.env.run(world.instance.flush()).expect("flushed");
    };
    flush(0, 1);
    world.store.env.run_until_idle();
    flush(1, 50);
    let flushed = world.damage.1.get();
    *world.damage.0.borrow_mut() = vec![Record::Block(BlockId { segment: flushed, block: 0 })];
    for round in 2..40 {
        flush(round, 50);
        world.store.env.run_until_idle();
    }
    let metrics = world.instance.metrics();
    let tree = metrics.trees.iter().max_by_key(|tree| tree.partitions.len()).expect("a tree");
    let passed = usize::try_from(metrics.passed_partitions).expect("few");
    assert!((1..tree.partitions.len() / 2).contains(&passed), "{passed} of {}", tree.partitions.len());
    assert_eq!(metrics.failed_compactions, metrics.passed_partitions, "each has failed once");
    let waiting = usize::try_from(tree.levels.first().expect("level 0").segments).expect("few");
    assert!(waiting <= 40 * passed + 4 * (tree.partitions.len() - passed), "{waiting} parts in level 0");
}

#[test]
fn q_a_damaged_index_costs_no_row_and_is_told_until_compact_stores_it_anew() {
    let world = World::new();
    let all = |world: &World| {
        let mut rows = Rows::default();
        world.store.env.run(world.instance.get_range(&range("hurt", Direction::Forward), &mut rows)).expect("read");
        rows.0.len() as i64
    };
    let seen = Rc::new(Reads::default());
    let other = world.store.opened_with(Rc::clone(&seen)).expect("opens");
    seen.0.take();
    world.store.env.run(other.get_range(&range("hurt", Direction::Forward), &mut Rows::default())).expect("read");
    let records = seen.0.take();
    let index = |id: &BlockId| !records.iter().any(|other| other.segment == id.segment && other.block > id.block);
    let indexes: Vec<_> = records.iter().filter(|id| index(id)).map(|id| Record::Block(*id)).collect();
    assert!(!indexes.is_empty());
    *world.damage.0.borrow_mut() = indexes.clone();
    for _ in 0..3 {
        assert_eq!(all(&world), ROWS);
    }
    let told = world.told.take();
    assert_eq!(told.len(), indexes.len(), "each once: {told:?}");
    assert!(told.iter().all(|text| text.starts_with("Table 'hurt': the index of segment ")), "{told:?}");
    world.store.env.run(world.instance.compact()).expect("compacted");
    assert_eq!((all(&world), world.told.take().len()), (ROWS, 0));
    let metrics = world.instance.metrics();
    assert_eq!((metrics.failed_compactions, metrics.passed_partitions), (0, 0));
}
