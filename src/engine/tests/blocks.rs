//! The sizes of blocks.

use super::*;
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
    let segments = engine.view.borrow().version.segments();
    let ids = segments.values().flat_map(|segment| (0..segment.blocks).map(|block| segment.block(block)));
    let records = env.run(storage.get_blocks(&ids.collect::<Vec<_>>())).expect("read");
    let raws = records.iter().flatten().map(|record| u32::from_le_bytes(record[8..12].try_into().expect("four")));
    let raws: Vec<usize> = raws.map(|raw| raw as usize).collect();
    assert!(raws.iter().all(|raw| *raw <= MAX_COLUMNS_RAW) && raws.iter().any(|raw| *raw > 500_000), "{raws:?}");
}
