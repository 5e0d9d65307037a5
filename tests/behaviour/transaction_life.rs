//! The life of a local transaction (R7): its minute, its id, its end, and changes of its table and of indexes meanwhile.

use crate::store::*;
use crate::transactions::*;
use futures_util::future::{join, join3};
use std::rc::Rc;
use tabstore::engine::Direction;
use tabstore::model::{Consumed, DefinedColumn, IndexKind, KeyColumn, KeyType, KeyValue, ValueType};
use tabstore::storage::faults::YieldOnce;
use tabstore::tablestore::{ColumnOp, CreateTable, GetRow, IndexSpec, Instance, OptionsChange, UpdateTable};

const INVALID: &str = "OTSParameterInvalid: TransactionID is invalid.";

#[test]
fn r7_a_transaction_lives_for_a_minute_whether_it_is_used_or_idle() {
    let store = store();
    let (used, idle) = (store.start(1), store.start(2));
    for seconds in [30, 59] {
        store.env.set_now(NOW + seconds * 1000 + 999);
        store.write_in(&used, &put("t", row(1, seconds), &[])).expect("put");
    }
    assert_eq!(refused(store.write(&put("t", row(2, 1), &[]))), LOCKED);
    store.env.set_now(NOW + 60_000);
    for tx in [&used, &idle] {
        assert_eq!(refused(store.write_in(tx, &put("t", row(1, 1), &[]))), GONE);
        assert_eq!(refused(store.all_in(Some(tx), row(1, 1))), GONE);
        assert_eq!(refused(store.ids_in(Some(tx), &all_of(1, Direction::Forward))), GONE);
        assert_eq!(refused(store.commit(tx)), GONE);
        assert_eq!(refused(store.abort(tx)), GONE);
    }
    store.put(row(1, 100), &[]);
    assert_eq!(store.ids(), [100]);
    store.commit(&store.start(2)).expect("the lock is gone without anybody having removed it");
}

/// R7, V10: a clock that travels back behind a transaction's start does not leave its lock there for ever.
#[test]
fn r7_a_clock_that_goes_back_ends_a_transaction() {
    let store = store();
    let tx = store.start(1);
    store.env.set_now(NOW - 1);
    assert_eq!(refused(store.commit(&tx)), GONE);
    store.put(row(1, 1), &[]);
}

#[test]
fn r7_what_is_no_id_is_refused_by_every_operation() {
    let store = store();
    let tx = store.start(1);
    for id in ["", "x", &tx[1..], &format!("{tx}0"), &"g".repeat(32), "çççççççççççççççç"] {
        assert_eq!(refused(store.commit(id)), INVALID);
        assert_eq!(refused(store.abort(id)), INVALID);
        assert_eq!(refused(store.write_in(id, &put("t", row(1, 1), &[]))), INVALID);
        assert_eq!(refused(store.all_in(Some(id), row(1, 1))), INVALID);
        assert_eq!(refused(store.ids_in(Some(id), &all_of(1, Direction::Forward))), INVALID);
        let batch = vec![put("t", row(1, 1), &[])];
        let batch = store.env.run(store.instance.batch_write_rows(Some(id), batch, None));
        assert_eq!(refused(batch), INVALID);
    }
    let unknown = "0".repeat(32);
    let refusal = store.commit(&unknown).expect_err("unknown");
    assert_eq!((refusal.to_string(), refusal.error.code().status()), (GONE.to_owned(), 404));
    assert_eq!(refusal.consumed, Consumed::writing(1));
}

#[test]
fn r7_committing_or_aborting_twice_finds_no_transaction() {
    let store = store();
    let committed = store.start(1);
    store.commit(&committed).expect("committed, though nothing was written");
    let aborted = store.start(1);
    store.abort(&aborted).expect("aborted");
    for tx in [committed, aborted] {
        assert_eq!(refused(store.commit(&tx)), GONE);
        assert_eq!(refused(store.abort(&tx)), GONE);
        assert_eq!(refused(store.write_in(&tx, &put("t", row(1, 1), &[]))), GONE);
    }
}

