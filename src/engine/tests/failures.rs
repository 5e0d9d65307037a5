//! Storage calls that fail or take long beside others. No acknowledged data is lost, and no caller waits for ever.

use super::*;
use crate::error::{Code, Error};
use crate::storage::faults::{Call, Gates, Hook, Hooked, Moment};
use crate::storage::{SegmentId, Storage};
use futures_util::FutureExt as _;
use std::pin::pin;

type Gated = Engine;

fn gated(env: &SimEnv, storage: &MemoryStorage, options: Options) -> (Rc<Gated>, Rc<Gates>) {
    let gates = Rc::new(Gates::default());
    let hooked = Hooked::new(storage.clone(), Rc::clone(&gates));
    (env.run(Engine::open(hooked, Rc::new(env.clone()), options)).expect("opens"), gates)
}

fn is_stage(call: &Call) -> bool {
    matches!(call, Call::Stage(..))
}

fn is_write(call: &Call) -> bool {
    matches!(call, Call::Commit(commit) if commit.manifest.is_none())
}

fn is_edit(call: &Call) -> bool {
    matches!(call, Call::Commit(commit) if commit.manifest.is_some())
}

async fn set(engine: &Engine, key: &str, value: i64) -> Result<()> {
    let cells = [put("n", 1, value)];
    engine.write(TREE, key.as_bytes(), &RowChange { kind: ChangeKind::Put, stamp: 1, cells: &cells }, None).await
}

async fn value(engine: &Engine, key: &str) -> Option<i64> {
    let mut found = None;
    engine.read(TREE, &[key.as_bytes()], &mut |_, row| found = row.map(|row| cells(row)[0].2)).await.expect("read");
    found
}

/// The outcomes of tasks, in the order in which they ended.
#[derive(Clone, Default)]
struct Told(Rc<RefCell<Vec<Outcome>>>);

type Outcome = (&'static str, Result<i64, Code>);

impl Told {
    /// Runs a task up to its first wait.
    fn start(&self, env: &SimEnv, name: &'static str, task: impl Future<Output = Result<i64>> + 'static) {
        let told = self.clone();
        env.spawn(Box::pin(async move {
            let outcome = task.await.map_err(|error| error.code());
            told.0.borrow_mut().push((name, outcome));
        }));
        env.run_until_idle();
    }

    fn of(&self, name: &str) -> Option<Result<i64, Code>> {
        self.0.borrow().iter().find(|(other, _)| *other == name).map(|(_, outcome)| *outcome)
    }
}

fn adding(engine: &Rc<Gated>) -> impl Future<Output = Result<i64>> + 'static {
    let engine = Rc::clone(engine);
    async move {
        let mut add = AddOne(0);
        engine.modify(&[(TREE, b"counter")], None, &mut add).await?;
        Ok(add.0)
    }
}

fn flushing(engine: &Rc<Gated>) -> impl Future<Output = Result<i64>> + 'static {
    let engine = Rc::clone(engine);
    async move { engine.flush().await.map(|()| 0) }
}

