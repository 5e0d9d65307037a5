//! Column conditions of PutRow, UpdateRow and DeleteRow, alone and in batches (R6, C1).

use crate::store::*;
use tabstore::model::filter::{CastType, ColumnFilter, Comparator, Filter, Transfer};
use tabstore::model::{KeyType, Value, ValueRef};
use tabstore::tablestore::{ColumnOp, Existence, OptionsChange, RowWrite};

const FAILED: &str = "OTSConditionCheckFail: Condition check failed.";
const MANY: OptionsChange =
    OptionsChange { max_versions: Some(9), time_to_live: None, max_version_offset: None, allow_update: None };

fn provided<'a>(condition: Filter<'a>, write: RowWrite<'a>) -> RowWrite<'a> {
    RowWrite { column_condition: Some(Box::new(condition)), ..write }
}

fn equals<'a>(name: &'a str, value: ValueRef<'a>) -> Filter<'a> {
    compare(name, Comparator::Equal, value)
}

/// The same, but a missing column fails.
fn there<'a>(name: &'a str, comparator: Comparator, value: ValueRef<'a>) -> Filter<'a> {
    Filter::Column(ColumnFilter { pass_if_missing: false, ..comparison(name, comparator, value) })
}

#[test]
fn r6_a_column_condition_is_checked_by_put_update_and_delete_alike() {
    let store = Store::with_table(MANY);
    store.put(id(1), &[cell_at("a", NOW, int(1)), cell_at("b", NOW, text("x"))]);
    let before = store.all(id(1));
    let writes = || [put("t", id(1), &[]), update("t", id(1), &[add("c", None, 1)]), delete("t", id(1))];
    for write in writes() {
        assert_eq!(refused(store.write(&provided(equals("a", int(2)), write.clone()))), FAILED);
        let batch = [provided(equals("a", int(2)), write)];
        let results = store.env.run(store.instance.batch_write_row(&batch, None)).expect("right");
        assert_eq!(refused(results.into_iter().next().expect("one")), FAILED, "the same for a row of a batch");
    }
    assert_eq!(store.all(id(1)), before, "nothing was stored");
    for write in writes() {
        let condition = Filter::And(vec![equals("a", int(1)), equals("b", text("x"))]);
        store.write(&provided(condition, write)).expect("it holds");
        store.put(id(1), &[cell_at("a", NOW, int(1)), cell_at("b", NOW, text("x"))]);
    }
}

#[test]
fn r6_both_conditions_have_to_hold() {
    let store = Store::with_table(MANY);
    store.put(id(1), &[cell("a", int(1))]);
    let write = |existence, with, row| {
        let write = expecting(existence, update("t", id(row), &[add("b", None, 1)]));
        store.write(&provided(equals("a", int(with)), write)).is_ok()
    };
    assert!(write(Existence::ExpectExist, 1, 1));
    assert!(!write(Existence::ExpectExist, 2, 1));
    assert!(!write(Existence::ExpectNotExist, 1, 1));
    assert!(!write(Existence::ExpectExist, 1, 2), "the column's absence alone would pass");
    assert!(write(Existence::ExpectNotExist, 1, 2));
}

#[test]
fn r6_on_a_missing_row_every_column_is_missing() {
    let store = Store::new();
    store.create("t", &[("id", KeyType::Integer)], MANY);
    let write = |condition: Filter<'static>| store.write(&provided(condition, put("t", id(1), &[]))).is_ok();
    let gone = || store.write(&delete("t", id(1))).expect("deleted");
    assert!(!write(there("a", Comparator::Equal, int(1))));
    assert!(!write(there("id", Comparator::Equal, int(1))), "its key too");
    assert!(!write(compare("a", Comparator::Exist, int(0))));
    assert!(write(compare("a", Comparator::NotExist, int(0))));
    gone();
    let leaves = (0..31).map(|n| equals("c", int(n))).collect();
    assert!(write(Filter::Or(leaves)), "31 leaves with the defaults, as the SDKs test it");
    assert!(write(there("id", Comparator::Equal, int(1))), "now the row and its key are there");
    gone();
    assert!(!write(Filter::Not(vec![equals("a", int(1))])));
    store.update(id(2), &[add("a", None, 1)]);
    store.update(id(2), &[change("a", ColumnOp::DeleteColumn)]);
    let write = provided(there("a", Comparator::NotEqual, int(7)), put("t", id(2), &[]));
    assert_eq!(refused(store.write(&write)), FAILED, "a deleted column is missing");
}

#[test]
fn r6_a_condition_sees_what_is_visible() {
    let store = Store::with_table(OptionsChange { max_versions: Some(2), time_to_live: Some(86_400), ..MANY });
    for value in 1..=3 {
        store.update(id(1), &[add("a", None, value)]);
    }
    let write = |latest_version_only, with| {
        let condition = ColumnFilter {
            latest_version_only,
            pass_if_missing: false,
            ..comparison("a", Comparator::Equal, int(with))
        };
        store.write(&provided(Filter::Column(condition), update("t", id(1), &[add("b", None, 1)]))).is_ok()
    };
    assert!(write(true, 3) && !write(true, 2));
    assert!(write(false, 2), "any version that is visible");
    assert!(!write(false, 1), "the third is one too many");
    store.env.advance(86_400_000 + 2000);
    assert!(!write(false, 3), "expired");
}

