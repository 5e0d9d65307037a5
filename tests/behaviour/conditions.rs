//! Row existence conditions, atomic counters, return content (R1, R6).

use crate::store::*;
use tabstore::model::{KeyValue, Value};
use tabstore::tablestore::{ColumnOp, Existence, OptionsChange, ReturnContent, RowWrite};

const FAILED: &str = "OTSConditionCheckFail: Condition check failed.";

fn store() -> Store {
    Store::with_table(OptionsChange { max_versions: Some(9), ..OptionsChange::default() })
}

#[test]
fn r6_existence_is_expected_of_put_update_and_delete_alike() {
    let store = store();
    let writes = |row| [put("t", id(row), &[]), update("t", id(row), &[add("a", None, 1)]), delete("t", id(row))];
    for write in writes(1) {
        let write = expecting(Existence::ExpectExist, write);
        assert_eq!(refused(store.write(&write)), FAILED);
    }
    assert_eq!(store.ids(), [0; 0]);
    store.put(id(1), &[cell_at("a", NOW, int(7))]);
    for write in writes(1) {
        let write = expecting(Existence::ExpectNotExist, write);
        assert_eq!(refused(store.write(&write)), FAILED);
    }
    assert_eq!(store.all(id(1)), ints(&[("a", NOW, 7)]));
    for write in writes(1) {
        store.write(&expecting(Existence::ExpectExist, write)).expect("it exists");
    }
    for write in writes(2).into_iter().rev() {
        store.write(&expecting(Existence::ExpectNotExist, write)).expect("it does not exist");
        store.write(&delete("t", id(2))).expect("deleted");
    }
}

#[test]
fn r6_a_deleted_row_and_a_row_of_deleted_cells_do_not_exist() {
    let store = store();
    store.update(id(1), &[add("a", None, 1)]);
    store.update(id(1), &[change("a", ColumnOp::DeleteColumn)]);
    store.put(id(2), &[]);
    store.write(&delete("t", id(2))).expect("deleted");
    for row in [1, 2] {
        assert_eq!(refused(store.write(&expecting(Existence::ExpectExist, delete("t", id(row))))), FAILED);
    }
}

/// Of many that create one row at the same time, one does.
#[test]
fn r6_one_of_many_expecting_creators_wins() {
    let store = store();
    let writes = (0..50).map(|n| expecting(Existence::ExpectNotExist, put("t", id(1), &[cell("a", int(n))])));
    let writes = writes.collect::<Vec<_>>();
    let all = writes.iter().map(|write| store.instance.write_row(write, None));
    let results = store.env.run(futures_util::future::join_all(all));
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    assert!(results[0].is_ok(), "the first to ask");
    assert_eq!(store.all(id(1)), ints(&[("a", NOW, 0)]));
}

#[test]
fn r1_increments_count_from_zero_and_lose_nothing() {
    let mut store = store();
    let writes = (0..100).map(|_| update("t", id(1), &[increment("n", 3), add("x", None, 1)])).collect::<Vec<_>>();
    let all = writes.iter().map(|write| store.instance.write_row(write, None));
    store.env.run(futures_util::future::join_all(all)).into_iter().for_each(|result| {
        result.expect("counted");
    });
    store.update(id(1), &[increment("n", -100)]);
    store.reopen();
    let newest = store.get("t", id(1), columns(&["n"])).expect("there");
    assert_eq!(newest[0].2, Value::Integer(200));
}

#[test]
fn r1_an_increment_gives_back_the_new_value_when_asked() {
    let store = store();
    store.put(id(1), &[cell("n", int(41))]);
    let returns = ReturnContent::AfterModify(vec![column("n")]);
    let write = RowWrite { returns, ..update("t", id(1), &[increment("n", 1), increment("m", 5)]) };
    let row = store.write(&write).expect("counted").row.expect("asked for");
    assert_eq!(row.cells, [("n".to_owned(), NOW + 1, Value::Integer(42))], "only what was listed");
    assert_eq!(row.key, [], "attribute columns only");
}

