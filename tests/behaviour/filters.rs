//! Filters and pagination by columns of GetRow, BatchGetRow and GetRange (R3, R6, C1).

use crate::store::*;
use tabstore::engine::Direction;
use tabstore::model::filter::{CastType, ColumnFilter, Comparator, Filter, Transfer};
use tabstore::model::select::VersionQuery;
use tabstore::model::{KeyInput, KeyPart, KeyType, KeyValue, TableName, ValueRef};
use tabstore::tablestore::{Found, GetRange, GetRow, OptionsChange, ReadOptions, TableRead};

const MANY: OptionsChange =
    OptionsChange { max_versions: Some(9), time_to_live: None, max_version_offset: None, allow_update: None };

fn filtered(filter: Filter<'_>) -> ReadOptions<'_> {
    ReadOptions { filter: Some(filter), ..versions(1) }
}

/// GetRow of `t`: the row, if there is one, and its read units.
fn get<'a>(store: &Store, key: KeyInput<'a>, options: ReadOptions<'a>) -> (Option<Vec<Cell>>, u32) {
    let request = GetRow { table: TableName::parse("t").expect("a name"), key, options };
    let mut rows = Rows::default();
    let Found { row, consumed } = store.env.run(store.instance.get_row(&request, &mut rows)).expect("read");
    assert_eq!(row, !rows.0.is_empty());
    (rows.0.pop().map(|(_, cells)| cells), consumed.read)
}

fn passes(store: &Store, row: i64, filter: Filter<'_>) -> bool {
    get(store, id(row), filtered(filter)).0.is_some()
}

fn names(cells: &[Cell]) -> Vec<&str> {
    cells.iter().map(|(name, ..)| name.as_str()).collect()
}

#[test]
fn r6_a_filter_decides_which_rows_are_returned() {
    let store = Store::with_table(MANY);
    store.put(id(1), &[cell("a", int(5)), cell("s", text("b"))]);
    use Comparator::{Equal, GreaterEqual, GreaterThan, LessEqual, LessThan, NotEqual};
    for (comparator, less, equal, greater) in [
        (Equal, false, true, false),
        (NotEqual, true, false, true),
        (GreaterThan, false, false, true),
        (GreaterEqual, false, true, true),
        (LessThan, true, false, false),
        (LessEqual, true, true, false),
    ] {
        // The stored value is less than, equal to and greater than the filter's.
        for (with, stands) in [(6, less), (5, equal), (4, greater)] {
            assert_eq!(passes(&store, 1, compare("a", comparator, int(with))), stands, "5 {comparator:?} {with}");
        }
        for (with, stands) in [("ba", less), ("b", equal), ("aé", greater)] {
            assert_eq!(passes(&store, 1, compare("s", comparator, text(with))), stands, "b {comparator:?} {with}");
        }
        assert!(!passes(&store, 1, compare("a", comparator, ValueRef::Double(5.0))), "another type never matches");
        assert!(!passes(&store, 1, compare("a", comparator, text("5"))));
    }
}

#[test]
fn r6_every_type_has_an_order() {
    let store = Store::with_table(MANY);
    let pairs = [
        (int(-3), int(i64::MAX)),
        (ValueRef::Double(-0.5), ValueRef::Double(1e300)),
        (ValueRef::Boolean(false), ValueRef::Boolean(true)),
        (text(""), text("\u{7f}")),
        (text("z"), text("é")),
        (ValueRef::Binary(&[]), ValueRef::Binary(&[0])),
        (ValueRef::Binary(&[127, 1]), ValueRef::Binary(&[128])),
    ];
    for (small, large) in pairs {
        store.put(id(1), &[cell("a", small), cell("b", large)]);
        assert!(passes(&store, 1, compare("a", Comparator::LessThan, large)), "{small:?} < {large:?}");
        assert!(passes(&store, 1, compare("b", Comparator::GreaterThan, small)), "{large:?} > {small:?}");
        assert!(passes(&store, 1, compare("a", Comparator::Equal, small)), "{small:?} = {small:?}");
        assert!(!passes(&store, 1, compare("a", Comparator::GreaterEqual, large)), "{small:?} >= {large:?}");
    }
}

