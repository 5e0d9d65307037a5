//! A full disk and every kind of write: it fails by name and stores nothing, reads and deletions go on, and the same write
//! works once space is freed.

use crate::store::*;
use tabstore::engine::{ClockMode, Direction, Options};
use tabstore::model::{DefinedColumn, KeyColumn, KeyPart, KeyType, TableName, ValueType};
use tabstore::tablestore::{
    CreateTable, IndexSpec, InstanceOptions, Loader, OptionsChange, Outcome, PutRows, Right, Rights, UpdateTable,
    Written,
};
use tabstore::{Code, Error, Result};

/// The id that every kind of write gives to what it adds.
const NEW: i64 = 5000;

const RESERVE: usize = 60_000;

type Kind = (&'static str, fn(&Store) -> Result<()>);

/// Every kind of write that adds.
const KINDS: [Kind; 17] = [
    ("PutRow", |store| written(store.write(&put("t", id(NEW), &[cell("v", int(1))])))),
    ("UpdateRow", |store| written(store.write(&update("t", id(NEW), &[add("v", None, 1)])))),
    ("an increment", |store| written(store.write(&update("t", id(NEW), &[increment("v", 1)])))),
    ("a value that the store gives", |store| {
        let mut key = key(&[("id", int(NEW))]);
        key.push("seq", KeyPart::AutoIncrement);
        written(store.write(&put("counted", key, &[cell("v", int(1))])))
    }),
    ("a row with an index row", |store| written(store.write(&put("indexed", id(NEW), &[cell("n", int(1))])))),
    ("BatchWriteRow", |store| {
        let rows = [put("t", id(NEW), &[cell("v", int(1))]), put("t", id(NEW + 1), &[cell("v", int(1))])];
        all_written(store.env.run(store.instance.batch_write_row(&rows, None)))
    }),
    ("an atomic batch", |store| {
        let rows = [put("t", id(NEW), &[cell("v", int(1))]), update("t", id(NEW), &[add("w", None, 1)])];
        all_written(store.env.run(store.instance.batch_write_row_atomic(&rows, None)))
    }),
    ("the commit of a transaction", |store| {
        let table = TableName::parse("t")?;
        let started = store.instance.start_local_transaction(table, &id(NEW)).map_err(|failure| failure.error)?;
        let row = put("t", id(NEW), &[cell("v", int(1))]);
        written(store.env.run(store.instance.write_row_in(Some(&started.id), &row, None)))?;
        let committed = store.env.run(store.instance.commit_transaction(&started.id, None));
        committed.map(drop).map_err(|failure| failure.error)
    }),
    ("a load", |store| {
        let loader = Loader::of_at_least(1);
        let rows = (0..300).map(|row| put("t", id(NEW + row), &[cell("v", int(row))])).map(Ok).collect();
        match store.env.run(store.instance.put_rows(&loader, rows, None)) {
            PutRows::Taken { refused, .. } => assert!(refused.is_empty(), "{refused:?}"),
            PutRows::Written(_) => panic!("rows in order are loaded"),
        }
        let stored = store.env.run(store.instance.store_rows(&loader));
        stored.failed.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
    }),
    ("CreateTable", |store| store.try_create("new", &[("id", KeyType::Integer)], OptionsChange::default())),
    ("UpdateTable", |store| {
        let options = OptionsChange { max_versions: Some(7), ..OptionsChange::default() };
        let request = UpdateTable { name: "t".into(), options, ..UpdateTable::default() };
        store.env.run(store.instance.update_table(request)).map(drop)
    }),
    ("CreateIndex", |store| create_index(store, "new")),
    ("CreateIndex of an empty table", |store| {
        let spec = IndexSpec { name: "new".into(), key: vec!["n".into()], ..IndexSpec::default() };
        store.env.run(store.instance.create_index("indexed", spec, false))
    }),
    ("AddDefinedColumn", |store| {
        let defined = vec![DefinedColumn { name: "new".into(), column_type: ValueType::Integer }];
        store.env.run(store.instance.add_defined_column("t", defined))
    }),
    ("DeleteDefinedColumn", |store| store.env.run(store.instance.delete_defined_column("t", &["spare".into()]))),
    ("a new access key", |store| {
        store.env.run(store.instance.access_keys().create(Rights::of(&[Right::Read]))).map(drop)
    }),
    ("the change of an access key", |store| {
        let key = store.instance.access_keys().all().remove(0);
        store.env.run(store.instance.access_keys().update(&key.id, Some(false), None)).map(drop)
    }),
];

fn create_index(store: &Store, name: &str) -> Result<()> {
    let spec = IndexSpec { name: name.into(), key: vec!["n".into()], ..IndexSpec::default() };
    store.env.run(store.instance.create_index("t", spec, true))
}

fn written(outcome: Outcome<Written>) -> Result<()> {
    outcome.map(drop).map_err(|failure| failure.error)
}

/// All rows of a batch have the same fate here.
fn all_written(outcome: Outcome<Vec<Outcome<Written>>>) -> Result<()> {
    let rows = outcome.map_err(|failure| failure.error)?;
    let failed = rows.iter().filter(|row| row.is_err()).count();
    assert!(failed == 0 || failed == rows.len(), "{failed} of {} rows failed", rows.len());
    rows.into_iter().try_for_each(written)
}

/// Tables of each kind, 1000 rows in `t` and in `u`, all in segments, and a reserve.
fn filled(reserve_bytes: usize) -> Store {
    let options = Options { clock: ClockMode::Injected, memtable_bytes: 64 << 10, reserve_bytes, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    let number = |name: &str| DefinedColumn { name: name.into(), column_type: ValueType::Integer };
    let create = |name: &str, key: Vec<KeyColumn>, defined: Vec<DefinedColumn>| {
        let request = CreateTable { name: name.into(), key, defined, ..CreateTable::default() };
        store.env.run(store.instance.create_table(request)).expect("created");
    };
    let row_id = || KeyColumn::new("id", KeyType::Integer);
    create("t", vec![row_id()], vec![number("n"), number("spare")]);
    create("u", vec![row_id()], Vec::new());
    create("indexed", vec![row_id()], vec![number("n")]);
    create(
        "counted",
        vec![row_id(), KeyColumn { auto_increment: true, ..KeyColumn::new("seq", KeyType::Integer) }],
        Vec::new(),
    );
    let spec = IndexSpec { name: "by_n".into(), key: vec!["n".into()], ..IndexSpec::default() };
    store.env.run(store.instance.create_index("indexed", spec, true)).expect("created");
    store.env.run(store.instance.access_keys().create(Rights::of(&[Right::Read]))).expect("created");
    for table in ["t", "u"] {
        for row in 0..1000 {
            let noise = noise(row, 8);
            let cells = [cell("n", int(row)), cell("noise", text(&noise))];
            store.write(&put(table, id(row), &cells)).expect("put");
        }
    }
    store.compact();
    pass_seconds(&store, 2);
    assert_eq!(store.instance.metrics().reserve_bytes, reserve_bytes as u64);
    store
}

/// What is there to be seen: rows, tables, access keys.
fn state(store: &Store) -> Vec<String> {
    let mut seen = Vec::new();
    for name in store.instance.list_table() {
        let table = store.instance.describe_table(&name).expect("described");
        let indexes: Vec<_> = table.indexes.iter().map(|index| index.name.clone()).collect();
        let rows = match table.index_of {
            Some(_) if name == "new" => Vec::new(),
            _ => store.range(&range(&name, Direction::Forward)).0,
        };
        seen.push(format!("{name} {:?} {:?} {indexes:?} {rows:?}", table.options, table.defined));
    }
    seen.push(format!(
        "{:?}",
        store.instance.access_keys().all().iter().map(|key| (&key.id, key.enabled)).collect::<Vec<_>>()
    ));
    seen
}

/// So long does nobody ask for anything.
fn pass_seconds(store: &Store, seconds: u32) {
    for _ in 0..seconds {
        store.env.run_until_idle();
        store.env.advance(1000);
    }
    store.env.run_until_idle();
}

fn noise(i: i64, words: i64) -> String {
    (0..words).map(|word| format!("{:x}", (i * words + word).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64))).collect()
}

fn is_full(result: Result<()>) -> bool {
    result.is_err_and(|error: Error| error.code() == Code::QuotaExceeded)
}

#[test]
fn q_every_kind_of_write_fails_by_name_on_a_full_disk_and_works_once_there_is_space() {
    for (what, write) in KINDS {
        let mut store = filled(RESERVE);
        store.storage.set_quota(Some(store.storage.bytes()));
        let before = state(&store);
        assert!(is_full(write(&store)), "{what}: refused for the disk is full");
        assert!(is_full(write(&store)), "{what}: and again");
        assert_eq!(state(&store), before, "{what}: nothing of it is there");
        assert!(store.get("t", id(7), versions(1)).is_some(), "{what}: read");
        store.write(&delete("t", id(7))).expect("deleted");
        assert_eq!(store.get("t", id(7), versions(1)), None, "{what}: the deletion is there");
        assert!(is_full(write(&store)), "{what}: the room is for deletions");
        // Deleted data is the only space that comes back.
        store.env.run(store.instance.delete_table("u")).expect("deleted");
        pass_seconds(&store, 2);
        let rest = state(&store);
        assert_eq!(rest.len(), before.len() - 1, "{what}: still nothing of it is there");
        write(&store).unwrap_or_else(|error| panic!("{what}, with space: {error}"));
        store.env.run_until_idle();
        let after = state(&store);
        assert_ne!(after, rest, "{what}: it is there");
        store.reopen();
        assert_eq!(state(&store), after, "{what}: after a reopening");
    }
}

/// A crash on the full disk leaves nothing of a refused write either.
#[test]
fn q_nothing_of_a_refused_write_is_there_after_a_reopening_on_the_full_disk() {
    for (what, write) in KINDS {
        let mut store = filled(RESERVE);
        store.storage.set_quota(Some(store.storage.bytes()));
        let before = state(&store);
        assert!(is_full(write(&store)), "{what}");
        store.reopen();
        assert_eq!(state(&store), before, "{what}: after a reopening");
        assert!(is_full(write(&store)), "{what}: refused as before");
    }
}

/// Every kind of deletion, and what is gone afterwards.
#[test]
fn q_every_kind_of_deletion_works_on_a_full_disk() {
    type Deletion<'a> = (&'a str, &'a dyn Fn(&Store) -> Result<()>);
    let rows = || [delete("t", id(1)), delete("t", id(2))];
    let kinds: [Deletion<'_>; 8] = [
        ("DeleteRow", &|store| written(store.write(&delete("t", id(1))))),
        ("the columns of a row", &|store| {
            let all = change("noise", tabstore::tablestore::ColumnOp::DeleteColumn);
            written(store.write(&update("t", id(1), &[all])))
        }),
        ("BatchWriteRow", &|store| all_written(store.env.run(store.instance.batch_write_row(&rows(), None)))),
        ("an atomic batch", &|store| {
            all_written(store.env.run(store.instance.batch_write_row_atomic(&rows()[..1], None)))
        }),
        ("the commit of a transaction", &|store| {
            let table = TableName::parse("t")?;
            let started = store.instance.start_local_transaction(table, &id(1)).map_err(|failure| failure.error)?;
            written(store.env.run(store.instance.write_row_in(Some(&started.id), &delete("t", id(1)), None)))?;
            let committed = store.env.run(store.instance.commit_transaction(&started.id, None));
            committed.map(drop).map_err(|failure| failure.error)
        }),
        ("the end of an access key", &|store| {
            let key = store.instance.access_keys().all().remove(0);
            store.env.run(store.instance.access_keys().delete(&key.id))
        }),
        ("DropIndex", &|store| store.env.run(store.instance.drop_index("indexed", "by_n"))),
        ("DeleteTable", &|store| store.env.run(store.instance.delete_table("t"))),
    ];
    for (what, deletion) in kinds {
        let mut store = filled(RESERVE);
        store.storage.set_quota(Some(store.storage.bytes()));
        let before = state(&store);
        deletion(&store).unwrap_or_else(|error| panic!("{what}: {error}"));
        let after = state(&store);
        assert_ne!(after, before, "{what}: it is done");
        store.reopen();
        assert_eq!(state(&store), after, "{what}: after a reopening");
    }
}

/// They may take the reserve, and need more here.
#[test]
fn q_a_flush_and_a_compaction_that_do_not_fit_fail_by_name_and_work_once_there_is_space() {
    type Work = fn(&Store) -> Result<()>;
    let kinds: [(&str, Work, usize); 2] = [
        ("a flush", |store| store.env.run(store.instance.flush()), 80_000),
        ("a compaction", |store| store.env.run(store.instance.compact()), 0),
    ];
    for (what, work, room) in kinds {
        let mut store = filled(RESERVE / 4);
        store.write(&put("t", id(NEW), &[cell("v", int(1))])).expect("put");
        store.env.run(store.instance.flush()).expect("flushed");
        store.engine_options.memtable_bytes = 8 << 20;
        store.reopen();
        pass_seconds(&store, 2);
        store.storage.set_quota(Some(store.storage.bytes() + room));
        let fits = |row: i64| {
            let noise = noise(row, 100);
            !is_full(written(store.write(&put("t", id(row), &[cell("noise", text(&noise))]))))
        };
        assert!(room == 0 || !(NEW + 1..NEW + 1000).all(fits), "{what}: the log takes all room");
        let before = state(&store);
        assert!(is_full(work(&store)), "{what}: refused for the disk is full");
        assert_eq!(state(&store), before, "{what}: nothing is lost");
        for row in 0..20 {
            store.write(&delete("t", id(row))).unwrap_or_else(|failure| panic!("{what}, deleting {row}: {failure}"));
        }
        let rest = state(&store);
        store.env.run(store.instance.delete_table("u")).expect("deleted");
        pass_seconds(&store, 2);
        work(&store).unwrap_or_else(|error| panic!("{what}, with space: {error}"));
        let without = |name: &str, state: Vec<String>| -> Vec<String> {
            state.into_iter().filter(|table| !table.starts_with(name)).collect()
        };
        assert_eq!(state(&store), without("u ", rest.clone()), "{what}");
        store.reopen();
        assert_eq!(state(&store), without("u ", rest), "{what}: after a reopening");
    }
}
