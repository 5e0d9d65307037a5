//! Local transactions (R7): their reads, their locks, their writes, their cost.

use crate::store::*;
use futures_util::future::join3;
use tabstore::engine::Direction;
use tabstore::model::{Consumed, KeyInput, KeyPart, KeyType, KeyValue, TableName, Value, limits};
use tabstore::tablestore::{
    CreateTable, Existence, GetRange, GetRow, OptionsChange, Outcome, ReturnContent, RowWrite, Written,
};

pub(crate) const LOCKED: &str = "OTSRowOperationConflict: Data is being modified by the other request.";
pub(crate) const GONE: &str = "OTSSessionNotExist: Session not exist or may be timeout.";
const DISABLED: &str = "OTSParameterInvalid: Try to call method using explicit transaction on \
                        explicit-transaction-disabled table.";

/// A store with a table `t` whose key is two Integer columns, `p` and `id`.
pub(crate) fn store() -> Store {
    let store = Store::new();
    store.create("t", &[("p", KeyType::Integer), ("id", KeyType::Integer)], options());
    store
}

pub(crate) fn options() -> OptionsChange {
    OptionsChange { max_versions: Some(9), ..OptionsChange::default() }
}

pub(crate) fn row<'a>(p: i64, id: i64) -> KeyInput<'a> {
    key(&[("p", int(p)), ("id", int(id))])
}

pub(crate) fn table() -> TableName<'static> {
    TableName::parse("t").expect("a name")
}

/// All rows with one partition key value.
pub(crate) fn all_of(p: i64, direction: Direction) -> GetRange<'static> {
    let end = |part| {
        let mut key = key(&[("p", int(p))]);
        key.push("id", part);
        key
    };
    let (start, end) = match direction {
        Direction::Forward => (end(KeyPart::InfMin), end(KeyPart::InfMax)),
        Direction::Backward => (end(KeyPart::InfMax), end(KeyPart::InfMin)),
    };
    GetRange { start, end, ..range("t", direction) }
}

impl Store {
    pub(crate) fn start(&self, p: i64) -> String {
        self.try_start("t", &key(&[("p", int(p))])).expect("started")
    }

    pub(crate) fn try_start(&self, table: &str, key: &KeyInput<'_>) -> tabstore::Result<String> {
        let started = self.instance.start_local_transaction(TableName::parse(table)?, key)?;
        assert_eq!(started.consumed, Consumed::writing(1));
        Ok(started.id)
    }

    pub(crate) fn write_in(&self, transaction: &str, write: &RowWrite<'_>) -> Outcome<Written> {
        self.env.run(self.instance.write_row_in(Some(transaction), write, None))
    }

    pub(crate) fn all_in(&self, transaction: Option<&str>, key: KeyInput<'_>) -> tabstore::Result<Option<Vec<Cell>>> {
        let mut rows = Rows::default();
        let request = GetRow { table: table(), key, options: versions(9) };
        self.env.run(self.instance.get_row_in(transaction, &request, &mut rows))?;
        Ok(rows.0.pop().map(|(_, cells)| cells))
    }

    pub(crate) fn ids_in(&self, transaction: Option<&str>, request: &GetRange<'_>) -> tabstore::Result<Vec<i64>> {
        let mut rows = Rows::default();
        self.env.run(self.instance.get_range_in(transaction, request, &mut rows))?;
        Ok(ids(&rows.0))
    }

    pub(crate) fn commit(&self, transaction: &str) -> Outcome<Consumed> {
        self.env.run(self.instance.commit_transaction(transaction, None))
    }

    pub(crate) fn abort(&self, transaction: &str) -> Outcome<Consumed> {
        self.instance.abort_transaction(transaction)
    }
}

