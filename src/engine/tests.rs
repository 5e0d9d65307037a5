//! The engine as a whole, on storage in memory, in a simulated world.

use super::*;
use crate::engine::versions::version::Edit;
use crate::env::sim::{SimEnv, share};
use crate::env::{Env, LocalFuture};
use crate::error::{Code, Error, Result};
use crate::model::version::Retention;
use crate::model::{CellChange, CellOp, ChangeKind, RowChange, ValueRef};
use crate::storage::files::LogInFiles;
use crate::storage::files::device::Device;
use crate::storage::{Durability, FencedStorage, LogNumber, MemoryStorage, Storage};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

mod backpressure;
mod blocks;
mod change_records;
mod cold;
mod failures;
mod images;
mod instants;
mod large;
mod leaders;
mod loads;
mod opening;
mod overlay;
mod passing;
mod pieces;
mod power;
mod second_cache;
mod space;

type Cells = Vec<(String, i64, i64)>;

const NOW: i64 = 1_700_000_000_000;
const TREE: TreeId = TreeId(1);

fn tiny() -> Options {
    Options { memtable_bytes: 3000, cache_bytes: 20_000, reserve_bytes: 0, shape: Shape::TINY, ..Options::default() }
}

/// Only written data is stored.
fn without_reserve() -> Options {
    Options { reserve_bytes: 0, ..Options::default() }
}

fn open(env: &SimEnv, storage: &MemoryStorage, options: &Options) -> Rc<Engine> {
    env.run(Engine::open(storage.clone(), Rc::new(env.clone()), options.clone())).expect("opens")
}

/// An engine whose log, and second cache, are in files of a device beside a storage.
fn open_beside<S: FencedStorage>(env: &SimEnv, storage: S, device: &Device, options: &Options) -> Result<Rc<Engine>> {
    env.run(async {
        let env: Rc<dyn Env> = Rc::new(env.clone());
        let check = Rc::new(|| Box::pin(async { Ok(()) }) as LocalFuture<Result<()>>);
        let log = LogInFiles::open_with(storage, device.folder(), Rc::clone(&env), check, 20_000).await?;
        Engine::open(log, env, options.clone()).await
    })
}

fn put(column: &str, version: i64, value: i64) -> CellChange<'_> {
    CellChange { column, op: CellOp::Put(version, ValueRef::Integer(value)) }
}

async fn write(engine: &Engine, key: &str, kind: ChangeKind, stamp: i64, cells: &[CellChange<'_>]) {
    let change = RowChange { kind, stamp, cells };
    engine.write(TREE, key.as_bytes(), &change, None).await.expect("written");
}

fn cells(row: &RowView<'_>) -> Cells {
    let cell = |cell: &crate::model::CellRef<'_>| match cell.value {
        ValueRef::Integer(value) => (cell.column.to_owned(), cell.version, value),
        _ => panic!("only integers are written"),
    };
    row.cells().iter().map(cell).collect()
}

async fn get(engine: &Engine, key: &str) -> Option<Cells> {
    let mut found = None;
    engine.read(TREE, &[key.as_bytes()], &mut |_, row| found = row.map(cells)).await.expect("read");
    found
}

async fn scan(engine: &Engine, range: KeyRange, direction: Direction) -> Vec<(String, Cells)> {
    let mut rows = Vec::new();
    let mut visit = |key: &[u8], row: &RowView<'_>| {
        rows.push((String::from_utf8_lossy(key).into_owned(), cells(row)));
        ControlFlow::Continue(())
    };
    engine.scan(TREE, range, direction, &mut visit).await.expect("scanned");
    rows
}

fn all() -> KeyRange {
    KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded }
}

