//! ST1: records of changes are made late, and nobody can tell.

use super::*;
use crate::engine::pending::Pending;
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

async fn change(engine: &Engine<MemoryStorage>, key: &str, kind: ChangeKind, stamp: i64, shard: i64) {
    let cells = [put("n", stamp, stamp)];
    let cells = if kind == ChangeKind::Delete { &[][..] } else { &cells };
    let mut recorded = Recorded(key.as_bytes(), RowChange { kind, stamp, cells }, shard);
    let row = (TREE, key.as_bytes());
    engine.write_unseen(&[row], None, &mut recorded).await.expect("written");
}

/// The records of the stream: shard, time and content.
async fn records(engine: &Engine<MemoryStorage>) -> Result<Vec<(i64, i64, String)>> {
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
async fn three(engine: &Engine<MemoryStorage>) {
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
