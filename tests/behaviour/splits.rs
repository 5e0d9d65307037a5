//! ComputeSplitPointsBySize (P4).

use crate::store::*;
use std::cell::RefCell;
use std::rc::Rc;
use tabstore::Result;
use tabstore::engine::{ClockMode, Direction, Options, Shape};
use tabstore::model::{Consumed, KeyInput, KeyPart, KeyType, KeyValue, TableName, ValueRef};
use tabstore::storage::faults::{Call, Hook};
use tabstore::tablestore::{GetRange, InstanceOptions, OptionsChange, Outcome, SplitRequest, Splits};

const MB: i64 = 1 << 20;

/// Slices of so many MB.
fn slices_of<'a>(table: &'a str, megabytes: i64) -> SplitRequest<'a> {
    SplitRequest { table, split_size: megabytes, unit: Some(MB), point_limit: None }
}

fn split(store: &Store, request: &SplitRequest<'_>) -> Outcome<Splits> {
    store.env.run(store.instance.compute_split_points_by_size(request))
}

/// A store whose memtable takes half a megabyte, with levels of a few.
fn small(auto_compact: bool) -> Store {
    let shape = Shape { segment_bytes: 1 << 20, level1_bytes: 2 << 20, level_ratio: 3, ..Shape::DEFAULT };
    let options =
        Options { clock: ClockMode::Injected, memtable_bytes: 512 << 10, auto_compact, shape, ..Options::default() };
    Store::with(InstanceOptions::default(), options)
}

