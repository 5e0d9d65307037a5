//! Loads: invisible before their commit, then visible as a whole, at their place among all writes.

use super::*;
use crate::engine::BulkLoader;

fn name(id: u32) -> String {
    format!("k{id:05}")
}

/// Loads rows whose cell is `value`, with the stamp 9.
fn push(load: &BulkLoader, ids: std::ops::Range<u32>, value: i64) {
    assert!(load.takes(name(ids.start).as_bytes(), name(ids.end - 1).as_bytes()), "{ids:?} are not taken");
    for id in ids {
        let change = RowChange { kind: ChangeKind::Put, stamp: 9, cells: &[put("x", 9, value)] };
        load.push(name(id).as_bytes(), &change).expect("taken");
    }
}

fn loaded(value: i64) -> Option<Cells> {
    Some(vec![("x".into(), 9, value)])
}

#[test]
fn a_load_is_seen_as_a_whole_once_it_is_committed_and_after_reopening() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &tiny());
    env.run(async {
        let load = engine.start_load(TREE);
        push(&load, 0..300, 1);
        load.room().await;
        push(&load, 300..500, 1);
        assert!(!load.takes(name(499).as_bytes(), name(600).as_bytes()), "keys ascend");
        assert_eq!(get(&engine, &name(7)).await, None);
        assert!(scan(&engine, all(), Direction::Forward).await.is_empty());
        assert!(load.bytes() > 0);
        load.commit().await.expect("stored");
        assert_eq!(get(&engine, &name(7)).await, loaded(1));
        assert_eq!(scan(&engine, all(), Direction::Backward).await.len(), 500);
        assert_eq!(engine.metrics().writes, 500);
        assert_eq!(engine.metrics().memtable_entries, 0);
        assert!(!load.takes(name(600).as_bytes(), name(700).as_bytes()), "it is over");
    });
    drop(engine);
    env.crash();
    let engine = open(&env, &storage.image(), &tiny());
    env.run(async {
        assert_eq!(get(&engine, &name(499)).await, loaded(1));
        write(&engine, &name(7), ChangeKind::Update, 10, &[put("x", 10, 2)]).await;
        engine.compact().await.expect("compacted");
        assert_eq!(get(&engine, &name(7)).await, Some(vec![("x".into(), 10, 2), ("x".into(), 9, 1)]));
        assert_eq!(scan(&engine, all(), Direction::Forward).await.len(), 500);
    });
}

#[test]
fn what_is_asked_after_the_commit_was_asked_for_sees_it_and_comes_after_it() {
    let env = SimEnv::new(NOW);
    let engine = open(&env, &MemoryStorage::new(), &tiny());
    env.run(async {
        write(&engine, &name(3), ChangeKind::Put, 5, &[put("x", 5, 0)]).await;
        engine.flush().await.expect("flushed");
        let load = engine.start_load(TREE);
        push(&load, 0..400, 1);
        let before = get(&engine, &name(3)).await;
        assert_eq!(before, Some(vec![("x".into(), 5, 0)]), "nobody has asked yet");
        let (stored, found, rows, changed) = futures_util::future::join4(
            load.commit(),
            get(&engine, &name(3)),
            scan(&engine, all(), Direction::Forward),
            write(&engine, &name(3), ChangeKind::Update, 11, &[put("y", 11, 2)]),
        )
        .await;
        stored.expect("stored");
        let () = changed;
        assert_eq!(found, loaded(1));
        assert_eq!((rows.len(), &rows[3].1), (400, &loaded(1).expect("cells")));
        let both = vec![("x".into(), 9, 1), ("y".into(), 11, 2)];
        assert_eq!(get(&engine, &name(3)).await, Some(both.clone()));
        engine.compact().await.expect("compacted");
        assert_eq!(get(&engine, &name(3)).await, Some(both));
    });
}

