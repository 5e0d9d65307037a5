//! Power cuts: only strictly stored data survives.

use super::*;
use crate::storage::Durability;
use crate::storage::faults::{Call, Gates, Hook, Hooked, Moment};
use crate::storage::files::FileStorage;
use crate::storage::files::device::{Device, Opens};

/// Keeps only data that was stored strictly. Browsers promise more than that: some write everything in order.
#[derive(Clone)]
struct StrictOnly(MemoryStorage);

impl Hook for StrictOnly {
    async fn after(&self, call: &Call) -> Result<()> {
        match call.clone() {
            Call::Stage(segment, blocks, Durability::Strict) => self.0.stage(segment, blocks, Durability::Strict).await,
            Call::Commit(commit) if commit.durability == Durability::Strict => self.0.commit(commit).await,
            _ => Ok(()),
        }
    }
}

/// Flushes, compactions and loads stage blocks in several transactions. The commit that names them trims the log, or
/// deletes the segments that they replace.
#[test]
fn with_strict_durability_a_power_cut_loses_nothing_that_was_answered() {
    let (env, device) = (SimEnv::new(NOW), StrictOnly(MemoryStorage::new()));
    let storage = Hooked::new(MemoryStorage::new(), device.clone());
    let options = Options { durability: Durability::Strict, ..tiny() };
    let engine = env.run(Engine::open(storage, Rc::new(env.clone()), options.clone())).expect("opens");
    env.run(async {
        for i in (0..400).rev() {
            let cells = [put("x", NOW, i)];
            let change = RowChange { kind: ChangeKind::Put, stamp: NOW, cells: &cells };
            engine.write(TREE, format!("k{i:04}").as_bytes(), &change, None).await.expect("written");
        }
        engine.flush().await.expect("flushed");
        let load = engine.start_load(TREE);
        for i in 400..800 {
            let cells = [put("x", NOW, i)];
            let change = RowChange { kind: ChangeKind::Put, stamp: NOW, cells: &cells };
            load.push(format!("k{i:04}").as_bytes(), &change).expect("taken");
            load.room().await;
        }
        load.commit().await.expect("loaded");
    });
    for compacted in [false, true] {
        if compacted {
            env.run(engine.compact()).expect("compacted");
        }
        let image = device.0.image();
        let again = open(&env, &image, &options);
        let rows = env.run(scan(&again, all(), Direction::Forward));
        assert_eq!(rows.len(), 800, "compacted: {compacted}");
        assert!(rows.iter().zip(0..).all(|((_, cells), i)| *cells == [("x".to_owned(), NOW, i)]));
    }
    let metrics = engine.metrics();
    assert!(metrics.flushes > 3 && metrics.compactions > 0 && metrics.log_records < 400);
}

/// Writes on a device whose process dies or whose power is lost at any call, and opens it again, many times. `open` opens an
/// engine on it.
fn dies_at_any_call(
    durability: Durability,
    loses_power: bool,
    open: impl Fn(&Device, &SimEnv, &Options) -> Result<Rc<Engine>>,
) {
    let chance = SimEnv::shuffled(NOW, 7);
    let mut random = |below: u64| chance.random() % below;
    let options = Options { durability, ..tiny() };
    let open = |device: &Device, env: &SimEnv| open(device, env, &options);
    let mut device = Device::default();
    device.set_opens(Opens::Later);
    let mut stored: BTreeMap<String, i64> = BTreeMap::new();
    let (mut next, mut segments) = (0, 0);
    for round in 0..150 {
        let env = SimEnv::shuffled(NOW + round, round as u64 + 1);
        device.fail_after(random(400), Code::Unavailable, true);
        // The write that has no answer, if there is one.
        let mut doubtful: Option<(String, i64)> = None;
        if let Ok(engine) = open(&device, &env) {
            env.run(async {
                // Where the failing device is not needed, nothing ends it.
                for _ in 0..400 {
                    next += 1;
                    let key = format!("k{:03}", random(300));
                    let cells = [put("x", NOW, next)];
                    let change = RowChange { kind: ChangeKind::Put, stamp: NOW, cells: &cells };
                    doubtful = Some((key.clone(), next));
                    if engine.write(TREE, key.as_bytes(), &change, None).await.is_err() {
                        break;
                    }
                    stored.extend(doubtful.take());
                    let worked = match random(60) {
                        0 => engine.flush().await,
                        1 => engine.compact().await,
                        _ => Ok(()),
                    };
                    if worked.is_err() {
                        break;
                    }
                }
            });
        }
        device = if loses_power { device.power_cut(&mut random) } else { device.image() };
        let engine = open(&device, &env).unwrap_or_else(|error| panic!("round {round}: {error}"));
        let found: BTreeMap<String, i64> = env
            .run(scan(&engine, all(), Direction::Forward))
            .into_iter()
            .map(|(key, cells)| (key, cells[0].2))
            .collect();
        let mut with_doubtful = stored.clone();
        with_doubtful.extend(doubtful);
        assert!(found == stored || found == with_doubtful, "round {round}, {durability:?}");
        stored = found;
        segments = segments.max(engine.metrics().segments);
        env.run(engine.close());
        // The simulation keeps background work that has not ended, and with it the files.
        device = device.image();
    }
    assert!(
        stored.len() > 250 && segments > 3 && next > 5000,
        "{} rows, {segments} segments, {next} writes",
        stored.len()
    );
}

