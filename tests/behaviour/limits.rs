//! The limits of requests on rows, with the service's messages (D1, D2, T2, T3, R8). A refused request stores nothing.

use crate::store::*;
use tabstore::engine::Direction;
use tabstore::model::filter::{Comparator, Filter};
use tabstore::model::{KeyInput, KeyType, Limits, NameRules, TableName, ValueRef};
use tabstore::tablestore::{
    ColumnOp, GetRange, GetRow, InstanceOptions, OptionsChange, PutCell, ReadOptions, RowWrite, TableRead,
};

fn store() -> Store {
    Store::with_table(OptionsChange { max_versions: Some(9), ..OptionsChange::default() })
}

/// PutRow and UpdateRow of the same cells are refused with the same message.
fn both_refuse(store: &Store, cells: &[PutCell<'_>], message: &str) {
    let message = format!("OTSParameterInvalid: {message}");
    assert_eq!(refused(store.write(&put("t", id(1), cells))), message);
    let changes = cells.iter().map(|cell| {
        let op = ColumnOp::Put { version: cell.version, value: cell.value };
        change(cell.column.as_str(), op)
    });
    assert_eq!(refused(store.write(&update("t", id(1), &changes.collect::<Vec<_>>()))), message);
    assert_eq!(store.ids(), [0; 0]);
}

#[test]
fn d2_attributes_have_at_most_2_mb() {
    let store = store();
    let long = "x".repeat(2_097_153);
    let message = "The length of attribute column: 'attr' exceeds the MaxLength:2097152 with CurrentLength:2097153.";
    both_refuse(&store, &[cell("attr", text(&long))], message);
    both_refuse(&store, &[cell("attr", ValueRef::Binary(long.as_bytes()))], message);
    store.put(id(1), &[cell("attr", text(&long[1..]))]);
    assert_eq!(store.ids(), [1]);
}

#[test]
fn d2_doubles_are_numbers() {
    let store = store();
    both_refuse(&store, &[cell("a", ValueRef::Double(f64::NAN))], "NaN can't be set to double value.");
    for infinite in [f64::INFINITY, f64::NEG_INFINITY] {
        both_refuse(&store, &[cell("a", ValueRef::Double(infinite))], "Infinity can't be set to double value.");
    }
}

#[test]
fn d1_one_write_carries_at_most_1024_columns() {
    let store = store();
    let names = (0..1025).map(|n| format!("c{n}")).collect::<Vec<_>>();
    let cells = names.iter().map(|name| cell(name, int(1))).collect::<Vec<_>>();
    let message = "The number of attribute columns exceeds the limit, limit count: 1024, column count: 1025.";
    both_refuse(&store, &cells, message);
    store.put(id(1), &cells[..1024]);
    let more = [add("one_more", None, 1), add("and_another", None, 1)];
    store.update(id(1), &more);
    assert_eq!(store.all(id(1)).map(|cells| cells.len()), Some(1026), "a row has any number");
    let versions = (0..1025).map(|n| cell_at("a", NOW + n, int(1))).collect::<Vec<_>>();
    store.put(id(2), &versions);
}

#[test]
fn r8_one_row_request_has_at_most_4_mb() {
    let store = store();
    let big = "x".repeat(2_097_152);
    let rest = "x".repeat(4_194_304 - 2_097_152 - 10 - 2);
    let over = format!("{rest}x");
    for (operation, write) in [
        ("PutRow", put("t", id(1), &[cell("a", text(&big)), cell("b", text(&over))])),
        (
            "UpdateRow",
            update(
                "t",
                id(1),
                &["a", "b"].map(|name| {
                    let value = if name == "a" { text(&big) } else { text(&over) };
                    change(name, ColumnOp::Put { version: None, value })
                }),
            ),
        ),
    ] {
        let message = format!(
            "OTSParameterInvalid: The total data size of {operation} request exceeds the limit, \
             limit size: 4194304, data size: 4194305."
        );
        assert_eq!(refused(store.write(&write)), message);
    }
    store.put(id(1), &[cell("a", text(&big)), cell("b", text(&rest))]);
}

#[test]
fn t3_an_attribute_does_not_carry_a_key_columns_name() {
    let store = store();
    both_refuse(&store, &[cell("id", int(1))], "Duplicated attribute column name with primary key column: id.");
}

#[test]
fn t3_key_values_have_at_most_1_kb() {
    let store = store();
    let long = "x".repeat(1025);
    let message = "OTSParameterInvalid: The length of primary key column: 'id' exceeds the MaxLength:1024 with CurrentLength:1025.";
    for value in [text(&long), ValueRef::Binary(long.as_bytes())] {
        assert_eq!(refused(store.write(&put("t", key(&[("id", value)]), &[]))), message);
        assert_eq!(refused(store.write(&delete("t", key(&[("id", value)])))), message);
    }
}

#[test]
fn r8_columns_to_get_are_at_most_128_or_1024_with_the_sdks_limits() {
    for (limits, most) in [(Limits::DOCUMENT, 128), (Limits::SDK, 1024)] {
        let options = InstanceOptions { limits, ..InstanceOptions::default() };
        let store = Store::with(options, store().engine_options);
        store.create("t", &[("id", tabstore::model::KeyType::Integer)], OptionsChange::default());
        let names = (0..=most).map(|n| format!("c{n}")).collect::<Vec<_>>();
        let names = names.iter().map(String::as_str).collect::<Vec<_>>();
        let get = |options: ReadOptions<'_>| {
            let table = tabstore::model::TableName::parse("t").expect("a name");
            let request = tabstore::tablestore::GetRow { table, key: id(1), options };
            store.env.run(store.instance.get_row(&request, &mut Rows::default()))
        };
        assert!(get(columns(&names[1..])).is_ok());
        let message = format!(
            "OTSParameterInvalid: The number of columns from the request exceeds the limit, \
             limit count: {most}, column count: {}.",
            most + 1
        );
        assert_eq!(refused(get(columns(&names))), message);
    }
}

