//! Index tables and defined columns: made, described, changed and dropped (T8, R8; how they are filled: `indexes`).

use crate::store::*;
use tabstore::Result;
use tabstore::model::{DefinedColumn, IndexKind, KeyColumn, KeyType, Limits, TableName, ValueType};
use tabstore::tablestore::{
    CreateTable, IndexDescription, IndexSpec, InstanceOptions, OptionsChange, TableDescription, UpdateTable,
};

const NONE: OptionsChange =
    OptionsChange { time_to_live: None, max_versions: None, max_version_offset: None, allow_update: None };
const DAY: i64 = 86_400;
const SMALLER: &str = "OTSParameterInvalid: [table ttl] must be bigger than or equal search index ttl";

fn defined(columns: &[(&str, ValueType)]) -> Vec<DefinedColumn> {
    columns.iter().map(|&(name, column_type)| DefinedColumn { name: name.into(), column_type }).collect()
}

fn index(name: &str, key: &[&str], columns: &[&str]) -> IndexSpec {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    IndexSpec { name: name.into(), key: owned(key), columns: owned(columns), ..IndexSpec::default() }
}

fn local(spec: IndexSpec) -> IndexSpec {
    IndexSpec { kind: IndexKind::Local, ..spec }
}

fn living(time_to_live: i64, spec: IndexSpec) -> IndexSpec {
    IndexSpec { time_to_live: Some(time_to_live), ..spec }
}

/// A table `t` with the key (gid, uid), a column of each type, and these indexes.
fn request(options: OptionsChange, indexes: &[IndexSpec]) -> CreateTable {
    let types = [
        ("i", ValueType::Integer),
        ("d", ValueType::Double),
        ("o", ValueType::Boolean),
        ("s", ValueType::String),
        ("b", ValueType::Binary),
    ];
    CreateTable {
        name: "t".into(),
        key: vec![KeyColumn::new("gid", KeyType::Integer), KeyColumn::new("uid", KeyType::String)],
        options,
        defined: defined(&types),
        indexes: indexes.to_vec(),
        ..CreateTable::default()
    }
}

fn try_create(store: &Store, request: CreateTable) -> Result<()> {
    store.env.run(store.instance.create_table(request))
}

fn with_indexes(options: OptionsChange, indexes: &[IndexSpec]) -> Store {
    let store = Store::new();
    try_create(&store, request(options, indexes)).expect("created");
    store
}

fn create_index(store: &Store, spec: IndexSpec) -> Result<()> {
    store.env.run(store.instance.create_index("t", spec, false))
}

fn change(store: &Store, table: &str, options: OptionsChange) -> Result<TableDescription> {
    let request = UpdateTable { name: table.into(), options, ..UpdateTable::default() };
    store.env.run(store.instance.update_table(request))
}

fn ttl(seconds: i64) -> OptionsChange {
    OptionsChange { time_to_live: Some(seconds), ..NONE }
}

fn updates(allow: bool) -> OptionsChange {
    OptionsChange { allow_update: Some(allow), ..NONE }
}

fn describe(store: &Store, table: &str) -> TableDescription {
    store.instance.describe_table(table).expect("there")
}

fn key_of(description: &TableDescription) -> Vec<(&str, KeyType)> {
    description.schema.key().iter().map(|column| (column.name.as_str(), column.key_type)).collect()
}

fn parameter(message: &str) -> String {
    format!("OTSParameterInvalid: {message}")
}

#[test]
fn r8_indexes_are_described_as_they_were_given_and_keyed_with_the_rest_of_the_tables_key() {
    let indexes = [
        index("by_is", &["i", "s"], &["o", "b", "d"]),
        local(index("in_gid", &["gid", "b"], &[])),
        index("by_uid", &["uid"], &["i"]),
    ];
    let mut store = with_indexes(NONE, &indexes);
    for reopened in [false, true] {
        if reopened {
            store.reopen();
        }
        let table = describe(&store, "t");
        let types = [ValueType::Integer, ValueType::Double, ValueType::Boolean, ValueType::String, ValueType::Binary];
        let found: Vec<_> = table.defined.iter().map(|column| (column.name.as_str(), column.column_type)).collect();
        assert_eq!(found, ["i", "d", "o", "s", "b"].into_iter().zip(types).collect::<Vec<_>>());
        let given = |spec: &IndexSpec| IndexDescription {
            name: spec.name.clone(),
            kind: spec.kind,
            key: spec.key.clone(),
            columns: spec.columns.clone(),
            time_to_live: -1,
            building: false,
            built_rows: 0,
            lag_ms: 0,
            failure: None,
        };
        let mut expected: Vec<_> = indexes.iter().map(given).collect();
        expected.sort_by(|a, b| a.name.cmp(&b.name));
        assert_eq!(table.indexes, expected);
        assert_eq!((table.index_of, table.local_transactions), (None, true));
        let (int, text, bytes) = (KeyType::Integer, KeyType::String, KeyType::Binary);
        let by_is = describe(&store, "by_is");
        assert_eq!(key_of(&by_is), [("i", int), ("s", text), ("gid", int), ("uid", text)]);
        assert_eq!(by_is.index_of.as_deref(), Some("t"));
        assert_eq!(key_of(&describe(&store, "in_gid")), [("gid", int), ("b", bytes), ("uid", text)]);
        assert_eq!(key_of(&describe(&store, "by_uid")), [("uid", text), ("gid", int)]);
        assert_eq!(store.instance.list_table(), ["by_is", "by_uid", "in_gid", "t"], "index tables are tables");
    }
}

