//! The order of the checks of a request (R8): its own form, whether its table exists, whether its key fits, the table's
//! rules, conditions. A request that is wrong in every way is mended step by step.

use crate::store::*;
use tabstore::engine::Direction;
use tabstore::model::filter::Filter;
use tabstore::model::{KeyInput, TableName};
use tabstore::tablestore::{
    ColumnOp, Existence, GetRange, GetRow, OptionsChange, ReadOptions, ReturnContent, RowWrite, TableRead,
};

const NO_TABLE: &str = "OTSObjectNotExist: Requested table does not exist.";
const WRONG_KEY: &str = "OTSInvalidPK: Validate PK name fail. Input: other, Meta: id.";
const NOT_ALLOWED: &str = "OTSParameterInvalid: Update operation is not allowed in this table";
const CONDITION: &str = "OTSConditionCheckFail: Condition check failed.";

fn other<'a>() -> KeyInput<'a> {
    key(&[("other", int(1))])
}

fn name(name: &str) -> TableName<'_> {
    TableName::parse(name).expect("a name")
}

#[test]
fn r8_a_write_is_checked_in_the_documented_order() {
    let store = Store::with_table(OptionsChange { allow_update: Some(false), ..OptionsChange::default() });
    let long = "x".repeat(2_097_153);
    let change = |value| [change("a", ColumnOp::Put { version: None, value })];
    let expect = |write| expecting(Existence::ExpectExist, write);
    let refusals = [
        (
            expect(update("no", other(), &change(text(&long)))),
            "OTSParameterInvalid: The length of attribute column: 'a' exceeds the MaxLength:2097152 with CurrentLength:2097153.",
        ),
        (expect(update("no", other(), &change(int(1)))), NO_TABLE),
        (expect(update("t", other(), &change(int(1)))), WRONG_KEY),
        (expect(update("t", id(1), &change(int(1)))), NOT_ALLOWED),
        (expect(put("t", id(1), &[cell("a", int(1))])), CONDITION),
    ];
    for (write, message) in refusals {
        assert_eq!(refused(store.write(&write)), message);
    }
    assert_eq!(store.ids(), [0; 0]);
    store.put(id(1), &[cell("a", int(1))]);
}

/// An error in a condition or in the wanted return content is found before the table is looked up.
#[test]
fn r8_conditions_and_return_content_are_part_of_what_a_request_says_of_itself() {
    let store = Store::with_table(OptionsChange::default());
    let write = |table| update(table, other(), &[add("a", None, 1)]);
    let page = Filter::Page { offset: 0, limit: 1 };
    let returns = ReturnContent::AfterModify(vec![column("a")]);
    let refusals = [
        (
            RowWrite { column_condition: Some(Box::new(Filter::Not(vec![]))), ..write("no") },
            "OTSParameterInvalid: Invalid NOT operator: the number of sub-filters must be 1.",
        ),
        (
            RowWrite { column_condition: Some(Box::new(page)), ..write("no") },
            "OTSParameterInvalid: Invalid type of filter: FT_COLUMN_PAGINATION.",
        ),
        (RowWrite { returns, ..write("no") }, "OTSParameterInvalid: Invalid return column: 'a' is not incremented."),
        (update("no", other(), &[]), "OTSParameterInvalid: Attribute column is missing."),
        (write("no"), NO_TABLE),
        (write("t"), WRONG_KEY),
    ];
    for (write, message) in refusals {
        assert_eq!(refused(store.write(&write)), message);
    }
}

#[test]
fn r8_a_read_is_checked_in_the_documented_order() {
    let store = Store::with_table(OptionsChange::default());
    let read = |table, key, options| {
        let request = GetRow { table: name(table), key, options };
        store.env.run(store.instance.get_row(&request, &mut Rows::default()))
    };
    let nothing = || ReadOptions { versions: Default::default(), ..columns(&["a"]) };
    let wrong_filter = || ReadOptions { filter: Some(Filter::And(vec![])), ..columns(&["a"]) };
    assert_eq!(refused(read("no", other(), nothing())), "OTSParameterInvalid: No version condition is specified.");
    let message = "OTSParameterInvalid: Invalid AND/OR operator: the number of sub-filters must be more than 1.";
    assert_eq!(refused(read("no", other(), wrong_filter())), message);
    assert_eq!(refused(read("no", other(), versions(1))), NO_TABLE);
    assert_eq!(refused(read("t", other(), versions(1))), WRONG_KEY);
    assert!(read("t", id(1), versions(1)).is_ok());
}

#[test]
fn r8_a_range_is_checked_in_the_documented_order() {
    let store = Store::with_table(OptionsChange::default());
    let read = |request: GetRange<'_>| {
        let read = store.env.run(store.instance.get_range(&request, &mut Rows::default()));
        refused(read)
    };
    let ends = |table: &'static str, start, end| GetRange { start, end, ..range(table, Direction::Forward) };
    let none = GetRange { limit: Some(0), ..ends("no", other(), other()) };
    assert_eq!(read(none), "OTSParameterInvalid: The limit must be greater than 0.");
    assert_eq!(read(ends("no", other(), other())), NO_TABLE);
    assert_eq!(read(ends("t", other(), other())), WRONG_KEY);
    assert_eq!(read(ends("t", id(1), id(1))), "OTSParameterInvalid: Begin key must less than end key in FORWARD");
}

/// A batch is checked as a whole first. An error of one row belongs to that row.
#[test]
fn r8_a_batch_is_checked_as_a_whole_before_its_rows() {
    let store = Store::with_table(OptionsChange::default());
    let rows = vec![put("no", other(), &[]); 201];
    let message = "OTSParameterInvalid: Rows count exceeds the upper limit: 200.";
    assert_eq!(refused(store.env.run(store.instance.batch_write_row(&rows, None))), message);
    let done = store.env.run(
        store.instance.batch_write_row(&[put("no", id(1), &[]), put("t", other(), &[]), put("t", id(1), &[])], None),
    );
    let done = done.expect("taken as a whole");
    let told = done.iter().map(|row| row.as_ref().map(|_| ()).map_err(|failure| failure.error.to_string()));
    assert_eq!(told.collect::<Vec<_>>(), [Err(NO_TABLE.to_owned()), Err(WRONG_KEY.to_owned()), Ok(())]);
    let keys = vec![other(); 101];
    let tables = [TableRead { table: name("no"), keys, options: versions(1) }];
    let message = "OTSParameterInvalid: Rows count exceeds the upper limit: 100.";
    assert_eq!(refused(store.env.run(store.instance.batch_get_row(&tables, &mut [Rows::default()]))), message);
}
