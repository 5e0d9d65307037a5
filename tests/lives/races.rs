//! Races on a storage that takes its time: readers, writers, conditions, flushes, compactions, a second leader, and
//! failures after which the engine goes on.

use crate::decider::modify;
use crate::partitioning;
use crate::script;
use crate::store::{self, NOW};
use futures_util::future::{join, join_all, join3};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::rc::Rc;
use tabstore::engine::{BulkLoader, Direction, Engine, KeyRange, Options, RowView, Shape, TreeId};
use tabstore::env::Env;
use tabstore::env::sim::SimEnv;
use tabstore::model::version::Retention;
use tabstore::model::{CellChange, CellOp, ChangeKind, RowChange, ValueRef};
use tabstore::storage::faults::{Call, Counts, Hook, Hooked, YieldOnce};
use tabstore::storage::{AnyStorage, MemoryStorage, Storage};
use tabstore::{Code, Error, Result};

const TREE: TreeId = TreeId(1);

async fn open(env: &SimEnv, storage: impl Into<AnyStorage>, options: Options) -> Rc<Engine> {
    Engine::open(storage, Rc::new(env.clone()), options).await.expect("opens")
}

fn cell(column: &str, version: i64, value: i64) -> CellChange<'_> {
    CellChange { column, op: CellOp::Put(version, ValueRef::Integer(value)) }
}

async fn put(engine: &Engine, tree: TreeId, key: &[u8], stamp: i64, cells: &[CellChange<'_>]) -> Result<()> {
    engine.write(tree, key, &RowChange { kind: ChangeKind::Put, stamp, cells }, None).await
}

/// The first value of each of these rows.
async fn values(engine: &Engine, keys: &[&[u8]]) -> Result<Vec<Option<i64>>> {
    let mut seen = Vec::new();
    engine.read(TREE, keys, &mut |_, row| seen.push(row.map(first))).await?;
    Ok(seen)
}

fn first(row: &RowView<'_>) -> i64 {
    match row.cells().first().map(|cell| cell.value) {
        Some(ValueRef::Integer(value)) => value,
        other => panic!("{other:?} was never written"),
    }
}

/// A store with rows `a` and `b` in a segment, opened anew on a storage that yields, so that reading them takes a while.
async fn cold(env: &SimEnv) -> Rc<Engine> {
    let memory = MemoryStorage::new();
    let engine = open(env, memory.clone(), Options::default()).await;
    for key in [b"a", b"b"] {
        put(&engine, TREE, key, 1, &[cell("x", 1, 1)]).await.expect("written");
    }
    engine.flush().await.expect("flushed");
    engine.close().await;
    open(env, Hooked::new(memory, YieldOnce), Options::default()).await
}

#[test]
fn a_read_may_name_a_row_twice_while_the_row_is_being_decided() {
    let env = SimEnv::new(NOW);
    env.run(async {
        let engine = cold(&env).await;
        let decide = modify(&engine, TREE, b"a", |_| Ok((None, ())));
        let (decided, seen) = join(decide, values(&engine, &[b"a", b"b", b"a"])).await;
        decided.expect("decided");
        assert_eq!(seen.expect("read"), [Some(1), Some(1), Some(1)]);
    });
}

/// R5: the writes asked before, and none after, also where a row of the read is being decided.
#[test]
fn r5_a_read_behind_a_decision_sees_nothing_that_was_asked_after_it() {
    let env = SimEnv::new(NOW);
    env.run(async {
        let engine = cold(&env).await;
        let decide = modify(&engine, TREE, b"a", |_| Ok((Some((ChangeKind::Put, 2, Some(2))), ())));
        let later = [cell("x", 3, 3)];
        let write = put(&engine, TREE, b"b", 3, &later);
        let (decided, seen, written) = join3(decide, values(&engine, &[b"a", b"b"]), write).await;
        decided.expect("decided");
        written.expect("written");
        assert_eq!(seen.expect("read"), [Some(2), Some(1)]);
    });
    let env = SimEnv::new(NOW);
    env.run(async {
        let engine = cold(&env).await;
        let decide = modify(&engine, TREE, b"a", |_| Ok((None, ())));
        let mut seen = Vec::new();
        let everything = KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded };
        let mut visit = |_: &[u8], row: &RowView<'_>| {
            seen.push(first(row));
            ControlFlow::Continue(())
        };
        let scan = engine.scan(TREE, everything, Direction::Forward, &mut visit);
        let later = [cell("x", 3, 3)];
        let (decided, scanned, written) = join3(decide, scan, put(&engine, TREE, b"b", 3, &later)).await;
        decided.expect("decided");
        scanned.expect("scanned");
        written.expect("written");
        assert_eq!(seen, [1, 1]);
    });
}

