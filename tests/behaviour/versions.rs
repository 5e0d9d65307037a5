//! Versions, time to live, the window of versions, the store's clock (V1 to V8, V10).

use crate::store::*;
use tabstore::engine::{ClockMode, Options};
use tabstore::model::filter::Comparator;
use tabstore::model::select::VersionQuery;
use tabstore::model::{Consumed, KeyType, Value};
use tabstore::tablestore::{ColumnOp, Existence, InstanceOptions, OptionsChange, ReadOptions, RowWrite};

const NONE: OptionsChange =
    OptionsChange { time_to_live: None, max_versions: None, max_version_offset: None, allow_update: None };
const DAY: i64 = 86_400_000;

fn max_versions(max: i64) -> OptionsChange {
    OptionsChange { max_versions: Some(max), ..NONE }
}

fn time_to_live(seconds: i64) -> OptionsChange {
    OptionsChange { time_to_live: Some(seconds), ..NONE }
}

/// Three versions of one column, a second apart, the newest now.
fn three_versions(store: &Store) {
    store.put(id(1), &[0, 1, 2].map(|back| cell_at("a", NOW - back * 1000, int(back))));
}

#[test]
fn v1_v10_the_store_stamps_its_clock_and_never_the_same_twice_on_a_row() {
    let mut store = Store::with_table(max_versions(100));
    for value in 0..3 {
        store.update(id(1), &[add("a", None, value)]);
    }
    store.put(id(2), &[cell("a", int(1))]);
    assert_eq!(
        store.all(id(1)),
        ints(&[("a", NOW + 2, 2), ("a", NOW + 1, 1), ("a", NOW, 0)]),
        "the clock stands still"
    );
    assert_eq!(store.all(id(2)), ints(&[("a", NOW, 1)]), "another row has the clock");
    for reopened in [false, true] {
        if reopened {
            store.reopen();
        }
        // The clock jumps back a year. The stored stamps of the row must be read, and the next one is still higher.
        store.env.set_now(NOW - 365 * DAY);
        let newest = store.all(id(1)).expect("there")[0].1;
        store.update(id(1), &[add("a", None, 7)]);
        assert_eq!(store.all(id(1)).expect("there")[0].1, newest + 1);
        let other = if reopened { 4 } else { 3 };
        store.put(id(other), &[cell("a", int(1))]);
        assert_eq!(store.all(id(other)), ints(&[("a", NOW - 365 * DAY, 1)]), "a new row travels in time");
    }
}

/// Whatever order tasks run in.
#[test]
fn v10_stamps_follow_the_order_of_requests_when_the_store_has_to_read() {
    for seed in 0..20 {
        let options = Options { clock: ClockMode::Injected, ..Options::default() };
        let mut store = Store::shuffled(InstanceOptions::default(), options, seed);
        store.create("t", &[("id", KeyType::Integer)], max_versions(9));
        store.put(id(1), &[cell("a", int(0))]);
        store.compact();
        store.reopen();
        store.env.set_now(NOW - DAY / 2);
        // All three start before any has read the row.
        let writes = [1, 2, 3].map(|value| update("t", id(1), &[add("a", None, value)]));
        store.env.run(async {
            let [a, b, c] = writes.each_ref().map(|write| store.instance.write_row(write, None));
            let (a, b, c) = futures_util::future::join3(a, b, c).await;
            a.and(b).and(c).expect("written");
        });
        let expected = ints(&[("a", NOW + 3, 3), ("a", NOW + 2, 2), ("a", NOW + 1, 1), ("a", NOW, 0)]);
        assert_eq!(store.all(id(1)), expected, "seed {seed}");
    }
}

#[test]
fn v2_the_oldest_versions_above_the_number_are_invisible_at_once() {
    let store = Store::with_table(max_versions(2));
    three_versions(&store);
    assert_eq!(store.all(id(1)), ints(&[("a", NOW, 0), ("a", NOW - 1000, 1)]));
    store.update(id(1), &[add("a", Some(NOW - 500), 9)]);
    assert_eq!(store.all(id(1)), ints(&[("a", NOW, 0), ("a", NOW - 500, 9)]), "old by version, not by arrival");
    store.update(id(1), &[change("a", ColumnOp::DeleteColumn)]);
    store.update(id(1), &[add("a", Some(NOW - 9000), 5)]);
    assert_eq!(store.all(id(1)), ints(&[("a", NOW - 9000, 5)]), "deleted versions do not count");
}