#[test]
fn r8_an_index_of_eight_key_columns_can_be_read() {
    let store = Store::new();
    let columns = ["a", "b", "c", "d"].map(|name| KeyColumn::new(name, KeyType::Integer));
    let types = ["w", "x", "y", "z"].map(|name| (name, ValueType::String));
    let request = CreateTable {
        name: "t".into(),
        key: columns.to_vec(),
        defined: defined(&types),
        indexes: vec![index("i", &["w", "x", "y", "z"], &[])],
        ..CreateTable::default()
    };
    try_create(&store, request).expect("created");
    let names: Vec<_> = describe(&store, "i").schema.key().iter().map(|column| column.name.clone()).collect();
    assert_eq!(names, ["w", "x", "y", "z", "a", "b", "c", "d"]);
    let whole = key(&[
        ("w", text("")),
        ("x", text("")),
        ("y", text("")),
        ("z", text("")),
        ("a", int(1)),
        ("b", int(1)),
        ("c", int(1)),
        ("d", int(1)),
    ]);
    assert_eq!(store.get("i", whole, versions(1)), None);
}

#[test]
fn r8_wrong_defined_columns_are_refused_and_store_nothing() {
    let store = Store::new();
    let with = |columns: Vec<DefinedColumn>| {
        refused(try_create(&store, CreateTable { defined: columns, ..request(NONE, &[]) }))
    };
    let many: Vec<_> = (0..33).map(|n| format!("c{n}")).collect();
    let many: Vec<_> = many.iter().map(|name| (name.as_str(), ValueType::Integer)).collect();
    assert_eq!(with(defined(&many)), parameter("The number of defined columns must be in range: [0, 32]."));
    let twice = [("x", ValueType::Integer), ("x", ValueType::String)];
    assert_eq!(with(defined(&twice)), parameter("Duplicated defined column name: 'x'."));
    assert_eq!(with(defined(&[("#x", ValueType::Integer)])), parameter("Invalid column name: '#x'."));
    let message = "Duplicated attribute column name with primary key column: uid.";
    assert_eq!(with(defined(&[("uid", ValueType::String)])), parameter(message));
    assert_eq!(store.instance.list_table(), Vec::<String>::new());
    let most = CreateTable { defined: defined(&many[..32]), ..request(NONE, &[]) };
    assert!(try_create(&store, most).is_ok());
}

