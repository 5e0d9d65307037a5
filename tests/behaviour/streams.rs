//! Streams (ST1 to ST3): each committed change of a table is recorded once, in order, and can be read again.

use crate::store::*;
use std::collections::BTreeSet;
use tabstore::engine::{ClockMode, Options};
use tabstore::env::Env;
use tabstore::error::Code;
use tabstore::model::{ChangeKind, DefinedColumn, IndexKind, KeyType, KeyValue, Value, ValueType};
use tabstore::tablestore::{
    ColumnOp, CreateTable, Existence, IndexSpec, InstanceOptions, Loader, OptionsChange, PutRows, StreamChange,
    StreamRecord, StreamStart, UpdateTable,
};

const HOUR: i64 = 3_600_000;

pub(crate) fn on(hours: i64, columns: &[&str]) -> Option<StreamChange> {
    let origin_columns = Some(columns.iter().map(|name| (*name).to_owned()).collect());
    Some(StreamChange { enabled: true, expiration_hours: Some(hours), origin_columns })
}

fn off() -> Option<StreamChange> {
    Some(StreamChange::default())
}

pub(crate) fn set(store: &Store, stream: Option<StreamChange>) {
    let request = UpdateTable { name: "t".into(), stream, ..UpdateTable::default() };
    store.env.run(store.instance.update_table(request)).expect("right");
}

fn store() -> Store {
    let store = Store::with_table(OptionsChange { max_versions: Some(3), ..OptionsChange::default() });
    set(&store, on(24, &[]));
    store
}

pub(crate) fn stream(store: &Store) -> String {
    store.instance.streams().list_stream(Some("t")).expect("there").pop().expect("one").id
}

/// The shards: id, parents, whether it has ended. Page by page.
pub(crate) fn shards(store: &Store) -> Vec<(i64, [i64; 2], bool)> {
    let (id, mut all, mut first) = (stream(store), Vec::new(), None);
    loop {
        let page = store.env.run(store.instance.streams().describe_stream(&id, first, Some(3))).expect("there");
        all.extend(page.shards.into_iter().map(|shard| (shard.id, shard.parents, shard.closed)));
        first = page.next;
        if first.is_none() {
            return all;
        }
    }
}

pub(crate) fn iterator(store: &Store, shard: i64, start: StreamStart) -> String {
    store.env.run(store.instance.streams().get_shard_iterator(&stream(store), shard, start)).expect("there")
}

/// All records from an iterator on, and the last iterator, if the shard is open.
pub(crate) fn read(store: &Store, mut at: String, limit: i64) -> (Vec<StreamRecord>, Option<String>) {
    let mut all = Vec::new();
    loop {
        let page = store.env.run(store.instance.streams().get_stream_record(&at, Some(limit))).expect("there");
        let records = page.read().expect("whole");
        assert!(records.len() == page.count && records.len() <= limit as usize);
        all.extend(records);
        match page.next {
            None => {
                assert!(!page.more);
                return (all, None);
            }
            Some(next) if page.count == 0 => {
                assert!(next == at && !page.more, "an open shard at its end gives the same iterator");
                return (all, Some(next));
            }
            Some(next) => at = next,
        }
    }
}

/// All records of all shards, parents first.
fn all(store: &Store) -> Vec<StreamRecord> {
    shards(store).into_iter().flat_map(|(id, ..)| read(store, iterator(store, id, StreamStart::Oldest), 7).0).collect()
}

/// The keys of records whose tables have one Integer column as key.
pub(crate) fn keys(records: &[StreamRecord]) -> Vec<i64> {
    let key = |record: &StreamRecord| match record.key[..] {
        [Value::Integer(key)] => key,
        _ => panic!("no key: {record:?}"),
    };
    records.iter().map(key).collect()
}

fn kinds(records: &[StreamRecord]) -> Vec<ChangeKind> {
    records.iter().map(|record| record.kind).collect()
}

fn value(number: i64) -> Value {
    Value::Integer(number)
}