/// Q: an engine on files, whose process dies or whose power is lost at any call, loses nothing that was answered, and goes on;
/// without strict durability, only the process may die.
#[test]
fn on_files_a_death_at_any_call_loses_nothing_that_was_answered() {
    for (durability, loses_power) in [(Durability::Strict, true), (Durability::Relaxed, false)] {
        dies_at_any_call(durability, loses_power, |device, env, options| {
            env.run(async {
                let storage = FileStorage::open_with(device.folder(), 20_000, false).await?;
                Engine::open(storage, Rc::new(env.clone()), options.clone()).await
            })
        });
    }
}

/// Q: the same for an engine whose log is in files beside another storage, which keeps what it has.
#[test]
fn with_a_log_in_files_a_death_at_any_call_loses_nothing_that_was_answered() {
    for (durability, loses_power) in [(Durability::Strict, true), (Durability::Relaxed, false)] {
        let storage = MemoryStorage::new();
        dies_at_any_call(durability, loses_power, |device, env, options| {
            open_beside(env, storage.clone(), device, options)
        });
    }
}

/// R5, Q: an engine whose log is in files goes on after calls that fail for a while, of the files and of the storage beside them.
/// What was answered stays. What was refused is there wholly or not at all, and then it stays as it is, also after a close.
#[test]
fn with_a_log_in_files_an_engine_goes_on_after_failures() {
    let (mut refused, mut kept) = (0, 0);
    for seed in 0..60 {
        let env = SimEnv::shuffled(NOW, seed);
        let random = |below: u64| env.random() % below;
        let (device, storage, gates) = (Device::default(), MemoryStorage::new(), Rc::new(Gates::default()));
        device.set_opens(Opens::Later);
        let options = tiny();
        let open =
            |device: &Device| open_beside(&env, Hooked::new(storage.clone(), Rc::clone(&gates)), device, &options);
        let engine = open(&device).expect("opens");
        let mut stored: BTreeMap<String, i64> = BTreeMap::new();
        for step in 0..150 {
            let code = if random(2) == 0 { Code::Unavailable } else { Code::QuotaExceeded };
            let moment = if random(2) == 0 { Moment::Before } else { Moment::After };
            match random(12) {
                0 => device.fail_after(random(3), code, random(2) == 0),
                1 => gates.fail(1, |call| matches!(call, Call::Fence), Moment::Before, code),
                // Nothing is stored if a disk is full.
                2 => gates.fail(1, |call| matches!(call, Call::Commit(_)), moment, Code::Unavailable),
                3 => gates.fail(1, |call| matches!(call, Call::Load), Moment::Before, Code::Unavailable),
                _ => {}
            }
            if random(4) == 0 {
                env.pass(300);
            }
            let key = format!("k{:02}", random(40));
            let cells = [put("x", NOW, step)];
            let change = RowChange { kind: ChangeKind::Put, stamp: NOW, cells: &cells };
            let written = env.run(engine.write(TREE, key.as_bytes(), &change, None));
            if random(40) == 0 {
                // It may fail like any call.
                let _ = env.run(engine.flush());
            }
            device.heal();
            gates.fail(0, |_| false, Moment::Before, Code::Unavailable);
            if written.is_ok() {
                stored.insert(key, step);
                continue;
            }
            refused += 1;
            let rows = env.run(scan(&engine, all(), Direction::Forward));
            let found = rows.into_iter().find(|(found, _)| *found == key).map(|(_, cells)| cells[0].2);
            if found == Some(step) {
                kept += 1;
                stored.insert(key, step);
            } else {
                assert_eq!(found, stored.get(&key).copied(), "seed {seed}, step {step}");
            }
        }
        if random(2) == 0 {
            env.run(engine.close());
        }
        let again = open(&device.image()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let rows = env.run(scan(&again, all(), Direction::Forward));
        let found: BTreeMap<String, i64> = rows.into_iter().map(|(key, cells)| (key, cells[0].2)).collect();
        assert_eq!(found, stored, "seed {seed}");
    }
    assert!(refused > 200 && kept > 20, "{refused} refused, {kept} of them stored");
}
