//! BatchGetRow and BatchWriteRow (R2).

use crate::store::*;
use futures_util::future::join;
use tabstore::Code;
use tabstore::model::{Consumed, KeyInput, KeyType, TableName};
use tabstore::storage::faults::{FlipByte, Record, YieldOnce};
use tabstore::storage::{BlockId, MemoryStorage, Storage as _};
use tabstore::tablestore::{
    Existence, Failure, Found, OptionsChange, Outcome, ReadOptions, RowWrite, TableRead, Written,
};

type Results = Vec<Vec<Outcome<Found>>>;

fn store() -> Store {
    let store = Store::with_table(OptionsChange { max_versions: Some(9), ..OptionsChange::default() });
    store.create("u", &[("id", KeyType::Integer)], OptionsChange::default());
    store
}

fn batch(store: &Store, writes: &[RowWrite<'_>]) -> Outcome<Vec<Outcome<Written>>> {
    store.env.run(store.instance.batch_write_row(writes, None))
}

fn read<'a>(table: &'a str, keys: &[KeyInput<'a>], options: ReadOptions<'a>) -> TableRead<'a> {
    TableRead { table: TableName::parse(table).expect("a name"), keys: keys.to_vec(), options }
}

fn get(store: &Store, tables: &[TableRead<'_>]) -> Outcome<(Results, Vec<Rows>)> {
    let mut sinks = tables.iter().map(|_| Rows::default()).collect::<Vec<_>>();
    let results = store.env.run(store.instance.batch_get_row(tables, &mut sinks))?;
    Ok((results, sinks))
}

#[test]
fn r2_rows_of_a_batch_fail_one_by_one() {
    let store = store();
    store.put(id(3), &[cell("a", int(3))]);
    let writes = [
        put("t", id(1), &[cell("a", int(1))]),
        expecting(Existence::ExpectExist, update("t", id(2), &[add("a", None, 1)])),
        put("missing", id(1), &[]),
        put("t", key(&[("id", text("x"))]), &[]),
        put("t", id(4), &[cell_at("a", 5, int(1))]),
        put("u", id(5), &[cell("a", int(5))]),
        delete("t", id(3)),
    ];
    let results = batch(&store, &writes).expect("a right batch");
    let told = results.iter().map(|result| match result {
        Ok(written) => format!("ok {}", written.consumed.write),
        Err(failure) => failure.to_string(),
    });
    let expected = [
        "ok 1",
        "OTSConditionCheckFail: Condition check failed.",
        "OTSObjectNotExist: Requested table does not exist.",
        "OTSInvalidPK: Validate PK type fail. Input: VT_STRING, Meta: VT_INTEGER.",
        "OTSParameterInvalid: Invalid timestamp. Cell:a.",
        "ok 1",
        "ok 1",
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    assert_eq!(store.ids(), [1]);
    assert!(store.get("u", id(5), versions(1)).is_some());
}

#[test]
fn r2_writes_on_one_row_take_effect_in_their_order() {
    let store = store();
    let mut writes = vec![put("t", id(1), &[cell("a", int(0))])];
    writes.extend((1..150).map(|n| update("t", id(1), &[add("a", None, n)])));
    for result in batch(&store, &writes).expect("a right batch") {
        result.expect("written");
    }
    let newest = (0..9).map(|back| ("a", NOW + 149 - back, 149 - back)).collect::<Vec<_>>();
    assert_eq!(store.all(id(1)), ints(&newest));
}

#[test]
fn r2_a_wrong_batch_fails_as_a_whole_and_stores_nothing() {
    let store = store();
    let too_long = "x".repeat(2_097_153);
    let big = "x".repeat(2_097_152);
    let refusals = [
        (vec![], "No row is specified in BatchWriteRow."),
        ((0..201).map(|n| put("t", id(n), &[])).collect(), "Rows count exceeds the upper limit: 200."),
        (
            vec![put("t", id(1), &[]), put("t", id(2), &[cell("attr", text(&too_long))])],
            "The length of attribute column: 'attr' exceeds the MaxLength:2097152 with CurrentLength:2097153.",
        ),
        (
            // Each weighs 10 bytes of key, 1 of name and its value: 22 bytes above 4 MB together.
            vec![put("t", id(1), &[cell("a", text(&big))]), put("t", id(2), &[cell("a", text(&big))])],
            "The total data size of BatchWriteRow request exceeds the limit, limit size: 4194304, data size: 4194326.",
        ),
        (
            vec![put("t", id(1), &[]), expecting(Existence::ExpectNotExist, put("t", id(1), &[]))],
            "Repeated rows do not support row exist expectation check in BatchModify.",
        ),
        (
            vec![expecting(Existence::ExpectNotExist, put("t", id(1), &[])), delete("t", id(1))],
            "Repeated rows do not support row exist expectation check in BatchModify.",
        ),
        (
            vec![update("t", id(1), &[increment("a", 1)]), put("t", id(2), &[]), delete("t", id(1))],
            "Repeated rows do not support increment in BatchModify.",
        ),
    ];
    for (writes, message) in refusals {
        let failure = batch(&store, &writes).expect_err("refused");
        assert_eq!(failure.to_string(), format!("OTSParameterInvalid: {message}"));
        assert_eq!(failure.consumed, Consumed::default(), "a batch refused as a whole costs nothing");
    }
    assert_eq!(store.ids(), [0; 0]);
    let two_hundred = (0..200).map(|n| put("t", id(n), &[])).collect::<Vec<_>>();
    assert!(batch(&store, &two_hundred).expect("right").iter().all(Result::is_ok));
    let conditions = [1, 2].map(|n| expecting(Existence::ExpectExist, update("t", id(n), &[increment("a", 1)])));
    assert!(batch(&store, &conditions).expect("different rows").iter().all(Result::is_ok));
}

#[test]
fn r2_many_rows_of_many_tables_are_read_in_their_order() {
    let store = store();
    for n in 0..5 {
        store.put(id(n), &[cell("a", int(n)), cell("b", int(-n))]);
    }
    store.write(&put("u", id(9), &[cell("a", int(9))])).expect("put");
    let wrong = key(&[("no", int(1))]);
    let tables = [
        read("t", &[id(4), id(77), wrong, id(0), id(4)], columns(&["a"])),
        read("missing", &[id(1), id(2)], versions(1)),
        read("u", &[id(9)], versions(1)),
        read("t", &[], versions(1)),
        read("t", &[id(1)], versions(1)),
    ];
    let (results, rows) = get(&store, &tables).expect("right");
    let told = |results: &[Outcome<Found>]| {
        let one = |result: &Outcome<Found>| match result {
            Ok(Found { row, consumed }) => format!("{row} {}", consumed.read),
            Err(failure) => failure.error.message().to_owned(),
        };
        results.iter().map(one).collect::<Vec<_>>()
    };
    let no_name = "Validate PK name fail. Input: no, Meta: id.";
    assert_eq!(told(&results[0]), ["true 1", "false 1", no_name, "true 1", "true 1"]);
    assert_eq!(ids(&rows[0].0), [4, 0, 4]);
    assert_eq!(rows[0].0[0].1, ints(&[("a", NOW, 4)]).expect("cells"));
    assert_eq!(told(&results[1]), ["Requested table does not exist."; 2]);
    assert_eq!((ids(&rows[2].0), told(&results[3]).len(), ids(&rows[4].0)), (vec![9], 0, vec![1]));
}

/// R5 holds across the tables of a batch: a write that is asked for after it is not seen by the read of its last table.
#[test]
fn r5_a_batch_reads_all_its_tables_before_what_is_asked_for_later() {
    let store = store();
    store.put(id(1), &[cell("a", int(1))]);
    store.write(&put("u", id(1), &[cell("a", int(1))])).expect("put");
    store.compact();
    // Nothing is in memory, and every call of the storage takes a while.
    let instance = store.opened_with(YieldOnce).expect("opens");
    let tables = ["t", "u"].map(|table| read(table, &[id(1)], versions(1)));
    let mut sinks = [Rows::default(), Rows::default()];
    let later = put("u", id(1), &[cell("a", int(2))]);
    let reading = instance.batch_get_row(&tables, &mut sinks);
    let (read, written) = store.env.run(join(reading, instance.write_row(&later, None)));
    read.expect("read");
    written.expect("written");
    for Rows(rows) in sinks {
        assert_eq!(rows[0].1, ints(&[("a", NOW, 1)]).expect("cells"));
    }
}

/// Six random bits a character: the text does not compress, so few rows fill a block.
fn noise(seed: usize) -> String {
    let mut state = seed as u64 + 1;
    let letter = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'0' + (state >> 58) as u8)
    };
    (0..100_000).map(letter).collect()
}

