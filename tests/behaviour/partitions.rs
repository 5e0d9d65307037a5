//! Partitions: tables are split and merged by size and by load, and clients do not notice (P1 to P3).

use crate::store::*;
use futures_util::future::join_all;
use std::collections::BTreeMap;
use tabstore::engine::{ClockMode, Direction, Options, Shape};
use tabstore::model::{KeyInput, KeyType, KeyValue, Limits, Value};
use tabstore::storage::faults::{Call, Hook};
use tabstore::tablestore::{GetRange, InstanceOptions, OptionsChange, PartitionDescription};

/// Partitions of some kilobytes.
fn small(shape: Shape) -> Store {
    let shape = Shape { block_bytes: 500, segment_bytes: 3000, level0_parts: 2, level1_bytes: 6000, ..shape };
    let options =
        Options { clock: ClockMode::Injected, memtable_bytes: 6000, cache_bytes: 50_000, shape, ..Options::default() };
    Store::with(InstanceOptions::default(), options)
}

fn by_size() -> Store {
    small(Shape { partition_bytes: 2500, merge_bytes: 800, ..Shape::DEFAULT })
}

fn partitions(store: &Store, table: &str) -> Vec<PartitionDescription> {
    store.env.run_until_idle();
    store.instance.partitions(table).expect("there")
}

/// One begins where the other ends, from one end of the table to the other, and ids are different.
fn check_bounds(partitions: &[PartitionDescription]) {
    let (first, last) = (partitions.first().expect("one"), partitions.last().expect("one"));
    assert_eq!((&first.lower, &last.upper), (&None, &None));
    for pair in partitions.windows(2) {
        assert!(pair[0].upper.is_some() && pair[0].upper == pair[1].lower, "{partitions:?}");
        assert!(pair[0].lower.is_none() || pair[0].lower < pair[0].upper, "{partitions:?}");
    }
    let ids: std::collections::BTreeSet<u64> = partitions.iter().map(|one| one.id).collect();
    assert_eq!(ids.len(), partitions.len());
}

type Model = BTreeMap<i64, i64>;

/// Writes rows of `t` at once; each is followed by a read of it and some are by a range.
fn write_and_read(store: &Store, model: &mut Model, ids: impl Iterator<Item = i64>, value: i64) {
    let ids: Vec<i64> = ids.collect();
    let writes: Vec<_> =
        ids.iter().map(|&n| put("t", id(n), &[cell("x", int(value)), cell("pad", text(PAD))])).collect();
    store.env.run(async {
        for done in join_all(writes.iter().map(|write| store.instance.write_row(write, None))).await {
            done.expect("no request fails");
        }
    });
    model.extend(ids.iter().map(|&n| (n, value)));
    for n in ids {
        assert_eq!(value_of(&store.all(id(n)).expect("there")), value);
    }
}

const PAD: &str = "some text that makes a row a little larger than nothing";

fn value_of(cells: &[Cell]) -> i64 {
    match cells.iter().find(|(name, ..)| name == "x") {
        Some((_, _, Value::Integer(value))) => *value,
        other => panic!("{other:?}"),
    }
}

/// Every row of `t` in some range, both ways.
fn check_ranges(store: &Store, model: &Model, from: i64, to: i64) {
    for direction in [Direction::Forward, Direction::Backward] {
        let (mut start, end) = match direction {
            Direction::Forward => (Some(from), to),
            Direction::Backward => (Some(to), from),
        };
        let mut found = Vec::new();
        while let Some(at) = start {
            let request = GetRange { start: id(at), end: id(end), limit: Some(700), ..range("t", direction) };
            let (rows, read) = store.range(&request);
            found.extend(ids(&rows).into_iter().zip(rows.iter().map(|(_, cells)| value_of(cells))));
            start = read.next.map(|key| match key[0] {
                KeyValue::Integer(n) => n,
                _ => panic!("{key:?}"),
            });
        }
        let inside: Vec<(i64, i64)> = match direction {
            Direction::Forward => model.range(from..to).map(|(n, value)| (*n, *value)).collect(),
            Direction::Backward => model.range(from + 1..=to).rev().map(|(n, value)| (*n, *value)).collect(),
        };
        assert_eq!(found, inside, "{from} to {to} {direction:?}");
    }
}

