//! CountRows (R3): the rows that a range returns, counted without giving them away.

use crate::session::frame;
use crate::store::*;
use std::cell::RefCell;
use std::rc::Rc;
use tabstore::engine::Direction;
use tabstore::model::filter::{Comparator, Filter};
use tabstore::model::{KeyType, KeyValue, TableName};
use tabstore::session::Sessions;
use tabstore::session::codec::contract::{self, op};
use tabstore::session::codec::response_fields::ResponseField;
use tabstore::session::codec::responses;
use tabstore::tablestore::{ColumnOp, CountRows, GetRange, OptionsChange, RowCount};

fn whole<'a>(table: &'a str, filter: Option<Filter<'a>>) -> CountRows<'a> {
    let GetRange { table, start, end, .. } = range(table, Direction::Forward);
    CountRows { table, start, end, filter }
}

fn count(store: &Store, request: CountRows<'_>) -> RowCount {
    store.env.run(store.instance.count_rows(request)).expect("counted")
}

/// All rows of a range, in as many calls as it takes, and the calls.
fn count_all(store: &Store, request: &CountRows<'_>) -> (u64, u32) {
    let (mut request, mut rows, mut calls) = (request.clone(), 0, 0);
    loop {
        let counted = count(store, request.clone());
        (rows, calls) = (rows + counted.rows, calls + 1);
        let Some(next) = counted.next else { return (rows, calls) };
        let [KeyValue::Integer(next)] = next[..] else { panic!("{next:?} is no id") };
        request.start = id(next);
    }
}

/// R3: expired and deleted rows and those that fail the filter do not count; the rows that a range returns do.
#[test]
fn r3_a_count_is_the_number_of_rows_that_a_range_returns() {
    let mut store = Store::with_table(OptionsChange { time_to_live: Some(86_400), ..OptionsChange::default() });
    for i in 0..60 {
        store.put(id(i), &[cell("a", int(i % 10)), cell("b", text("x"))]);
        if i % 7 == 0 {
            store.write(&delete("t", id(i))).expect("deleted");
        }
        if i % 5 == 0 {
            store
                .write(&update("t", id(i), &[add("a", Some(NOW - 1000), 9), change("b", ColumnOp::DeleteColumn)]))
                .ok();
        }
        if i % 20 == 19 {
            store.env.run(store.instance.flush()).expect("flushed");
        }
    }
    for i in 60..64 {
        store.put(id(i), &[cell_at("a", NOW - 86_400_000 + 1 + i - 60, int(1))]);
    }
    for advance in [0, 3, 86_500_000] {
        store.env.advance(advance);
        for filter in [
            None,
            Some(compare("a", Comparator::GreaterThan, int(6))),
            Some(compare("b", Comparator::Equal, text("x"))),
            Some(Filter::Page { offset: 1, limit: 1 }),
        ] {
            let mut read = range("t", Direction::Forward);
            read.options.filter = filter.clone();
            read.options.versions = versions(1).versions;
            let (rows, range) = store.range(&read);
            let counted = count(&store, whole("t", filter));
            assert_eq!(counted.rows, rows.len() as u64);
            assert_eq!(
                (counted.consumed, counted.next),
                (range.consumed, range.next),
                "C1: it costs what the range costs"
            );
        }
        store.reopen();
    }
    let some = CountRows { start: id(10), end: id(20), ..whole("t", None) };
    assert_eq!(count(&store, some).rows, 0, "all of it has expired");
}

/// R3: more rows than one call reads are counted in several, none twice.
#[test]
fn r3_a_count_goes_on_where_the_call_before_has_ended() {
    let store = Store::with_table(OptionsChange::default());
    for i in 0..11_000 {
        store.put(id(i), &[cell("a", int(i % 4))]);
    }
    assert_eq!(count_all(&store, &whole("t", None)), (11_000, 3));
    let filter = compare("a", Comparator::Equal, int(3));
    assert_eq!(count_all(&store, &whole("t", Some(filter.clone()))), (2750, 3));
    let part = CountRows { start: id(2), end: id(5_500), ..whole("t", Some(filter)) };
    assert_eq!(count_all(&store, &part).0, 1375);
}

