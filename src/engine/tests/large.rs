//! Rows larger than a block (D2, T4): they lie in several blocks.

use super::*;
use crate::format::record::{self, Place};
use crate::storage::Storage;
use crate::storage::faults::{Call, Hook, Hooked};
use bytes::Bytes;

/// A row that takes more than 250 bytes is cut.
fn narrow() -> Options {
    Options { shape: Shape { block_bytes: 50, ..Shape::TINY }, ..tiny() }
}

/// Records the size of the largest staged record, and their number.
#[derive(Default)]
struct Staged {
    largest: Cell<usize>,
    records: Cell<usize>,
}

impl Hook for Staged {
    async fn after(&self, call: &Call) -> Result<()> {
        if let Call::Stage(_, records, _) = call {
            self.records.set(self.records.get() + records.len());
            let largest = records.iter().map(|(_, bytes)| bytes.len()).max();
            self.largest.set(self.largest.get().max(largest.unwrap_or_default()));
        }
        Ok(())
    }
}

/// Bytes that no compression shrinks.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..length).map(next).collect()
}

#[test]
fn t4_lives_of_rows_larger_than_a_block_agree_with_a_plain_model() {
    let life = Life { options: narrow(), keys: 6, versions: 60, whole: 20 };
    for seed in 1..=30 {
        live(seed, 800, &life);
    }
}

/// D1, T4: rows of every size around a block's, alone in the column or one of many columns, between neighbours.
#[test]
fn rows_of_every_size_around_a_block_are_read_as_they_were_written() {
    for count in (0..60).chain([200, 1000]) {
        for one_column in [true, false] {
            let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
            let engine = open(&env, &storage, &narrow());
            let columns: Vec<String> = (0..count).map(|at| format!("c{at:04}")).collect();
            let expected: Cells = if one_column {
                (0..count).rev().map(|version| ("x".to_owned(), version, version)).collect()
            } else {
                (0..).zip(&columns).map(|(at, column)| (column.clone(), 1, at)).collect()
            };
            let cells: Vec<_> = expected.iter().map(|(column, version, value)| put(column, *version, *value)).collect();
            let (small, put_x) = ([put("x", 1, 1)], ChangeKind::Put);
            let row = |key: &str, cells: &Cells| (key.to_owned(), cells.clone());
            let little: Cells = vec![("x".to_owned(), 1, 1)];
            let mut all_rows = vec![row("a", &little), row("k", &expected), row("k0", &little), row("l", &expected)];
            env.run(async {
                write(&engine, "a", put_x, 1, &small).await;
                write(&engine, "k", put_x, 1, &cells).await;
                write(&engine, "k0", put_x, 1, &small).await;
                write(&engine, "l", put_x, 1, &cells).await;
                engine.flush().await.expect("flushed");
            });
            let check = |engine: &Engine, rows: &[(String, Cells)]| {
                for (key, cells) in rows {
                    assert_eq!(env.run(get(engine, key)).as_ref(), Some(cells), "{key} of {count}");
                }
                assert_eq!(env.run(get(engine, "j")), None);
                assert_eq!(env.run(get(engine, "k/")), None);
                assert_eq!(env.run(get(engine, "z")), None);
                assert_eq!(env.run(scan(engine, all(), Direction::Forward)), rows, "{count}");
                let mut backward = env.run(scan(engine, all(), Direction::Backward));
                backward.reverse();
                assert_eq!(backward, rows, "{count}");
                for (at, (key, _)) in rows.iter().enumerate() {
                    let key = key.as_bytes().to_vec();
                    let behind = KeyRange { lower: Bound::Excluded(key.clone()), upper: Bound::Unbounded };
                    let before = KeyRange { lower: Bound::Unbounded, upper: Bound::Excluded(key) };
                    assert_eq!(env.run(scan(engine, behind, Direction::Forward)), rows[at + 1..], "{count}");
                    assert_eq!(env.run(scan(engine, before, Direction::Backward)).len(), at, "{count}");
                }
            };
            check(&engine, &all_rows);
            env.run(engine.compact()).expect("compacted");
            check(&engine, &all_rows);
            drop(engine);
            let engine = open(&env, &storage, &narrow());
            check(&engine, &all_rows);
            env.run(async {
                write(&engine, "k", ChangeKind::Update, 5000, &[put("x", 5000, 7)]).await;
                write(&engine, "k0", ChangeKind::Delete, 5000, &[]).await;
                engine.compact().await.expect("compacted");
            });
            all_rows.remove(2);
            let at = all_rows[1].1.iter().position(|(column, _, _)| column.as_str() == "x").unwrap_or(count as usize);
            all_rows[1].1.insert(at, ("x".to_owned(), 5000, 7));
            check(&engine, &all_rows);
        }
    }
}