#[test]
fn r7_a_transaction_sees_what_it_wrote_and_others_see_it_once_it_is_committed() {
    let mut store = store();
    store.put(row(1, 1), &[cell("a", int(1))]);
    store.put(row(1, 2), &[cell("a", int(2))]);
    let tx = store.start(1);
    store.write_in(&tx, &update("t", row(1, 1), &[add("b", None, 5)])).expect("updated");
    store.write_in(&tx, &delete("t", row(1, 2))).expect("deleted");
    store.write_in(&tx, &put("t", row(1, 3), &[cell("a", int(3))])).expect("put");
    store.write_in(&tx, &put("t", row(1, 4), &[])).expect("put");
    store.write_in(&tx, &put("t", row(1, 3), &[cell("c", int(4))])).expect("put again");
    let states = [
        (row(1, 1), ints(&[("a", NOW, 1)]), ints(&[("a", NOW, 1), ("b", NOW + 1, 5)])),
        (row(1, 2), ints(&[("a", NOW, 2)]), None),
        (row(1, 3), None, ints(&[("c", NOW + 1, 4)])),
        (row(1, 4), None, ints(&[])),
    ];
    for (key, outside, inside) in &states {
        assert_eq!(store.all_in(None, key.clone()).expect("read"), *outside);
        assert_eq!(store.all_in(Some(&tx), key.clone()).expect("read"), *inside);
    }
    for (direction, outside, inside) in
        [(Direction::Forward, [1, 2], [1, 3, 4]), (Direction::Backward, [2, 1], [4, 3, 1])]
    {
        let request = all_of(1, direction);
        assert_eq!(store.ids_in(None, &request).expect("read"), outside);
        assert_eq!(store.ids_in(Some(&tx), &request).expect("read"), inside);
    }
    assert_eq!(store.commit(&tx).expect("committed"), Consumed::writing(1));
    for reopen in [false, true] {
        if reopen {
            store.reopen();
        }
        for (key, _, inside) in &states {
            assert_eq!(store.all_in(None, key.clone()).expect("read"), *inside);
        }
        assert_eq!(store.ids_in(None, &range("t", Direction::Forward)).expect("read"), [1, 3, 4]);
    }
}

#[test]
fn r7_nothing_of_an_aborted_transaction_was_ever_there() {
    let mut store = store();
    store.put(row(1, 1), &[cell("a", int(1))]);
    let tx = store.start(1);
    store.write_in(&tx, &delete("t", row(1, 1))).expect("deleted");
    store.write_in(&tx, &put("t", row(1, 2), &[])).expect("put");
    assert_eq!(store.abort(&tx).expect("aborted"), Consumed::writing(1));
    assert_eq!(store.ids(), [1]);
    store.put(row(1, 1), &[cell("a", int(2))]);
    store.reopen();
    assert_eq!(store.ids(), [1]);
    assert_eq!(refused(store.commit(&tx)), GONE, "a transaction lives in memory only");
}

/// R7, R6: conditions and increments inside see the transaction's own writes. The returned row is the same as outside.
#[test]
fn r7_conditions_increments_and_return_content_work_on_what_the_transaction_wrote() {
    let store = store();
    store.put(row(1, 1), &[cell("n", int(40))]);
    let tx = store.start(1);
    let write = |write: RowWrite<'_>| store.write_in(&tx, &write);
    let counting = || RowWrite {
        returns: ReturnContent::AfterModify(vec![column("n")]),
        ..update("t", row(1, 1), &[increment("n", 1)])
    };
    for expected in [41, 42] {
        let counted = write(counting()).expect("counted").row.expect("asked for");
        assert_eq!(counted.cells[0].2, Value::Integer(expected));
    }
    let failed = "OTSConditionCheckFail: Condition check failed.";
    assert_eq!(refused(write(expecting(Existence::ExpectExist, put("t", row(1, 2), &[])))), failed);
    let made = RowWrite {
        returns: ReturnContent::PrimaryKey,
        ..expecting(Existence::ExpectNotExist, put("t", row(1, 2), &[cell("n", text("x"))]))
    };
    let made = write(made).expect("made");
    assert_eq!(made.row.expect("asked for").key, [KeyValue::Integer(1), KeyValue::Integer(2)]);
    assert_eq!(made.consumed, Consumed { read: 1, write: 1 }, "as outside");
    write(expecting(Existence::ExpectExist, update("t", row(1, 2), &[add("m", None, 1)]))).expect("it exists");
    let text = "OTSParameterInvalid: Column 'n' can not be incremented: its value is not an INTEGER.";
    assert_eq!(refused(write(update("t", row(1, 2), &[increment("n", 1)]))), text);
    write(expecting(Existence::ExpectExist, delete("t", row(1, 2)))).expect("it exists");
    assert_eq!(refused(write(expecting(Existence::ExpectExist, delete("t", row(1, 2))))), failed);
    assert_eq!(store.all_in(None, row(1, 1)).expect("read"), ints(&[("n", NOW, 40)]));
    store.commit(&tx).expect("a refused write does not end it");
    assert_eq!(store.get("t", row(1, 1), versions(1)), ints(&[("n", NOW + 2, 42)]));
    assert_eq!(store.get("t", row(1, 2), versions(1)), None);
}