/// A number that looks random.
fn scrambled(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// Text of that length: one letter compresses well, letters that look random do not.
fn letters(seed: u64, length: usize, random: bool) -> String {
    let letter = |at: u64| if random { scrambled(seed.wrapping_mul(7919) + at) % 26 } else { 0 };
    (0..length as u64).map(|at| char::from(b'a' + letter(at) as u8)).collect()
}

/// Writes rows `station`, `at` with one text and two numbers each, many at a time.
fn load(store: &Store, rows: impl Iterator<Item = (String, i64, String)>) {
    let rows: Vec<_> = rows.collect();
    for some in rows.chunks(500) {
        let writes: Vec<_> = some
            .iter()
            .map(|(station, at, value)| {
                let key = key(&[("station", text(station)), ("at", int(*at))]);
                put("reading", key, &[cell("value", text(value)), cell("quality", int(*at % 7)), cell("x", int(1))])
            })
            .collect();
        store.env.run(async {
            let each = writes.iter().map(|write| store.instance.write_row(write, None));
            for done in futures_util::future::join_all(each).await {
                done.expect("written");
            }
        });
    }
}

fn created(auto_compact: bool) -> Store {
    let store = small(auto_compact);
    store.create("reading", &[("station", KeyType::String), ("at", KeyType::Integer)], OptionsChange::default());
    store
}

/// The units of each slice, and of the largest partition key in it, by reading every row.
fn weights(store: &Store, splits: &Splits) -> Vec<(u64, u64)> {
    let mut found = vec![(0, 0, Vec::new(), 0); splits.points.len() + 1];
    let names: usize = splits.schema.key().iter().map(|column| column.name.len()).sum();
    let mut start: Option<Vec<KeyValue>> = None;
    loop {
        let mut begin = KeyInput::new();
        for (column, value) in splits.schema.key().iter().zip(start.iter().flatten()) {
            begin.push(&column.name, KeyPart::Value(value.as_value()));
        }
        let (rows, read) = store.range(&GetRange { start: begin, ..range("reading", Direction::Forward) });
        for (key, cells) in rows {
            let key_bytes: usize = key.iter().map(|value| value.as_value().metered_bytes()).sum();
            let cells: usize = cells.iter().map(|(name, _, value)| name.len() + value.as_ref().metered_bytes()).sum();
            let slice = splits.points.partition_point(|point| *point <= key[0]);
            let (all, largest, partition, own) = &mut found[slice];
            let bytes = (names + key_bytes + cells) as u64;
            *all += bytes;
            *own = if *partition == key[..1] { *own + bytes } else { bytes };
            *partition = key[..1].to_vec();
            *largest = (*largest).max(*own);
        }
        start = read.next;
        if start.is_none() {
            return found.into_iter().map(|(all, largest, ..)| (all, largest)).collect();
        }
    }
}

/// Every slice is within 30 % of the asked size, unless one key is larger.
fn check(store: &Store, megabytes: i64) -> Splits {
    let splits = split(store, &slices_of("reading", megabytes)).expect("split");
    let size = (megabytes * MB) as u64;
    let weights = weights(store, &splits);
    for (slice, (all, largest)) in weights.iter().enumerate() {
        let rest = if *largest > size { size + all - largest } else { *all };
        assert!((size * 7 / 10..=size * 13 / 10).contains(&rest), "slice {slice} of {megabytes} MB: {weights:?}");
    }
    assert_eq!(splits.consumed, Consumed::reading(weights.len() as u32), "a read unit a slice");
    splits
}

fn sequential(rows: u64, random_text: bool) -> impl Iterator<Item = (String, i64, String)> {
    (0..rows).map(move |n| (format!("station-{:05}", n / 20), n as i64, letters(n, 150, random_text)))
}

fn scattered(rows: u64, random_text: bool) -> impl Iterator<Item = (String, i64, String)> {
    (0..rows).map(move |n| {
        let n = scrambled(n);
        (format!("station-{:05}", n % 3000), (n >> 20) as i64, letters(n, 150, random_text))
    })
}

#[test]
fn p4_slices_of_rows_that_came_in_order() {
    for random_text in [false, true] {
        let store = created(true);
        load(&store, sequential(40_000, random_text));
        store.env.run_until_idle();
        check(&store, 1);
        check(&store, 3);
    }
}

#[test]
fn p4_slices_of_rows_that_came_in_no_order_at_all_levels() {
    for random_text in [false, true] {
        let store = created(true);
        load(&store, scattered(40_000, random_text));
        check(&store, 1);
        check(&store, 3);
        store.env.run_until_idle();
        assert!(store.instance.metrics().trees.iter().any(|tree| tree.levels.len() > 1), "several levels");
        check(&store, 1);
        store.compact();
        check(&store, 2);
    }
}

/// A table of many partitions is cut as one, and hints name the partitions.
#[test]
fn p4_slices_of_a_table_that_was_split() {
    let shape = Shape {
        segment_bytes: 512 << 10,
        level1_bytes: 1 << 20,
        level_ratio: 3,
        partition_bytes: 1500 << 10,
        ..Shape::DEFAULT
    };
    let options = Options { clock: ClockMode::Injected, memtable_bytes: 512 << 10, shape, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    store.create("reading", &[("station", KeyType::String), ("at", KeyType::Integer)], OptionsChange::default());
    load(&store, scattered(60_000, true));
    store.env.run_until_idle();
    assert!(store.instance.partitions("reading").expect("there").len() >= 3);
    check(&store, 1);
    let splits = check(&store, 2);
    let hints: std::collections::BTreeSet<&String> = splits.locations.iter().collect();
    let mut places = splits.locations.clone();
    places.dedup();
    assert!(hints.len() >= 3 && hints.len() == places.len(), "one partition behind another: {places:?}");
    store.compact();
    check(&store, 1);
}

#[test]
fn p4_slices_of_rows_in_memory_and_of_a_mixture() {
    let options = Options { clock: ClockMode::Injected, ..Options::default() };
    let mut store = Store::with(InstanceOptions::default(), options);
    store.create("reading", &[("station", KeyType::String), ("at", KeyType::Integer)], OptionsChange::default());
    load(&store, scattered(9000, false));
    assert_eq!(store.instance.metrics().segments, 0, "all of it is in memory");
    let splits = check(&store, 1);
    assert!(!splits.points.is_empty());
    store.env.run(store.instance.flush()).expect("flushed");
    load(&store, sequential(15_000, true));
    check(&store, 1);
    store.reopen();
    check(&store, 1);
}

#[test]
fn p4_rows_that_were_written_again_count_once() {
    let store = created(false);
    for _ in 0..4 {
        load(&store, scattered(20_000, true));
        store.env.run(store.instance.flush()).expect("flushed");
    }
    check(&store, 1);
    load(&store, scattered(10_000, true));
    check(&store, 1);
}

#[test]
fn p4_rows_of_uneven_size_and_a_key_larger_than_a_slice() {
    let store = created(true);
    let uneven = (0..6000_u64).map(|n| {
        let length = if n % 10 == 0 { 4000 } else { 20 + (scrambled(n) % 400) as usize };
        (format!("{:05}", scrambled(n) % 100_000), 0, letters(n, length, n % 3 == 0))
    });
    load(&store, uneven);
    load(&store, (0..15_000).map(|n| ("50000".to_owned(), n, letters(n as u64, 150, true))));
    let splits = check(&store, 1);
    assert!(splits.points.contains(&KeyValue::String("50000\0".into())), "{:?}", splits.points);
}

#[test]
fn p4_points_lie_between_partition_keys_and_make_the_whole_table() {
    let store = created(true);
    load(&store, sequential(20_000, true));
    let splits = check(&store, 1);
    assert!(splits.points.is_sorted() && splits.points.len() >= 3);
    for point in &splits.points {
        let KeyValue::String(point) = point else { panic!("{point:?}") };
        assert!(point.ends_with('\0'), "just behind a key: {point:?}");
    }
    let all: u64 = weights(&store, &splits).iter().map(|(all, _)| all).sum();
    let one = split(&store, &slices_of("reading", 1000)).expect("split");
    assert_eq!((one.points.len(), weights(&store, &one)[0].0), (0, all));
    assert_eq!(splits.locations.len(), splits.points.len() + 1);
    let same = |hint: &String| hint.chars().count() == 32 && *hint == one.locations[0];
    assert!(splits.locations.iter().all(same), "one partition, always the same");
    let limited = SplitRequest { point_limit: Some(2), ..slices_of("reading", 1) };
    let limited = split(&store, &limited).expect("split");
    assert!((1..=2).contains(&limited.points.len()), "larger slices");
    let weights = weights(&store, &limited);
    let (least, most) = (weights.iter().min().expect("some").0, weights.iter().max().expect("some").0);
    assert!(most * 10 < least * 13, "{weights:?}");
}

#[test]
fn p4_integer_and_binary_keys_split_behind_them_too() {
    let store = small(true);
    store.create("n", &[("id", KeyType::Integer)], OptionsChange::default());
    store.create("b", &[("id", KeyType::Binary)], OptionsChange::default());
    let value = letters(1, 4000, false);
    for n in 0..700_i64 {
        store.write(&put("n", id(n * 10), &[cell("v", text(&value))])).expect("written");
        let bytes = n.to_be_bytes();
        store.write(&put("b", key(&[("id", ValueRef::Binary(&bytes))]), &[cell("v", text(&value))])).expect("written");
    }
    let numbers = split(&store, &slices_of("n", 1)).expect("split").points;
    assert!(numbers.len() == 2 && numbers.iter().all(|point| matches!(point, KeyValue::Integer(n) if n % 10 == 1)));
    let bytes = split(&store, &slices_of("b", 1)).expect("split").points;
    assert!(bytes.len() == 2 && bytes.iter().all(|point| matches!(point, KeyValue::Binary(b) if b.len() == 9)));
}

fn end(point: Option<&KeyValue>) -> KeyInput<'_> {
    point.map_or_else(KeyInput::new, |point| key(&[("k", point.as_value())]))
}

/// P4: a point is a legal key value, also behind keys of the greatest length: it can begin and end ranges.
#[test]
fn p4_points_behind_the_longest_keys_can_be_used_in_ranges() {
    let store = small(true);
    store.create("s", &[("k", KeyType::String)], OptionsChange::default());
    store.create("b", &[("k", KeyType::Binary)], OptionsChange::default());
    let value = letters(1, 20_000, false);
    for n in 0..150_u8 {
        // A character of two bytes, and a byte, that are the last ones of their length or not.
        let string = format!("{n:03}{:é<1$}{2}", "", 509, ["\u{7ff}", "é", "z\u{7f}", "zz"][usize::from(n) % 4]);
        let binary = [&[n; 1023][..], &[255 - n % 2]].concat();
        for (table, key_value) in [("s", text(&string)), ("b", ValueRef::Binary(&binary))] {
            store.write(&put(table, key(&[("k", key_value)]), &[cell("v", text(&value))])).expect("written");
        }
    }
    for table in ["s", "b"] {
        let points = split(&store, &slices_of(table, 1)).expect("split").points;
        assert_eq!(points.len(), 2);
        let ends = || std::iter::once(None).chain(points.iter().map(Some)).chain([None]);
        let mut rows = Vec::new();
        for (from, to) in ends().zip(ends().skip(1)) {
            let request = GetRange { start: end(from), end: end(to), ..range(table, Direction::Forward) };
            rows.push(store.range(&request).0.len());
        }
        assert!(rows.iter().all(|slice| (35..=68).contains(slice)) && rows.iter().sum::<usize>() == 150, "{rows:?}");
    }
}

#[test]
fn p4_an_empty_table_is_one_slice_of_one_unit() {
    let store = created(true);
    let splits = split(&store, &SplitRequest { table: "reading", split_size: 1, unit: None, point_limit: None });
    let splits = splits.expect("split");
    assert_eq!((splits.points.len(), splits.consumed), (0, Consumed::reading(1)));
}

#[test]
fn p4_wrong_sizes_units_and_tables_are_refused() {
    let store = created(true);
    let request = slices_of("reading", 1);
    let wrong = [
        (SplitRequest { split_size: 0, ..request }, "The split_size should be greater than 0."),
        (SplitRequest { split_size: -5, ..request }, "The split_size should be greater than 0."),
        (
            SplitRequest { unit: Some(MB - 1), ..request },
            "The split_size_unit_in_byte should be greater equal than: 1048576",
        ),
        (SplitRequest { point_limit: Some(0), ..request }, "The split_point_limit should be greater than 0."),
        (SplitRequest { table: "1x", ..request }, "Invalid table name: '1x'."),
    ];
    for (request, message) in wrong {
        assert_eq!(refused(split(&store, &request)), format!("OTSParameterInvalid: {message}"));
    }
    let missing = split(&store, &slices_of("no", 1)).expect_err("refused");
    assert_eq!(missing.to_string(), "OTSObjectNotExist: Requested table does not exist.");
    assert_eq!(missing.consumed, Consumed::reading(1), "C4");
    let huge = SplitRequest { split_size: i64::MAX, ..request };
    assert_eq!(split(&store, &huge).expect("split").points.len(), 0);
}

/// The reads from storage.
#[derive(Default)]
struct Reads(RefCell<Vec<usize>>);

impl Hook for Reads {
    async fn before(&self, call: &Call) -> Result<()> {
        if let Call::GetBlocks(blocks) = call {
            self.0.borrow_mut().push(blocks.len());
        }
        Ok(())
    }
}

#[test]
fn p4_only_the_indexes_of_segments_are_read_in_one_trip() {
    let mut store = created(true);
    load(&store, scattered(30_000, true));
    store.env.run_until_idle();
    store.env.run(store.instance.flush()).expect("flushed");
    let reads = Rc::new(Reads::default());
    // Without a cache nothing is read ahead at the opening.
    store.engine_options.cache_bytes = 0;
    let cold = store.opened_with(Rc::clone(&reads)).expect("opens");
    let tree = cold.tree_of(TableName::parse("reading").expect("a name")).expect("there");
    let trees = cold.metrics().trees;
    let levels = &trees.iter().find(|other| other.tree == tree).expect("in segments").levels;
    let segments = levels.iter().map(|level| level.segments).sum::<u64>() as usize;
    reads.0.borrow_mut().clear();
    let splits = store.env.run(cold.compute_split_points_by_size(&slices_of("reading", 1))).expect("split");
    assert!(splits.points.len() > 3 && segments > 3);
    assert_eq!(*reads.0.borrow(), [segments]);
}
