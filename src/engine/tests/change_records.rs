//! ST1: records of changes are made late, and nobody can tell.

use super::*;
use crate::engine::store::pending::Pending;
use crate::error::{Code, Error};
use crate::format::fragment::FragmentHead;
use crate::format::record;
use crate::model::{KeyReader, RecordPlace, WriteNote};

const STREAM: TreeId = TreeId(2);

/// A readable record: the key, the kind and the cells.
fn recorder(key: &[u8], change: &RowChange<'_>) -> Result<Vec<u8>> {
    let cells: Vec<String> = change.cells.iter().map(|cell| format!("{} {:?}", cell.column, cell.op)).collect();
    Ok(format!("{} {:?} {} {cells:?}", String::from_utf8_lossy(key), change.kind, change.stamp).into_bytes())
}

fn failing(_: &[u8], _: &RowChange<'_>) -> Result<Vec<u8>> {
    Err(Error::internal("no record today"))
}

/// Writes a row whose change has a record in a shard.
struct Recorded<'c>(&'c [u8], RowChange<'c>, i64);

impl Decide for Recorded<'_> {
    fn see(&mut self, _: usize, _: Option<&RowView<'_>>) -> Result<()> {
        Ok(())
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        let place = RecordPlace { tree: STREAM, shard: self.2, time: NOW + self.1.stamp };
        writes.change_recorded(TREE, self.0, &self.1, place);
    }
}

async fn change(engine: &Engine, key: &str, kind: ChangeKind, stamp: i64, shard: i64) {
    let cells = [put("n", stamp, stamp)];
    let cells = if kind == ChangeKind::Delete { &[][..] } else { &cells };
    let mut recorded = Recorded(key.as_bytes(), RowChange { kind, stamp, cells }, shard);
    let row = (TREE, key.as_bytes());
    engine.write_unseen(&[row], None, &mut recorded).await.expect("written");
}

/// The records of the stream: shard, time and content.
async fn records(engine: &Engine) -> Result<Vec<(i64, i64, String)>> {
    let (mut found, mut keys) = (Vec::new(), KeyReader::default());
    let mut visit = |key: &[u8], row: &RowView<'_>| {
        let shard = match keys.read(key).as_deref() {
            Some([ValueRef::Integer(shard), ValueRef::Integer(_)]) => *shard,
            other => panic!("no key of a record: {other:?}"),
        };
        for cell in row.cells() {
            let ValueRef::Binary(bytes) = cell.value else { panic!("no record: {cell:?}") };
            found.push((shard, cell.version - NOW, String::from_utf8_lossy(bytes).into_owned()));
        }
        ControlFlow::Continue(())
    };
    engine.scan(STREAM, all(), Direction::Forward, &mut visit).await?;
    Ok(found)
}

fn of(key: &str, kind: &str, stamp: i64, shard: i64) -> (i64, i64, String) {
    let cells = if kind == "Delete" { String::new() } else { format!("\"n Put({stamp}, Integer({stamp}))\"") };
    (shard, stamp, format!("{key} {kind} {stamp} [{cells}]"))
}

/// Three changes of one row: each hides the one before.
async fn three(engine: &Engine) {
    change(engine, "a", ChangeKind::Put, 1, 5).await;
    change(engine, "a", ChangeKind::Put, 2, 5).await;
    change(engine, "a", ChangeKind::Delete, 3, 6).await;
}

fn expected() -> Vec<(i64, i64, String)> {
    vec![of("a", "Put", 1, 5), of("a", "Put", 2, 5), of("a", "Delete", 3, 6)]
}

#[test]
fn st1_records_are_the_same_from_memory_from_the_log_and_from_segments() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &Options::default());
    engine.set_recorder(recorder);
    env.run(three(&engine));
    // A tab that dies leaves the log.
    let crashed = storage.image();
    assert_eq!(env.run(records(&engine)).expect("read"), expected());
    assert_eq!(env.run(records(&engine)).expect("read again"), expected());
    env.run(async {
        change(&engine, "b", ChangeKind::Update, 4, 5).await;
        engine.flush().await.expect("flushed");
    });
    let mut all = expected();
    all.insert(2, of("b", "Update", 4, 5));
    assert_eq!(env.run(records(&engine)).expect("read"), all, "some were made by a reader, one by the flush");
    drop(engine);
    assert_eq!(env.run(records(&open(&env, &storage, &Options::default()))).expect("read"), all);

    let engine = open(&env, &crashed, &Options::default());
    assert!(engine.awaits_recorder());
    engine.set_recorder(recorder);
    assert!(!engine.awaits_recorder());
    env.run(async { engine.flush().await.expect("flushed") });
    assert_eq!(engine.metrics().segments, 1);
    assert_eq!(env.run(records(&engine)).expect("read"), expected());
}

