//! Stored blocks under arithmetic on 32 bits.

use std::rc::Rc;
use tabstore::engine::{Engine, Options, TreeId};
use tabstore::model::{CellChange, CellOp, ChangeKind, RowChange, ValueRef};
use tabstore::storage::{BlockId, MemoryStorage, Storage};
use tabstore::wasm::env::BrowserEnv;
use wasm_bindgen_test::wasm_bindgen_test;

/// Chromium's LevelDB gives the space of a deleted value back only if it was larger than 64 KiB.
#[wasm_bindgen_test]
async fn stored_blocks_are_larger_than_64_kib() {
    let storage = MemoryStorage::new();
    let engine = Engine::open(storage.clone(), Rc::new(BrowserEnv::new(None)), Options::default()).await.unwrap();
    let texts: Vec<String> = (0..20_000_u32).map(|i| format!("{:x}", i.wrapping_mul(0x9E37_79B9))).collect();
    let writes = texts.iter().zip(0_u32..).map(|(text, row)| {
        let engine = &engine;
        async move {
            let cells =
                ["a", "b", "c", "d"].map(|column| CellChange { column, op: CellOp::Put(1, ValueRef::String(text)) });
            let change = RowChange { kind: ChangeKind::Put, stamp: 1, cells: &cells };
            engine.write(TreeId(1), &row.to_be_bytes(), &change, None).await.unwrap();
        }
    });
    futures_util::future::join_all(writes).await;
    engine.compact().await.unwrap();

    let segments = storage.list_segments().await.unwrap();
    let ids: Vec<BlockId> =
        segments.iter().flat_map(|&segment| (0..100).map(move |block| BlockId { segment, block })).collect();
    let sizes: Vec<usize> = storage.get_blocks(&ids).await.unwrap().into_iter().flatten().map(|b| b.len()).collect();
    // The last block of a segment holds what is left, and its index behind it is as large as it has to be.
    let small = sizes.iter().filter(|size| **size <= 64 << 10).count();
    assert!(sizes.len() > 5 && small <= 2 * segments.len(), "blocks of {sizes:?} bytes");
}
