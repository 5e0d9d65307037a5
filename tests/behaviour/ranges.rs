//! GetRange (R3).

use crate::store::*;
use std::ops::Range;
use tabstore::engine::{ClockMode, Direction, Options};
use tabstore::model::filter::{ColumnFilter, Comparator, Filter};
use tabstore::model::{Consumed, KeyInput, KeyPart, KeyType, KeyValue, TableName, limits};
use tabstore::tablestore::{ColumnOp, GetRange, InstanceOptions, OptionsChange, RangeRead, ReadOptions, RowWrite};

const NONE: OptionsChange =
    OptionsChange { time_to_live: None, max_versions: None, max_version_offset: None, allow_update: None };

/// `t` with the rows 0 to `count` - 1, without attributes.
fn rows(count: i64) -> Store {
    let store = Store::with_table(NONE);
    put_rows(&store, 0..count);
    store
}

fn put_rows(store: &Store, rows: Range<i64>) {
    let writes = rows.map(|n| put("t", id(n), &[])).collect::<Vec<_>>();
    writes.chunks(200).for_each(|writes| write_batch(store, writes));
}

fn write_batch(store: &Store, writes: &[RowWrite<'_>]) {
    for result in store.env.run(store.instance.batch_write_row(writes, None)).expect("right") {
        result.expect("written");
    }
}

fn end<'a>(parts: &[(&'a str, KeyPart<'a>)]) -> KeyInput<'a> {
    let mut key = KeyInput::new();
    parts.iter().for_each(|&(name, part)| key.push(name, part));
    key
}

fn next(read: &RangeRead) -> Option<i64> {
    read.next.as_ref().map(|key| match key[..] {
        [KeyValue::Integer(id)] => id,
        ref other => panic!("{other:?} is no id"),
    })
}

#[test]
fn r3_start_is_inclusive_end_exclusive_both_ways() {
    let store = rows(10);
    let get = |direction, start, end| {
        let request = GetRange { start: id(start), end: id(end), ..range("t", direction) };
        let (rows, read) = store.range(&request);
        assert_eq!(read.next, None);
        ids(&rows)
    };
    assert_eq!(get(Direction::Forward, 3, 6), [3, 4, 5]);
    assert_eq!(get(Direction::Backward, 6, 3), [6, 5, 4]);
    assert_eq!(get(Direction::Forward, 50, 60), [0; 0]);
    assert_eq!(get(Direction::Backward, 100, 7), [9, 8]);
}

#[test]
fn r3_ends_must_be_in_order() {
    let store = rows(1);
    let get = |direction, start: KeyInput<'_>, end: KeyInput<'_>| {
        let request = GetRange { start, end, ..range("t", direction) };
        store.env.run(store.instance.get_range(&request, &mut Rows::default()))
    };
    for (start, end) in [(1, 1), (2, 1)] {
        let message = "OTSParameterInvalid: Begin key must less than end key in FORWARD";
        assert_eq!(refused(get(Direction::Forward, id(start), id(end))), message);
        let message = "OTSParameterInvalid: Begin key must more than end key in BACKWARD";
        assert_eq!(refused(get(Direction::Backward, id(end), id(start))), message);
    }
    let wrong = key(&[("id", text("x"))]);
    let message = "OTSInvalidPK: Validate PK type fail. Input: VT_STRING, Meta: VT_INTEGER.";
    assert_eq!(refused(get(Direction::Forward, id(1), wrong.clone())), message);
    assert_eq!(refused(get(Direction::Forward, wrong, id(1))), message);
    let long = "x".repeat(1025);
    let message = "OTSParameterInvalid: The length of primary key column: 'id' exceeds the MaxLength:1024 with CurrentLength:1025.";
    assert_eq!(refused(get(Direction::Forward, key(&[("id", text(&long))]), id(1))), message);
}

#[test]
fn r3_infinities_fit_any_column_at_any_position() {
    let store = Store::new();
    store.create("t", &[("a", KeyType::String), ("b", KeyType::String), ("id", KeyType::Integer)], NONE);
    let row = |a: &'static str, b: &'static str, n| key(&[("a", text(a)), ("b", text(b)), ("id", int(n))]);
    for (a, b, n) in [("A", "A", 10), ("A", "A", 11), ("A", "AB", 1), ("A", "B", 9), ("A", "B", 10), ("B", "A", 10)] {
        store.put(row(a, b, n), &[]);
    }
    let value = |v| KeyPart::Value(text(v));
    let ends = |a, b, c| end(&[("a", a), ("b", b), ("id", c)]);
    let get = |start, end| ids(&store.range(&GetRange { start, end, ..range("t", Direction::Forward) }).0);
    // After all (A, A, *) and before (A, B, *).
    let (start, stop) = (ends(value("A"), value("A"), KeyPart::InfMax), ends(value("A"), value("B"), KeyPart::InfMin));
    assert_eq!(get(start.clone(), stop.clone()), [1]);
    let whole = (
        ends(KeyPart::InfMin, KeyPart::InfMin, KeyPart::InfMin),
        ends(KeyPart::InfMax, KeyPart::InfMax, KeyPart::InfMax),
    );
    assert_eq!(get(whole.0, whole.1), [10, 11, 1, 9, 10, 10]);
    let first_column =
        (ends(value("A"), KeyPart::InfMin, KeyPart::InfMin), ends(value("A"), KeyPart::InfMax, KeyPart::InfMin));
    assert_eq!(get(first_column.0, first_column.1), [10, 11, 1, 9, 10]);
    let backward = GetRange { start: stop, end: start, ..range("t", Direction::Backward) };
    assert_eq!(ids(&store.range(&backward).0), [1]);
}

#[test]
fn r3_a_limit_counts_returned_rows_and_the_next_key_is_the_first_unread_row() {
    let store = rows(20);
    let get = |direction, start, limit| {
        let (rows, read) = store.range(&GetRange { start, limit: Some(limit), ..range("t", direction) });
        (ids(&rows), next(&read))
    };
    let open = KeyInput::new();
    assert_eq!(get(Direction::Forward, open.clone(), 10), ((0..10).collect(), Some(10)));
    assert_eq!(get(Direction::Forward, id(10), 10), ((10..20).collect(), None), "exactly to the end");
    assert_eq!(get(Direction::Backward, open, 3), (vec![19, 18, 17], Some(16)));
    assert_eq!(get(Direction::Backward, id(16), 99), ((0..17).rev().collect(), None));
    for wrong in [0, -1] {
        let request = GetRange { limit: Some(wrong), ..range("t", Direction::Forward) };
        let result = store.env.run(store.instance.get_range(&request, &mut Rows::default()));
        assert_eq!(refused(result), "OTSParameterInvalid: The limit must be greater than 0.");
    }
}

#[test]
fn r3_the_next_key_skips_deleted_and_expired_rows() {
    let store = Store::with_table(OptionsChange { time_to_live: Some(86_400), ..NONE });
    store.put(id(3), &[]);
    store.put(id(4), &[]);
    store.env.advance(1000);
    for row in [1, 2, 5] {
        store.put(id(row), &[]);
    }
    store.write(&delete("t", id(2))).expect("deleted");
    store.env.advance(86_400_000);
    let (rows, read) = store.range(&GetRange { limit: Some(1), ..range("t", Direction::Forward) });
    assert_eq!((ids(&rows), next(&read)), (vec![1], Some(5)));
}

#[test]
fn r3_a_call_scans_at_most_5000_rows() {
    let store = rows(5001);
    let (first, read) = store.range(&range("t", Direction::Forward));
    assert_eq!((first.len(), next(&read)), (5000, Some(5000)));
    let (rest, read) = store.range(&GetRange { start: id(5000), ..range("t", Direction::Forward) });
    assert_eq!((ids(&rest), next(&read)), (vec![5000], None));
    let (all, read) = store.range(&GetRange { start: id(1), ..range("t", Direction::Forward) });
    assert_eq!((all.len(), next(&read)), (5000, None), "exactly 5000 rows end the range");
    let (limited, read) = store.range(&GetRange { limit: Some(6000), ..range("t", Direction::Backward) });
    assert_eq!((limited.len(), next(&read)), (5000, Some(0)), "a larger limit does not help");
}

/// Rows that are scanned but not returned count for the cut, not for the limit.
#[test]
fn r3_a_response_may_hold_no_rows_and_a_next_key() {
    let store = rows(5001);
    store.put(id(5000), &[cell("a", int(1))]);
    let request = GetRange { limit: Some(1), options: columns(&["a"]), ..range("t", Direction::Forward) };
    let (rows, read) = store.range(&request);
    assert_eq!((rows.len(), next(&read)), (0, Some(5000)));
    let (rows, read) = store.range(&GetRange { start: id(5000), ..request });
    assert_eq!((ids(&rows), next(&read)), (vec![5000], None));
}

#[test]
fn r3_a_call_scans_at_most_4_mb_cut_at_whole_rows() {
    let store = Store::with_table(NONE);
    // Key 10 bytes, name 1 byte, value: 1 MB together.
    let value = "x".repeat((1 << 20) - 11);
    for row in 0..6 {
        store.put(id(row), &[cell("a", text(&value))]);
    }
    let (rows, read) = store.range(&range("t", Direction::Forward));
    assert_eq!((ids(&rows), next(&read)), (vec![0, 1, 2, 3], Some(4)), "exactly 4 MB fit");
    assert_eq!(read.consumed, Consumed::reading(1024));
    let longer = format!("{value}x");
    store.put(id(3), &[cell("a", text(&longer))]);
    let (rows, read) = store.range(&range("t", Direction::Forward));
    assert_eq!((ids(&rows), next(&read)), (vec![0, 1, 2], Some(3)));
}

/// The ruling on "scanned": the visible part of a row counts for the cut, although only selected cells cost units.
/// Otherwise a reader of a small column would make one call read the whole table.
#[test]
fn r3_what_a_reader_leaves_out_is_scanned_all_the_same() {
    let store = Store::with_table(OptionsChange { max_versions: Some(2), ..NONE });
    // Key 10 bytes, names 2 bytes, a number, two versions: 1 MB together.
    let half = "x".repeat((1 << 19) - 10);
    let older = ColumnOp::Put { version: Some(NOW - 1), value: text(&half[1..]) };
    for row in 0..6 {
        store.put(id(row), &[cell_at("a", NOW, text(&half)), cell_at("b", NOW, int(1))]);
        store.update(id(row), &[change("a", older)]);
    }
    let small = [columns(&["id"]), columns(&["b"]), columns(&["none"])];
    for (options, returned) in small.into_iter().zip([4, 4, 0]) {
        let (rows, read) = store.range(&GetRange { options: options.clone(), ..range("t", Direction::Forward) });
        assert_eq!((rows.len(), next(&read), read.consumed), (returned, Some(4), Consumed::reading(1)));
        let (rows, read) = store.range(&GetRange { options, start: id(4), ..range("t", Direction::Forward) });
        assert_eq!((rows.len(), next(&read)), (returned / 2, None));
    }
    let (rows, read) = store.range(&range("t", Direction::Forward));
    assert_eq!((rows.len(), next(&read)), (4, Some(4)), "older versions are left out, and weigh");
    store.set_options("t", OptionsChange { max_versions: Some(1), ..NONE });
    let (rows, read) = store.range(&range("t", Direction::Forward));
    assert_eq!((rows.len(), next(&read)), (6, None), "but not when the table does not show them");
}

/// Rows that have expired are none to the reader, but a call does not pass over any number of them.
#[test]
fn r3_a_call_ends_after_many_rows_that_have_expired() {
    let store = Store::with_table(OptionsChange { time_to_live: Some(86_400), ..NONE });
    let all = i64::try_from(limits::RANGE_VISITED_ROWS).expect("fits") + 10;
    put_rows(&store, 0..all - 1);
    store.env.advance(86_401_000);
    store.put(id(all - 1), &[]);
    let (rows, read) = store.range(&range("t", Direction::Forward));
    assert_eq!((rows.len(), next(&read), read.consumed), (0, Some(all - 10), Consumed::reading(1)));
    let (rows, read) = store.range(&GetRange { start: id(all - 10), ..range("t", Direction::Forward) });
    assert_eq!((ids(&rows), next(&read)), (vec![all - 1], None));
}

/// Deleted rows are none to the reader either. Their tombstones lie in memory and in segments, and nothing removes them.
#[test]
fn r3_a_call_ends_after_many_rows_that_are_deleted() {
    let store = Store::with(InstanceOptions::default(), Options { auto_compact: false, ..Options::default() });
    store.create("t", &[("id", KeyType::Integer)], NONE);
    let (bound, all) = (i64::try_from(limits::RANGE_VISITED_ROWS).expect("fits"), 100_000);
    for rows in (0..all).collect::<Vec<_>>().chunks(200) {
        write_batch(&store, &rows.iter().map(|row| delete("t", id(*row))).collect::<Vec<_>>());
        if rows[0] == all / 2 {
            store.env.run(store.instance.flush()).expect("flushed");
        }
    }
    put_rows(&store, -1..0);
    put_rows(&store, all..all + 1);
    let pages = |direction, limit, filter: Option<&Filter<'static>>| {
        let (mut pages, mut start) = (Vec::new(), KeyInput::new());
        loop {
            let options = ReadOptions { filter: filter.cloned(), ..versions(1) };
            let (rows, read) = store.range(&GetRange { start, limit, options, ..range("t", direction) });
            assert_eq!(read.consumed, Consumed::reading(1), "C1: tombstones cost nothing");
            pages.push((ids(&rows), next(&read)));
            match next(&read) {
                Some(row) => start = id(row),
                None => return pages,
            }
        }
    };
    let forward = [(vec![-1], Some(bound - 1)), (vec![], Some(2 * bound - 1)), (vec![all], None)];
    let backward = [(vec![all], Some(all - bound)), (vec![], Some(all - 2 * bound)), (vec![-1], None)];
    for limit in [None, Some(1), Some(2)] {
        assert_eq!(pages(Direction::Forward, limit, None), forward);
        assert_eq!(pages(Direction::Backward, limit, None), backward);
    }
    let none = Filter::Column(ColumnFilter { pass_if_missing: false, ..comparison("a", Comparator::Equal, int(1)) });
    let dropped = pages(Direction::Forward, None, Some(&none));
    let ends: Vec<_> = dropped.into_iter().map(|(rows, next)| (rows.len(), next)).collect();
    assert_eq!(ends, forward.map(|(_, next)| (0, next)), "with a filter too");
}