#[test]
fn a_write_is_read_back_before_and_after_flush_compaction_and_reopening() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &Options::default());
    env.run(async {
        write(&engine, "a", ChangeKind::Put, 5, &[put("x", 5, 1)]).await;
        assert_eq!(get(&engine, "a").await, Some(vec![("x".into(), 5, 1)]));
        engine.flush().await.expect("flushed");
        assert_eq!(engine.metrics().segments, 1);
        write(&engine, "a", ChangeKind::Update, 6, &[put("x", 6, 2), put("y", 6, 3)]).await;
        let expected = Some(vec![("x".into(), 6, 2), ("x".into(), 5, 1), ("y".into(), 6, 3)]);
        assert_eq!(get(&engine, "a").await, expected);
        engine.compact().await.expect("compacted");
        assert_eq!(get(&engine, "a").await, expected);
        assert_eq!(get(&engine, "b").await, None);
    });
    drop(engine);
    let engine = open(&env, &storage, &Options::default());
    assert_eq!(env.run(scan(&engine, all(), Direction::Forward)).len(), 1);
    assert_eq!(engine.last_stamp(), 6);
}

#[test]
fn r5_a_read_sees_what_was_asked_for_before_it_and_nothing_after() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &Options::default());
    env.run(async {
        let one = [put("x", 1, 1)];
        let two = [put("x", 2, 2)];
        let first = write(&engine, "a", ChangeKind::Put, 1, &one);
        let read = get(&engine, "a");
        let second = write(&engine, "a", ChangeKind::Put, 2, &two);
        let range = scan(&engine, all(), Direction::Forward);
        let ((), seen, (), scanned) = futures_util::future::join4(first, read, second, range).await;
        assert_eq!(seen, Some(vec![("x".into(), 1, 1)]));
        assert_eq!(scanned, [("a".into(), vec![("x".into(), 2, 2)])]);
    });
}

/// Adds one to the column `n`, and keeps the result.
struct AddOne(i64);

impl Decide for AddOne {
    fn see(&mut self, _: usize, row: Option<&RowView<'_>>) -> Result<()> {
        self.0 = row.map_or(0, |row| cells(row)[0].2) + 1;
        Ok(())
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        let cells = [put("n", 1, self.0)];
        writes.change(TREE, b"counter", &RowChange { kind: ChangeKind::Update, stamp: 1, cells: &cells });
    }
}

#[test]
fn r6_concurrent_increments_lose_nothing() {
    let (env, storage) = (SimEnv::shuffled(NOW, 3), MemoryStorage::new());
    let engine = open(&env, &storage, &tiny());
    env.run(async {
        for round in 0..20 {
            let mut counters = [const { AddOne(0) }; 10];
            let calls = counters.iter_mut().map(|counter| engine.modify(&[(TREE, b"counter")], None, counter));
            let results = futures_util::future::join_all(calls).await;
            for (result, (counter, expected)) in results.into_iter().zip(counters.iter().zip(round * 10 + 1..)) {
                result.expect("added");
                assert_eq!(counter.0, expected);
            }
            // The row leaves memory, so that the next round has to load it.
            engine.flush().await.expect("flushed");
        }
        assert_eq!(get(&engine, "counter").await, Some(vec![("n".into(), 1, 200)]));
    });
}

#[test]
fn a_reader_keeps_its_instant_while_rows_are_overwritten_flushed_and_compacted() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let options = Options { cache_bytes: 1, ..tiny() };
    let engine = open(&env, &storage, &options);
    env.run(async {
        for i in 0..200 {
            write(&engine, &format!("k{i:03}"), ChangeKind::Put, 1, &[put("x", 1, i)]).await;
        }
        engine.compact().await.expect("compacted");
        let reader = scan(&engine, all(), Direction::Forward);
        let writer = async {
            for i in 0..200 {
                write(&engine, &format!("k{i:03}"), ChangeKind::Put, 2, &[put("x", 2, -1)]).await;
            }
            engine.compact().await.expect("compacted");
        };
        let (seen, ()) = futures_util::future::join(reader, writer).await;
        assert_eq!(seen.len(), 200);
        assert!((0..).zip(&seen).all(|(i, (_, cells))| cells[0].2 == i), "the reader saw a later write");
    });
}

#[test]
fn a_stale_leader_is_fenced_off() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let stale = open(&env, &storage, &Options::default());
    env.run(write(&stale, "a", ChangeKind::Put, 1, &[put("x", 1, 1)]));
    let leader = open(&env, &storage, &Options::default());
    let change = RowChange { kind: ChangeKind::Delete, stamp: 2, cells: &[] };
    let refused = env.run(stale.write(TREE, b"a", &change, None)).expect_err("fenced");
    assert_eq!(refused.code(), Code::Fenced);
    assert_eq!(env.run(stale.flush()).expect_err("fenced").code(), Code::Fenced);
    assert!(env.run(get(&leader, "a")).is_some());
}