#[test]
fn r6_a_missing_column_passes_or_not_as_asked() {
    let store = Store::with_table(MANY);
    store.put(id(1), &[cell("a", int(5))]);
    let missing = |pass_if_missing| {
        let comparison = ColumnFilter { pass_if_missing, ..comparison("zz", Comparator::Equal, int(1)) };
        passes(&store, 1, Filter::Column(comparison))
    };
    assert!(missing(true));
    assert!(!missing(false));
    assert!(!passes(&store, 2, compare("zz", Comparator::Equal, int(1))), "a row that does not exist");
    for pass_if_missing in [true, false] {
        let exists = |name, comparator| {
            let comparison = ColumnFilter { pass_if_missing, value: None, ..comparison(name, comparator, int(0)) };
            passes(&store, 1, Filter::Column(comparison))
        };
        assert!(exists("a", Comparator::Exist) && !exists("zz", Comparator::Exist));
        assert!(exists("zz", Comparator::NotExist) && !exists("a", Comparator::NotExist));
    }
}

#[test]
fn r6_a_filter_sees_only_what_is_selected() {
    let store = Store::with_table(MANY);
    store.put(id(1), &[cell("a", int(1)), cell("b", int(2)), cell("c", int(3))]);
    let wrong = |pass_if_missing| {
        Filter::Column(ColumnFilter { pass_if_missing, ..comparison("b", Comparator::Equal, int(99)) })
    };
    let read = |options: ReadOptions<'static>| get(&store, id(1), options).0;
    assert_eq!(read(filtered(wrong(true))), None, "the column is there");
    let left_out = |pass| ReadOptions { filter: Some(wrong(pass)), ..columns(&["a"]) };
    assert_eq!(read(left_out(true)), ints(&[("a", NOW, 1)]), "left out, the column counts as missing");
    assert_eq!(read(left_out(false)), None);
    let slice = |pass| ReadOptions { start_column: Some("c"), ..filtered(wrong(pass)) };
    assert_eq!(read(slice(true)), ints(&[("c", NOW, 3)]));
    assert_eq!(read(slice(false)), None);
    let right = compare("a", Comparator::Equal, int(1));
    let unwanted = ReadOptions { filter: Some(right), ..columns(&["zz"]) };
    assert_eq!(read(unwanted), None, "a row without the named columns is not returned, whatever the filter says");
}

#[test]
fn r6_a_filter_judges_the_newest_or_any_of_the_selected_versions() {
    let store = Store::with_table(MANY);
    let old = NOW - 1000;
    store.put(id(1), &[cell_at("a", NOW, int(2)), cell_at("a", old, int(1))]);
    let ask = |latest_version_only, with, max_versions, range| {
        let comparison = ColumnFilter { latest_version_only, ..comparison("a", Comparator::Equal, int(with)) };
        let versions = VersionQuery { max_versions, range, version: None };
        let options = ReadOptions { versions, ..filtered(Filter::Column(comparison)) };
        get(&store, id(1), options).0.map(|cells| cells.len())
    };
    assert_eq!(ask(true, 2, Some(9), None), Some(2));
    assert_eq!(ask(true, 1, Some(9), None), None);
    assert_eq!(ask(false, 1, Some(9), None), Some(2), "an older one matches");
    assert_eq!(ask(false, 1, Some(1), None), None, "but it is not selected");
    assert_eq!(ask(true, 1, None, Some((old, NOW))), Some(1), "the newest of those in the range");
    assert_eq!(ask(false, 2, None, Some((old, NOW))), None);
}

