//! The rows of a secondary index (R6, T8): always the same as in its table.

use crate::store::*;
use tabstore::engine::Direction;
use tabstore::model::{DefinedColumn, IndexKind, KeyColumn, KeyType, KeyValue, TableName, Value, ValueType};
use tabstore::tablestore::{
    ColumnOp, CreateTable, GetRange, GetRow, IndexSpec, Instance, OptionsChange, TableRead, UpdateTable,
};

fn index(name: &str, kind: IndexKind, key: &[&str], columns: &[&str]) -> IndexSpec {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    IndexSpec { name: name.into(), kind, key: owned(key), columns: owned(columns), time_to_live: None }
}

/// A table with the key (shop, id) and defined columns `city`, `price` and `note`.
fn shop(indexes: Vec<IndexSpec>) -> CreateTable {
    let defined = [("city", ValueType::String), ("price", ValueType::Integer), ("note", ValueType::String)];
    CreateTable {
        name: "t".into(),
        key: vec![KeyColumn::new("shop", KeyType::Integer), KeyColumn::new("id", KeyType::Integer)],
        defined: defined.map(|(name, column_type)| DefinedColumn { name: name.into(), column_type }).to_vec(),
        indexes,
        ..CreateTable::default()
    }
}

fn both() -> Vec<IndexSpec> {
    vec![
        index("by_city", IndexKind::Global, &["city"], &["note"]),
        index("by_price", IndexKind::Local, &["shop", "price"], &[]),
    ]
}

fn store(indexes: Vec<IndexSpec>) -> Store {
    let store = Store::new();
    store.env.run(store.instance.create_table(shop(indexes))).expect("created");
    store
}

fn row<'a>(shop: i64, id: i64) -> tabstore::model::KeyInput<'a> {
    key(&[("shop", int(shop)), ("id", int(id))])
}

/// The keys of an index, or of a table.
fn keys(store: &Store, name: &str) -> Vec<Vec<KeyValue>> {
    store.range(&range(name, Direction::Forward)).0.into_iter().map(|(key, _)| key).collect()
}

fn city(city: &str, shop: i64, id: i64) -> Vec<KeyValue> {
    vec![KeyValue::String(city.into()), KeyValue::Integer(shop), KeyValue::Integer(id)]
}

/// R6: whatever is done to a row, its indexes show at once.
#[test]
fn r6_an_index_follows_every_kind_of_write() {
    let store = store(both());
    store.put(row(1, 1), &[cell("city", text("Oslo")), cell("note", text("n")), cell("price", int(30))]);
    store.put(row(1, 2), &[cell("city", text("Bergen")), cell("price", int(10))]);
    store.put(row(2, 3), &[cell("other", int(1))]);
    assert_eq!(keys(&store, "by_city"), [city("Bergen", 1, 2), city("Oslo", 1, 1)], "a row without it is not in it");
    let ints = |of: [i64; 3]| of.map(KeyValue::Integer).to_vec();
    assert_eq!(keys(&store, "by_price"), [ints([1, 10, 2]), ints([1, 30, 1])]);
    let oslo = key(&[("city", text("Oslo")), ("shop", int(1)), ("id", int(1))]);
    let cells = store.get("by_city", oslo, versions(1)).expect("read by its key");
    assert_eq!(
        cells.iter().map(|cell| (cell.0.as_str(), &cell.2)).collect::<Vec<_>>(),
        [("note", &Value::String("n".into()))]
    );

    store.update(row(1, 1), &[change("city", ColumnOp::Put { version: None, value: text("Alta") })]);
    assert_eq!(keys(&store, "by_city"), [city("Alta", 1, 1), city("Bergen", 1, 2)]);
    store.update(row(1, 1), &[increment("price", -25)]);
    assert_eq!(keys(&store, "by_price"), [ints([1, 5, 1]), ints([1, 10, 2])]);
    store.update(row(1, 1), &[change("note", ColumnOp::DeleteColumn)]);
    let alta = || key(&[("city", text("Alta")), ("shop", int(1)), ("id", int(1))]);
    assert_eq!(store.get("by_city", alta(), versions(1)), Some(vec![]));
    store.update(row(1, 2), &[change("city", ColumnOp::DeleteColumn)]);
    assert_eq!(keys(&store, "by_city"), [city("Alta", 1, 1)]);
    store.put(row(1, 1), &[cell("price", int(8))]);
    assert_eq!((keys(&store, "by_city"), keys(&store, "by_price").len()), (vec![], 2), "a put replaces all");
    store.write(&delete("t", row(1, 1))).expect("deleted");
    store.write(&delete("t", row(1, 2))).expect("deleted");
    assert!(keys(&store, "by_price").is_empty());
}

