//! A client's frames through a session: order, answers at once and later, refusals, damage.

use crate::store::*;
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use tabstore::engine::{ClockMode, Direction, Options};
use tabstore::model::filter::{CastType, ColumnFilter, Comparator, Filter, Transfer};
use tabstore::model::{KeyInput, KeyPart, KeyValue, TableName, Value, ValueRef, limits};
use tabstore::session::codec::{FrameWriter, Page, PageRow, Reader, Response, responses};
use tabstore::session::{ActivityReport, Session, Sessions};
use tabstore::tablestore::{
    Existence, GetRange, GetRow, InstanceOptions, OptionsChange, ReadOptions, ReturnContent, RowWrite, TableRead,
};

struct Client {
    store: Store,
    sessions: Sessions,
    session: Session,
    delivered: Rc<RefCell<Vec<Vec<u8>>>>,
}

fn client() -> Client {
    client_of(Store::new())
}

fn client_of(store: Store) -> Client {
    let options = OptionsChange { max_versions: Some(9), ..OptionsChange::default() };
    store.create("t", &[("id", tabstore::model::KeyType::Integer)], options);
    let delivered = Rc::new(RefCell::new(Vec::new()));
    let out = Rc::clone(&delivered);
    let sessions = Sessions::new(Rc::clone(&store.instance), Rc::new(store.env.clone()));
    let session = sessions.open(1, move |frame| out.borrow_mut().push(frame)).expect("opened");
    Client { store, sessions, session, delivered }
}

impl Client {
    /// The ids of the requests that are answered at once, and the frame.
    fn submit(&self, frame: Vec<u8>) -> (Vec<u64>, Vec<u8>) {
        let answer = self.session.submit(frame).expect("a right frame").unwrap_or_default();
        (if answer.is_empty() { Vec::new() } else { numbers(&answer) }, answer)
    }

    /// The frames that came later.
    fn later(&self) -> Vec<Vec<u8>> {
        self.store.env.run_until_idle();
        self.delivered.take()
    }

