//! Reads of rows whose blocks are not in memory: only these rows are decoded, and they are the same as ever.

use super::*;
use crate::error::Code;
use crate::format::columns::Form;
use crate::format::record::Place;
use crate::storage::faults::{Counts, FlipByte, Hook, Hooked, Record};
use crate::storage::{BlockId, SegmentId};

const ROWS: i64 = 3000;

fn key(row: i64) -> String {
    format!("k{row:05}")
}

/// Each third row has two writes more, each seventh is deleted. They lie in several segments, or in one.
fn stored(form: Form, in_one: bool) -> (SimEnv, MemoryStorage, SegmentId) {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &Options { form, auto_compact: false, ..without_reserve() });
    env.run(async {
        for row in 0..ROWS {
            write(&engine, &key(row), ChangeKind::Put, 5, &[put("a", 5, row), put("b", 4, -row)]).await;
            if row % 3 == 0 {
                let deleted = CellChange { column: "b", op: CellOp::DeleteColumn };
                write(&engine, &key(row), ChangeKind::Update, 6, &[put("a", 6, row * 1000), deleted]).await;
                write(&engine, &key(row), ChangeKind::Update, 7, &[put("c", 7, row % 5)]).await;
            }
            if row % 7 == 0 {
                write(&engine, &key(row), ChangeKind::Delete, 8, &[]).await;
            }
        }
        engine.flush().await.expect("flushed");
        if in_one {
            engine.compact().await.expect("compacted");
        }
    });
    let segments = engine.store.view.borrow().version.segments();
    let ids: Vec<SegmentId> = segments.keys().copied().collect();
    assert_eq!(ids.len() == 1, in_one);
    (env, storage, ids[0])
}

fn expected(row: i64) -> Option<Cells> {
    let cell = |column: &str, version, value| (column.to_owned(), version, value);
    let old = vec![cell("a", 5, row), cell("b", 4, -row)];
    let new = vec![cell("a", 6, row * 1000), cell("a", 5, row), cell("c", 7, row % 5)];
    (row % 7 != 0).then_some(if row % 3 == 0 { new } else { old })
}

fn opened<H: Hook>(env: &SimEnv, storage: &MemoryStorage, hook: H, cache_bytes: usize) -> Rc<Engine> {
    let storage = Hooked::new(storage.image(), hook);
    let options = Options { cache_bytes, ..without_reserve() };
    env.run(Engine::open(storage, Rc::new(env.clone()), options)).expect("opens")
}

async fn read(engine: &Engine, rows: &[i64]) -> Result<Vec<Option<Cells>>> {
    let keys: Vec<String> = rows.iter().copied().map(key).collect();
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let mut found = vec![None; rows.len()];
    engine.read(TREE, &keys, &mut |at, row| found[at] = row.map(cells)).await?;
    Ok(found)
}

/// R1, R2: row by row and many at once, in any order and with the same row twice, with and without a cache.
#[test]
fn rows_of_blocks_that_are_not_in_memory_are_read_as_they_were_written() {
    for form in [Form::Fast, Form::Dense] {
        let (env, storage, _) = stored(form, false);
        for cache_bytes in [0, 60_000, 32 << 20] {
            let engine = opened(&env, &storage, Counts::default(), cache_bytes);
            for step in [1, 769] {
                for row in (0..ROWS / 8).map(|at| at * step % ROWS) {
                    assert_eq!(env.run(read(&engine, &[row])), Ok(vec![expected(row)]), "row {row}");
                }
                let rows: Vec<i64> = (0..200).map(|at| at * step % ROWS).chain([-1, 7, ROWS, 8, 8]).collect();
                let all: Vec<_> = rows.iter().copied().map(expected).collect();
                let all: Vec<_> =
                    all.into_iter().zip(&rows).map(|(cells, row)| cells.filter(|_| (0..ROWS).contains(row))).collect();
                assert_eq!(env.run(read(&engine, &rows)), Ok(all));
            }
        }
    }
}

/// The first read of a row keeps its block as it is stored; the second one decodes the block. Neither needs another trip.
#[test]
fn a_block_is_kept_as_it_is_stored_until_it_is_read_again() {
    let (env, storage, _) = stored(Form::Fast, true);
    let counts = Rc::new(Counts::default());
    let gets = || counts.blocks_read.get();
    let engine = opened(&env, &storage, Rc::clone(&counts), 32 << 20);
    assert_eq!(env.run(read(&engine, &[1])), Ok(vec![expected(1)]));
    let (loaded, empty) = (gets(), engine.metrics().cache_bytes);
    assert_eq!(env.run(read(&engine, &[2, 3])), Ok(vec![expected(2), expected(3)]));
    let decoded = engine.metrics().cache_bytes;
    assert!(decoded > 2 * empty, "{empty} bytes, then {decoded}");
    assert_eq!(env.run(read(&engine, &[1, 2, 5])), Ok(vec![expected(1), expected(2), expected(5)]));
    assert_eq!((gets(), engine.metrics().cache_bytes), (loaded, decoded));
    // A scan takes a block that was kept as it is stored, too.
    let engine = opened(&env, &storage, Rc::clone(&counts), 32 << 20);
    assert_eq!(env.run(read(&engine, &[1])), Ok(vec![expected(1)]));
    let loaded = gets();
    let range = KeyRange { lower: Bound::Included(key(1).into_bytes()), upper: Bound::Included(key(9).into_bytes()) };
    assert_eq!(env.run(scan(&engine, range, Direction::Forward)).len(), 8);
    assert_eq!(gets(), loaded);
}

/// F: a damaged block is named, whether the read is of one row or of many, and again.
#[test]
fn a_row_of_a_damaged_block_is_refused_by_name() {
    for form in [Form::Fast, Form::Dense] {
        let (env, storage, segment) = stored(form, true);
        let id = BlockId { segment, block: 0 };
        for at in [5, 13, 40, 3001] {
            let hook = FlipByte { record: Record::Block(id), at, mask: 4 };
            let engine = opened(&env, &storage, hook, 32 << 20);
            for rows in [&[1][..], &[1, 2, 3], &[1]] {
                let error = env.run(read(&engine, rows)).expect_err("damaged");
                assert_eq!(error.code(), Code::Corrupt);
                assert!(error.message().contains(&Place::Block(id).to_string()), "{}", error.message());
            }
        }
    }
}
