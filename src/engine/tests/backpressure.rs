//! Reads and writes meet no more runs than compaction can bear.

use super::*;
use crate::storage::faults::{Call, Gates, Hook, Hooked};

/// So many parts of level 0 hold up flushes while compaction works, with tiny shapes.
const LIMIT: usize = 8 * Shape::TINY.level0_parts;

/// Each read of blocks takes time, and turns in which others go on.
struct Slow {
    env: SimEnv,
    ms: i64,
    turns: usize,
}

impl Hook for Slow {
    async fn before(&self, call: &Call) -> Result<()> {
        if matches!(call, Call::GetBlocks(_)) {
            self.env.advance(self.ms);
            for _ in 0..self.turns {
                self.env.yield_now().await;
            }
        }
        Ok(())
    }
}

/// A store with 40 runs of every key's neighbours, in level 0.
fn forty_runs(env: &SimEnv, options: &Options) -> MemoryStorage {
    let storage = MemoryStorage::new();
    let engine = open(env, &storage, &Options { auto_compact: false, ..options.clone() });
    for run in 0..40 {
        env.run(async {
            for i in 0..200 {
                let key = format!("k{:04}", i * 40 + run);
                write(&engine, &key, ChangeKind::Put, run, &[put("x", run, run)]).await;
            }
            engine.flush().await.expect("flushed");
        });
    }
    env.crash();
    storage
}

fn level0(engine: &Engine) -> usize {
    let view = engine.store.view.borrow();
    let partitions = view.version.trees.values().flat_map(|all| all.all());
    partitions.map(|one| one.level0_len()).max().unwrap_or(0)
}

/// Lives that are killed early leave many runs. If the first scan had to end before compaction begins, each life would read
/// more than the one before.
#[test]
fn compaction_begins_during_a_long_scan() {
    let env = SimEnv::new(NOW);
    let options = Options { memtable_bytes: 60_000, cache_bytes: 1, ..tiny() };
    let storage = forty_runs(&env, &options);
    let slow = Hooked::new(storage, Slow { env: env.clone(), ms: 500, turns: 1 });
    let engine = env.run(Engine::open(slow, Rc::new(env.clone()), options)).expect("opens");
    let (opened, mut begun, mut rows) = (engine.metrics().segments, None, 0);
    assert!(opened >= 40, "{opened} segments");
    env.run(engine.scan(TREE, all(), Direction::Forward, &mut |_, _| {
        rows += 1;
        if engine.metrics().compactions > 0 {
            begun = begun.or(Some(rows));
        }
        ControlFlow::Continue(())
    }))
    .expect("scanned");
    assert_eq!(rows, 8000);
    assert!(begun.is_some_and(|row| row < 4000), "compaction has begun at row {begun:?}");
}

/// Writes that come faster than compaction merges their flushes are held up before reads meet very many runs.
#[test]
fn writes_wait_for_a_compaction_that_is_far_behind() {
    let (env, memory) = (SimEnv::new(NOW), MemoryStorage::new());
    let slow = Hooked::new(memory, Slow { env: env.clone(), ms: 0, turns: 200 });
    let shape = Shape { partition_bytes: 1 << 30, ..Shape::TINY };
    let options = Options { cache_bytes: 1, shape, ..tiny() };
    let engine = env.run(Engine::open(slow, Rc::new(env.clone()), options)).expect("opens");
    let mut most = 0;
    env.run(async {
        for i in 0..20_000 {
            let (key, cells) = (format!("k{:04}", i * 7919 % 3000), [put("x", i, i)]);
            let change = RowChange { kind: ChangeKind::Put, stamp: i, cells: &cells };
            engine.write(TREE, key.as_bytes(), &change, None).await.expect("written");
            most = most.max(level0(&engine));
        }
    });
    assert!((LIMIT..LIMIT + 4).contains(&most), "level 0 grows up to the limit, and hardly beyond: {most}");
    assert!(engine.metrics().compactions > 20);
    let found = env.run(scan(&engine, all(), Direction::Forward));
    assert_eq!(found.len(), 3000);
    for (key, cells) in found {
        let newest = (17_000..20_000).find(|i| format!("k{:04}", i * 7919 % 3000) == key).expect("written");
        assert_eq!(cells, [("x".into(), newest, newest)]);
    }
}

