//! Clients that outlive the engine ask the next one again: each write is done once, and gets one answer (R5).

use crate::client::{CLIENT, asked, crash, keep, world};
use crate::session::frame;
use crate::store::*;
use std::rc::Rc;
use tabstore::engine::{ClockMode, Options, Origin};
use tabstore::error::Code;
use tabstore::model::{Consumed, KeyColumn, KeyInput, KeyPart, KeyType, KeyValue, TableName, Value};
use tabstore::session::Sessions;
use tabstore::tablestore::{
    CreateTable, Existence, InstanceOptions, Loader, OptionsChange, Outcome, PutRows, ReturnContent, RowWrite, Written,
};

fn flush(store: &Store) {
    store.env.run(store.instance.flush()).expect("flushed");
}

fn write(store: &Store, request: u64, write: &RowWrite<'_>) -> Outcome<Written> {
    store.env.run(store.instance.write_row(write, asked(request)))
}

/// Increments `n`, and returns it.
fn more(row: i64) -> RowWrite<'static> {
    let write = update("t", id(row), &[increment("n", 1)]);
    RowWrite { returns: ReturnContent::AfterModify(vec![column("n")]), ..write }
}

fn insert(row: i64) -> RowWrite<'static> {
    expecting(Existence::ExpectNotExist, put("t", id(row), &[cell("n", int(1))]))
}

/// The value of `n` in a row of `t`.
fn number(store: &Store, row: i64) -> Option<i64> {
    store.all(id(row))?.into_iter().find(|(name, ..)| name == "n").map(|(.., value)| match value {
        Value::Integer(value) => value,
        other => panic!("{other:?}"),
    })
}

/// What a client sees of an answer: the units, the key and the cells.
type Seen = (Consumed, Option<(Vec<KeyValue>, Vec<Cell>)>);

fn seen(written: Written) -> Seen {
    (written.consumed, written.row.map(|row| (row.key, row.cells)))
}

/// Those of the rows of a batch, or the codes of their errors.
fn all_seen(rows: Outcome<Vec<Outcome<Written>>>) -> Vec<Result<Seen, Code>> {
    let rows = rows.expect("a right batch").into_iter();
    rows.map(|row| row.map(seen).map_err(|failure| failure.error.code())).collect()
}

/// R5, R6: an increment that was done is not done again, and returns the same value, before and after a flush.
#[test]
fn r5_an_increment_that_is_asked_again_is_done_once() {
    for flushes in [false, true] {
        let mut store = world();
        let first = seen(write(&store, 1, &more(1)).expect("written"));
        if flushes {
            flush(&store);
        }
        crash(&mut store);
        assert_eq!(seen(write(&store, 1, &more(1)).expect("known")), first, "flushes: {flushes}");
        assert_eq!(number(&store, 1), Some(1));
        // A request that did not arrive is done now.
        let second = write(&store, 2, &more(1)).expect("written");
        assert_eq!(second.row.expect("returned").cells[0].2, Value::Integer(2));
        assert_eq!(number(&store, 1), Some(2));
    }
}

/// R5, R6: plain, conditional and deleting writes. A condition that held is not tested against the row that it let in.
#[test]
fn r5_conditional_and_plain_writes_that_are_asked_again_keep_their_answers() {
    let mut store = world();
    write(&store, 1, &insert(1)).expect("inserted");
    write(&store, 2, &put("t", id(2), &[cell("n", int(5))])).expect("put");
    let gone = expecting(Existence::ExpectExist, delete("t", id(2)));
    write(&store, 3, &gone).expect("deleted");
    write(&store, 4, &insert(1)).expect_err("it is there");
    crash(&mut store);
    store.put(id(2), &[cell("n", int(9))]);
    write(&store, 1, &insert(1)).expect("it was inserted");
    write(&store, 2, &put("t", id(2), &[cell("n", int(5))])).expect("it was put");
    write(&store, 3, &gone).expect("it was deleted");
    assert_eq!((number(&store, 1), number(&store, 2)), (Some(1), Some(9)), "nothing was done again");
    // A refused write has changed nothing, so it is decided anew.
    write(&store, 4, &insert(1)).expect_err("it is still there");
}

