//! Reads of rows whose blocks are not in memory (R1, R2): they give what reads from memory give, and cost the same (C1).

use crate::store::*;
use tabstore::engine::{ClockMode, Options, Shape};
use tabstore::env::Env;
use tabstore::format::columns::Form;
use tabstore::model::filter::Comparator;
use tabstore::model::select::VersionQuery;
use tabstore::model::{KeyType, TableName};
use tabstore::tablestore::{ColumnOp, Found, GetRow, InstanceOptions, OptionsChange, ReadOptions, TableRead};

const ROWS: i64 = 60;
const DAY: i64 = 86_400_000;
const COLUMNS: [&str; 4] = ["a", "b", "c", "d"];

/// Random numbers that a seed repeats.
struct Random(u64);

impl Random {
    fn below(&mut self, end: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as i64 % end
    }
}

fn store(cache_bytes: usize, form: Form, block_bytes: usize) -> Store {
    let shape = Shape { block_bytes, ..Shape::TINY };
    let options =
        Options { clock: ClockMode::Injected, memtable_bytes: 20_000, cache_bytes, form, shape, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    let options = OptionsChange {
        max_versions: Some(3),
        time_to_live: Some(3 * DAY / 1000),
        max_version_offset: Some(10 * DAY / 1000),
        ..OptionsChange::default()
    };
    store.create("t", &[("id", KeyType::Integer)], options);
    store
}

/// One change, the same in each store.
fn change_all(stores: &[Store], random: &mut Random) {
    let (row, kind, at, column) = (random.below(ROWS), random.below(20), random.below(5 * DAY / 2), random.below(4));
    let (value, large) = (random.below(1000), "some text that is not very new ".repeat(random.below(12) as usize * 8));
    let name = COLUMNS[column as usize];
    for store in stores {
        // Some versions expire soon.
        let version = store.env.now_ms() - at;
        match kind {
            0 => {
                let _ = store.write(&delete("t", id(row)));
            }
            1 => store.update(id(row), &[change(name, ColumnOp::DeleteColumn)]),
            2 => store.update(id(row), &[change(name, ColumnOp::DeleteVersion(version))]),
            3 => store.put(id(row), &[]),
            4 | 5 => store.put(id(row), &[cell("a", int(value)), cell("d", text(&large))]),
            6..=9 => store.update(id(row), &[add(name, Some(version), value)]),
            10 => store.update(id(row), &[change("c", ColumnOp::Put { version: Some(version), value: text(&large) })]),
            _ => store.update(id(row), &[add(name, None, value)]),
        }
    }
}

/// The ways to read a row.
fn ways<'a>(now: i64) -> Vec<ReadOptions<'a>> {
    let filter = Some(compare("b", Comparator::GreaterThan, int(300)));
    let old = VersionQuery { max_versions: Some(2), ..VersionQuery::default() };
    let ended = VersionQuery { range: Some((now - 4 * DAY, now - DAY / 2)), ..old };
    vec![
        versions(1),
        versions(i64::MAX),
        columns(&["b", "d"]),
        ReadOptions { filter, ..columns(&["a", "b"]) },
        ReadOptions { versions: ended, ..versions(1) },
        ReadOptions { start_column: Some("b"), end_column: Some("d"), ..versions(2) },
    ]
}

fn get(store: &Store, row: i64, options: ReadOptions<'_>) -> (Vec<Row>, Found) {
    let mut rows = Rows::default();
    let request = GetRow { table: TableName::parse("t").expect("a name"), key: id(row), options };
    let found = store.env.run(store.instance.get_row(&request, &mut rows)).expect("read");
    (rows.0, found)
}

fn batch(store: &Store, rows: &[i64], options: ReadOptions<'_>) -> (Vec<Row>, Vec<Found>) {
    let keys = rows.iter().map(|row| id(*row)).collect();
    let read = TableRead { table: TableName::parse("t").expect("a name"), keys, options };
    let mut sinks = [Rows::default()];
    let found = store.env.run(store.instance.batch_get_row(&[read], &mut sinks)).expect("read");
    let [rows] = sinks;
    (rows.0, found.into_iter().flatten().map(|found| found.expect("read")).collect())
}

/// V2, V4, V5, V8, D1: with versions, deleted rows, columns and versions, expired data and rows of several blocks.
#[test]
fn r1_r2_c1_rows_that_are_not_in_memory_are_read_as_those_that_are() {
    // A row of more than five blocks' bytes lies in several.
    for (seed, form, block) in
        [(1, Form::Fast, 400), (2, Form::Dense, 400), (3, Form::Fast, 4000), (4, Form::Dense, 4000)]
    {
        let mut stores = [64 << 20, 0, 3000, 20_000].map(|cache_bytes| store(cache_bytes, form, block));
        let mut random = Random(seed);
        for round in 0..12 {
            for _ in 0..150 {
                change_all(&stores, &mut random);
            }
            if round % 4 == 3 {
                stores.iter().for_each(Store::compact);
            }
            if round % 3 == 2 {
                stores.iter_mut().for_each(Store::reopen);
            }
            let [warm, cold @ ..] = &stores;
            let now = warm.env.now_ms();
            for options in ways(now) {
                let rows: Vec<i64> = (0..40).map(|_| random.below(ROWS + 3)).collect();
                for store in cold {
                    for row in &rows[..15] {
                        let read = |store| get(store, *row, options.clone());
                        assert_eq!(read(store), read(warm), "row {row} in round {round} of seed {seed}, {options:?}");
                    }
                    let read = |store| batch(store, &rows, options.clone());
                    assert_eq!(read(store), read(warm), "a batch in round {round} of seed {seed}, {options:?}");
                }
            }
            for store in &stores {
                store.env.set_now(now + DAY / 3);
            }
        }
    }
}
