//! Loads through crashes and faults: a crash at any change of the storage, and a fault at any call of it. Each load is
//! there wholly or not at all, and an acknowledged one is there (R4).

use crate::faults::{at_every_call, with_a_full_disk_at_every_call};
use crate::script;
use crate::store::{self, NOW};
use futures_util::future::join;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tabstore::engine::Direction;
use tabstore::env::Env;
use tabstore::env::sim::SimEnv;
use tabstore::model::{TableName, Value};
use tabstore::storage::faults::{Call, CrashImages, FailAt, Hook, Hooked, Moment, YieldOnce};
use tabstore::storage::{MemoryStorage, Storage};
use tabstore::tablestore::{GetRow, Instance, Loader, PutRows};
use tabstore::{Code, Result};

const ROWS: i64 = 60;

/// One load over all rows, perhaps with a writer beside it; which value they have then.
#[derive(Clone, Copy, Debug)]
enum Step {
    Load(i64),
    /// The same while rows are written one by one that are no part of it.
    Beside(i64),
    /// A row among those that are loaded is deleted before the load is asked for.
    Into(i64),
    /// It is given up.
    GiveUp,
    Flush,
    Compact,
}

fn steps() -> Vec<Step> {
    use Step::{Beside, Compact, Flush, GiveUp, Into, Load};
    vec![
        Load(1),
        Load(2),
        GiveUp,
        Flush,
        Beside(3),
        Into(4),
        Compact,
        Load(5),
        Beside(6),
        Flush,
        GiveUp,
        Into(7),
        Load(8),
    ]
}

/// Stored segments, without the reserve.
fn segments_of(env: &SimEnv, storage: &MemoryStorage) -> u64 {
    let stored = env.run(storage.list_segments()).expect("listed");
    stored.iter().filter(|id| id.0 >> 24 > 0).count() as u64
}

/// The value of all rows; a deleted one has none. Or the error.
async fn state(instance: &Instance) -> Result<i64, String> {
    let mut rows = store::Rows::default();
    let request = store::range("t", Direction::Forward);
    instance.get_range(&request, &mut rows).await.map_err(|error| format!("cannot be read: {error}"))?;
    let own = rows.0.iter().filter(|row| !matches!(row.0[..], [tabstore::model::KeyValue::Integer(5000..)]));
    let mut values: Vec<i64> = own
        .map(|(_, cells)| match cells[..] {
            [(_, _, Value::Integer(value))] => value,
            _ => -1,
        })
        .collect();
    let rows = values.len() as i64;
    values.dedup();
    match values[..] {
        [] => Ok(0),
        [value] if rows >= ROWS - 1 => Ok(value),
        _ => Err(format!("{rows} rows hold {values:?}")),
    }
}

/// Has the engine find out the fate of a commit in the background that has just failed. Before that is known nothing is
/// loaded, and rows would be written one by one.
async fn find_out(instance: &Instance) -> bool {
    let table = TableName::parse("t").expect("a name");
    let request = GetRow { table, key: store::id(-1), options: store::versions(1) };
    instance.get_row(&request, &mut store::Rows::default()).await.is_ok()
}

async fn load(instance: &Instance, step: Step, value: i64) -> bool {
    let loader = Loader::of_at_least(1);
    for half in [0..ROWS / 2, ROWS / 2..ROWS] {
        let rows: Vec<_> =
            half.map(|row| Ok(store::put("t", store::id(row), &[store::cell("v", store::int(value))]))).collect();
        if !find_out(instance).await {
            return false;
        }
        if let PutRows::Written(results) = instance.put_rows(&loader, rows, None).await {
            // It was not written as a load: some of it may be there. None of the steps leaves a row in memory.
            assert!(results.iter().any(Result::is_err), "{step:?}");
            return false;
        }
        if let Step::Beside(_) = step {
            let beside = store::put("t", store::id(5000 + value), &[]);
            if instance.write_row(&beside, None).await.is_err() {
                return false;
            }
        }
    }
    match step {
        Step::GiveUp => return true,
        Step::Into(_) if instance.write_row(&store::delete("t", store::id(3)), None).await.is_err() => return false,
        _ => {}
    }
    let stored = instance.store_rows(&loader).await.failed.is_empty();
    // Rows that lie in memory would keep the next load from being one.
    stored && instance.flush().await.is_ok()
}