#[test]
fn p1_a_table_is_split_by_size_while_it_is_written_and_read() {
    let mut store = by_size();
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    let mut model = Model::new();
    assert_eq!(store.instance.partitions("t").expect("there").len(), 1, "a table is one partition");
    for round in 0..30 {
        write_and_read(&store, &mut model, (0..100).map(|n| (n * 7919 + round * 31) % 5000 - 2500), round);
        check_ranges(&store, &model, -2600 + round * 40, round * 70);
    }
    let split = partitions(&store, "t");
    check_bounds(&split);
    assert!(split.len() >= 6, "{split:?}");
    assert!(split.iter().all(|one| one.bytes < 8000), "{split:?}");
    check_ranges(&store, &model, i64::MIN, i64::MAX);
    for n in (-2500..2500).step_by(17) {
        let found = store.all(id(n)).map(|cells| value_of(&cells));
        assert_eq!(found, model.get(&n).copied(), "{n}");
    }
    assert_eq!(store.instance.describe_table("t").expect("there").partitions.len(), split.len());
    let metrics = store.instance.metrics();
    // Neighbours share segments; each counts once.
    let by_level: u64 = metrics.trees.iter().flat_map(|tree| &tree.levels).map(|level| level.segments).sum();
    assert_eq!(by_level, metrics.segments);
    let tree = metrics.trees.into_iter().max_by_key(|tree| tree.partitions.len()).expect("one");
    assert_eq!(tree.partitions.len(), split.len());

    store.env.run(store.instance.flush()).expect("flushed");
    let split = partitions(&store, "t");
    store.reopen();
    let bounds = |all: &[PartitionDescription]| all.iter().map(|one| (one.id, one.lower.clone())).collect::<Vec<_>>();
    assert_eq!(bounds(&store.instance.partitions("t").expect("there")), bounds(&split), "reopening keeps partitions");
    check_ranges(&store, &model, i64::MIN, i64::MAX);
    store.compact();
    assert_eq!(bounds(&store.instance.partitions("t").expect("there")), bounds(&split), "compacting keeps them too");
    check_ranges(&store, &model, i64::MIN, i64::MAX);
    write_and_read(&store, &mut model, -10..10, 99);
    check_ranges(&store, &model, -100, 100);
}

/// The unused space in cut segments is given back.
#[test]
fn p1_splits_give_space_back() {
    let store = by_size();
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    let mut model = Model::new();
    for round in 0..20 {
        write_and_read(&store, &mut model, (0..150).map(|n| n * 13 % 2000), round);
        write_and_read(&store, &mut model, round * 20..round * 20 + 100, round);
    }
    store.env.run(store.instance.flush()).expect("flushed");
    let all = partitions(&store, "t");
    assert!(all.len() > 2, "{all:?}");
    let (used, metrics) = (all.iter().map(|one| one.bytes).sum::<u64>(), store.instance.metrics());
    assert!(metrics.segment_bytes < 3 * used, "{} stored for {used}", metrics.segment_bytes);
}

#[test]
fn p2_rows_of_one_partition_key_stay_together() {
    let store = by_size();
    store.create("t", &[("station", KeyType::String), ("id", KeyType::Integer)], OptionsChange::default());
    let write = |station: &str, n: i64| {
        let key = key(&[("station", text(station)), ("id", int(n))]);
        store.write(&put("t", key, &[cell("pad", text(PAD))])).expect("written");
    };
    (0..800).for_each(|n| write("", n));
    let one = partitions(&store, "t");
    assert_eq!(one.len(), 1, "a partition of one key is not split, whatever it holds: {one:?}");
    assert!(one[0].bytes > 5000 && !one[0].exceeds_advice, "{one:?}");
    (0..400).for_each(|n| write("z", n));
    let station = |name: &str| Some(KeyValue::String(name.into()));
    let two = partitions(&store, "t");
    let bounds: Vec<_> = two.iter().map(|one| one.lower.clone()).collect();
    assert_eq!(bounds, [None, station("z")], "{two:?}");
    (0..1200).for_each(|n| write(&format!("m{}", n / 40), n));
    let more = partitions(&store, "t");
    check_bounds(&more);
    assert!(more.len() > 4, "{more:?}");
    let (first, last) = (&more[0], more.last().expect("one"));
    assert!(first.bytes > 2500 && last.lower == station("z") && last.bytes > 2500, "{more:?}");
}

