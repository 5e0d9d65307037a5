//! Rows of loads that are asked for again, because the engine that took them has ended: each is stored once, and gets one
//! answer (R4, R5). `asked_again` has all other writes.

use crate::client::{CLIENT, asked, crash, world};
use crate::store::*;
use std::ops::Range;
use tabstore::model::{Consumed, KeyInput, TableName, Value, ValueRef};
use tabstore::tablestore::{Existence, Loader, OptionsChange, PutRows, RowWrite};

fn loader() -> Loader {
    Loader::of_at_least(1)
}

pub(crate) fn row(number: i64, value: i64) -> RowWrite<'static> {
    put("t", id(number), &[cell("n", int(value))])
}

fn put_all(store: &Store, loader: &Loader, request: u64, rows: Vec<RowWrite<'_>>) -> PutRows {
    let rows = rows.into_iter().map(Ok).collect();
    store.env.run(store.instance.put_rows(loader, rows, asked(request)))
}

/// Rows that a load has to take.
fn take(store: &Store, loader: &Loader, request: u64, rows: Range<i64>, value: i64) {
    let put = put_all(store, loader, request, rows.map(|number| row(number, value)).collect());
    assert!(matches!(&put, PutRows::Taken { refused, .. } if refused.is_empty()), "{put:?}");
}

/// Rows that were stored: their costs.
fn recall(store: &Store, request: u64, rows: Vec<RowWrite<'_>>) -> Vec<Result<Consumed, String>> {
    match put_all(store, &loader(), request, rows) {
        PutRows::Written(rows) => {
            rows.into_iter().map(|row| row.map(|row| row.consumed).map_err(|refused| refused.to_string())).collect()
        }
        taken => panic!("{taken:?}"),
    }
}

fn store_all(store: &Store, loader: &Loader) -> Consumed {
    let stored = store.env.run(store.instance.store_rows(loader));
    assert!(stored.failed.is_empty(), "{stored:?}");
    stored.consumed
}

fn number(store: &Store, row: i64) -> Option<i64> {
    store.all(id(row)).map(|cells| match cells[..] {
        [(_, _, Value::Integer(value))] => value,
        ref other => panic!("{other:?}"),
    })
}

const ONE: Consumed = Consumed { read: 0, write: 1 };

/// R5: rows that were stored are not stored again, whoever asked for that: their client, or a write among them.
#[test]
fn r5_rows_of_a_stored_load_are_not_stored_again() {
    for asks in [true, false] {
        for flushes in [false, true] {
            let mut store = world();
            let first = loader();
            take(&store, &first, 1, 0..30, 1);
            take(&store, &first, 2, 30..60, 1);
            if asks {
                assert_eq!(store_all(&store, &first).write, 60);
            }
            store.put(id(5), &[cell("n", int(9))]);
            if flushes {
                store.env.run(store.instance.flush()).expect("flushed");
                store.compact();
            }
            crash(&mut store);
            let again = |range: Range<i64>| range.map(|number| row(number, 1)).collect::<Vec<_>>();
            assert_eq!(recall(&store, 1, again(0..30)), vec![Ok(ONE); 30]);
            assert_eq!(recall(&store, 2, again(30..60)), vec![Ok(ONE); 30]);
            assert_eq!((number(&store, 5), number(&store, 6)), (Some(9), Some(1)), "asks: {asks}");
            assert_eq!(store.ids().len(), 60);
        }
    }
}

