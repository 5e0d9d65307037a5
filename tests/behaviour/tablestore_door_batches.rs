//! Batches and local transactions through the door of Table Store.

use crate::tablestore_door::*;
use tabstore::model::Value;

/// A row of a BatchWriteRow: 1 put, 2 update, 3 delete.
fn operation(kind: i64, row: &[u8], existence: i64) -> Proto {
    proto().n(1, kind).b(2, row).m(3, condition(existence))
}

fn of_table(table: &str, operations: &[Proto]) -> Proto {
    operations.iter().fold(proto().b(1, table), |all, one| all.m(2, one.clone()))
}

fn put_row(value: i64, cells: &[WireCell]) -> Vec<u8> {
    row(&[("id", int(value))], cells, false)
}

fn keys(table: &str, values: &[i64]) -> Proto {
    values.iter().fold(proto().b(1, table), |all, value| all.b(2, id(*value))).n(6, 1)
}

/// The results of the rows of a table: whether it worked, code and text if not, the row.
fn results(table: &Got) -> Vec<(bool, String, Vec<WireRow>)> {
    let result = |item: &Got| {
        let error = item.message(2);
        let told = format!("{} {}", error.text(1).unwrap_or_default(), error.text(2).unwrap_or_default());
        (item.number(1) == Some(1), told.trim().to_owned(), rows(&item.bytes(4).unwrap_or_default()))
    };
    table.messages(2).iter().map(result).collect()
}

/// R2: each row of a batch tells its own result, in the order of the request.
#[test]
fn r2_a_batch_of_writes_tells_each_rows_result() {
    let door = Door::with_table();
    door.done("CreateTable", create("u", &[("id", 1)]));
    door.put(3, &[put("a", int(3))]);
    let t = [
        operation(1, &put_row(1, &[put("a", int(1))]), 0).m(4, proto().n(1, 1)),
        operation(2, &put_row(2, &[put("a", int(2))]), 1),
        operation(3, &row(&[("id", int(3))], &[], true), 1),
    ];
    let u = [operation(1, &put_row(9, &[]), 0)];
    let done =
        door.done("BatchWriteRow", proto().m(1, of_table("t", &t)).m(1, of_table("u", &u)).m(1, of_table("none", &u)));
    let tables = done.messages(1);
    assert_eq!(
        tables.iter().map(|table| table.text(1)).collect::<Vec<_>>(),
        ["t", "u", "none"].map(|name| Some(name.to_owned()))
    );
    let found = results(&tables[0]);
    let key = WireRow { key: vec![("id".into(), Value::Integer(1))], ..WireRow::default() };
    assert_eq!(found[0], (true, String::new(), vec![key]));
    assert_eq!(found[1], (false, "OTSConditionCheckFail Condition check failed.".into(), vec![]));
    assert_eq!(found[2], (true, String::new(), vec![]));
    assert_eq!(results(&tables[2])[0].1, "OTSObjectNotExist Requested table does not exist.");
    let of_one = &tables[0].messages(2)[2];
    assert_eq!((of_one.units(3), tables[0].messages(2)[1].bytes(3)), ((1, 1), None));
    assert_eq!((door.row(2), door.row(3)), (None, None));
    assert!(door.row(1).is_some());
}

/// R2: a batch of reads, with rows that are not there and a table twice.
#[test]
fn r2_a_batch_of_reads_keeps_the_order_of_the_request() {
    let door = Door::with_table();
    for value in [1, 2, 3] {
        door.put(value, &[put("a", int(value)), put("b", int(0))]);
    }
    let body = proto()
        .m(1, keys("t", &[3, 7, 1]))
        .m(1, keys("t", &[2]).b(4, "a"))
        .m(1, keys("none", &[1]))
        .m(1, keys("t", &[]));
    let found = door.done("BatchGetRow", body);
    let tables = found.messages(1);
    let ids = |table: &Got| {
        let row =
            |(is_ok, _, rows): (bool, String, Vec<WireRow>)| (is_ok, rows.first().map(|row| row.key[0].1.clone()));
        results(table).into_iter().map(row).collect::<Vec<_>>()
    };
    let there = |value| (true, Some(Value::Integer(value)));
    assert_eq!(ids(&tables[0]), [there(3), (true, None), there(1)]);
    assert_eq!(results(&tables[1])[0].2[0].cells.len(), 1, "only the named column");
    assert_eq!(results(&tables[2])[0].1, "OTSObjectNotExist Requested table does not exist.");
    assert!(ids(&tables[3]).is_empty());
    assert_eq!(tables[0].messages(2)[1].bytes(4), Some(Vec::new()));
}

