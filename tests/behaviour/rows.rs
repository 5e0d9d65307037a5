//! Rows: put, updated, deleted, read (D1 to D4, R1, R5, T3).

use crate::store::*;
use tabstore::engine::Direction;
use tabstore::model::{KeyInput, KeyPart, KeyType, KeyValue, Value, ValueRef};
use tabstore::tablestore::{ColumnChange, ColumnOp, OptionsChange, ReadOptions};

const MANY: OptionsChange =
    OptionsChange { time_to_live: None, max_versions: Some(10), max_version_offset: None, allow_update: None };

/// The documents' two rows, by both of the ways that the statement allows: an offset that reaches back, or a clock that
/// was set to then.
#[test]
fn d4_the_documents_example_is_stored_and_read_back_exactly() {
    for by_clock in [false, true] {
        let mut store = Store::new();
        let max_version_offset = (!by_clock).then_some(2_000_000_000);
        let options = OptionsChange { max_versions: Some(2), max_version_offset, ..OptionsChange::default() };
        store.create("items", &[("ID", KeyType::String)], options);
        let book = key(&[("ID", text("4776"))]);
        let music = key(&[("ID", text("6555"))]);
        let at = 1_466_676_354_000;
        let later = 1_466_762_754_000;
        store.env.set_now(if by_clock { at } else { 1_800_000_000_000 });
        let cells = [
            cell_at("Type", at, text("Book")),
            cell_at("ISBN", at, text("123*45678912345")),
            cell_at("PageCount", at, int(666)),
        ];
        store.write(&put("items", book, &cells)).expect("put");
        store
            .write(&put("items", music.clone(), &[cell_at("Type", at, text("Music")), cell_at("Length", at, int(400))]))
            .expect("put");
        if by_clock {
            store.env.set_now(later);
        }
        let longer = change("Length", ColumnOp::Put { version: Some(later), value: int(500) });
        store.write(&update("items", music.clone(), &[longer])).expect("updated");
        for reopened in [false, true] {
            if reopened {
                store.reopen();
            }
            let cell = |name: &str, version, value| (name.to_owned(), version, value);
            let string = |value: &str| Value::String(value.to_owned());
            let expected = [
                (
                    vec![KeyValue::String("4776".into())],
                    vec![
                        cell("ISBN", at, string("123*45678912345")),
                        cell("PageCount", at, Value::Integer(666)),
                        cell("Type", at, string("Book")),
                    ],
                ),
                (
                    vec![KeyValue::String("6555".into())],
                    vec![
                        cell("Length", later, Value::Integer(500)),
                        cell("Length", at, Value::Integer(400)),
                        cell("Type", at, string("Music")),
                    ],
                ),
            ];
            let mut all = range("items", Direction::Forward);
            all.options = versions(2);
            assert_eq!(store.range(&all).0, expected);
            assert_eq!(store.get("items", music.clone(), versions(2)), Some(expected[1].1.clone()));
        }
    }
}

#[test]
fn d3_every_value_has_a_version_and_a_column_holds_several() {
    let mut store = Store::with_table(OptionsChange { max_versions: Some(3), ..OptionsChange::default() });
    store.put(id(1), &[cell_at("a", NOW - 5, int(1)), cell_at("a", NOW - 7, text("two")), cell("b", int(3))]);
    store.env.advance(1000);
    store.update(id(1), &[add("a", None, 4)]);
    let expected = vec![
        ("a".to_owned(), NOW + 1000, Value::Integer(4)),
        ("a".to_owned(), NOW - 5, Value::Integer(1)),
        ("a".to_owned(), NOW - 7, Value::String("two".into())),
        ("b".to_owned(), NOW, Value::Integer(3)),
    ];
    assert_eq!(store.all(id(1)), Some(expected.clone()), "each version with its own value");
    store.reopen();
    store.compact();
    assert_eq!(store.all(id(1)), Some(expected));
}