/// R5: a write that was refused stays refused, though a load of its client has made its condition true since: if the load is
/// stored, by its answers, and else by those of a write.
#[test]
fn r5_a_write_that_was_refused_before_a_load_stays_refused() {
    let early = || expecting(Existence::ExpectExist, put("t", id(5), &[cell("n", int(9))]));
    let ask = |store: &Store, request| store.env.run(store.instance.write_row(&early(), asked(request)));
    for stored in [true, false] {
        let mut store = world();
        ask(&store, 1).expect_err("there is no such row");
        let first = loader();
        take(&store, &first, 2, 0..30, 1);
        if stored {
            assert_eq!(store_all(&store, &first).write, 30);
        } else {
            let elsewhere = put("t", id(1000), &[cell("n", int(1))]);
            store.env.run(store.instance.write_row(&elsewhere, asked(3))).expect("written");
        }
        for _ in 0..2 {
            crash(&mut store);
            if !stored {
                store.put(id(5), &[cell("n", int(1))]);
            }
            ask(&store, 1).expect_err("it was refused");
            store.compact();
        }
        assert_eq!(number(&store, 5), Some(1));
        store.instance.clients().acknowledge(CLIENT, 4);
        ask(&store, 4).expect("a write of its own");
    }
}

/// R4, R5: rows that were taken and not stored are gone with their engine. They are taken again, and stored.
#[test]
fn r5_rows_of_a_lost_load_are_stored_when_they_are_asked_again() {
    let mut store = world();
    let first = loader();
    take(&store, &first, 1, 0..30, 1);
    assert_eq!(store_all(&store, &first).write, 30);
    let second = loader();
    take(&store, &second, 2, 30..60, 1);
    crash(&mut store);
    drop((first, second));
    assert_eq!(recall(&store, 1, (0..30).map(|number| row(number, 1)).collect()), vec![Ok(ONE); 30]);
    let again = loader();
    take(&store, &again, 2, 30..60, 1);
    assert_eq!(store.ids().len(), 30);
    assert_eq!(store_all(&store, &again).write, 30);
    assert_eq!(store.ids().len(), 60);
    // Now both are known.
    crash(&mut store);
    assert_eq!(recall(&store, 2, (30..60).map(|number| row(number, 1)).collect()), vec![Ok(ONE); 30]);
}

/// C1, R5: each row has its own cost again. A refused row has changed nothing, so it is decided anew.
#[test]
fn r5_rows_of_a_load_keep_their_costs_and_refused_ones_are_decided_anew() {
    let mut store = world();
    let large = vec![b'x'; 9000];
    let rows = || {
        let late = put("t", id(3), &[cell_at("n", NOW + 86_400_000, int(1))]);
        let cells = [cell("n", ValueRef::Binary(&large))];
        vec![row(1, 1), put("t", id(2), &cells), late, row(4, 1)]
    };
    let first = loader();
    let PutRows::Taken { refused, .. } = put_all(&store, &first, 1, rows()) else { panic!("it was not loaded") };
    assert_eq!(refused.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [2]);
    assert_eq!(store_all(&store, &first).write, 5);
    crash(&mut store);
    let costs = recall(&store, 1, rows());
    let three = Consumed { read: 0, write: 3 };
    assert!(matches!(&costs[..], [Ok(ONE), Ok(large), Err(_), Ok(ONE)] if *large == three), "{costs:?}");
    // The window has moved: now the row is stored, and that is known too.
    store.env.advance(1000);
    assert_eq!(recall(&store, 1, rows())[2], Ok(ONE));
    store.put(id(3), &[cell("n", int(9))]);
    crash(&mut store);
    assert_eq!(recall(&store, 1, rows()), [Ok(ONE), Ok(three), Ok(ONE), Ok(ONE)]);
    assert_eq!(number(&store, 3), Some(9));
}

/// A row that was stored keeps its answer, even if nobody could put it now.
#[test]
fn r5_rows_of_a_load_are_known_although_they_would_be_refused_now() {
    let mut store = world();
    let rows = || vec![put("t", id(1), &[cell_at("n", NOW, int(1))]), row(2, 1)];
    let first = loader();
    assert!(matches!(put_all(&store, &first, 1, rows()), PutRows::Taken { .. }));
    store_all(&store, &first);
    store.env.advance(3 * 86_400_000);
    crash(&mut store);
    assert_eq!(recall(&store, 1, rows()), [Ok(ONE), Ok(ONE)]);
    store.env.run(store.instance.delete_table("t")).expect("deleted");
    assert_eq!(recall(&store, 1, rows()), [Ok(ONE), Ok(ONE)]);
}