#[test]
fn v3_lowering_max_versions_hides_raising_shows_and_compaction_is_for_good() {
    let mut store = Store::with_table(max_versions(3));
    three_versions(&store);
    let (one, three) = (ints(&[("a", NOW, 0)]), ints(&[("a", NOW, 0), ("a", NOW - 1000, 1), ("a", NOW - 2000, 2)]));
    assert_eq!(store.all(id(1)), three);
    store.set_options("t", max_versions(1));
    assert_eq!(store.all(id(1)), one);
    store.reopen();
    assert_eq!(store.all(id(1)), one);
    store.set_options("t", max_versions(3));
    assert_eq!(store.all(id(1)), three);
    store.set_options("t", max_versions(1));
    store.compact();
    store.set_options("t", max_versions(3));
    assert_eq!(store.all(id(1)), one);
}

/// Each row has sixty versions of which one is seen; then it is written to, in every way that looks at it first.
#[test]
fn v3_writes_that_see_their_row_leave_hidden_versions_alone() {
    let mut store = Store::new();
    store.create("t", &[("id", KeyType::Integer)], max_versions(100));
    for version in 0..60 {
        for row in 0..6 {
            store.update(id(row), &[add("c", Some(NOW - 1000 + version), version), add("other", Some(NOW - 1), 0)]);
        }
    }
    store.set_options("t", max_versions(1));
    let exists = |row| expecting(Existence::ExpectExist, update("t", id(row), &[add("other", None, 1)]));
    let compared = |row| {
        let condition = Some(Box::new(compare("other", Comparator::Equal, int(0))));
        RowWrite { column_condition: condition, ..update("t", id(row), &[add("other", None, 1)]) }
    };
    let counted = |row| update("t", id(row), &[increment("other", 1)]);
    store.write(&exists(0)).expect("written");
    store.write(&compared(1)).expect("written");
    store.write(&counted(2)).expect("written");
    let done = store.env.run(store.instance.batch_write_row(&[exists(3)], None)).expect("written");
    assert!(done.iter().all(Result::is_ok));
    let done = store.env.run(store.instance.batch_write_row_atomic(&[counted(4)], None)).expect("written");
    assert!(done.iter().all(Result::is_ok));
    let table = tabstore::model::TableName::parse("t").expect("a name");
    let started = store.instance.start_local_transaction(table, &id(5)).expect("started");
    let inside = exists(5);
    store.env.run(store.instance.write_row_in(Some(&started.id), &inside, None)).expect("written");
    store.env.run(store.instance.commit_transaction(&started.id, None)).expect("committed");
    for reopened in [false, true] {
        if reopened {
            store.reopen();
        }
        store.set_options("t", max_versions(100));
        for row in 0..6 {
            let cells = store.all(id(row)).expect("a row");
            assert_eq!(cells.iter().filter(|cell| cell.0 == "c").count(), 60, "row {row}: no compaction has run");
            assert_eq!(cells.iter().filter(|cell| cell.0 == "other").count(), 2);
        }
    }
}

/// Versions 1 to `last` of column `a`, each by a write of its own.
fn versions_to(store: &Store, row: i64, last: i64) {
    for n in 1..=last {
        store.update(id(row), &[add("a", Some(NOW + n), n)]);
    }
}

fn without<'a>(row: i64, versions: &[i64]) -> RowWrite<'a> {
    let deletions: Vec<_> = versions.iter().map(|n| change("a", ColumnOp::DeleteVersion(NOW + n))).collect();
    update("t", id(row), &deletions)
}

/// V2, V3: in whatever way a version is deleted, and whether a compaction has run.
#[test]
fn v2_v3_what_is_hidden_goes_with_a_version_that_is_deleted() {
    for (compacted, last) in [(false, 4), (true, 4), (false, 60), (true, 60)] {
        let store = Store::with_table(max_versions(2));
        (0..5).for_each(|row| versions_to(&store, row, last));
        if compacted {
            store.compact();
        }
        // Rows of many pieces are remembered without what is hidden.
        assert_eq!(store.all(id(0)), ints(&[("a", NOW + last, last), ("a", NOW + last - 1, last - 1)]));
        let deletion = |row| without(row, &[last]);
        let written = store.write(&deletion(0)).expect("written");
        assert_eq!(written.consumed, Consumed::writing(1), "no condition was asked");
        store.write(&expecting(Existence::ExpectExist, deletion(1))).expect("written");
        let done = store.env.run(store.instance.batch_write_row(&[deletion(2)], None)).expect("written");
        assert!(done.iter().all(Result::is_ok));
        let done = store.env.run(store.instance.batch_write_row_atomic(&[deletion(3)], None)).expect("written");
        assert!(done.iter().all(Result::is_ok));
        let table = tabstore::model::TableName::parse("t").expect("a name");
        let started = store.instance.start_local_transaction(table, &id(4)).expect("started");
        store.env.run(store.instance.write_row_in(Some(&started.id), &deletion(4), None)).expect("written");
        store.env.run(store.instance.commit_transaction(&started.id, None)).expect("committed");
        for max in [2, 1, 100] {
            store.set_options("t", max_versions(max));
            for row in 0..5 {
                let left = ints(&[("a", NOW + last - 1, last - 1)]);
                assert_eq!(store.all(id(row)), left, "row {row}, compacted: {compacted}, {max} versions");
            }
        }
    }
}