#[test]
fn d1_rows_are_in_key_order_and_may_have_no_attributes() {
    let store = Store::new();
    store.create("t", &[("s", KeyType::String), ("b", KeyType::Binary), ("id", KeyType::Integer)], MANY);
    let row = |s: &'static str, b: &'static [u8], i| key(&[("s", text(s)), ("b", ValueRef::Binary(b)), ("id", int(i))]);
    // Out of order on purpose; the expected order is 0, 1, 2, ... by the last column of equal pairs.
    for (s, b, i) in [
        ("b", &b""[..], 7),
        ("a", b"\xff", 6),
        ("a", b"\0", 5),
        ("a", b"", 4),
        ("", b"\0", 3),
        ("", b"", 2),
        ("", b"", 1),
        ("", b"", -5),
    ] {
        store.put(row(s, b, i), &[]);
    }
    assert_eq!(store.ids(), [-5, 1, 2, 3, 4, 5, 6, 7], "the empty value sorts first (T3)");
    assert_eq!(store.all(row("", b"", -5)), Some(vec![]), "a row without attributes is a row");
    let backward = store.range(&range("t", Direction::Backward)).0;
    assert_eq!(ids(&backward), [7, 6, 5, 4, 3, 2, 1, -5]);
}

#[test]
fn d2_every_type_and_every_integer_survives() {
    let mut store = Store::with_table(MANY);
    let values = [
        ("max", Value::Integer(i64::MAX)),
        ("min", Value::Integer(i64::MIN)),
        ("double", Value::Double(-0.1)),
        ("huge", Value::Double(f64::MAX)),
        ("yes", Value::Boolean(true)),
        ("no", Value::Boolean(false)),
        ("text", Value::String("a\0é😀".into())),
        ("no_text", Value::String(String::new())),
        ("bytes", Value::Binary(vec![0, 255])),
        ("no_bytes", Value::Binary(vec![])),
    ];
    let cells = values.iter().map(|(name, value)| cell(name, value.as_ref())).collect::<Vec<_>>();
    store.put(id(i64::MIN), &cells);
    store.reopen();
    let mut expected = values.map(|(name, value)| (name.to_owned(), NOW, value)).to_vec();
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(store.all(id(i64::MIN)), Some(expected), "columns come sorted by name");
}

#[test]
fn d1_a_column_may_change_its_type() {
    let store = Store::with_table(MANY);
    store.put(id(1), &[cell_at("a", NOW, int(1))]);
    let op = ColumnOp::Put { version: Some(NOW + 1), value: text("x") };
    store.update(id(1), &[change("a", op)]);
    let expected = vec![("a".into(), NOW + 1, Value::String("x".into())), ("a".into(), NOW, Value::Integer(1))];
    assert_eq!(store.all(id(1)), Some(expected));
}

#[test]
fn r1_put_replaces_the_whole_row_with_all_versions() {
    let store = Store::with_table(MANY);
    store.put(id(1), &[cell_at("a", NOW, int(1)), cell_at("a", NOW + 1, int(2)), cell_at("b", NOW, int(3))]);
    store.put(id(1), &[cell_at("a", NOW - 5, int(4))]);
    assert_eq!(store.all(id(1)), ints(&[("a", NOW - 5, 4)]), "although the replaced versions are newer");
    store.put(id(1), &[]);
    assert_eq!(store.all(id(1)), ints(&[]));
}

#[test]
fn r1_update_puts_deletes_a_version_and_deletes_a_column() {
    let store = Store::with_table(MANY);
    let versions = [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2), ("c", 1)];
    store.put(id(1), &versions.map(|(name, n)| cell_at(name, NOW + n, int(n))));
    let changes = [
        add("d", Some(NOW + 9), 9),
        change("a", ColumnOp::DeleteVersion(NOW + 2)),
        change("a", ColumnOp::DeleteVersion(NOW + 77)),
        change("b", ColumnOp::DeleteColumn),
        add("c", Some(NOW + 1), 100),
    ];
    store.update(id(1), &changes);
    let expected = [("a", NOW + 3, 3), ("a", NOW + 1, 1), ("c", NOW + 1, 100), ("d", NOW + 9, 9)];
    assert_eq!(store.all(id(1)), ints(&expected));
}