/// An instance without a cache on a storage that yields at every call, where the rows (1, 1) and (1, 2) are in a segment.
fn cold(store: &mut Store) -> Rc<Instance> {
    store.engine_options.cache_bytes = 0;
    store.put(row(1, 1), &[cell("n", int(1))]);
    store.put(row(1, 2), &[cell("n", int(2))]);
    store.env.run(store.instance.flush()).expect("flushed");
    store.opened_with(YieldOnce).expect("opens")
}

#[test]
fn r7_two_requests_do_not_use_one_transaction_at_the_same_time() {
    let mut store = store();
    let instance = cold(&mut store);
    let tx = instance.start_local_transaction(table(), &key(&[("p", int(1))])).expect("started").id;
    let (count, blind) = (update("t", row(1, 1), &[increment("n", 1)]), put("t", row(1, 3), &[]));
    let busy = "OTSSessionBusy: Another request of the transaction is not done yet.";
    store.env.run(async {
        let (first, second) =
            join(instance.write_row_in(Some(&tx), &count, None), instance.write_row_in(Some(&tx), &blind, None)).await;
        first.expect("counted");
        let second = second.expect_err("busy");
        assert_eq!(second.to_string(), busy);
        assert_eq!((second.error.code().status(), second.error.retryable()), (409, true));
        instance.write_row_in(Some(&tx), &blind, None).await.expect("now it may");
        let read = GetRow { table: table(), key: row(1, 2), options: versions(1) };
        let mut rows = Rows::default();
        let (read, commit, abort) =
            join3(instance.get_row_in(Some(&tx), &read, &mut rows), instance.commit_transaction(&tx, None), async {
                instance.abort_transaction(&tx)
            })
            .await;
        read.expect("read");
        assert_eq!((refused(commit), refused(abort)), (busy.to_owned(), busy.to_owned()));
        let (commit, again) =
            join(instance.commit_transaction(&tx, None), instance.commit_transaction(&tx, None)).await;
        commit.expect("committed");
        assert_eq!(refused(again), busy);
        assert_eq!(refused(instance.commit_transaction(&tx, None).await), GONE);
    });
}

/// R7: while a commit is on its way, the lock stays; a minute that ends meanwhile does not take it.
#[test]
fn r7_a_commit_on_its_way_is_not_overtaken() {
    let mut store = store();
    let instance = cold(&mut store);
    let tx = instance.start_local_transaction(table(), &key(&[("p", int(1))])).expect("started").id;
    let (inside, outside) = (put("t", row(1, 1), &[cell("n", int(7))]), put("t", row(1, 1), &[]));
    store.env.run(async {
        instance.write_row_in(Some(&tx), &inside, None).await.expect("put");
        let late = async {
            store.env.advance(61_000);
            instance.write_row(&outside, None).await
        };
        let (commit, late) = join(instance.commit_transaction(&tx, None), late).await;
        commit.expect("committed");
        assert_eq!(refused(late), LOCKED);
        instance.write_row(&outside, None).await.expect("the lock is gone");
    });
}

#[test]
fn r7_a_transaction_that_ends_while_its_write_waits_is_told() {
    let mut store = store();
    let instance = cold(&mut store);
    let tx = instance.start_local_transaction(table(), &key(&[("p", int(1))])).expect("started").id;
    let (inside, outside) = (update("t", row(1, 1), &[increment("n", 1)]), put("t", row(1, 1), &[]));
    store.env.run(async {
        let later = async {
            store.env.advance(60_000);
            instance.write_row(&outside, None).await
        };
        let (inside, outside) = join(instance.write_row_in(Some(&tx), &inside, None), later).await;
        outside.expect("the lock is gone");
        assert_eq!(refused(inside), GONE);
    });
}