#[test]
fn t2_the_sdks_limits_let_odd_column_names_through() {
    let store = store();
    let odd = tabstore::model::ColumnName::parse("$ & 列", NameRules::Sdk).expect("odd but right");
    store.put(id(1), &[PutCell { column: odd, version: None, value: int(1) }]);
    assert_eq!(store.all(id(1)), ints(&[("$ & 列", NOW, 1)]));
}

/// R8: for each version that a batch gives, 8 bytes count; single rows have their own limit.
#[test]
fn r8_the_4_mb_of_a_batch_count_8_bytes_for_each_version_that_is_given() {
    let store = store();
    let half = "x".repeat(2_097_152 - 10 - 1);
    let batch = |writes: &[RowWrite<'_>]| {
        let done = store.env.run(store.instance.batch_write_row(writes, None));
        done.map(|rows| rows.into_iter().for_each(|row| drop(row.expect("stored"))))
    };
    let value = text(&half);
    let put_it = |row| put("t", id(row), &[cell("a", value)]);
    batch(&[put_it(1), put_it(2)]).expect("4 MB to the byte");
    let message = "OTSParameterInvalid: The total data size of BatchWriteRow request exceeds the limit, \
                   limit size: 4194304, data size: 4194312.";
    let versioned = put("t", id(1), &[cell_at("a", NOW, value)]);
    assert_eq!(refused(batch(&[versioned.clone(), put_it(2)])), message);
    let deletion = update("t", id(3), &[change("b", ColumnOp::DeleteVersion(NOW))]);
    let shorter = "x".repeat(half.len() - 10 - 1);
    let rest = put("t", id(2), &[cell("a", text(&shorter))]);
    assert_eq!(refused(batch(&[put_it(1), rest, deletion])), message, "a deleted version is given too");
    assert_eq!(store.ids(), [1, 2]);
    store.write(&versioned).expect("alone it is small");
}