#[test]
fn r1_what_can_not_be_incremented_is_refused_and_stores_nothing() {
    let store = store();
    store.put(id(1), &[cell("s", text("x")), cell("big", int(i64::MAX))]);
    let before = store.all(id(1));
    let refusals = [
        (vec![increment("s", 1), add("a", None, 1)], "Column 's' can not be incremented: its value is not an INTEGER."),
        (vec![increment("big", 1)], "Column 'big' can not be incremented by 1: the result is out of range."),
        (
            vec![increment("n", 1), add("n", None, 1)],
            "Column 'n' can not be incremented and changed otherwise in one request.",
        ),
        (
            vec![increment("n", 1), increment("n", 1)],
            "Column 'n' can not be incremented and changed otherwise in one request.",
        ),
    ];
    for (changes, message) in refusals {
        assert_eq!(refused(store.write(&update("t", id(1), &changes))), format!("OTSParameterInvalid: {message}"));
    }
    let returns = ReturnContent::AfterModify(vec![column("a")]);
    let unlisted = RowWrite { returns: returns.clone(), ..update("t", id(1), &[increment("n", 1)]) };
    let message = "OTSParameterInvalid: Invalid return column: 'a' is not incremented.";
    assert_eq!(refused(store.write(&unlisted)), message);
    let put = RowWrite { returns, ..put("t", id(1), &[]) };
    assert_eq!(refused(store.write(&put)), "OTSParameterInvalid: Invalid return type: RT_AFTER_MODIFY.");
    assert_eq!(store.all(id(1)), before);
}

/// A version put ahead of the clock must not swallow what is counted after it.
#[test]
fn r1_an_increment_shows_above_a_version_from_the_future() {
    let store = store();
    store.put(id(1), &[cell_at("n", NOW + 5000, int(10))]);
    store.update(id(1), &[increment("n", 1)]);
    assert_eq!(store.get("t", id(1), versions(1)), ints(&[("n", NOW + 5001, 11)]));
}

#[test]
fn r6_increments_go_with_conditions() {
    let store = store();
    let counting = |condition| store.write(&expecting(condition, update("t", id(1), &[increment("n", 1)])));
    assert_eq!(refused(counting(Existence::ExpectExist)), FAILED);
    counting(Existence::ExpectNotExist).expect("created");
    counting(Existence::ExpectExist).expect("counted");
    assert_eq!(store.get("t", id(1), versions(1)).expect("there")[0].2, Value::Integer(2));
}

#[test]
fn r6_the_primary_key_is_given_back_when_asked() {
    let store = store();
    for write in [put("t", id(5), &[cell("a", int(1))]), update("t", id(5), &[add("a", None, 1)]), delete("t", id(5))] {
        assert_eq!(store.write(&write).expect("written").row, None);
        let row = store.write(&RowWrite { returns: ReturnContent::PrimaryKey, ..write }).expect("written").row;
        let row = row.expect("asked for");
        assert_eq!((row.key, row.cells), (vec![KeyValue::Integer(5)], vec![]));
    }
}

/// R6, V2: a row that is changed thousands of times stays quick to read and right: it is put together on the way.
#[test]
fn r6_v2_a_counter_that_is_never_put_as_a_whole_stays_small() {
    let mut store = store();
    let mut columns = std::collections::BTreeMap::new();
    for step in 0..6_000_i64 {
        let name = ["a", "b", "c"][(step % 3) as usize];
        if step % 500 == 499 {
            store.update(id(1), &[change(name, ColumnOp::DeleteColumn), increment("z", 1)]);
            columns.remove(name);
            *columns.entry("z").or_insert(0) += 1;
        } else {
            store.update(id(1), &[increment(name, step)]);
            *columns.entry(name).or_insert(0) += step;
        }
        if step == 3_000 {
            store.reopen();
        }
    }
    let read = |store: &Store| {
        let newest = store.get("t", id(1), versions(1)).expect("there");
        newest.into_iter().map(|(column, _, value)| (column, value)).collect::<Vec<_>>()
    };
    let expected: Vec<_> =
        columns.into_iter().map(|(column, value)| (column.to_owned(), Value::Integer(value))).collect();
    assert_eq!(read(&store), expected);
    assert_eq!(
        store.all(id(1)).expect("there").iter().filter(|cell| cell.0 == "a").count(),
        9,
        "all that are to be kept"
    );
    let held = store.instance.metrics().log_bytes;
    store.compact();
    assert_eq!(read(&store), expected);
    assert!(held < 3_000_000, "rewriting did not blow up the log: {held}");
}