#[test]
fn r7_others_do_not_write_to_a_locked_partition_key_but_read_it_and_write_elsewhere() {
    let store = store();
    store.create("u", &[("p", KeyType::Integer), ("id", KeyType::Integer)], options());
    store.put(row(1, 1), &[]);
    let tx = store.start(1);
    let writes = [put("t", row(1, 1), &[]), update("t", row(1, 9), &[add("a", None, 1)]), delete("t", row(1, 1))];
    for write in &writes {
        assert_eq!(refused(store.write(write)), LOCKED);
    }
    let other = store.start(2);
    assert_eq!(refused(store.write_in(&other, &writes[0])), out_of_scope(2, 1));
    store.abort(&other).expect("aborted");
    let batch = [put("t", row(1, 2), &[]), put("t", row(2, 2), &[]), put("u", row(1, 2), &[])];
    let results = store.env.run(store.instance.batch_write_row(&batch, None)).expect("done");
    let told = results.into_iter().map(|result| result.map_or_else(|error| error.to_string(), |_| String::new()));
    assert_eq!(told.collect::<Vec<_>>(), [LOCKED, "", ""]);
    assert_eq!(store.ids_in(None, &all_of(1, Direction::Forward)).expect("read"), [1]);
    store.commit(&tx).expect("committed");
    for write in &writes {
        store.write(write).expect("the lock is gone");
    }
}

fn out_of_scope(own: i64, data: i64) -> String {
    format!("OTSDataOutOfRange: Data out of scope of transaction. Transaction PartKey:{own}. Data PartKey:{data}")
}

#[test]
fn r7_a_partition_key_has_one_transaction_at_a_time() {
    let store = store();
    store.create("s", &[("city", KeyType::String), ("id", KeyType::Integer)], options());
    store.create("b", &[("hash", KeyType::Binary)], options());
    let starts = [
        ("t", key(&[("p", int(-7))]), "-7"),
        ("s", key(&[("city", text("chengdu"))]), "chengdu"),
        ("s", key(&[("city", text(""))]), ""),
        ("b", key(&[("hash", tabstore::model::ValueRef::Binary(&[0, 0xAB]))]), "00ab"),
    ];
    for (table, key, name) in starts {
        let tx = store.try_start(table, &key).expect("started");
        assert!(tx.len() == 32 && tx.bytes().all(|byte| byte.is_ascii_hexdigit()), "{tx}");
        let text = format!("OTSRowOperationConflict: Failed to lock txn key: {name}");
        let refusal = store.try_start(table, &key).expect_err("locked");
        assert_eq!((refusal.to_string(), refusal.code().status(), refusal.retryable()), (text, 409, true));
        store.abort(&tx).expect("aborted");
        let again = store.try_start(table, &key).expect("started");
        assert_ne!(tx, again);
        store.commit(&again).expect("committed");
    }
}

#[test]
fn r7_a_transaction_writes_four_megabytes_and_no_more() {
    let store = store();
    let tx = store.start(1);
    let big = "x".repeat(1 << 20);
    // Key columns count with every row: 3 bytes of names and 16 of values.
    let put_big = |id, text: &str| {
        store.write_in(&tx, &put("t", row(1, id), &[cell("c", tabstore::model::ValueRef::String(text))])).map(|_| ())
    };
    for id in 0..3 {
        put_big(id, &big).expect("put");
    }
    let limit = 4 << 20;
    let written = 3 * ((1 << 20) + 20);
    let text = |size: usize| {
        format!(
            "OTSOutOfTransactionDataSizeLimit: The total data size of the transaction exceeds the limit, \
             limit size: {limit}, data size: {size}."
        )
    };
    assert_eq!(refused(put_big(3, &big)), text(written + (1 << 20) + 20));
    put_big(3, &big[..limit - written - 20]).expect("exactly the limit");
    assert_eq!(refused(store.write_in(&tx, &delete("t", row(1, 4)))), text(limit + 19));
    store.all_in(Some(&tx), row(1, 0)).expect("reading goes on");
    store.commit(&tx).expect("and so does committing");
    assert_eq!(store.ids(), [0, 1, 2, 3]);
}

