//! A reader's instant is fixed when it asks, wherever later writes are stored when it looks. The length of a slice of
//! background work.

use super::*;
use crate::storage::faults::{Call, CrashImages, Hook, Hooked};
use futures_util::FutureExt as _;
use futures_util::future::{join, join3};
use std::pin::pin;

/// The place of the later writes, which the reader must not see.
#[derive(Clone, Copy, Debug)]
enum Later {
    /// In one segment with the visible ones.
    Beside,
    /// In a segment of their own.
    Above,
    /// Everything was merged.
    MergedRow,
}

/// R5: a reader waits for the writes before it, and looks only once those after it are in segments.
#[test]
fn r5_a_reader_sees_nothing_of_later_writes_in_segments() {
    for later in [Later::Beside, Later::Above, Later::MergedRow] {
        for cache_bytes in [0, 1 << 20] {
            let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
            let options = Options { cache_bytes, auto_compact: false, ..Options::default() };
            let engine = open(&env, &storage, &options);
            let [old, seen, new] = [1, 2, 3].map(|value| [put("x", value, value)]);
            env.run(async {
                write(&engine, "a", ChangeKind::Put, 1, &old).await;
                write(&engine, "b", ChangeKind::Put, 1, &old).await;
                engine.flush().await.expect("flushed");
            });
            let mut first = pin!(write(&engine, "a", ChangeKind::Put, 2, &seen));
            let mut got = pin!(get(&engine, "a"));
            let mut forward = pin!(scan(&engine, all(), Direction::Forward));
            let mut backward = pin!(scan(&engine, all(), Direction::Backward));
            assert!(first.as_mut().now_or_never().is_none());
            assert!(got.as_mut().now_or_never().is_none());
            assert!(forward.as_mut().now_or_never().is_none());
            assert!(backward.as_mut().now_or_never().is_none());
            env.run(async {
                if let Later::Above = later {
                    first.await;
                    engine.flush().await.expect("flushed");
                    write(&engine, "a", ChangeKind::Put, 3, &new).await;
                } else {
                    let second = write(&engine, "a", ChangeKind::Put, 3, &new);
                    join(first, second).await;
                }
                engine.flush().await.expect("flushed");
                if let Later::MergedRow = later {
                    engine.compact().await.expect("compacted");
                }
            });
            let row = Some(vec![("x".to_owned(), 2, 2)]);
            assert_eq!(env.run(got), row, "{later:?}, {cache_bytes} bytes cached");
            for mut rows in [env.run(forward), env.run(backward)] {
                rows.sort();
                let expected =
                    [("a".to_owned(), row.clone().expect("a row")), ("b".to_owned(), vec![("x".into(), 1, 1)])];
                assert_eq!(rows, expected, "{later:?}, {cache_bytes} bytes cached");
            }
            let newest = vec![("x".to_owned(), 3, 3)];
            assert_eq!(env.run(get(&engine, "a")), Some(newest.clone()), "{later:?}");
            for direction in [Direction::Forward, Direction::Backward] {
                let mut rows = env.run(scan(&engine, all(), direction));
                rows.sort();
                let expected = [("a".to_owned(), newest.clone()), ("b".to_owned(), vec![("x".into(), 1, 1)])];
                assert_eq!(rows, expected, "{later:?}, {cache_bytes} bytes cached, {direction:?}");
            }
        }
    }
}

/// R5: the same with a load.
#[test]
fn r5_a_reader_sees_nothing_of_a_later_load() {
    for cache_bytes in [0, 1 << 20] {
        for compact in [false, true] {
            let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
            let engine = open(&env, &storage, &Options { cache_bytes, auto_compact: false, ..Options::default() });
            let [old, seen, new] = [1, 2, 3].map(|value| [put("x", value, value)]);
            env.run(async {
                write(&engine, "a", ChangeKind::Put, 1, &old).await;
                engine.flush().await.expect("flushed");
            });
            let mut first = pin!(write(&engine, "b", ChangeKind::Put, 2, &seen));
            assert!(first.as_mut().now_or_never().is_none());
            let mut rows = Vec::new();
            let mut visit = |_: usize, row: Option<&RowView<'_>>| rows.push(row.map(cells));
            let mut got = Box::pin(engine.read(TREE, &[b"a", b"b"], &mut visit));
            let mut scanned = pin!(scan(&engine, all(), Direction::Forward));
            assert!(got.as_mut().now_or_never().is_none() && scanned.as_mut().now_or_never().is_none());
            env.run(async {
                first.await;
                let load = engine.start_load(TREE);
                assert!(load.takes(b"a", b"a"));
                load.push(b"a", &RowChange { kind: ChangeKind::Put, stamp: 3, cells: &new }).expect("taken");
                load.commit().await.expect("stored");
                if compact {
                    engine.compact().await.expect("compacted");
                }
            });
            env.run(got.as_mut()).expect("read");
            drop(got);
            let [a, b] = [vec![("x".to_owned(), 1, 1)], vec![("x".to_owned(), 2, 2)]];
            assert_eq!(rows, [Some(a.clone()), Some(b.clone())], "{cache_bytes} bytes cached, compacted: {compact}");
            assert_eq!(env.run(scanned), [("a".to_owned(), a), ("b".to_owned(), b)], "compacted: {compact}");
            assert_eq!(env.run(get(&engine, "a")), Some(vec![("x".to_owned(), 3, 3)]));
        }
    }
}