#[test]
fn r8_wrong_indexes_are_refused_at_creation_and_later_and_store_nothing() {
    let columns: Vec<_> = (0..33).map(|n| format!("c{n}")).collect();
    let columns: Vec<_> = columns.iter().map(String::as_str).collect();
    let range = "The number of primary key columns must be in range: [1, 4] in index.";
    let wrong = [
        (index("3x", &["i"], &[]), "Invalid table name: '3x'."),
        (index("x", &[], &[]), range),
        (index("x", &["i", "s", "b", "gid", "uid"], &[]), range),
        (index("x", &["i"], &columns), "The number of attribute columns must be in range: [0, 32] in index."),
        (index("x", &["n"], &[]), "Column 'n' of index 'x' is not a defined column."),
        (index("x", &["i"], &["n"]), "Column 'n' of index 'x' is not a defined column."),
        (index("x", &["i"], &["gid"]), "Column 'gid' of index 'x' is not a defined column."),
        (index("x", &["d"], &[]), "DOUBLE is an invalid type for the primary key."),
        (index("x", &["i", "o"], &[]), "BOOLEAN is an invalid type for the primary key."),
        (index("x", &["i", "i"], &[]), "Duplicated primary key name: 'i'."),
        (index("x", &["i"], &["s", "s"]), "Duplicated column 's' in index 'x'."),
        (index("x", &["i"], &["i"]), "Duplicated column 'i' in index 'x'."),
        (living(0, index("x", &["i"], &[])), "TimeToLive cannot be 0 or less than -1."),
        (
            local(index("x", &["i", "gid"], &[])),
            "The first primary key column of local index 'x' must be that of table 't'.",
        ),
    ];
    let store = with_indexes(NONE, &[]);
    for (spec, message) in wrong {
        let created = Store::new();
        assert_eq!(refused(try_create(&created, request(NONE, std::slice::from_ref(&spec)))), parameter(message));
        assert_eq!(created.instance.list_table(), Vec::<String>::new());
        assert_eq!(refused(create_index(&store, spec)), parameter(message));
    }
    assert_eq!(store.instance.list_table(), ["t"]);
    let counted = KeyColumn { auto_increment: true, ..KeyColumn::new("n", KeyType::Integer) };
    let key = vec![KeyColumn::new("gid", KeyType::Integer), counted];
    let request = |spec| CreateTable { key: key.clone(), ..request(NONE, &[spec]) };
    let message = "First primary key can't be auto increment, table: x.";
    let created = Store::new();
    assert_eq!(refused(try_create(&created, request(index("x", &["n"], &[])))), parameter(message));
    assert!(try_create(&created, request(index("x", &["gid", "n"], &[]))).is_ok());
}

#[test]
fn i3_index_tables_share_the_names_and_the_quota_of_tables() {
    let store = with_indexes(NONE, &[index("x", &["i"], &[])]);
    let taken = "OTSObjectAlreadyExist: Requested table already exists.";
    assert_eq!(refused(create_index(&store, index("x", &["s"], &[]))), taken);
    assert_eq!(refused(create_index(&store, index("t", &["s"], &[]))), taken);
    assert_eq!(refused(store.try_create("x", &[("id", KeyType::Integer)], NONE)), taken);
    let named = |indexes: &[IndexSpec]| refused(try_create(&Store::new(), request(NONE, indexes)));
    assert_eq!(named(&[index("t", &["i"], &[])]), parameter("Duplicated table name: t."));
    let twice = [index("y", &["i"], &[]), index("y", &["s"], &[])];
    assert_eq!(named(&twice), parameter("Duplicated table name: y."));

    let limits = Limits { tables: 3, ..Limits::DOCUMENT };
    let store = Store::with(InstanceOptions { limits, ..InstanceOptions::default() }, store.engine_options);
    let full = "OTSQuotaExhausted: Number of tables exceeds the quota:3.";
    let three = [index("x", &["i"], &[]), index("y", &["i"], &[]), index("z", &["i"], &[])];
    assert_eq!(refused(try_create(&store, request(NONE, &three))), full);
    try_create(&store, request(NONE, &three[..2])).expect("three tables");
    assert_eq!(refused(create_index(&store, three[2].clone())), full);
}

#[test]
fn r8_a_table_has_at_most_five_indexes() {
    let specs = ["a", "b", "c", "d", "e", "f"].map(|name| index(name, &["i"], &[]));
    let message = parameter("Number of index per table exceeds the quota:5.");
    assert_eq!(refused(try_create(&Store::new(), request(NONE, &specs))), message);
    let store = with_indexes(NONE, &specs[..5]);
    assert_eq!(refused(create_index(&store, specs[5].clone())), message);
    store.env.run(store.instance.drop_index("t", "c")).expect("dropped");
    create_index(&store, specs[5].clone()).expect("a fifth one");
}

#[test]
fn r6_a_dropped_index_is_gone_and_its_name_free() {
    let mut store = with_indexes(NONE, &[index("x", &["i"], &[]), index("y", &["s"], &[])]);
    let missing = "OTSObjectNotExist: Requested index does not exist.";
    for (table, name) in [("t", "z"), ("t", "t"), ("x", "y")] {
        assert_eq!(refused(store.env.run(store.instance.drop_index(table, name))), missing, "{table} {name}");
    }
    let no_table = "OTSObjectNotExist: Requested table does not exist.";
    assert_eq!(refused(store.env.run(store.instance.drop_index("no", "x"))), no_table);
    let refusal = refused(store.env.run(store.instance.delete_table("x")));
    assert_eq!(refusal, parameter("Can't delete index table directly, drop the index: 'x'."));
    store.env.run(store.instance.drop_index("t", "x")).expect("dropped");
    for reopened in [false, true] {
        if reopened {
            store.reopen();
        }
        assert_eq!(store.instance.list_table(), ["t", "y"]);
        assert_eq!(describe(&store, "t").indexes.len(), 1);
        assert_eq!(refused(store.instance.describe_table("x")), no_table);
    }
    create_index(&store, index("x", &["gid"], &["s"])).expect("again");
    assert_eq!(describe(&store, "t").indexes.len(), 2);
}