/// Fails one commit after it took effect: its fate is unknown to whoever asked.
#[derive(Default)]
struct Unknown {
    armed: Cell<bool>,
    /// Only a commit with a manifest.
    manifests: Cell<bool>,
}

impl Hook for Unknown {
    async fn after(&self, call: &Call) -> Result<()> {
        match call {
            Call::Commit(commit) if self.armed.get() && (commit.manifest.is_some() || !self.manifests.get()) => {
                self.armed.set(false);
                Err(Error::new(Code::Unavailable, "the answer was lost"))
            }
            _ => Ok(()),
        }
    }
}

/// R4, R6: nothing is decided before it is known whether the write before was stored.
#[test]
fn a_condition_after_a_write_of_unknown_fate_sees_what_was_stored() {
    let (env, unknown) = (SimEnv::new(NOW), Rc::new(Unknown::default()));
    env.run(async {
        let engine = open(&env, Hooked::new(MemoryStorage::new(), Rc::clone(&unknown)), Options::default()).await;
        unknown.armed.set(true);
        let lost = put(&engine, TREE, b"a", 1, &[cell("x", 1, 1)]).await.expect_err("the answer was lost");
        assert_eq!(lost.code(), Code::Unavailable);
        let expects_no_row = modify(&engine, TREE, b"a", |row| match row {
            Some(_) => Err(Error::new(Code::ConditionCheckFail, "Condition check failed.")),
            None => Ok((Some((ChangeKind::Update, 2, None)), ())),
        });
        assert_eq!(expects_no_row.await.expect_err("the row is there").code(), Code::ConditionCheckFail);
        assert_eq!(values(&engine, &[b"a"]).await.expect("read"), [Some(1)]);
    });
}

/// R5: a request behind a write of unknown fate is read when the fate is known, not while it comes to light.
#[test]
fn r5_reads_behind_a_write_of_unknown_fate_see_what_was_stored() {
    let (env, unknown) = (SimEnv::new(NOW), Rc::new(Unknown::default()));
    env.run(async {
        let engine = open(&env, Hooked::new(MemoryStorage::new(), Rc::clone(&unknown)), Options::default()).await;
        unknown.armed.set(true);
        let (cells, mut found) = ([cell("x", 1, 1)], Vec::new());
        let mut visit = |_: &[u8], row: &RowView<'_>| {
            found.push(first(row));
            ControlFlow::Continue(())
        };
        let all = KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded };
        let write = put(&engine, TREE, b"a", 1, &cells);
        let range = engine.scan(TREE, all, Direction::Forward, &mut visit);
        let (lost, row, range) = join3(write, values(&engine, &[b"a"]), range).await;
        assert_eq!(lost.expect_err("the answer was lost").code(), Code::Unavailable);
        range.expect("scanned");
        assert_eq!((row.expect("read"), found), (vec![Some(1)], vec![1]));
    });
}