#[test]
fn st1_each_kind_of_change_is_recorded_with_its_cells_versions_and_kinds() {
    let store = store();
    let now = store.env.now_ms();
    store.put(id(1), &[cell("b", int(2)), cell_at("a", now - 5, int(1))]);
    store.update(
        id(1),
        &[
            add("b", None, 3),
            change("a", ColumnOp::DeleteVersion(now - 5)),
            change("c", ColumnOp::DeleteColumn),
            increment("n", 7),
        ],
    );
    store.write(&delete("t", id(1))).expect("right");
    let refused_write = expecting(Existence::ExpectExist, put("t", id(1), &[cell("b", int(1))]));
    refused(store.write(&refused_write));
    let records = all(&store);
    assert_eq!(kinds(&records), [ChangeKind::Put, ChangeKind::Update, ChangeKind::Delete]);
    assert!(records.iter().all(|record| record.key == [value(1)] && record.old.is_empty()));
    assert!(records.is_sorted_by(|a, b| a.seqno < b.seqno && a.time <= b.time));
    let cell = |name: &str, version: Option<i64>, value: Option<Value>| (name.to_owned(), version, value);
    let stamp = |at: usize| records[at].cells.iter().find(|cell| cell.0 == "b").and_then(|cell| cell.1);
    assert_eq!(records[0].cells, [cell("a", Some(now - 5), Some(value(1))), cell("b", stamp(0), Some(value(2)))]);
    let updated = [
        cell("a", Some(now - 5), None),
        cell("b", stamp(1), Some(value(3))),
        cell("c", None, None),
        cell("n", stamp(1), Some(value(7))),
    ];
    assert_eq!(records[1].cells, updated);
    assert_eq!(records[2].cells, []);
    let b: Vec<i64> = [stamp(0), stamp(1)].into_iter().flatten().collect();
    assert!(b.len() == 2 && b[0] >= now && b[1] > b[0]);
}

#[test]
fn st1_old_values_come_along_where_they_were_asked_for() {
    let store = store();
    set(&store, on(24, &["a", "n"]));
    store.put(id(1), &[cell("a", text("old")), cell("b", int(1)), cell("n", int(5))]);
    store.update(id(1), &[add("a", None, 2), increment("n", 1)]);
    store.write(&delete("t", id(1))).expect("right");
    let old: Vec<Vec<(String, Value)>> = all(&store)
        .into_iter()
        .map(|record| record.old.into_iter().map(|(column, _, value)| (column, value)).collect())
        .collect();
    let pair = |name: &str, value: Value| (name.to_owned(), value);
    let first = vec![pair("a", Value::String("old".into())), pair("n", value(5))];
    assert_eq!(old, [vec![], first, vec![pair("a", value(2)), pair("n", value(6))]]);
}

#[test]
fn st1_streams_are_listed_described_and_switched() {
    let mut store = Store::with_table(OptionsChange::default());
    store.create("other", &[("id", KeyType::Integer)], OptionsChange::default());
    assert_eq!(store.instance.streams().list_stream(None).expect("right"), []);
    assert_eq!(store.instance.describe_table("t").expect("there").stream, None);
    store.put(id(1), &[cell("a", int(1))]);
    set(&store, on(168, &["a"]));
    let described = store.instance.describe_table("t").expect("there").stream.expect("one");
    assert_eq!(
        (described.hours, &described.columns[..], described.enabled),
        (168, &["a".to_owned()][..], store.env.now_ms())
    );
    assert_eq!(store.instance.streams().list_stream(None).expect("right"), std::slice::from_ref(&described));
    assert_eq!(shards(&store), [(1, [0, 0], false)]);
    store.put(id(2), &[]);
    let first = iterator(&store, 1, StreamStart::Oldest);
    store.reopen();
    assert_eq!(store.instance.streams().list_stream(Some("t")).expect("there"), [described]);
    assert_eq!(read(&store, first.clone(), 10).0.len(), 1, "from its start on, and after a restart");
    // Another life keeps what is there.
    set(&store, on(1, &[]));
    assert_eq!(read(&store, first.clone(), 10).0.len(), 1);
    set(&store, off());
    assert_eq!(store.instance.streams().list_stream(None).expect("right"), []);
    let gone = store.env.run(store.instance.streams().get_stream_record(&first, None)).expect_err("gone").error;
    assert_eq!(gone.code(), Code::ObjectNotExist);
    store.put(id(3), &[]);
    set(&store, on(24, &[]));
    assert_eq!(all(&store), [], "it is another one");
    assert_eq!(
        store.env.run(store.instance.streams().get_stream_record(&first, None)).expect_err("gone").error.code(),
        Code::ObjectNotExist
    );
    store.reopen();
    store.put(id(4), &[]);
    assert_eq!(all(&store).len(), 1);
    store.env.run(store.instance.delete_table("t")).expect("there");
    assert_eq!(store.instance.streams().list_stream(None).expect("right"), []);
}