#[test]
fn st1_a_reader_sees_a_change_and_its_record_or_neither() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &Options::default());
    engine.set_recorder(recorder);
    env.run(async {
        let first = change(&engine, "a", ChangeKind::Put, 1, 5);
        let (before, after) = (records(&engine), records(&engine));
        let second = change(&engine, "a", ChangeKind::Put, 2, 5);
        // Asked for in this order, in one turn: each read waits for the writes before it, whose commits are under way.
        let ((), before, (), after) = futures_util::future::join4(first, before, second, after).await;
        assert_eq!(before.expect("read"), [of("a", "Put", 1, 5)]);
        assert_eq!(after.expect("read"), [of("a", "Put", 1, 5), of("a", "Put", 2, 5)]);
    });
}

#[test]
fn st1_changes_with_records_are_not_flushed_before_records_can_be_made() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &Options::default());
    engine.set_recorder(recorder);
    env.run(three(&engine));
    drop(engine);
    let engine = open(&env, &storage, &Options::default());
    let early = |done: Result<()>| assert_eq!(done.expect_err("too early").code(), Code::Unavailable);
    env.run(async {
        early(engine.flush().await);
        early(engine.compact().await);
        early(records(&engine).await.map(drop));
        // Other trees can be read and written.
        assert_eq!(get(&engine, "a").await, None);
        write(&engine, "b", ChangeKind::Put, 9, &[put("x", 9, 1)]).await;
    });
    assert_eq!(engine.metrics().segments, 0);
    engine.set_recorder(recorder);
    env.run(async {
        engine.flush().await.expect("flushed");
        assert_eq!(records(&engine).await.expect("read"), expected());
    });
    // An engine that ends before it knows a recorder does not wait for one.
    let unknowing = open(&env, &storage, &Options::default());
    env.run(unknowing.close());
}

#[test]
fn st1_a_record_that_cannot_be_made_is_not_lost() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &Options::default());
    engine.set_recorder(failing);
    env.run(async {
        three(&engine).await;
        assert_eq!(records(&engine).await.expect_err("fails").code(), Code::InternalServerError);
        assert_eq!(engine.flush().await.expect_err("fails").code(), Code::InternalServerError);
        assert_eq!(get(&engine, "a").await, None, "the row was deleted, and can be read");
        engine.set_recorder(recorder);
        assert_eq!(records(&engine).await.expect("read"), expected());
        engine.flush().await.expect("flushed");
        assert_eq!(records(&engine).await.expect("read"), expected());
    });
}

#[test]
fn q_only_log_records_with_records_of_streams_need_this_version() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &Options::default());
    engine.set_recorder(recorder);
    let versions = || {
        let loaded = env.run(storage.load(&|_| Ok(LogNumber(1)) as Result<LogNumber>)).expect("read");
        loaded.log.iter().map(|(_, stored)| record::version(stored)).collect::<Vec<_>>()
    };
    env.run(write(&engine, "a", ChangeKind::Put, 1, &[put("x", 1, 1)]));
    assert_eq!(versions(), [2, 2], "the lead and a plain write");
    env.run(change(&engine, "a", ChangeKind::Put, 2, 5));
    assert_eq!(versions(), [2, 2, 3]);
}

/// A flush that fails ends the writes that wait, but not the commit in flight: readers of its streams go on waiting for it.
#[test]
fn r5_a_stream_waits_for_the_commit_in_flight_when_later_writes_fail() {
    let mut pending = Pending::new(1);
    let place = RecordPlace { tree: STREAM, shard: 1, time: NOW };
    let note = WriteNote { record: Some(place), ..WriteNote::default() };
    let head = FragmentHead { hides_older: false, marker: None, stamp: 1 };
    let group = pending.open_group(1);
    pending.push(&group, b"\0\0\0\x01a"[..].into(), TREE, note, head, &[put("x", 1, 1)]);
    assert!(pending.pop().is_some());
    assert!(pending.fail_waiting().is_empty());
    for tree in [TREE, STREAM] {
        assert!(pending.group_of_tree(tree).is_some_and(|newest| Rc::ptr_eq(&newest, &group)), "{tree:?}");
    }
}

mod beside_others {
    use super::*;
    use crate::storage::faults::{Call, Gates, Hooked, Moment, YieldOnce};
    use futures_util::future::{join, join_all};
    use std::collections::{BTreeMap, BTreeSet};