/// R6: read by GetRow, BatchGetRow and GetRange, with everything that reads of tables can.
#[test]
fn r6_an_index_is_read_like_a_table_and_never_written() {
    let store = store(both());
    for id in 0..30 {
        store.put(row(1, id), &[cell("city", text(["a", "b", "c"][(id % 3) as usize])), cell("price", int(id))]);
    }
    let start = key(&[("city", text("b")), ("shop", int(0)), ("id", int(0))]);
    let request = GetRange { start, limit: Some(4), ..range("by_city", Direction::Forward) };
    let (rows, read) = store.range(&request);
    assert_eq!(rows.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>(), [1, 4, 7, 10].map(|id| city("b", 1, id)));
    assert_eq!(read.next, Some(city("b", 1, 13)));
    let backward = store.range(&GetRange { limit: Some(2), ..range("by_city", Direction::Backward) }).0;
    assert_eq!(backward.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>(), [29, 26].map(|id| city("c", 1, id)));

    let wanted = key(&[("city", text("b")), ("shop", int(1)), ("id", int(4))]);
    let tables =
        [TableRead { table: TableName::parse("by_city").expect("a name"), keys: vec![wanted], options: versions(1) }];
    let mut sinks = [Rows::default()];
    let found = store.env.run(store.instance.batch_get_row(&tables, &mut sinks)).expect("read");
    assert!(found[0][0].as_ref().expect("read").row);

    let direct = put("by_city", key(&[("city", text("z")), ("shop", int(1)), ("id", int(4))]), &[]);
    assert_eq!(refused(store.write(&direct)), "OTSParameterInvalid: Can't write index table directly");
}

/// R8, with the service's texts: nothing is stored that an index could not hold.
#[test]
fn r6_r8_what_an_index_cannot_hold_is_refused() {
    let store = store(both());
    let long = "x".repeat(1025);
    let refusal = |write| refused(store.write(&write));
    assert_eq!(
        refusal(put("t", row(1, 1), &[cell("city", text(&long))])),
        "OTSParameterInvalid: The length of primary key column: 'city' exceeds the MaxLength:1024 with CurrentLength:1025."
    );
    assert_eq!(
        refusal(put("t", row(1, 1), &[cell("price", text("1"))])),
        "OTSParameterInvalid: Invalid column type for column price expect VT_INTEGER actual VT_STRING"
    );
    assert_eq!(
        refusal(update("t", row(1, 1), &[increment("note", 1)])),
        "OTSParameterInvalid: Invalid column type for column note expect VT_STRING actual VT_INTEGER"
    );
    let versioned = put("t", row(1, 1), &[cell_at("other", NOW, int(1))]);
    assert_eq!(
        refusal(versioned),
        "OTSParameterInvalid: Timestamp cannot be given for a table with an index. Cell:other."
    );
    let version = update("t", row(1, 1), &[change("other", ColumnOp::DeleteVersion(NOW))]);
    assert_eq!(
        refusal(version),
        "OTSParameterInvalid: Timestamp cannot be given for a table with an index. Cell:other."
    );
    let twice = [put("t", row(1, 1), &[]), put("t", row(1, 1), &[])];
    let batch = store.env.run(store.instance.batch_write_row(&twice, None));
    assert_eq!(refused(batch), "OTSParameterInvalid: Duplicate rows detected in MultiPut.");
    assert!(keys(&store, "t").is_empty());
    store.put(row(1, 1), &[cell("note", text(&long))]);
    assert_eq!(keys(&store, "t").len(), 1, "a column that no index is sorted by may be longer");
}

