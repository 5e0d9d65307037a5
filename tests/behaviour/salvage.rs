//! The rest of a store with a damaged record: opened as ever, and opened to salvage it.

use crate::damage::Damage;
use crate::store::*;
use std::cell::RefCell;
use std::rc::Rc;
use tabstore::engine::{ClockMode, Direction, Engine, Options, Shape};
use tabstore::format::record::{self, Place};
use tabstore::model::{KeyType, KeyValue, TableName};
use tabstore::storage::faults::{Hook, Hooked, Record};
use tabstore::storage::{BlockId, LogNumber, ManifestId, SegmentId};
use tabstore::tablestore::{GetRange, GetRow, Instance, InstanceOptions, MissingRows, OptionsChange};
use tabstore::{Code, Result};

const TABLES: [&str; 2] = ["left", "right"];
const ROWS: i64 = 60;
/// A row that takes several blocks.
const LARGE: i64 = 31;
/// Rows that are in the log only, each in a record of its own.
const LOGGED: std::ops::Range<i64> = 1000..1006;
/// Rows that the log replaces, and others that it adds to.
const REPLACED: [i64; 2] = [10, 40];
const ADDED_TO: [i64; 2] = [11, 41];

/// Remembers what was read.
#[derive(Default)]
struct Seen(RefCell<Vec<Record>>);

impl Hook for Seen {
    fn read(&self, record: Record, bytes: bytes::Bytes) -> bytes::Bytes {
        if !self.0.borrow().contains(&record) {
            self.0.borrow_mut().push(record);
        }
        bytes
    }
}

/// A small store with records of all kinds: segments of several trees, segments of one, a log.
fn store() -> Store {
    let options = Options { clock: ClockMode::Injected, shape: Shape::TINY, auto_compact: false, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    for table in TABLES {
        store.create(
            table,
            &[("id", KeyType::Integer)],
            OptionsChange { max_versions: Some(30), ..OptionsChange::default() },
        );
        for row in 0..ROWS {
            store.write(&put(table, id(row), &[cell("a", int(row))])).expect("put");
        }
        let (names, long): (Vec<String>, _) = ((0..40).map(|column| format!("c{column:02}")).collect(), long_text());
        let mut cells: Vec<_> = names.iter().map(|name| cell(name, text(&long))).collect();
        // One of its columns is cut between versions.
        cells.extend((0..30).map(|version| cell_at("d", NOW + version, text(&long))));
        store.write(&put(table, id(LARGE), &cells)).expect("put");
    }
    store.env.run(store.instance.flush()).expect("flushed");
    store.compact();
    // Newer versions of some rows, in level 0.
    for table in TABLES {
        for row in (0..ROWS).step_by(3) {
            store.write(&update(table, id(row), &[add("b", None, -row)])).expect("updated");
        }
    }
    store.env.run(store.instance.flush()).expect("flushed");
    for row in LOGGED {
        store.write(&put(TABLES[(row % 2) as usize], id(row), &[cell("a", int(row))])).expect("put");
    }
    for row in REPLACED {
        store.write(&put(TABLES[0], id(row), &[cell("e", int(row))])).expect("put");
    }
    for row in ADDED_TO {
        store.write(&update(TABLES[0], id(row), &[add("e", None, row)])).expect("updated");
    }
    store.env.run(store.instance.close());
    store
}

/// A text that compression does not shorten much.
fn long_text() -> String {
    let mut seed = 7_u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'!' + (seed >> 24) as u8 % 90)
    };
    (0..120).map(|_| next()).collect()
}

fn open<H: Hook>(store: &Store, hook: &Rc<H>, salvage: bool) -> Result<Rc<Instance>>
where
    Rc<H>: Hook,
{
    let storage = Hooked::new(store.storage.image(), Rc::clone(hook));
    let options = Options { salvage, cache_bytes: 1, auto_compact: true, ..store.engine_options.clone() };
    store.env.run(async {
        let engine = Engine::open(storage, Rc::new(store.env.clone()), options).await?;
        Instance::open(engine, store.options).await
    })
}

