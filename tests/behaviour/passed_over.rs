//! Rows that a filter passes over by the columns of their blocks are counted as those that are looked at (R3, R6, V4, C1, C5). A
//! filter that also asks for a column of the key looks at each row, and changes nothing else.

use crate::sifting::{Chance, TEXTS};
use crate::store::*;
use tabstore::engine::{ClockMode, Direction, Form, Options, Shape};
use tabstore::env::Env;
use tabstore::env::sim::SimEnv;
use tabstore::model::filter::{ColumnFilter, Comparator, Filter};
use tabstore::model::{DefinedColumn, KeyColumn, KeyInput, KeyPart, KeyType, TableName, ValueRef, ValueType, limits};
use tabstore::tablestore::{
    ColumnOp, CreateTable, GetRange, IndexSpec, InstanceOptions, Loader, OptionsChange, PutCell, ReadOptions, RowWrite,
    ThrottleOptions,
};

const DAY: i64 = 86_400_000;
const WAYS: [Direction; 2] = [Direction::Forward, Direction::Backward];
const COLUMNS: [&str; 7] = ["a", "b", "c", "d", "n", "none", "q"];
/// Partition keys are pieces of this. Many are prefixes of others; zeros are escaped.
const PIECES: &[u8] = b"\0\0a\0aa\0\0\0aaa";

/// The same filter, but it looks at each row.
fn looking<'a>(filter: &Filter<'a>, key: &'a str) -> Filter<'a> {
    let there = compare(key, Comparator::Exist, int(0));
    match filter {
        Filter::And(children) => Filter::And(children.iter().cloned().chain([there]).collect()),
        other => Filter::And(vec![other.clone(), there]),
    }
}

/// One call, both ways; then the key of the next one.
fn both(
    store: &Store,
    transaction: Option<&str>,
    request: &GetRange<'_>,
    key: &str,
) -> (usize, Option<KeyInput<'static>>) {
    let filter = request.options.filter.as_ref().expect("a filter");
    let options = ReadOptions { filter: Some(looking(filter, key)), ..request.options.clone() };
    let [(rows, read), (looked, expected)] = [request, &GetRange { options, ..request.clone() }].map(|request| {
        let mut rows = Rows::default();
        let read = store.env.run(store.instance.get_range_in(transaction, request, &mut rows)).expect("read");
        (rows.0, read)
    });
    assert_eq!(rows, looked, "{request:?}");
    assert_eq!((read.consumed, &read.next), (expected.consumed, &expected.next), "{request:?}");
    let next = read.next.map(|key| match key[0].as_value() {
        ValueRef::Integer(row) => id(row),
        _ => KeyInput::new(),
    });
    (rows.len(), next)
}

/// All calls of table `t`, both ways. The number of calls.
fn calls(store: &Store, request: &GetRange<'_>) -> usize {
    let (mut calls, mut request) = (1, request.clone());
    while let (_, Some(next)) = both(store, None, &request, "id") {
        request.start = next;
        calls += 1;
    }
    calls
}

fn dropping(direction: Direction, filter: Filter<'_>) -> GetRange<'_> {
    GetRange { options: ReadOptions { filter: Some(filter), ..versions(1) }, ..range("t", direction) }
}

fn write_all(store: &Store, writes: &[RowWrite<'_>]) {
    for some in writes.chunks(200) {
        let done = store.env.run(store.instance.batch_write_row(some, None)).expect("written");
        done.into_iter().for_each(|one| drop(one.expect("written")));
    }
}

/// Rows of `bytes` bytes, names and keys included.
fn put_padded(store: &Store, rows: impl IntoIterator<Item = i64>, bytes: usize) {
    let pad = "x".repeat(bytes - "id".len() - 8 - "a".len() - 8 - "d".len());
    let rows: Vec<_> =
        rows.into_iter().map(|row| put("t", id(row), &[cell("a", int(row)), cell("d", text(&pad))])).collect();
    write_all(store, &rows);
}

impl Chance {
    fn partition_key(&self) -> ValueRef<'static> {
        let start = self.below(8);
        ValueRef::Binary(&PIECES[start..start + self.below(5)])
    }

    fn key(&self) -> KeyInput<'static> {
        key(&[("p", self.partition_key()), ("q", int(self.below(30) as i64))])
    }

    fn cells(&self, long: &'static str) -> Vec<PutCell<'static>> {
        let d = text(if self.below(9) == 0 { &long[..self.below(long.len())] } else { "" });
        let cells = [("a", self.value()), ("b", text(self.pick(&TEXTS))), ("c", self.value()), ("d", d)];
        let cells = cells.into_iter().chain([("n", int(self.below(50) as i64))]).filter(|_| self.below(8) > 0);
        cells.map(|(name, value)| cell(name, value)).collect()
    }

    fn scatter<'a>(&self, long: &'static str, row: KeyInput<'a>) -> RowWrite<'a> {
        match self.below(5) {
            0 => delete("t", row),
            1 => put("t", row, &[]),
            2 => put("t", row, &self.cells(long)),
            3 => update("t", row, &[change("a", ColumnOp::DeleteColumn)]),
            _ => update("t", row, &[change("c", ColumnOp::Put { version: None, value: self.value() })]),
        }
    }

    /// A filter that often drops most rows.
    fn dropping_filter(&self) -> Filter<'static> {
        let n = comparison("n", Comparator::Equal, int(self.below(50) as i64));
        let n = Filter::Column(ColumnFilter { pass_if_missing: self.below(4) == 0, ..n });
        let first = if self.below(3) > 0 { n } else { compare("b", Comparator::GreaterEqual, text("x 12 y")) };
        match self.below(6) {
            0 => Filter::And(vec![first, self.filter(1)]),
            1 => Filter::Or(vec![first, self.filter(1)]),
            2 => self.filter(2),
            _ => first,
        }
    }
}