/// Every record of every segment.
async fn blocks(storage: &MemoryStorage) -> Vec<BlockId> {
    let mut found = Vec::new();
    for segment in storage.list_segments().await.expect("listed") {
        let ids = (0..100).map(|block| BlockId { segment, block }).collect::<Vec<_>>();
        let records = storage.get_blocks(&ids).await.expect("read");
        found.extend(ids.into_iter().zip(records).filter(|(_, record)| record.is_some()).map(|(id, _)| id));
    }
    found
}

/// R2: each row has its own result. Damage is told for the rows that lie in it, and hides no other.
#[test]
fn r2_only_rows_that_lie_in_damaged_data_fail() {
    let store = store();
    let values = (0..12).map(noise).collect::<Vec<_>>();
    for (n, value) in (0..).zip(&values) {
        store.put(id(n), &[cell("a", text(value))]);
    }
    store.write(&put("u", id(1), &[cell("a", int(1))])).expect("put");
    store.compact();
    let keys = (0..12).chain([77]).map(id).collect::<Vec<_>>();
    let tables = [read("t", &keys, versions(1)), read("u", &[id(1), id(2)], versions(1))];
    let mut failed = Vec::new();
    for block in store.env.run(blocks(&store.storage)) {
        // A store with a damaged catalog cannot be opened.
        let flip = FlipByte { record: Record::Block(block), at: 50, mask: 1 };
        let Ok(instance) = store.opened_with(flip) else { continue };
        // With the first row in memory, damage is met when that row has been given to the sink already.
        let first = [read("t", &[id(0)], versions(1))];
        let _ = store.env.run(instance.batch_get_row(&first, &mut [Rows::default()])).expect("the batch as such");
        let mut sinks = [Rows::default(), Rows::default()];
        let results = store.env.run(instance.batch_get_row(&tables, &mut sinks)).expect("the batch as such");
        let mut rows = sinks[0].0.iter();
        for (n, result) in results[0].iter().enumerate() {
            match result {
                Ok(Found { row: false, .. }) => assert_eq!(n, 12, "there is no row 77"),
                Ok(Found { row: true, .. }) => {
                    let (_, cells) = rows.next().expect("the sink has it");
                    assert_eq!(cells[0].2, text(&values[n]).to_owned());
                }
                Err(Failure { error, consumed }) => {
                    assert_eq!((error.code(), *consumed), (Code::Corrupt, Consumed::default()), "{error}");
                }
            }
        }
        assert_eq!(rows.len(), 0, "no row twice");
        failed.push([0, 1].map(|table| results[table].iter().filter(|row| row.is_err()).count()));
    }
    let some = failed.iter().filter(|[first, second]| (1..12).contains(first) && *second == 0);
    assert!(some.count() > 2, "blocks with some rows of one table: {failed:?}");
}