/// Makes one commit take long, on request.
struct SlowOnce {
    env: SimEnv,
    armed: Cell<bool>,
}

impl Hook for SlowOnce {
    async fn before(&self, call: &Call) -> Result<()> {
        if matches!(call, Call::Commit(_)) && self.armed.replace(false) {
            for _ in 0..100 {
                self.env.yield_now().await;
            }
        }
        Ok(())
    }
}

/// R4, R5: a load is stored behind all earlier writes, even if it is ready long before them.
#[test]
fn r5_a_load_does_not_overtake_the_writes_that_were_asked_before_it() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let images = Rc::new(CrashImages::new(&storage));
    let slow = Rc::new(SlowOnce { env: env.clone(), armed: Cell::default() });
    let disk = Hooked::new(Hooked::new(storage, Rc::clone(&images)), Rc::clone(&slow));
    let engine = env.run(Engine::open(disk, Rc::new(env.clone()), tiny())).expect("opens");
    let cells = [put("x", 1, 1)];
    let change = RowChange { kind: ChangeKind::Put, stamp: 1, cells: &cells };
    let [l0, l1, l2] = [&b"l0"[..], b"l1", b"l2"].map(|key| {
        let load = engine.start_load(TREE);
        load.push(key, &change).expect("taken");
        load
    });
    slow.armed.set(true);
    env.run(async {
        let write = |key: &'static [u8]| engine.write(TREE, key, &change, None);
        let before = join3(write(b"w0"), l0.commit(), write(b"w1"));
        let behind = join3(l1.commit(), write(b"w2"), l2.commit());
        let (before, behind) = join(before, behind).await;
        for done in [before.0, before.1, before.2, behind.0, behind.1, behind.2] {
            done.expect("stored");
        }
    });
    let order = ["w0", "l0", "w1", "l1", "w2", "l2"];
    let mut last = [false; 6];
    for (number, image) in images.take().into_iter().enumerate() {
        let engine = open(&env, &image, &tiny());
        last = order.map(|key| env.run(get(&engine, key)).is_some());
        assert!(last.is_sorted_by(|a, b| a >= b), "image {number}: {last:?} of {order:?}");
        env.crash();
    }
    assert_eq!(last, [true; 6]);
}

/// P1: background work yields by time, not only by the amount that it has read or written.
#[test]
fn p1_flushes_and_compactions_yield_when_their_slice_is_over() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &Options { auto_compact: false, ..Options::default() });
    env.run(async {
        let rows = (0..4000).map(|i| (format!("k{i:04}"), [put("x", 1, i)])).collect::<Vec<_>>();
        let all = rows.iter().map(|(key, cells)| write(&engine, key, ChangeKind::Put, 1, cells));
        futures_util::future::join_all(all).await;
    });
    env.run_until_idle();
    // Slow work: a millisecond passes between two clock checks.
    env.take_us(1000);
    let all: Vec<String> = (0..4000).map(|i| format!("k{i:04}")).collect();
    let keys = |engine: &Engine| -> Vec<String> {
        env.run(scan(engine, super::all(), Direction::Forward)).into_iter().map(|(key, _)| key).collect()
    };
    env.run(engine.flush()).expect("flushed");
    assert!(keys(&engine) == all, "each row once, after a flush in slices");
    let flushing = engine.metrics().longest_slice_us;
    assert!((4000..8000).contains(&flushing), "a slice of the flush took {flushing} us");
    env.run(engine.compact()).expect("compacted");
    assert!(keys(&engine) == all, "each row once, after a compaction in slices");
    let compacting = engine.metrics().longest_slice_us;
    assert!((4000..8000).contains(&compacting), "a slice of the compaction took {compacting} us");
    env.crash();
    let engine = open(&env, &storage, &Options::default());
    assert!(keys(&engine) == all, "each row once, opened again");
}