fn setting(engine: &Rc<Gated>, key: &'static str) -> impl Future<Output = Result<i64>> + 'static {
    let engine = Rc::clone(engine);
    async move { set(&engine, key, 1).await.map(|()| 1) }
}

/// R6: the next decision sees writes whose commit is in flight, whatever fails beside it.
#[test]
fn r6_a_flush_that_fails_forgets_no_increment_whose_commit_is_on_its_way() {
    let (env, storage, told) = (SimEnv::new(NOW), MemoryStorage::new(), Told::default());
    let (engine, gates) = gated(&env, &storage, Options::default());
    assert_eq!(env.run(adding(&engine)).expect("added"), 1);
    gates.hold(|call| is_stage(call) || is_write(call));
    told.start(&env, "first flush", flushing(&engine));
    told.start(&env, "other", setting(&engine, "other"));
    told.start(&env, "second flush", flushing(&engine));
    told.start(&env, "second", adding(&engine));
    // The other write is stored, and the commit of the increment begins. The second memtable freezes, so writes are held
    // up.
    let next = engine.store.line.next_log();
    gates.hold(move |call| match call {
        Call::Commit(commit) => commit.log.iter().any(|(number, _)| *number > next),
        _ => is_stage(call),
    });
    env.run_until_idle();
    assert!(
        told.of("other").is_some()
            && told.of("second").is_none()
            && engine.store.view.borrow().held_up(engine.store.last_flush.has_failed())
    );
    gates.fail(1, is_stage, Moment::Before, Code::QuotaExceeded);
    gates.hold(is_write);
    env.run_until_idle();
    assert_eq!((gates.failures_left(), told.of("second")), (0, None));
    told.start(&env, "third", adding(&engine));
    gates.open();
    env.run_until_idle();
    assert_eq!((told.of("second"), told.of("third")), (Some(Ok(2)), Some(Ok(3))));
    assert_eq!(env.run(value(&engine, "counter")), Some(3));
}

/// R5: a reader that waits for blocks, and for no write, sees nothing of the very next write.
#[test]
fn r5_a_reader_that_waits_for_blocks_sees_nothing_of_the_next_write() {
    let (env, storage, told) = (SimEnv::new(NOW), MemoryStorage::new(), Told::default());
    let (engine, gates) = gated(&env, &storage, Options { cache_bytes: 0, ..without_reserve() });
    env.run(set(&engine, "a", 1)).expect("written");
    env.run(engine.flush()).expect("flushed");
    env.run(set(&engine, "b", 1)).expect("written");
    gates.hold(|call| matches!(call, Call::GetBlocks(_)));
    let (got, scanned) = (Rc::clone(&engine), Rc::clone(&engine));
    told.start(&env, "get", async move { Ok(value(&got, "a").await.unwrap_or_default()) });
    told.start(&env, "scan", async move {
        let mut sum = 0;
        let mut visit = |_: &[u8], row: &RowView<'_>| {
            sum += cells(row)[0].2;
            ControlFlow::Continue(())
        };
        scanned.scan(TREE, all(), Direction::Forward, &mut visit).await.map(|()| sum)
    });
    env.run(set(&engine, "a", 10)).expect("written");
    assert_eq!((told.of("get"), told.of("scan")), (None, None), "they wait for the block");
    gates.open();
    env.run_until_idle();
    assert_eq!((told.of("get"), told.of("scan")), (Some(Ok(1)), Some(Ok(2))));
    assert_eq!(env.run(value(&engine, "a")), Some(10));
}

/// The end of the engine wakes writes that wait for a flush, and also a flush, a load and `close`.
#[test]
fn nobody_waits_for_an_engine_that_was_ended_while_writing_was_held_up() {
    let (env, storage, told) = (SimEnv::new(NOW), MemoryStorage::new(), Told::default());
    let (engine, gates) = gated(&env, &storage, Options::default());
    gates.hold(is_stage);
    for key in ["a", "b"] {
        env.run(set(&engine, key, 1)).expect("written");
        told.start(&env, "flush", flushing(&engine));
    }
    assert!(engine.store.view.borrow().held_up(engine.store.last_flush.has_failed()));
    told.start(&env, "write", setting(&engine, "c"));
    let load = engine.start_load(TREE);
    load.push(b"k", &RowChange { kind: ChangeKind::Put, stamp: 1, cells: &[] }).expect("taken");
    told.start(&env, "load", async move { load.commit().await.map(|()| 0) });
    assert_eq!((told.of("write"), told.of("load")), (None, None));
    engine.stop(Error::new(Code::Closed, "the test is over"));
    gates.open();
    env.run_until_idle();
    for name in ["flush", "write", "load"] {
        let outcome = told.of(name).unwrap_or_else(|| panic!("{name} waits for ever"));
        assert_eq!(outcome, Err(Code::Closed), "{name}");
    }
    env.run(engine.close());
}