#[test]
fn v2_v3_only_what_is_shown_takes_what_is_hidden_along() {
    for compacted in [false, true] {
        let store = Store::with_table(max_versions(3));
        (0..5).for_each(|row| versions_to(&store, row, 5));
        store.set_options("t", max_versions(2));
        if compacted {
            store.compact();
        }
        store.write(&without(0, &[2])).expect("written");
        store.write(&without(1, &[77])).expect("written");
        store.write(&without(2, &[5, 4])).expect("written");
        let (put, version) = (add("a", Some(NOW + 9), 9), change("a", ColumnOp::DeleteVersion(NOW + 4)));
        store.update(id(3), &[version, put]);
        let (put, version) = (add("a", Some(NOW + 1), 100), change("a", ColumnOp::DeleteVersion(NOW + 5)));
        store.update(id(4), &[put, version]);
        let cells = |versions: &[i64]| versions.iter().map(|n| ("a", NOW + n, *n)).collect::<Vec<_>>();
        assert_eq!(store.all(id(0)), ints(&cells(&[5, 4])));
        assert_eq!(store.all(id(1)), ints(&cells(&[5, 4])));
        assert_eq!(store.all(id(2)), None, "nothing that was shown is left");
        assert_eq!(store.all(id(3)), ints(&cells(&[9, 5])));
        assert_eq!(store.all(id(4)), ints(&[("a", NOW + 4, 4), ("a", NOW + 1, 100)]), "what is put with it stays");
        store.set_options("t", max_versions(9));
        let raised = if compacted { cells(&[5, 4]) } else { cells(&[5, 4, 3, 1]) };
        assert_eq!(store.all(id(0)), ints(&raised), "it was deleted alone");
    }
}

/// V2, R7: fewer versions hide cells that a transaction was shown; these would come up with it, or not.
#[test]
fn v2_r7_a_transaction_that_deleted_a_version_ends_when_fewer_are_shown() {
    let store = Store::with_table(max_versions(3));
    let table = tabstore::model::TableName::parse("t").expect("a name");
    let commit = |row: i64, write: &RowWrite<'_>, max: i64| {
        let started = store.instance.start_local_transaction(table, &id(row)).expect("started");
        store.env.run(store.instance.write_row_in(Some(&started.id), write, None)).expect("written");
        store.set_options("t", max_versions(max));
        store.env.run(store.instance.commit_transaction(&started.id, None))
    };
    (0..3).for_each(|row| versions_to(&store, row, 3));
    let error = commit(0, &without(0, &[3]), 2).expect_err("fewer are shown");
    assert!(error.error.hint().is_some_and(|hint| hint.contains("max versions was lowered")), "{error:?}");
    assert_eq!(error.error.to_string(), "OTSSessionNotExist: Session not exist or may be timeout.");
    assert_eq!(store.all(id(0)), ints(&[("a", NOW + 3, 3), ("a", NOW + 2, 2)]));
    commit(1, &without(1, &[3]), 3).expect("more may be shown");
    assert_eq!(store.all(id(1)), ints(&[("a", NOW + 2, 2)]), "the first was hidden when the third went");
    commit(2, &update("t", id(2), &[add("a", Some(NOW + 4), 4)]), 1).expect("nothing was deleted");
}