/// R5: a client's writes of one row keep their order. A write that was refused before a later one was done is refused again,
/// though its condition would hold now; after a second crash too, until the client has the answer.
#[test]
fn r5_a_write_that_was_refused_before_a_later_one_stays_refused() {
    for flushes in [false, true] {
        let mut store = world();
        store.put(id(1), &[cell("n", int(1))]);
        let first = write(&store, 1, &insert(1)).expect_err("it is there");
        let batch = [insert(2), insert(1)];
        let rows = all_seen(store.env.run(store.instance.batch_write_row(&batch, asked(2))));
        assert!(matches!(&rows[..], [Ok(_), Err(Code::ConditionCheckFail)]), "{rows:?}");
        let whole =
            |store: &Store| all_seen(store.env.run(store.instance.batch_write_row_atomic(&batch[1..], asked(3))));
        assert_eq!(whole(&store), [Err(Code::ConditionCheckFail)]);
        write(&store, 4, &delete("t", id(1))).expect("deleted");
        for _ in 0..2 {
            if flushes {
                flush(&store);
            }
            crash(&mut store);
            let again = write(&store, 1, &insert(1)).expect_err("it was refused");
            assert_eq!((again.error, again.consumed), (first.error.clone(), first.consumed));
            assert_eq!(all_seen(store.env.run(store.instance.batch_write_row(&batch, asked(2)))), rows);
            assert_eq!(whole(&store), [Err(Code::ConditionCheckFail)]);
            write(&store, 4, &delete("t", id(1))).expect("it was deleted");
            assert_eq!(number(&store, 1), None, "the deletion came last");
        }
        store.instance.clients().acknowledge(CLIENT, 5);
        write(&store, 5, &insert(1)).expect("a write of its own");
    }
}

/// R5: refusals that no later write of the client follows are stored nowhere, and those of others are not carried.
#[test]
fn r5_refusals_alone_store_nothing() {
    let mut store = world();
    store.put(id(1), &[]);
    let before = store.instance.metrics().log_records;
    for request in 1..50 {
        write(&store, request, &insert(1)).expect_err("it is there");
    }
    assert_eq!(store.instance.metrics().log_records, before);
    crash(&mut store);
    store.env.run(store.instance.write_row(&delete("t", id(1)), None)).expect("deleted");
    write(&store, 1, &insert(1)).expect("decided anew");
}

/// R6: the key that the store gave is given again, and no second row appears.
#[test]
fn r6_an_assigned_key_is_returned_again() {
    let mut store = world();
    let counted = KeyColumn { auto_increment: true, ..KeyColumn::new("seq", KeyType::Integer) };
    let key = vec![KeyColumn::new("box", KeyType::String), counted];
    let request = CreateTable { name: "boxes".into(), key, ..CreateTable::default() };
    store.env.run(store.instance.create_table(request)).expect("created");
    let mut next = KeyInput::default();
    next.push("box", KeyPart::Value(text("a")));
    next.push("seq", KeyPart::AutoIncrement);
    let add = RowWrite { returns: ReturnContent::PrimaryKey, ..put("boxes", next, &[cell("n", int(1))]) };
    let first = seen(write(&store, 1, &add).expect("put"));
    assert!(first.1.is_some());
    crash(&mut store);
    assert_eq!(seen(write(&store, 1, &add).expect("known")), first);
    let rows = store.range(&range("boxes", tabstore::engine::Direction::Forward)).0;
    assert_eq!(rows.len(), 1);
    assert_ne!(seen(write(&store, 2, &add).expect("put")), first);
}