#[test]
fn r6_key_columns_can_be_filtered() {
    let store = Store::new();
    let columns = [("p", KeyType::String), ("n", KeyType::Integer), ("b", KeyType::Binary)];
    store.create("t", &columns, MANY);
    for n in 0..6 {
        store.put(key(&[("p", text("x")), ("n", int(n)), ("b", ValueRef::Binary(&[7]))]), &[]);
    }
    let rows = |filter: Filter<'static>| {
        let request = GetRange { options: filtered(filter), ..range("t", Direction::Forward) };
        let number = |row: &Row| match &row.0[1] {
            KeyValue::Integer(n) => *n,
            other => panic!("{other:?}"),
        };
        store.range(&request).0.iter().map(number).collect::<Vec<_>>()
    };
    assert_eq!(rows(compare("n", Comparator::GreaterEqual, int(4))), [4, 5]);
    assert_eq!(rows(compare("p", Comparator::Equal, text("y"))), [0; 0]);
    assert_eq!(rows(compare("b", Comparator::LessThan, ValueRef::Binary(&[8]))).len(), 6);
    assert_eq!(rows(compare("n", Comparator::NotEqual, text("4"))), [0; 0], "another type");
    let odd = Filter::Not(vec![compare("n", Comparator::Equal, int(3))]);
    assert_eq!(rows(odd), [0, 1, 2, 4, 5]);
}

#[test]
fn r6_filters_are_put_together() {
    let store = Store::with_table(MANY);
    store.put(id(1), &[cell("a", int(1)), cell("b", int(2))]);
    let (yes, no) = (compare("a", Comparator::Equal, int(1)), compare("b", Comparator::Equal, int(1)));
    for (filter, stands) in [
        (Filter::And(vec![yes.clone(), yes.clone()]), true),
        (Filter::And(vec![yes.clone(), no.clone()]), false),
        (Filter::Or(vec![no.clone(), yes.clone()]), true),
        (Filter::Or(vec![no.clone(), no.clone()]), false),
        (Filter::Not(vec![no.clone()]), true),
        (Filter::Not(vec![Filter::Or(vec![no.clone(), Filter::And(vec![yes.clone(), no.clone()])])]), true),
        (Filter::And(vec![Filter::Not(vec![no]), yes]), true),
    ] {
        assert_eq!(passes(&store, 1, filter.clone()), stands, "{filter:?}");
    }
}

#[test]
fn r6_a_wrong_filter_is_refused_by_every_read() {
    let store = Store::with_table(MANY);
    let table = TableName::parse("t").expect("a name");
    let leaf = || compare("a", Comparator::Equal, int(1));
    let page = |offset, limit| Filter::Page { offset, limit };
    let regex = |regex| {
        let transfer = Some(Transfer { regex, cast: CastType::String });
        Filter::Column(ColumnFilter { transfer, ..comparison("a", Comparator::Equal, text("")) })
    };
    let long = "a".repeat(257);
    for (filter, message) in [
        (Filter::Or(vec![leaf(); 32]), "The count of filter exceeds the max: 32."),
        (Filter::Not(vec![leaf(), leaf()]), "Invalid NOT operator: the number of sub-filters must be 1."),
        (Filter::And(vec![leaf()]), "Invalid AND/OR operator: the number of sub-filters must be more than 1."),
        (Filter::Or(vec![]), "Invalid AND/OR operator: the number of sub-filters must be more than 1."),
        (page(0, 0), "Limit in ColumnPaginationFilter must be greater than 0."),
        (page(-1, 1), "Offset in ColumnPaginationFilter must be greater than or equal to 0."),
        (Filter::Or(vec![leaf(), page(0, 1)]), "Invalid type of filter: FT_COLUMN_PAGINATION."),
        (regex(&long), "The length of regular expression exceeds the MaxLength:256 with CurrentLength:257."),
        (regex("["), "Invalid regular expression '[': found unclosed character class."),
    ] {
        let message = format!("OTSParameterInvalid: {message}");
        // Before anything is said about versions: the SDKs' tests ask for none.
        let options = ReadOptions { filter: Some(filter), ..ReadOptions::default() };
        let get = GetRow { table, key: id(1), options: options.clone() };
        assert_eq!(refused(store.env.run(store.instance.get_row(&get, &mut Rows::default()))), message);
        let range = GetRange { options: options.clone(), ..range("t", Direction::Forward) };
        assert_eq!(refused(store.env.run(store.instance.get_range(&range, &mut Rows::default()))), message);
        let batch = [TableRead { table, keys: vec![id(1)], options }];
        assert_eq!(refused(store.env.run(store.instance.batch_get_row(&batch, &mut [Rows::default()]))), message);
    }
}

