//! A table with indexes, and one beside it: a crash after every single change of the storage, and a fault at every call of it.
//! Each index agrees with the table, and each transaction and each step over both tables is there wholly or not at all (R4, R7).

use crate::faults::at_every_call;
use crate::keyed::model::{Change, Id, Index, Op, Rows, Val};
use crate::keyed::world::{self, Found};
use crate::store::{self, NOW};
use crate::texts;
use futures_util::future::join_all;
use std::rc::Rc;
use tabstore::env::sim::SimEnv;
use tabstore::model::{KeyColumn, KeyType, KeyValue};
use tabstore::storage::faults::{CrashImages, FailAt, Hooked};
use tabstore::storage::{AnyStorage, MemoryStorage};
use tabstore::tablestore::{CreateTable, Instance, Scope};

const PARTITIONS: i64 = 3;

#[derive(Clone, Debug)]
enum Step {
    /// Rows are written at once, each for itself.
    Write(Vec<(Id, Change)>),
    /// Rows of a partition key are written in a transaction, which is committed or not.
    Transaction(i64, Vec<(Id, Change)>, bool),
    /// Rows of several partition keys, and a row of the other table with this number, are written in one step.
    Both(i64, Vec<(Id, Change)>),
    /// The third index is made over what the table holds, and built in the background.
    CreateIndex,
    DropIndex,
    Flush,
    Compact,
    /// Partitions of the table and of an index are split.
    Split(i64),
    /// The first partition of an index is merged with the next one.
    Merge,
}

/// The script: always the same.
fn steps() -> Vec<Step> {
    let text = |n: i64| Val::word(n.rem_euclid(3));
    let change = |n: i64| match n % 7 {
        0 => Change::Delete,
        1 => Change::Update(vec![("a", Op::Put(Val::word(10 + n % 5))), ("b", Op::Delete)]),
        2 => Change::Update(vec![("b", Op::Put(text(n))), ("c", Op::Add(1))]),
        3 => Change::Put(vec![("b", text(n)), ("x", Val::Int(n))]),
        4 => Change::Update(vec![("a", Op::Delete), ("x", Op::Put(text(n)))]),
        _ => Change::Put(vec![("a", Val::word(10 + n % 4)), ("b", text(n)), ("c", Val::Int(n))]),
    };
    let mut steps = Vec::new();
    let mut n = 0;
    let mut next = move || {
        n += 1;
        n * 11 % 97
    };
    for round in 0..30_i64 {
        let p = round % PARTITIONS;
        let rows = |next: &mut dyn FnMut() -> i64, of: &dyn Fn(i64) -> i64| {
            (0..4).map(|at| ((of(at), (round + at * 2) % 8), change(next()))).collect::<Vec<_>>()
        };
        match round % 3 {
            1 => steps.push(Step::Transaction(p, rows(&mut next, &|_| p), round % 9 != 4)),
            2 => steps.push(Step::Both(round, rows(&mut next, &|at| (round + at) % PARTITIONS))),
            _ => steps.push(Step::Write(rows(&mut next, &|at| (round + at) % PARTITIONS))),
        }
        match round {
            9 | 21 => steps.push(Step::CreateIndex),
            16 => steps.push(Step::DropIndex),
            _ if round % 5 == 4 => steps.push(Step::Split(round)),
            _ if round % 9 == 8 => steps.push(Step::Merge),
            _ if round % 7 == 3 => steps.push(Step::Flush),
            _ if round % 11 == 6 => steps.push(Step::Compact),
            _ => {}
        }
    }
    steps
}

