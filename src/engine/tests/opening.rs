//! The log that an opening replays is bounded, whatever was written and however the last life ended.

use super::*;
use crate::storage::faults::{CrashImages, Hooked};

/// The most records of single puts that an opening replays, and the most writes of many puts in flight.
const RECORDS: usize = 1560;
const WRITES: u64 = 62_000;
/// The most that a close may leave: so little is not worth a segment.
const LITTLE: (usize, u64) = (225, 5700);

/// The log records, and writes in them, that an opening of this storage replays.
fn replayed(storage: &MemoryStorage) -> (usize, u64) {
    let engine = open(&SimEnv::new(NOW), &storage.image(), &Options::default());
    let view = engine.store.view.borrow();
    let memtables = view.memtables();
    // Its own leadership record was not replayed.
    (view.log.len() - 1, memtables.map(|memtable| memtable.entries()).sum())
}

fn assert_bounded(storage: &MemoryStorage) {
    let (records, writes) = replayed(storage);
    assert!(records <= RECORDS && writes <= WRITES, "{records} records with {writes} writes");
}

fn assert_little(storage: &MemoryStorage) {
    let (records, writes) = replayed(storage);
    assert!(records <= LITTLE.0 && writes <= LITTLE.1, "after a close {records} records with {writes} writes");
}

#[test]
fn q_an_opening_replays_little_after_100000_single_puts_and_a_kill_or_a_close() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &Options::default());
    for i in 0..100_000 {
        env.run(write(&engine, &format!("k{i:06}"), ChangeKind::Put, i, &[put("x", i, i)]));
        if i % 9_973 == 0 {
            assert_bounded(&storage);
        }
    }
    assert_bounded(&storage);
    env.run(engine.close());
    assert_little(&storage);
    let engine = open(&env, &storage, &Options::default());
    assert_eq!(env.run(get(&engine, "k099999")), Some(vec![("x".into(), 99_999, 99_999)]));
}

#[test]
fn q_an_opening_replays_little_after_100000_puts_in_flight_and_a_kill_or_a_close() {
    let (env, memory) = (SimEnv::new(NOW), MemoryStorage::new());
    let images = Rc::new(CrashImages::new(&memory));
    let storage = Hooked::new(memory.clone(), Rc::clone(&images));
    let engine = env.run(Engine::open(storage, Rc::new(env.clone()), Options::default())).expect("opens");
    env.run(async {
        let puts = (0..100_000_i64).map(|i| {
            let (engine, key) = (&engine, format!("k{i:06}"));
            async move {
                let change = RowChange { kind: ChangeKind::Put, stamp: i, cells: &[put("x", i, i)] };
                engine.write(TREE, key.as_bytes(), &change, None).await.expect("written");
            }
        });
        futures_util::future::join_all(puts).await;
        engine.close().await;
    });
    let images = images.take();
    assert!(images.len() > 10, "{} crash points", images.len());
    images.iter().for_each(assert_bounded);
    assert_little(&memory);
}

#[test]
fn q_large_values_leave_little_to_replay_too() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &Options { memtable_bytes: 64 << 20, ..Options::default() });
    let value = "x".repeat(100_000);
    for i in 0..300 {
        let cells = [CellChange { column: "x", op: CellOp::Put(i, ValueRef::String(&value)) }];
        env.run(write(&engine, &format!("k{i:06}"), ChangeKind::Put, i, &cells));
        let view = engine.store.view.borrow();
        let bytes: usize = view.memtables().map(|memtable| memtable.bytes()).sum();
        assert!(bytes <= 20_000_000, "{bytes} bytes after {i} values");
    }
}

#[test]
fn q_openings_and_changes_of_the_manifest_alone_do_not_make_the_log_longer_for_ever() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    for _ in 0..3 {
        for round in 0..700 {
            let engine = open(&env, &storage, &Options::default());
            if round % 3 == 0 {
                env.run(engine.commits.commit_edit(Edit::default())).expect("committed");
            }
            // Killed at any point.
            env.crash();
        }
        assert_bounded(&storage);
        let engine = open(&env, &storage, &Options::default());
        // No operations for a while.
        for _ in 0..3 {
            env.run_until_idle();
            env.advance(1000);
        }
        env.run_until_idle();
        drop(engine);
        assert!(replayed(&storage).0 <= 3, "{} records", replayed(&storage).0);
    }
}