#[test]
fn r6_a_wrong_condition_is_refused_before_the_row_is_looked_at() {
    let store = Store::with_table(MANY);
    let leaf = || equals("a", int(1));
    for (condition, message) in [
        (Filter::Or(vec![leaf(); 32]), "The count of filter exceeds the max: 32."),
        (Filter::Not(vec![]), "Invalid NOT operator: the number of sub-filters must be 1."),
        (Filter::And(vec![leaf()]), "Invalid AND/OR operator: the number of sub-filters must be more than 1."),
        (Filter::Page { offset: 0, limit: 1 }, "Invalid type of filter: FT_COLUMN_PAGINATION."),
        (
            Filter::And(vec![leaf(), Filter::Page { offset: 0, limit: 1 }]),
            "Invalid type of filter: FT_COLUMN_PAGINATION.",
        ),
    ] {
        for write in [put("t", id(1), &[]), update("t", id(1), &[add("a", None, 1)]), delete("t", id(1))] {
            let write = provided(condition.clone(), write);
            assert_eq!(refused(store.write(&write)), format!("OTSParameterInvalid: {message}"));
            let batch = store.env.run(store.instance.batch_write_row(&[put("t", id(2), &[]), write], None));
            assert_eq!(refused(batch), format!("OTSParameterInvalid: {message}"), "the batch as a whole");
        }
    }
    assert_eq!(store.ids(), [0; 0]);
}

#[test]
fn r6_a_condition_may_transfer_a_value() {
    let store = Store::with_table(MANY);
    store.put(id(1), &[cell("a", text("rev:12;"))]);
    let at_least = |revision| {
        let transfer = Some(Transfer { regex: "rev:([0-9]+);", cast: CastType::Integer });
        let comparison = comparison("a", Comparator::GreaterEqual, int(revision));
        let condition = Filter::Column(ColumnFilter { transfer, ..comparison });
        store.write(&provided(condition, update("t", id(1), &[add("b", None, 1)]))).is_ok()
    };
    assert!(at_least(12) && at_least(9));
    assert!(!at_least(13) && !at_least(100));
}

/// Compare and set: clients add one many times each, and no addition is lost.
#[test]
fn r6_compare_and_set_loses_no_update() {
    let store = Store::with_table(MANY);
    store.put(id(1), &[cell("n", int(0))]);
    let count = || match store.get("t", id(1), versions(1)).expect("there").remove(0).2 {
        Value::Integer(count) => count,
        other => panic!("{other:?}"),
    };
    let client = async || {
        for _ in 0..10 {
            loop {
                let mut rows = Rows::default();
                let request = tabstore::tablestore::GetRow {
                    table: tabstore::model::TableName::parse("t").expect("a name"),
                    key: id(1),
                    options: versions(1),
                };
                store.instance.get_row(&request, &mut rows).await.expect("read");
                let Value::Integer(seen) = rows.0[0].1[0].2 else { panic!("no number") };
                let write = provided(equals("n", int(seen)), update("t", id(1), &[add("n", None, seen + 1)]));
                match store.instance.write_row(&write, None).await {
                    Ok(_) => break,
                    Err(failure) => assert_eq!(failure.to_string(), FAILED),
                }
            }
        }
    };
    store.env.run(futures_util::future::join_all((0..30).map(|_| client())));
    assert_eq!(count(), 300);
}

#[test]
fn c1_a_column_condition_costs_a_read_unit_and_a_failed_one_a_unit_of_each() {
    let store = Store::with_table(MANY);
    store.put(id(1), &[cell("a", int(1))]);
    for write in [put("t", id(1), &[cell("a", int(1))]), update("t", id(1), &[add("b", None, 1)]), delete("t", id(1))] {
        let failure = store.write(&provided(equals("a", int(2)), write.clone())).expect_err("refused");
        assert_eq!((failure.consumed.read, failure.consumed.write), (1, 1));
        let consumed = store.write(&provided(equals("a", int(1)), write)).expect("written").consumed;
        assert_eq!((consumed.read, consumed.write), (1, 1));
    }
    let both = expecting(Existence::ExpectNotExist, put("t", id(2), &[]));
    assert_eq!(store.write(&provided(equals("a", int(1)), both)).expect("written").consumed.read, 1, "once for both");
    let value = "x".repeat(5000);
    store.put(id(1), &[cell("a", text(&value))]);
    let long = provided(equals("a", text(&value)), put("t", id(1), &[]));
    let consumed = store.write(&long).expect("written").consumed;
    assert_eq!((consumed.read, consumed.write), (1, 1), "neither the condition nor what it looks at weighs");
}

#[test]
fn r2_a_row_with_a_column_condition_comes_once_in_a_batch() {
    let store = Store::with_table(MANY);
    let writes = [put("t", id(1), &[]), provided(equals("a", int(1)), put("t", id(1), &[]))];
    let message = refused(store.env.run(store.instance.batch_write_row(&writes, None)));
    assert_eq!(message, "OTSParameterInvalid: Repeated rows do not support row condition check in BatchModify.");
    assert_eq!(store.ids(), [0; 0]);
}