fn rows(store: &Store, instance: &Instance, table: &str) -> Result<Vec<Row>> {
    let read = |direction| {
        let mut rows = Rows::default();
        let range = GetRange { options: versions(30), ..range(table, direction) };
        let read = store.env.run(instance.get_range(&range, &mut rows));
        read.map(|_| rows.0).map_err(|failure| failure.error)
    };
    let (forward, backward) = (read(Direction::Forward)?, read(Direction::Backward)?);
    assert!(forward.iter().eq(backward.iter().rev()), "both ways");
    Ok(forward)
}

/// Each record of the store, with its name in messages.
fn records(store: &Store) -> Vec<(Record, String)> {
    let seen = Rc::new(Seen::default());
    let whole = open(store, &seen, true).expect("opens");
    assert!(whole.missing().is_empty(), "{:?}", whole.missing());
    let records = seen.0.take();
    let last = |segment: SegmentId| {
        let blocks = records.iter().filter_map(|record| match record {
            Record::Block(id) if id.segment == segment => Some(id.block),
            _ => None,
        });
        blocks.max().expect("it has an index")
    };
    let name = |record: &Record| match *record {
        Record::Log(LogNumber(number)) => format!("log record {number}"),
        Record::Manifest(ManifestId(id)) => format!("manifest {id}"),
        Record::Block(BlockId { segment, block }) if block == last(segment) => {
            format!("the index of segment {}", segment.0)
        }
        Record::Block(BlockId { segment, block }) => format!("block {block} of segment {}", segment.0),
    };
    records.iter().map(|record| (*record, name(record))).collect()
}

fn is_missing(missing: &[MissingRows], table: &str, row: i64) -> bool {
    let at = |key: &Option<Vec<KeyValue>>, open: i64| match key.as_deref() {
        Some([KeyValue::Integer(id)]) => *id,
        _ => open,
    };
    let covers = |one: &MissingRows| at(&one.keys[0], i64::MIN) <= row && row < at(&one.keys[1], i64::MAX);
    missing.iter().any(|one| one.table.as_deref() == Some(table) && covers(one))
}

fn id_of(row: &Row) -> i64 {
    ids(std::slice::from_ref(row))[0]
}

#[test]
fn q_whatever_record_is_damaged_the_store_opens_without_loss_or_names_it() {
    let store = store();
    let expected = TABLES.map(|table| {
        let whole = open(&store, &Rc::new(Seen::default()), false).expect("opens");
        rows(&store, &whole, table).expect("read")
    });
    let all = records(&store);
    for kind in ["log record", "manifest", "the index", "block"] {
        assert!(all.iter().filter(|(_, name)| name.starts_with(kind)).count() > 1, "{kind}: {all:?}");
    }
    let mut opened = 0;
    for (record, name) in &all {
        let damage = Rc::new(Damage::of(*record));
        let instance = match open(&store, &damage, false) {
            Ok(instance) => instance,
            Err(error) => {
                assert_eq!(error.code(), Code::Corrupt, "{name}");
                assert!(error.message().contains(name), "{name}: {error}");
                assert!(error.hint().is_some_and(|hint| hint.contains("'salvage'")), "{name}");
                continue;
            }
        };
        opened += 1;
        let mut whole = Vec::new();
        for (table, expected) in TABLES.iter().zip(&expected) {
            match rows(&store, &instance, table) {
                Ok(rows) => {
                    assert!(rows == *expected, "{name}");
                    whole.push(table);
                }
                Err(error) => {
                    assert!(error.code() == Code::Corrupt && error.message().contains(name), "{name}: {error}");
                }
            }
        }
        if name.starts_with("the index") {
            assert_eq!(whole.len(), 2, "{name}: it is made anew of the blocks");
        }
        // Life goes on: everything is written, flushed and compacted, in the background and on demand.
        for round in 0..4 {
            store.env.advance(1);
            for table in TABLES {
                for row in 0..ROWS {
                    store
                        .env
                        .run(instance.write_row(&put(table, id(row), &[cell("a", int(round))]), None))
                        .expect("put");
                }
            }
            store.env.run(instance.flush()).expect("flushed");
            store.env.run_until_idle();
        }
        let compacted = store.env.run(instance.compact());
        if whole.len() == 2 && !name.starts_with("block") {
            compacted.as_ref().expect("compacted");
        }
        for table in whole {
            let rows = rows(&store, &instance, table).expect("read");
            assert_eq!(rows.len(), expected[0].len(), "{name}");
            let newest = rows.iter().filter(|row| id_of(row) < ROWS);
            assert!(newest.clone().all(|row| row.1[0].2 == tabstore::model::Value::Integer(3)), "{name}");
        }
    }
    assert!(opened > 4, "{opened} of {}", all.len());
}