/// The first caller after a commit of unknown outcome may go away: the others still get answers.
#[test]
fn a_read_that_is_dropped_while_it_is_found_out_what_is_stored_keeps_nobody_waiting() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let (engine, gates) = gated(&env, &storage, Options::default());
    gates.fail(1, is_write, Moment::After, Code::Unavailable);
    env.run(set(&engine, "a", 1)).expect_err("of unknown fate");
    gates.hold(|call| matches!(call, Call::Load));
    {
        let mut read = pin!(value(&engine, "a"));
        assert!(read.as_mut().now_or_never().is_none());
        env.run_until_idle();
    }
    gates.open();
    env.run(set(&engine, "b", 2)).expect("written");
    assert_eq!(env.run(value(&engine, "a")), Some(1));
}

/// If the caller of a compaction, a split or a merge goes away, the work still completes, and the next one runs.
#[test]
fn work_on_segments_that_is_dropped_half_way_keeps_no_other_from_running() {
    for which in 0..3 {
        let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
        let (engine, gates) = gated(&env, &storage, without_reserve());
        for key in ["a", "b"] {
            env.run(set(&engine, key, 1)).expect("written");
            env.run(engine.flush()).expect("flushed");
        }
        env.run_until_idle();
        gates.hold(|call| is_stage(call) || is_edit(call));
        {
            let work = async {
                match which {
                    0 => engine.compact().await,
                    1 => engine.split_partition(TREE, b"b").await,
                    _ => engine.merge_partition(TREE, PartitionId(0)).await,
                }
            };
            let mut work = pin!(work);
            assert!(work.as_mut().now_or_never().is_none());
            env.run_until_idle();
            assert!(work.as_mut().now_or_never().is_none() || which == 2, "{which} is held");
        }
        gates.open();
        env.run(engine.compact()).expect("compacted");
        env.run_until_idle();
        let stored = env.run(storage.list_segments()).expect("listed").len();
        assert_eq!(stored as u64, engine.metrics().segments, "{which}");
    }
}

/// Segments staged for failed commits are deleted once their fate is known. Stored segments stay.
#[test]
fn segments_that_were_staged_for_commits_that_failed_are_given_back() {
    for (moment, code) in
        [(Moment::Before, Code::Unavailable), (Moment::After, Code::Unavailable), (Moment::Before, Code::QuotaExceeded)]
    {
        let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
        let (engine, gates) = gated(&env, &storage, tiny());
        for i in 0..40 {
            env.run(set(&engine, &format!("k{i:02}"), i)).expect("written");
        }
        for round in 0..6 {
            gates.fail(1, is_edit, moment, code);
            env.run(async { if round % 2 == 0 { engine.flush().await } else { engine.compact().await } })
                .unwrap_or_default();
            let load = engine.start_load(TREE);
            load.push(format!("l{round}").as_bytes(), &RowChange { kind: ChangeKind::Put, stamp: 1, cells: &[] })
                .expect("taken");
            env.run(load.commit()).unwrap_or_default();
            env.run(set(&engine, "k", round)).expect("written");
            env.run_until_idle();
            let stored = env.run(storage.list_segments()).expect("listed").len();
            assert_eq!(
                stored as u64,
                engine.metrics().segments,
                "the next commit is enough: {moment:?} {code:?} {round}"
            );
        }
        gates.fail(0, is_edit, moment, code);
        env.run(engine.compact()).expect("compacted");
        env.run_until_idle();
        let stored: Vec<SegmentId> = env.run(storage.list_segments()).expect("listed");
        assert_eq!(stored.len() as u64, engine.metrics().segments, "{moment:?} {code:?}");
        let engine = open(&env, &storage, &tiny());
        for i in 0..40 {
            assert_eq!(env.run(value(&engine, &format!("k{i:02}"))), Some(i), "{moment:?} {code:?}");
        }
    }
}