/// Segments without large rows are stored for older builds too. Segments that older builds cannot read are refused by
/// their index.
#[test]
fn only_a_segment_with_a_large_row_is_of_the_newer_format() {
    for (count, version) in [(10, 2), (100, 3)] {
        let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
        let engine = open(&env, &storage, &narrow());
        let cells: Vec<_> = (0..count).rev().map(|version| put("x", version, version)).collect();
        env.run(async {
            write(&engine, "k", ChangeKind::Put, 1, &cells).await;
            engine.flush().await.expect("flushed");
        });
        let segments = env.run(crate::storage::Storage::list_segments(&storage)).expect("listed");
        let view = engine.store.view.borrow();
        let part = &view.version.trees.get(&TREE).expect("a tree").all()[0].levels.levels[0][0];
        assert_eq!(segments, [part.segment.id]);
        let records = env.run(crate::storage::Storage::get_blocks(&storage, &[part.segment.meta()])).expect("read");
        assert_eq!(records[0].as_ref().expect("an index")[4], version);
    }
}

/// Q: an index of a later build may hold more than its blocks.
#[test]
fn an_index_of_a_later_version_is_refused_and_not_made_anew() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &narrow());
    env.run(async {
        write(&engine, "k", ChangeKind::Put, 1, &[put("x", 1, 1)]).await;
        engine.flush().await.expect("flushed");
    });
    let segments = engine.store.view.borrow().version.segments();
    let meta = segments.values().next().expect("a segment").meta();
    let outcome = |version: Option<u8>| {
        let place = Place::SegmentMeta(meta);
        let record = version.map_or(Bytes::from_static(b"TabS"), |version| record::seal_as(place, version, b""));
        let storage = storage.image();
        let staged = storage.stage(meta.segment, vec![(meta.block, record)], Durability::Relaxed);
        env.run(staged).expect("staged");
        let engine = open(&env, &storage, &narrow());
        env.run(engine.read(TREE, &[b"k"], &mut |_, row| assert!(row.is_some())))
    };
    assert!(outcome(None).is_ok(), "of a damaged one nothing is known");
    let refusal = outcome(Some(4)).expect_err("refused");
    assert!(refusal.message().contains("a format version that this build does not know"), "{refusal}");
}

/// A rebuilt index describes large rows as the original one does.
#[test]
fn a_rebuilt_index_says_what_the_written_one_says() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &Options { auto_compact: false, ..narrow() });
    let cells = |from: i64| {
        let mut cells = vec![CellChange { column: "a", op: CellOp::DeleteColumn }];
        cells.extend((from..from + 90).rev().map(|at| put("a", at, at)));
        cells.extend((0..90).rev().map(|at| put("b", at, at)));
        cells
    };
    let mut holds = Vec::new();
    env.run(async {
        for round in 0..3 {
            for key in ["a", "b", "c"] {
                write(&engine, key, ChangeKind::Update, 1, &cells(round * 100)).await;
                write(&engine, &format!("{key}0"), ChangeKind::Put, 1, &[put("x", 1, 1)]).await;
            }
            holds.push(engine.store.holds.hold(engine.last_seqno()));
            engine.flush().await.expect("flushed");
        }
        engine.compact().await.expect("compacted");
    });
    let segments = engine.store.view.borrow().version.segments();
    let (mut cuts, mut others) = (0, 0);
    for segment in segments.values() {
        let mut pins = crate::engine::segment::cache::Pins::default();
        let wants = [crate::engine::segment::cache::RecordId::Meta(segment.meta())];
        env.run(engine.reader.load_records(&wants, &mut pins, crate::engine::segment::cache::Usage::Once))
            .expect("read");
        let written = engine.store.cache.meta(segment.meta(), &pins).expect("loaded");
        let rebuilt = env.run(engine.store.cache.rebuild(&engine.runtime.storage, segment.meta())).expect("rebuilt");
        assert_eq!((rebuilt.blocks(), rebuilt.last_key()), (written.blocks(), written.last_key()));
        for block in 0..segment.blocks {
            assert_eq!(rebuilt.first_key(block), written.first_key(block));
            assert_eq!(rebuilt.is_continued(block), written.is_continued(block));
            assert_eq!(rebuilt.cut(block), written.cut(block));
            cuts += u32::from(written.cut(block).is_some_and(|cut| cut.rank > 0));
            others += u32::from(written.is_continued(block) && written.cut(block).is_none());
        }
    }
    assert!(cuts > 9 && others > 3, "{cuts} cuts and {others} more entries");
}