#[test]
fn q_whatever_record_is_damaged_salvage_gives_the_rows_that_do_not_depend_on_it() {
    let store = store();
    let expected = TABLES.map(|table| {
        let whole = open(&store, &Rc::new(Seen::default()), true).expect("opens");
        rows(&store, &whole, table).expect("read")
    });
    let before = store.storage.image();
    let mut renamed = 0;
    for (record, name) in records(&store) {
        let damage = Rc::new(Damage::of(record));
        let instance = open(&store, &damage, true).unwrap_or_else(|error| panic!("{name}: {error}"));
        let missing = instance.missing();
        if name.starts_with("block") || name.starts_with("log") {
            assert!(missing.iter().any(|one| one.error.message().contains(&name)), "{name}: {missing:?}");
        }
        let known = instance.list_table();
        let mut lost = 0;
        for ((table, expected), tree) in TABLES.iter().zip(&expected).zip(1..) {
            let unknown = format!("tree_{tree}");
            let table = if known.iter().any(|name| name == table) { table } else { unknown.as_str() };
            if table == unknown {
                let listed = missing.iter().any(|one| one.tree.is_none_or(|tree| tree.0 == 0));
                assert!(listed, "{name}: part of the catalog: {missing:?}");
                renamed += 1;
            }
            let rows = rows(&store, &instance, table).expect("read");
            for row in expected {
                let (id, there) = (id_of(row), rows.contains(row));
                if name.starts_with("manifest") && !missing.is_empty() {
                    continue;
                }
                let replaced = table == TABLES[0] && REPLACED.contains(&id);
                if name.starts_with("log") {
                    lost += usize::from(!there);
                    assert!(there || LOGGED.contains(&id) || replaced || ADDED_TO.contains(&id), "{name}: {id}");
                } else {
                    let is_whole = replaced || !is_missing(&missing, table, id);
                    assert_eq!(there, is_whole, "{name}: row {id}, {missing:?}");
                }
            }
            // No row that never was, and none as it was before.
            let strange = rows.iter().filter(|row| !expected.contains(row)).count();
            assert!(
                strange == 0 || name.starts_with("manifest") || (name.starts_with("log") && strange <= lost),
                "{name}"
            );
        }
        assert!(lost <= 1, "{name}: the records behind it are there");
        // It is read-only.
        if let Some(table) = known.first() {
            let column = if table.starts_with("tree") { "key1" } else { "id" };
            let key = || key(&[(column, int(1))]);
            let refusal = store.env.run(instance.write_row(&put(table, key(), &[]), None)).expect_err("read-only");
            assert_eq!(refusal.error.code(), Code::ReadOnly, "{name}");
            assert!(refusal.error.hint().is_some_and(|hint| hint.contains("another instance")), "{name}");
            let get = GetRow { table: TableName::parse(table).expect("a name"), key: key(), options: versions(1) };
            store.env.run(instance.get_row(&get, &mut Rows::default())).expect("reading goes on");
        }
        for refusal in [store.env.run(instance.flush()), store.env.run(instance.compact())] {
            assert_eq!(refusal.expect_err("read-only").code(), Code::ReadOnly, "{name}");
        }
        assert_eq!(known.len(), TABLES.len(), "{name}: {known:?}");
        let dropped = store.env.run(instance.delete_table("left"));
        assert!(dropped.is_err(), "{name}");
        store.env.run(instance.close());
        store.env.run_until_idle();
    }
    assert!(renamed >= TABLES.len(), "without the block of the catalog");
    assert_eq!(store.storage.bytes(), before.bytes());
}