#[test]
fn st1_wrong_arguments_are_refused_by_name() {
    let store = store();
    let id = stream(&store);
    let describe =
        |id: &str, first, limit| store.env.run(store.instance.streams().describe_stream(id, first, limit)).map(drop);
    for wrong in ["", "t", "t_1_1", "nobody_1_1"] {
        assert!(describe(wrong, None, None).is_err(), "{wrong}");
    }
    assert!(refused(describe("t", None, None)).contains("Invalid stream id"));
    assert!(refused(describe(&id, Some(9), None)).contains("shard"));
    for limit in [0, -1, 101] {
        assert!(refused(describe(&id, None, Some(limit))).contains("[1, 100]"));
    }
    let start = |shard| store.env.run(store.instance.streams().get_shard_iterator(&id, shard, StreamStart::Oldest));
    assert!(refused(start(2)).contains("shard"));
    let at = start(1).expect("there");
    let get = |at: &str, limit| {
        store.env.run(store.instance.streams().get_stream_record(at, limit)).map_err(|failure| failure.error)
    };
    assert_eq!(get(&at[2..], None).expect_err("forged").code(), Code::ParameterInvalid);
    for limit in [0, 1001] {
        assert!(refused(get(&at, Some(limit))).contains("[1, 1000]"));
    }
    for hours in [None, Some(0), Some(169)] {
        let stream = Some(StreamChange { enabled: true, expiration_hours: hours, origin_columns: None });
        let update = UpdateTable { name: "t".into(), stream, ..UpdateTable::default() };
        assert!(refused(store.env.run(store.instance.update_table(update))).contains("[1, 168]"));
    }
    let on_index = UpdateTable { name: "t".into(), stream: on(1, &["no spaces"]), ..UpdateTable::default() };
    assert!(store.env.run(store.instance.update_table(on_index)).is_err());
}

#[test]
fn st2_a_split_makes_children_and_a_merger_one_child_with_two_parents() {
    let store = store();
    store.put(id(1), &[]);
    store.put(id(9), &[]);
    let start = iterator(&store, 1, StreamStart::Oldest);
    store.env.run(store.instance.split_partition("t", &KeyValue::Integer(5))).expect("cut");
    store.put(id(9), &[]);
    store.put(id(1), &[]);
    assert_eq!(shards(&store), [(1, [0, 0], true), (2, [1, 0], false), (3, [1, 0], false)]);
    let (records, next) = read(&store, start, 1);
    assert_eq!((records.len(), next), (2, None), "it has ended");
    let keys = |shard: i64| -> Vec<Value> {
        read(&store, iterator(&store, shard, StreamStart::Oldest), 5)
            .0
            .into_iter()
            .flat_map(|record| record.key)
            .collect()
    };
    assert_eq!((keys(2), keys(3)), (vec![value(1)], vec![value(9)]));
    let first = store.instance.partitions("t").expect("there")[0].id;
    store.env.run(store.instance.merge_partition("t", first)).expect("merged");
    store.put(id(3), &[]);
    assert_eq!(shards(&store)[1..], [(2, [1, 0], true), (3, [1, 0], true), (4, [2, 3], false)]);
    assert_eq!(keys(4), [value(3)]);
}

#[test]
fn st3_iterators_start_at_the_oldest_the_latest_or_a_time() {
    let store = store();
    for n in 0..40 {
        store.env.set_now(store.env.now_ms() + 1000);
        store.put(id(n), &[]);
    }
    let times: Vec<i64> = all(&store).iter().map(|record| record.time).collect();
    let from = |start| -> Vec<i64> {
        read(&store, iterator(&store, 1, start), 9).0.into_iter().map(|record| record.time).collect()
    };
    assert_eq!(from(StreamStart::Oldest), times);
    assert_eq!(from(StreamStart::Latest), [0; 0]);
    for (at, time) in times.iter().enumerate() {
        assert_eq!(from(StreamStart::At(*time)), times[at..]);
        assert_eq!(from(StreamStart::At(*time - 1)), times[at..]);
    }
    assert_eq!(from(StreamStart::At(times[39] + 1)), [0; 0]);
}