/// C1: the documents' example.
#[test]
fn c1_what_index_rows_cost() {
    let store = Store::new();
    let defined =
        ["Col0", "Col1", "Col2"].map(|name| DefinedColumn { name: name.into(), column_type: ValueType::String });
    let request = CreateTable {
        name: "t".into(),
        key: vec![KeyColumn::new("PK0", KeyType::Integer), KeyColumn::new("PK1", KeyType::Integer)],
        defined: defined.to_vec(),
        indexes: vec![
            index("Index0", IndexKind::Global, &["Col0"], &["Col2"]),
            index("Index1", IndexKind::Global, &["Col1", "Col0"], &[]),
        ],
        ..CreateTable::default()
    };
    store.env.run(store.instance.create_table(request)).expect("created");
    let cost = |write| {
        let consumed = store.write(&write).expect("written").consumed;
        (consumed.read, consumed.write)
    };
    let at = |id| key(&[("PK0", int(1)), ("PK1", int(id))]);
    let set = |name, value| change(name, ColumnOp::Put { version: None, value: text(value) });
    assert_eq!(cost(update("t", at(1), &[set("Col3", "x")])), (0, 1), "Col3 is in no index");
    assert_eq!(cost(put("t", at(2), &[cell("Col1", text("x"))])), (1, 1), "only Col1: in no index yet");
    assert_eq!(cost(put("t", at(3), &[cell("Col0", text("x")), cell("Col1", text("y"))])), (1, 3), "in both");
    assert_eq!(cost(update("t", at(3), &[set("Col2", "z")])), (1, 2), "an attribute of Index0");
    assert_eq!(cost(update("t", at(3), &[set("Col0", "w")])), (1, 5), "one row goes and one comes, in both");
    assert_eq!(cost(delete("t", at(3))), (1, 3), "one row goes in both");
    let long = "x".repeat(1000);
    for _ in 0..10 {
        let set = update("t", at(4), &[set("Col0", &long)]);
        assert_eq!(cost(set).0, 1, "what is hidden is not read, however much of it is still stored");
    }
    // Names and values of the three key columns of Index0 are 1026 bytes, so its row is 4096 bytes, and so is the base row.
    let fillings = ["x".repeat(3066), "x".repeat(3067)];
    for (filling, units) in fillings.iter().zip([2, 4]) {
        let full = put("t", at(5), &[cell("Col0", text(&long)), cell("Col2", text(filling))]);
        assert_eq!(cost(full), (1, units), "{} bytes in Col2", filling.len());
        assert_eq!(cost(delete("t", at(5))), (1, 2));
    }
}

/// R4, R6: the rows of the base are in the index, also after a crash.
#[test]
fn r4_r6_an_index_survives_a_crash_with_its_table() {
    let mut store = store(both());
    for id in 0..40 {
        store.put(row(id % 4, id), &[cell("city", text(if id % 2 == 0 { "a" } else { "b" })), cell("price", int(id))]);
    }
    store.compact();
    for id in 0..20 {
        store.update(row(id % 4, id), &[change("city", ColumnOp::Put { version: None, value: text("c") })]);
    }
    store.reopen();
    assert_eq!(keys(&store, "by_city").len(), 40);
    assert_eq!(keys(&store, "by_city").iter().filter(|key| key[0] == KeyValue::String("c".into())).count(), 20);
    assert_eq!(keys(&store, "by_price").len(), 40);
}

fn building(store: &Store) -> bool {
    store.instance.describe_table("t").expect("there").indexes[0].building
}

fn create(store: &Store, include_base_data: bool) {
    let spec = index("by_city", IndexKind::Global, &["city"], &["note"]);
    store.env.run(store.instance.create_index("t", spec, include_base_data)).expect("created");
}

fn fill(store: &Store, ids: std::ops::Range<i64>) {
    for id in ids {
        store.put(row(1, id), &[cell("city", text(if id % 2 == 0 { "even" } else { "odd" })), cell("note", text("n"))]);
    }
}

fn read_index(instance: &Instance, store: &Store) -> String {
    let wanted = key(&[("city", text("odd")), ("shop", int(1)), ("id", int(1))]);
    let request = GetRow { table: TableName::parse("by_city").expect("a name"), key: wanted, options: versions(1) };
    refused(store.env.run(instance.get_row(&request, &mut Rows::default())))
}