/// R2: a batch is known row by row: those that were stored are answered, the others are done.
#[test]
fn r2_a_batch_that_is_asked_again_is_done_row_by_row() {
    let mut store = world();
    store.put(id(3), &[]);
    let batch = [more(1), put("t", id(2), &[cell("n", int(2))]), insert(3)];
    let first = all_seen(store.env.run(store.instance.batch_write_row(&batch, asked(1))));
    assert!(matches!(&first[..], [Ok(_), Ok(_), Err(code)] if *code == Code::ConditionCheckFail), "{first:?}");
    crash(&mut store);
    store.env.run(store.instance.write_row(&delete("t", id(3)), None)).expect("deleted");
    let again = all_seen(store.env.run(store.instance.batch_write_row(&batch, asked(1))));
    assert_eq!(again[..2], first[..2]);
    assert!(again[2].is_ok(), "the refused row is decided anew");
    assert_eq!([1, 2, 3].map(|row| number(&store, row)), [Some(1), Some(2), Some(1)]);
}

/// R4: an atomic batch is known as a whole.
#[test]
fn r4_an_atomic_batch_that_is_asked_again_is_done_once() {
    let mut store = Store::new();
    store.create("t", &[("p", KeyType::Integer), ("id", KeyType::Integer)], OptionsChange::default());
    keep(&store);
    let row = |id: i64| key(&[("p", int(1)), ("id", int(id))]);
    let batch = [1, 2].map(|id| expecting(Existence::ExpectNotExist, put("t", row(id), &[cell("n", int(id))])));
    let first = all_seen(store.env.run(store.instance.batch_write_row_atomic(&batch, asked(1))));
    assert!(first.iter().all(Result::is_ok));
    crash(&mut store);
    assert_eq!(all_seen(store.env.run(store.instance.batch_write_row_atomic(&batch, asked(1)))), first);
}

/// R7: a commit that was done is answered; the transaction of one that was not is gone.
#[test]
fn r7_a_commit_that_is_asked_again_is_answered() {
    let mut store = world();
    let table = TableName::parse("t").expect("a name");
    let begin = |store: &Store, row| {
        let started = store.instance.start_local_transaction(table, &id(row)).expect("started").id;
        let write = more(row);
        let written = store.instance.write_row_in(Some(&started), &write, asked(row as u64));
        store.env.run(written).expect("written");
        started
    };
    let (done, open) = (begin(&store, 1), begin(&store, 2));
    let cost = store.env.run(store.instance.commit_transaction(&done, asked(3))).expect("committed");
    crash(&mut store);
    assert_eq!(store.env.run(store.instance.commit_transaction(&done, asked(3))).expect("known"), cost);
    let lost = store.env.run(store.instance.commit_transaction(&open, asked(4))).expect_err("gone");
    assert_eq!(lost.error.code(), Code::SessionNotExist);
    assert_eq!((number(&store, 1), number(&store, 2)), (Some(1), None));
    // Writes of a transaction have no answers of their own: this is no such write.
    write(&store, 1, &more(1)).expect("written");
    assert_eq!(number(&store, 1), Some(2));
}

/// Rows that a writer put one by one, because they were too few for a load, are known too.
#[test]
fn r5_rows_of_a_writer_that_were_written_are_not_written_again() {
    let mut store = world();
    let rows = || [1, 2].map(|row| Ok(put("t", id(row), &[cell("n", int(row))]))).into();
    let PutRows::Written(first) = store.env.run(store.instance.put_rows(&Loader::default(), rows(), asked(1))) else {
        panic!("too few for a load")
    };
    crash(&mut store);
    store.put(id(1), &[cell("n", int(9))]);
    // This time they would be enough.
    let loader = Loader::of_at_least(1);
    let PutRows::Written(again) = store.env.run(store.instance.put_rows(&loader, rows(), asked(1))) else {
        panic!("loaded although they are stored")
    };
    assert_eq!(all_seen(Ok(again)), all_seen(Ok(first)));
    assert_eq!((number(&store, 1), number(&store, 2)), (Some(9), Some(2)));
}