#[test]
fn st3_expired_records_are_told_and_free_their_space() {
    let mut store = store();
    let begin = store.env.now_ms();
    let start = iterator(&store, 1, StreamStart::Oldest);
    for n in 0..2000 {
        store.put(id(n), &[cell("pad", text("a text that takes some space in the store"))]);
    }
    let (_, half) = read(&store, start.clone(), 1000);
    store.compact();
    let full = store.storage.bytes();
    // The reader that has read all is not told that something is gone, however long it was away; others are.
    store.env.set_now(begin + 400 * HOUR);
    store.reopen();
    let get = |store: &Store, at: &str| {
        store.env.run(store.instance.streams().get_stream_record(at, None)).map_err(|failure| failure.error)
    };
    store.env.run_until_idle();
    assert_eq!(get(&store, &start).expect_err("expired").code(), Code::TrimmedDataAccess);
    let half = half.expect("open");
    assert_eq!(get(&store, &half).expect("nothing is missed").count, 0);
    store.put(id(1), &[]);
    assert_eq!(get(&store, &half).expect("nothing is missed").count, 1);
    assert_eq!(all(&store).len(), 1);
    store.compact();
    assert!(store.storage.bytes() < full * 2 / 3, "{} of {full}", store.storage.bytes());
    store.reopen();
    assert_eq!(get(&store, &start).expect_err("expired").code(), Code::TrimmedDataAccess);
    assert_eq!(get(&store, &half).expect("nothing is missed").count, 1);
}

/// ST3: records expire while they are read; who begins at the oldest is not told of those that he never asked for.
#[test]
fn st3_the_oldest_record_can_be_read_at_any_time() {
    let store = store();
    for n in 0..200 {
        store.env.set_now(store.env.now_ms() + HOUR / 5);
        store.put(id(n), &[]);
        store.env.run_until_idle();
        let (records, next) = read(&store, iterator(&store, 1, StreamStart::Oldest), 50);
        assert!(next.is_some() && records.last().expect("one").key == [value(n)]);
        let age = store.env.now_ms() - records[0].time;
        assert!(age <= 26 * HOUR && (age >= 23 * HOUR || n < 120), "{age} ms after {n} records");
    }
}

/// ST1: what is asked for after a stream was enabled is recorded, whatever was under way.
#[test]
fn st1_loads_and_transactions_that_began_before_a_stream_take_no_more_rows() {
    let store = Store::with_table(OptionsChange::default());
    let loader = Loader::of_at_least(1);
    let rows = |ids: std::ops::Range<i64>| ids.map(|n| Ok(put("t", id(n), &[cell("v", int(n))]))).collect::<Vec<_>>();
    let load = |ids| store.env.run(store.instance.put_rows(&loader, rows(ids), None));
    assert!(matches!(load(100..110), PutRows::Taken { .. }));
    let name = tabstore::model::TableName::parse("t").expect("right");
    let open = store.instance.start_local_transaction(name, &id(1)).expect("free");
    store.env.run(store.instance.write_row_in(Some(&open.id), &put("t", id(1), &[]), None)).expect("right");
    set(&store, on(24, &[]));
    assert!(store.env.run(store.instance.commit_transaction(&open.id, None)).is_err());
    load(110..120);
    assert!(store.env.run(store.instance.store_rows(&loader)).failed.is_empty());
    let keys: Vec<Value> = all(&store).into_iter().flat_map(|record| record.key).collect();
    assert_eq!(keys, (110..120).map(value).collect::<Vec<_>>());
    // The other way round: with old values a load cannot be.
    load(120..130);
    set(&store, on(24, &["v"]));
    assert!(matches!(load(130..140), PutRows::Written(_)));
    assert!(store.env.run(store.instance.store_rows(&loader)).failed.is_empty());
    assert_eq!(all(&store).len(), 30);
    set(&store, off());
    load(140..150);
    assert!(store.env.run(store.instance.store_rows(&loader)).failed.is_empty());
    assert_eq!(store.ids().len(), 50);
}