#[test]
fn r6_a_batch_filters_each_tables_rows() {
    let store = Store::with_table(MANY);
    for row in 0..4 {
        store.put(id(row), &[cell("a", int(row))]);
    }
    let table = TableName::parse("t").expect("a name");
    let read = |comparator| TableRead {
        table,
        keys: vec![id(3), id(0), id(9), id(1)],
        options: filtered(compare("a", comparator, int(1))),
    };
    let reads = [read(Comparator::GreaterThan), read(Comparator::LessEqual)];
    let mut sinks = [Rows::default(), Rows::default()];
    let results = store.env.run(store.instance.batch_get_row(&reads, &mut sinks)).expect("read");
    let found = results.iter().map(|table| table.iter().flatten().map(|found| found.row).collect::<Vec<_>>());
    assert_eq!(found.collect::<Vec<_>>(), [[true, false, false, false], [false, true, false, true]]);
    assert_eq!(sinks.map(|rows| ids(&rows.0)), [vec![3], vec![0, 1]]);
}

#[test]
fn r6_pagination_skips_and_gives_columns() {
    let store = Store::with_table(MANY);
    let cells = ["a", "b", "c", "d"].map(|name| [cell_at(name, NOW, int(2)), cell_at(name, NOW - 1, int(1))]);
    store.put(id(1), &cells.concat());
    let page = |offset, limit, options: ReadOptions<'static>| {
        let options = ReadOptions { filter: Some(Filter::Page { offset, limit }), ..options };
        get(&store, id(1), options).0
    };
    let of = |offset, limit| page(offset, limit, versions(1)).map(|cells| names(&cells).concat());
    assert_eq!(of(0, 2).as_deref(), Some("ab"));
    assert_eq!(of(1, 2).as_deref(), Some("bc"));
    assert_eq!(of(3, 9).as_deref(), Some("d"));
    assert_eq!(of(0, i64::MAX).as_deref(), Some("abcd"));
    assert_eq!(of(4, 1).as_deref(), Some(""), "behind the last column the row is there without columns");
    assert_eq!(of(i64::MAX, i64::MAX).as_deref(), Some(""));
    let all = page(1, 2, versions(9)).expect("there");
    assert_eq!(names(&all), ["b", "b", "c", "c"], "columns are counted, not versions");
    let slice = ReadOptions { start_column: Some("b"), end_column: Some("d"), ..versions(1) };
    assert_eq!(page(1, 9, slice).map(|cells| names(&cells).concat()).as_deref(), Some("c"), "of what is selected");
    assert_eq!(page(1, 1, columns(&["d", "a"])).map(|cells| names(&cells).concat()).as_deref(), Some("d"));
}

#[test]
fn r6_pagination_goes_with_other_filters() {
    let store = Store::with_table(MANY);
    for row in 0..4 {
        store.put(id(row), &[cell("a", int(row)), cell("b", int(0)), cell("c", int(0))]);
    }
    let both = Filter::And(vec![compare("a", Comparator::GreaterEqual, int(2)), Filter::Page { offset: 1, limit: 1 }]);
    let request = GetRange { options: filtered(both), ..range("t", Direction::Forward) };
    let rows = store.range(&request).0;
    assert_eq!(ids(&rows), [2, 3], "the filter sees columns that are not on the page");
    assert!(rows.iter().all(|(_, cells)| names(cells) == ["b"]));
}

/// A row of more columns than one wants to read at once, page by page, both ways of the SDKs.
#[test]
fn r6_a_wide_row_is_read_page_by_page() {
    let store = Store::with_table(MANY);
    let columns = (0..2500).map(|n| format!("c{n:05}")).collect::<Vec<_>>();
    for some in columns.chunks(1000) {
        let puts = some.iter().map(|name| add(name, Some(NOW), 1)).collect::<Vec<_>>();
        store.update(id(1), &puts);
    }
    store.env.run(store.instance.flush()).expect("flushed");
    let page = |offset, start: Option<&str>| {
        let filter = Filter::Page { offset, limit: 100 };
        let options = ReadOptions { start_column: start, ..filtered(filter) };
        let cells = get(&store, id(1), options).0.expect("there");
        cells.into_iter().map(|(name, ..)| name).collect::<Vec<_>>()
    };
    let mut by_offset = Vec::new();
    for offset in (0..=2500).step_by(100) {
        by_offset.extend(page(offset, None));
    }
    assert_eq!(by_offset, columns);
    let mut by_start = page(0, None);
    loop {
        let last = by_start.last().expect("some").clone();
        let more = page(1, Some(&last));
        if more.is_empty() {
            break;
        }
        by_start.extend(more);
    }
    assert_eq!(by_start, columns);
}