/// R8: values of filters and conditions obey the limits of attribute values.
#[test]
fn r8_a_filters_value_has_at_most_2_mb() {
    let store = store();
    store.put(id(1), &[cell("a", int(1))]);
    let long = "x".repeat(2_097_153);
    let message = "OTSParameterInvalid: The length of attribute column: 'attr' exceeds the MaxLength:2097152 \
                   with CurrentLength:2097153.";
    for value in [text(&long), ValueRef::Binary(long.as_bytes())] {
        let inner = || compare("attr", Comparator::NotEqual, value);
        for filter in [inner(), Filter::Not(vec![Filter::And(vec![compare("a", Comparator::Equal, int(1)), inner()])])]
        {
            let filtered = || ReadOptions { filter: Some(filter.clone()), ..versions(1) };
            let table = TableName::parse("t").expect("a name");
            let mut rows = Rows::default();
            let get = GetRow { table, key: id(1), options: filtered() };
            assert_eq!(refused(store.env.run(store.instance.get_row(&get, &mut rows))), message);
            let range = GetRange { options: filtered(), ..range("t", Direction::Forward) };
            assert_eq!(refused(store.env.run(store.instance.get_range(&range, &mut rows))), message);
            let condition = Some(Box::new(filter.clone()));
            let write = RowWrite { column_condition: condition, ..put("t", id(1), &[]) };
            assert_eq!(refused(store.write(&write)), message);
            assert_eq!(refused(store.env.run(store.instance.batch_write_row(&[write], None))), message);
        }
    }
    assert_eq!(store.all(id(1)), ints(&[("a", NOW, 1)]));
    let options = ReadOptions { filter: Some(compare("attr", Comparator::Equal, text(&long[1..]))), ..versions(1) };
    assert!(store.get("t", id(1), options).is_some(), "2 MB are right, and a missing column passes");
    let options = ReadOptions { filter: Some(compare("id", Comparator::Equal, text(&long[1..]))), ..versions(1) };
    assert!(store.get("t", id(1), options).is_none(), "of a key column it may be longer than a key is");
}

/// R8: the number of key columns is checked before the table is looked for.
#[test]
fn r8_a_key_of_no_or_five_columns_is_refused_whether_there_is_a_table_or_not() {
    let store = store();
    let message = "OTSParameterInvalid: The number of primary key columns must be in range: [1, 4].";
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    for (table, count) in [("t", 0), ("t", 5), ("missing", 0), ("missing", 5), ("missing", 9)] {
        let columns: Vec<_> = names[..count].iter().map(|name| (*name, int(1))).collect();
        let key = || key(&columns);
        let name = TableName::parse(table).expect("a name");
        let writes = [put(table, key(), &[]), update(table, key(), &[add("x", None, 1)]), delete(table, key())];
        for write in &writes {
            assert_eq!(refused(store.write(write)), message);
            assert_eq!(
                refused(store.env.run(store.instance.batch_write_row(std::slice::from_ref(write), None))),
                message
            );
            let atomic = store.instance.batch_write_row_atomic(std::slice::from_ref(write), None);
            assert_eq!(refused(store.env.run(atomic)), message);
        }
        let mut rows = Rows::default();
        let get = GetRow { table: name, key: key(), options: versions(1) };
        assert_eq!(refused(store.env.run(store.instance.get_row(&get, &mut rows))), message);
        let read = TableRead { table: name, keys: vec![key()], options: versions(1) };
        assert_eq!(refused(store.env.run(store.instance.batch_get_row(&[read], &mut [rows]))), message);
        assert_eq!(refused(store.instance.start_local_transaction(name, &key())), message);
        if count > 0 {
            for range in [
                GetRange { start: key(), ..range(table, Direction::Forward) },
                GetRange { end: key(), ..range(table, Direction::Backward) },
            ] {
                assert_eq!(refused(store.env.run(store.instance.get_range(&range, &mut Rows::default()))), message);
            }
        }
    }
    let open: KeyInput<'_> = KeyInput::new();
    let all = GetRange { start: open, ..range("t", Direction::Forward) };
    assert!(store.range(&all).0.is_empty(), "an end without columns is the table's");
}

#[test]
fn t3_doubles_and_booleans_are_no_key_columns() {
    for name in ["DOUBLE", "BOOLEAN"] {
        let message = format!("OTSParameterInvalid: {name} is an invalid type for the primary key.");
        assert_eq!(refused(KeyType::parse(name)), message);
    }
}
