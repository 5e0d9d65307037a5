//! The sizes of blocks.

use super::*;
use crate::engine::read::merge::{Merge, MergeStep};
use crate::engine::rows::keys::{full_key, tree_range};
use crate::engine::segment::cache::{Pins, RecordId, Usage};
use crate::format::record::MAX_COLUMNS_RAW;
use crate::model::InstanceKind;
use crate::storage::Storage;

/// I4: a dense block is never so large that it would not be split into columns, however well its rows compress.
#[test]
fn i4_each_block_of_a_capacity_instance_is_in_columns() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let options = Options { reserve_bytes: 0, ..Options::of(InstanceKind::Capacity) };
    let engine = open(&env, &storage, &options);
    let text =
        |row: i64| format!("{:016x} {}", row.unsigned_abs().wrapping_mul(0x9E37_79B9_7F4A_7C15), "again ".repeat(30));
    env.run(async {
        for row in 0..15_000 {
            let text = text(row);
            let cell = CellChange { column: "a", op: CellOp::Put(5, ValueRef::String(&text)) };
            write(&engine, &format!("k{row:05}"), ChangeKind::Put, 5, &[cell]).await;
        }
        engine.flush().await.expect("flushed");
        engine.compact().await.expect("compacted");
    });
    let segments = engine.store.view.borrow().version.segments();
    let ids = segments.values().flat_map(|segment| (0..segment.blocks).map(|block| segment.block(block)));
    let records = env.run(storage.get_blocks(&ids.collect::<Vec<_>>())).expect("read");
    let raws = records.iter().flatten().map(|record| u32::from_le_bytes(record[8..12].try_into().expect("four")));
    let raws: Vec<usize> = raws.map(|raw| raw as usize).collect();
    assert!(raws.iter().all(|raw| *raw <= MAX_COLUMNS_RAW) && raws.iter().any(|raw| *raw > 500_000), "{raws:?}");
}

/// R3, R5: a read of single keys may decode these rows of a block alone. A walk over such a block would leave rows out without a
/// word, so it takes none, and asks for the whole block.
#[test]
fn r3_a_walk_takes_no_block_of_which_single_rows_were_decoded() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &Options::default());
    env.run(async {
        for row in 0..2000 {
            write(&engine, &format!("k{row:04}"), ChangeKind::Put, 1, &[put("x", 1, row)]).await;
        }
        engine.flush().await.expect("flushed");
    });
    env.crash();
    let engine = open(&env, &storage, &Options::default());
    let (range, key) = (tree_range(TREE, all()), full_key(TREE, b"k1000"));
    let segment = engine.store.view.borrow().version.segments().values().next().expect("one").clone();
    let mut pins = Pins::default();
    let wants = [RecordId::Meta(segment.meta())];
    env.run(engine.reader.load_records(&wants, &mut pins, Usage::All)).expect("read");
    let blocks: Vec<RecordId> = (0..segment.blocks).map(|block| RecordId::Block(segment.block(block))).collect();
    env.run(engine.reader.load_records(&blocks, &mut pins, Usage::Rows(&[&key]))).expect("read");
    let rows = |id: crate::storage::BlockId| engine.store.cache.rows(id, &pins).expect("pinned").len();
    let decoded: usize = blocks.iter().map(|block| rows(block.id())).sum();
    assert!((1..200).contains(&decoded), "{decoded} rows are decoded of 2000");

    let snapshot = engine.store.snapshot(None, TREE, None);
    let mut merge = Merge::new(snapshot.sources(&range), range, Direction::Forward, snapshot.seqno);
    let mut visited = 0;
    let step = merge.step(&engine.store.cache, &pins, &mut |_, _| {
        visited += 1;
        Ok(ControlFlow::Continue(()))
    });
    assert!(matches!(step, Ok(MergeStep::Need(..))), "the walk asks for the whole block");
    assert_eq!(visited, 0);
}
