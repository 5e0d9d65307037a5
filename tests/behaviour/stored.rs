//! Databases that earlier versions have stored open, with all that was in them.
//!
//! The files beside this one are storages, byte by byte, as [`fill`] left them in some version. `fill` gives the same
//! content today, so reads of an old storage are compared with reads of a new one. A new file is written by
//! `TABSTORE_STORED=name cargo test --test behaviour stored -- --ignored`.

use crate::store::*;
use std::path::{Path, PathBuf};
use tabstore::engine::{ClockMode, Direction, Options, Shape};
use tabstore::env::sim::SimEnv;
use tabstore::model::{DefinedColumn, IndexKind, KeyColumn, KeyInput, KeyPart, KeyType, ValueRef, ValueType};
use tabstore::storage::{BlockId, Commit, Durability, LogNumber, ManifestId, MemoryStorage, SegmentId, Storage};
use tabstore::tablestore::{ColumnOp, CreateTable, IndexSpec, InstanceOptions, OptionsChange};

/// The tables and indexes that [`fill`] makes.
const TABLES: [&str; 7] = ["by_place", "counted", "large", "local", "many", "short_lived", "types"];

fn options() -> Options {
    let shape =
        Shape { block_bytes: 1000, segment_bytes: 6000, partition_bytes: 40_000, merge_bytes: 1000, ..Shape::TINY };
    Options { clock: ClockMode::Injected, shape, reserve_bytes: 0, ..Options::default() }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Tables of every kind of key, value, option and index, in segments, partitions and the log.
fn fill(store: &mut Store) {
    let versions = |max: i64| OptionsChange { max_versions: Some(max), ..OptionsChange::default() };
    let key = [("s", KeyType::String), ("i", KeyType::Integer), ("b", KeyType::Binary)];
    store.create("types", &key, versions(3));
    store.create("large", &[("id", KeyType::Integer)], versions(1000));
    let short = OptionsChange { time_to_live: Some(86_400), ..OptionsChange::default() };
    store.create("short_lived", &[("id", KeyType::Integer)], short);
    let mut counted = KeyColumn::new("n", KeyType::Integer);
    counted.auto_increment = true;
    let key = vec![KeyColumn::new("p", KeyType::String), counted];
    let request = CreateTable { name: "counted".into(), key, ..CreateTable::default() };
    store.env.run(store.instance.create_table(request)).expect("created");
    let index = |name: &str, kind, key: &[&str]| IndexSpec {
        name: name.into(),
        kind,
        key: owned(key),
        columns: owned(&["note"]),
        time_to_live: None,
    };
    let defined = |name: &str, column_type| DefinedColumn { name: name.into(), column_type };
    let request = CreateTable {
        name: "many".into(),
        key: vec![KeyColumn::new("p", KeyType::Integer), KeyColumn::new("id", KeyType::Integer)],
        reserved_read: Some(7),
        reserved_write: Some(9),
        defined: vec![defined("place", ValueType::String), defined("note", ValueType::Binary)],
        indexes: vec![index("by_place", IndexKind::Global, &["place"])],
        ..CreateTable::default()
    };
    store.env.run(store.instance.create_table(request)).expect("created");

    for i in 0..12 {
        let name = format!("row {i}\0");
        let bytes = [0, 1, 255, i as u8];
        let key = key_of(&[("s", text(&name)), ("i", int(i - 6)), ("b", ValueRef::Binary(&bytes))]);
        let cells = [
            cell("integer", int(i64::MIN + i)),
            cell("double", ValueRef::Double(0.1 * i as f64)),
            cell("yes", ValueRef::Boolean(true)),
            cell("no", ValueRef::Boolean(false)),
            cell("text", text("grüße, 列")),
            cell("binary", ValueRef::Binary(&bytes)),
            cell_at("old", NOW - 1000 * (i + 1), text("")),
        ];
        store.write(&put("types", key.clone(), &cells)).expect("put");
        let ops = [add("old", Some(NOW - 5), i), add("old", Some(NOW - 4), i + 1), increment("count", i)];
        store.write(&update("types", key.clone(), &ops)).expect("updated");
        if i % 4 == 1 {
            let ops = [change("old", ColumnOp::DeleteVersion(NOW - 4)), change("yes", ColumnOp::DeleteColumn)];
            store.write(&update("types", key.clone(), &ops)).expect("updated");
        }
        if i % 4 == 2 {
            store.write(&delete("types", key)).expect("deleted");
        }
    }
    for i in 0..900 {
        let (place, note) = (format!("place {}", i % 7), [i as u8; 40]);
        let cells = [cell("place", text(&place)), cell("note", ValueRef::Binary(&note)), cell("i", int(i))];
        store.write(&put("many", key_of(&[("p", int(i * 37 % 100)), ("id", int(i))]), &cells)).expect("put");
        if i % 300 == 299 {
            store.env.run(store.instance.flush()).expect("flushed");
            store.env.run_until_idle();
        }
    }
    for version in 0..60 {
        let value = "x".repeat(200);
        store.write(&update("large", id(1), &[add_text("wide", NOW - 100 + version, &value)])).expect("updated");
    }
    for i in 0..5 {
        let at = NOW - if i < 3 { 86_400_000 + 1000 } else { 1000 };
        store.write(&put("short_lived", id(i), &[cell_at("a", at, int(i))])).ok();
        let mut key = KeyInput::new();
        key.push("p", KeyPart::Value(text("one")));
        key.push("n", KeyPart::AutoIncrement);
        store.write(&put("counted", key, &[cell("a", int(i))])).expect("put");
    }
    let spec = index("local", IndexKind::Local, &["p", "place"]);
    store.env.run(store.instance.create_index("many", spec, true)).expect("made");
    store.env.run_until_idle();
    store.compact();
    store.env.run_until_idle();
    // These are in segments above the last level, and these in the log.
    for i in 900..930 {
        store
            .write(&put("many", key_of(&[("p", int(i % 100)), ("id", int(i))]), &[cell("place", text("new"))]))
            .expect("put");
        if i == 915 {
            store.env.run(store.instance.flush()).expect("flushed");
        }
    }
    store.write(&delete("many", key_of(&[("p", int(0)), ("id", int(0))]))).expect("deleted");
}

fn key_of<'a>(columns: &[(&'a str, ValueRef<'a>)]) -> KeyInput<'a> {
    key(columns)
}

fn add_text<'a>(name: &'a str, version: i64, value: &'a str) -> tabstore::tablestore::ColumnChange<'a> {
    change(name, ColumnOp::Put { version: Some(version), value: text(value) })
}

/// All that a client can read.
fn content(store: &Store) -> Vec<(String, Vec<Row>)> {
    assert_eq!(store.instance.list_table(), TABLES.map(str::to_owned).to_vec());
    let rows = |table: &&str| {
        let mut request = range(table, Direction::Forward);
        request.options = versions(i64::MAX);
        let (rows, read) = store.range(&request);
        assert_eq!(read.next, None, "{table} is read to its end");
        let backward = store.range(&tabstore::tablestore::GetRange { direction: Direction::Backward, ..request }).0;
        assert!(rows.iter().eq(backward.iter().rev()), "{table} backward");
        ((*table).to_owned(), rows)
    };
    TABLES.iter().map(rows).collect()
}

fn new_store() -> Store {
    let mut store = Store::with(InstanceOptions::default(), options());
    fill(&mut store);
    store
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/behaviour/stored")
}

/// The records of a storage: of each a kind, two numbers, its length and its bytes.
pub(crate) fn records(env: &SimEnv, storage: &MemoryStorage) -> Vec<u8> {
    let mut out = Vec::new();
    let mut put = |kind: u8, number: u64, block: u32, bytes: &[u8]| {
        out.push(kind);
        out.extend(number.to_le_bytes());
        out.extend(block.to_le_bytes());
        out.extend((bytes.len() as u32).to_le_bytes());
        out.extend(bytes);
    };
    let loaded = env.run(storage.load(&|_| Ok(LogNumber(0)))).expect("loaded");
    loaded.manifests.iter().rev().for_each(|(id, bytes)| put(b'm', id.0, 0, bytes));
    loaded.log.iter().for_each(|(number, bytes)| put(b'l', number.0, 0, bytes));
    for segment in env.run(storage.list_segments()).expect("listed") {
        for block in 0.. {
            let id = BlockId { segment, block };
            let Some(bytes) = env.run(storage.get_blocks(&[id])).expect("read").remove(0) else { break };
            put(b's', segment.0, block, &bytes);
        }
    }
    out
}

pub(crate) fn storage_of(env: &SimEnv, mut records: &[u8]) -> MemoryStorage {
    let storage = MemoryStorage::new();
    while let [kind, rest @ ..] = records {
        let (number, rest) = rest.split_first_chunk().expect("a number");
        let (block, rest) = rest.split_first_chunk().expect("a block");
        let (length, rest) = rest.split_first_chunk().expect("a length");
        let (bytes, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
        let (number, bytes) = (u64::from_le_bytes(*number), bytes.to_vec().into());
        match kind {
            b'm' => {
                env.run(storage.commit(Commit { manifest: Some((ManifestId(number), bytes)), ..Commit::default() }))
            }
            b'l' => env.run(storage.commit(Commit { log: vec![(LogNumber(number), bytes)], ..Commit::default() })),
            _ => {
                let blocks = vec![(u32::from_le_bytes(*block), bytes)];
                env.run(storage.stage(SegmentId(number), blocks, Durability::Relaxed))
            }
        }
        .expect("stored");
        records = rest;
    }
    storage
}

/// A store opens what earlier versions have stored, reads all of it, and goes on with it.
#[test]
fn databases_of_earlier_versions_open_with_all_that_was_stored() {
    let today = new_store();
    let expected = content(&today);
    assert!(expected.iter().all(|(_, rows)| !rows.is_empty()));
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder()).expect("a folder").map(|file| file.expect("a file").path()).collect();
    files.sort();
    assert!(files.len() >= 2, "{files:?}");
    for file in files {
        let env = SimEnv::new(NOW);
        let storage = storage_of(&env, &std::fs::read(&file).expect("a file"));
        let mut store = Store::over(env, storage, InstanceOptions::default(), options());
        assert_eq!(content(&store), expected, "{}", file.display());
        store.write(&put("large", id(2), &[cell("a", int(1))])).expect("put");
        store.compact();
        store.write(&delete("large", id(2))).expect("deleted");
        store.reopen();
        assert_eq!(content(&store), expected, "{} a second time", file.display());
    }
}

#[test]
#[ignore = "writes a file; see the head of this module"]
fn write_what_this_version_stores() {
    let name = std::env::var("TABSTORE_STORED").expect("the name of the file, in TABSTORE_STORED");
    let store = new_store();
    let bytes = records(&store.env, &store.storage);
    std::fs::write(folder().join(name), bytes).expect("written");
}