/// Takes a step. Returns the possible contents after it, given the possible ones before.
async fn take(instance: &Instance, step: Step, known: &mut Vec<i64>) -> bool {
    let (ok, value) = match step {
        Step::Load(value) | Step::Beside(value) | Step::Into(value) => (load(instance, step, value).await, Some(value)),
        Step::GiveUp => (load(instance, step, -2).await, None),
        Step::Flush => (instance.flush().await.is_ok(), None),
        Step::Compact => (instance.compact().await.is_ok(), None),
    };
    if let Some(value) = value {
        if ok {
            known.clear();
        }
        known.push(value);
    }
    ok
}

/// R4.
#[test]
fn after_a_crash_at_any_change_of_the_storage_a_load_is_there_wholly_or_not_at_all() {
    let (env, memory) = (SimEnv::new(NOW), MemoryStorage::new());
    let images = Rc::new(CrashImages::new(&memory));
    let storage = Hooked::new(memory, Rc::clone(&images));
    let mut history = Vec::new();
    env.run(async {
        let instance = script::open(&env, storage).await.expect("opens");
        script::create(&instance).await.expect("created");
        let mut known = vec![0];
        history.push((images.count(), known.clone()));
        for step in steps() {
            env.advance(7);
            assert!(take(&instance, step, &mut known).await, "{step:?} failed");
            history.push((images.count(), known.clone()));
        }
    });
    for (number, image) in images.take().into_iter().enumerate() {
        let Some(done) = history.iter().rposition(|(images, _)| *images <= number + 1) else { continue };
        let later = &history.get(done + 1).unwrap_or(&history[done]).1;
        let env = SimEnv::new(NOW + 1_000_000);
        for _ in 0..2 {
            let state = env.run(async {
                let instance = script::open(&env, image.clone()).await.map_err(|error| error.to_string())?;
                state(&instance).await
            });
            let state = state.unwrap_or_else(|wrong| panic!("image {number}, after step {done}: {wrong}"));
            assert!(history[done].1.contains(&state) || later.contains(&state), "image {number}: {state}");
            env.run_until_idle();
            env.crash();
        }
        // Rows that were staged for missing loads are gone, now that the store was opened.
        let instance = env.run(async {
            let instance = script::open(&env, image.clone()).await.expect("opens");
            instance.flush().await.expect("flushed");
            instance
        });
        env.run_until_idle();
        let stored = segments_of(&env, &image);
        assert_eq!(stored, instance.metrics().segments, "image {number}");
    }
}

fn survive(fault: FailAt, name: &str) -> u64 {
    let (env, memory, fault) = (SimEnv::new(NOW), MemoryStorage::new(), Rc::new(fault));
    let mut known = vec![0];
    env.run(async {
        let healthy = script::open(&env, memory.clone()).await.expect("opens");
        script::create(&healthy).await.expect("created");
        let Ok(faulty) = script::open(&env, Hooked::new(memory.clone(), Rc::clone(&fault))).await else { return };
        for step in steps() {
            env.advance(7);
            if !take(&faulty, step, &mut known).await {
                break;
            }
        }
        if let Ok(state) = state(&faulty).await {
            assert!(known.contains(&state), "{name}, before reopening: {state}, not one of {known:?}");
        }
    });
    env.run_until_idle();
    env.crash();
    env.run(async {
        let instance = script::open(&env, memory.clone()).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let state = state(&instance).await.unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        assert!(known.contains(&state), "{name}: {state}, not one of {known:?}");
        instance.flush().await.expect("flushed");
        assert!(take(&instance, Step::Load(9), &mut known).await, "{name}: it goes on");
    });
    fault.calls()
}

/// R4.
#[test]
fn a_fault_at_any_call_leaves_a_load_wholly_or_not_at_all() {
    at_every_call(30, survive);
}

/// R4.
#[test]
fn a_full_disk_at_any_call_leaves_a_load_wholly_or_not_at_all() {
    with_a_full_disk_at_every_call(survive);
}

/// Two leaders met while the first one loaded the value 2 over rows with the value 1. `told` is the first one's answer.
/// `new` is the second one, with the value that it saw as soon as it led. A value that is not seen then is never seen.
fn check_leaders(told: &Result<()>, new: &(Rc<Instance>, i64), env: &SimEnv, memory: &MemoryStorage) {
    let (new, seen) = (&new.0, new.1);
    match told {
        Ok(()) => assert_eq!(seen, 2, "what was acknowledged is there"),
        Err(error) => assert_eq!((error.code(), seen), (Code::Fenced, 1), "{error}"),
    }
    env.run(async {
        assert_eq!(state(new).await, Ok(seen), "later");
        new.flush().await.expect("flushed");
        assert_eq!(state(new).await, Ok(seen), "later still");
    });
    env.crash();
    let last = env.run(async {
        let last = script::open(env, memory.clone()).await.expect("opens");
        assert_eq!(state(&last).await, Ok(seen), "after opening it again");
        last.flush().await.expect("flushed");
        last
    });
    env.run_until_idle();
    let stored = segments_of(env, memory);
    assert_eq!(stored, last.metrics().segments, "what was staged for nothing is gone");
}