/// Answers that the client has are forgotten, and their places are used again. Those of others stay.
#[test]
fn r5_answers_are_kept_until_the_client_has_them() {
    let mut store = world();
    for request in 1..=50 {
        write(&store, request, &more(1)).expect("written");
        store.instance.clients().acknowledge(CLIENT, request);
    }
    crash(&mut store);
    assert_eq!(number(&store, 1), Some(50));
    write(&store, 50, &more(1)).expect("known");
    assert_eq!(number(&store, 1), Some(50), "the last answer was not acknowledged");
    write(&store, 1, &more(1)).expect("forgotten, so it is done");
    assert_eq!(number(&store, 1), Some(51));
}

/// The answers of ended clients are deleted. Those of living ones stay, and those of clients with a session.
#[test]
fn r5_answers_of_ended_clients_are_forgotten() {
    let mut store = world();
    for client in [8, 9] {
        store.env.run(store.instance.clients().keep_answers(client, client, true)).expect("kept");
    }
    let ask = |store: &Store, client| {
        let write = more(client as i64);
        store.env.run(store.instance.write_row(&write, Some(Origin { client, request: 1 }))).expect("written");
    };
    [CLIENT, 8, 9].iter().for_each(|client| ask(&store, *client));
    store.env.run(store.instance.clients().forget_answers(Some(8), vec![])).expect("forgotten");
    store.reopen();
    keep(&store);
    // The client 9 has not asked the new engine yet.
    store.env.run(store.instance.clients().forget_answers(None, vec![9])).expect("forgotten");
    for client in [8, 9] {
        store.env.run(store.instance.clients().keep_answers(client, client, true)).expect("kept");
    }
    [CLIENT, 8, 9].iter().for_each(|client| ask(&store, *client));
    assert_eq!([CLIENT, 8, 9].map(|client| number(&store, client as i64)), [Some(1), Some(2), Some(1)]);
    store.env.run(store.instance.clients().forget_answers(None, vec![])).expect("forgotten");
    crash(&mut store);
    ask(&store, CLIENT);
    assert_eq!(number(&store, CLIENT as i64), Some(1), "it had a session");
}

/// A tab lives by one number, however many handles it has. Those that have not asked the new engine yet keep their answers.
#[test]
fn r5_answers_of_all_handles_of_a_living_tab_stay() {
    let mut store = Store::with_table(OptionsChange::default());
    let keep =
        |store: &Store, client| store.env.run(store.instance.clients().keep_answers(8, client, true)).expect("kept");
    let ask = |store: &Store, client| {
        let write = more(client as i64);
        store.env.run(store.instance.write_row(&write, Some(Origin { client, request: 1 }))).expect("written");
    };
    for client in [8, 9] {
        keep(&store, client);
        ask(&store, client);
    }
    store.reopen();
    store.env.run(store.instance.clients().forget_answers(None, vec![8])).expect("forgotten");
    for client in [8, 9] {
        keep(&store, client);
        ask(&store, client);
    }
    assert_eq!([8, 9].map(|client| number(&store, client)), [Some(1), Some(1)]);
}

/// Clients in the engine's own tab end with it: nothing is stored for them.
#[test]
fn r5_answers_of_other_clients_are_not_stored() {
    let mut store = world();
    let other = Some(Origin { client: 1, request: 1 });
    store.env.run(store.instance.write_row(&more(1), other)).expect("written");
    crash(&mut store);
    store.env.run(store.instance.clients().keep_answers(1, 1, true)).expect("kept");
    store.env.run(store.instance.write_row(&more(1), other)).expect("written");
    assert_eq!(number(&store, 1), Some(2));
}