/// R2, R8: an answer has no more rows once it has 16 MB, of all tables. The others can be read by themselves.
#[test]
fn r2_r8_a_batch_of_reads_ends_at_some_size() {
    let door = Door::with_table();
    let large = |name| put(name, Held::V(Value::Binary(vec![7; 2 * 1024 * 1024 - 1000])));
    for value in 0..7 {
        door.put(value, &[large("a"), large("b")]);
    }
    let body = proto().m(1, keys("t", &[0, 1, 2])).m(1, keys("t", &[3, 4, 5, 99, 6]));
    let found = door.done("BatchGetRow", body);
    let all: Vec<_> = found.messages(1).iter().flat_map(results).collect();
    let busy = "OTSServerBusy Server is busy.";
    assert_eq!(all.iter().map(|row| row.0).collect::<Vec<_>>(), [true, true, true, true, true, false, true, false]);
    assert_eq!((all[5].1.as_str(), all[7].1.as_str()), (busy, busy));
    assert!(all[6].2.is_empty(), "it is not there");
    let rest = door.done("BatchGetRow", proto().m(1, keys("t", &[5, 6])));
    assert!(results(&rest.messages(1)[0]).iter().all(|row| row.0 && row.2[0].cells.len() == 2));
}

/// R2, R8: what refuses a batch as a whole.
#[test]
fn r2_r8_a_batch_that_is_wrong_is_refused_as_a_whole() {
    let door = Door::with_table();
    let invalid = |operation: &str, body: Proto, text: &str| {
        assert_eq!(door.refused(operation, body), format!("400 OTSParameterInvalid: {text}"));
    };
    invalid("BatchWriteRow", proto(), "No row is specified in BatchWriteRow.");
    invalid("BatchGetRow", proto(), "No row specified in the request of BatchGetRow.");
    invalid("BatchWriteRow", proto().m(1, of_table("t", &[])), "No operation is specified for table: 't'.");
    let many = |count: i64| (0..count).map(|value| operation(1, &put_row(value, &[]), 0)).collect::<Vec<_>>();
    invalid("BatchWriteRow", proto().m(1, of_table("t", &many(201))), "Rows count exceeds the upper limit: 200.");
    let halves = proto().m(1, of_table("t", &many(150))).m(1, of_table("t", &many(51)));
    invalid("BatchWriteRow", halves, "Rows count exceeds the upper limit: 200.");
    let all: Vec<i64> = (0..101).collect();
    invalid("BatchGetRow", proto().m(1, keys("t", &all)), "Rows count exceeds the upper limit: 100.");
    let wrong = operation(4, &put_row(1, &[]), 0);
    invalid(
        "BatchWriteRow",
        proto().m(1, of_table("t", &[wrong])),
        "The type of row in batch write operation is invalid.",
    );
    let twice = [operation(1, &put_row(1, &[]), 2), operation(1, &put_row(1, &[]), 0)];
    let text = "Repeated rows do not support row exist expectation check in BatchModify.";
    invalid("BatchWriteRow", proto().m(1, of_table("t", &twice)), text);
    let unversioned = proto().b(1, "t").b(2, id(1));
    invalid("BatchGetRow", proto().m(1, unversioned), "No version condition is specified while querying row.");
    let large = put("a", Held::V(Value::Binary(vec![0; 2 * 1024 * 1024 - 100])));
    let rows: Vec<_> =
        (0..2).map(|value| operation(1, &put_row(value, &[large.clone(), put("b", text_of(200))]), 0)).collect();
    let refused = door.refused("BatchWriteRow", proto().m(1, of_table("t", &rows)));
    assert!(
        refused.contains("The total data size of BatchWriteRow request exceeds the limit, limit size: 4194304"),
        "{refused}"
    );
    assert_eq!(door.row(1), None, "nothing was stored");
    let good = door.done("BatchWriteRow", proto().m(1, of_table("t", &many(200))));
    assert!(results(&good.messages(1)[0]).iter().all(|result| result.0));
}

fn text_of(length: usize) -> Held {
    text(&"x".repeat(length))
}

/// R4: an atomic batch is stored as a whole or not at all.
#[test]
fn r4_an_atomic_batch_is_done_as_a_whole() {
    let door = Door::new();
    door.done("CreateTable", create("t", &[("id", 1), ("b", 1)]));
    let at = |b: i64, existence| operation(1, &row(&[("id", int(1)), ("b", int(b))], &[], false), existence);
    let send = |operations: &[Proto]| door.done("BatchWriteRow", proto().m(1, of_table("t", operations)).n(3, 1));
    let failed = send(&[at(1, 0), at(2, 1)]);
    assert!(results(&failed.messages(1)[0]).iter().all(|result| !result.0), "one fails, so all do");
    let row = |b: i64| {
        let found = door.done("GetRow", get("t", &key(&[("id", int(1)), ("b", int(b))])));
        !found.bytes(2).expect("a field").is_empty()
    };
    assert!(!row(1) && !row(2));
    assert!(results(&send(&[at(1, 0), at(2, 2)]).messages(1)[0]).iter().all(|result| result.0));
    assert!(row(1) && row(2));
    let other = operation(1, &crate::tablestore_door::row(&[("id", int(2)), ("b", int(1))], &[], false), 0);
    let out = send(&[at(3, 0), other]);
    let text = "OTSDataOutOfRange Data out of scope of atomic. Atomic PartKey:1. Data PartKey:2";
    assert!(results(&out.messages(1)[0]).iter().all(|result| result.1 == text), "{out:?}");
}