/// T1: a table whose deletion may have been stored takes no more writes that would be lost with it.
#[test]
fn t1_a_change_of_a_table_of_unknown_fate_ends_the_instance() {
    let (env, memory, unknown) = (SimEnv::new(NOW), MemoryStorage::new(), Rc::new(Unknown::default()));
    env.run(async {
        let instance = script::open(&env, Hooked::new(memory.clone(), Rc::clone(&unknown))).await.expect("opens");
        script::create(&instance).await.expect("created");
        unknown.armed.set(true);
        assert_eq!(instance.delete_table("t").await.expect_err("lost").code(), Code::Unavailable);
        let write = instance.write_row(&store::put("t", store::id(1), &[]), None).await;
        assert_eq!(write.expect_err("refused").error.code(), Code::Closed);
    });
    env.crash();
    let tables = env.run(async { script::open(&env, memory).await.expect("opens").list_table() });
    assert!(tables.is_empty(), "{tables:?}");
}

/// Holds the first read of blocks up until many other things have happened.
struct SlowRead {
    env: SimEnv,
    armed: Cell<bool>,
}

impl Hook for SlowRead {
    async fn before(&self, call: &Call) -> Result<()> {
        if matches!(call, Call::GetBlocks(_)) && self.armed.replace(false) {
            for _ in 0..400 {
                self.env.yield_now().await;
            }
        }
        Ok(())
    }
}

#[test]
fn a_reader_keeps_its_segments_after_a_manifest_of_unknown_fate() {
    let (env, unknown) = (SimEnv::new(NOW), Rc::new(Unknown::default()));
    let slow = Rc::new(SlowRead { env: env.clone(), armed: Cell::new(false) });
    let storage = Hooked::new(Hooked::new(MemoryStorage::new(), Rc::clone(&unknown)), Rc::clone(&slow));
    env.run(async {
        let engine = open(&env, storage, Options { cache_bytes: 0, ..Options::default() }).await;
        put(&engine, TREE, b"a", 1, &[cell("x", 1, 1)]).await.expect("written");
        engine.flush().await.expect("flushed");
        put(&engine, TREE, b"b", 2, &[cell("x", 2, 2)]).await.expect("written");
        slow.armed.set(true);
        let rest = async {
            unknown.manifests.set(true);
            unknown.armed.set(true);
            engine.flush().await.expect_err("the answer was lost");
            engine.flush().await.expect("flushed");
            engine.compact().await.expect("compacted");
        };
        let (seen, ()) = join(values(&engine, &[b"a"]), rest).await;
        assert_eq!(seen.expect("read"), [Some(1)]);
    });
}

/// Runs something of the old leader's after a second one has looked at the manifests, and gives it time.
struct Meanwhile {
    env: SimEnv,
    work: RefCell<Option<Box<dyn FnOnce()>>>,
}

impl Hook for Meanwhile {
    async fn after(&self, call: &Call) -> Result<()> {
        let work = if matches!(call, Call::Load) { self.work.take() } else { None };
        if let Some(work) = work {
            work();
            for _ in 0..200 {
                self.env.yield_now().await;
            }
        }
        Ok(())
    }
}

#[test]
fn what_many_readers_need_at_once_is_read_once() {
    let (env, memory, counts) = (SimEnv::new(NOW), MemoryStorage::new(), Rc::new(Counts::default()));
    env.run(async {
        let engine = open(&env, memory.clone(), Options::default()).await;
        put(&engine, TREE, b"a", 7, &[cell("x", 7, 7)]).await.expect("written");
        engine.flush().await.expect("flushed");
        engine.close().await;
        let slow = Hooked::new(Hooked::new(memory, YieldOnce), Rc::clone(&counts));
        let engine = open(&env, slow, Options::default()).await;
        let readers = (0..50).map(|_| values(&engine, &[b"a"]));
        for seen in join_all(readers).await {
            assert_eq!(seen.expect("read"), [Some(7)]);
        }
    });
    assert_eq!(counts.blocks_read.get(), 2, "the index and the block");
}