/// R5: segments that readers of an earlier leader hold are no orphans, even if no version names them any more.
#[test]
fn r5_orphans_are_not_looked_for_among_what_readers_hold() {
    let (env, storage, told) = (SimEnv::new(NOW), MemoryStorage::new(), Told::default());
    let options = Options { cache_bytes: 0, ..without_reserve() };
    let earlier = open(&env, &storage, &options);
    env.run(set(&earlier, "a", 1)).expect("written");
    env.run(earlier.flush()).expect("flushed");
    env.run(earlier.close());
    let gates = Rc::new(Gates::default());
    gates.hold(|call| matches!(call, Call::ListSegments | Call::GetBlocks(_)));
    let hooked = Hooked::new(storage.clone(), Rc::clone(&gates));
    let engine = env.run(Engine::open(hooked, Rc::new(env.clone()), options)).expect("opens");
    let reader = Rc::clone(&engine);
    told.start(&env, "get", async move { Ok(value(&reader, "a").await.unwrap_or_default()) });
    engine.drop_tree(TREE);
    env.run(set(&engine, "b", 1)).expect("written");
    assert!(engine.partitions(TREE).is_empty() && told.of("get").is_none());
    gates.hold(|call| matches!(call, Call::GetBlocks(_)));
    env.run_until_idle();
    assert_eq!(env.run(storage.list_segments()).expect("listed").len(), 1, "the reader holds it");
    gates.open();
    env.run_until_idle();
    assert_eq!(told.of("get"), Some(Ok(1)));
    env.run(set(&engine, "b", 2)).expect("written");
    env.run_until_idle();
    assert_eq!(env.run(storage.list_segments()).expect("listed"), []);
}

/// A replaced leader that has not noticed says so at every request: data that it lacks is not damaged.
#[test]
fn r5_a_leader_that_was_replaced_calls_no_data_damaged_and_gives_nothing_that_was_overwritten() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let options = Options { cache_bytes: 1, auto_compact: false, ..Options::default() };
    let blind = Engine::open(Hooked::new(storage.clone(), Blind), Rc::new(env.clone()), options.clone());
    let blind = env.run(blind).expect("opens");
    for i in 0..100 {
        env.run(set(&blind, &format!("k{i}"), i)).expect("written");
    }
    env.run(blind.flush()).expect("flushed");
    let (leader, _) = gated(&env, &storage, options);
    env.run(set(&leader, "k5", 500)).expect("written");
    env.run(leader.compact()).expect("compacted");
    env.run_until_idle();
    let mut see = |_: usize, _: Option<&RowView<'_>>| ();
    let refused = env.run(blind.read(TREE, &[b"k7"], &mut see)).expect_err("its segments are gone");
    assert_eq!(refused.code(), Code::Fenced, "{refused}");
    let refused = env.run(blind.compact()).expect_err("it has ended");
    assert_eq!(refused.code(), Code::Fenced, "{refused}");
    assert_eq!(env.run(value(&leader, "k7")), Some(7));

    // A leader that knows of its successor answers nothing from its memory.
    let (next, _) = gated(&env, &storage, Options::default());
    env.run(set(&next, "k5", 501)).expect("written");
    let refused = env.run(leader.read(TREE, &[b"k5"], &mut see)).expect_err("it was overwritten");
    assert_eq!(refused.code(), Code::Fenced, "{refused}");
}

/// Does not report other leaders' writes, as browsers do not.
struct Blind;

impl Hook for Blind {
    fn knows_newest_log(&self) -> bool {
        false
    }
}

/// T1: a tree that is dropped during its flush stays dropped.
#[test]
fn t1_a_tree_that_is_dropped_while_it_is_flushed_does_not_come_back() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let (engine, gates) = gated(&env, &storage, without_reserve());
    env.run(set(&engine, "k", 1)).expect("written");
    gates.hold(is_stage);
    let told = Told::default();
    told.start(&env, "flush", flushing(&engine));
    engine.drop_tree(TREE);
    env.run_until_idle();
    assert_eq!(told.of("flush"), None, "its blocks are on their way");
    gates.open();
    env.run_until_idle();
    assert_eq!(told.of("flush"), Some(Ok(0)));
    assert!(engine.partitions(TREE).is_empty());
    assert_eq!(env.run(storage.list_segments()).expect("listed"), []);
    assert!(open(&env, &storage, &Options::default()).partitions(TREE).is_empty());
}