/// A door with a table `t` that allows local transactions.
fn transactional() -> Door {
    let door = Door::new();
    door.done("CreateTable", create("t", &[("id", 1)]).n(8, 1));
    door
}

fn start(door: &Door, value: i64) -> String {
    door.done("StartLocalTransaction", proto().b(1, "t").b(2, id(value))).text(1).expect("an id")
}

/// R7: what a transaction writes is seen inside, and outside once it is committed.
#[test]
fn r7_a_transaction_is_committed_or_aborted() {
    let door = transactional();
    for commits in [true, false] {
        door.put(1, &[put("a", int(1))]);
        let transaction = start(&door, 1);
        let changed = write("t", &put_row(1, &[put("a", int(2))]), 0).b(5, &transaction);
        door.done("PutRow", changed);
        let inside = door.done("GetRow", get("t", &id(1)).b(11, &transaction));
        assert_eq!(plain(&rows(&inside.bytes(2).expect("a row"))[0]).1[0].1, Value::Integer(2));
        let range = proto().b(1, "t").n(2, 0).n(5, 1).b(7, id(1)).b(8, key(&[("id", int(2))])).b(14, &transaction);
        assert_eq!(
            door.refused("GetRange", range),
            "400 OTSDataOutOfRange: Data out of scope of transaction. Transaction PartKey:1. Data PartKey:2"
        );
        let body = proto().m(1, of_table("t", &[operation(2, &put_row(1, &[put("b", int(3))]), 0)])).b(2, &transaction);
        assert!(results(&door.done("BatchWriteRow", body).messages(1)[0])[0].0);
        let conflict = door.refused("PutRow", write("t", &put_row(1, &[]), 0));
        assert_eq!(conflict, "409 OTSRowOperationConflict: Data is being modified by the other request.");
        assert_eq!(door.row(1), Some(vec![("a".into(), Value::Integer(1))]), "outside");
        let operation = if commits { "CommitTransaction" } else { "AbortTransaction" };
        let ended = door.done(operation, proto().b(1, &transaction));
        // One client reads the answer to an abortion as if it were the request.
        assert_eq!(ended.text(1), (!commits).then(|| transaction.clone()));
        assert_eq!(door.row(1).map(|row| row.len()), Some(if commits { 2 } else { 1 }));
        let again = door.refused(operation, proto().b(1, &transaction));
        assert_eq!(again, "404 OTSSessionNotExist: Session not exist or may be timeout.");
    }
}

/// R7: transactions that the service does not start.
#[test]
fn r7_a_transaction_is_refused_by_name() {
    let door = transactional();
    door.done("CreateTable", create("plain", &[("id", 1)]));
    let disabled = door.refused("StartLocalTransaction", proto().b(1, "plain").b(2, id(1)));
    let text = "Try to call method using explicit transaction on explicit-transaction-disabled table.";
    assert_eq!(disabled, format!("400 OTSParameterInvalid: {text}"));
    start(&door, 1);
    let second = door.refused("StartLocalTransaction", proto().b(1, "t").b(2, id(1)));
    assert_eq!(second, "409 OTSRowOperationConflict: Failed to lock txn key: 1");
    let two = key(&[("id", int(1)), ("b", int(1))]);
    let more = door.refused("StartLocalTransaction", proto().b(1, "t").b(2, two));
    assert_eq!(more, "400 OTSParameterInvalid: StartLocalTransaction support only one primary key.");
    for id in ["", "x"] {
        let refused = door.refused("CommitTransaction", proto().b(1, id));
        assert_eq!(refused, "400 OTSParameterInvalid: TransactionID is invalid.");
    }
    let refused = door.refused("CommitTransaction", proto());
    assert_eq!(refused, "400 OTSParameterInvalid: Parse PBMessage from RawString failed.");
    let both = proto().m(1, of_table("t", &[operation(1, &put_row(1, &[]), 0)])).b(2, "x").n(3, 1);
    let refused = door.refused("BatchWriteRow", both);
    assert_eq!(refused, "400 OTSParameterInvalid: A batch in a transaction cannot be atomic.");
}