/// V2: a batch that is one decision about a row comes to what its writes come to one after another.
#[test]
fn v2_writes_of_an_atomic_batch_see_what_those_before_them_hide() {
    let add = |version: i64| update("t", id(1), &[add("a", Some(NOW + version), 10 * version)]);
    let scripts: [Vec<RowWrite<'_>>; 6] = [
        vec![add(5), without(1, &[4])],
        vec![without(1, &[4]), without(1, &[3])],
        vec![add(5), without(1, &[5])],
        vec![add(2), without(1, &[4]), add(1)],
        vec![put("t", id(1), &[cell_at("a", NOW + 2, int(7)), cell_at("b", NOW, int(8))]), without(1, &[4])],
        vec![put("t", id(1), &[1, 2, 3].map(|n| cell_at("a", NOW + n, int(n)))), without(1, &[3])],
    ];
    for (at, script) in scripts.iter().enumerate() {
        let [apart, together, atomic] = [0, 1, 2].map(|way| {
            let store = Store::with_table(max_versions(2));
            versions_to(&store, 1, 4);
            let done = match way {
                0 => script.iter().map(|write| store.write(write)).collect(),
                1 => store.env.run(store.instance.batch_write_row(script, None)).expect("written"),
                _ => store.env.run(store.instance.batch_write_row_atomic(script, None)).expect("written"),
            };
            assert!(done.iter().all(Result::is_ok));
            store.set_options("t", max_versions(9));
            store.all(id(1))
        });
        assert_eq!((&together, &atomic), (&apart, &apart), "script {at}");
    }
}

#[test]
fn v4_expired_data_is_invisible_at_once_and_a_row_of_nothing_else_disappears() {
    let store = Store::with_table(OptionsChange { max_versions: Some(9), ..time_to_live(86_400) });
    store.put(id(1), &[cell("a", int(1))]);
    store.put(id(2), &[]);
    store.env.advance(1000);
    store.update(id(1), &[add("b", None, 2)]);
    store.update(id(3), &[add("a", None, 3)]);
    store.env.set_now(NOW + DAY + 999);
    assert_eq!(store.all(id(1)), ints(&[("a", NOW, 1), ("b", NOW + 1000, 2)]));
    assert_eq!(store.ids(), [1, 2, 3]);
    store.env.set_now(NOW + DAY + 1000);
    assert_eq!(store.all(id(1)), ints(&[("b", NOW + 1000, 2)]));
    assert_eq!(store.ids(), [1, 3], "the row without attributes expired with its put");
    store.env.set_now(NOW + DAY + 2000);
    assert_eq!(store.ids(), [0; 0]);
    let expect = expecting(Existence::ExpectNotExist, put("t", id(1), &[]));
    store.write(&expect).expect("an expired row does not exist");
}

/// A row put with given versions exists as long as the newest of them.
#[test]
fn v4_a_put_row_expires_with_its_versions() {
    let store = Store::with_table(time_to_live(86_400));
    store.put(id(1), &[cell_at("a", NOW - DAY / 2, int(1))]);
    store.env.set_now(NOW + DAY / 2);
    assert_eq!(store.ids(), [1]);
    store.env.advance(1000);
    assert_eq!(store.ids(), [0; 0]);
}

#[test]
fn v5_lowering_ttl_hides_raising_shows_and_compaction_is_for_good() {
    let store = Store::with_table(OptionsChange { max_versions: Some(9), max_version_offset: Some(864_000), ..NONE });
    let cells = [0, 2, 4].map(|days| cell_at("a", NOW - days * DAY, int(days)));
    store.put(id(1), &cells);
    store.put(id(2), &[cell_at("a", NOW - 4 * DAY, int(4))]);
    let young = ints(&[("a", NOW, 0), ("a", NOW - 2 * DAY, 2)]);
    let every = ints(&[("a", NOW, 0), ("a", NOW - 2 * DAY, 2), ("a", NOW - 4 * DAY, 4)]);
    assert_eq!(store.all(id(1)), every);
    store.set_options("t", time_to_live(3 * 86_400));
    assert_eq!((store.all(id(1)), store.ids()), (young.clone(), vec![1]));
    store.set_options("t", time_to_live(5 * 86_400));
    assert_eq!((store.all(id(1)), store.ids()), (every, vec![1, 2]));
    store.set_options("t", time_to_live(3 * 86_400));
    store.compact();
    store.set_options("t", time_to_live(-1));
    assert_eq!((store.all(id(1)), store.ids()), (young, vec![1]));
}