/// Answers to loaded rows are kept until the client has them. A later load deletes them.
#[test]
fn r5_answers_to_loaded_rows_are_kept_until_the_client_has_them() {
    let mut store = world();
    for round in 1..=20 {
        let one = loader();
        take(&store, &one, round, 0..30, round as i64);
        store_all(&store, &one);
        store.instance.clients().acknowledge(CLIENT, round);
    }
    crash(&mut store);
    let rows = || (0..30).map(|number| row(number, 1)).collect();
    recall(&store, 20, rows());
    assert_eq!(number(&store, 1), Some(20), "the last answer was not acknowledged");
    // The answer before is deleted with the next load.
    for forgotten in 1..19 {
        let again = loader();
        take(&store, &again, forgotten, 0..30, 1);
        store_all(&store, &again);
    }
    assert_eq!(number(&store, 1), Some(1));
}

/// Clients in the engine's own tab end with it, so nothing is stored for them; nor for a client that has ended.
#[test]
fn r5_answers_to_loaded_rows_end_with_their_client() {
    let mut store = Store::with_table(OptionsChange::default());
    let one = loader();
    take(&store, &one, 1, 0..30, 1);
    store_all(&store, &one);
    crash(&mut store);
    let again = loader();
    take(&store, &again, 1, 0..30, 2);
    store_all(&store, &again);
    store.env.run(store.instance.clients().forget_answers(Some(CLIENT), vec![])).expect("forgotten");
    crash(&mut store);
    let last = loader();
    take(&store, &last, 1, 0..30, 3);
    store_all(&store, &last);
    assert_eq!(number(&store, 1), Some(3));
}

/// A client comes back to the same engine while a load of its earlier session is being stored, for another client.
#[test]
fn r5_a_load_that_is_being_stored_is_known_to_the_next_session() {
    let store = world();
    let one = loader();
    take(&store, &one, 1, 0..30, 1);
    let other = row(5, 9);
    let waits = store.instance.write_row(&other, None);
    let again = async {
        drop(one);
        store.instance.clients().keep_answers(CLIENT, CLIENT, true).await.expect("kept");
    };
    let (written, ()) = store.env.run(futures_util::future::join(waits, again));
    written.expect("written");
    assert_eq!(recall(&store, 1, (0..30).map(|number| row(number, 1)).collect()), vec![Ok(ONE); 30]);
    assert_eq!(number(&store, 5), Some(9));
}

/// R7: a row that was refused for now is asked again alone, under a number of its own. In its load, something that is no
/// row stands in its place then.
#[test]
fn r5_a_row_that_was_refused_for_now_is_stored_once_whatever_becomes_of_its_load() {
    for stored in [false, true] {
        let mut store = world();
        let table = TableName::parse("t").expect("a name");
        store.instance.start_local_transaction(table, &id(2)).expect("started");
        let first = loader();
        let taken = put_all(&store, &first, 1, vec![row(1, 1), row(2, 1), row(3, 1)]);
        assert!(matches!(&taken, PutRows::Taken { refused, .. } if refused.len() == 1), "{taken:?}");
        if stored {
            store_all(&store, &first);
        }
        crash(&mut store);
        let again = loader();
        let known = put_all(&store, &again, 1, vec![row(1, 1), put("t", KeyInput::new(), &[]), row(3, 1)]);
        assert_eq!(matches!(known, PutRows::Written(_)), stored, "{known:?}");
        let alone = store.env.run(store.instance.write_row(&row(2, 1), asked(9)));
        alone.expect("its transaction is gone");
        store_all(&store, &again);
        assert_eq!([1, 2, 3].map(|row| number(&store, row)), [Some(1); 3]);
    }
}