#[test]
fn deleted_trees_give_their_space_back() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &tiny());
    env.run(async {
        for i in 0..500 {
            write(&engine, &format!("k{i:03}"), ChangeKind::Put, 1, &[put("x", 1, i)]).await;
        }
        engine.flush().await.expect("flushed");
    });
    assert!(engine.metrics().segments > 3);
    engine.drop_tree(TREE);
    env.run_until_idle();
    env.run(engine.flush()).expect("flushed");
    env.run_until_idle();
    assert_eq!(engine.metrics().segments, 0);
    assert_eq!(env.run(crate::storage::Storage::list_segments(&storage)).expect("listed"), []);
}

#[test]
fn compaction_gives_the_space_of_what_it_replaced_back_at_once() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &tiny());
    env.run(async {
        for round in 0..5 {
            for i in 0..100 {
                write(&engine, &format!("k{i:03}"), ChangeKind::Put, round, &[put("x", round, i)]).await;
            }
        }
        engine.compact().await.expect("compacted");
    });
    let stored = env.run(crate::storage::Storage::list_segments(&storage)).expect("listed").len() as u64;
    assert_eq!(stored, engine.metrics().segments);
}

/// Q: an opening that misses segments may have an older version than the newest one, so it deletes none; with all of them it
/// deletes what nobody refers to.
#[test]
fn unknown_segments_stay_while_known_ones_are_missing() {
    use crate::storage::Storage as _;
    for is_missing in [false, true] {
        let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
        let engine = open(&env, &storage, &tiny());
        env.run(async {
            for i in 0..100 {
                write(&engine, &format!("k{i:03}"), ChangeKind::Put, 1, &[put("x", 1, i)]).await;
            }
            engine.flush().await.expect("flushed");
            engine.close().await;
        });
        let image = storage.image();
        let unknown = crate::storage::SegmentId(999);
        env.run(async {
            let known = image.list_segments().await.expect("listed");
            image.stage(unknown, vec![(0, vec![1].into())], crate::storage::Durability::Relaxed).await.expect("staged");
            if is_missing {
                image.delete_segments(&known[..1]).await.expect("deleted");
            }
        });
        let again = open(&env, &image, &tiny());
        env.run_until_idle();
        let listed = env.run(image.list_segments()).expect("listed");
        assert_eq!(listed.contains(&unknown), is_missing);
        env.run(again.close());
    }
}

/// A row as the plain model keeps it: every cell ever put and not deleted.
#[derive(Clone, Debug, Default, PartialEq)]
struct ModelRow {
    exists: bool,
    cells: BTreeMap<(String, std::cmp::Reverse<i64>), i64>,
}

impl ModelRow {
    fn seen(&self) -> Option<Cells> {
        let cells = self.cells.iter().map(|((column, version), value)| (column.clone(), version.0, *value));
        (self.exists || !self.cells.is_empty()).then(|| cells.collect())
    }