#[test]
fn r3_a_call_ends_after_many_bytes_that_are_hidden() {
    // No compaction comes between, which would remove what is hidden.
    let options = Options { clock: ClockMode::Injected, auto_compact: false, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    store.create("t", &[("id", KeyType::Integer)], OptionsChange { max_versions: Some(9), ..NONE });
    let large = "x".repeat(2 << 20);
    for row in 0..4 {
        for version in 0..9 {
            let value = text(if version < 8 { &large } else { "new" });
            store.update(id(row), &[change("a", ColumnOp::Put { version: Some(NOW + version), value })]);
        }
    }
    store.set_options("t", OptionsChange { max_versions: Some(1), ..NONE });
    let mut pages = Vec::new();
    let mut start = KeyInput::new();
    loop {
        let (rows, read) = store.range(&GetRange { start, ..range("t", Direction::Forward) });
        pages.push(ids(&rows));
        match next(&read) {
            Some(row) => start = id(row),
            None => break,
        }
    }
    // 16 MB each: the third row reaches the bound.
    assert_eq!(pages, [vec![0, 1, 2], vec![3]]);
}

#[test]
fn r3_a_single_larger_row_is_returned_alone() {
    let store = Store::with_table(NONE);
    let value = "x".repeat(2_000_000);
    store.put(id(1), &[]);
    for column in ["a", "b", "c"] {
        let op = ColumnOp::Put { version: None, value: text(&value) };
        store.update(id(2), &[change(column, op)]);
    }
    store.put(id(3), &[]);
    let get = |start| {
        let (rows, read) = store.range(&GetRange { start: id(start), ..range("t", Direction::Forward) });
        (ids(&rows), next(&read))
    };
    assert_eq!(get(0), (vec![1], Some(2)));
    assert_eq!(get(2), (vec![2], Some(3)));
    assert_eq!(get(3), (vec![3], None));
}

#[test]
fn r3_pages_put_together_are_the_table_wherever_it_lies() {
    let mut store = rows(700);
    store.env.run(store.instance.flush()).expect("flushed");
    for row in (0..700).step_by(3) {
        store.write(&delete("t", id(row))).expect("deleted");
    }
    let expected = (0..700).filter(|row| row % 3 != 0).collect::<Vec<_>>();
    for stage in 0..3 {
        for direction in [Direction::Forward, Direction::Backward] {
            let (mut all, mut start) = (Vec::new(), None);
            loop {
                let start_key = start.map_or_else(KeyInput::new, id);
                let (rows, read) =
                    store.range(&GetRange { start: start_key, limit: Some(61), ..range("t", direction) });
                all.extend(ids(&rows));
                start = next(&read);
                if start.is_none() {
                    break;
                }
            }
            if direction == Direction::Backward {
                all.reverse();
            }
            assert_eq!(all, expected, "{direction:?} at stage {stage}");
        }
        if stage == 0 { store.compact() } else { store.reopen() }
    }
}

#[test]
fn r3_a_missing_table_is_told() {
    let store = Store::new();
    let request = GetRange { table: TableName::parse("none").expect("a name"), ..range("t", Direction::Forward) };
    let failure = store.env.run(store.instance.get_range(&request, &mut Rows::default())).expect_err("refused");
    assert_eq!(failure.to_string(), "OTSObjectNotExist: Requested table does not exist.");
    assert_eq!(failure.consumed, Consumed::reading(1), "C4: one read unit");
}