#[test]
fn v6_a_version_outside_the_window_fails_its_row_and_stores_nothing() {
    let store = Store::with_table(OptionsChange { max_versions: Some(9), max_version_offset: Some(3600), ..NONE });
    let (first, last) = (NOW - 3_600_000, NOW + 3_599_999);
    store.put(id(1), &[cell_at("a", first, int(1)), cell_at("b", last, int(2))]);
    for outside in [first - 1, last + 1, 0] {
        let message = "OTSParameterInvalid: Invalid timestamp. Cell:late.";
        let cells = [cell("right", int(1)), cell_at("late", outside, int(1))];
        assert_eq!(refused(store.write(&put("t", id(2), &cells))), message);
        let changes = [add("right", None, 1), add("late", Some(outside), 1)];
        assert_eq!(refused(store.write(&update("t", id(1), &changes))), message);
    }
    assert_eq!(store.ids(), [1]);
    store.update(id(1), &[change("a", ColumnOp::DeleteVersion(5))]);
    assert_eq!(store.all(id(1)), ints(&[("a", first, 1), ("b", last, 2)]), "deletions may name any version");
    for impossible in [-1, i64::MAX / 1000, i64::MIN] {
        let message = "OTSParameterInvalid: Timestamp must be in range [0, INT64_MAX/1000).";
        assert_eq!(refused(store.write(&put("t", id(2), &[cell_at("a", impossible, int(1))]))), message);
        let delete = change("a", ColumnOp::DeleteVersion(impossible));
        assert_eq!(refused(store.write(&update("t", id(1), &[delete]))), message);
    }
}

#[test]
fn v7_the_boundary_instants() {
    let store = Store::with_table(OptionsChange {
        max_versions: Some(9),
        max_version_offset: Some(86_400),
        ..time_to_live(86_400)
    });
    let writable = |version| store.write(&put("t", id(version), &[cell_at("a", version, int(1))])).is_ok();
    assert!(writable(1_468_944_000_000));
    assert!(!writable(1_468_943_999_999) && !writable(1_468_943_999_000));
    assert!(writable(1_469_116_799_999));
    assert!(!writable(1_469_116_800_000));
    assert_eq!(store.ids(), [1_468_944_000_000, 1_469_116_799_999]);
    store.env.advance(999);
    assert_eq!(store.ids(), [1_468_944_000_000, 1_469_116_799_999], "the same second");
    store.env.advance(1);
    assert_eq!(store.ids(), [1_469_116_799_999], "one second later");
    // Versions that are outside the window by now, but were written before, are as invisible.
    store.set_options("t", time_to_live(2 * 86_400));
    assert_eq!(store.ids(), [1_468_944_000_000, 1_469_116_799_999]);
}

#[test]
fn v8_newest_n_a_range_of_versions_or_one_exact() {
    let store = Store::with_table(max_versions(9));
    three_versions(&store);
    let read = |max_versions, range, version| {
        let versions = VersionQuery { max_versions, range, version };
        let cells = store.get("t", id(1), ReadOptions { versions, ..ReadOptions::default() });
        cells.map(|cells| cells.into_iter().map(|(_, version, _)| NOW - version).collect::<Vec<_>>())
    };
    assert_eq!(read(Some(2), None, None), Some(vec![0, 1000]), "newest first");
    assert_eq!(read(None, Some((NOW - 2000, NOW)), None), Some(vec![1000, 2000]), "start inclusive, end exclusive");
    assert_eq!(read(Some(1), Some((0, NOW)), None), Some(vec![1000]));
    assert_eq!(read(None, None, Some(NOW - 2000)), Some(vec![2000]));
    assert_eq!(read(None, None, Some(5)), Some(vec![]), "the row is there, without cells");
    let versions = VersionQuery { version: Some(5), ..VersionQuery::default() };
    let named = ReadOptions { versions, ..columns(&["a"]) };
    assert_eq!(store.get("t", id(1), named), None, "with named columns there is no row");
    let table = tabstore::model::TableName::parse("t").expect("a name");
    let request = tabstore::tablestore::GetRow { table, key: id(1), options: ReadOptions::default() };
    let message = "OTSParameterInvalid: No version condition is specified.";
    assert_eq!(refused(store.env.run(store.instance.get_row(&request, &mut Rows::default()))), message);
}

#[test]
fn v2_v4_the_background_removes_what_nobody_sees() {
    let store = Store::with_table(OptionsChange { max_versions: Some(1), ..time_to_live(86_400) });
    let long = "x".repeat(10_000);
    for _ in 0..20 {
        store.put(id(1), &[cell("a", text(&long))]);
        store.update(id(2), &[change("a", ColumnOp::Put { version: None, value: text(&long) })]);
    }
    store.env.advance(DAY + 1000);
    store.put(id(3), &[cell("a", int(1))]);
    store.compact();
    store.env.run_until_idle();
    assert_eq!(store.ids(), [3]);
    assert_eq!(store.all(id(3)).map(|cells| cells[0].2.clone()), Some(Value::Integer(1)));
}