/// A table with an index, or with several versions, in small partitions.
fn mixed(chance: &Chance, ttl: bool, indexed: bool) -> Store {
    let options = Options {
        clock: ClockMode::Injected,
        shape: Shape { block_bytes: chance.pick(&[300, 900, 4000]), ..Shape::TINY },
        cache_bytes: chance.pick(&[0, 1, 60_000, 8 << 20]),
        memtable_bytes: chance.pick(&[20_000, 8 << 20]),
        form: chance.pick(&[Form::Dense, Form::Fast]),
        ..Options::default()
    };
    let store = Store::with(InstanceOptions::default(), options);
    let index = IndexSpec { name: "i".into(), key: vec!["n".into()], ..IndexSpec::default() };
    let request = CreateTable {
        name: "t".into(),
        key: vec![KeyColumn::new("p", KeyType::Binary), KeyColumn::new("q", KeyType::Integer)],
        options: OptionsChange {
            time_to_live: ttl.then_some(86_400),
            allow_update: (ttl && indexed).then_some(false),
            max_versions: Some(if indexed { 1 } else { 3 }),
            ..OptionsChange::default()
        },
        defined: vec![DefinedColumn { name: "n".into(), column_type: ValueType::Integer }],
        indexes: if indexed { vec![index] } else { vec![] },
        ..CreateTable::default()
    };
    store.env.run(store.instance.create_table(request)).expect("created");
    store
}

#[test]
fn r3_r6_v4_c1_rows_passed_over_are_counted_as_those_looked_at() {
    let (long, mut given) = (&*Box::leak("long ".repeat(800).into_boxed_str()), 0);
    for seed in 0..16 {
        let chance = Chance(SimEnv::shuffled(0, seed));
        let (store, loader) = (mixed(&chance, seed % 3 == 0, seed % 2 == 0), Loader::of_at_least(1));
        for _ in 0..5 {
            let rows: Vec<_> = (0..200).map(|_| put("t", chance.key(), &chance.cells(long))).collect();
            if chance.below(3) == 0 {
                store.env.run(store.instance.put_rows(&loader, rows.into_iter().map(Ok).collect(), None));
                let _ = store.env.run(store.instance.store_rows(&loader));
            } else {
                rows.iter().for_each(|row| drop(store.write(row).expect("put")));
            }
            match chance.below(6) {
                0 => store.compact(),
                1..5 => store.env.run(store.instance.flush()).expect("flushed"),
                _ => {}
            }
            store.env.set_now(store.env.now_ms() + DAY / 8);
            // Updates are refused beside a time to live and an index.
            (0..chance.below(9)).for_each(|_| drop(store.write(&chance.scatter(long, chance.key()))));
            let p = chance.partition_key();
            let table = TableName::parse("t").expect("a name");
            let started = store.instance.start_local_transaction(table, &key(&[("p", p)]));
            let own = started.ok().map(|started| started.id);
            for row in 0..10 {
                let write = chance.scatter(long, key(&[("p", p), ("q", int(row * 3))]));
                let _ = store.env.run(store.instance.write_row_in(own.as_deref(), &write, None));
            }
            for _ in 0..25 {
                let (direction, inside) = (chance.pick(&WAYS), own.as_deref().filter(|_| chance.below(3) == 0));
                let (table, key_name) =
                    if seed % 2 == 0 && chance.below(4) == 0 && inside.is_none() { ("i", "n") } else { ("t", "p") };
                let mut request = GetRange {
                    limit: (chance.below(3) == 0).then_some(1 + chance.below(12) as i64),
                    ..range(table, direction)
                };
                if inside.is_some() {
                    let mut ends = [KeyPart::InfMin, KeyPart::InfMax].map(|part| {
                        let mut end = key(&[("p", p)]);
                        end.push("q", part);
                        end
                    });
                    if direction == Direction::Backward {
                        ends.reverse();
                    }
                    [request.start, request.end] = ends;
                } else if table == "t" && chance.below(2) == 0 {
                    request.start = chance.key();
                }
                if chance.below(3) == 0 {
                    request.options.columns = (0..=chance.below(4)).map(|_| column(chance.pick(&COLUMNS))).collect();
                }
                request.options.filter = Some(chance.dropping_filter());
                given += both(&store, inside, &request, key_name).0;
            }
            own.iter().for_each(|id| drop(store.env.run(store.instance.commit_transaction(id, None))));
        }
    }
    assert!(given > 10_000, "{given} rows given");
}