/// R3: a count names the key where it goes on, and no engine keeps anything of it. So the next engine may count on after any death:
/// each row that was there all the time counts once.
#[test]
fn r3_a_count_that_other_engines_go_on_with_counts_each_row_once() {
    for flushed in [0, 6_000, 16_000] {
        let mut store = Store::with_table(OptionsChange::default());
        for i in 0..16_000 {
            store.put(id(i), &[cell("a", int(i))]);
            if i + 1 == flushed {
                store.env.run(store.instance.flush()).expect("flushed");
            }
        }
        let (mut rows, mut request) = (0, whole("t", None));
        loop {
            let counted = count(&store, request.clone());
            rows += counted.rows;
            let Some(next) = counted.next else { break };
            let [KeyValue::Integer(next)] = next[..] else { panic!("{next:?} is no id") };
            request.start = id(next);
            // Rows before the place come too late, and that at the place may be written anew.
            store.put(id(next - 100_000), &[]);
            store.put(id(next), &[cell("a", int(0))]);
            store.reopen();
        }
        assert_eq!(rows, 16_000, "{flushed} rows flushed");
    }
}

#[test]
fn r8_a_count_refuses_what_a_range_refuses() {
    let store = Store::with_table(OptionsChange::default());
    let refusal =
        |request: CountRows<'_>| store.env.run(store.instance.count_rows(request)).expect_err("refused").error;
    let range_refusal = |request: GetRange<'_>| {
        store.env.run(store.instance.get_range(&request, &mut Rows::default())).expect_err("refused").error
    };
    let nowhere = TableName::parse("nowhere").expect("a name");
    let wrong = [("n", int(1))];
    for (counted, read) in [
        (
            CountRows { table: nowhere, ..whole("t", None) },
            GetRange { table: nowhere, ..range("t", Direction::Forward) },
        ),
        (
            CountRows { start: key(&wrong), ..whole("t", None) },
            GetRange { start: key(&wrong), ..range("t", Direction::Forward) },
        ),
        (
            CountRows { start: id(5), end: id(1), ..whole("t", None) },
            GetRange { start: id(5), end: id(1), ..range("t", Direction::Forward) },
        ),
    ] {
        let read = GetRange { options: versions(1), ..read };
        assert_eq!(refusal(counted).to_string(), range_refusal(read).to_string());
    }
    assert!(refusal(whole("t", Some(Filter::And(vec![])))).to_string().contains("sub-filters"));
}

/// R3, I5: a count travels in a frame, with the names of the key from which it goes on, and metrics tell it.
#[test]
fn r3_a_count_travels_and_tells_where_it_goes_on() {
    let store = Store::new();
    store.create("t", &[("shop", KeyType::String), ("id", KeyType::Integer)], OptionsChange::default());
    for i in 0..5_003 {
        store.write(&put("t", key(&[("shop", text("a")), ("id", int(i))]), &[])).expect("put");
    }
    let answers = Rc::new(RefCell::new(Vec::new()));
    let deliver = {
        let answers = Rc::clone(&answers);
        move |frame| answers.borrow_mut().push(frame)
    };
    let sessions = Sessions::new(Rc::clone(&store.instance), Rc::new(store.env.clone()));
    let session = sessions.open(1, deliver).expect("opened");
    let asked = frame(|out| out.request::<contract::CountRows>(7, op::COUNT_ROWS, &whole("t", None)));
    let ready = session.submit(asked).expect("a frame");
    store.env.run_until_idle();
    let answer = ready.or_else(|| answers.borrow_mut().pop()).expect("an answer");
    let response = responses(&answer).expect("whole").remove(0);
    let mut payload = response.payload.expect("counted");
    let (consumed, rows, next) = contract::Counted::read(&mut payload).expect("whole");
    assert_eq!((response.id, rows, consumed.write), (7, 5_000, 0));
    let next = next.expect("there is more");
    assert_eq!(next.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["shop", "id"]);
    assert_eq!(next[1].1, KeyValue::Integer(5_000));
    let counts = sessions.activity().operations.into_iter().find(|operation| operation.name == "CountRows");
    assert_eq!(counts.map(|operation| operation.requests), Some(1));
}