#[test]
fn a_reader_that_fails_does_not_fail_those_who_wait_for_what_it_reads() {
    for call in 0..2 {
        let (env, memory) = (SimEnv::new(NOW), MemoryStorage::new());
        env.run(async {
            let engine = open(&env, memory.clone(), Options::default()).await;
            put(&engine, TREE, b"a", 7, &[cell("x", 7, 7)]).await.expect("written");
            engine.flush().await.expect("flushed");
            engine.close().await;
            let fault = Rc::new(FailGet { left: Cell::new(call) });
            // Without a cache nothing is read ahead at the opening.
            let options = Options { cache_bytes: 0, ..Options::default() };
            let engine = open(&env, Hooked::new(Hooked::new(memory, YieldOnce), fault), options).await;
            let seen = join_all((0..5).map(|_| values(&engine, &[b"a"]))).await;
            assert_eq!(seen.iter().filter(|seen| seen.is_err()).count(), 1, "{seen:?}");
            assert!(seen.iter().flatten().all(|seen| *seen == [Some(7)]), "{seen:?}");
        });
    }
}

/// Fails one reading of blocks, after so many others.
struct FailGet {
    left: Cell<i32>,
}

impl Hook for FailGet {
    async fn after(&self, call: &Call) -> Result<()> {
        if !matches!(call, Call::GetBlocks(_)) {
            return Ok(());
        }
        let left = self.left.replace(self.left.get() - 1);
        if left == 0 { Err(Error::new(Code::Unavailable, "just now")) } else { Ok(()) }
    }
}

#[test]
fn a_leader_may_be_replaced_in_the_middle_of_a_flush_or_a_compaction() {
    for compact in [false, true] {
        let (env, memory) = (SimEnv::new(NOW), MemoryStorage::new());
        env.run(async {
            let old = open(&env, memory.clone(), Options::default()).await;
            for stamp in 0..10 {
                put(&old, TREE, b"a", stamp, &[cell("x", stamp, stamp)]).await.expect("written");
                if stamp % 4 == 3 {
                    old.flush().await.expect("flushed");
                }
            }
            let (spawner, leader) = (env.clone(), Rc::clone(&old));
            let work = move || {
                spawner.spawn(Box::pin(async move {
                    let done = if compact { leader.compact().await } else { leader.flush().await };
                    done.expect("the old leader still leads");
                }));
            };
            let meanwhile = Meanwhile { env: env.clone(), work: RefCell::new(Some(Box::new(work))) };
            let new = open(&env, Hooked::new(memory.clone(), meanwhile), Options::default()).await;
            assert_eq!(values(&new, &[b"a"]).await.expect("read"), [Some(9)]);
            put(&new, TREE, b"b", 20, &[cell("x", 20, 20)]).await.expect("written");
            new.flush().await.expect("flushed");
            let stale = put(&old, TREE, b"c", 30, &[]).await.expect_err("fenced off");
            assert_eq!(stale.code(), Code::Fenced);
        });
    }
}