#[test]
fn p3_a_partition_key_above_the_advice_is_reported_and_nothing_else() {
    let mut store = by_size();
    store.options.limits = Limits { partition_key_bytes: 10_000, ..Limits::DOCUMENT };
    store.reopen();
    store.create("t", &[("station", KeyType::Integer), ("id", KeyType::Integer)], OptionsChange::default());
    let write = |station: i64, n: i64| {
        let key = key(&[("station", int(station)), ("id", int(n))]);
        store.write(&put("t", key, &[cell("pad", text(PAD))])).expect("nothing is refused");
    };
    (0..500).for_each(|n| write(n, 0));
    assert!(partitions(&store, "t").iter().all(|one| !one.exceeds_advice));
    (0..1500).for_each(|n| write(250, n));
    store.env.run(store.instance.flush()).expect("flushed");
    let all = partitions(&store, "t");
    let large: Vec<_> = all.iter().filter(|one| one.exceeds_advice).map(|one| (&one.lower, &one.upper)).collect();
    assert_eq!(large.len(), 1, "{all:?}");
    assert_eq!(large[0].0, &Some(KeyValue::Integer(250)));
}

/// A store that splits by more than a thousand operations a second.
fn by_load() -> Store {
    small(Shape { partition_bytes: 1 << 30, merge_bytes: 100_000, partition_operations: 1000, ..Shape::DEFAULT })
}

/// Reads rows of `t` two thousand times a second.
fn ask(store: &Store, seconds: u64, id_of: impl Fn(i64) -> i64) {
    for second in 0..seconds {
        for n in 0..2000 {
            store.all(id(id_of(n + second.cast_signed())));
        }
        store.env.advance(1000);
    }
    store.env.run_until_idle();
}

#[test]
fn p1_a_table_is_split_by_load_and_merged_when_it_is_cold() {
    let store = by_load();
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    let mut model = Model::new();
    write_and_read(&store, &mut model, 0..600, 1);
    store.env.advance(10_000);
    ask(&store, 2, |n| n % 600);
    assert_eq!(partitions(&store, "t").len(), 1, "not for a moment");
    ask(&store, 3, |n| n % 600);
    let two = partitions(&store, "t");
    check_bounds(&two);
    assert_eq!(two.len(), 2, "{two:?}");
    let Some(KeyValue::Integer(middle)) = two[1].lower else { panic!("{two:?}") };
    assert!((200..400).contains(&middle), "where half of the load is: {middle}");
    let rate: u64 = two.iter().map(|one| one.operations_per_second).sum();
    assert!((1500..2500).contains(&rate), "{two:?}");
    ask(&store, 10, |n| n % 600);
    assert!(partitions(&store, "t").len() <= 4, "what is asked for little is not split");
    check_ranges(&store, &model, i64::MIN, i64::MAX);

    ask(&store, 5, |n| if n % 20 == 0 { 300 } else { 100 });
    let before = partitions(&store, "t").len();
    ask(&store, 8, |_| 100);
    assert_eq!(partitions(&store, "t").len(), before, "one key is not split");

    for _ in 0..40 {
        store.env.advance(1000);
        (0..100).for_each(|n| drop(store.all(id(n))));
    }
    let one = partitions(&store, "t");
    assert_eq!(one.len(), 1, "cold and small: {one:?}");
    check_ranges(&store, &model, i64::MIN, i64::MAX);
}

#[test]
fn p1_rows_in_memory_are_split_by_load_too_and_zero_means_never() {
    for (most, expected) in [(1000, 2), (0, 1)] {
        let shape = Shape { partition_operations: most, ..Shape::DEFAULT };
        let options = Options { clock: ClockMode::Injected, shape, ..Options::default() };
        let mut store = Store::with(InstanceOptions::default(), options);
        store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
        let mut model = Model::new();
        write_and_read(&store, &mut model, 0..100, 1);
        ask(&store, 5, |n| n % 100);
        let all = partitions(&store, "t");
        assert_eq!(all.len(), expected, "{all:?}");
        store.reopen();
        assert_eq!(partitions(&store, "t").len(), expected);
        check_ranges(&store, &model, i64::MIN, i64::MAX);
    }
}

/// Counts what is stored and read.
#[derive(Clone, Default)]
struct Traffic(std::rc::Rc<std::cell::Cell<(u64, u64)>>);

impl Hook for Traffic {
    async fn before(&self, call: &Call) -> tabstore::Result<()> {
        let (blocks, staged) = self.0.get();
        match call {
            Call::GetBlocks(ids) => self.0.set((blocks + ids.len() as u64, staged)),
            Call::Stage(..) => self.0.set((blocks, staged + 1)),
            _ => {}
        }
        Ok(())
    }
}