/// R7, ST1: the old values in a transaction's records are bounded too.
#[test]
fn r7_st1_a_transaction_cannot_hold_old_values_without_bound() {
    let store = store();
    set(&store, on(24, &["v"]));
    let large = "v".repeat(1 << 20);
    store.put(id(1), &[cell("v", text(&large))]);
    let name = tabstore::model::TableName::parse("t").expect("right");
    let open = store.instance.start_local_transaction(name, &id(1)).expect("free").id;
    let mut written = 0;
    let refused = loop {
        let write = update("t", id(1), &[add("n", None, written)]);
        match store.env.run(store.instance.write_row_in(Some(&open), &write, None)) {
            Ok(_) => written += 1,
            Err(failure) => break failure.error,
        }
    };
    assert_eq!(refused.code(), Code::OutOfTransactionDataSizeLimit);
    assert!(refused.hint().is_some_and(|hint| hint.contains("originColumns")), "{refused:?}");
    assert!((31..34).contains(&written), "{written}");
    // What it has written before is kept.
    store.env.run(store.instance.commit_transaction(&open, None)).expect("committed");
    assert_eq!(all(&store).len() as i64, 1 + written);
}

/// ST2: a load has its place in the order, and nobody passes over it.
#[test]
fn st2_readers_do_not_overtake_a_load_whose_commit_was_asked_for() {
    for seed in 0..60 {
        let options = Options { clock: ClockMode::Injected, ..Options::default() };
        let store = Store::shuffled(InstanceOptions::default(), options, seed);
        store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
        set(&store, on(24, &[]));
        let loader = Loader::of_at_least(1);
        let rows = (100..400).map(|n| Ok(put("t", id(n), &[cell("v", int(n))]))).collect();
        assert!(matches!(store.env.run(store.instance.put_rows(&loader, rows, None)), PutRows::Taken { .. }));
        let at = iterator(&store, 1, StreamStart::Oldest);
        // All at once: the load ends, others write, and somebody reads on from where he is.
        let (_, _, read_on) = store.env.run(futures_util::future::join3(
            store.instance.store_rows(&loader),
            async {
                for n in 0..5 {
                    store.instance.write_row(&put("t", id(n), &[]), None).await.expect("right");
                }
            },
            async {
                let (mut at, mut keys) = (at, Vec::new());
                while keys.len() < 305 {
                    store.instance.streams().await_stream_record(std::slice::from_ref(&at)).await.expect("open");
                    let page = store.instance.streams().get_stream_record(&at, Some(50)).await.expect("there");
                    keys.extend(page.read().expect("whole").into_iter().flat_map(|record| record.key));
                    at = page.next.expect("open");
                }
                keys
            },
        ));
        let read: BTreeSet<i64> =
            read_on.iter().map(|key| if let Value::Integer(key) = key { *key } else { -1 }).collect();
        assert!(read.into_iter().eq((0..5).chain(100..400)), "seed {seed}");
    }
}

/// ST1: nothing brings a stream back that was disabled, or one of a deleted table.
#[test]
fn st1_a_disabled_stream_stays_away() {
    for step in 0..8 {
        let mut store = store();
        store.put(id(1), &[]);
        store.put(id(9), &[]);
        store.env.run(store.instance.split_partition("t", &KeyValue::Integer(5))).expect("cut");
        let request = UpdateTable { name: "t".into(), stream: off(), ..UpdateTable::default() };
        let write = put("t", id(step), &[]);
        let (done, written) = store.env.run(futures_util::future::join(store.instance.update_table(request), async {
            for _ in 0..step {
                store.instance.write_row(&put("t", id(2), &[]), None).await.expect("right");
            }
            store.instance.write_row(&write, None).await
        }));
        done.expect("right");
        written.expect("right");
        assert_eq!(store.instance.streams().list_stream(None).expect("right"), []);
        store.reopen();
        assert_eq!(store.instance.streams().list_stream(None).expect("right"), [], "after {step} writes");
        store.put(id(3), &[]);
        store.compact();
    }
}