#[test]
fn r7_deleting_its_table_ends_a_transaction() {
    let store = store();
    let tx = store.start(1);
    store.write_in(&tx, &put("t", row(1, 1), &[])).expect("put");
    store.env.run(store.instance.delete_table("t")).expect("deleted");
    assert_eq!(refused(store.commit(&tx)), GONE);
    store.create("t", &[("p", KeyType::Integer), ("id", KeyType::Integer)], options());
    assert_eq!(store.ids(), [0; 0]);
    store.put(row(1, 2), &[]);
}

/// R7, T5, T7: a write is judged by the options of its time; reads follow the options of the day.
#[test]
fn r7_options_may_change_while_a_transaction_is_open() {
    let store = store();
    let tx = store.start(1);
    for value in 0..3 {
        store.write_in(&tx, &update("t", row(1, 1), &[add("a", None, value)])).expect("updated");
    }
    let options = OptionsChange { max_versions: Some(2), allow_update: Some(false), ..OptionsChange::default() };
    let request = UpdateTable { name: "t".into(), options, ..UpdateTable::default() };
    store.env.run(store.instance.update_table(request)).expect("updated");
    let text = "OTSParameterInvalid: Update operation is not allowed in this table";
    assert_eq!(refused(store.write_in(&tx, &update("t", row(1, 1), &[add("a", None, 9)]))), text);
    store.commit(&tx).expect("committed");
    assert_eq!(store.all(row(1, 1)), ints(&[("a", NOW + 2, 2), ("a", NOW + 1, 1)]));
}

#[test]
fn r7_closing_drops_what_is_not_committed() {
    let mut store = store();
    let tx = store.start(1);
    store.write_in(&tx, &put("t", row(1, 1), &[])).expect("put");
    store.env.run(store.instance.close());
    let closed = "Closed: the database is closed";
    assert_eq!(refused(store.write_in(&tx, &put("t", row(1, 2), &[]))), closed);
    assert_eq!(refused(store.commit(&tx)), closed);
    store.reopen();
    assert_eq!(store.ids(), [0; 0]);
}

/// R7: flushes and compactions go on below an open transaction, and keep for it what it reads.
#[test]
fn r7_the_store_goes_on_below_an_open_transaction() {
    let store = store();
    store.put(row(1, 1), &[cell("a", int(1))]);
    let tx = store.start(1);
    store.write_in(&tx, &update("t", row(1, 1), &[add("b", None, 2)])).expect("updated");
    for round in 0..4 {
        store.put(row(2, round), &[cell("a", int(round))]);
        store.env.run(store.instance.flush()).expect("flushed");
        store.compact();
        assert_eq!(store.all_in(Some(&tx), row(1, 1)).expect("read"), ints(&[("a", NOW, 1), ("b", NOW + 1, 2)]));
        assert_eq!(store.all(row(1, 1)), ints(&[("a", NOW, 1)]));
    }
    store.commit(&tx).expect("committed");
    assert_eq!(store.all(row(1, 1)), ints(&[("a", NOW, 1), ("b", NOW + 1, 2)]));
}

/// R7: many transactions on many keys live side by side, and a commit is one record of the log.
#[test]
fn r7_transactions_on_other_keys_live_side_by_side() {
    let store = store();
    let open = (0..50).map(|p| (p, store.start(p))).collect::<Vec<_>>();
    for (p, tx) in &open {
        for id in 0..*p {
            store.write_in(tx, &put("t", row(*p, id), &[])).expect("put");
        }
    }
    let commits = store.instance.metrics().commits;
    for (p, tx) in &open {
        if p % 2 == 0 {
            store.commit(tx).expect("committed");
        } else {
            store.abort(tx).expect("aborted");
        }
    }
    assert_eq!(store.instance.metrics().commits, commits + 24, "one for each that wrote something");
    for (p, _) in open {
        let ids = store.ids_in(None, &all_of(p, Direction::Forward)).expect("read");
        assert_eq!(ids, (0..if p % 2 == 0 { p } else { 0 }).collect::<Vec<_>>());
    }
}