#[test]
fn p1_a_split_and_a_merge_read_no_block_and_write_no_segment() {
    // Without a cache nothing is read ahead at the opening.
    let options = Options { clock: ClockMode::Injected, cache_bytes: 0, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    let mut model = Model::new();
    write_and_read(&store, &mut model, 0..2000, 1);
    store.compact();
    let traffic = Traffic::default();
    let other = store.opened_with(traffic.clone()).expect("opens");
    store.env.run_until_idle();
    let before = traffic.0.get();
    store.env.run(async {
        other.split_partition("t", &KeyValue::Integer(1200)).await.expect("split");
        let (blocks, staged) = traffic.0.get();
        assert_eq!((blocks - before.0, staged - before.1), (1, 0), "one index is looked at");
        let two = other.partitions("t").expect("there");
        let share = two[0].entries;
        assert!((1000..1400).contains(&share), "about as many as there are: {two:?}");
        other.merge_partition("t", two[0].id).await.expect("merged");
        assert_eq!(traffic.0.get(), (blocks, staged));
        assert_eq!(other.partitions("t").expect("there").len(), 1);
    });
}

#[test]
fn p1_indexes_transactions_and_batches_cross_boundaries() {
    use tabstore::model::{IndexKind, TableName};
    use tabstore::tablestore::{CreateTable, IndexSpec, TableRead};
    let store = by_size();
    let defined = [("x".to_owned(), tabstore::model::ValueType::Integer)];
    let request = CreateTable {
        name: "t".into(),
        key: vec![tabstore::model::KeyColumn::new("id", KeyType::Integer)],
        defined: defined.map(|(name, column_type)| tabstore::model::DefinedColumn { name, column_type }).into(),
        indexes: vec![IndexSpec {
            name: "by_x".into(),
            kind: IndexKind::Global,
            key: vec!["x".into()],
            columns: vec!["pad".into()],
            ..IndexSpec::default()
        }],
        ..CreateTable::default()
    };
    let defined =
        tabstore::model::DefinedColumn { name: "pad".into(), column_type: tabstore::model::ValueType::String };
    let request = CreateTable { defined: request.defined.iter().cloned().chain([defined]).collect(), ..request };
    store.env.run(store.instance.create_table(request)).expect("created");
    let mut model = Model::new();
    for round in 0..12 {
        write_and_read(&store, &mut model, (0..100).map(|n| n * 7 + round), n_of(round));
    }
    store.env.run(store.instance.flush()).expect("flushed");
    assert!(partitions(&store, "t").len() > 2 && partitions(&store, "by_x").len() > 2);
    let (rows, _) = store.range(&range("by_x", Direction::Forward));
    let mut expected: Vec<(i64, i64)> = model.iter().map(|(n, value)| (*value, *n)).collect();
    expected.sort_unstable();
    let found: Vec<(i64, i64)> = rows
        .iter()
        .map(|(key, _)| match key[..] {
            [KeyValue::Integer(x), KeyValue::Integer(n)] => (x, n),
            _ => panic!("{key:?}"),
        })
        .collect();
    assert_eq!(found, expected);

    // A transaction on a row, while its partition is split in front of it and merged again.
    let table = TableName::parse("t").expect("a name");
    store.env.run(async {
        let started = store.instance.start_local_transaction(table, &id(350)).expect("started");
        let change = update("t", id(350), &[add("x", None, -1)]);
        store.instance.write_row_in(Some(&started.id), &change, None).await.expect("written");
        store.instance.split_partition("t", &KeyValue::Integer(350)).await.expect("split");
        let all = store.instance.partitions("t").expect("there");
        let place = all.iter().position(|one| one.lower == Some(KeyValue::Integer(350))).expect("a boundary");
        store.instance.merge_partition("t", all[place - 1].id).await.expect("merged");
        store.instance.commit_transaction(&started.id, None).await.expect("committed");
    });
    model.insert(350, -1);
    // A batch from end to end of the table.
    let keys: Vec<KeyInput<'_>> = (0..700).step_by(9).map(id).collect();
    let mut rows = Rows::default();
    let reads = [TableRead { table, keys, options: versions(1) }];
    store.env.run(store.instance.batch_get_row(&reads, std::slice::from_mut(&mut rows))).expect("read");
    let found: Vec<(i64, i64)> =
        ids(&rows.0).into_iter().zip(rows.0.iter().map(|(_, cells)| value_of(cells))).collect();
    let expected: Vec<(i64, i64)> = (0..700).step_by(9).filter_map(|n| Some((n, *model.get(&n)?))).collect();
    assert_eq!(found, expected);
}

fn n_of(round: i64) -> i64 {
    (round * 37) % 100
}