/// Takes one step. Says whether all of it succeeded.
async fn take(instance: &Rc<Instance>, step: &Step) -> bool {
    match step {
        Step::Write(rows) => {
            let writes: Vec<_> = rows.iter().map(|(id, change)| world::write(*id, change)).collect();
            let done = join_all(writes.iter().map(|write| instance.write_row(write, None))).await;
            done.iter().all(Result::is_ok)
        }
        Step::Transaction(p, rows, commit) => {
            let key = world::partition(*p);
            let Ok(started) = instance.start_local_transaction(world::name("t"), &key) else { return false };
            for (row, change) in rows {
                let written = instance.write_row_in(Some(&started.id), &world::write(*row, change), None).await;
                if written.is_err() {
                    return false;
                }
            }
            if *commit {
                instance.commit_transaction(&started.id, None).await.is_ok()
            } else {
                instance.abort_transaction(&started.id).is_ok()
            }
        }
        Step::Both(number, rows) => {
            let of_t = rows.iter().map(|(id, change)| world::write(*id, change));
            let beside = store::put("steps", store::key(&[("n", store::int(*number))]), &[]);
            let writes: Vec<_> = of_t.chain([beside]).collect();
            let done = instance.write_atomic(&writes, Scope::Tables, None).await;
            done.is_ok_and(|rows| rows.iter().all(Result::is_ok))
        }
        Step::CreateIndex => {
            let [_, _, spec] = world::specs();
            instance.create_index("t", spec, true).await.is_ok()
        }
        Step::DropIndex => instance.drop_index("t", "by_b_id").await.is_ok(),
        Step::Flush => instance.flush().await.is_ok(),
        Step::Compact => instance.compact().await.is_ok(),
        Step::Split(round) => {
            let table = instance.split_partition("t", &KeyValue::String(texts::key(round % 3 + 1).into())).await;
            let index = instance.split_partition("by_a", &KeyValue::String(texts::word(round % 20).into())).await;
            table.is_ok() && index.is_ok()
        }
        Step::Merge => {
            let first = instance.partitions("by_a").expect("the index").remove(0);
            instance.merge_partition("by_a", first.id).await.is_ok()
        }
    }
}

/// The rows that a step writes, if it does.
fn written(step: &Step) -> &[(Id, Change)] {
    match step {
        Step::Write(rows) | Step::Transaction(_, rows, true) | Step::Both(_, rows) => rows,
        _ => &[],
    }
}

/// The table whose rows are the numbers of steps over both tables.
fn steps_table() -> CreateTable {
    CreateTable { name: "steps".into(), key: vec![KeyColumn::new("n", KeyType::Integer)], ..CreateTable::default() }
}

/// A store with both tables.
async fn open_new(env: &SimEnv, storage: impl Into<AnyStorage>) -> Rc<Instance> {
    let instance = world::open(env, storage).await.expect("opens");
    instance.create_table(world::table()).await.expect("created");
    instance.create_table(steps_table()).await.expect("created");
    instance
}

/// What a store has to hold.
#[derive(Clone, Default)]
struct Expected {
    rows: Rows,
    /// The numbers of the steps over both tables.
    steps: Vec<i64>,
}

impl Expected {
    /// After this step too.
    fn apply(&mut self, step: &Step) {
        for (id, change) in written(step) {
            self.rows.apply(*id, change, NOW);
        }
        if let Step::Both(number, _) = step {
            self.steps.push(*number);
        }
    }
}

/// The whole key of an index, and the columns that it carries besides.
type Columns = (&'static [&'static str], &'static [&'static str]);

/// Says what is wrong with a store that was left between `before` and the end of `step`, if anything is.
async fn check(
    instance: &Rc<Instance>,
    before: &Expected,
    after: &Expected,
    step: Option<&Step>,
) -> Result<(), String> {
    let scan = async |table: &str| {
        let found = world::scan(instance, table, None, 7).await;
        found.map_err(|failure| format!("{table} cannot be read: {}", failure.error))
    };
    let rows = scan("t").await?;
    let row = |id: Id| rows.iter().find(|(key, _)| *key == Val::of(id)).map(|row| row.1.clone());
    let is = |id: Id, of: &Expected| row(id) == of.rows.get(id, NOW, -1);
    let under_way: Vec<Id> = step.map_or(&[][..], written).iter().map(|(id, _)| *id).collect();
    for id in (0..PARTITIONS).flat_map(|p| (0..8).map(move |id| (p, id))) {
        let allowed = is(id, before) || (under_way.contains(&id) && is(id, after));
        if !allowed {
            return Err(format!("row {id:?} is {:?}", row(id)));
        }
    }
    let steps: Vec<Vec<Val>> = scan("steps").await?.into_iter().map(|(key, _)| key).collect();
    let is_at = |of: &Expected| {
        let all = of.steps.iter().map(|number| vec![Val::Int(*number)]);
        steps.iter().cloned().eq(all) && under_way.iter().all(|id| is(*id, of))
    };
    if !matches!(step, Some(Step::Write(_))) && !is_at(before) && !is_at(after) {
        return Err(format!("a transaction or a step is there in part: {rows:?}, steps {steps:?}"));
    }
    let indexes = instance.describe_table("t").expect("there").indexes;
    for described in indexes {
        // The columns of the table's key stand behind those that were given.
        let (key, columns): Columns = match described.name.as_str() {
            "by_a" => (&["a", "p", "id"], &["b"]),
            "by_p_b" => (&["p", "b", "id"], &["a", "c"]),
            _ => (&["b", "id", "p"], &[]),
        };
        if described.building {
            return Err(format!("{} is not built", described.name));
        }
        let read: Vec<Found> = scan(&described.name).await?;
        let expected = Index { name: "", key, columns, time_to_live: -1 }.derive(rows.clone());
        if read != expected {
            return Err(format!("{} is {read:?}, not {expected:?}", described.name));
        }
    }
    Ok(())
}

