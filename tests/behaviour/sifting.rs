//! Rows that are judged and given cell by cell give the same results as rows that are put together first (R1, R3, R6,
//! V4, V8, C1). Rows, units and next key are the same for any table, filter and selection. So are they if the filter
//! decides stored rows by their columns.

use crate::store::*;
use tabstore::engine::{ClockMode, Direction, Options, Shape};
use tabstore::env::Env;
use tabstore::env::sim::SimEnv;
use tabstore::model::KeyType;
use tabstore::model::filter::{CastType, ColumnFilter, Comparator, Filter, Transfer};
use tabstore::model::select::VersionQuery;
use tabstore::model::{CellRef, RowSink, TableName, ValueRef};
use tabstore::tablestore::{ColumnOp, GetRow, InstanceOptions, OptionsChange, ReadOptions};

const COLUMNS: [&str; 6] = ["a", "b", "bb", "c", "d", "id"];
pub(crate) const TEXTS: [&str; 4] = ["", "7", "x 12 y", "héllo"];
const DAY: i64 = 86_400_000;

/// A sink that takes rows as a whole only.
#[derive(Default)]
struct Whole(Rows);

impl RowSink for Whole {
    fn row(&mut self, key: &[ValueRef<'_>], cells: &[CellRef<'_>]) {
        self.0.row(key, cells);
    }
}

pub(crate) struct Chance(pub(crate) SimEnv);

impl Chance {
    pub(crate) fn below(&self, most: usize) -> usize {
        (self.0.random() % most as u64) as usize
    }

    pub(crate) fn pick<T: Copy>(&self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    pub(crate) fn value(&self) -> ValueRef<'static> {
        match self.below(6) {
            0 => ValueRef::Double(self.below(3) as f64 / 2.0),
            1 => ValueRef::Boolean(self.below(2) == 0),
            2 => ValueRef::Binary(self.pick(&TEXTS).as_bytes()),
            3 => ValueRef::String(self.pick(&TEXTS)),
            _ => int(self.below(5) as i64),
        }
    }

    fn version(&self) -> Option<i64> {
        (self.below(4) == 0).then(|| NOW - self.below(4) as i64 * DAY / 8 - self.below(2) as i64)
    }

    fn fill(&self, store: &Store) {
        let columns = &COLUMNS[..5];
        for _ in 0..60 {
            let row = id(self.below(20) as i64);
            match self.below(12) {
                0 => drop(store.write(&delete("t", row))),
                1 => {
                    let op = match self.below(3) {
                        0 => ColumnOp::DeleteColumn,
                        _ => ColumnOp::Put { version: self.version(), value: self.value() },
                    };
                    store.update(row, &[change(self.pick(columns), op)]);
                }
                _ => {
                    let cells = columns.iter().filter(|_| self.below(4) > 0);
                    let cells: Vec<_> = cells
                        .map(|name| match self.version() {
                            Some(version) => cell_at(name, version, self.value()),
                            None => cell(name, self.value()),
                        })
                        .collect();
                    store.put(row, &cells);
                }
            }
        }
    }

    pub(crate) fn filter(&self, depth: usize) -> Filter<'static> {
        let some = |from: usize| (0..from + self.below(2)).map(|_| self.filter(depth - 1)).collect();
        match self.below(if depth == 0 { 1 } else { 4 }) {
            1 => Filter::Not(vec![self.filter(depth - 1)]),
            2 => Filter::And(some(2)),
            3 => Filter::Or(some(2)),
            _ => Filter::Column(ColumnFilter {
                column: column(self.pick(&COLUMNS)),
                comparator: self.pick(&Comparator::ALL),
                value: Some(self.value()),
                pass_if_missing: self.below(2) == 0,
                latest_version_only: self.below(2) == 0,
                transfer: (self.below(5) == 0).then_some(Transfer { regex: "[0-9]+", cast: CastType::Integer }),
            }),
        }
    }

    fn options(&self) -> ReadOptions<'static> {
        let mut filter = (self.below(4) > 0).then(|| self.filter(self.below(4)));
        if self.below(4) == 0 {
            let page = Filter::Page { offset: self.below(3) as i64, limit: 1 + self.below(3) as i64 };
            filter = Some(filter.map_or(page.clone(), |filter| Filter::And(vec![filter, page])));
        }
        let names = if self.below(2) == 0 { self.below(4) } else { 0 };
        let (max_versions, range, version) = match self.below(6) {
            0 => (None, Some((NOW - DAY, NOW - 1)), None),
            1 => (None, None, Some(NOW - DAY / 8)),
            2 => (Some(2), Some((0, NOW)), None),
            _ => (Some(1 + self.below(2) as i64), None, None),
        };
        ReadOptions {
            versions: VersionQuery { max_versions, range, version },
            most_columns: None,
            columns: (0..names).map(|_| column(self.pick(&COLUMNS))).collect(),
            start_column: (self.below(6) == 0).then_some("b"),
            end_column: (self.below(6) == 0).then_some("c"),
            filter,
        }
    }
}