/// R6: no read sees half an index.
#[test]
fn r6_an_index_that_takes_over_a_table_cannot_be_read_and_says_how_far_it_is() {
    let store = with_indexes(NONE, &[]);
    for n in 0..100 {
        let key = key(&[("gid", int(n)), ("uid", text("u"))]);
        store.write(&put("t", key, &[cell("i", int(n))])).expect("written");
    }
    let create = store.instance.create_index("t", index("x", &["i"], &[]), true);
    let (created, described, read) = store.env.run(async {
        let created = create.await;
        let mut rows = Rows::default();
        let range = range("x", tabstore::engine::Direction::Forward);
        let read = store.instance.get_range(&range, &mut rows).await.map(|_| rows.0.len());
        (created, store.instance.describe_table("t"), read)
    });
    created.expect("created");
    let found = &described.expect("there").indexes[0];
    assert!(found.building && found.built_rows < 100);
    assert_eq!(refused(read), parameter("Disallow read index table in building base state"));
    store.env.run_until_idle();
    let found = describe(&store, "t").indexes.remove(0);
    assert_eq!((found.building, found.built_rows, found.lag_ms), (false, 100, 0));
    assert_eq!(store.range(&range("x", tabstore::engine::Direction::Forward)).0.len(), 100);
}

/// T1: as in the service, whose documents say that a table's indexes are deleted with it.
#[test]
fn t1_a_deleted_tables_indexes_go_with_it() {
    let mut store = with_indexes(NONE, &[index("x", &["i"], &[]), index("y", &["s"], &[])]);
    store.env.run(store.instance.delete_table("t")).expect("deleted");
    assert_eq!(store.instance.list_table(), Vec::<String>::new());
    store.reopen();
    assert_eq!(store.instance.list_table(), Vec::<String>::new());
    try_create(&store, request(NONE, &[index("x", &["i"], &[])])).expect("all names are free");
}

#[test]
fn r8_defined_columns_are_added_and_deleted_unless_an_index_uses_them() {
    let mut store = with_indexes(NONE, &[index("x", &["i"], &["s"])]);
    let run = |store: &Store, columns: &[(&str, ValueType)]| {
        store.env.run(store.instance.add_defined_column("t", defined(columns)))
    };
    let delete = |store: &Store, columns: &[&str]| {
        let columns: Vec<_> = columns.iter().map(|&name| name.to_owned()).collect();
        store.env.run(store.instance.delete_defined_column("t", &columns))
    };
    run(&store, &[("n", ValueType::Integer), ("m", ValueType::Binary)]).expect("added");
    let double = ValueType::Double;
    assert_eq!(refused(run(&store, &[("n", double)])), parameter("Duplicated defined column name: 'n'."));
    assert_eq!(refused(run(&store, &[])), parameter("No defined column is specified."));
    create_index(&store, index("y", &["n", "m"], &[])).expect("of new columns");
    for (column, name) in [("i", "x"), ("s", "x"), ("m", "y")] {
        let message = format!("Column '{column}' is used by index '{name}'.");
        assert_eq!(refused(delete(&store, &["d", column])), parameter(&message));
    }
    assert_eq!(refused(delete(&store, &["d", "gone"])), parameter("Column 'gone' is not a defined column."));
    assert_eq!(describe(&store, "t").defined.len(), 7, "all or nothing");
    delete(&store, &["d", "b"]).expect("deleted");
    store.env.run(store.instance.drop_index("t", "y")).expect("dropped");
    delete(&store, &["n"]).expect("free now");
    store.reopen();
    let left: Vec<_> = describe(&store, "t").defined.iter().map(|column| column.name.clone()).collect();
    assert_eq!(left, ["i", "o", "s", "m"]);
    let message = "'x' is an index table, it has no indexes of its own.";
    let refusal = refused(store.env.run(store.instance.add_defined_column("x", defined(&[("n", double)]))));
    assert_eq!(refusal, parameter(message));
    let refusal = refused(store.env.run(store.instance.create_index("x", index("z", &["i"], &[]), true)));
    assert_eq!(refusal, parameter(message));
}

