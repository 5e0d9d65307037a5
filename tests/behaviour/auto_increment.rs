//! Key columns whose values the store gives (R6).

use crate::store::*;
use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use tabstore::engine::{Direction, Engine};
use tabstore::env::Env;
use tabstore::error::{Code, Error};
use tabstore::model::filter::Comparator;
use tabstore::model::{KeyColumn, KeyInput, KeyPart, KeyType, KeyValue, TableName};
use tabstore::storage::MemoryStorage;
use tabstore::storage::faults::{Call, Hook, Hooked};
use tabstore::tablestore::{
    ColumnOp, CreateTable, Existence, GetRange, GetRow, Instance, OptionsChange, ReturnContent, RowWrite, TableRead,
};

fn request() -> CreateTable {
    request_with(true)
}

/// A table whose new rows may have a chosen value, or not.
fn request_with(allow_chosen: bool) -> CreateTable {
    let counted = KeyColumn { auto_increment: true, allow_chosen, ..KeyColumn::new("seq", KeyType::Integer) };
    let key = vec![KeyColumn::new("box", KeyType::String), counted];
    CreateTable { name: "t".into(), key, options: OptionsChange::default(), ..CreateTable::default() }
}

fn table() -> Store {
    let store = Store::new();
    store.env.run(store.instance.create_table(request())).expect("created");
    store
}

fn next(name: &str) -> KeyInput<'_> {
    let mut key = key(&[("box", text(name))]);
    key.push("seq", KeyPart::AutoIncrement);
    key
}

fn chosen(name: &str, seq: i64) -> KeyInput<'_> {
    key(&[("box", text(name)), ("seq", int(seq))])
}