    fn change(&mut self, kind: ChangeKind, cells: &[CellChange<'_>]) {
        if kind != ChangeKind::Update {
            *self = Self { exists: kind == ChangeKind::Put, cells: BTreeMap::new() };
        }
        for cell in cells {
            match cell.op {
                CellOp::DeleteColumn => self.cells.retain(|(column, _), _| column != cell.column),
                CellOp::DeleteVersion(version) => {
                    self.cells.remove(&(cell.column.to_owned(), std::cmp::Reverse(version)));
                }
                CellOp::Put(version, ValueRef::Integer(value)) => {
                    self.cells.insert((cell.column.to_owned(), std::cmp::Reverse(version)), value);
                }
                CellOp::Put(..) => unreachable!("only integers are written"),
            }
        }
    }
}

/// The parameters of a life.
#[derive(Clone, Debug)]
struct Life {
    options: Options,
    keys: u64,
    /// The most versions of a column.
    versions: i64,
    /// One of so many changes replaces or deletes the whole row.
    whole: u64,
}

impl Life {
    fn of_small_rows() -> Self {
        Self { options: tiny(), keys: 60, versions: 3, whole: 2 }
    }
}

fn random_change(env: &SimEnv, life: &Life) -> (ChangeKind, Vec<CellChange<'static>>) {
    let pick = |count: u64| env.random() % count;
    let whole = [ChangeKind::Put, ChangeKind::Delete][pick(2) as usize];
    let kind = if pick(life.whole) == 0 { whole } else { ChangeKind::Update };
    let mut cells = Vec::new();
    for column in ["a", "b", "c"] {
        if kind == ChangeKind::Delete || pick(2) == 0 {
            continue;
        }
        if kind == ChangeKind::Update && pick(2 * life.whole) == 0 {
            cells.push(CellChange { column, op: CellOp::DeleteColumn });
        }
        for version in (1..=life.versions).rev() {
            match pick(4 * life.versions.unsigned_abs() / 3) {
                0 => cells.push(put(column, version, pick(1000).cast_signed())),
                1 if kind == ChangeKind::Update => {
                    cells.push(CellChange { column, op: CellOp::DeleteVersion(version) });
                }
                _ => {}
            }
        }
    }
    (kind, cells)
}

fn random_range(env: &SimEnv, keys: u64) -> KeyRange {
    let end = || {
        let key = format!("k{:02}", env.random() % keys).into_bytes();
        [Bound::Included(key.clone()), Bound::Excluded(key), Bound::Unbounded][env.random() as usize % 3].clone()
    };
    KeyRange { lower: end(), upper: end() }
}

/// One life: random operations against the model, with flushes, compactions, crashes and reopenings in between.
fn live(seed: u64, steps: u32, life: &Life) {
    let env = SimEnv::shuffled(NOW, seed);
    let storage = MemoryStorage::new();
    let mut engine = open(&env, &storage, &life.options);
    let mut model: BTreeMap<String, ModelRow> = BTreeMap::new();
    for step in 0..steps {
        let key = format!("k{:02}", env.random() % life.keys);
        match env.random() % 100 {
            0..60 => {
                let (kind, cells) = random_change(&env, life);
                let change = RowChange { kind, stamp: i64::from(step), cells: &cells };
                env.run(engine.write(TREE, key.as_bytes(), &change, None)).expect("written");
                model.entry(key).or_default().change(kind, &cells);
            }
            60..85 => {
                let expected = model.get(&key).and_then(ModelRow::seen);
                assert_eq!(env.run(get(&engine, &key)), expected, "seed {seed} step {step} key {key}");
            }
            85..94 => {
                let range = random_range(&env, life.keys);
                let forward = env.random().is_multiple_of(2);
                let direction = if forward { Direction::Forward } else { Direction::Backward };
                let inside = model.iter().filter(|(key, _)| range.contains(key.as_bytes()));
                let mut expected: Vec<_> = inside.filter_map(|(key, row)| Some((key.clone(), row.seen()?))).collect();
                if !forward {
                    expected.reverse();
                }
                let found = env.run(scan(&engine, range.clone(), direction));
                assert_eq!(found, expected, "seed {seed} step {step} {range:?} {direction:?}");
            }
            94 => env.run(engine.flush()).expect("flushed"),
            95 => {
                // P1: partitions are split anywhere, and merged with the next one.
                if env.random().is_multiple_of(2) {
                    env.run(engine.split_partition(TREE, key.as_bytes())).expect("split");
                } else {
                    let partitions = engine.partitions(TREE);
                    if let Some(one) = partitions.get(env.random() as usize % partitions.len().max(1)) {
                        env.run(engine.merge_partition(TREE, one.id)).expect("merged");
                    }
                }
            }
            96 => env.run(engine.compact()).expect("compacted"),
            97 => env.run_until_idle(),
            _ => {
                env.crash();
                drop(engine);
                engine = open(&env, &storage, &life.options);
            }
        }
    }
}

#[test]
fn random_lives_agree_with_a_plain_model() {
    for seed in 1..=40 {
        live(seed, 1500, &Life::of_small_rows());
    }
}
