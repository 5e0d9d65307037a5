//! The bytes of every request and response that the contract declares. The package writes and reads the same ones
//! (`pkg/test/contract.test.ts`), so both sides lay them out alike.

use crate::session::frame;
use crate::store::*;
use std::collections::BTreeMap;
use std::rc::Rc;
use tabstore::engine::Direction;
use tabstore::error::Error;
use tabstore::format::wire::Reader;
use tabstore::model::filter::{CastType, ColumnFilter, Comparator, Filter, Transfer};
use tabstore::model::select::VersionQuery;
use tabstore::model::{
    CellRef, Consumed, KeyColumn, KeyInput, KeyPart, KeyType, KeyValue, NameRules, RowSink as _, TableName,
    TableSchema, Value, ValueRef,
};
use tabstore::session::codec::contract::{self, Row, RowFoundGiven, RowWrittenGiven, RowsPutGiven, op};
use tabstore::session::codec::fields::{Batch, Blob, Field, Text, Unsigned};
use tabstore::session::codec::response_fields::ResponseField;
use tabstore::session::codec::values::{PutRows, StartLocalTransaction};
use tabstore::session::codec::{Frame, PageWriter};
use tabstore::tablestore::{
    ColumnOp, CountRows, Existence, GetRange, GetRow, ReadOptions, ReturnContent, ReturnedRow, RowWrite, TableRead,
};

/// The lines of a file, `name: bytes`, that were not looked at yet.
struct Lines(BTreeMap<&'static str, Vec<u8>>);

impl Lines {
    fn of(text: &'static str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let lines = lines.map(|line| line.split_once(": ").expect("a name and its bytes"));
        let byte = |hex: &[u8]| u8::from_str_radix(str::from_utf8(hex).expect("digits"), 16).expect("digits");
        Self(lines.map(|(name, hex)| (name, hex.as_bytes().chunks(2).map(byte).collect())).collect())
    }

    fn end(self) {
        assert!(self.0.is_empty(), "{:?} are read by nobody", self.0.keys());
    }

    fn take(&mut self, name: &str, made: &[u8]) -> Vec<u8> {
        let hex = || made.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        self.0.remove(name).unwrap_or_else(|| panic!("no line is called {name}: {}", hex()))
    }

    /// A request, as it is written and read. `is_padded`: the package writes a count in more bytes than it needs.
    fn request<F: Field>(&mut self, name: &str, op: u8, within: Option<&str>, asked: &F::Value<'_>, is_padded: bool) {
        let write = |asked: &F::Value<'_>| {
            frame(|out| {
                out.transaction(within);
                out.request::<F>(7, op, asked);
            })
        };
        let made = write(asked);
        let known = self.take(name, &made);
        if !is_padded {
            assert_eq!(made, known, "{name} is written in another way");
        }
        let frame = Frame::parse(known, NameRules::Document).expect("a frame");
        let head = frame.next_request().expect("whole").expect("a request");
        let read = frame.payload::<F>(&head).expect("whole").expect("right");
        assert_eq!(write(&read), made, "{name} is read in another way");
        assert_eq!(frame.next_request(), Ok(None), "{name} has more than is read");
    }

    /// A response, as it is written and read.
    fn response<P: ResponseField>(&mut self, name: &str, given: P::Given<'_>) {
        let mut made = Vec::new();
        P::put(given, &mut made);
        let known = self.take(name, &made);
        assert_eq!(made, known, "{name} is written in another way");
        let mut reader = Reader::new(&known);
        assert!(P::read(&mut reader).is_ok(), "{name}");
        assert_eq!(reader.left(), 0, "{name} has more than is read");
    }
}

fn t() -> TableName<'static> {
    TableName::parse("t").expect("a name")
}

fn the_key() -> KeyInput<'static> {
    key(&[("id", text("k")), ("at", int(-1))])
}

fn equal() -> ColumnFilter<'static> {
    comparison("a", Comparator::Equal, int(1))
}