    /// A flush that comes to a memtable with waiting records before the recorder is set fails, and is not begun again
    /// when it is set.
    #[test]
    fn memtables_that_were_too_early_are_flushed_once_a_recorder_is_set() {
        let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
        let engine = open(&env, &storage, &without_reserve());
        engine.set_recorder(recorder);
        env.run(async {
            for n in 0..60 {
                write(&engine, &format!("p{n:03}"), ChangeKind::Put, n + 1, &[put("x", n + 1, n)]).await;
            }
            for n in 0..25 {
                change(&engine, &format!("q{n:03}"), ChangeKind::Put, n + 100, 5).await;
            }
        });
        drop(engine);
        env.crash();
        let engine = open(&env, &storage.image(), &tiny());
        // The module of streams takes a while to load.
        env.run_until_idle();
        let early = engine.metrics().frozen_memtables;
        engine.set_recorder(recorder);
        env.run_until_idle();
        let left = engine.metrics().frozen_memtables;
        assert!(early > 0, "the test is about these");
        assert_eq!(left, 0);
    }

    #[test]
    fn records_of_a_stream_that_is_gone_bring_no_tree_back() {
        let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
        let engine = open(&env, &storage, &without_reserve());
        engine.set_recorder(recorder);
        env.run(three(&engine));
        drop(engine);
        let engine = open(&env, &storage.image(), &without_reserve());
        // As an instance does that has no stream.
        engine.set_recorder(recorder);
        engine.retain_trees(&[TREE]);
        env.run(async {
            engine.flush().await.expect("flushed");
            engine.compact().await.expect("compacted");
        });
        env.run_until_idle();
        let trees: Vec<_> = engine.metrics().trees.into_iter().map(|tree| tree.tree).collect();
        assert!(!trees.contains(&STREAM), "{trees:?}");
    }

    async fn change_on(engine: &Engine, key: &str, column: &str, stamp: i64, shard: i64) -> Result<()> {
        let cells = [put(column, stamp, stamp)];
        let change = RowChange { kind: ChangeKind::Update, stamp, cells: &cells };
        engine.write_unseen(&[(TREE, key.as_bytes())], None, &mut Recorded(key.as_bytes(), change, shard)).await
    }

    async fn change_of(
        engine: &Engine,
        key: String,
        column: &'static str,
        stamp: i64,
        shard: i64,
    ) -> (i64, Result<()>) {
        (stamp, change_on(engine, &key, column, stamp, shard).await)
    }