/// A store whose table `t` has the key of [`row`] and an index by the defined column `city`.
fn with_index() -> Store {
    let store = Store::new();
    let key = ["p", "id"].map(|name| KeyColumn::new(name, KeyType::Integer)).to_vec();
    let defined = vec![DefinedColumn { name: "city".into(), column_type: ValueType::String }];
    let indexes = vec![by_city("by_city")];
    let table = CreateTable { name: "t".into(), key, defined, indexes, ..CreateTable::default() };
    store.env.run(store.instance.create_table(table)).expect("created");
    store
}

fn by_city(name: &str) -> IndexSpec {
    let key = vec!["city".to_owned()];
    IndexSpec { name: name.into(), kind: IndexKind::Global, key, columns: Vec::new(), time_to_live: None }
}

/// The cities of an index, as others than the transaction see it.
fn cities(store: &Store, index: &str) -> Vec<String> {
    let city = |(key, _): Row| match key.into_iter().next() {
        Some(KeyValue::String(city)) => city,
        other => panic!("{other:?} is no city"),
    };
    store.range(&range(index, Direction::Forward)).0.into_iter().map(city).collect()
}

/// R7, R6: an index changes when the transaction is committed, in the same log record, by all that was written to a row.
#[test]
fn r7_index_rows_are_committed_with_the_rows_they_come_from() {
    let mut store = with_index();
    let city = |id, city| put("t", row(1, id), &[cell("city", text(city))]);
    store.write(&city(1, "Alta")).expect("put");
    store.write(&city(2, "Bergen")).expect("put");
    let tx = store.start(1);
    let moved = store.write_in(&tx, &city(1, "Oslo")).expect("put");
    assert_eq!(moved.consumed, Consumed { read: 1, write: 3 }, "it costs what it costs outside");
    store.write_in(&tx, &city(1, "Narva")).expect("put");
    store.write_in(&tx, &delete("t", row(1, 2))).expect("deleted");
    store.write_in(&tx, &city(3, "Vardø")).expect("put");
    store.write_in(&tx, &update("t", row(1, 3), &[change("city", ColumnOp::DeleteColumn)])).expect("updated");
    store.write_in(&tx, &city(4, "Xanten")).expect("put");
    assert_eq!(cities(&store, "by_city"), ["Alta", "Bergen"]);
    let commits = store.instance.metrics().commits;
    store.commit(&tx).expect("committed");
    assert_eq!(store.instance.metrics().commits, commits + 1);
    assert_eq!(cities(&store, "by_city"), ["Narva", "Xanten"]);
    let tx = store.start(1);
    store.write_in(&tx, &city(1, "Zadar")).expect("put");
    store.abort(&tx).expect("aborted");
    store.reopen();
    assert_eq!(cities(&store, "by_city"), ["Narva", "Xanten"]);
    let index = store.try_start("by_city", &key(&[("city", text("Narva"))]));
    assert!(refused(index).contains("explicit-transaction-disabled"), "an index has no transactions of its own");
}

/// R7: the writes of a transaction to an index that is not there yet, or no more, are unknown.
#[test]
fn r7_another_index_of_its_table_ends_a_transaction() {
    let store = with_index();
    let write = put("t", row(1, 1), &[cell("city", text("Alta"))]);
    let tx = store.start(1);
    store.write_in(&tx, &write).expect("put");
    store.env.run(store.instance.create_index("t", by_city("again"), true)).expect("created");
    assert_eq!(refused(store.commit(&tx)), GONE);
    let tx = store.start(1);
    store.write_in(&tx, &write).expect("put");
    store.env.run(store.instance.drop_index("t", "by_city")).expect("dropped");
    assert_eq!(refused(store.write_in(&tx, &write)), GONE);
    let tx = store.start(1);
    store.write_in(&tx, &write).expect("put");
    store.commit(&tx).expect("committed");
    store.env.run_until_idle();
    assert_eq!(cities(&store, "again"), ["Alta"]);
}