#[test]
fn r7_rows_and_ranges_outside_of_the_partition_key_are_refused() {
    let store = store();
    store.create("u", &[("p", KeyType::Integer), ("id", KeyType::Integer)], options());
    let tx = store.start(5);
    assert_eq!(refused(store.write_in(&tx, &put("t", row(6, 1), &[]))), out_of_scope(5, 6));
    assert_eq!(refused(store.all_in(Some(&tx), row(-1, 1))), out_of_scope(5, -1));
    let other = "OTSDataOutOfRange: Data out of scope of transaction. Transaction Table:t. Data Table:u";
    assert_eq!(refused(store.write_in(&tx, &put("u", row(5, 1), &[]))), other);
    assert_eq!(refused(store.ids_in(Some(&tx), &all_of(4, Direction::Forward))), out_of_scope(5, 4));
    let mut wide = all_of(5, Direction::Forward);
    wide.end = row(6, 0);
    assert_eq!(refused(store.ids_in(Some(&tx), &wide)), out_of_scope(5, 6));
    let everything = "OTSDataOutOfRange: Data out of scope of transaction. Transaction PartKey:5. Data PartKey:INF";
    assert_eq!(refused(store.ids_in(Some(&tx), &range("t", Direction::Backward))), everything);
    let batch = vec![put("t", row(5, 1), &[]), put("t", row(6, 1), &[]), put("u", row(5, 1), &[])];
    let results = store.env.run(store.instance.batch_write_rows(Some(&tx), batch, None)).expect("done");
    let told = results.into_iter().map(|result| result.map_or_else(|error| error.to_string(), |_| String::new()));
    assert_eq!(told.collect::<Vec<_>>(), [String::new(), out_of_scope(5, 6), other.to_owned()]);
    store.commit(&tx).expect("committed");
    assert_eq!(store.ids(), [1]);
}

#[test]
fn r7_a_transaction_starts_with_the_partition_key_alone() {
    let store = store();
    let refusal = |key: KeyInput<'_>| refused(store.try_start("t", &key));
    let one = "OTSParameterInvalid: StartLocalTransaction support only one primary key.";
    assert_eq!(refusal(row(1, 2)), one);
    let none = "OTSParameterInvalid: The number of primary key columns must be in range: [1, 4].";
    assert_eq!(refusal(KeyInput::new()), none);
    assert_eq!(refusal(key(&[("id", int(1))])), "OTSInvalidPK: Validate PK name fail. Input: id, Meta: p.");
    let wrong_type = "OTSInvalidPK: Validate PK type fail. Input: VT_STRING, Meta: VT_INTEGER.";
    assert_eq!(refusal(key(&[("p", text("x"))])), wrong_type);
    let mut infinite = KeyInput::new();
    infinite.push("p", KeyPart::InfMin);
    assert_eq!(refusal(infinite), "OTSParameterInvalid: VT_INF_MIN is an invalid type for the primary key.");
    let missing = store.instance.start_local_transaction(TableName::parse("none").expect("a name"), &row(1, 1));
    assert_eq!(refused(missing), one, "what is wrong with the request itself comes first");
    let missing = store.try_start("none", &key(&[("p", int(1))]));
    assert_eq!(refused(missing), "OTSObjectNotExist: Requested table does not exist.");
}

#[test]
fn r7_tables_without_transactions_and_with_a_counted_key_refuse_them() {
    let store = store();
    let column = |name: &str| tabstore::model::KeyColumn::new(name, KeyType::Integer);
    let counted = tabstore::model::KeyColumn { auto_increment: true, ..column("id") };
    let tables = [
        CreateTable {
            name: "off".into(),
            key: vec![column("p"), column("id")],
            local_transactions: Some(false),
            ..CreateTable::default()
        },
        CreateTable { name: "counted".into(), key: vec![column("p"), counted], ..CreateTable::default() },
    ];
    for table in tables {
        let name = table.name.clone();
        store.env.run(store.instance.create_table(table)).expect("created");
        assert_eq!(refused(store.try_start(&name, &key(&[("p", int(1))]))), DISABLED);
    }
}