/// ST3: a clock that was wrong for a while, in either direction, loses nothing silently.
#[test]
fn st3_a_clock_that_was_wrong_marks_nothing_as_expired_that_is_not() {
    // The device's clock: one that is injected is never wrong.
    let mut store = Store::with(InstanceOptions::default(), Options::default());
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    set(&store, on(24, &[]));
    let (start, begin) = (store.env.now_ms(), iterator(&store, 1, StreamStart::Oldest));
    let year = 365 * 24 * HOUR;
    for (n, now) in [(0, start), (1, start + year), (2, start + HOUR), (3, start + 2 * HOUR)] {
        store.env.set_now(now);
        store.put(id(n), &[]);
        if n != 1 {
            store.env.run_until_idle();
        }
    }
    store.reopen();
    store.env.run_until_idle();
    store.compact();
    let keys = |store: &Store| -> Result<Vec<Value>, Code> {
        let page = store
            .env
            .run(store.instance.streams().get_stream_record(&begin, None))
            .map_err(|failure| failure.error.code())?;
        Ok(page.read().expect("whole").into_iter().flat_map(|record| record.key).collect())
    };
    assert_eq!(keys(&store), Ok((0..4).map(value).collect()));
    // All but the one from the future have expired: a reader is told, whatever is left.
    store.env.set_now(start + 40 * HOUR);
    store.reopen();
    store.env.run_until_idle();
    store.put(id(4), &[]);
    store.compact();
    assert_eq!(keys(&store), Err(Code::TrimmedDataAccess));
    assert!(read(&store, iterator(&store, 1, StreamStart::Oldest), 10).0.iter().any(|record| record.key == [value(4)]));
}

/// ST3: a tab that stays open and has no reader keeps records for their time only.
#[test]
fn st3_a_stream_that_nobody_reads_costs_its_retention() {
    let store = store();
    let (mut most, mut last) = (0, 0);
    for day in 0..12 {
        for n in 0..300 {
            store.put(id(n), &[cell("pad", text(&format!("a text of day {day} that takes space in row {n}")))]);
        }
        store.env.run_until_idle();
        store.compact();
        last = store.storage.bytes();
        if day < 3 {
            most = most.max(last);
        }
        store.env.set_now(store.env.now_ms() + 24 * HOUR);
    }
    assert!(last < most * 3 / 2, "{last} after 12 days, {most} in the first three");
    assert!(all(&store).len() <= 300);
}

#[test]
fn st1_writes_without_a_stream_leave_no_record_and_index_rows_neither() {
    let store = store();
    let defined = vec![DefinedColumn { name: "v".into(), column_type: ValueType::Integer }];
    let index = IndexSpec {
        name: "by_v".into(),
        kind: IndexKind::Global,
        key: vec!["v".into()],
        columns: vec![],
        time_to_live: None,
    };
    let table = CreateTable {
        name: "u".into(),
        key: vec![tabstore::model::KeyColumn::new("id", KeyType::Integer)],
        defined,
        indexes: vec![index],
        stream: on(1, &[]),
        ..CreateTable::default()
    };
    store.env.run(store.instance.create_table(table)).expect("right");
    store.write(&put("u", id(1), &[cell("v", int(1))])).expect("right");
    store.write(&put("u", id(1), &[cell("v", int(2))])).expect("right");
    assert_eq!(all(&store), []);
    let u = store.instance.streams().list_stream(Some("u")).expect("there").pop().expect("one").id;
    let at = store.env.run(store.instance.streams().get_shard_iterator(&u, 1, StreamStart::Oldest)).expect("there");
    assert_eq!(read(&store, at, 10).0.len(), 2);
    let on_index = UpdateTable { name: "by_v".into(), stream: on(1, &[]), ..UpdateTable::default() };
    assert!(store.env.run(store.instance.update_table(on_index)).is_err(), "an index has no stream");
}

#[test]
fn st1_a_reader_waits_for_the_next_record_without_polling() {
    let store = store();
    let at = [iterator(&store, 1, StreamStart::Latest)];
    let waits = store.instance.streams().await_stream_record(&at);
    let done = std::cell::Cell::new(false);
    store.env.run(async {
        let both = futures_util::future::join(
            async {
                waits.await.expect("there");
                done.set(true);
            },
            async {
                store.instance.write_row(&put("t", id(1), &[]), None).await.expect("right");
            },
        );
        both.await;
    });
    assert!(done.get());
    // It is there already.
    store.env.run(store.instance.streams().await_stream_record(&at)).expect("there");
}