/// The filter of the official SDKs' tests: the text between two marks.
#[test]
fn r6_a_value_is_transferred_by_a_regular_expression() {
    let store = Store::with_table(MANY);
    let rows = ["t1:abc,t2:1,", "t1:k,t2:20,", "t1:zz,t2:-3,", "t2:x,", ""];
    for (row, value) in (0..).zip(rows) {
        store.put(id(row), &[cell("col1", text(value))]);
    }
    store.put(id(5), &[cell("col1", ValueRef::Binary(b"t1:k,t2:7,"))]);
    store.put(id(6), &[cell("col1", int(7))]);
    store.put(id(7), &[]);
    let rows = |filter: Filter<'_>| {
        let request = GetRange { options: filtered(filter), ..range("t", Direction::Forward) };
        ids(&store.range(&request).0)
    };
    let rule = |regex, cast, comparator, value| {
        let transfer = Some(Transfer { regex, cast });
        let comparison = comparison("col1", comparator, value);
        Filter::Column(ColumnFilter { transfer, pass_if_missing: false, ..comparison })
    };
    let letters = |comparator, value| rule("t1:([a-z]+),", CastType::String, comparator, text(value));
    let both = [letters(Comparator::GreaterEqual, "d"), letters(Comparator::LessEqual, "m")];
    assert_eq!(rows(Filter::And(both.to_vec())), [1, 5]);
    let number = |comparator, value| rule("t2:([-0-9]+),", CastType::Integer, comparator, int(value));
    assert_eq!(rows(number(Comparator::GreaterThan, 1)), [1, 5]);
    assert_eq!(rows(number(Comparator::LessThan, 10)), [0, 2, 5], "numbers, not texts");
    assert_eq!(rows(number(Comparator::NotEqual, 1)), [1, 2, 5], "what is no number is not unequal to one");
    let double = rule("t2:([-0-9]+),", CastType::Double, Comparator::Equal, ValueRef::Double(20.0));
    assert_eq!(rows(double), [1]);
    let whole = rule("t1:[a-z]+", CastType::String, Comparator::Equal, text("t1:zz"));
    assert_eq!(rows(whole), [2]);
    assert_eq!(rows(Filter::Not(vec![letters(Comparator::Exist, "")])), [3, 4, 6, 7]);
    let missing = ColumnFilter {
        transfer: Some(Transfer { regex: "q", cast: CastType::String }),
        ..comparison("col1", Comparator::Equal, text("q"))
    };
    assert_eq!(rows(Filter::Column(missing)), [7], "a missing column passes when that is asked");
}

fn next(store: &Store, request: &GetRange<'_>) -> (Vec<i64>, Option<i64>, u32) {
    let (rows, read) = store.range(request);
    let next = read.next.map(|key| match key.as_slice() {
        [KeyValue::Integer(id)] => *id,
        other => panic!("{other:?}"),
    });
    (ids(&rows), next, read.consumed.read)
}

fn numbered(count: i64) -> Store {
    let store = Store::with_table(MANY);
    for start in (0..count).step_by(200) {
        let writes = (start..count.min(start + 200)).map(|row| put("t", id(row), &[cell("a", int(row))]));
        let writes = writes.collect::<Vec<_>>();
        store.env.run(store.instance.batch_write_row(&writes, None)).expect("written");
    }
    store
}

