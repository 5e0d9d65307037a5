//! Rows that are larger than what is stored of them at a time (D1, D2, T4): they are read as any other, and reads of little
//! load little.

use crate::store::*;
use tabstore::engine::{Options, Shape};
use tabstore::model::select::VersionQuery;
use tabstore::model::{KeyType, Value};
use tabstore::tablestore::{InstanceOptions, OptionsChange, ReadOptions};

const VERSIONS: i64 = 500;
const COLUMNS: i64 = 2000;

/// Nothing stays in the cache, and a row of more than 2000 bytes lies in several blocks.
fn store() -> Store {
    let shape = Shape { block_bytes: 400, ..Shape::DEFAULT };
    let store = Store::with(InstanceOptions::default(), Options { cache_bytes: 0, shape, ..Options::default() });
    let options = OptionsChange { max_versions: Some(VERSIONS), ..OptionsChange::default() };
    store.create("t", &[("id", KeyType::Integer)], options);
    store
}

fn name(at: i64) -> String {
    format!("c{at:04}")
}

/// Noise as text, so that it takes its space.
fn value(at: i64) -> String {
    let noise = at.unsigned_abs().wrapping_mul(0x9E37_79B9_7F4A_7C15);
    format!("{noise:016x}{:016x}", noise.rotate_left(23).wrapping_mul(noise | 1))
}

fn seen(name: &str, version: i64, at: i64) -> Cell {
    (name.to_owned(), version, Value::String(value(at)))
}

/// The number of blocks that a read loads, and its result.
fn loaded(store: &Store, options: ReadOptions<'_>) -> (u64, Option<Vec<Cell>>) {
    let before = store.instance.metrics().cache_misses;
    let row = store.get("t", id(1), options);
    (store.instance.metrics().cache_misses - before, row)
}

/// Row 1 has many columns.
fn of_columns() -> Store {
    let store = store();
    for first in (0..COLUMNS).step_by(500) {
        let (names, values): (Vec<_>, Vec<_>) = (first..first + 500).map(|at| (name(at), value(at))).unzip();
        let puts = names.iter().zip(&values).map(|(name, value)| {
            let op = tabstore::tablestore::ColumnOp::Put { version: Some(NOW), value: text(value) };
            change(name, op)
        });
        store.update(id(1), &puts.collect::<Vec<_>>());
    }
    store
}

/// Row 1 has many versions of the column `x`, a second apart, the newest now, and one of `a` and of `z`.
fn of_versions() -> Store {
    let store = store();
    for back in (0..VERSIONS).rev() {
        let value = value(back);
        store.update(id(1), &[put_at("x", NOW - back * 1000, &value)]);
    }
    store.update(id(1), &[put_at("a", NOW, "first"), put_at("z", NOW, "last")]);
    store
}

fn put_at<'a>(name: &'a str, version: i64, value: &'a str) -> tabstore::tablestore::ColumnChange<'a> {
    change(name, tabstore::tablestore::ColumnOp::Put { version: Some(version), value: text(value) })
}

#[test]
fn d1_a_column_of_a_row_of_many_is_read_without_the_others() {
    let store = of_columns();
    store.compact();
    let (all, row) = loaded(&store, versions(1));
    assert_eq!(row, Some((0..COLUMNS).map(|at| seen(&name(at), NOW, at)).collect()));
    assert!(all > 50, "{all} blocks are not many");
    for at in [0, 1, COLUMNS / 2, COLUMNS - 1] {
        let (few, row) = loaded(&store, columns(&[&name(at)]));
        assert_eq!(row, Some(vec![seen(&name(at), NOW, at)]));
        assert!(few <= 8, "{few} of {all} blocks for one column");
    }
    let (few, row) = loaded(&store, columns(&["b", "d"]));
    assert_eq!(row, None, "it has none of these");
    assert!(few <= 8, "{few} of {all} blocks for none");
    let (_, row) = loaded(&store, columns(&["id"]));
    assert_eq!(row, Some(vec![]), "the key alone");
}

#[test]
fn t4_v8_new_versions_of_a_column_of_many_are_read_without_the_old_ones() {
    let mut store = of_versions();
    store.compact();
    let everything: Vec<_> = (0..VERSIONS).map(|back| seen("x", NOW - back * 1000, back)).collect();
    let (all, row) = loaded(&store, versions(1000));
    assert_eq!(row.expect("there")[1..=VERSIONS as usize], everything);
    assert!(all > 25, "{all} blocks are not many");
    let ends = |x: &[Cell]| {
        let end = |name: &str, value: &str| (name.to_owned(), NOW, Value::String(value.to_owned()));
        Some([&[end("a", "first")], x, &[end("z", "last")]].concat())
    };
    let recent = |from: i64| ReadOptions {
        versions: VersionQuery { max_versions: None, range: Some((from, NOW + 1)), version: None },
        ..ReadOptions::default()
    };
    for reopened in [false, true] {
        let (few, row) = loaded(&store, versions(3));
        assert_eq!(row, ends(&everything[..3]));
        assert!(few <= 8, "{few} of {all} blocks for the newest three");
        let (few, row) = loaded(&store, recent(NOW - 3000));
        assert_eq!(row, ends(&everything[..4]));
        assert!(few <= 8, "{few} of {all} blocks for the last seconds");
        if !reopened {
            store.reopen();
        }
    }
    // Without the newest ones, as it is told by other segments and the memory, others are the newest three.
    let delete = |back: i64| change("x", tabstore::tablestore::ColumnOp::DeleteVersion(NOW - back * 1000));
    store.update(id(1), &(0..20).map(delete).collect::<Vec<_>>());
    store.env.run(store.instance.flush()).expect("flushed");
    store.update(id(1), &(20..30).map(delete).collect::<Vec<_>>());
    assert_eq!(loaded(&store, versions(3)).1, ends(&everything[30..33]));
    store.update(id(1), &[change("x", tabstore::tablestore::ColumnOp::DeleteColumn)]);
    assert_eq!(loaded(&store, versions(3)).1, ends(&[]));
}

/// V2, V3, V5: the options of the table hide parts of a row in many blocks, and a compaction removes them for good.
#[test]
fn v2_v3_v5_options_hide_and_compaction_removes_parts_of_a_large_row() {
    let store = of_versions();
    let x = || {
        let row = store.get("t", id(1), ReadOptions { columns: vec![column("x")], ..versions(1000) });
        row.map_or(0, |cells| cells.len() as i64)
    };
    let max = |most: i64| {
        store.set_options("t", OptionsChange { max_versions: Some(most), ..OptionsChange::default() });
    };
    store.env.run(store.instance.flush()).expect("flushed");
    max(70);
    assert_eq!(x(), 70);
    max(1000);
    assert_eq!(x(), VERSIONS, "nothing was removed yet");
    max(123);
    store.compact();
    max(1000);
    assert_eq!(x(), 123);
    let live = |seconds: i64| {
        store.set_options("t", OptionsChange { time_to_live: Some(seconds), ..OptionsChange::default() });
    };
    store.env.set_now(NOW + 86_400_000 - 50_000);
    live(86_400);
    assert_eq!(x(), 51);
    live(-1);
    assert_eq!(x(), 123);
    live(86_400);
    store.compact();
    live(-1);
    assert_eq!(x(), 51);
}