#[test]
fn the_space_of_a_tree_that_is_dropped_while_it_is_flushed_comes_back() {
    let (env, memory) = (SimEnv::new(NOW), MemoryStorage::new());
    let options = Options { memtable_bytes: 300_000, reserve_bytes: 0, ..Options::default() };
    let engine = env.run(open(&env, Hooked::new(memory.clone(), YieldOnce), options));
    env.run(async {
        let noise: Vec<u8> = (0..100_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for row in 0..20_u8 {
            let big = [CellChange { column: "b", op: CellOp::Put(1, ValueRef::Binary(&noise)) }];
            put(&engine, TREE, &[row], 1, &big).await.expect("written");
        }
        let drop = async {
            for _ in 0..3 {
                env.yield_now().await;
            }
            engine.drop_tree(TREE);
        };
        join(engine.flush(), drop).await.0.expect("flushed");
        put(&engine, TreeId(2), b"k", 1, &[]).await.expect("written");
        engine.compact().await.expect("compacted");
    });
    env.run_until_idle();
    assert!(engine.partitions(TREE).is_empty(), "what the flush wrote does not bring it back");
    let stored = env.run(memory.list_segments()).expect("listed").len() as u64;
    assert_eq!(stored, engine.metrics().segments);
}

type Model = BTreeMap<Vec<u8>, i64>;

/// How many loads were ended by writes among their rows, and how many rows were loaded.
#[derive(Default)]
struct Seen {
    loaded: Cell<usize>,
    ended: Cell<usize>,
}

/// One of several clients: it owns its rows, so it knows what they must be, whatever the others do meanwhile.
struct Client {
    engine: Rc<Engine>,
    env: SimEnv,
    me: u64,
    rows: Model,
    /// Rows that wait for their load to be asked for, by this client or by whoever writes among them.
    load: Option<(BulkLoader, Model)>,
    seen: Rc<Seen>,
}

impl Client {
    /// Rows that were loaded and asked for are there.
    fn settle(&mut self) {
        if let Some((_, rows)) = self.load.take_if(|(load, _)| load.is_asked()) {
            self.seen.ended.set(self.seen.ended.get() + 1);
            self.loaded(rows);
        }
    }

    /// Asks for the load: later requests come after it.
    fn ask(&mut self) -> Option<BulkLoader> {
        let (load, rows) = self.load.take()?;
        load.ask();
        self.loaded(rows);
        Some(load)
    }

    fn loaded(&mut self, rows: Model) {
        self.seen.loaded.set(self.seen.loaded.get() + rows.len());
        self.rows.extend(rows);
    }

    /// A few rows behind those that are being loaded.
    fn next(&self) -> Vec<Vec<u8>> {
        let number = |key: &Vec<u8>| String::from_utf8_lossy(&key[..3]).parse::<u64>().expect("a number");
        let last = self.load.as_ref().and_then(|(_, rows)| rows.last_key_value());
        let from = last.map_or(self.env.random() % 40, |(key, _)| number(key) + 1);
        let keys = (from..=from + self.env.random() % 3).map(|row| format!("{row:03}-{}", self.me).into_bytes());
        keys.collect()
    }

    /// Loads these rows, if they can be.
    async fn push(&mut self, keys: Vec<Vec<u8>>, step: i64) {
        let (load, rows) = self.load.get_or_insert_with(|| (self.engine.start_load(TREE), Model::new()));
        if keys[0] < b"060".to_vec() && load.takes(&keys[0], &keys[keys.len() - 1]) {
            for key in keys {
                let change = RowChange { kind: ChangeKind::Put, stamp: step, cells: &[cell("x", step, step)] };
                load.push(&key, &change).expect("taken");
                rows.insert(key, step);
            }
            load.room().await;
        }
    }

    async fn scan(&self) -> Model {
        let everything = KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded };
        let forward = self.env.random().is_multiple_of(2);
        let direction = if forward { Direction::Forward } else { Direction::Backward };
        let (mut seen, own) = (Model::new(), format!("-{}", self.me).into_bytes());
        let mut visit = |key: &[u8], row: &RowView<'_>| {
            if key.ends_with(&own) {
                seen.insert(key.to_vec(), first(row));
            }
            ControlFlow::Continue(())
        };
        self.engine.scan(TREE, everything, direction, &mut visit).await.expect("scanned");
        seen
    }

    async fn live(mut self, steps: i64) {
        let (engine, env) = (Rc::clone(&self.engine), self.env.clone());
        for step in 0..steps {
            let key = format!("{:03}-{}", env.random() % 60, self.me).into_bytes();
            self.settle();
            let before = self.rows.clone();
            match env.random() % 11 {
                0..3 => {
                    put(&engine, TREE, &key, step, &[cell("x", step, step)]).await.expect("written");
                    // Had the row been loaded, that came first.
                    self.settle();
                    self.rows.insert(key, step);
                }
                3 => {
                    let delete = RowChange { kind: ChangeKind::Delete, stamp: step, cells: &[] };
                    engine.write(TREE, &key, &delete, None).await.expect("deleted");
                    self.settle();
                    self.rows.remove(&key);
                }
                4 => {
                    let decide = |row: Option<&RowView<'_>>| {
                        let change = (ChangeKind::Put, step, Some(step));
                        Ok((Some(change), row.filter(|row| !row.is_deleted()).map(first)))
                    };
                    let found = modify(&engine, TREE, &key, decide).await.expect("decided");
                    self.settle();
                    assert_eq!(found, self.rows.insert(key, step));
                }
                5 => {
                    let found = values(&engine, &[&key, &key]).await.expect("read");
                    self.settle();
                    // Concurrent requests of others may be seen or not.
                    let possible = [&before, &self.rows].map(|rows| [rows.get(&key).copied(); 2]);
                    assert!(possible.iter().any(|values| found == values), "{found:?}, not one of {possible:?}");
                }
                6 => {
                    let found = self.scan().await;
                    self.settle();
                    assert!(found == before || found == self.rows, "{found:?}, not {before:?} or {:?}", self.rows);
                }
                7 if env.random().is_multiple_of(4) => {
                    let keys = self.next();
                    let key = keys[0].clone();
                    let write = async {
                        if step % 2 == 0 {
                            return put(&engine, TREE, &key, step, &[cell("x", step, -step)]).await;
                        }
                        modify(&engine, TREE, &key, |_| Ok((Some((ChangeKind::Put, step, Some(-step))), ()))).await
                    };
                    // A row that is being written is not loaded before that.
                    join(write, self.push(keys, step)).await.0.expect("written");
                    self.settle();
                    self.rows.insert(key, -step);
                }
                7 | 8 => self.push(self.next(), step).await,
                9 if env.random().is_multiple_of(3) => {
                    let load = self.ask();
                    if let (Some(load), true) = (load, env.random().is_multiple_of(2)) {
                        load.stored().await.expect("stored");
                    }
                }
                // Given up.
                9 if env.random().is_multiple_of(4) => self.load = None,
                _ if env.random().is_multiple_of(8) => {
                    let at = self.rows.keys().nth(env.random() as usize % self.rows.len().max(1));
                    let at = at.cloned().unwrap_or_default();
                    partitioning::change_tree(&env, &engine, TREE, &at).await.expect("changed");
                }
                _ if env.random().is_multiple_of(10) => engine.compact().await.expect("compacted"),
                _ if env.random().is_multiple_of(2) => engine.flush().await.expect("flushed"),
                _ => env.yield_now().await,
            }
        }
        drop(self.ask());
        assert_eq!(self.scan().await, self.rows);
    }
}