/// Large records are not copied into the memtable: each has its own names and stamps.
#[test]
fn what_an_opening_replays_says_what_was_written_in_records_large_and_small() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &Options::default());
    let columns = [["b", "a"], ["a", "c"], ["c", "b"]];
    for (round, columns) in (0..).zip(columns) {
        env.advance(1000);
        env.run(async {
            let writes = (0..1500).map(|i: i64| {
                let (engine, key, stamp) = (&engine, format!("k{:06}", (i * 7 + round) % 2000), NOW + round * 1000 + i);
                let cells = columns.map(|column| put(column, stamp - i % 3, i));
                let kind = if i % 5 == 0 { ChangeKind::Put } else { ChangeKind::Update };
                async move { write(engine, &key, kind, stamp, &cells).await }
            });
            futures_util::future::join_all(writes).await;
        });
        env.run(write(&engine, "k000001", ChangeKind::Update, NOW + round, &[put("d", round, round)]));
    }
    let log = engine.store.view.borrow().log.clone();
    assert!(log.iter().any(|(_, bytes)| *bytes > 16 << 10), "there are large records: {log:?}");
    let written = env.run(scan(&engine, all(), Direction::Forward));
    assert!(written.len() == 2000 && written.iter().all(|(_, cells)| cells.len() > 1));
    env.crash();
    for flushed in [false, true] {
        let engine = open(&env, &storage, &Options::default());
        assert_eq!(engine.metrics().segments > 0, flushed);
        assert_eq!(env.run(scan(&engine, all(), Direction::Forward)), written);
        env.run(engine.flush()).expect("flushed");
        assert_eq!(env.run(scan(&engine, all(), Direction::Forward)), written);
    }
}

/// A crash in the middle of a flush leaves the log as it was. Later writes do not add to it without end.
#[test]
fn q_lives_that_all_end_in_the_middle_of_a_flush_leave_little_to_replay() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    for life in 0..40 {
        let engine = open(&env, &storage, &Options::default());
        let flushes = engine.metrics().flushes;
        for i in 0..900 {
            if engine.metrics().flushes > flushes || !engine.store.view.borrow().frozen.is_empty() && i > 500 {
                break;
            }
            env.run(write(&engine, &format!("k{life:02}{i:06}"), ChangeKind::Put, i, &[put("x", i, i)]));
        }
        env.crash();
        assert_bounded(&storage);
    }
}

#[test]
fn q_what_is_worth_it_is_flushed_when_nothing_was_written_for_a_while_and_not_before() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &Options::default());
    let some = |from: i64| {
        for i in from..from + 100 {
            env.run(write(&engine, &format!("k{i:06}"), ChangeKind::Put, i, &[put("x", i, i)]));
        }
    };
    let pass = |ms| {
        env.advance(ms);
        env.run_until_idle();
        engine.metrics().flushes
    };
    some(0);
    assert_eq!((pass(600), pass(600), pass(600)), (0, 0, 0), "so little is not worth a segment");
    for round in 1..5 {
        some(100 * round);
        assert_eq!(pass(600), 0, "round {round}: it is being written");
    }
    assert_eq!((pass(600), pass(600), pass(600)).2, 1);
    assert_eq!(replayed(&storage).1, 0);
    some(10_000);
    assert_eq!(pass(5000), 1, "not worth it");
}

#[test]
fn q_a_closing_store_flushes_what_is_worth_it_and_closes_though_it_cannot() {
    for (writes, full, left) in [(50, false, 50), (500, false, 0), (500, true, 500)] {
        let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
        let engine = open(&env, &storage, &Options::default());
        for i in 0..writes {
            env.run(write(&engine, &format!("k{i:06}"), ChangeKind::Put, i, &[put("x", i, i)]));
        }
        storage.set_quota(full.then_some(0));
        env.run(engine.close());
        storage.set_quota(None);
        assert_eq!(replayed(&storage).1, left, "{writes} writes, a full disk: {full}");
        let engine = open(&env, &storage, &Options::default());
        assert_eq!(env.run(scan(&engine, all(), Direction::Forward)).len() as i64, writes);
    }
}

/// On a full disk the log grows as long as memory allows, and writes go on until then.
#[test]
fn q_writes_go_on_while_a_flush_cannot() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let options = Options { memtable_bytes: 64 << 20, ..Options::default() };
    let engine = open(&env, &storage, &options);
    env.run(async {
        for i in 0..500 {
            write(&engine, &format!("k{i:06}"), ChangeKind::Put, i, &[put("x", i, i)]).await;
        }
    });
    engine.store.last_flush.record(Some(Error::new(Code::QuotaExceeded, "full")));
    env.run(async {
        for i in 0..4000 {
            write(&engine, &format!("l{i:06}"), ChangeKind::Put, i, &[put("x", i, i)]).await;
        }
    });
    assert_eq!(engine.metrics().flushes, 0);
    env.run(engine.flush()).expect("flushed");
    assert_eq!(replayed(&storage).1, 0);
}