fn get_row(options: ReadOptions<'_>) -> GetRow<'_> {
    GetRow { table: t(), key: the_key(), options }
}

fn filtered(filter: Filter<'_>) -> GetRow<'_> {
    get_row(ReadOptions { filter: Some(filter), ..versions(1) })
}

/// The end of a range: a value of the first column, and what comes behind all rows before it, or after it.
fn end(id: &'static str, at: KeyPart<'static>) -> KeyInput<'static> {
    let mut key = KeyInput::new();
    key.push("id", KeyPart::Value(text(id)));
    key.push("at", at);
    key
}

fn part(filter: Option<Filter<'static>>) -> CountRows<'static> {
    CountRows { table: t(), start: end("a", KeyPart::InfMin), end: end("z", KeyPart::InfMax), filter }
}

fn batch() -> Vec<RowWrite<'static>> {
    let mut assigned = id(1);
    assigned.push("at", KeyPart::AutoIncrement);
    vec![
        put("t", assigned, &[]),
        update("u", id(2), &[add("a", None, 1)]),
        expecting(Existence::ExpectExist, delete("t", id(3))),
    ]
}

#[test]
fn r1_r2_r3_r6_r7_requests_are_laid_out_as_the_package_does() {
    let mut lines = Lines::of(include_str!("contract/requests.txt"));
    writes_of_one_row(&mut lines);
    reads(&mut lines);
    batches_and_transactions(&mut lines);
    lines.end();
}

/// The three operations that write one row.
fn writes_of_one_row(lines: &mut Lines) {
    let cells = [
        cell("i", int(300)),
        cell("d", ValueRef::Double(1.5)),
        cell("e", ValueRef::Double(2.0)),
        cell("y", ValueRef::Boolean(true)),
        cell("n", ValueRef::Boolean(false)),
        cell("s", text("ä")),
        cell("b", ValueRef::Binary(&[1, 2])),
        cell_at("v", 1000, text("new")),
        cell_at("v", 999, text("old")),
    ];
    lines.row("PUT_ROW of each type", op::PUT_ROW, None, &put("t", the_key(), &cells));
    let conditional = RowWrite {
        condition: Existence::ExpectNotExist,
        column_condition: Some(Box::new(Filter::Column(equal()))),
        returns: ReturnContent::PrimaryKey,
        ..put("t", the_key(), &[])
    };
    lines.row("PUT_ROW with conditions", op::PUT_ROW, None, &conditional);
    let changes = [
        add("a", None, 1),
        change("b", ColumnOp::Put { version: Some(5), value: text("x") }),
        change("c", ColumnOp::DeleteVersion(6)),
        change("d", ColumnOp::DeleteColumn),
        increment("e", -2),
    ];
    let returns = ReturnContent::AfterModify(vec![column("e")]);
    let changed = RowWrite { returns, ..update("t", key(&[("id", ValueRef::Binary(&[7]))]), &changes) };
    lines.row("UPDATE_ROW with each change", op::UPDATE_ROW, None, &changed);
    let within = update("t", id(1), &[change("a", ColumnOp::DeleteColumn)]);
    lines.row("UPDATE_ROW in a transaction", op::UPDATE_ROW, Some("tx"), &within);
    lines.row("DELETE_ROW", op::DELETE_ROW, None, &expecting(Existence::ExpectExist, delete("t", the_key())));
}

impl Lines {
    fn row(&mut self, name: &str, op: u8, within: Option<&str>, write: &RowWrite<'_>) {
        self.request::<contract::RowWrite>(name, op, within, write, false);
    }
}

/// Reads, with each option and filter.
fn reads(lines: &mut Lines) {
    let mut get =
        |name, request: &GetRow<'_>| lines.request::<contract::GetRow>(name, op::GET_ROW, None, request, false);
    let all = ReadOptions {
        versions: VersionQuery { max_versions: Some(3), range: Some((5, 9)), version: None },
        columns: vec![column("a"), column("b")],
        most_columns: None,
        start_column: Some("a"),
        end_column: Some("c"),
        filter: Some(Filter::Column(equal())),
    };
    get("GET_ROW with each option", &get_row(all));
    let version = VersionQuery { version: Some(5), ..VersionQuery::default() };
    get("GET_ROW of a version", &get_row(ReadOptions { versions: version, ..ReadOptions::default() }));
    let compared = |comparator: Comparator| {
        Filter::Column(ColumnFilter { comparator, value: comparator.compares().then(|| int(1)), ..equal() })
    };
    get("GET_ROW with each comparator", &filtered(Filter::And(Comparator::ALL.map(compared).to_vec())));
    let transfer = |regex, cast, value| {
        Filter::Column(ColumnFilter { value: Some(value), transfer: Some(Transfer { regex, cast }), ..equal() })
    };
    let kinds = vec![
        Filter::Not(vec![Filter::Column(ColumnFilter { pass_if_missing: false, ..equal() })]),
        Filter::Column(ColumnFilter { latest_version_only: false, ..equal() }),
        Filter::Page { offset: 2, limit: 3 },
        transfer("a(.)", CastType::Integer, int(1)),
        transfer("b", CastType::Double, ValueRef::Double(1.0)),
        transfer("c", CastType::String, text("x")),
    ];
    get("GET_ROW with each kind of filter", &filtered(Filter::Or(kinds)));
    let tables = vec![
        TableRead {
            table: t(),
            keys: vec![the_key(), key(&[("id", text("l")), ("at", int(2))])],
            options: versions(2),
        },
        TableRead { table: TableName::parse("u").expect("a name"), keys: vec![id(1)], options: columns(&["a"]) },
    ];
    lines.request::<Batch<contract::TableRead>>("BATCH_GET_ROW", op::BATCH_GET_ROW, None, &tables, false);
    let CountRows { start, end, .. } = part(None);
    let forward = GetRange { start, end, limit: Some(10), ..range("t", Direction::Forward) };
    lines.request::<contract::GetRange>("GET_RANGE forward", op::GET_RANGE, None, &forward, false);
    let backward = range("t", Direction::Backward);
    let name = "GET_RANGE backward, in a transaction";
    lines.request::<contract::GetRange>(name, op::GET_RANGE, Some("tx"), &backward, false);
    let equal = || Some(Filter::Column(equal()));
    lines.request::<contract::CountRows>("COUNT_ROWS", op::COUNT_ROWS, None, &part(None), false);
    lines.request::<contract::CountRows>("COUNT_ROWS with a filter", op::COUNT_ROWS, None, &part(equal()), false);
    lines.request::<contract::CountRows>("DELETE_RANGE", op::DELETE_RANGE, None, &part(equal()), false);
}

/// Batches, loads, transactions, and what else a client asks.
fn batches_and_transactions(lines: &mut Lines) {
    let mut rows = |name, op, within, rows| lines.request::<Batch<Row>>(name, op, within, &rows, false);
    rows("BATCH_WRITE_ROW", op::BATCH_WRITE_ROW, None, batch());
    rows("BATCH_WRITE_ROW in a transaction", op::BATCH_WRITE_ROW, Some("tx"), batch()[..1].to_vec());
    rows("BATCH_WRITE_ROW_ATOMIC", op::BATCH_WRITE_ROW_ATOMIC, None, batch());
    rows("ATOMIC", op::ATOMIC, None, batch());
    let loaded = [put("t", id(1), &[cell("a", int(1))]), put("t", id(2), &[])];
    let loaded = PutRows { loader: 7, rows: loaded.into_iter().map(Ok).collect() };
    lines.request::<contract::PutRows>("PUT_ROWS", op::PUT_ROWS, None, &loaded, true);
    lines.request::<Unsigned>("STORE_ROWS", op::STORE_ROWS, None, &300, false);
    lines.request::<Unsigned>("ACKNOWLEDGE", op::ACKNOWLEDGE, None, &300, false);
    let passed: &[u8] = &[1, 2, 3];
    lines.request::<Blob>("AZURE", op::AZURE, None, &passed, false);
    lines.request::<Blob>("TABLE_STORE", op::TABLE_STORE, None, &passed, false);
    let start = StartLocalTransaction { table: t(), key: key(&[("id", text("k"))]) };
    let name = "START_LOCAL_TRANSACTION";
    lines.request::<contract::StartLocalTransaction>(name, op::START_LOCAL_TRANSACTION, None, &start, false);
    lines.request::<Text>("COMMIT_TRANSACTION", op::COMMIT_TRANSACTION, None, &"tx", false);
    lines.request::<Text>("ABORT_TRANSACTION", op::ABORT_TRANSACTION, None, &"tx", false);
}

/// The answers, and the errors among them.
#[test]
fn responses_are_laid_out_as_the_package_reads_them() {
    let mut lines = Lines::of(include_str!("contract/responses.txt"));
    let schema = TableSchema::new(vec![KeyColumn::new("id", KeyType::String), KeyColumn::new("at", KeyType::Integer)]);
    let schema = Rc::new(schema.expect("a schema"));
    let units = Consumed { read: 1, write: 300 };
    let error = Error::parameter("Wrong.").with_hint("Mend it.");
    let the_key = vec![KeyValue::String("k".into()), KeyValue::Integer(-1)];
    let keyed = ReturnedRow { schema: Rc::clone(&schema), key: the_key.clone(), cells: Vec::new() };
    let cells = vec![("e".to_owned(), 1000, Value::Integer(7))];
    let incremented = ReturnedRow { schema: Rc::clone(&schema), key: Vec::new(), cells };
    let mut page = PageWriter::default();
    page.start(&schema);
    page.row(&[text("k"), int(-1)], &[CellRef { column: "a", version: 1000, value: int(5) }]);

    lines.response::<contract::Written>("Written", (units, None));
    lines.response::<contract::Written>("Written with a row", (units, Some(&keyed)));
    lines.response::<contract::Written>("Written with columns", (units, Some(&incremented)));
    lines.response::<contract::Found>("Found", (units, &page));
    lines.response::<contract::Range>("Range", (units, None, &page));
    let next = [the_key.clone(), vec![KeyValue::Binary([1, 2].into())]].concat();
    lines.response::<contract::Range>("Range that goes on", (units, Some(&next[..]), &page));
    lines.response::<contract::Counted>("Counted", (units, 1000, None));
    lines.response::<contract::Counted>("Counted that goes on", (units, 1000, Some((&*schema, &the_key[..]))));
    let found = vec![
        RowFoundGiven::Absent { read: 1 },
        RowFoundGiven::Present { read: 2 },
        RowFoundGiven::Failed { error: &error },
    ];
    lines.response::<contract::BatchFound>("BatchFound", (vec![(found, &page)],));
    let done = || RowWrittenGiven::Done { consumed: units, returns: true };
    let written = vec![RowWrittenGiven::Failed { error: &error }, done()];
    lines.response::<contract::BatchWritten>("BatchWritten", (written, vec![&keyed]));
    lines.response::<contract::Started>("Started", (units, "tx"));
    lines.response::<contract::Ended>("Ended", (units,));
    let taken = RowsPutGiven::Taken { load: 1, bytes: 300, rows: 2, refused: vec![(1, &error)] };
    lines.response::<contract::RowsPut>("RowsPut, taken", taken);
    let written = RowsPutGiven::Written { batch: (vec![done()], vec![&keyed]) };
    lines.response::<contract::RowsPut>("RowsPut, written", written);
    lines.response::<contract::RowsStored>("RowsStored", (units, 300, vec![(2, &error)]));
    lines.response::<contract::Passed>("Passed", (&[1, 2, 3],));
    lines.end();
}