/// R5: six clients at once, on a storage that lets others go first at every call, in random orders of tasks. They write,
/// read, decide, load, split and merge.
#[test]
fn r5_interleaved_clients_see_what_they_wrote() {
    let seen = Rc::new(Seen::default());
    for seed in 1..=60 * crate::times() {
        let (env, memory) = (SimEnv::shuffled(NOW, seed), MemoryStorage::new());
        let shape = Shape::TINY;
        let options =
            Options { memtable_bytes: 3000, cache_bytes: 2000, reserve_bytes: 600, shape, ..Options::default() };
        let engine = env.run(open(&env, Hooked::new(memory.clone(), YieldOnce), options));
        engine.set_retention(TREE, Retention { max_versions: 1, time_to_live: None });
        let client = |me| {
            let (engine, env, seen) = (Rc::clone(&engine), env.clone(), Rc::clone(&seen));
            Client { engine, env, me, rows: Model::new(), load: None, seen }.live(250)
        };
        env.run(join_all((0..6).map(client)));
        env.run_until_idle();
        // Segments that a reader held until now go with the next commit.
        env.run(put(&engine, TREE, b"last", 0, &[])).expect("written");
        env.run_until_idle();
        // The first four are those of the reserve.
        let stored = env.run(memory.list_segments()).expect("listed").into_iter().filter(|id| id.0 > 3).count() as u64;
        assert_eq!(stored, engine.metrics().segments, "seed {seed}");
    }
    let (loaded, ended) = (seen.loaded.get(), seen.ended.get());
    assert!(loaded > 5000 && ended > 500, "{loaded} rows were loaded, {ended} loads were ended by others");
}