/// As the official SDKs' tests count: a row that a filter drops is scanned all the same.
#[test]
fn r3_10000_rows_with_a_filter_come_in_exactly_two_responses() {
    let store = numbered(10_000);
    let all = compare("a", Comparator::GreaterEqual, int(9_000));
    for direction in [Direction::Forward, Direction::Backward] {
        let mut request = GetRange { options: filtered(all.clone()), ..range("t", direction) };
        let (first, then, _) = next(&store, &request);
        let mut start = KeyInput::new();
        start.push("id", KeyPart::Value(int(then.expect("more"))));
        request.start = start;
        let (second, end, _) = next(&store, &request);
        match direction {
            Direction::Forward => {
                assert_eq!((first.len(), then), (0, Some(5000)), "no row and a next key");
                assert_eq!((second.len(), second[0], end), (1000, 9000, None));
            }
            Direction::Backward => {
                assert_eq!((first.len(), first[0], then), (1000, 9999, Some(4999)));
                assert_eq!((second.len(), end), (0, None));
            }
        }
    }
}

#[test]
fn r3_a_limit_counts_what_passes_and_the_next_key_is_the_first_unread_row() {
    let store = numbered(100);
    store.write(&delete("t", id(41))).expect("deleted");
    let third = Filter::Or([10, 20, 40, 60].map(|row| compare("a", Comparator::Equal, int(row))).to_vec());
    let request = |limit, start| GetRange {
        limit: Some(limit),
        start: id(start),
        options: filtered(third.clone()),
        ..range("t", Direction::Forward)
    };
    let (rows, then, _) = next(&store, &request(2, 0));
    assert_eq!((rows, then), (vec![10, 20], Some(21)), "whether or not that row passes");
    let (rows, then, _) = next(&store, &request(1, 21));
    assert_eq!((rows, then), (vec![40], Some(42)), "an existing row");
    assert_eq!(next(&store, &request(1, 61)).0, [0; 0]);
    assert_eq!(next(&store, &request(1, 61)).1, None, "read to the end");
}

#[test]
fn r3_regular_expressions_end_a_call_when_they_had_too_much_to_do() {
    let store = Store::with_table(MANY);
    let value = "x".repeat(100_000);
    for row in 0..30 {
        store.put(id(row), &[cell("a", text(&value))]);
    }
    let costly = "[0-9]{40}[a-f]{40}[A-F]{40}".repeat(2);
    let transfer = Some(Transfer { regex: &costly, cast: CastType::String });
    let filter = Filter::Column(ColumnFilter { transfer, ..comparison("a", Comparator::Exist, int(0)) });
    let mut start = 0;
    let mut calls = 0;
    loop {
        let request =
            GetRange { start: id(start), options: filtered(filter.clone()), ..range("t", Direction::Forward) };
        let (rows, then, _) = next(&store, &request);
        assert_eq!(rows, [0; 0]);
        calls += 1;
        let Some(then) = then else { break };
        assert!(then > start, "every call comes further");
        start = then;
    }
    assert!((2..30).contains(&calls), "{calls} calls");
}

#[test]
fn c1_a_filter_does_not_make_reading_cheaper() {
    let store = Store::with_table(MANY);
    let value = "x".repeat(4096);
    for row in 1..=2 {
        store.put(id(row), &["a", "b", "c"].map(|name| cell(name, text(&value))));
    }
    let no = || compare("a", Comparator::Equal, text("no"));
    let cost = |options| next(&store, &GetRange { options, ..range("t", Direction::Forward) }).2;
    assert_eq!(cost(filtered(no())), 7, "two rows that are scanned");
    assert_eq!(cost(ReadOptions { filter: Some(no()), ..columns(&["a", "b"]) }), 5, "their selected columns");
    assert_eq!(cost(filtered(Filter::Page { offset: 0, limit: 1 })), 7, "whatever the page shows");
    assert_eq!(get(&store, id(1), versions(1)).1, 4);
    assert_eq!(get(&store, id(1), filtered(no())), (None, 4), "a row that is dropped was read");
    assert_eq!(get(&store, id(1), ReadOptions { filter: Some(no()), ..columns(&["a"]) }), (None, 2));
    let (row, cost) = get(&store, id(1), filtered(Filter::Page { offset: 0, limit: 1 }));
    assert_eq!((row.map(|cells| cells.len()), cost), (Some(1), 2), "one row costs what it returns");
    assert_eq!(get(&store, id(9), filtered(no())), (None, 1), "a missing row");
    store.put(id(3), &[]);
    assert_eq!(get(&store, id(3), filtered(compare("id", Comparator::Equal, int(9)))), (None, 1));
}
