//! A filter passes rows over by the columns of their blocks, and no other rows.

use super::*;
use crate::engine::read::passing::{BlockFilter, BlockRows};
use crate::model::filter::FilterColumn;
use crate::model::{KeyValue, encode_key};

/// Passes over all rows but those whose column `x` is a multiple of ten.
struct Tens {
    asked: Cell<usize>,
    passed: Cell<usize>,
}

impl BlockFilter for Tens {
    fn is_on(&self) -> bool {
        true
    }

    fn columns(&self) -> &[&str] {
        &["x"]
    }

    fn pass(&self, rows: &BlockRows<'_>) -> usize {
        let column = rows.columns.column(rows.block, "x").expect("it was asked for");
        let is_ten = |place: &usize| matches!(column.value(*place), Ok(Some(ValueRef::Integer(x))) if x % 10 == 0);
        let passed = rows.places().take_while(|place| !is_ten(place)).count();
        self.asked.set(self.asked.get() + 1);
        self.passed.set(self.passed.get() + passed);
        passed
    }
}

fn key(number: i64) -> Vec<u8> {
    let mut encoded = Vec::new();
    encode_key(&[KeyValue::Integer(number)], &mut encoded);
    encoded
}

async fn write_rows(engine: &Engine, numbers: impl IntoIterator<Item = i64>, stamp: i64) {
    for number in numbers {
        let cells = [put("x", stamp, number)];
        let change = RowChange { kind: ChangeKind::Put, stamp, cells: &cells };
        engine.write(TREE, &key(number), &change, None).await.expect("written");
    }
}

/// The rows that are visited, the number passed over, and how often the filter was asked.
async fn visited(engine: &Engine, range: KeyRange, direction: Direction) -> (Vec<i64>, usize, usize) {
    let tens = Tens { asked: Cell::new(0), passed: Cell::new(0) };
    let mut rows = Vec::new();
    let mut visit = |_: &[u8], row: &RowView<'_>| {
        rows.push(cells(row).first().map_or(-1, |cell| cell.2));
        ControlFlow::Continue(())
    };
    let options = ScanOptions { filter: Some(&tens), ..ScanOptions::STORED };
    engine.scan_over(options, TREE, range, direction, &mut visit).await.expect("scanned");
    (rows, tens.passed.get(), tens.asked.get())
}

#[test]
fn r6_rows_of_a_block_are_passed_over_in_stretches() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &tiny());
    env.run(async {
        write_rows(&engine, 0..300, 1).await;
        let (rows, passed, _) = visited(&engine, all(), Direction::Forward).await;
        assert_eq!(rows.len() + passed, 300);
        engine.compact().await.expect("compacted");
        let tens: Vec<i64> = (0..30).map(|ten| ten * 10).collect();
        let (rows, passed, asked) = visited(&engine, all(), Direction::Forward).await;
        assert_eq!((rows, passed), (tens.clone(), 270));
        assert!(asked < 150, "it was asked {asked} times");
        let (rows, passed, _) = visited(&engine, all(), Direction::Backward).await;
        assert_eq!((rows, passed), (tens.into_iter().rev().collect(), 270));
        let range = KeyRange { lower: Bound::Excluded(key(10)), upper: Bound::Included(key(41)) };
        for direction in [Direction::Forward, Direction::Backward] {
            let (mut rows, passed, _) = visited(&engine, range.clone(), direction).await;
            assert!(rows.len() + passed == 31 && passed > 20, "{passed} passed, {rows:?}");
            // Few rows of a block, at an end of the range, are visited.
            rows.retain(|row| row % 10 == 0);
            rows.sort_unstable();
            assert_eq!(rows, [20, 30, 40], "{direction:?}");
        }
    });
}

#[test]
fn r6_rows_in_several_sources_are_visited() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &tiny());
    env.run(async {
        write_rows(&engine, 0..100, 1).await;
        engine.compact().await.expect("compacted");
        // A newer version, a deleted row, and new rows between stored ones.
        write_rows(&engine, [35, 200], 2).await;
        let gone = RowChange { kind: ChangeKind::Delete, stamp: 2, cells: &[] };
        engine.write(TREE, &key(50), &gone, None).await.expect("written");
        for direction in [Direction::Forward, Direction::Backward] {
            let (mut rows, passed, _) = visited(&engine, all(), direction).await;
            assert!(rows.len() + passed == 101 && passed > 70, "{passed} passed, {rows:?}");
            // Rows beside those of the memtable may be visited too.
            rows.retain(|row| row % 10 == 0 || [-1, 35].contains(row));
            rows.sort_unstable();
            assert_eq!(rows, [-1, 0, 10, 20, 30, 35, 40, 60, 70, 80, 90, 200], "{direction:?}");
        }
    });
}

/// The columns of a block would be judged for each of its rows.
#[test]
fn r6_rows_of_sources_that_interleave_are_visited() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let options = Options { shape: Shape { segment_bytes: 1 << 20, ..Shape::TINY }, ..without_reserve() };
    let engine = open(&env, &storage, &options);
    env.run(async {
        write_rows(&engine, (0..200).step_by(2), 1).await;
        engine.flush().await.expect("flushed");
        write_rows(&engine, (1..200).step_by(2), 1).await;
        engine.flush().await.expect("flushed");
        for direction in [Direction::Forward, Direction::Backward] {
            let (rows, passed, asked) = visited(&engine, all(), direction).await;
            assert_eq!(rows.len() + passed, 200);
            assert!(asked < 20, "asked {asked} times, {passed} passed over");
        }
    });
}
