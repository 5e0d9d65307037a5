//! Atomic BatchWriteRow (R2, R4): all rows of one partition key value, all of them or none.

use crate::store::*;
use crate::transactions::{row, store};
use futures_util::future::join3;
use tabstore::Code;
use tabstore::model::{Consumed, KeyType, KeyValue, Value};
use tabstore::storage::faults::YieldOnce;
use tabstore::tablestore::{Existence, OptionsChange, Outcome, ReturnContent, RowWrite, Written};

fn atomic(store: &Store, writes: &[RowWrite<'_>]) -> Outcome<Vec<Outcome<Written>>> {
    store.env.run(store.instance.batch_write_row_atomic(writes, None))
}

/// The error of each row of a batch; all of them must have failed.
fn failures(store: &Store, writes: &[RowWrite<'_>]) -> Vec<String> {
    atomic(store, writes).expect("a right batch").into_iter().map(refused).collect()
}

#[test]
fn r4_an_atomic_batch_is_stored_in_one_record_and_tells_each_rows_result() {
    let mut store = store();
    store.put(row(1, 1), &[cell("n", int(41))]);
    let writes = [
        RowWrite {
            returns: ReturnContent::AfterModify(vec![column("n")]),
            ..update("t", row(1, 1), &[increment("n", 1)])
        },
        RowWrite {
            returns: ReturnContent::PrimaryKey,
            ..expecting(Existence::ExpectNotExist, put("t", row(1, 2), &[cell("a", int(2))]))
        },
        delete("t", row(1, 3)),
        put("t", row(1, 4), &[cell("a", int(1))]),
        update("t", row(1, 4), &[add("a", None, 2)]),
    ];
    let commits = store.instance.metrics().commits;
    let results = atomic(&store, &writes).expect("a right batch");
    assert_eq!(store.instance.metrics().commits, commits + 1);
    let results = results.into_iter().map(|result| result.expect("written")).collect::<Vec<_>>();
    assert_eq!(results[0].row.as_ref().expect("asked for").cells[0].2, Value::Integer(42));
    assert_eq!(results[1].row.as_ref().expect("asked for").key, [KeyValue::Integer(1), KeyValue::Integer(2)]);
    let consumed = results.iter().map(|result| (result.consumed.read, result.consumed.write));
    assert_eq!(consumed.collect::<Vec<_>>(), [(0, 1), (1, 1), (0, 1), (0, 1), (0, 1)]);
    store.reopen();
    assert_eq!(store.ids(), [1, 2, 4]);
    let both = ints(&[("a", NOW + 1, 2), ("a", NOW, 1)]);
    assert_eq!(store.all(row(1, 4)), both, "a row may come twice, in its order");
}

/// A row of so many pieces is written anew as a whole: but not over what the same batch has made of it before.
#[test]
fn r4_a_row_of_many_pieces_may_come_twice_in_an_atomic_batch() {
    let store = store();
    for id in 1..=3 {
        for n in 0..60 {
            store.update(row(1, id), &[add("n", None, n)]);
        }
    }
    let writes = [
        update("t", row(1, 1), &[add("a", Some(NOW), 1)]),
        update("t", row(1, 1), &[add("b", Some(NOW), 2)]),
        put("t", row(1, 2), &[]),
        update("t", row(1, 2), &[add("b", Some(NOW), 2)]),
        delete("t", row(1, 3)),
        update("t", row(1, 3), &[add("b", Some(NOW), 2)]),
    ];
    atomic(&store, &writes).expect("a right batch").into_iter().for_each(|row| drop(row.expect("written")));
    let columns = |id| store.all(row(1, id)).expect("a row").into_iter().map(|cell| cell.0).collect::<Vec<_>>();
    let mut first = columns(1);
    first.dedup();
    assert_eq!(first, ["a", "b", "n"]);
    assert_eq!((columns(2), columns(3)), (vec!["b".to_owned()], vec!["b".to_owned()]));
}

#[test]
fn r4_rows_of_several_partition_keys_or_tables_are_no_atomic_batch() {
    let store = store();
    store.create("u", &[("p", KeyType::Integer), ("id", KeyType::Integer)], OptionsChange::default());
    let text = "OTSDataOutOfRange: Data out of scope of atomic. Atomic PartKey:0. Data PartKey:1";
    let writes = [put("t", row(0, 1), &[]), put("t", row(0, 2), &[]), put("t", row(1, 1), &[])];
    assert_eq!(failures(&store, &writes), [text; 3]);
    let text = "OTSDataOutOfRange: Data out of scope of atomic. Atomic Table:t. Data Table:u";
    assert_eq!(failures(&store, &[put("t", row(0, 1), &[]), put("u", row(0, 1), &[])]), [text; 2]);
    assert_eq!(store.ids(), [0; 0]);
}

#[test]
fn r4_one_row_that_fails_fails_all_and_they_say_which() {
    let store = store();
    store.put(row(1, 1), &[cell("n", text("x"))]);
    let others = |code: &str, row: usize, text: &str| format!("{code}: Row {row} of the atomic batch failed: {text}");
    let (condition, parameter) = ("OTSConditionCheckFail", "OTSParameterInvalid");
    let failed = "Condition check failed.";
    let expects = expecting(Existence::ExpectExist, put("t", row(1, 3), &[]));
    let told = failures(&store, &[put("t", row(1, 2), &[]), expects, delete("t", row(1, 1))]);
    let other = others(condition, 1, failed);
    assert_eq!(told, [other.clone(), format!("{condition}: {failed}"), other]);
    let no_integer = "Column 'n' can not be incremented: its value is not an INTEGER.";
    let told = failures(&store, &[put("t", row(1, 2), &[]), update("t", row(1, 1), &[increment("n", 1)])]);
    assert_eq!(told, [others(parameter, 1, no_integer), format!("{parameter}: {no_integer}")]);
    let old = "Invalid timestamp. Cell:a.";
    let told = failures(&store, &[put("t", row(1, 2), &[cell_at("a", 5, int(1))]), put("t", row(1, 3), &[])]);
    assert_eq!(told, [format!("{parameter}: {old}"), others(parameter, 0, old)]);
    assert_eq!(store.ids(), [1]);
    assert_eq!(store.all(row(1, 1)).expect("there")[0].2, Value::String("x".into()));
    let costs = atomic(&store, &[put("t", row(1, 2), &[]), expecting(Existence::ExpectExist, delete("t", row(1, 9)))]);
    let costs = costs.expect("a right batch").into_iter().map(|result| result.expect_err("failed").consumed);
    assert_eq!(costs.collect::<Vec<_>>(), [Consumed { read: 1, write: 1 }; 2]);
}

#[test]
fn r4_an_atomic_batch_is_checked_like_any_other() {
    let store = store();
    let refusals = [
        (vec![], "No row is specified in BatchWriteRow."),
        ((0..201).map(|n| put("t", row(1, n), &[])).collect(), "Rows count exceeds the upper limit: 200."),
        (
            vec![update("t", row(1, 1), &[increment("n", 1)]), delete("t", row(1, 1))],
            "Repeated rows do not support increment in BatchModify.",
        ),
    ];
    for (writes, text) in refusals {
        assert_eq!(refused(atomic(&store, &writes)), format!("OTSParameterInvalid: {text}"));
    }
}

#[test]
fn r7_an_atomic_batch_does_not_write_to_a_locked_partition_key() {
    let store = store();
    let locked = store
        .instance
        .start_local_transaction(tabstore::model::TableName::parse("t").expect("a name"), &key(&[("p", int(1))]));
    let text = "OTSRowOperationConflict: Data is being modified by the other request.";
    assert_eq!(failures(&store, &[put("t", row(1, 1), &[]), put("t", row(1, 2), &[])]), [text; 2]);
    atomic(&store, &[put("t", row(2, 1), &[])]).expect("a right batch").remove(0).expect("it is not locked");
    store.instance.abort_transaction(&locked.expect("started").id).expect("aborted");
    atomic(&store, &[put("t", row(1, 1), &[])]).expect("a right batch").remove(0).expect("it is free");
}

/// R4, R5: a request that comes while an atomic batch loads its rows takes effect after all of it, and sees all of it.
#[test]
fn r5_nothing_comes_between_the_rows_of_an_atomic_batch() {
    let mut store = store();
    store.engine_options.cache_bytes = 0;
    store.put(row(1, 1), &[cell("n", int(10))]);
    store.put(row(1, 2), &[cell("n", int(20))]);
    store.env.run(store.instance.flush()).expect("flushed");
    let instance = store.opened_with(YieldOnce).expect("opens");
    let transfer = [update("t", row(1, 1), &[increment("n", -5)]), update("t", row(1, 2), &[increment("n", 5)])];
    let count = update("t", row(1, 2), &[increment("n", 100)]);
    let mut rows = Rows::default();
    let (transfer, scan, count) = store.env.run(join3(
        instance.batch_write_row_atomic(&transfer, None),
        instance.get_range(&range("t", tabstore::engine::Direction::Forward), &mut rows),
        instance.write_row(&count, None),
    ));
    assert!(transfer.expect("a right batch").iter().all(Result::is_ok));
    scan.expect("read");
    count.expect("counted");
    let values = rows.0.iter().map(|(_, cells)| cells[0].2.clone()).collect::<Vec<_>>();
    assert_eq!(values, [Value::Integer(5), Value::Integer(25)]);
}

/// R4: a full disk stores nothing of an atomic batch.
#[test]
fn r4_an_atomic_batch_that_cannot_be_stored_fails_as_a_whole() {
    use tabstore::storage::faults::{FailAt, Moment};
    let store = store();
    let full = tabstore::Error::new(Code::QuotaExceeded, "the origin is full");
    let writes = [put("t", row(1, 1), &[]), put("t", row(1, 2), &[])];
    // Opening makes a few calls; the first commit after them is the batch's.
    for call in 0..20 {
        let fault = FailAt::once(call, Moment::Before).with_error(full.clone());
        let Ok(instance) = store.opened_with(fault) else { continue };
        let done = store.env.run(instance.batch_write_row_atomic(&writes, None)).expect("a right batch");
        let mut rows = Rows::default();
        let all = range("t", tabstore::engine::Direction::Forward);
        store.env.run(instance.get_range(&all, &mut rows)).expect("read");
        if done.iter().all(Result::is_ok) {
            assert_eq!(ids(&rows.0), [1, 2]);
        } else {
            assert_eq!(ids(&rows.0), [0; 0]);
            let codes = done.into_iter().map(|row| row.expect_err("failed").error.code()).collect::<Vec<_>>();
            assert_eq!(codes, [Code::QuotaExceeded; 2]);
            return;
        }
    }
    panic!("no call was the batch's commit");
}