/// The row 1 by a key whose columns have no order, as an object's. Those of its row have none either.
fn object() -> KeyInput<'static> {
    let mut key = KeyInput::any_order();
    key.push("id", KeyPart::Value(int(1)));
    key
}

#[test]
fn r1_an_update_without_an_order_that_contradicts_itself_is_refused_by_name() {
    let store = Store::with_table(MANY);
    store.put(id(1), &[cell_at("a", NOW + 1, int(1)), cell_at("n", NOW + 1, int(2))]);
    let before = store.all(id(1));
    let delete = |name, version| change(name, ColumnOp::DeleteVersion(version));
    let both = "Column 'a' can not be put and deleted in one request.";
    let version = format!("Version {} of column 'a' can not be put and deleted in one request.", NOW + 1);
    let counted = "Column 'n' can not be incremented and changed otherwise in one request.";
    let cases: [(&[ColumnChange<'_>], &str); 6] = [
        (&[add("a", Some(NOW + 2), 5), change("a", ColumnOp::DeleteColumn)], both),
        (&[change("a", ColumnOp::DeleteColumn), add("x", None, 1), add("a", None, 5)], both),
        (&[add("a", Some(NOW + 1), 5), add("a", Some(NOW + 3), 6), delete("a", NOW + 1)], &version),
        (&[delete("a", NOW + 1), delete("a", NOW), add("x", None, 1), add("a", Some(NOW + 1), 5)], &version),
        (&[increment("n", 1), add("a", None, 1), change("n", ColumnOp::DeleteColumn)], counted),
        (&[delete("n", NOW + 1), increment("n", 1)], counted),
    ];
    for (changes, message) in cases {
        let failure = store.write(&update("t", object(), changes)).expect_err("refused");
        assert_eq!(failure.to_string(), format!("OTSParameterInvalid: {message}"));
        assert_eq!(store.all(id(1)), before);
    }
    store.update(id(1), &[add("a", Some(NOW + 2), 5), delete("a", NOW + 1)]);
    let expected = ints(&[("a", NOW + 2, 5), ("n", NOW + 1, 2)]);
    assert_eq!(store.all(id(1)), expected, "another version is another thing");
}

#[test]
fn r1_of_one_version_given_twice_the_last_wins() {
    let store = Store::with_table(MANY);
    store.put(id(1), &[cell_at("a", NOW, int(1)), cell_at("b", NOW, int(2)), cell_at("a", NOW, int(3))]);
    assert_eq!(store.all(id(1)), ints(&[("a", NOW, 3), ("b", NOW, 2)]));
}

#[test]
fn r1_update_creates_a_row_unless_it_only_deletes() {
    let store = Store::with_table(MANY);
    store.update(id(1), &[change("a", ColumnOp::DeleteColumn), change("b", ColumnOp::DeleteVersion(NOW))]);
    assert_eq!((store.all(id(1)), store.ids()), (None, vec![]));
    store.update(id(2), &[add("a", None, 1), change("b", ColumnOp::DeleteColumn)]);
    assert_eq!((store.all(id(2)), store.ids()), (ints(&[("a", NOW, 1)]), vec![2]));
    assert_eq!(refused(store.write(&update("t", id(1), &[]))), "OTSParameterInvalid: Attribute column is missing.");
}

#[test]
fn r1_a_row_exists_by_its_put_or_by_its_cells() {
    let store = Store::with_table(MANY);
    store.put(id(1), &[cell("a", int(1))]);
    store.update(id(2), &[add("a", None, 1)]);
    for row in [1, 2] {
        store.update(id(row), &[change("a", ColumnOp::DeleteColumn)]);
    }
    assert_eq!(store.ids(), [1], "the put row is there without attributes, the updated one has none left");
}

#[test]
fn r1_delete_removes_everything_and_again() {
    let store = Store::with_table(MANY);
    store.put(id(1), &[cell_at("a", NOW + 1000, int(1))]);
    store.write(&delete("t", id(1))).expect("deleted");
    assert_eq!(store.all(id(1)), None);
    store.write(&delete("t", id(1))).expect("a missing row is deleted too");
    store.update(id(1), &[add("b", Some(NOW), 2)]);
    assert_eq!(store.all(id(1)), ints(&[("b", NOW, 2)]), "nothing of the old row shows");
}

#[test]
fn r5_a_read_after_a_write_sees_it_wherever_the_row_lies() {
    let store = Store::with_table(MANY);
    for round in 0..4 {
        store.put(id(1), &[cell("a", int(round))]);
        assert_eq!(store.get("t", id(1), versions(1)).map(|cells| cells[0].2.clone()), Some(Value::Integer(round)));
        match round {
            0 => store.env.run(store.instance.flush()).expect("flushed"),
            1 => store.compact(),
            _ => {}
        }
    }
}

#[test]
fn r6_columns_to_get_decide_which_rows_there_are() {
    let store = Store::with_table(MANY);
    store.put(id(1), &[cell("a", int(1)), cell("b", int(2)), cell("c", int(3))]);
    store.put(id(2), &[]);
    let get = |row, options| store.get("t", id(row), options);
    assert_eq!(get(1, columns(&["c", "a", "zz"])), ints(&[("a", NOW, 1), ("c", NOW, 3)]));
    assert_eq!(get(1, columns(&["x"])), None, "none of them exists");
    assert_eq!(get(2, columns(&["a"])), None);
    assert_eq!(get(2, columns(&["id"])), ints(&[]), "a key column is asked for");
    assert_eq!(get(1, columns(&["id", "b"])), ints(&[("b", NOW, 2)]));
    let slice = ReadOptions { start_column: Some("b"), end_column: Some("c"), ..versions(1) };
    assert_eq!(get(1, slice), ints(&[("b", NOW, 2)]));
    let mut named = range("t", Direction::Forward);
    named.options = columns(&["b"]);
    assert_eq!(ids(&store.range(&named).0), [1], "a range omits the row");
}

#[test]
fn t3_keys_that_do_not_fit_are_refused_everywhere() {
    let store = Store::with_table(MANY);
    let wrong = [
        (key(&[("id", int(1)), ("b", int(1))]), "Validate PK size fail. Input: 2, Meta: 1."),
        (key(&[("ID", int(1))]), "Validate PK name fail. Input: ID, Meta: id."),
        (key(&[("id", text("1"))]), "Validate PK type fail. Input: VT_STRING, Meta: VT_INTEGER."),
    ];
    for (key, message) in wrong {
        let message = format!("OTSInvalidPK: {message}");
        assert_eq!(refused(store.write(&put("t", key.clone(), &[]))), message);
        assert_eq!(refused(store.write(&update("t", key.clone(), &[add("a", None, 1)]))), message);
        assert_eq!(refused(store.write(&delete("t", key.clone()))), message);
        let table = tabstore::model::TableName::parse("t").expect("a name");
        let request = tabstore::tablestore::GetRow { table, key, options: versions(1) };
        assert_eq!(refused(store.env.run(store.instance.get_row(&request, &mut Rows::default()))), message);
    }
    let double = key(&[("id", ValueRef::Double(1.0))]);
    let message = "OTSParameterInvalid: DOUBLE is an invalid type for the primary key.";
    assert_eq!(refused(store.write(&put("t", double, &[]))), message);
    assert_eq!(store.ids(), [0; 0]);
}