fn returning(write: RowWrite<'_>) -> RowWrite<'_> {
    RowWrite { returns: ReturnContent::PrimaryKey, ..write }
}

/// Puts a row and gives the value that it got.
fn add(store: &Store, name: &str) -> i64 {
    let written = store.write(&returning(put("t", next(name), &[cell("a", int(1))]))).expect("put");
    let row = written.row.expect("the key was asked for");
    assert_eq!((written.consumed.read, written.consumed.write), (0, 1), "giving the key back costs nothing");
    match row.key[..] {
        [KeyValue::String(ref at), KeyValue::Integer(seq)] if at == name => seq,
        ref other => panic!("{other:?}"),
    }
}

/// R6: positive, strictly increasing under each partition key, also after a crash.
#[test]
fn r6_assigned_values_increase_also_after_a_crash() {
    let mut store = table();
    let mut last = 0;
    for round in 0..5 {
        for step in 0..30 {
            let seq = add(&store, if step % 3 == 0 { "a" } else { "b" });
            assert!(seq > last, "round {round}: {seq} after {last}");
            last = seq;
        }
        store.reopen();
    }
    let rows = store.range(&range("t", tabstore::engine::Direction::Forward)).0;
    assert_eq!(rows.len(), 150, "no row replaced another");
}

/// R6: UpdateRow makes a row of its own with a value to be given, too.
#[test]
fn r6_an_update_may_make_the_row() {
    let store = table();
    let write = returning(update("t", next("a"), &[crate::store::add("n", None, 5), increment("m", 2)]));
    let row = store.write(&write).expect("made").row.expect("asked for");
    assert_eq!(row.key[1], KeyValue::Integer(1));
    assert_eq!(store.all(chosen("a", 1)).expect("there").len(), 2);
}

/// R6: an application's own value is kept, and the count goes on above it.
#[test]
fn r6_the_count_goes_on_above_chosen_values() {
    let mut store = table();
    assert_eq!(add(&store, "a"), 1);
    store.put(chosen("a", 500), &[cell("a", int(7))]);
    assert_eq!(add(&store, "a"), 501);
    store.reopen();
    assert!(add(&store, "a") > 501);
    assert_eq!(store.all(chosen("a", 500)).expect("kept")[0].2, tabstore::model::Value::Integer(7));
    store.write(&delete("t", chosen("a", 501))).expect("a given value names its row");
}

/// R6: as in the service, a given value stands for a row that is there, unless the table allows chosen ones.
#[test]
fn r6_a_given_value_names_a_row_that_is_there() {
    let mut store = Store::new();
    store.env.run(store.instance.create_table(request_with(false))).expect("created");
    let first = add(&store, "a");
    for round in 0..2 {
        let missing = || chosen("a", 500 + round);
        let failed_with = |error: Error| {
            assert_eq!((error.code(), error.message()), (Code::ConditionCheckFail, "Condition check failed."));
            assert!(error.hint().is_some_and(|hint| hint.contains("gives new rows their 'seq'")), "{:?}", error.hint());
        };
        let cells = [cell("a", int(7))];
        failed_with(store.write(&put("t", missing(), &cells)).expect_err("refused").error);
        failed_with(
            store.write(&update("t", missing(), &[crate::store::add("a", None, 5)])).expect_err("refused").error,
        );
        failed_with(store.write(&update("t", missing(), &[increment("m", 2)])).expect_err("refused").error);
        failed_with(
            store.write(&update("t", missing(), &[change("a", ColumnOp::DeleteColumn)])).expect_err("refused").error,
        );
        let batch = [put("t", missing(), &cells), put("t", chosen("a", first), &cells), put("t", next("a"), &cells)];
        let mut told = store.env.run(store.instance.batch_write_row(&batch, None)).expect("a right batch");
        assert!(told.pop().is_some_and(|last| last.is_ok()) && told.pop().is_some_and(|second| second.is_ok()));
        failed_with(told.remove(0).expect_err("refused").error);
        assert_eq!(store.all(missing()), None, "nothing of it is stored");

        // A row that is there is replaced, updated, and deleted; a missing one may be deleted.
        store.put(chosen("a", first), &[cell("a", int(8))]);
        store.write(&update("t", chosen("a", first), &[crate::store::add("b", None, 9)])).expect("there");
        let expects = expecting(Existence::ExpectExist, put("t", chosen("a", first), &cells));
        store.write(&expects).expect("there");
        let never = expecting(Existence::ExpectNotExist, put("t", chosen("a", first), &cells));
        let text = "OTSParameterInvalid: Invalid expect: EXPECT_NOT_EXIST when modify a specific row for table with pk auto increment";
        assert_eq!(refused(store.write(&never)), text);
        store.write(&delete("t", missing())).expect("a missing row may be deleted");
        // The rule is stored with the table.
        store.reopen();
    }
    assert!(add(&store, "a") < 500, "a refused value does not move the count");
    store.write(&delete("t", chosen("a", first))).expect("deleted");
    let again = store.write(&put("t", chosen("a", first), &[])).expect_err("it is gone");
    assert_eq!(again.error.code(), Code::ConditionCheckFail);
    let described = store.instance.describe_table("t").expect("there");
    assert!(described.schema.assigned_only().is_some());
}

/// The greatest integer that JavaScript's numbers hold exactly.
const EXACT: i64 = (1 << 53) - 1;

/// R6: a value that is assigned never names a row that is there, however large a value the application chose.
#[test]
fn r6_an_assigned_value_never_replaces_a_row_that_was_chosen_beyond_2_53() {
    let mut store = table();
    let mine = [cell("mine", int(1))];
    store.put(chosen("a", EXACT + 7), &mine);
    assert_eq!(add(&store, "a"), 1, "one huge value does not use up all that lies between");
    let batch = [put("t", chosen("b", EXACT + 20), &mine), put("t", chosen("a", EXACT), &mine)];
    let written = store.env.run(store.instance.batch_write_row(&batch, None)).expect("a right batch");
    assert!(written.iter().all(Result::is_ok));
    assert_eq!(add(&store, "b"), EXACT + 21, "the count has come to the values beyond");
    store.put(chosen("a", EXACT + 300), &mine);
    store.reopen();
    let first = add(&store, "a");
    assert!(first > EXACT + 300, "{first}");
    store.put(chosen("a", i64::MAX - 2), &mine);
    assert_eq!(add(&store, "a"), i64::MAX - 1);
    let text = "OTSParameterInvalid: The auto increment primary key has no values left.";
    assert_eq!(refused(store.write(&put("t", next("a"), &[]))), text);
    store.reopen();
    assert_eq!(refused(store.write(&put("t", next("a"), &[]))), text);
    for row in [chosen("a", EXACT), chosen("a", EXACT + 7), chosen("b", EXACT + 20), chosen("a", EXACT + 300)] {
        assert_eq!(store.get("t", row, columns(&["mine"])).map(|cells| cells.len()), Some(1));
    }
}

/// R6: the same where the greatest integer there is was chosen.
#[test]
fn r6_the_count_goes_on_below_the_greatest_integer() {
    let mut store = table();
    store.put(chosen("a", i64::MAX), &[]);
    store.reopen();
    assert_eq!(add(&store, "a"), 100, "behind what was reserved with the row");
    store.put(chosen("a", EXACT - 1), &[]);
    assert_eq!(add(&store, "a"), EXACT);
    let error = store.write(&put("t", next("a"), &[])).expect_err("no value is left below 2^53");
    let text = "OTSParameterInvalid: The auto increment primary key has no values left.";
    assert_eq!(error.error.to_string(), text);
    assert!(error.error.hint().expect("one").contains("'t'"), "{:?}", error.error.hint());
}

/// R6, with the service's texts.
#[test]
fn r6_what_cannot_be_asked_of_a_row_without_its_key() {
    let store = table();
    let put = || put("t", next("a"), &[cell("a", int(1))]);
    let refusal = |write: RowWrite<'_>| refused(store.write(&write));
    assert_eq!(
        refusal(expecting(Existence::ExpectNotExist, put())),
        "OTSParameterInvalid: Invalid expect:EXPECT_NOT_EXIST when modify row with pk auto increment"
    );
    assert_eq!(
        refusal(expecting(Existence::ExpectExist, put())),
        "OTSParameterInvalid: Invalid expect:EXPECT_EXIST when modify row with pk auto increment"
    );
    assert_eq!(
        refusal(delete("t", next("a"))),
        "OTSParameterInvalid: Invalid row to delete which with pk auto increment"
    );
    let condition = compare("a", Comparator::Equal, int(1));
    assert_eq!(
        refusal(RowWrite { column_condition: Some(Box::new(condition)), ..put() }),
        "OTSParameterInvalid: Can't set condition when modify row with pk auto increment"
    );
    let mut other = KeyInput::new();
    other.push("box", KeyPart::AutoIncrement);
    other.push("seq", KeyPart::Value(int(1)));
    assert_eq!(
        refusal(crate::store::put("t", other, &[])),
        "OTSParameterInvalid: VT_AUTO_INCREMENT is an invalid type for the primary key."
    );
    assert_eq!(add(&store, "a"), 1, "nothing was stored");
}

#[test]
fn r6_reads_name_their_rows() {
    let store = table();
    let message = "OTSParameterInvalid: PKAutoIncr can't be used for read operations.";
    let (name, options) = (TableName::parse("t").expect("a name"), versions(1));
    let get = GetRow { table: name, key: next("a"), options: options.clone() };
    assert_eq!(refused(store.env.run(store.instance.get_row(&get, &mut Rows::default()))), message);
    let batch = [TableRead { table: name, keys: vec![chosen("a", 1), next("a")], options }];
    assert_eq!(refused(store.env.run(store.instance.batch_get_row(&batch, &mut [Rows::default()]))), message);
    for (start, end) in [(next("a"), chosen("b", 1)), (chosen("a", 1), next("b"))] {
        let range = GetRange { start, end, ..range("t", Direction::Forward) };
        assert_eq!(refused(store.env.run(store.instance.get_range(&range, &mut Rows::default()))), message);
    }
}

/// R6: the values of writes that are under way at once are all different.
#[test]
fn r6_concurrent_rows_get_different_values() {
    let store = table();
    let write = returning(put("t", next("a"), &[]));
    let writes = (0..300).map(|_| store.instance.write_row(&write, None));
    let written = store.env.run(futures_util::future::join_all(writes));
    let mut seqs: Vec<i64> = written
        .into_iter()
        .map(|written| match written.expect("put").row.expect("asked for").key[1] {
            KeyValue::Integer(seq) => seq,
            ref other => panic!("{other:?}"),
        })
        .collect();
    assert!(seqs.is_sorted(), "in call order");
    seqs.dedup();
    assert_eq!(seqs.len(), 300);
}

/// R6: how far values are given away is stored with the first row that needs it, whatever was refused before.
#[test]
fn r6_a_refused_write_does_not_make_values_come_twice() {
    let mut store = table();
    let missing = expecting(Existence::ExpectExist, put("t", chosen("a", 5), &[]));
    assert!(refused(store.write(&missing)).contains("Condition check failed"));
    let atomic = [put("t", next("a"), &[]), put("t", next("b"), &[])];
    let told = store.env.run(store.instance.batch_write_row_atomic(&atomic, None)).expect("a right batch");
    assert!(told.iter().all(Result::is_err), "two partition keys");
    let before = add(&store, "a");
    store.reopen();
    let after = add(&store, "a");
    assert!(after > before, "{after} after {before}");
}

/// A storage that gives no blocks while this is set, and that may be full.
#[derive(Default)]
struct Held {
    now: Cell<bool>,
    waited: Cell<bool>,
    full: Cell<bool>,
    refused: Cell<bool>,
}

impl Hook for Held {
    async fn before(&self, call: &Call) -> tabstore::Result<()> {
        if self.full.get() && matches!(call, Call::Commit(_)) {
            self.refused.set(true);
            return Err(Error::new(Code::QuotaExceeded, "full"));
        }
        let blocks = matches!(call, Call::GetBlocks(_));
        poll_fn(|context| {
            if !(blocks && self.now.get()) {
                return Poll::Ready(Ok(()));
            }
            self.waited.set(true);
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await
    }
}

type Holding = Instance;

/// A table whose rows 1 to 4 lie in blocks of their own; `hook` sees the calls of its storage.
fn with_blocks(store: &Store, hook: Rc<Held>) -> (MemoryStorage, Rc<Holding>) {
    // Nothing that compresses well.
    let mut state = 1_u32;
    let mut letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b' ' + (state >> 24) as u8 % 90)
    };
    let big: String = (0..200_000).map(|_| letter()).collect();
    for seq in 1..=4 {
        store.put(chosen("a", seq), &[cell("a", text(&big))]);
    }
    store.env.run(store.instance.flush()).expect("flushed");
    let storage = store.storage.image();
    let hooked = Hooked::new(storage.clone(), hook);
    let instance = store.env.run(async {
        let engine = Engine::open(hooked, Rc::new(store.env.clone()), store.engine_options.clone()).await?;
        Instance::open(engine, store.options).await
    });
    (storage, instance.expect("opens"))
}

/// R6: the end of the given values is stored with a row that needs it. That also holds if the write that carried it
/// before has failed while the row waited for its turn.
#[test]
fn r6_a_row_that_waited_does_not_rely_on_a_commit_that_failed() {
    let (mut store, held) = (table(), Rc::new(Held::default()));
    let (storage, instance) = with_blocks(&store, Rc::clone(&held));
    // Stamps are drawn from the clock, without a look at the rows.
    store.env.advance(1000);
    held.now.set(true);
    held.full.set(true);
    // It holds the turns of both rows, and stores nothing.
    let holder = [expecting(Existence::ExpectNotExist, put("t", chosen("a", 3), &[])), delete("t", chosen("a", 150))];
    let (reserving, mine) = (put("t", next("a"), &[]), put("t", chosen("a", 150), &[cell("mine", int(1))]));
    store.env.run(async {
        let release = async {
            while !held.refused.get() {
                store.env.yield_now().await;
            }
            held.full.set(false);
            held.now.set(false);
        };
        let (holder, reserving, mine, ()) = futures_util::future::join4(
            instance.batch_write_row_atomic(&holder, None),
            instance.write_row(&reserving, None),
            instance.write_row(&mine, None),
            release,
        )
        .await;
        assert!(held.waited.get() && holder.expect("a right batch").iter().all(Result::is_err));
        assert!(refused(reserving).contains("full"));
        mine.expect("stored");
    });
    store.storage = storage;
    store.reopen();
    while add(&store, "a") < 150 {}
    assert_eq!(store.get("t", chosen("a", 150), columns(&["mine"])).map(|cells| cells.len()), Some(1));
}

/// R6: a write that comes late to a deleted table says nothing of the count of the one that has its name now.
#[test]
fn r6_a_late_write_of_a_deleted_table_does_not_set_the_next_ones_count_back() {
    let (store, held) = (table(), Rc::new(Held::default()));
    let (storage, instance) = with_blocks(&store, Rc::clone(&held));
    held.now.set(true);
    let late = [update("t", chosen("a", 3), &[increment("n", 1)]), put("t", chosen("a", 700), &[])];
    let next_row = returning(put("t", next("a"), &[]));
    store.env.run(async {
        let again = async {
            instance.delete_table("t").await.expect("deleted");
            instance.create_table(request()).await.expect("created");
            instance.write_row(&next_row, None).await.expect("written");
            assert!(held.waited.get(), "the late write has not been decided yet");
            held.now.set(false);
        };
        let late = instance.batch_write_row_atomic(&late, None);
        let (late, ()) = futures_util::future::join(late, again).await;
        assert!(late.expect("a right batch").iter().all(Result::is_ok), "it was asked for before the table went");
    });
    let store = Store { storage, instance: Rc::clone(&store.instance), env: store.env.clone(), ..store };
    let mut store = store;
    store.reopen();
    assert!(add(&store, "a") > 1, "the first value was given away before the crash");
}