/// A client that moves into the engine's own tab asks again too. It ends with that engine, so nothing more is stored.
#[test]
fn r5_a_client_that_leads_knows_its_earlier_answers() {
    let mut store = world();
    write(&store, 1, &more(1)).expect("written");
    store.reopen();
    store.env.run(store.instance.clients().keep_answers(CLIENT, CLIENT, false)).expect("known");
    write(&store, 1, &more(1)).expect("known");
    write(&store, 2, &more(1)).expect("written");
    assert_eq!(number(&store, 1), Some(2));
    crash(&mut store);
    write(&store, 2, &more(1)).expect("written");
    assert_eq!(number(&store, 1), Some(3));
}

/// A client acknowledges in its frames, and gets no answer to that.
#[test]
fn r5_a_session_takes_acknowledgements() {
    let mut store = world();
    let submit = |store: &Store, bytes| {
        let sessions = Sessions::new(Rc::clone(&store.instance), Rc::new(store.env.clone()));
        let session = sessions.open(CLIENT, |_| {}).expect("opened");
        drop(session.submit(bytes).expect("a right frame"));
        store.env.run_until_idle();
        store.env.run(session.close());
    };
    submit(&store, frame(|out| out.row_write(1, &more(1))));
    submit(
        &store,
        frame(|out| {
            out.acknowledge(2);
            out.row_write(2, &more(1));
        }),
    );
    crash(&mut store);
    submit(&store, frame(|out| out.row_write(2, &more(1))));
    assert_eq!(number(&store, 1), Some(2), "the second one is known");
    submit(&store, frame(|out| out.row_write(1, &more(1))));
    assert_eq!(number(&store, 1), Some(3), "the first one was acknowledged");
}

/// R5: whatever a client had done, had in flight or had not sent when engines died: each write counts once.
#[test]
fn r5_random_writes_asked_again_after_crashes_count_once() {
    for seed in 0..30 {
        let options = Options { clock: ClockMode::Injected, ..Options::default() };
        let mut store = Store::shuffled(InstanceOptions::default(), options, seed);
        store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
        keep(&store);
        let env = store.env.clone();
        let below = |most: u64| env.random() % most;
        let (mut request, mut counts, mut fresh) = (0_u64, [0_i64; 4], 100_i64);
        for _ in 0..12 {
            // Calls in flight: what they do, and whether this engine gets them.
            let calls: Vec<(u64, u64, usize, i64)> = (0..=below(8))
                .map(|_| {
                    request += 1;
                    fresh += 1;
                    (request, below(4), below(4) as usize, fresh)
                })
                .collect();
            let ask = |store: &Store, (request, what, row, fresh): (u64, u64, usize, i64)| {
                let counted = more(row as i64);
                match what {
                    0 => drop(write(store, request, &counted).expect("written")),
                    1 => drop(write(store, request, &insert(fresh)).expect("inserted")),
                    2 => {
                        let batch = [counted, insert(fresh)];
                        let rows = all_seen(store.env.run(store.instance.batch_write_row(&batch, asked(request))));
                        assert!(rows.iter().all(Result::is_ok), "seed {seed}: {rows:?}");
                    }
                    _ => drop(write(store, request, &put("t", id(fresh), &[cell("n", int(fresh))])).expect("put")),
                }
            };
            for call in &calls {
                if matches!(call.1, 0 | 2) {
                    counts[call.2] += 1;
                }
                if below(10) < 6 {
                    ask(&store, *call);
                }
                if below(10) < 2 {
                    flush(&store);
                }
                if below(10) < 1 {
                    store.compact();
                }
            }
            for _ in 0..=below(2) {
                crash(&mut store);
                for call in &calls {
                    ask(&store, *call);
                }
            }
            for row in 0..4 {
                assert_eq!(number(&store, row).unwrap_or(0), counts[row as usize], "seed {seed}, row {row}");
            }
            if below(10) < 7 {
                store.instance.clients().acknowledge(CLIENT, request + 1);
            }
        }
    }
}