    /// seqno → stamp
    async fn recorded(engine: &Engine) -> Result<BTreeMap<i64, i64>> {
        let (mut found, mut keys) = (BTreeMap::new(), KeyReader::default());
        let mut twice = false;
        let mut visit = |key: &[u8], row: &RowView<'_>| {
            let seqno = match keys.read(key).as_deref() {
                Some([ValueRef::Integer(_), ValueRef::Integer(seqno)]) => *seqno,
                other => panic!("no key of a record: {other:?}"),
            };
            assert_eq!(row.cells().len(), 1);
            twice |= found.insert(seqno, row.cells()[0].version - NOW).is_some();
            ControlFlow::Continue(())
        };
        engine.scan(STREAM, all(), Direction::Forward, &mut visit).await?;
        assert!(!twice);
        Ok(found)
    }

    async fn stored(engine: &Engine) -> Result<BTreeSet<i64>> {
        let mut found = BTreeSet::new();
        let mut visit = |_: &[u8], row: &RowView<'_>| {
            found.extend(row.cells().iter().map(|cell| cell.version));
            ControlFlow::Continue(())
        };
        engine.scan(TREE, all(), Direction::Forward, &mut visit).await?;
        Ok(found)
    }

    #[test]
    fn random_lives() {
        const COLUMNS: [&str; 5] = ["a", "b", "c", "d", "e"];
        for seed in 0..150u64.div_ceil(share()) {
            let env = SimEnv::shuffled(NOW, seed + 1);
            let storage = MemoryStorage::new();
            let gates = Rc::new(Gates::default());
            let hooked = Hooked::new(Hooked::new(storage.clone(), Rc::clone(&gates)), YieldOnce);
            let options = Options { memtable_bytes: if seed % 2 == 0 { 3000 } else { 60_000 }, ..tiny() };
            let engine = env.run(Engine::open(hooked, Rc::new(env.clone()), options.clone())).expect("opens");
            engine.set_recorder(recorder);
            let (mut stamp, mut acknowledged) = (0, BTreeSet::new());
            let mut reads: Vec<BTreeMap<i64, i64>> = Vec::new();
            for _ in 0..25 {
                let faulty = env.random().is_multiple_of(6);
                if faulty {
                    let moment = if env.random().is_multiple_of(2) { Moment::Before } else { Moment::After };
                    let code = Code::Unavailable;
                    gates.fail(1, |call| matches!(call, Call::Commit(_)), moment, code);
                }
                let count = if env.random().is_multiple_of(8) { 700 } else { 1 + env.random() % 12 };
                let mut changes = Vec::new();
                for _ in 0..count {
                    stamp += 1;
                    let (key, column) = (format!("k{}", env.random() % 6), COLUMNS[(env.random() % 5) as usize]);
                    changes.push(change_of(&engine, key, column, stamp, 1 + (env.random() % 3) as i64));
                }
                let late = changes.split_off(changes.len() / 2);
                let (first, second) = (recorded(&engine), recorded(&engine));
                let flushes = env.random().is_multiple_of(3);
                let flush = async {
                    if flushes {
                        let _ = engine.flush().await;
                    }
                };
                let compacts = env.random().is_multiple_of(9);
                let compact = async {
                    if compacts {
                        let _ = engine.compact().await;
                    }
                };
                let before = acknowledged.clone();
                let ((done, one), (_, (done_late, (two, _)))) = env.run(join(
                    join(join_all(changes), first),
                    join(flush, join(join_all(late), join(second, compact))),
                ));
                gates.fail(0, |_| false, Moment::Before, Code::Unavailable);
                for read in [one, two].into_iter().flatten() {
                    let seen: BTreeSet<i64> = read.values().copied().collect();
                    assert!(
                        before.is_subset(&seen),
                        "seed {seed}: lost {:?}",
                        before.difference(&seen).collect::<Vec<_>>()
                    );
                    reads.push(read);
                }
                acknowledged
                    .extend(done.into_iter().chain(done_late).filter(|(_, done)| done.is_ok()).map(|(stamp, _)| stamp));
            }
            let last = env.run(recorded(&engine)).expect("read");
            for read in &reads {
                let Some((newest, _)) = read.last_key_value() else { continue };
                let expected: BTreeMap<i64, i64> = last.range(..=*newest).map(|(a, b)| (*a, *b)).collect();
                assert_eq!(*read, expected, "seed {seed}");
            }
            let seen: BTreeSet<i64> = last.values().copied().collect();
            assert!(acknowledged.is_subset(&seen), "seed {seed}");
            assert_eq!(env.run(stored(&engine)).expect("read"), seen, "seed {seed}");
            drop(engine);
            env.crash();
            let engine = open(&env, &storage.image(), &options);
            engine.set_recorder(recorder);
            env.run(async {
                assert_eq!(recorded(&engine).await.expect("read"), last, "seed {seed}, reopened");
                assert_eq!(stored(&engine).await.expect("read"), seen, "seed {seed}");
                engine.compact().await.expect("compacted");
                assert_eq!(recorded(&engine).await.expect("read"), last, "seed {seed}, compacted");
            });
        }
    }

    /// A reader is not kept waiting by writes that were asked for after it.
    #[test]
    fn a_reader_does_not_wait_for_later_writes() {
        let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
        let options = Options { memtable_bytes: 64 << 20, ..without_reserve() };
        let engine = open(&env, &storage, &options);
        engine.set_recorder(recorder);
        let stamp = Cell::new(0);
        let ended = Cell::new(0u32);
        let rounds = |writer: i64| {
            let (engine, stamp, ended) = (&engine, &stamp, &ended);
            async move {
                for _ in 0..8 {
                    let changes: Vec<_> = (0..3000)
                        .map(|n| {
                            stamp.set(stamp.get() + 1);
                            change_of(engine, format!("k{writer}-{n}"), "a", stamp.get(), 1)
                        })
                        .collect();
                    join_all(changes).await;
                    ended.set(ended.get() + 1);
                }
            }
        };
        env.run(async {
            rounds(9).await;
            let at = ended.get();
            let reader = async {
                let read = recorded(&engine).await.expect("read");
                (read.len(), ended.get() - at)
            };
            let (read, _) = join(reader, join_all((0..4).map(rounds))).await;
            assert!(read.1 < 16, "it ended after {} of 32 rounds of writes", read.1);
        });
    }

    /// R5: a reader sees nothing that was asked for after it.
    #[test]
    fn r5_a_reader_that_makes_records_sees_nothing_of_later_writes() {
        let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
        let engine = open(&env, &storage, &without_reserve());
        engine.set_recorder(recorder);
        env.run(async {
            let changes: Vec<_> = (1..9000).map(|n| change_of(&engine, format!("k{n}"), "a", n, 1)).collect();
            join_all(changes).await;
            let (read, (_, done)) = join(recorded(&engine), change_of(&engine, "later".into(), "a", 9000, 1)).await;
            done.expect("written");
            assert_eq!(read.expect("read").len(), 8999);
        });
    }
}
