//! ST1, ST2: the records of loads. They are stored in packs of many, and nobody can tell.

use crate::store::*;
use crate::streams::{iterator, keys, on, read, set, shards};
use tabstore::engine::{ClockMode, Options};
use tabstore::model::{ChangeKind, KeyType, KeyValue, Value};
use tabstore::tablestore::{InstanceOptions, Loader, OptionsChange, PutRows, StreamStart};

/// Rows of one load: about 90 bytes a record, so each pack has some hundreds.
const ROWS: i64 = 2000;

fn store() -> Store {
    let options = Options { clock: ClockMode::Injected, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    set(&store, on(24, &[]));
    store
}

fn cut(store: &Store, at: i64) {
    store.env.run(store.instance.split_partition("t", &KeyValue::Integer(at))).expect("cut");
    // A change stores the shards; a load does not.
    store.put(id(0), &[]);
}

fn load(store: &Store, first: i64, rows: i64) {
    let loader = Loader::of_at_least(1);
    for from in (first..first + rows).step_by(500) {
        let note = format!("a note of some length, for row {from} and those behind it in this call");
        let rows = from..(from + 500).min(first + rows);
        let rows = rows.map(|n| Ok(put("t", id(n), &[cell("n", int(n)), cell("note", text(&note))]))).collect();
        assert!(matches!(store.env.run(store.instance.put_rows(&loader, rows, None)), PutRows::Taken { .. }));
    }
    assert_eq!(store.env.run(store.instance.store_rows(&loader)).failed, []);
}

#[test]
fn st1_st2_the_records_of_a_load_are_read_from_any_place_in_each_shard() {
    let mut store = store();
    // Each cut lies inside a pack.
    let first = 1000;
    cut(&store, first + 333);
    cut(&store, first + 1501);
    load(&store, first, ROWS);
    store.put(id(first), &[cell("n", int(-1))]);
    for reopened in [false, true] {
        if reopened {
            store.compact();
            store.reopen();
        }
        let open: Vec<i64> = shards(&store).into_iter().filter(|(.., closed)| !closed).map(|(id, ..)| id).collect();
        let ranges = [first..first + 333, first + 333..first + 1501, first + 1501..first + ROWS];
        for (shard, range) in open.into_iter().zip(ranges) {
            for limit in [1000, 613, 7] {
                let records = read(&store, iterator(&store, shard, StreamStart::Beginning), limit).0;
                let (loaded, others): (Vec<_>, Vec<_>) = records.into_iter().partition(|one| one.cells.len() == 2);
                assert!(keys(&loaded).into_iter().eq(range.clone()), "shard {shard}, {limit} at a time");
                for record in &loaded {
                    assert_eq!((record.kind, record.old.len()), (ChangeKind::Put, 0));
                    assert_eq!(record.cells[0].2, Some(record.key[0].clone()), "its own cells");
                }
                assert!(loaded.is_sorted_by(|a, b| a.seqno == b.seqno && a.time == b.time), "one instant");
                assert!(keys(&others).iter().all(|key| [0, first].contains(key)), "{others:?}");
            }
        }
    }
}

#[test]
fn st1_st3_a_load_of_few_rows_and_one_of_large_rows_leave_all_their_records() {
    let store = store();
    load(&store, 0, 3);
    let large = "x".repeat(100_000);
    let loader = Loader::of_at_least(1);
    let rows = (10..14).map(|n| Ok(put("t", id(n), &[cell("note", text(&large))]))).collect();
    assert!(matches!(store.env.run(store.instance.put_rows(&loader, rows, None)), PutRows::Taken { .. }));
    assert_eq!(store.env.run(store.instance.store_rows(&loader)).failed, []);
    load(&store, 20, 2);
    let records = read(&store, iterator(&store, 1, StreamStart::Oldest), 2).0;
    assert_eq!(keys(&records), [0, 1, 2, 10, 11, 12, 13, 20, 21]);
    assert_eq!(records[3].cells[0].2, Some(Value::String(large)));
}

/// A pack is never read as a record of its own, and what a load has taken back leaves none.
#[test]
fn st1_a_load_that_was_given_up_leaves_no_record() {
    let mut store = store();
    let loader = Loader::of_at_least(1);
    let rows = (0..900).map(|n| Ok(put("t", id(n), &[cell("n", int(n))]))).collect();
    assert!(matches!(store.env.run(store.instance.put_rows(&loader, rows, None)), PutRows::Taken { .. }));
    drop(loader);
    store.env.run_until_idle();
    assert_eq!(read(&store, iterator(&store, 1, StreamStart::Oldest), 100).0, []);
    load(&store, 2000, 5);
    store.reopen();
    assert_eq!(keys(&read(&store, iterator(&store, 1, StreamStart::Oldest), 2).0), [2000, 2001, 2002, 2003, 2004]);
}