#[test]
fn r4_r7_after_a_crash_at_any_change_of_the_storage_indexes_are_what_the_table_says() {
    let (env, memory) = (SimEnv::new(NOW), MemoryStorage::new());
    let images = Rc::new(CrashImages::new(&memory));
    let storage = Hooked::new(memory, Rc::clone(&images));
    let steps = steps();
    // After each step: the number of images, and the rows.
    let mut history = Vec::new();
    let instance = env.run(open_new(&env, storage));
    let mut expected = Expected::default();
    history.push((images.count(), expected.clone()));
    for step in &steps {
        env.advance(7);
        assert!(env.run(take(&instance, step)), "{step:?} failed");
        expected.apply(step);
        history.push((images.count(), expected.clone()));
    }
    env.run_until_idle();
    let images = images.take();
    assert!(images.len() > 60, "only {} crash points", images.len());

    let mut building = 0;
    for (number, image) in images.into_iter().enumerate() {
        // Acknowledged when at most this image was taken: it must be in it.
        let Some(done) = history.iter().rposition(|(images, _)| *images <= number + 1) else { continue };
        let (before, after) = (&history[done].1, &history.get(done + 1).unwrap_or(&history[done]).1);
        let step = steps.get(done);
        let env = SimEnv::new(NOW + 1_000_000);
        for again in [false, true] {
            let instance = env.run(world::open(&env, image.clone())).expect("opens");
            let indexes = instance.describe_table("t").expect("there").indexes;
            building += u32::from(indexes.iter().any(|index| index.building));
            // Builds go on by themselves.
            env.run_until_idle();
            let outcome = env.run(check(&instance, before, after, step));
            assert_eq!(outcome, Ok(()), "image {number}, after step {done}, before {step:?}, again: {again}");
            if !again {
                env.run(instance.flush()).expect("flushed");
                env.run(instance.compact()).expect("compacted");
                let outcome = env.run(check(&instance, before, after, step));
                assert_eq!(outcome, Ok(()), "image {number}, after step {done}, compacted");
            }
            env.crash();
        }
    }
    assert!(building > 3, "{building} crashes while an index was built");
}

/// Runs the script on a storage with this fault, up to the first step that fails. The data is then consistent, and also
/// after opening again. Returns how many calls the storage saw.
fn survive(fault: FailAt, name: &str) -> u64 {
    let (env, memory, fault) = (SimEnv::new(NOW), MemoryStorage::new(), Rc::new(fault));
    drop(env.run(open_new(&env, memory.clone())));
    env.crash();
    let (mut before, mut step) = (Expected::default(), None);
    let mut after = before.clone();
    if let Ok(instance) = env.run(world::open(&env, Hooked::new(memory.clone(), Rc::clone(&fault)))) {
        for next in &steps() {
            env.advance(7);
            let done = env.run(take(&instance, next));
            after.apply(next);
            if !done {
                step = Some(next.clone());
                break;
            }
            before = after.clone();
        }
        env.run_until_idle();
        // Readable rows are never wrong, and reads of the others fail.
        if let Err(wrong) = env.run(check(&instance, &before, &after, step.as_ref())) {
            let honest = wrong.contains("cannot be read") || wrong.ends_with("is not built");
            assert!(honest, "{name}, at {step:?}, before opening again: {wrong}");
        }
    }
    env.crash();
    let instance = env.run(world::open(&env, memory)).unwrap_or_else(|error| panic!("{name}: {error}"));
    env.run_until_idle();
    let outcome = env.run(check(&instance, &before, &after, step.as_ref()));
    assert_eq!(outcome, Ok(()), "{name}, at {step:?}, opened again");
    fault.calls()
}

/// R4, R7: a storage call that fails once, or all from there on, before or after it took effect.
#[test]
fn r4_r7_after_a_failing_call_anywhere_indexes_are_what_the_table_says() {
    at_every_call(60, survive);
}