#[test]
fn t8_with_an_index_max_versions_is_one_and_stays_so() {
    let several = OptionsChange { max_versions: Some(2), ..NONE };
    let message = parameter("The max versions of a table with an index must be 1: 2.");
    let spec = index("x", &["i"], &[]);
    assert_eq!(refused(try_create(&Store::new(), request(several, std::slice::from_ref(&spec)))), message);
    let store = with_indexes(several, &[]);
    assert_eq!(refused(create_index(&store, spec.clone())), message);
    change(&store, "t", OptionsChange { max_versions: Some(1), ..NONE }).expect("without an index");
    create_index(&store, spec).expect("one version");
    assert_eq!(refused(change(&store, "t", several)), message);
    assert_eq!(describe(&store, "t").options.max_versions, 1);
}

#[test]
fn t8_with_an_index_a_time_to_live_needs_updates_turned_off() {
    let message =
        parameter("The time to live of a table with an index must be -1 unless updates are not allowed: 86400.");
    let spec = living(DAY, index("x", &["i"], &[]));
    assert_eq!(refused(try_create(&Store::new(), request(ttl(DAY), std::slice::from_ref(&spec)))), message);
    let mut store = with_indexes(NONE, &[spec]);
    assert_eq!(refused(change(&store, "t", ttl(DAY))), message);
    change(&store, "t", updates(false)).expect("turned off");
    change(&store, "t", ttl(DAY)).expect("now it may");
    store.reopen();
    assert_eq!(refused(change(&store, "t", updates(true))), message, "and not on again");
    change(&store, "t", OptionsChange { allow_update: Some(true), ..ttl(-1) }).expect("both at once");
    let both = OptionsChange { allow_update: Some(false), ..ttl(DAY) };
    change(&store, "t", both).expect("and back");
}

#[test]
fn t8_a_tables_time_to_live_is_at_least_its_indexes() {
    let off = updates(false);
    let two_days = OptionsChange { allow_update: Some(false), ..ttl(2 * DAY) };
    for longer in [-1, 3 * DAY] {
        let spec = living(longer, index("x", &["i"], &[]));
        assert_eq!(refused(try_create(&Store::new(), request(two_days, std::slice::from_ref(&spec)))), SMALLER);
        assert_eq!(refused(create_index(&with_indexes(two_days, &[]), spec)), SMALLER);
    }
    let mut store = with_indexes(two_days, &[index("x", &["i"], &[])]);
    assert_eq!(describe(&store, "x").options.time_to_live, 2 * DAY, "the table's, if none is given");
    assert_eq!(refused(change(&store, "t", ttl(DAY))), SMALLER);
    assert_eq!(refused(change(&store, "x", ttl(-1))), SMALLER, "-1 is longest");
    assert_eq!(refused(change(&store, "x", ttl(3 * DAY))), SMALLER);
    assert_eq!(change(&store, "x", ttl(DAY)).expect("first the index").options.time_to_live, DAY);
    store.reopen();
    assert_eq!(change(&store, "t", ttl(DAY)).expect("then the table").options.time_to_live, DAY);
    assert_eq!(describe(&store, "t").indexes[0].time_to_live, DAY);

    let store = with_indexes(off, &[index("x", &["i"], &[])]);
    assert_eq!(refused(change(&store, "t", ttl(DAY))), SMALLER, "the index lives for ever");
}

#[test]
fn t8_only_the_time_to_live_of_an_index_changes() {
    let store = with_indexes(NONE, &[index("x", &["i"], &[])]);
    let message = parameter("Only the time to live of an index table can be changed.");
    let others = [
        OptionsChange { max_versions: Some(2), ..NONE },
        OptionsChange { max_version_offset: Some(5), ..NONE },
        updates(false),
        OptionsChange { allow_update: Some(false), ..ttl(DAY) },
    ];
    for options in others {
        assert_eq!(refused(change(&store, "x", options)), message);
    }
    let reserved = UpdateTable { name: "x".into(), reserved_read: Some(1), ..UpdateTable::default() };
    assert_eq!(refused(store.env.run(store.instance.update_table(reserved))), message);
    assert!(refused(change(&store, "x", ttl(5))).contains("TimeToLive cannot be less than 86400"));
    assert!(change(&store, "x", ttl(DAY)).is_ok());
}

/// T8: rows that had expired in the index may be gone there, so it is built anew.
#[test]
fn t8_a_raised_index_is_built_anew() {
    let store = with_indexes(NONE, &[living(DAY, index("x", &["i"], &[]))]);
    let tree = |name| store.instance.tree_of(TableName::parse(name).expect("a name")).expect("there");
    let before = tree("x");
    change(&store, "x", ttl(DAY)).expect("the same");
    assert_eq!(tree("x"), before);
    change(&store, "x", ttl(-1)).expect("raised");
    assert_ne!(tree("x"), before);
}
