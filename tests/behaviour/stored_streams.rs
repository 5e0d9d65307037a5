//! ST1, ST3: streams that earlier versions have stored are read on. Those wrote each record as a row of its own, also for the
//! rows of loads.
//!
//! The files in the folder beside this one are made as those of [`stored`](crate::stored): `TABSTORE_STORED=name cargo test
//! --test behaviour stored_streams -- --ignored`.

use crate::store::*;
use crate::stored::{records, storage_of};
use crate::streams::{iterator, on, read, set, shards};
use std::path::{Path, PathBuf};
use tabstore::engine::{ClockMode, Options};
use tabstore::env::sim::SimEnv;
use tabstore::model::{ChangeKind, KeyType, KeyValue, Value};
use tabstore::tablestore::{ColumnOp, InstanceOptions, Loader, OptionsChange, PutRows, StreamRecord, StreamStart};

/// A record without its seqno: versions give other numbers.
type Told = (i64, ChangeKind, Vec<Value>, Vec<(String, Option<i64>, Option<Value>)>, Vec<(String, i64, Value)>);

fn options() -> Options {
    Options { clock: ClockMode::Injected, reserve_bytes: 0, ..Options::default() }
}

fn load(store: &Store, rows: std::ops::Range<i64>) {
    let loader = Loader::of_at_least(1);
    let rows = rows.map(|n| Ok(put("t", id(n), &[cell("w", int(n))]))).collect();
    let taken = store.env.run(store.instance.put_rows(&loader, rows, None));
    assert!(matches!(taken, PutRows::Taken { .. }));
    assert_eq!(store.env.run(store.instance.store_rows(&loader)).failed, []);
}

fn cut(store: &Store, at: i64) {
    store.env.run(store.instance.split_partition("t", &KeyValue::Integer(at))).expect("cut");
    // A change stores the shards; a load does not.
    store.put(id(5000 + at), &[]);
}

/// Records of each kind, of single writes and loads, in segments and in the log, in shards that were cut.
fn fill(store: &mut Store) {
    let options = OptionsChange { max_versions: Some(3), ..OptionsChange::default() };
    store.create("t", &[("id", KeyType::Integer)], options);
    set(store, on(168, &[]));
    for n in 0..40 {
        store.put(id(n), &[cell("v", int(n)), cell("w", int(-n))]);
    }
    cut(store, 20);
    load(store, 100..400);
    cut(store, 250);
    store.env.run(store.instance.flush()).expect("flushed");
    for n in 0..20 {
        store.update(id(n), &[add("v", None, n + 1), change("w", ColumnOp::DeleteColumn), increment("n", 1)]);
        store.update(id(n + 300), &[add("v", None, 1)]);
        if n % 3 == 0 {
            store.write(&delete("t", id(n))).expect("deleted");
        }
    }
    load(store, 400..500);
    store.update(id(450), &[increment("n", 2)]);
    cut(store, 350);
    store.put(id(349), &[]);
    store.put(id(350), &[]);
    // Tables whose streams have old values take no loads.
    set(store, on(168, &["v"]));
    store.put(id(350), &[cell("v", int(1))]);
    store.put(id(350), &[cell("v", int(2))]);
}

fn told(store: &Store) -> Vec<(i64, Vec<Told>)> {
    let of = |record: StreamRecord| {
        let StreamRecord { time, kind, key, cells, old, .. } = record;
        (time, kind, key, cells, old)
    };
    let from = |shard: i64| read(store, iterator(store, shard, StreamStart::Beginning), 7).0;
    shards(store).into_iter().map(|(shard, ..)| (shard, from(shard).into_iter().map(of).collect())).collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/behaviour/stored_streams")
}

#[test]
fn st1_streams_of_earlier_versions_are_read_on() {
    let mut today = Store::with(InstanceOptions::default(), options());
    fill(&mut today);
    let expected = told(&today);
    assert_eq!(expected.iter().map(|(_, records)| records.len()).sum::<usize>(), 40 + 300 + 47 + 100 + 1 + 2 + 3 + 2);
    let files: Vec<_> =
        std::fs::read_dir(folder()).expect("a folder").map(|file| file.expect("a file").path()).collect();
    assert!(!files.is_empty());
    for file in files {
        let env = SimEnv::new(NOW);
        let storage = storage_of(&env, &std::fs::read(&file).expect("a file"));
        let mut store = Store::over(env, storage, InstanceOptions::default(), options());
        assert_eq!(told(&store), expected, "{}", file.display());
        let before = read(&store, iterator(&store, 7, StreamStart::Beginning), 100).0;
        store.put(id(351), &[]);
        store.compact();
        store.reopen();
        let after = read(&store, iterator(&store, 7, StreamStart::Beginning), 100).0;
        assert_eq!(after[..before.len()], before);
        assert_eq!(after.last().map(|record| &record.key[..]), Some(&[Value::Integer(351)][..]));
    }
}

#[test]
#[ignore = "writes a file; see the head of this module"]
fn write_the_streams_that_this_version_stores() {
    let name = std::env::var("TABSTORE_STORED").expect("the name of the file, in TABSTORE_STORED");
    let mut store = Store::with(InstanceOptions::default(), options());
    fill(&mut store);
    std::fs::create_dir_all(folder()).expect("a folder");
    std::fs::write(folder().join(name), records(&store.env, &store.storage)).expect("written");
}