/// R6: an index over rows that are there is built while the table is written, and goes on after a crash.
#[test]
fn r6_an_index_is_built_from_base_data_while_the_table_is_written() {
    let mut store = store(Vec::new());
    fill(&store, 0..1000);
    create(&store, true);
    assert!(building(&store), "the call does not wait for it");
    let refusal = "OTSParameterInvalid: Disallow read index table in building base state";
    assert_eq!(read_index(&store.instance.clone(), &store), refusal);
    let described = store.instance.describe_table("t").expect("there").indexes[0].clone();
    assert!(described.built_rows < 1000);

    // Rows behind and before the place where the build is.
    store.write(&delete("t", row(1, 3))).expect("deleted");
    store.update(row(1, 990), &[change("city", ColumnOp::Put { version: None, value: text("odd") })]);
    fill(&store, 1000..1010);
    store.reopen();
    store.env.run_until_idle();
    assert!(!building(&store), "it went on by itself");
    let found = keys(&store, "by_city");
    assert_eq!(found.len(), 1009);
    assert_eq!(found.iter().filter(|key| key[0] == KeyValue::String("odd".into())).count(), 505);
    let described = store.instance.describe_table("t").expect("there").indexes[0].clone();
    assert_eq!((described.building, described.lag_ms), (false, 0));
}

/// R6, V1: a version that a client gave before there was the index may be later than the store's own, or the same.
#[test]
fn r6_an_index_shows_the_newest_version_whoever_gave_it() {
    let store = store(Vec::new());
    store.put(row(1, 1), &[cell_at("city", NOW + 1000, text("given"))]);
    create(&store, true);
    store.env.run_until_idle();
    let update = |name: &str| {
        store.update(row(1, 1), &[change("city", ColumnOp::Put { version: None, value: text(name) })]);
        (keys(&store, "by_city"), store.all(row(1, 1)).expect("there")[0].2.clone())
    };
    assert_eq!(update("earlier"), (vec![city("given", 1, 1)], text("given").to_owned()));
    store.env.set_now(NOW + 1000);
    assert_eq!(update("same"), (vec![city("same", 1, 1)], text("same").to_owned()));
    store.env.set_now(NOW + 2000);
    assert_eq!(update("later"), (vec![city("later", 1, 1)], text("later").to_owned()));
}

/// R6: without base data an index holds what is written from then on.
#[test]
fn r6_an_index_without_base_data_begins_empty() {
    let store = store(Vec::new());
    fill(&store, 0..10);
    create(&store, false);
    assert!(!building(&store));
    fill(&store, 10..12);
    store.write(&delete("t", row(1, 4))).expect("an old row may go all the same");
    assert_eq!(keys(&store, "by_city"), [city("even", 1, 10), city("odd", 1, 11)]);
}

/// T8, V5: an index whose time to live is raised shows what its table shows, not what happens to be left of it.
#[test]
fn t8_v5_raising_the_time_to_live_of_an_index_builds_it_anew() {
    let store = store(both());
    store.put(row(1, 1), &[cell("city", text("old"))]);
    let set = |name: &str, options| {
        let request = UpdateTable { name: name.into(), options, ..UpdateTable::default() };
        store.env.run(store.instance.update_table(request)).expect("updated");
    };
    let day = 86_400;
    let ttl = |seconds| OptionsChange { time_to_live: Some(seconds), ..OptionsChange::default() };
    set("by_city", ttl(day));
    store.env.set_now(NOW + 2 * day * 1000);
    assert!(keys(&store, "by_city").is_empty(), "expired in the index alone");
    store.compact();
    set("by_city", ttl(-1));
    store.env.run_until_idle();
    assert_eq!(keys(&store, "by_city"), [city("old", 1, 1)]);
}

/// T8, V4: a row is in an index as long as everything that its key there is made of, whatever else is younger. T8, R6:
/// rows that an index left out stay out, also when it is built anew, after a restart and by a clock that has gone back.
#[test]
fn t8_r6_an_index_without_base_data_that_is_built_anew_holds_what_was_written_since() {
    let mut store = store(Vec::new());
    fill(&store, 0..3);
    store.env.run(store.instance.flush()).expect("flushed");
    fill(&store, 3..5);
    let spec = IndexSpec { time_to_live: Some(86_400), ..index("by_city", IndexKind::Global, &["city"], &[]) };
    store.env.run(store.instance.create_index("t", spec, false)).expect("made");
    store.env.set_now(NOW - 3_600_000);
    fill(&store, 5..8);
    let built = |store: &Store| {
        let options = OptionsChange { time_to_live: Some(-1), ..OptionsChange::default() };
        store.set_options("by_city", options);
        store.env.run_until_idle();
        ids(&store.range(&range("by_city", Direction::Forward)).0)
    };
    let since = ids(&store.range(&range("by_city", Direction::Forward)).0);
    assert_eq!(since.len(), 3);
    assert_eq!(built(&store), since);
    let options = OptionsChange { time_to_live: Some(86_400), ..OptionsChange::default() };
    store.set_options("by_city", options);
    store.reopen();
    store.compact();
    assert_eq!(built(&store), since);
}

