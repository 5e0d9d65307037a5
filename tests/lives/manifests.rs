//! The cost of manifests, beside the data.

use std::cell::Cell;
use std::rc::Rc;
use tabstore::Result;
use tabstore::engine::{Engine, Options, Shape, TreeId};
use tabstore::env::sim::SimEnv;
use tabstore::model::{CellChange, CellOp, ChangeKind, RowChange, ValueRef};
use tabstore::storage::MemoryStorage;
use tabstore::storage::faults::{Call, Hook, Hooked};

/// Stored bytes of all manifests.
#[derive(Default)]
struct Stored(Cell<u64>);

impl Hook for Stored {
    async fn after(&self, call: &Call) -> Result<()> {
        if let Call::Commit(commit) = call
            && let Some((_, bytes)) = &commit.manifest
        {
            self.0.set(self.0.get() + bytes.len() as u64);
        }
        Ok(())
    }
}

/// Writes so many rows in random order into partitions that are small beside a memtable, so each flush reaches into all of
/// them. Tells the stored bytes of manifests, and how many partitions there are.
fn life(rows: u64) -> (u64, usize) {
    const TREE: TreeId = TreeId(1);
    let (env, stored) = (SimEnv::new(1_000_000), Rc::new(Stored::default()));
    let shape = Shape {
        block_bytes: 2000,
        segment_bytes: 16_000,
        level1_bytes: 8000,
        partition_bytes: 64_000,
        merge_bytes: 16_000,
        partition_operations: 0,
        ..Shape::DEFAULT
    };
    let options = Options { memtable_bytes: 40_000, cache_bytes: 4 << 20, shape, ..Options::default() };
    let storage = Hooked::new(MemoryStorage::new(), Rc::clone(&stored));
    let engine = env.run(Engine::open(storage, Rc::new(env.clone()), options)).expect("opens");
    for row in 0..rows {
        let scattered = row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        let key = [&[2][..], &(scattered | 1 << 63).to_be_bytes()].concat();
        let cells = [CellChange { column: "x", op: CellOp::Put(1, ValueRef::Integer(scattered.cast_signed())) }];
        let change = RowChange { kind: ChangeKind::Put, stamp: 1, cells: &cells };
        env.run(engine.write(TREE, &key, &change, None)).expect("written");
        if row.is_multiple_of(64) {
            env.run_until_idle();
        }
    }
    env.run_until_idle();
    (stored.0.get(), engine.partitions(TREE).len())
}

/// The stored bytes of versions grew with the square of the data: first because each was stored whole, then because a
/// flush named its part in each partition.
#[test]
fn p1_manifests_of_four_times_the_data_take_about_four_times_as_much() {
    let ((few, some), (much, many)) = (life(40_000), life(160_000));
    assert!(many > 3 * some, "{some} partitions, then {many}");
    assert!(much < 8 * few, "{few} bytes of manifests for {some} partitions, {much} for {many}");
}
