//! The building of an index that fails: it is told, and goes on by itself.

use crate::store::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tabstore::engine::{ClockMode, Direction, Options, Shape};
use tabstore::storage::faults::{Call, Hook, Record};
use tabstore::tablestore::{IndexDescription, IndexSpec, Instance, InstanceOptions, Outcome};
use tabstore::{Code, Error};

/// A disk that is full, or whose blocks are damaged, as long as a test says so.
#[derive(Default)]
struct Disk {
    full: Cell<bool>,
    damaged: Cell<bool>,
    /// Calls of any kind.
    calls: Cell<u64>,
}

impl Hook for Disk {
    async fn before(&self, call: &Call) -> tabstore::Result<()> {
        self.calls.set(self.calls.get() + 1);
        match call {
            Call::Commit(_) if self.full.get() => Err(Error::new(Code::QuotaExceeded, "no room")),
            _ => Ok(()),
        }
    }

    fn read(&self, record: Record, bytes: bytes::Bytes) -> bytes::Bytes {
        let mut bytes = bytes.to_vec();
        if self.damaged.get() && matches!(record, Record::Block(_)) {
            bytes[0] ^= 1;
        }
        bytes.into()
    }
}

/// A table `t` of so many rows, in a store that keeps nothing in memory.
struct World {
    store: Store,
    disk: Rc<Disk>,
    instance: Rc<Instance>,
    told: Rc<RefCell<Vec<String>>>,
}

const ROWS: i64 = 500;

impl World {
    fn new() -> Self {
        let shape = Shape { partition_operations: 0, ..Shape::DEFAULT };
        // A reserve would call the storage too.
        let (clock, reserve_bytes) = (ClockMode::Injected, 0);
        let options = Options { clock, cache_bytes: 1, reserve_bytes, shape, ..Options::default() };
        let store = Store::with(InstanceOptions::default(), options);
        store.create_with_number();
        (0..ROWS).for_each(|row| store.put(id(row), &[cell("n", int(-row))]));
        store.env.run(store.instance.flush()).expect("flushed");
        store.env.run(store.instance.close());
        let disk = Rc::new(Disk::default());
        let instance = store.opened_with(Rc::clone(&disk)).expect("opens");
        let told = troubles(&instance);
        Self { store, disk, instance, told }
    }

    /// Begins the index `x` of `t`, on a disk that is in a bad state at once.
    fn begin(&self, bad: &Cell<bool>) {
        let spec = IndexSpec { name: "x".into(), key: vec!["n".into()], ..IndexSpec::default() };
        self.store.env.run(self.instance.create_index("t", spec, true)).expect("created");
        bad.set(true);
        self.store.env.run_until_idle();
    }

    fn index(&self) -> IndexDescription {
        self.instance.describe_table("t").expect("there").indexes.remove(0)
    }

    /// The seconds, of those that follow, in which the storage is called, as looked at every `step` seconds.
    fn busy_seconds(&self, seconds: i64, step: i64) -> Vec<i64> {
        let busy = || {
            let before = self.disk.calls.get();
            self.store.env.advance(step * 1000);
            self.store.env.run_until_idle();
            self.disk.calls.get() > before
        };
        (1..=seconds / step).map(|at| at * step).filter(|_| busy()).collect()
    }

    fn read(&self) -> Outcome<usize> {
        let mut rows = Rows::default();
        let range = range("x", Direction::Forward);
        self.store.env.run(self.instance.get_range(&range, &mut rows)).map(|_| rows.0.len())
    }

    /// The reports since the last time.
    fn told(&self) -> Vec<String> {
        self.told.take()
    }
}

/// R6, T1: a full disk stops the building of an index for a while, and DescribeTable and health say so.
#[test]
fn r6_t1_a_build_that_a_full_disk_stopped_goes_on_by_itself() {
    let world = World::new();
    world.begin(&world.disk.full);
    let index = world.index();
    assert_eq!((index.building, index.built_rows), (true, 0));
    assert_eq!(index.failure, Some(Error::new(Code::QuotaExceeded, "no room")));
    assert_eq!(world.told(), ["QuotaExceeded: Table 't': Index 'x' is not built, the next try is in 1 s: no room"]);
    assert_eq!(world.busy_seconds(60, 1), [1, 3, 7, 15, 31], "the pause doubles");
    assert!(world.told()[4].contains("the next try is in 32 s"));
    world.disk.full.set(false);
    assert_eq!(world.busy_seconds(60, 1), [3]);
    let index = world.index();
    assert_eq!((index.building, index.built_rows, index.failure), (false, 500, None));
    assert_eq!((world.told(), world.read().expect("it can be read")), (vec!["mended".to_owned()], 500));
}