#[test]
fn t8_v4_an_index_row_expires_with_the_oldest_column_of_its_key() {
    const DAY: i64 = 86_400_000;
    let store = store(vec![index("by_city", IndexKind::Global, &["city", "price"], &["note"])]);
    store.put(row(1, 1), &[cell("city", text("Oslo")), cell("price", int(1)), cell("note", text("old"))]);
    store.env.advance(DAY / 2);
    let note = ColumnOp::Put { version: None, value: text("new") };
    store.update(row(1, 1), &[add("price", None, 2), change("note", note)]);
    let live = OptionsChange { time_to_live: Some(86_400), ..OptionsChange::default() };
    store.set_options("by_city", live);
    store.set_options("t", OptionsChange { allow_update: Some(false), ..live });
    assert_eq!(keys(&store, "by_city").len(), 1);
    store.env.advance(DAY / 2 + 1000);
    for compacted in [false, true] {
        if compacted {
            store.compact();
        }
        assert_eq!(keys(&store, "t").len(), 1, "price and note are young");
        assert_eq!(keys(&store, "by_city"), Vec::<Vec<KeyValue>>::new(), "city has expired");
        let stored = store.env.run(store.instance.compute_storage("by_city")).expect("weighed");
        assert_eq!(stored.rows, 0, "what is not there weighs nothing (V9)");
    }
}

/// R7, R4: the writes of a transaction are in the indexes when it is committed, and not before, nor when it is aborted.
#[test]
fn r7_a_transaction_writes_its_indexes_with_its_rows() {
    let mut store = store(both());
    store.put(row(1, 1), &[cell("city", text("a")), cell("price", int(1))]);
    let start = |store: &Store| {
        let started =
            store.instance.start_local_transaction(TableName::parse("t").expect("a name"), &key(&[("shop", int(1))]));
        started.expect("started").id
    };
    let inside = |store: &Store, id: &str, write| {
        store.env.run(store.instance.write_row_in(Some(id), &write, None)).expect("written");
    };
    let set = |name, value| change(name, ColumnOp::Put { version: None, value });
    let id = start(&store);
    inside(&store, &id, update("t", row(1, 1), &[set("city", text("b"))]));
    inside(&store, &id, update("t", row(1, 1), &[set("city", text("c")), increment("price", 4)]));
    inside(&store, &id, put("t", row(1, 2), &[cell("city", text("d"))]));
    inside(&store, &id, delete("t", row(1, 2)));
    inside(&store, &id, put("t", row(1, 3), &[cell("city", text("e"))]));
    assert_eq!(keys(&store, "by_city"), [city("a", 1, 1)], "nothing is seen before");
    store.env.run(store.instance.commit_transaction(&id, None)).expect("committed");
    let committed = [city("c", 1, 1), city("e", 1, 3)];
    assert_eq!(keys(&store, "by_city"), committed);
    assert_eq!(keys(&store, "by_price"), [[1, 5, 1].map(KeyValue::Integer).to_vec()]);
    store.reopen();
    assert_eq!(keys(&store, "by_city"), committed);

    let id = start(&store);
    inside(&store, &id, delete("t", row(1, 1)));
    store.instance.abort_transaction(&id).expect("aborted");
    assert_eq!(keys(&store, "by_city"), committed);
}

/// R7: a transaction that began before an index was made does not know it, and ends.
#[test]
fn r7_a_new_index_ends_the_transactions_of_its_table() {
    let store = store(Vec::new());
    fill(&store, 0..3);
    let name = TableName::parse("t").expect("a name");
    let started = store.instance.start_local_transaction(name, &key(&[("shop", int(1))])).expect("started");
    create(&store, true);
    let late = store.env.run(store.instance.commit_transaction(&started.id, None));
    assert_eq!(refused(late), "OTSSessionNotExist: Session not exist or may be timeout.");
    store.put(row(1, 9), &[cell("city", text("free again"))]);
}