#[test]
fn who_writes_into_the_range_of_a_load_has_it_committed_first() {
    let env = SimEnv::new(NOW);
    let engine = open(&env, &MemoryStorage::new(), &tiny());
    env.run(async {
        let load = engine.start_load(TREE);
        push(&load, 100..200, 1);
        write(&engine, &name(50), ChangeKind::Put, 12, &[put("x", 12, 5)]).await;
        assert!(!load.is_asked(), "beside it there is no harm");
        write(&engine, &name(150), ChangeKind::Update, 12, &[put("y", 12, 5)]).await;
        assert!(load.is_asked());
        assert_eq!(get(&engine, &name(150)).await, Some(vec![("x".into(), 9, 1), ("y".into(), 12, 5)]));
        assert_eq!(get(&engine, &name(151)).await, loaded(1));
        load.commit().await.expect("it is stored");
    });
}

#[test]
fn rows_are_not_taken_where_something_newer_is_pending_or_in_memory() {
    let env = SimEnv::new(NOW);
    let engine = open(&env, &MemoryStorage::new(), &Options::default());
    let takes =
        |load: &BulkLoader, ids: std::ops::Range<u32>| load.takes(name(ids.start).as_bytes(), name(ids.end).as_bytes());
    env.run(async {
        let load = engine.start_load(TREE);
        let id = name(10);
        let cells = [put("x", 5, 0)];
        let mut writing = Box::pin(write(&engine, &id, ChangeKind::Put, 5, &cells));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(writing.as_mut().poll(&mut context).is_pending());
        assert!(!takes(&load, 5..15) && takes(&load, 5..9), "it is pending");
        writing.await;
        assert!(!takes(&load, 5..15) && !takes(&load, 10..10), "it is in the memtable");
        engine.flush().await.expect("flushed");
        assert!(takes(&load, 5..15));
        push(&load, 5..15, 1);
        let other = engine.start_load(TREE);
        assert!(!takes(&other, 0..7) && takes(&other, 0..4), "another load has them");
        push(&other, 0..4, 2);
        drop(other);
        load.commit().await.expect("stored");
        assert_eq!(get(&engine, &name(10)).await, loaded(1));
        assert_eq!(get(&engine, &name(0)).await, None, "it was given up");
    });
}

#[test]
fn a_load_waits_for_the_writes_before_it_and_nobody_waits_for_it_without_need() {
    let env = SimEnv::new(NOW);
    let engine = open(&env, &MemoryStorage::new(), &Options::default());
    env.run(async {
        let load = engine.start_load(TREE);
        push(&load, 100..400, 1);
        let (first, stored, second, rows) = futures_util::future::join4(
            write(&engine, &name(1), ChangeKind::Put, 5, &[put("x", 5, 0)]),
            load.commit(),
            write(&engine, &name(2), ChangeKind::Put, 5, &[put("x", 5, 0)]),
            scan(&engine, all(), Direction::Forward),
        )
        .await;
        let ((), ()) = (first, second);
        stored.expect("stored");
        assert_eq!(rows.len(), 302);
    });
}

#[test]
fn a_load_that_is_given_up_or_whose_tree_is_dropped_leaves_nothing_behind() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &tiny());
    env.run(async {
        let load = engine.start_load(TREE);
        push(&load, 0..500, 1);
        load.room().await;
        drop(load);
        let load = engine.start_load(TREE);
        push(&load, 0..500, 1);
        load.room().await;
        engine.drop_tree(TREE);
        load.commit().await.expect("it was for nothing");
        write(&engine, "other", ChangeKind::Put, 5, &[]).await;
    });
    env.run_until_idle();
    env.run(async {
        engine.flush().await.expect("flushed");
        let stored = storage.list_segments().await.expect("segments");
        assert_eq!(stored.len() as u64, engine.metrics().segments);
    });
}

#[test]
fn what_was_loaded_counts_as_written_and_as_much_as_is_stored() {
    let env = SimEnv::new(NOW);
    let engine = open(&env, &MemoryStorage::new(), &Options::default());
    env.run(async {
        let load = engine.start_load(TREE);
        push(&load, 0..500, 1);
        load.commit().await.expect("stored");
    });
    let metrics = engine.metrics();
    assert_eq!((metrics.writes, metrics.commits, metrics.flushes), (500, 1, 0));
    assert_eq!(metrics.flushed_bytes, metrics.segment_bytes);
    assert!(metrics.flushed_bytes > 0);
}