#[test]
fn r3_5000_rows_4_mb_and_a_limit_end_a_call_in_the_midst_of_rows_passed_over() {
    for (bytes, count, expected) in
        [(30, 12_000, 3), (1024, 8193, 3), (1023, 8193, 2), (1025, 8193, 3), (20 << 10, 600, 3)]
    {
        let options = Options { clock: ClockMode::Injected, memtable_bytes: 64 << 20, ..Options::default() };
        let store = Store::with(InstanceOptions::default(), options);
        store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
        put_padded(&store, 0..count, bytes);
        store.env.run(store.instance.flush()).expect("flushed");
        let some = Filter::Or([100, 499, 500, 501, 5000].map(|row| compare("a", Comparator::Equal, int(row))).to_vec());
        for direction in WAYS {
            let none = dropping(direction, compare("a", Comparator::Equal, int(-1)));
            assert_eq!(calls(&store, &none), expected, "rows of {bytes} bytes");
            for limit in 1..4 {
                calls(&store, &GetRange { limit: Some(limit), ..dropping(direction, some.clone()) });
            }
        }
    }
}

/// Rows passed over count as visited, like the deleted rows and hidden versions between them.
#[test]
fn r3_a_call_that_has_visited_much_ends_in_the_midst_of_rows_passed_over() {
    let options =
        Options { clock: ClockMode::Injected, memtable_bytes: 128 << 20, auto_compact: false, ..Options::default() };
    for is_large in [false, true] {
        let store = Store::with(InstanceOptions::default(), options.clone());
        store.create(
            "t",
            &[("id", KeyType::Integer)],
            OptionsChange { max_versions: Some(20), ..OptionsChange::default() },
        );
        put_padded(&store, (0..1000).chain(60_000..64_000), 1000);
        store.env.run(store.instance.flush()).expect("flushed");
        if is_large {
            let large = "x".repeat(limits::RANGE_VISITED_BYTES / 20 - 100);
            for version in 0..20 {
                let value = text(if version < 19 { &large } else { "new" });
                store.update(id(30_000), &[change("d", ColumnOp::Put { version: Some(NOW + version), value })]);
            }
        } else {
            write_all(&store, &(2000..50_000).map(|row| delete("t", id(row))).collect::<Vec<_>>());
        }
        store.set_options("t", OptionsChange { max_versions: Some(1), ..OptionsChange::default() });
        for direction in WAYS {
            let none = dropping(direction, compare("a", Comparator::Equal, int(-1)));
            assert_eq!(calls(&store, &none), 2);
        }
    }
}

/// A row without cells has only its marker to expire.
#[test]
fn v4_rows_without_cells_are_passed_over_until_they_expire() {
    let store = Store::with_table(OptionsChange { time_to_live: Some(86_400), ..OptionsChange::default() });
    store.env.advance(999);
    write_all(&store, &(100..1100).map(|row| put("t", id(row), &[])).collect::<Vec<_>>());
    // Blocks have rows of one table then.
    store.compact();
    store.env.advance(2000);
    put_padded(&store, (0..100).chain(1100..1200), 40);
    let filter = Filter::Column(ColumnFilter { pass_if_missing: false, ..comparison("a", Comparator::Equal, int(-1)) });
    for now in [NOW + DAY + 999, NOW + DAY + 1000, NOW + DAY + 2000] {
        store.env.set_now(now);
        WAYS.iter().for_each(|way| assert_eq!(calls(&store, &dropping(*way, filter.clone())), 1));
    }
}

#[test]
fn c5_rows_passed_over_take_units_of_their_partition_keys() {
    let throttle = ThrottleOptions { units_per_second: Some(40), ..ThrottleOptions::default() };
    let options = Options { clock: ClockMode::Injected, ..Options::default() };
    let store = Store::with(InstanceOptions { throttle, ..InstanceOptions::default() }, options);
    store.create("t", &[("p", KeyType::Integer), ("id", KeyType::Integer)], OptionsChange::default());
    let long = "x".repeat(1000);
    for row in 0..200 {
        store.env.advance(1000);
        store.put(key(&[("p", int(1)), ("id", int(row))]), &[cell("a", text(&long))]);
    }
    store.env.run(store.instance.flush()).expect("flushed");
    store.env.advance(10_000);
    let request = dropping(Direction::Forward, compare("a", Comparator::Equal, text("no")));
    // 50 units; a request alone in its second may take more than the limit.
    let [first, second] = [(); 2].map(|()| store.env.run(store.instance.get_range(&request, &mut Rows::default())));
    assert_eq!(first.expect("read").consumed.read, 50);
    assert_eq!(refused(second), "OTSCapacityUnitExhausted: Capacity unit is not enough.");
}
