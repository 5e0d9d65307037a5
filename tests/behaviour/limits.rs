//! The limits of requests on rows, with the service's messages (D1, D2, T2, T3, R8). Nothing of what is refused is stored.

use crate::store::*;
use tabstore::model::{Limits, NameRules, ValueRef};
use tabstore::tablestore::{ColumnOp, InstanceOptions, OptionsChange, PutCell, ReadOptions};

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
    assert_eq!(store.ids(), []);
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