#[test]
fn r1_r3_r6_v4_v8_c1_cell_by_cell_is_what_whole_rows_are() {
    let (mut given, mut dropped) = (0, 0);
    for seed in 0..40 {
        let chance = Chance(SimEnv::shuffled(0, seed));
        let store = Store::with_table(OptionsChange {
            max_versions: Some(1 + chance.below(3) as i64),
            time_to_live: (seed % 2 == 0).then_some(86_400),
            max_version_offset: Some(10_000_000),
            allow_update: None,
        });
        chance.fill(&store);
        if seed % 3 > 0 {
            store.compact();
        }
        store.env.set_now(NOW + DAY / 2);
        if seed % 3 == 2 {
            chance.fill(&store);
        }
        // Of some rows everything has expired, of others a part.
        store.env.set_now(NOW + DAY / 2 + chance.below(6) as i64 * DAY / 8);
        for _ in 0..60 {
            let options = chance.options();
            let mut request = range("t", chance.pick(&[Direction::Forward, Direction::Backward]));
            request.limit = (chance.below(3) == 0).then_some(1 + chance.below(6) as i64);
            request.options = options.clone();
            let (mut whole, mut parts) = (Whole::default(), Rows::default());
            let first = store.env.run(store.instance.get_range(&request, &mut whole)).expect("read");
            let second = store.env.run(store.instance.get_range(&request, &mut parts)).expect("read");
            assert_eq!(whole.0.0, parts.0, "seed {seed}: {options:?}");
            assert_eq!(first, second, "seed {seed}: {options:?}");
            given += parts.0.len();

            let request =
                GetRow { table: TableName::parse("t").expect("a name"), key: id(chance.below(20) as i64), options };
            let (mut whole, mut parts) = (Whole::default(), Rows::default());
            let first = store.env.run(store.instance.get_row(&request, &mut whole)).expect("read");
            let second = store.env.run(store.instance.get_row(&request, &mut parts)).expect("read");
            assert_eq!((first, &whole.0.0), (second, &parts.0), "seed {seed}: {request:?}");
            dropped += usize::from(!second.row);
        }
    }
    assert!(given > 1000 && dropped > 100, "{given} rows given, {dropped} dropped");
}

/// The number of rows in the long tables.
const MANY: usize = 400;

impl Chance {
    /// Writes rows of which a filter passes few, in several segments, in an order in which these overlap.
    fn fill_long(&self, store: &Store, is_stored: bool) {
        for _ in 0..4 {
            let (from, to) = (self.below(MANY), self.below(MANY));
            for row in from.min(to)..from.max(to) {
                let n = self.below(50) as i64;
                let cells = [
                    cell("a", int(n)),
                    cell("b", ValueRef::Double(n as f64 / 2.0)),
                    cell("bb", ValueRef::String(self.pick(&TEXTS))),
                    cell("c", self.value()),
                ];
                store.put(id(row as i64), &cells[self.below(2)..4 - self.below(3) / 2]);
            }
            for _ in 0..self.below(12) {
                let row = id(self.below(MANY) as i64);
                match self.below(3) {
                    0 => drop(store.write(&delete("t", row))),
                    1 => store.update(row, &[change("a", ColumnOp::DeleteColumn)]),
                    _ => store.update(row, &[change("a", ColumnOp::Put { version: None, value: int(7) })]),
                }
            }
            // The chance is asked in both stores alike.
            let (flushes, compacts) = (self.below(4) > 0, self.below(4) == 0);
            if is_stored && flushes {
                store.env.run(store.instance.flush()).expect("flushed");
            }
            if is_stored && compacts {
                store.compact();
            }
            store.env.set_now(store.env.now_ms() + DAY / 8);
        }
    }