#[test]
fn r7_a_batch_inside_a_transaction_is_written_with_it() {
    let store = store();
    store.put(row(1, 1), &[cell("n", int(1))]);
    let tx = store.start(1);
    let batch = vec![
        update("t", row(1, 1), &[increment("n", 4)]),
        expecting(Existence::ExpectExist, put("t", row(1, 2), &[])),
        put("t", row(1, 3), &[cell("a", int(1))]),
        update("t", row(1, 3), &[add("b", None, 2)]),
        delete("t", row(1, 4)),
    ];
    // A row that comes twice must not have a condition, inside as outside.
    let results = store.env.run(store.instance.batch_write_rows(Some(&tx), batch, None)).expect("done");
    let failed = results.iter().map(Result::is_err).collect::<Vec<_>>();
    assert_eq!(failed, [false, true, false, false, false]);
    assert_eq!(store.ids(), [1]);
    let three = ints(&[("a", NOW, 1), ("b", NOW + 1, 2)]);
    assert_eq!(store.all_in(Some(&tx), row(1, 3)).expect("read"), three);
    store.commit(&tx).expect("committed");
    assert_eq!(store.ids(), [1, 3]);
    assert_eq!(store.all(row(1, 3)), three);
}

/// R5, R7: a write that was accepted before the start is seen inside, stored or not, plain or decided.
#[test]
fn r7_what_was_asked_before_the_start_is_seen_inside() {
    let store = store();
    let first = put("t", row(1, 1), &[cell("n", int(5))]);
    let count = update("t", row(1, 1), &[increment("n", 1)]);
    let inside = async {
        let started = store.instance.start_local_transaction(table(), &key(&[("p", int(1))]));
        let tx = started.expect("started").id;
        let double = update("t", row(1, 1), &[increment("n", 10)]);
        store.instance.write_row_in(Some(&tx), &double, None).await.expect("counted");
        store.instance.commit_transaction(&tx, None).await.expect("committed");
    };
    let (first, count, ()) =
        store.env.run(join3(store.instance.write_row(&first, None), store.instance.write_row(&count, None), inside));
    first.expect("put");
    count.expect("counted");
    assert_eq!(store.get("t", row(1, 1), versions(1)).expect("there")[0].2, Value::Integer(16));
}

/// V10, R7: stamps of a row increase through transactions, committed or aborted, whatever the clock does.
#[test]
fn v10_stamps_strictly_increase_through_transactions() {
    let mut store = store();
    let mut last = 0;
    let mut written = |store: &Store, cells: Option<Vec<Cell>>| {
        let newest = cells.expect("there")[0].1;
        assert!(newest > last, "{newest} after {last}");
        assert!(newest >= store.instance.now_ms(), "never behind the clock");
        last = newest;
    };
    for round in 0..12 {
        let tx = store.start(1);
        for _ in 0..2 {
            store.write_in(&tx, &update("t", row(1, 1), &[add("a", None, round)])).expect("updated");
        }
        written(&store, store.all_in(Some(&tx), row(1, 1)).expect("read"));
        if round % 3 == 1 {
            store.abort(&tx).expect("aborted");
        } else {
            store.commit(&tx).expect("committed");
        }
        store.update(row(1, 1), &[add("a", None, round)]);
        written(&store, store.all(row(1, 1)));
        match round % 4 {
            0 => store.env.advance(-50),
            1 => store.env.advance(7),
            2 => store.reopen(),
            _ => {}
        }
    }
}

/// V10, R7: a row whose deletion is remembered is not stamped below it.
#[test]
fn v10_a_row_that_was_deleted_is_stamped_above_its_deletion() {
    let mut store = store();
    store.put(row(1, 1), &[]);
    store.write(&delete("t", row(1, 1))).expect("deleted");
    store.reopen();
    store.env.advance(-1000);
    let tx = store.start(1);
    store.write_in(&tx, &put("t", row(1, 1), &[cell("a", int(1))])).expect("put");
    store.commit(&tx).expect("committed");
    assert_eq!(store.all(row(1, 1)), ints(&[("a", NOW + 2, 1)]));
}

/// R7: so many transactions may be open at once, and no more; each that ends makes room.
#[test]
fn r7_r8_the_transactions_of_an_instance_are_bounded() {
    let store = store();
    let first = store.start(0);
    (1..limits::OPEN_TRANSACTIONS as i64).for_each(|p| drop(store.start(p)));
    let start = |p| store.try_start("t", &key(&[("p", int(p))]));
    let error = start(-1).expect_err("one more");
    assert_eq!(error.to_string(), "OTSQuotaExhausted: Number of open transactions exceeds the quota:1000.");
    assert!(refused(start(7)).contains("Failed to lock txn key"), "it is the lock that this one is about");
    store.instance.abort_transaction(&first).expect("ended");
    start(-1).expect("room again");
    assert!(start(-2).is_err());
    store.env.advance(60_000);
    start(-2).expect("all are over");
}