/// R6: a pause that follows progress is a short one again.
#[test]
fn r6_a_build_that_fails_after_progress_waits_as_little_as_at_first() {
    let world = World::new();
    world.begin(&world.disk.full);
    assert_eq!(world.busy_seconds(20, 1), [1, 3, 7, 15]);
    world.disk.full.set(false);
    world.store.env.advance(11_000);
    // The first slice is stored; those behind it are not.
    world.store.env.run(async {
        while world.index().built_rows == 0 || world.index().failure.is_some() {
            tabstore::env::Env::yield_now(&world.store.env).await;
        }
    });
    world.disk.full.set(true);
    world.store.env.run_until_idle();
    let built = world.index().built_rows;
    assert!((1..500).contains(&built), "{built}");
    let told = world.told();
    assert_eq!(told[5], "mended");
    assert!(told[6].contains("the next try is in 1 s"), "{told:?}");
    world.disk.full.set(false);
    assert_eq!(world.busy_seconds(10, 1), [1]);
    assert_eq!(world.read().expect("it can be read"), 500);
}

/// R6: nothing spins over a damaged record, and an index is built as soon as it may be.
#[test]
fn r6_a_build_that_meets_damage_is_tried_after_pauses_like_those_of_compaction() {
    let world = World::new();
    world.begin(&world.disk.damaged);
    assert_eq!(world.index().failure.expect("told").code(), Code::Corrupt);
    let minute = 60;
    assert_eq!(world.busy_seconds(20 * minute, 10), [1, 3, 7, 15].map(|at| at * minute));
    assert_eq!(world.told().len(), 5);
    let days = world.busy_seconds(10 * 24 * 60 * minute, 60 * minute);
    assert_eq!(days.windows(2).last().map(|two| two[1] - two[0]), Some(24 * 60 * minute), "a day at most");
    assert!(world.read().is_err());
    world.disk.damaged.set(false);
    assert_eq!(world.busy_seconds(25 * 60 * minute, 60 * minute).len(), 1);
    assert_eq!(world.read().expect("it can be read"), 500);
}

/// R6: `compact` tries at once, and does not make the tries more.
#[test]
fn r6_compact_tries_at_once_to_build_what_is_not_built() {
    let world = World::new();
    world.begin(&world.disk.full);
    for _ in 0..6 {
        let _ = world.store.env.run(world.instance.compact());
        world.store.env.run_until_idle();
    }
    assert!(world.told().last().expect("told").contains("the next try is in 64 s"));
    assert_eq!(world.busy_seconds(150, 1), [64]);
    world.disk.full.set(false);
    world.store.env.run(world.instance.compact()).expect("compacted");
    world.store.env.run_until_idle();
    assert_eq!(world.read().expect("it can be read"), 500);
    assert_eq!(world.busy_seconds(600, 1), [0; 0]);
}

/// R6: an index that is dropped while it waits for another try is gone; another of its name is none the worse for it.
#[test]
fn r6_a_dropped_index_is_not_built_any_more() {
    let world = World::new();
    world.begin(&world.disk.damaged);
    world.store.env.run(world.instance.drop_index("t", "x")).expect("dropped");
    world.store.env.run_until_idle();
    assert_eq!((world.told().len(), world.busy_seconds(600, 1)), (1, vec![]));
    world.begin(&world.disk.damaged);
    assert_eq!(world.busy_seconds(100, 1), [60], "that is the new one's");
    world.disk.damaged.set(false);
    world.store.env.run(world.instance.delete_table("t")).expect("deleted");
    world.store.env.run_until_idle();
    assert_eq!((world.told().len(), world.busy_seconds(600, 1)), (2, vec![]));
}

/// R6: an instance that is closed while a build waits holds on to nothing, and says nothing any more.
#[test]
fn r6_a_closed_instance_builds_nothing_any_more() {
    let world = World::new();
    world.begin(&world.disk.full);
    let gone = Rc::downgrade(&world.instance);
    world.store.env.run(world.instance.close());
    assert_eq!((world.told().len(), world.busy_seconds(600, 1)), (1, vec![]));
    drop(world.instance);
    assert!(gone.upgrade().is_none());
}