    /// The only answer to a frame, whenever it comes; `read` takes its payload apart.
    fn ask<T>(&self, frame: Vec<u8>, read: impl FnOnce(&mut Reader<'_>) -> T) -> T {
        let (_, at_once) = self.submit(frame);
        let frames = if at_once.is_empty() { self.later() } else { vec![at_once] };
        let mut all = frames.iter().flat_map(|frame| responses(frame).expect("whole")).collect::<Vec<_>>();
        assert_eq!(all.len(), 1);
        let mut payload = all.remove(0).payload.expect("not refused");
        let result = read(&mut payload);
        assert_eq!(payload.left(), 0, "all was read");
        result
    }
}

pub(crate) fn numbers(frame: &[u8]) -> Vec<u64> {
    responses(frame).expect("whole").iter().map(|response| response.id).collect()
}

pub(crate) fn frame(write: impl FnOnce(&mut FrameWriter)) -> Vec<u8> {
    let mut writer = FrameWriter::default();
    write(&mut writer);
    writer.finish()
}

pub(crate) fn get_row<'a>(row: i64) -> GetRow<'a> {
    GetRow { table: TableName::parse("t").expect("a name"), key: id(row), options: versions(9) }
}

fn row(id: i64, cells: &[(&str, i64, i64)]) -> PageRow {
    PageRow { key: vec![Value::Integer(id)], cells: ints(cells).expect("cells") }
}

#[test]
fn reads_from_memory_are_answered_at_once_and_writes_together_when_durable() {
    let client = client();
    let (at_once, _) = client.submit(frame(|out| {
        (0..1000).for_each(|n| out.row_write(n, &put("t", id(n as i64), &[cell("a", int(1))])));
        out.get_row(5000, &get_row(5000));
    }));
    assert_eq!(at_once, [5000]);
    let later = client.later();
    assert_eq!(later.iter().map(|frame| numbers(frame)).collect::<Vec<_>>(), [(0..1000).collect::<Vec<_>>()]);
    let (_, answer) = client.submit(frame(|out| out.get_row(1, &get_row(77))));
    let Response { id, payload } = responses(&answer).expect("whole").remove(0);
    let (consumed, found) = payload.expect("read").found().expect("whole");
    assert_eq!((id, consumed.read, found), (1, 1, Some(row(77, &[("a", NOW, 1)]))));
}

/// Answers that wait for their task leave with the next frame's, each once.
#[test]
fn every_answer_comes_once() {
    let client = client();
    let mut all = Vec::new();
    for number in 0..20 {
        let (at_once, _) = client.submit(frame(|out| {
            out.row_write(2 * number, &put("t", id(number as i64), &[]));
            out.get_row(2 * number + 1, &get_row(number as i64 - 1));
        }));
        all.extend(at_once);
        if number % 3 == 0 {
            all.extend(client.later().iter().flat_map(|frame| numbers(frame)));
        }
    }
    all.extend(client.later().iter().flat_map(|frame| numbers(frame)));
    all.sort_unstable();
    assert_eq!(all, (0..40).collect::<Vec<_>>());
}

#[test]
fn requests_on_one_row_take_effect_in_call_order() {
    let client = client();
    client.submit(frame(|out| {
        out.row_write(1, &put("t", id(1), &[cell("a", int(1))]));
        out.row_write(2, &update("t", id(1), &[increment("n", 1)]));
        out.row_write(3, &expecting(Existence::ExpectExist, update("t", id(1), &[add("a", None, 3)])));
        out.row_write(4, &update("t", id(1), &[increment("n", 5)]));
    }));
    client.submit(frame(|out| out.row_write(5, &update("t", id(1), &[add("a", None, 5)]))));
    client.later();
    let expected = [("a", NOW + 4, 5), ("a", NOW + 2, 3), ("a", NOW, 1), ("n", NOW + 3, 6), ("n", NOW + 1, 1)];
    assert_eq!(client.store.all(id(1)), ints(&expected));
}

#[test]
fn key_columns_come_in_any_order() {
    let client = client();
    let key_types = [("a", tabstore::model::KeyType::Integer), ("b", tabstore::model::KeyType::String)];
    client.store.create("two", &key_types, OptionsChange::default());
    let swapped = key(&[("b", text("x")), ("a", int(1))]);
    let write = RowWrite { returns: ReturnContent::PrimaryKey, ..put("two", swapped, &[]) };
    let (_, row) = client.ask(frame(|out| out.row_write(1, &write)), |payload| payload.written().expect("whole"));
    assert_eq!(row.expect("asked for").key, [Value::Integer(1), Value::String("x".into())]);
}

#[test]
fn every_operation_travels() {
    let client = client();
    let writes = [
        put("t", id(1), &[cell("a", int(1)), cell_at("b", NOW - 5, text("é"))]),
        RowWrite { returns: ReturnContent::PrimaryKey, ..put("t", id(2), &[]) },
        put("no", id(3), &[]),
        RowWrite {
            returns: ReturnContent::AfterModify(vec![column("n")]),
            ..update("t", id(4), &[increment("n", 7), change("x", tabstore::tablestore::ColumnOp::DeleteColumn)])
        },
        delete("t", id(9)),
    ];
    let batch = frame(|out| out.batch_write(1, &writes));
    let (results, pages) = client.ask(batch, |payload| payload.batch_written().expect("whole"));
    let told = results.iter().map(|result| result.as_ref().map(|(_, row)| *row).map_err(|error| error.code.as_str()));
    assert_eq!(told.collect::<Vec<_>>(), [Ok(false), Ok(true), Err("OTSObjectNotExist"), Ok(true), Ok(false)]);
    let returned = pages.iter().map(|page| (page.key.len(), page.rows.len())).collect::<Vec<_>>();
    assert_eq!(returned, [(1, 1), (0, 1)], "a page for rows with key, one for modified columns");
    assert_eq!(pages[1].rows[0].cells, ints(&[("n", NOW, 7)]).expect("cells"));

    let table = |name| TableName::parse(name).expect("a name");
    let tables = [
        TableRead { table: table("t"), keys: vec![id(2), id(55), id(1)], options: versions(1) },
        TableRead { table: table("no"), keys: vec![id(2)], options: versions(1) },
    ];
    let read = client.ask(frame(|out| out.batch_get(1, &tables)), |payload| payload.batch_found().expect("whole"));
    let (results, page) = &read[0];
    assert_eq!(results.iter().flatten().copied().collect::<Vec<_>>(), [(true, 1), (false, 1), (true, 1)]);
    assert_eq!(page.rows.iter().map(|row| row.key[0].clone()).collect::<Vec<_>>(), [2, 1].map(Value::Integer));
    assert_eq!(page.rows[1].cells[1], ("b".into(), NOW - 5, Value::String("é".into())));
    assert!(read[1].0[0].is_err() && read[1].1 == Page::default());

    let request = GetRange { limit: Some(1), ..range("t", Direction::Backward) };
    let (consumed, page, next) =
        client.ask(frame(|out| out.get_range(1, &request)), |payload| payload.range().expect("whole"));
    assert_eq!((consumed.read, &page.key[..], page.rows), (1, &["id".to_owned()][..], vec![row(4, &[("n", NOW, 7)])]));
    assert_eq!(next, Some(vec![KeyValue::Integer(2)]));
}

#[test]
fn r6_filters_and_conditions_are_obeyed() {
    let client = client();
    let a_is = |value| compare("a", Comparator::Equal, int(value));
    let put = |row| put("t", id(row), &[cell("a", int(row)), cell("b", int(0))]);
    client.submit(frame(|out| (1..=3).for_each(|row| out.row_write(row as u64, &put(row)))));
    client.later();
    let page = Filter::And(vec![Filter::Not(vec![a_is(2)]), Filter::Page { offset: 1, limit: 1 }]);
    let options = ReadOptions { filter: Some(page), ..versions(1) };
    let request = GetRange { options, ..range("t", Direction::Forward) };
    let (_, page, next) =
        client.ask(frame(|out| out.get_range(1, &request)), |payload| payload.range().expect("whole"));
    assert_eq!((page.rows, next), (vec![row(1, &[("b", NOW, 0)]), row(3, &[("b", NOW, 0)])], None));
    let conditional = |value| RowWrite { column_condition: Some(Box::new(a_is(value))), ..delete("t", id(3)) };
    let (at_once, answer) = client.submit(frame(|out| {
        out.row_write(1, &conditional(2));
        out.row_write(2, &conditional(3));
    }));
    assert_eq!(at_once, [1]);
    let error = responses(&answer).expect("whole").remove(0).payload.expect_err("refused");
    assert_eq!((error.code.as_str(), error.status), ("OTSConditionCheckFail", 403));
    client.later();
    assert_eq!(client.store.ids(), [1, 2]);
}

#[test]
fn i5_requests_errors_latencies_and_units_are_told_by_operation() {
    let client = client();
    let told = |name: &str| {
        let report = client.sessions.activity();
        let told = *report.operations.iter().find(|operation| operation.name == name).expect("listed");
        (told.requests, told.errors, told.requests_per_second, told.mean_latency_ms)
    };
    let (at_once, _) = client.submit(frame(|out| {
        (1..=3).for_each(|row| out.row_write(row, &put("t", id(row as i64), &[])));
        out.row_write(4, &put("no", id(1), &[]));
    }));
    assert_eq!(at_once, [4]);
    assert_eq!(told("PutRow"), (1, 1, 1.0, 0.0), "those that are not answered do not count");
    client.store.env.advance(4);
    client.later();
    assert_eq!(told("PutRow"), (4, 1, 4.0, 3.0), "three took 4 ms");
    let put = |report: ActivityReport| *report.operations.iter().find(|put| put.name == "PutRow").expect("listed");
    let put = put(client.sessions.activity());
    assert!((put.p50_latency_ms - 4.0).abs() < 0.125 && (put.p99_latency_ms - 4.0).abs() < 0.125, "{put:?}");
    client.store.env.advance(500);
    for _ in 0..6 {
        client.submit(frame(|out| out.get_row(1, &get_row(1))));
    }
    assert_eq!(told("GetRow"), (6, 0, 6.0, 0.0));
    let report = client.sessions.activity();
    assert_eq!((report.read_per_second, report.write_per_second), (6.0, 4.0));
    client.store.env.advance(1500);
    assert_eq!(told("GetRow").2, 3.0 * 2.0 / 2.004, "in two seconds");
    client.store.env.advance(5000);
    assert_eq!(told("GetRow"), (6, 0, 0.0, 0.0));
    assert_eq!(client.sessions.activity().read_per_second, 0.0);
}

#[test]
fn a_refused_request_does_not_disturb_its_neighbours() {
    let client = client();
    let odd = tabstore::model::ColumnName::parse("a b", tabstore::model::NameRules::Sdk).expect("odd");
    let mut infinite = KeyInput::new();
    infinite.push("id", KeyPart::InfMax);
    let (at_once, answer) = client.submit(frame(|out| {
        let wrong_name = tabstore::tablestore::PutCell { column: odd, ..cell("a", int(1)) };
        out.row_write(1, &put("t", id(1), &[cell("a", int(1)), wrong_name, cell("b", int(2))]));
        out.row_write(2, &put("t", id(2), &[]));
        out.row_write(3, &put("t", infinite, &[]));
        out.get_row(4, &GetRow { options: tabstore::tablestore::ReadOptions::default(), ..get_row(1) });
    }));
    assert_eq!(at_once, [1, 3, 4]);
    let messages = responses(&answer).expect("whole").into_iter().map(|response| {
        let error = response.payload.expect_err("refused");
        assert_eq!((error.code.as_str(), error.status, error.retryable), ("OTSParameterInvalid", 400, false));
        error.message
    });
    let expected = [
        "Invalid column name: 'a b'.",
        "VT_INF_MAX is an invalid type for the primary key.",
        "No version condition is specified.",
    ];
    assert_eq!(messages.collect::<Vec<_>>(), expected);
    assert_eq!(client.later().iter().map(|frame| numbers(frame)).collect::<Vec<_>>(), [[2]]);
    assert_eq!(client.store.ids(), [2]);
}

/// Damages the tag of the last value of a frame whose last request puts one small cell `a` into `t`; gives its place.
pub(crate) fn spoil(bytes: &mut [u8]) -> usize {
    // Behind it are its value and the dictionary of t, id and a.
    let tag = bytes.len() - (1 + 2 + 3 + 2) - 2;
    assert_eq!(bytes[tag], tabstore::model::tags::INTEGER);
    bytes[tag] = 99;
    tag
}

#[test]
fn a_damaged_frame_is_refused_where_the_damage_is() {
    let client = client();
    let mut bytes = frame(|out| {
        out.get_row(1, &get_row(1));
        out.row_write(2, &put("t", id(2), &[]));
        out.row_write(3, &put("t", id(3), &[cell("a", int(1))]));
    });
    let tag = spoil(&mut bytes);
    let message = refused(client.session.submit(bytes));
    assert_eq!(
        message,
        format!(
            "OTSParameterInvalid: Cannot deserialize the request data. In the frame, a value has an unknown tag at byte {}.",
            tag + 1
        )
    );
    let mut answered = client.later().iter().flat_map(|frame| numbers(frame)).collect::<Vec<_>>();
    answered.sort_unstable();
    assert_eq!(answered, [1, 2], "what came before the damage is done and answered");
    assert_eq!(client.store.ids(), [2]);
    for (bytes, what) in [
        (vec![], "the bytes end too early at byte 0"),
        (vec![2, 5, 0, 0, 0, 0], "the frame is of an unknown version at byte 0"),
        (vec![1, 99, 0, 0, 0, 0], "the dictionary is outside the frame at byte 5"),
        (vec![1, 5, 0, 0, 0, 0, 7], "there are bytes after the dictionary at byte 6"),
        (vec![1, 7, 0, 0, 0, 1, 42, 0], "a request has an unknown operation at byte 7"),
    ] {
        assert!(refused(client.session.submit(bytes)).contains(what), "{what}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Frames whose bytes were changed, cut or put together at random: whatever they do, nothing panics, and the store
    /// goes on working.
    #[test]
    fn garbage_never_panics(
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        noise in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let client = client();
        let right = frame(|out| {
            out.row_write(1, &put("t", id(1), &[cell("a", int(1)), cell_at("b", NOW, text("xyz"))]));
            out.row_write(2, &update("t", id(1), &[increment("n", 1), add("a", Some(NOW), 5)]));
            out.batch_get(3, &[TableRead { table: TableName::parse("t").expect("a name"), keys: vec![id(1), id(2)], options: columns(&["a"]) }]);
            out.get_range(4, &range("t", Direction::Forward));
            out.batch_write(5, &[put("t", id(3), &[]), delete("t", id(1))]);
            out.get_row(6, &get_row(1));
            let filter = Filter::Column(ColumnFilter {
                transfer: Some(Transfer { regex: "x([0-9]{2,9})+", cast: CastType::Double }),
                ..comparison("a", Comparator::LessThan, ValueRef::Double(2.5))
            });
            let filter = Filter::And(vec![filter, Filter::Not(vec![compare("b", Comparator::Equal, text("x"))])]);
            out.row_write(7, &RowWrite { column_condition: Some(Box::new(filter.clone())), ..update("t", id(1), &[increment("n", 1)]) });
            let page = Filter::And(vec![filter, Filter::Page { offset: 1, limit: 2 }]);
            let options = ReadOptions { filter: Some(page), ..versions(1) };
            out.get_range(8, &GetRange { options, ..range("t", Direction::Backward) });
        });
        let mut flipped = right.clone();
        for (at, byte) in &flips {
            let at = at.index(flipped.len());
            flipped[at] = *byte;
        }
        let mut framed = vec![1, noise.len() as u8 + 5, 0, 0, 0];
        framed.extend(&noise);
        framed.extend([2, 1, b't', 2, b'i', b'd']);
        for bytes in [flipped, right[..cut.index(right.len())].to_vec(), noise, framed] {
            let _ = client.session.submit(bytes);
            client.later();
        }
        client.store.put(id(100), &[]);
        prop_assert!(client.store.ids().contains(&100));
    }
}

/// R7: a transaction through frames: its id, its requests, its end.
#[test]
fn r7_a_session_starts_uses_and_ends_transactions() {
    let client = client();
    let key = id(1);
    let (units, tx) =
        client.ask(frame(|out| out.start_transaction(1, "t", &key)), |reader| reader.started().expect("whole"));
    assert_eq!((units.read, units.write, tx.len()), (0, 1, 32));
    let inside = |write: &dyn Fn(&mut FrameWriter)| {
        frame(|out| {
            out.transaction(Some(&tx));
            write(out);
        })
    };
    let put_one = put("t", id(1), &[cell("a", int(1))]);
    client.ask(inside(&|out| out.row_write(2, &put_one)), |reader| reader.written().expect("whole"));
    let add_one = [update("t", id(1), &[add("b", None, 2)])];
    let (rows, _) =
        client.ask(inside(&|out| out.batch_write(3, &add_one)), |reader| reader.batch_written().expect("whole"));
    assert!(rows[0].is_ok());
    let found = |frame| client.ask(frame, |reader| reader.found().expect("whole")).1;
    assert_eq!(found(inside(&|out| out.get_row(4, &get_row(1)))), Some(row(1, &[("a", NOW, 1), ("b", NOW + 1, 2)])));
    assert_eq!(found(frame(|out| out.get_row(5, &get_row(1)))), None);
    let (_, refused) = client.submit(inside(&|out| out.get_range(6, &range("t", Direction::Forward))));
    let error = responses(&refused).expect("whole").remove(0).payload.expect_err("the range goes beyond the row");
    assert_eq!((error.code.as_str(), error.status, error.retryable), ("OTSDataOutOfRange", 400, false));
    let (_, refused) = client.submit(frame(|out| out.row_write(7, &put_one)));
    let error = responses(&refused).expect("whole").remove(0).payload.expect_err("it is locked");
    assert_eq!((error.code.as_str(), error.status, error.retryable), ("OTSRowOperationConflict", 409, true));
    let ended = client.ask(frame(|out| out.commit(8, &tx)), |reader| reader.ended().expect("whole"));
    assert_eq!((ended.read, ended.write), (0, 1));
    assert_eq!(found(frame(|out| out.get_row(9, &get_row(1)))), Some(row(1, &[("a", NOW, 1), ("b", NOW + 1, 2)])));
    let (_, refused) = client.submit(frame(|out| out.abort(10, &tx)));
    let error = responses(&refused).expect("whole").remove(0).payload.expect_err("it is over");
    assert_eq!((error.code.as_str(), error.status), ("OTSSessionNotExist", 404));
    let (_, tx) =
        client.ask(frame(|out| out.start_transaction(11, "t", &key)), |reader| reader.started().expect("whole"));
    client.ask(frame(|out| out.abort(12, &tx)), |reader| reader.ended().expect("whole"));
    let (_, refused) = client.submit(frame(|out| out.commit(13, "")));
    let error = responses(&refused).expect("whole").remove(0).payload.expect_err("no id");
    assert_eq!(error.message, "TransactionID is invalid.");
}

/// R7: requests of one frame on one transaction do not meet where each is done at once.
#[test]
fn r7_a_frame_may_hold_a_whole_transaction() {
    let client = client();
    let (_, tx) =
        client.ask(frame(|out| out.start_transaction(1, "t", &id(1))), |reader| reader.started().expect("whole"));
    let (at_once, _) = client.submit(frame(|out| {
        out.transaction(Some(&tx));
        out.row_write(2, &put("t", id(1), &[cell("n", int(1))]));
        out.row_write(3, &update("t", id(1), &[increment("n", 1)]));
        out.get_row(4, &get_row(1));
        out.transaction(None);
        out.commit(5, &tx);
    }));
    assert_eq!(at_once, [2, 3, 4], "only the commit has to wait");
    client.later();
    let read = client.ask(frame(|out| out.get_row(6, &get_row(1))), |reader| reader.found().expect("whole"));
    assert_eq!(read.1, Some(row(1, &[("n", NOW + 1, 2), ("n", NOW, 1)])));
}

/// R3: a limit that no range takes is refused, also where it comes in a frame.
#[test]
fn r3_a_limit_below_one_is_refused_in_a_frame_too() {
    for limit in [0, -1, i64::MIN] {
        let request = GetRange { limit: Some(limit), ..range("t", Direction::Forward) };
        let (_, answer) = client().submit(frame(|out| out.get_range(1, &request)));
        let error = responses(&answer).expect("whole").remove(0).payload.expect_err("refused");
        assert_eq!(error.message, "The limit must be greater than 0.", "{limit}");
    }
    let client = client();
    (1..=3).for_each(|row| client.store.put(id(row), &[]));
    for (limit, rows) in [(None, 3), (Some(2), 2), (Some(i64::MAX), 3)] {
        let request = GetRange { limit, ..range("t", Direction::Forward) };
        let (_, page, _) = client.ask(frame(|out| out.get_range(1, &request)), |reader| reader.range().expect("whole"));
        assert_eq!(page.rows.len(), rows, "{limit:?}");
    }
}

/// V8: a number of versions below one is refused too. It does not ask for all of them.
#[test]
fn v8_a_number_of_versions_below_one_is_refused_in_a_frame_too() {
    for count in [0, -1, i64::MIN] {
        let client = client();
        let request = GetRow { options: versions(count), ..get_row(1) };
        let (_, answer) = client.submit(frame(|out| out.get_row(1, &request)));
        let error = responses(&answer).expect("whole").remove(0).payload.expect_err("refused");
        let mut sink = Rows::default();
        let alone = client.store.env.run(client.store.instance.get_row(&request, &mut sink));
        assert_eq!(format!("OTSParameterInvalid: {}", error.message), refused(alone), "{count}");
    }
}

/// Starts so much that further frames have to wait.
fn fill(client: &Client) {
    let big = vec![7_u8; 1 << 20];
    for row in 0..8 {
        let (at_once, _) = client
            .submit(frame(|out| out.row_write(row, &put("t", id(row as i64), &[cell("a", ValueRef::Binary(&big))]))));
        assert_eq!(at_once, [0; 0]);
    }
}

/// Damage in a waiting frame is reported when it comes. Requests before it take effect in their turn.
#[test]
fn a_damaged_frame_that_has_to_wait_is_refused_at_once() {
    let client = client();
    fill(&client);
    let mut bytes = frame(|out| {
        out.row_write(101, &put("t", id(1), &[cell("a", int(1))]));
        out.row_write(102, &put("t", id(2), &[cell("a", int(1))]));
    });
    spoil(&mut bytes);
    assert!(refused(client.session.submit(bytes)).contains("a value has an unknown tag"));
    let (at_once, _) = client.submit(frame(|out| out.get_row(103, &get_row(1))));
    assert_eq!(at_once, [0; 0], "it waits behind the others");
    let mut answered = client.later().iter().flat_map(|frame| numbers(frame)).collect::<Vec<_>>();
    answered.sort_unstable();
    assert_eq!(answered, [0, 1, 2, 3, 4, 5, 6, 7, 101, 103]);
    assert_eq!(client.store.all(id(1)).map(|cells| cells[0].2.clone()), Some(Value::Integer(1)));
}

/// Waiting requests are bounded. Those beyond the bound get an answer, and can be tried again.
#[test]
fn r8_frames_beyond_those_that_are_held_are_refused_for_now() {
    let options = Options { clock: ClockMode::Injected, memtable_bytes: 1 << 20, ..Options::default() };
    let client = client_of(Store::with(InstanceOptions::default(), options));
    let busy = |answer: &[u8], requests: usize| {
        let told = responses(answer).expect("whole");
        assert_eq!(told.len(), requests);
        for response in told {
            let error = response.payload.expect_err("refused");
            assert_eq!((error.code.as_str(), error.status, error.retryable), ("OTSServerBusy", 503, true));
            assert_eq!(error.message, "Server is busy.");
        }
    };
    fill(&client);
    for _ in 0..limits::HELD_FRAMES {
        client.session.submit(frame(|_| {})).expect("held");
    }
    let writes = frame(|out| {
        out.row_write(101, &put("t", id(1), &[]));
        out.batch_write(102, &[put("t", id(2), &[]), delete("t", id(3))]);
        out.get_row(103, &get_row(1));
        out.start_transaction(104, "t", &id(5));
    });
    busy(&client.submit(writes.clone()).1, 4);
    client.later();
    assert_eq!(client.store.all(id(1)).expect("there").len(), 1, "nothing of it was done");
    // The same by bytes.
    fill(&client);
    let mut large = 0;
    let answer = loop {
        let bytes = vec![1_u8; 2 << 20];
        let (_, answer) =
            client.submit(frame(|out| out.row_write(200, &put("t", id(9), &[cell("a", ValueRef::Binary(&bytes))]))));
        if !answer.is_empty() {
            break answer;
        }
        large += 1;
        assert!(large << 21 <= limits::HELD_MEMTABLES * (4 << 20));
    };
    busy(&answer, 1);
    client.later();
    assert_eq!(client.submit(writes).0, [104], "there is room again: the others wait for their commit");
}

#[test]
fn r4_an_atomic_batch_goes_through_a_session() {
    let client = client();
    let fails = expecting(Existence::ExpectExist, update("t", id(1), &[add("a", None, 1)]));
    let batch = |writes: &[RowWrite<'_>]| {
        client.ask(frame(|out| out.batch_write_atomic(1, writes)), |reader| reader.batch_written().expect("whole")).0
    };
    let told = batch(std::slice::from_ref(&fails));
    assert_eq!(told[0].as_ref().expect_err("failed").code, "OTSConditionCheckFail");
    let told = batch(&[put("t", id(1), &[]), put("t", id(2), &[])]);
    assert!(told.iter().all(|row| row.as_ref().is_err_and(|error| error.code == "OTSDataOutOfRange")));
    let told = batch(&[put("t", id(1), &[])]);
    assert!(told[0].is_ok());
}