/// Where compaction is far behind, a memtable or two are flushed between two of its jobs. Writes go on, slowly.
#[test]
fn a_flush_gets_through_between_two_jobs() {
    let env = SimEnv::new(NOW);
    let shape = Shape { partition_bytes: 1 << 30, ..Shape::TINY };
    let options = Options { cache_bytes: 1, shape, ..tiny() };
    let storage = forty_runs(&env, &options);
    let slow = Hooked::new(storage, Slow { env: env.clone(), ms: 0, turns: 20 });
    let engine = env.run(Engine::open(slow, Rc::new(env.clone()), options)).expect("opens");
    assert!(level0(&engine) >= 40);
    let (jobs, flushes) = (engine.metrics().compactions, engine.metrics().flushes);
    let mut written = 0;
    env.run(async {
        while level0(&engine) >= LIMIT {
            let change = RowChange { kind: ChangeKind::Put, stamp: written, cells: &[put("y", written, written)] };
            engine.write(TREE, format!("k{written:04}").as_bytes(), &change, None).await.expect("written");
            written += 1;
        }
    });
    let (jobs, flushes) = (engine.metrics().compactions - jobs, engine.metrics().flushes - flushes);
    assert!(jobs >= 3, "{jobs} jobs");
    assert!(flushes + 1 >= jobs && flushes <= 2 * jobs + 2, "{flushes} flushes for {jobs} jobs");
    assert_eq!(env.run(scan(&engine, all(), Direction::Forward)).len(), 8000);
}

/// Who closes waits for a flush, and the flush for no compaction.
#[test]
fn a_close_does_not_wait_for_a_job() {
    let env = SimEnv::new(NOW);
    let options = Options { memtable_bytes: 60_000, cache_bytes: 1, ..tiny() };
    let storage = forty_runs(&env, &options);
    let gates = Rc::new(Gates::default());
    let hooked = Hooked::new(storage.clone(), Rc::clone(&gates));
    let engine = env.run(Engine::open(hooked, Rc::new(env.clone()), options.clone())).expect("opens");
    gates.hold(|call| matches!(call, Call::GetBlocks(_)));
    env.run(async {
        for i in 0..500 {
            let change = RowChange { kind: ChangeKind::Put, stamp: i, cells: &[put("y", i, i)] };
            engine.write(TREE, format!("l{i:04}").as_bytes(), &change, None).await.expect("written");
        }
    });
    env.run_until_idle();
    assert!(engine.house.compactions.at_work.get() && level0(&engine) >= LIMIT);
    let flushes = engine.metrics().flushes;
    env.run(engine.close());
    assert!(engine.metrics().flushes > flushes);
    drop(engine);
    let engine = open(&env, &storage, &options);
    assert_eq!(env.run(scan(&engine, all(), Direction::Forward)).len(), 8500);
}

/// Loads that come faster than compaction merges their segments are held up too.
#[test]
fn loads_wait_for_a_compaction_that_is_far_behind() {
    let (env, memory) = (SimEnv::new(NOW), MemoryStorage::new());
    let slow = Hooked::new(memory, Slow { env: env.clone(), ms: 0, turns: 200 });
    let shape = Shape { partition_bytes: 1 << 30, ..Shape::TINY };
    let options = Options { cache_bytes: 1, shape, ..tiny() };
    let engine = env.run(Engine::open(slow, Rc::new(env.clone()), options)).expect("opens");
    let mut most = 0;
    env.run(async {
        for run in 0..200 {
            let load = engine.start_load(TREE);
            for i in 0..20 {
                let (key, cells) = (format!("k{:04}", i * 200 + run), [put("x", run, i)]);
                load.push(key.as_bytes(), &RowChange { kind: ChangeKind::Put, stamp: run, cells: &cells })
                    .expect("taken");
            }
            load.room().await;
            load.commit().await.expect("stored");
            most = most.max(level0(&engine));
        }
    });
    assert!((LIMIT..LIMIT + 4).contains(&most), "level 0 grows up to the limit, and hardly beyond: {most}");
    assert_eq!(env.run(scan(&engine, all(), Direction::Forward)).len(), 4000);
}

/// While all is compacted because somebody asked for it, writes are held up as by the background's jobs.
#[test]
fn writes_wait_for_a_compaction_that_was_asked_for() {
    let env = SimEnv::new(NOW);
    let options = Options { auto_compact: false, memtable_bytes: 3000, cache_bytes: 1, ..tiny() };
    let storage = forty_runs(&env, &Options { memtable_bytes: 60_000, ..options.clone() });
    let slow = Hooked::new(storage, Slow { env: env.clone(), ms: 0, turns: 200 });
    let engine = env.run(Engine::open(slow, Rc::new(env.clone()), options)).expect("opens");
    let (mut written, mut most) = (0, level0(&engine));
    let before = most;
    env.run(async {
        let compacted = Cell::new(false);
        let compacts = async {
            engine.compact().await.expect("compacted");
            compacted.set(true);
        };
        let writes = async {
            while !compacted.get() {
                let key = format!("k{:04}", written * 7919 % 8000);
                write(&engine, &key, ChangeKind::Update, 100, &[put("y", 100, written)]).await;
                written += 1;
                most = most.max(level0(&engine));
            }
        };
        futures_util::future::join(compacts, writes).await;
    });
    assert!(most <= before + 4, "level 0 has grown from {before} to {most} after {written} writes");
    assert_eq!(env.run(scan(&engine, all(), Direction::Forward)).len(), 8000);
}