/// An error that is the same for all rows fails the call.
#[test]
fn r2_a_closed_store_fails_the_whole_batch() {
    let store = store();
    store.put(id(1), &[]);
    store.env.run(store.instance.close());
    let refusal = get(&store, &[read("t", &[id(1)], versions(1)), read("u", &[id(1)], versions(1))]);
    assert!(refused(refusal).starts_with("Closed: "));
}

#[test]
fn r2_a_batch_reads_at_most_100_rows() {
    let store = store();
    let keys = (0..101).map(id).collect::<Vec<_>>();
    assert!(get(&store, &[read("t", &keys[..100], versions(1))]).is_ok());
    assert!(get(&store, &vec![read("t", &[], versions(1)); 100]).is_ok());
    let refusals = [
        (vec![], "No row specified in the request of BatchGetRow."),
        (vec![read("t", &keys, versions(1))], "Rows count exceeds the upper limit: 100."),
        (
            vec![read("t", &keys[..60], versions(1)), read("u", &keys[..41], versions(1))],
            "Rows count exceeds the upper limit: 100.",
        ),
        // A table without keys is right, but it takes memory.
        (vec![read("t", &[], versions(1)); 101], "Rows count exceeds the upper limit: 100."),
        (vec![read("t", &keys[..1], ReadOptions::default())], "No version condition is specified while querying row."),
    ];
    for (tables, message) in refusals {
        assert_eq!(refused(get(&store, &tables)), format!("OTSParameterInvalid: {message}"));
    }
}