/// Missing rows are reported as a range of keys, whatever these are, and wherever partitions begin.
#[test]
fn q_missing_rows_are_told_as_ranges_of_keys() {
    let options = Options { clock: ClockMode::Injected, shape: Shape::TINY, auto_compact: false, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    store.create("t", &[("pk", KeyType::String), ("sk", KeyType::Integer)], OptionsChange::default());
    let key_of = |row: i64| (format!("k{:02}", row / 8), 252 + row % 8);
    for row in 0..200 {
        let (pk, sk) = key_of(row);
        let key = key(&[("pk", text(&pk)), ("sk", int(sk))]);
        store.write(&put("t", key, &[cell("a", int(row))])).expect("put");
    }
    store.env.run(store.instance.flush()).expect("flushed");
    for at in ["k05", "k05a", "k11"] {
        store.env.run(store.instance.split_partition("t", &KeyValue::String(at.into()))).expect("split");
    }
    store.env.run(store.instance.close());
    let expected = rows(&store, &open(&store, &Rc::new(Seen::default()), false).expect("opens"), "t").expect("read");
    assert_eq!(expected.len(), 200);
    let mut losses = 0;
    for (record, name) in records(&store) {
        let instance = open(&store, &Rc::new(Damage::of(record)), true).expect("opens");
        let missing: Vec<_> = instance.missing().into_iter().filter(|one| one.table.is_some()).collect();
        if !name.starts_with("block") || missing.is_empty() {
            continue;
        }
        let lies_in = |row: &Row, [from, to]: &[Option<Vec<KeyValue>>; 2]| {
            from.as_ref().is_none_or(|from| *from <= row.0) && to.as_ref().is_none_or(|to| row.0 < *to)
        };
        let is_there = |row: &Row| !missing.iter().any(|one| lies_in(row, &one.keys));
        let left: Vec<Row> = expected.iter().filter(|row| is_there(row)).cloned().collect();
        let table = &instance.list_table()[0];
        assert!(rows(&store, &instance, table).expect("read") == left, "{name}: {missing:?}");
        assert!(left.len() > 100, "{name}: {missing:?}");
        losses += expected.len() - left.len();
    }
    assert_eq!(losses, expected.len(), "each row in one block");
}

/// Gives a log record without its last byte, in a frame that is whole: nothing is wrong with it until it is replayed.
struct Cut(LogNumber);

impl Hook for Cut {
    fn read(&self, record: Record, bytes: bytes::Bytes) -> bytes::Bytes {
        if record != Record::Log(self.0) {
            return bytes;
        }
        let place = Place::Log(self.0);
        let payload = record::open(place, &bytes).expect("whole");
        record::seal(place, &payload[..payload.len() - 1])
    }
}

#[test]
fn q_salvage_passes_over_writes_of_the_log_that_cannot_be_read() {
    let store = store();
    let of_log = records(&store).into_iter().filter_map(|(record, name)| match record {
        Record::Log(number) => Some((number, name)),
        _ => None,
    });
    let all: usize = TABLES
        .iter()
        .map(|table| {
            let whole = open(&store, &Rc::new(Seen::default()), true).expect("opens");
            rows(&store, &whole, table).expect("read").len()
        })
        .sum();
    let mut passed_over = 0;
    for (number, name) in of_log {
        let cut = Rc::new(Cut(number));
        let Err(error) = open(&store, &cut, false).map(|_| ()) else { continue };
        assert!(error.code() == Code::Corrupt && error.message().contains(&name), "{error}");
        let instance = open(&store, &cut, true).unwrap_or_else(|error| panic!("{name}: {error}"));
        let missing = instance.missing();
        assert!(missing.iter().any(|one| one.error.message().contains(&name)), "{name}: {missing:?}");
        let left: usize = TABLES.iter().map(|table| rows(&store, &instance, table).expect("read").len()).sum();
        assert!(left + 1 >= all, "{name}: {left} rows of {all}");
        passed_over += 1;
    }
    assert!(passed_over >= LOGGED.count(), "{passed_over} records");
}