/// A reader's data is not merged away, however its row is cut.
#[test]
fn a_reader_keeps_its_instant_while_large_rows_are_compacted() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let options = Options { cache_bytes: 1, auto_compact: false, ..narrow() };
    let engine = open(&env, &storage, &options);
    let cells = |from: i64, of: i64| (from..from + 100).rev().map(|at| put("x", at, of)).collect::<Vec<_>>();
    env.run(async {
        for key in ["a", "b", "c", "d"] {
            write(&engine, key, ChangeKind::Put, 1, &cells(0, 1)).await;
        }
        engine.flush().await.expect("flushed");
        let reader = scan(&engine, all(), Direction::Forward);
        let writer = async {
            for key in ["a", "b", "c", "d"] {
                write(&engine, key, ChangeKind::Update, 2, &cells(50, 2)).await;
                let gone: Vec<_> = (0..40).rev().map(CellOp::DeleteVersion).collect();
                let gone: Vec<_> = gone.into_iter().map(|op| CellChange { column: "x", op }).collect();
                write(&engine, key, ChangeKind::Update, 3, &gone).await;
            }
            engine.compact().await.expect("compacted");
            let reader = scan(&engine, all(), Direction::Backward);
            let writer = async {
                write(&engine, "a", ChangeKind::Delete, 4, &[]).await;
                let changed = [CellChange { column: "x", op: CellOp::DeleteColumn }, put("y", 4, 4)];
                write(&engine, "b", ChangeKind::Update, 4, &changed).await;
                engine.compact().await.expect("compacted");
            };
            futures_util::future::join(reader, writer).await.0
        };
        let (before, between) = futures_util::future::join(reader, writer).await;
        let row = |from: i64, to: i64| (from..to).rev().map(|at| ("x".to_owned(), at));
        let first: Cells = row(0, 100).map(|(column, at)| (column, at, 1)).collect();
        assert_eq!(before.len(), 4);
        assert!(before.iter().all(|(_, cells)| *cells == first), "the first reader");
        let second: Cells = row(40, 150).map(|(column, at)| (column, at, if at < 50 { 1 } else { 2 })).collect();
        assert_eq!(between.len(), 4);
        assert!(between.iter().all(|(_, cells)| *cells == second), "the second reader");
        engine.compact().await.expect("compacted");
        let last = scan(&engine, all(), Direction::Forward).await;
        let keys: Vec<_> = last.iter().map(|(key, cells)| (key.as_str(), cells.len())).collect();
        assert_eq!(keys, [("b", 1), ("c", 110), ("d", 110)]);
    });
}

/// V2, V3, V5: counts and ages of versions continue across the cuts of a row.
#[test]
fn v2_v3_v5_retention_counts_over_the_cuts_of_a_row() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &Options { auto_compact: false, ..narrow() });
    let second = |at: i64| NOW - 200_000 + at * 1000;
    env.run(async {
        for column in ["a", "b"] {
            for round in 0..2 {
                let versions = (0..200).rev().filter(|at| at % 2 == round);
                let cells: Vec<_> = versions.map(|at| put(column, second(at), at)).collect();
                write(&engine, "k", ChangeKind::Update, second(round), &cells).await;
                engine.flush().await.expect("flushed");
            }
        }
        let newest = |count: i64| -> Cells {
            let of = |column: &str| (200 - count..200).rev().map(|at| (column.to_owned(), second(at), at)).collect();
            [of("a"), of("b")].into_iter().flat_map(|cells: Cells| cells).collect()
        };
        for (max_versions, time_to_live, left) in
            [(u32::MAX, None, 200), (120, None, 120), (1000, Some(70), 70), (3, None, 3)]
        {
            engine.set_retention(TREE, Retention { max_versions, time_to_live });
            engine.compact().await.expect("compacted");
            assert_eq!(get(&engine, "k").await, Some(newest(left)), "{left} are left");
        }
        engine.set_retention(TREE, Retention { max_versions: 1, time_to_live: Some(0) });
        engine.compact().await.expect("compacted");
        assert_eq!(get(&engine, "k").await, None);
    });
    assert_eq!(engine.metrics().segments, 0);
}

/// D2, T4: at most 500 versions of 1 MB are advised, and 2 MB a value. So no record is much larger than a value.
#[test]
fn d2_t4_no_record_is_larger_than_a_value_and_a_block() {
    let (env, staged) = (SimEnv::new(NOW), Rc::new(Staged::default()));
    let storage = Hooked::new(MemoryStorage::new(), Rc::clone(&staged));
    let engine = env.run(Engine::open(storage, Rc::new(env.clone()), Options::default())).expect("opens");
    let versions = 24_i64;
    for version in 0..versions {
        let size = if version == 7 { 2 << 20 } else { 300 << 10 };
        let value = noise(version.unsigned_abs(), size);
        let cells = [CellChange { column: "x", op: CellOp::Put(version, ValueRef::Binary(&value)) }];
        let change = RowChange { kind: ChangeKind::Update, stamp: version, cells: &cells };
        env.run(engine.write(TREE, b"k", &change, None)).expect("written");
    }
    env.run(engine.compact()).expect("compacted");
    let largest = staged.largest.get();
    assert!(largest <= (2 << 20) + Shape::DEFAULT.block_bytes * 5 + 1024, "{largest}");
    let mut seen = 0;
    env.run(engine.read(TREE, &[b"k"], &mut |_, row| seen = row.map_or(0, |row| row.cells().len()))).expect("read");
    assert_eq!(seen, versions as usize);
}
