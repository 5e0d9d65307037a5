//! Writes that were refused for now, or for a reason outside their row, and are asked of the next engine again: they stay
//! behind no later write of their client (R5). `asked_again` has those that their row refused.

use crate::client::{CLIENT, asked, crash, keep, world};
use crate::store::*;
use tabstore::engine::{ClockMode, Options};
use tabstore::error::Code;
use tabstore::model::{KeyType, TableName, Value};
use tabstore::tablestore::{InstanceOptions, Loader, OptionsChange, PutRows, RowWrite, ThrottleOptions};

fn row(number: i64, value: i64) -> RowWrite<'static> {
    put("t", id(number), &[cell("n", int(value))])
}

fn write(store: &Store, request: u64, write: &RowWrite<'_>) -> Result<(), Code> {
    let done = store.env.run(store.instance.write_row(write, asked(request)));
    done.map(drop).map_err(|failure| failure.error.code())
}

fn batch(store: &Store, request: u64, writes: &[RowWrite<'_>], atomic: bool) -> Vec<Result<(), Code>> {
    let origin = asked(request);
    let rows = if atomic {
        store.env.run(store.instance.batch_write_row_atomic(writes, origin))
    } else {
        store.env.run(store.instance.batch_write_row(writes, origin))
    };
    let rows = rows.expect("a right batch").into_iter();
    rows.map(|row| row.map(drop).map_err(|failure| failure.error.code())).collect()
}

fn number(store: &Store, row: i64) -> Option<i64> {
    store.all(id(row)).map(|cells| match cells[..] {
        [(_, _, Value::Integer(value))] => value,
        ref other => panic!("{other:?}"),
    })
}

/// Lets another client hold a row.
fn hold(store: &Store, number: i64) -> String {
    let table = TableName::parse("t").expect("a name");
    store.instance.start_local_transaction(table, &id(number)).expect("started").id
}

fn let_go(store: &Store, transaction: &str) {
    store.instance.abort_transaction(transaction).expect("aborted");
}

/// R5, R7: a write that a transaction refused does not come behind a later one of its client. It may be tried again then.
#[test]
fn r5_a_write_that_was_refused_for_now_does_not_come_behind_a_later_one() {
    for flushes in [false, true] {
        let mut store = world();
        let other = hold(&store, 1);
        assert_eq!(write(&store, 1, &row(1, 1)), Err(Code::RowOperationConflict));
        let_go(&store, &other);
        assert_eq!(write(&store, 2, &row(1, 2)), Ok(()));
        for _ in 0..2 {
            if flushes {
                store.env.run(store.instance.flush()).expect("flushed");
            }
            crash(&mut store);
            assert_eq!(write(&store, 1, &row(1, 1)), Err(Code::RowOperationConflict), "as it was told before");
            assert_eq!(write(&store, 2, &row(1, 2)), Ok(()));
            assert_eq!(number(&store, 1), Some(2), "the later one came last");
        }
    }
}

/// R7: such a write is tried again under its number. It is told once more that it was refused, and then it is done.
#[test]
fn r5_a_write_that_was_refused_for_now_can_be_tried_again_with_the_next_engine() {
    let mut store = world();
    let other = hold(&store, 1);
    assert_eq!(write(&store, 1, &row(1, 1)), Err(Code::RowOperationConflict));
    assert_eq!(write(&store, 2, &row(5, 5)), Ok(()), "this one brings the refusal");
    let_go(&store, &other);
    crash(&mut store);
    let tries = [(); 3].map(|()| write(&store, 1, &row(1, 1)));
    assert!(tries[1].is_ok() && tries[2].is_ok(), "{tries:?}");
    assert_eq!(number(&store, 1), Some(1));
    crash(&mut store);
    store.put(id(1), &[cell("n", int(9))]);
    assert_eq!(write(&store, 1, &row(1, 1)), Ok(()), "it was done");
    assert_eq!(number(&store, 1), Some(9));
}

/// R5, R7: the same with rows of batches, and of a writer.
#[test]
fn r5_rows_of_batches_that_were_refused_for_now_do_not_come_behind_later_writes() {
    let mut store = world();
    let other = hold(&store, 1);
    let conflict = Err(Code::RowOperationConflict);
    let rows = [row(1, 1), row(2, 1)];
    assert_eq!(batch(&store, 1, &rows, false), [conflict, Ok(())]);
    assert_eq!(batch(&store, 2, &rows[..1], true), [conflict]);
    let loaded = |store: &Store, loader: &Loader, request| {
        let rows = vec![Ok(row(1, 1)), Ok(row(3, 1))];
        match store.env.run(store.instance.put_rows(loader, rows, asked(request))) {
            PutRows::Taken { refused, .. } => refused.iter().map(|(row, _)| *row).collect::<Vec<_>>(),
            PutRows::Written(rows) => (0..).zip(rows).filter(|(_, row)| row.is_err()).map(|(at, _)| at).collect(),
        }
    };
    assert_eq!(loaded(&store, &Loader::default(), 3), [0], "too few rows for a load");
    let loader = Loader::of_at_least(1);
    assert_eq!(loaded(&store, &loader, 4), [0]);
    store.env.run(store.instance.store_rows(&loader));
    let_go(&store, &other);
    assert_eq!(write(&store, 5, &row(1, 5)), Ok(()));
    crash(&mut store);
    assert_eq!(batch(&store, 1, &rows, false), [conflict, Ok(())]);
    assert_eq!(batch(&store, 2, &rows[..1], true), [conflict]);
    assert_eq!(loaded(&store, &Loader::default(), 3), [0]);
    assert_eq!(loaded(&store, &Loader::of_at_least(1), 4), [0]);
    assert_eq!(number(&store, 1), Some(5), "the later write came last");
}

/// R5, C5: the same with writes over the limit of their partition key value.
#[test]
fn r5_a_write_over_a_limit_does_not_come_behind_a_later_one() {
    let throttle = ThrottleOptions { units_per_second: Some(2), table_operations_per_second: None };
    let options = InstanceOptions { throttle, ..InstanceOptions::default() };
    let mut store = Store::with(options, Options { clock: ClockMode::Injected, ..Options::default() });
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    keep(&store);
    store.put(id(1), &[cell("n", int(0))]);
    store.put(id(1), &[cell("n", int(0))]);
    assert_eq!(write(&store, 1, &row(1, 1)), Err(Code::CapacityUnitExhausted));
    store.env.advance(1000);
    assert_eq!(write(&store, 2, &row(1, 2)), Ok(()));
    crash(&mut store);
    store.env.advance(1000);
    assert_eq!(write(&store, 1, &row(1, 1)), Err(Code::CapacityUnitExhausted));
    assert_eq!(number(&store, 1), Some(2));
}

/// R5: the same with writes into a table that came later.
#[test]
fn r5_a_write_before_its_table_does_not_come_behind_a_later_one() {
    let mut store = Store::new();
    keep(&store);
    assert_eq!(write(&store, 1, &row(1, 1)), Err(Code::ObjectNotExist));
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    assert_eq!(write(&store, 2, &row(1, 2)), Ok(()));
    crash(&mut store);
    assert_eq!(write(&store, 1, &row(1, 1)), Err(Code::ObjectNotExist));
    assert_eq!(number(&store, 1), Some(2));
    store.instance.clients().acknowledge(CLIENT, 3);
    assert_eq!(write(&store, 3, &row(1, 3)), Ok(()));
}