/// Loads a value, in several segments. Returns the last answer.
async fn load_all(instance: &Instance, value: i64) -> Result<()> {
    let loader = Loader::of_at_least(1);
    for rows in [0..400, 400..800, 800..1200] {
        let rows: Vec<_> =
            rows.map(|row| Ok(store::put("t", store::id(row), &[store::cell("v", store::int(value))]))).collect();
        if let PutRows::Written(results) = instance.put_rows(&loader, rows, None).await {
            // Not even asked for: it is known already that somebody else leads.
            return Err(results.into_iter().find_map(Result::err).expect("nothing newer is in memory").error);
        }
    }
    let stored = instance.store_rows(&loader).await;
    stored.failed.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
}

/// Opens the instance once more, at one moment of one call.
struct TakeOver {
    env: SimEnv,
    memory: MemoryStorage,
    calls: Cell<u64>,
    at: u64,
    moment: Moment,
    new: RefCell<Option<(Rc<Instance>, i64)>>,
}

impl TakeOver {
    async fn perhaps(&self, moment: Moment) {
        if self.calls.get() == self.at && self.moment == moment && self.new.borrow().is_none() {
            let new = script::open(&self.env, self.memory.clone()).await.expect("opens");
            let seen = state(&new).await.expect("whole");
            *self.new.borrow_mut() = Some((new, seen));
        }
    }
}

impl Hook for TakeOver {
    async fn before(&self, _: &Call) -> Result<()> {
        self.perhaps(Moment::Before).await;
        Ok(())
    }

    async fn after(&self, _: &Call) -> Result<()> {
        self.perhaps(Moment::After).await;
        self.calls.set(self.calls.get() + 1);
        Ok(())
    }
}

/// R4.
#[test]
fn a_leader_that_is_replaced_at_any_call_of_a_load_makes_nothing_of_it_visible() {
    let mut outcomes = [0, 0];
    for at in 0.. {
        let mut met = false;
        for moment in [Moment::Before, Moment::After] {
            let (env, memory) = (SimEnv::new(NOW), MemoryStorage::new());
            let hook = Rc::new(TakeOver {
                env: env.clone(),
                memory: memory.clone(),
                calls: Cell::new(u64::MAX / 2),
                at,
                moment,
                new: RefCell::default(),
            });
            let told = env.run(async {
                let old = script::open(&env, Hooked::new(memory.clone(), Rc::clone(&hook))).await.expect("opens");
                script::create(&old).await.expect("created");
                load_all(&old, 1).await.expect("stored");
                env.yield_now().await;
                hook.calls.set(0);
                load_all(&old, 2).await
            });
            if let Some(new) = hook.new.borrow_mut().take() {
                met = true;
                outcomes[usize::from(told.is_ok())] += 1;
                check_leaders(&told, &new, &env, &memory);
            }
        }
        if !met {
            break;
        }
    }
    assert!(outcomes[0] > 4 && outcomes[1] > 0, "{outcomes:?}");
}

/// R4.
#[test]
fn a_leader_that_is_replaced_anywhere_in_a_load_makes_nothing_of_it_visible() {
    let mut outcomes = [0, 0];
    for seed in 0..300 {
        let (env, memory) = (SimEnv::shuffled(NOW, seed), MemoryStorage::new());
        let (told, new) = env.run(async {
            let old = script::open(&env, Hooked::new(memory.clone(), YieldOnce)).await.expect("opens");
            script::create(&old).await.expect("created");
            load_all(&old, 1).await.expect("stored");
            let take_over = async {
                for _ in 0..env.random() % 12 {
                    env.yield_now().await;
                }
                let new = script::open(&env, Hooked::new(memory.clone(), YieldOnce)).await.expect("opens");
                let seen = state(&new).await.expect("whole");
                (new, seen)
            };
            join(load_all(&old, 2), take_over).await
        });
        outcomes[usize::from(told.is_ok())] += 1;
        check_leaders(&told, &new, &env, &memory);
    }
    assert!(outcomes.iter().all(|seen| *seen > 20), "{outcomes:?}");
}