    /// A filter that drops most rows.
    fn strict_filter(&self) -> Filter<'static> {
        let n = self.below(50) as i64;
        let one = |name, comparator, value| {
            Filter::Column(ColumnFilter {
                column: column(name),
                comparator,
                value: Some(value),
                pass_if_missing: false,
                latest_version_only: true,
                transfer: None,
            })
        };
        let first = match self.below(4) {
            0 => one("b", Comparator::GreaterEqual, ValueRef::Double(24.0)),
            1 => one("a", Comparator::LessThan, int(2)),
            _ => one("a", Comparator::Equal, int(n)),
        };
        match self.below(4) {
            0 => Filter::And(vec![first, self.filter(1)]),
            1 => Filter::And(vec![first, Filter::Page { offset: 1, limit: 2 }]),
            2 => Filter::Or(vec![
                first,
                one("bb", Comparator::GreaterThan, ValueRef::String("x")),
                one("d", Comparator::Exist, int(0)),
            ]),
            _ => first,
        }
    }
}

#[test]
fn r3_r6_v4_c1_rows_dropped_by_their_columns_are_those_dropped_one_by_one() {
    let (mut given, mut all) = (0, 0);
    for seed in 0..24 {
        let [memory, stored] = [false, true].map(|is_stored| {
            let shape = if is_stored { Shape { block_bytes: 900, ..Shape::TINY } } else { Options::default().shape };
            let engine = Options { clock: ClockMode::Injected, shape, ..Options::default() };
            let store = Store::with(InstanceOptions::default(), engine);
            let options = OptionsChange {
                max_versions: Some(1 + i64::from(seed % 5 == 4)),
                time_to_live: (seed % 2 == 0).then_some(86_400),
                max_version_offset: Some(10_000_000),
                allow_update: None,
            };
            store.create("t", &[("id", KeyType::Integer)], options);
            Chance(SimEnv::shuffled(0, seed)).fill_long(&store, is_stored);
            store
        });
        let chance = Chance(SimEnv::shuffled(0, seed + 1000));
        let now = memory.env.now_ms() + chance.below(9) as i64 * DAY / 8;
        memory.env.set_now(now);
        stored.env.set_now(now);
        for _ in 0..40 {
            let mut request = range("t", chance.pick(&[Direction::Forward, Direction::Backward]));
            let ends = [chance.below(MANY) as i64, chance.below(MANY) as i64];
            let (least, most) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            if chance.below(3) == 0 && least < most {
                let (start, end) = if request.direction == Direction::Forward { (least, most) } else { (most, least) };
                (request.start, request.end) = (id(start), id(end));
            }
            request.limit = (chance.below(3) == 0).then_some(1 + chance.below(6) as i64);
            request.options = ReadOptions { filter: Some(chance.strict_filter()), ..versions(1) };
            if chance.below(3) == 0 {
                request.options.columns = vec![column("a"), column(chance.pick(&COLUMNS))];
            }
            let (one_by_one, expected) = memory.range(&request);
            let (rows, read) = stored.range(&request);
            assert_eq!(rows, one_by_one, "seed {seed}: {request:?}");
            assert_eq!((read.consumed, &read.next), (expected.consumed, &expected.next), "seed {seed}: {request:?}");
            given += rows.len();
            all += usize::from(read.next.is_none());
        }
    }
    assert!(given > 1000 && all > 300, "{given} rows given, {all} ranges read to their ends");
}
