//! Changes of tables and access keys that are asked for again, because the engine that got them has ended: each takes effect
//! once, and gets one answer (R5). `asked_again` has the writes of rows.

use crate::client::{CLIENT, asked, keep, open};
use crate::store::*;
use futures_util::future::{join, join_all};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::pin::pin;
use std::rc::Rc;

use tabstore::Result;
use tabstore::engine::Origin;
use tabstore::env::sim::SimEnv;
use tabstore::error::Code;
use tabstore::model::{DefinedColumn, IndexKind, KeyColumn, KeyType, ValueType};
use tabstore::session::Sessions;
use tabstore::storage::MemoryStorage;
use tabstore::storage::faults::{CrashImages, YieldOnce};
use tabstore::tablestore::{
    AccessKey, Changed, CreateTable, IndexSpec, Instance, OptionsChange, Right, Rights, TableDescription, UpdateTable,
};

/// A change that a client asks for.
#[derive(Clone, Debug, PartialEq)]
enum Change {
    Create(&'static str),
    /// With an index of this name.
    CreateIndexed(&'static str, &'static str),
    Delete(&'static str),
    /// The time to live, and reserved units.
    Update(&'static str, Option<i64>, Option<i64>),
    CreateIndex(&'static str, &'static str),
    DropIndex(&'static str, &'static str),
    Define(&'static str, &'static str),
    Undefine(&'static str, &'static str),
    CreateKey,
    /// The key that the change at this place of a script has made.
    DisableKey(usize),
    DeleteKey(usize),
}

impl Change {
    fn needs_key(&self) -> Option<usize> {
        match self {
            Self::DisableKey(at) | Self::DeleteKey(at) => Some(*at),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Answer {
    Done,
    Table(Box<TableDescription>),
    Key(AccessKey),
}

fn column(name: &str) -> DefinedColumn {
    DefinedColumn { name: name.into(), column_type: ValueType::Integer }
}

fn by_n(name: &str) -> IndexSpec {
    let (name, key) = (name.into(), vec!["n".into()]);
    IndexSpec { name, kind: IndexKind::Global, key, columns: vec![], time_to_live: None }
}

fn table(name: &str, index: Option<&str>) -> CreateTable {
    CreateTable {
        name: name.into(),
        key: vec![KeyColumn::new("id", KeyType::Integer)],
        options: OptionsChange { allow_update: Some(false), ..OptionsChange::default() },
        defined: vec![column("n")],
        indexes: index.map(by_n).into_iter().collect(),
        ..CreateTable::default()
    }
}

async fn make(instance: &Instance, change: &Change, key: &str) -> Result<Answer> {
    match *change {
        Change::Create(name) => instance.create_table(table(name, None)).await?,
        Change::CreateIndexed(name, index) => instance.create_table(table(name, Some(index))).await?,
        Change::Delete(name) => instance.delete_table(name).await?,
        Change::Update(name, time_to_live, reserved_read) => {
            let options = OptionsChange { time_to_live, ..OptionsChange::default() };
            let request = UpdateTable { name: name.into(), options, reserved_read, ..UpdateTable::default() };
            return Ok(Answer::Table(Box::new(instance.update_table(request).await?)));
        }
        Change::CreateIndex(name, index) => instance.create_index(name, by_n(index), true).await?,
        Change::DropIndex(name, index) => instance.drop_index(name, index).await?,
        Change::Define(name, defined) => instance.add_defined_column(name, vec![column(defined)]).await?,
        Change::Undefine(name, defined) => instance.delete_defined_column(name, &[defined.to_owned()]).await?,
        Change::CreateKey => {
            return Ok(Answer::Key(instance.access_keys().create(Rights::of(&[Right::Read, Right::Admin])).await?));
        }
        Change::DisableKey(_) => return Ok(Answer::Key(instance.access_keys().update(key, Some(false), None).await?)),
        Change::DeleteKey(_) => instance.access_keys().delete(key).await?,
    }
    Ok(Answer::Done)
}

/// As the door to JavaScript does it.
async fn ask(instance: &Instance, origin: Option<Origin>, change: &Change, key: &str) -> Result<Answer> {
    let Some(known) = instance.clients().changed_before(origin)? else {
        return instance.clients().asked_by(origin, make(instance, change, key)).await;
    };
    Ok(match (change, known) {
        (Change::Update(..), Changed::Table(table)) => Answer::Table(table),
        (Change::CreateKey | Change::DisableKey(_), Changed::AccessKey(key)) => Answer::Key(key),
        (Change::Update(..) | Change::CreateKey | Change::DisableKey(_), other) => panic!("{change:?}: {other:?}"),
        _ => Answer::Done,
    })
}

fn was_done(instance: &Instance, origin: Option<Origin>) -> bool {
    instance.clients().changed_before(origin).expect("whole").is_some()
}

fn world() -> Store {
    let store = Store::new();
    keep(&store);
    store
}

/// Everything in memory is lost, and the client asks the next engine.
fn crash(store: &mut Store) {
    store.env.run_until_idle();
    store.reopen();
    keep(store);
}

fn change(store: &Store, request: u64, change: &Change) -> Result<Answer> {
    store.env.run(ask(&store.instance, asked(request), change, ""))
}

/// Every kind of change. A later one needs the earlier ones.
fn script() -> Vec<Change> {
    vec![
        Change::Create("a"),
        Change::CreateIndexed("b", "b1"),
        Change::Update("a", Some(86_400), None),
        Change::Update("b", None, Some(5)),
        Change::CreateIndex("b", "b2"),
        Change::Update("b2", Some(86_400), None),
        // The index is built anew, in another tree.
        Change::Update("b2", Some(-1), None),
        Change::Define("a", "m"),
        Change::Undefine("a", "n"),
        Change::CreateKey,
        Change::CreateKey,
        Change::DisableKey(9),
        Change::DeleteKey(10),
        Change::DropIndex("b", "b1"),
        Change::Delete("b"),
        Change::Create("b"),
        Change::Delete("a"),
    ]
}

/// What a reader of the catalog sees.
fn seen(instance: &Instance) -> (Vec<TableDescription>, Vec<AccessKey>) {
    let tables = instance.list_table();
    (tables.iter().map(|name| instance.describe_table(name).expect("listed")).collect(), instance.access_keys().all())
}

/// The key that a change is about.
fn key_of(change: &Change, answers: &[Answer]) -> String {
    match change.needs_key().map(|at| &answers[at]) {
        Some(Answer::Key(key)) => key.id.clone(),
        _ => String::new(),
    }
}

/// R5: each change, with an engine that ends right behind it, once or twice, before and after a flush.
#[test]
fn r5_a_change_that_is_asked_again_is_done_once_and_keeps_its_answer() {
    for flushes in [false, true] {
        let mut store = world();
        let mut answers: Vec<Answer> = Vec::new();
        for (at, change) in script().iter().enumerate() {
            let (request, key) = (at as u64 + 1, key_of(change, &answers));
            let ask = |store: &Store| store.env.run(ask(&store.instance, asked(request), change, &key));
            let first = ask(&store).unwrap_or_else(|error| panic!("{change:?}: {error}"));
            if flushes {
                store.env.run(store.instance.flush()).expect("flushed");
            }
            for _ in 0..2 {
                crash(&mut store);
                let before = seen(&store.instance);
                assert_eq!(ask(&store).as_ref(), Ok(&first), "{change:?}");
                assert_eq!(seen(&store.instance), before, "{change:?} was done again");
            }
            answers.push(first);
        }
        assert_eq!(store.instance.list_table(), ["b"]);
        assert_eq!(store.instance.access_keys().all().len(), 1);
    }
}

/// R5: what another client has changed since stays, and the answer is that of the first time.
#[test]
fn r5_a_change_that_is_asked_again_takes_nothing_back() {
    let mut store = world();
    let create = change(&store, 1, &Change::Create("a")).expect("created");
    let short = change(&store, 2, &Change::Update("a", Some(86_400), Some(3))).expect("updated");
    let Ok(Answer::Key(key)) = change(&store, 3, &Change::CreateKey) else { panic!("no key") };
    change(&store, 4, &Change::Create("gone")).expect("created");
    let Ok(Answer::Table(gone)) = change(&store, 5, &Change::Update("gone", Some(99_999), None)) else {
        panic!("not updated")
    };
    let other = OptionsChange { time_to_live: Some(200_000), ..OptionsChange::default() };
    store.set_options("a", other);
    store.env.run(store.instance.access_keys().delete(&key.id)).expect("deleted");
    store.env.run(store.instance.delete_table("gone")).expect("deleted");
    crash(&mut store);
    let before = seen(&store.instance);
    assert_eq!(change(&store, 1, &Change::Create("a")), Ok(create));
    assert_eq!(change(&store, 2, &Change::Update("a", Some(86_400), Some(3))), Ok(short));
    assert_eq!(change(&store, 3, &Change::CreateKey), Ok(Answer::Key(key)));
    change(&store, 4, &Change::Create("gone")).expect("it was created");
    assert_eq!(change(&store, 5, &Change::Update("gone", Some(99_999), None)), Ok(Answer::Table(gone)));
    assert_eq!(seen(&store.instance), before);
    assert_eq!(store.instance.list_table(), ["a"]);
}

/// A refused change has changed nothing, so it is decided anew.
#[test]
fn r5_a_refused_change_that_is_asked_again_is_decided_anew() {
    let mut store = world();
    let missing = change(&store, 1, &Change::Delete("a")).expect_err("there is none");
    assert_eq!(missing.code(), Code::ObjectNotExist);
    store.env.run(store.instance.create_table(table("a", None))).expect("created");
    crash(&mut store);
    change(&store, 1, &Change::Delete("a")).expect("deleted");
    assert!(store.instance.list_table().is_empty());
}

/// R5: a client's changes keep their order. One that was refused before a later one was done is refused again.
#[test]
fn r5_a_change_that_was_refused_before_a_later_one_stays_refused() {
    let mut store = world();
    store.env.run(store.instance.create_table(table("a", None))).expect("created");
    let taken = change(&store, 1, &Change::Create("a")).expect_err("it is there");
    assert_eq!(taken.code(), Code::ObjectAlreadyExist);
    change(&store, 2, &Change::Delete("a")).expect("deleted");
    for _ in 0..2 {
        crash(&mut store);
        assert_eq!(change(&store, 1, &Change::Create("a")), Err(taken.clone()));
        change(&store, 2, &Change::Delete("a")).expect("it was deleted");
        assert!(store.instance.list_table().is_empty(), "the deletion came last");
    }
    store.instance.clients().acknowledge(CLIENT, 3);
    change(&store, 3, &Change::Create("a")).expect("a change of its own");
}

/// Answers are kept until the client has them. Nothing is stored for clients in the engine's own tab, which end with it.
#[test]
fn r5_answers_to_changes_are_kept_until_the_client_has_them_and_as_long_as_it_lives() {
    let mut store = world();
    change(&store, 1, &Change::Create("a")).expect("created");
    change(&store, 2, &Change::Create("b")).expect("created");
    store.instance.clients().acknowledge(CLIENT, 2);
    // Its place is used again.
    change(&store, 3, &Change::Create("c")).expect("created");
    crash(&mut store);
    assert_eq!([1, 2, 3].map(|request| was_done(&store.instance, asked(request))), [false, true, true]);
    store.env.run(store.instance.clients().forget_answers(Some(CLIENT), vec![])).expect("forgotten");
    crash(&mut store);
    assert!(!was_done(&store.instance, asked(3)));
    for stores in [false, true] {
        store.reopen();
        store.env.run(store.instance.clients().keep_answers(8, 8, stores)).expect("kept");
        let origin = Some(Origin { client: 8, request: 1 });
        store.env.run(ask(&store.instance, origin, &Change::Delete("a"), "")).expect("deleted");
        store.reopen();
        store.env.run(store.instance.clients().keep_answers(8, 8, false)).expect("kept");
        assert_eq!(was_done(&store.instance, origin), stores);
        store.env.run(store.instance.create_table(table("a", None))).expect("created");
    }
}

/// Changes of several clients at once: each has its own answer, and nobody else's.
#[test]
fn r5_changes_of_clients_at_once_have_their_own_answers() {
    let mut store = world();
    let keep_other = |store: &Store| store.env.run(store.instance.clients().keep_answers(8, 8, true)).expect("kept");
    keep_other(&store);
    for name in ["a", "b"] {
        store.env.run(store.instance.create_table(table(name, None))).expect("created");
    }
    let update = |name, request, client: Option<u64>, life| {
        let instance = Rc::clone(&store.instance);
        let origin = client.map(|client| Origin { client, request });
        async move { ask(&instance, origin, &Change::Update(name, Some(life), None), "").await.expect("updated") }
    };
    let both = join(update("a", 1, Some(CLIENT), 90_000), update("b", 1, Some(8), 91_000));
    let own = join(update("a", 0, None, 92_000), update("b", 2, Some(8), 93_000));
    let (((a, b), (_, second)), ()) = store.env.run(join(join(both, own), async {
        store.instance.create_table(table("c", None)).await.expect("created");
    }));
    crash(&mut store);
    keep_other(&store);
    let again = |client, request| match store
        .instance
        .clients()
        .changed_before(Some(Origin { client, request }))
        .expect("whole")
    {
        Some(Changed::Table(table)) => Some(Answer::Table(table)),
        _ => None,
    };
    assert_eq!([again(CLIENT, 1), again(8, 1), again(8, 2)], [Some(a), Some(b), Some(second)]);
}

/// A session ends after its changes: the next one of the client must know of them.
#[test]
fn r5_a_session_is_done_when_its_changes_are() {
    let store = Store::new();
    let sessions = Sessions::new(Rc::clone(&store.instance), Rc::new(store.env.clone()));
    let session = sessions.open(CLIENT, |_| {}).expect("opened");
    let (first, second) = (session.other_call(), session.other_call());
    assert_eq!(first.origin(3), Origin { client: CLIENT, request: 3 });
    let mut closed = pin!(session.close());
    store.env.run_until_idle();
    assert!(poll(closed.as_mut()).is_none());
    drop(first);
    assert!(poll(closed.as_mut()).is_none());
    assert!(sessions.open(CLIENT, |_| {}).is_err(), "one session a client");
    drop(second);
    assert_eq!(poll(closed.as_mut()), Some(()));
    drop(sessions.open(CLIENT, |_| {}).expect("opened"));
}

/// R5: a crash at any change of the storage. Whatever of its answers the client has got, it asks the rest again. Then all is
/// as if nothing had happened.
#[test]
fn r5_after_a_crash_at_any_change_of_the_storage_changes_that_are_asked_again_are_done_once() {
    let (env, memory) = (SimEnv::new(NOW), MemoryStorage::new());
    drop(env.run(open(&env, &memory, YieldOnce)));
    env.run_until_idle();
    env.crash();
    let images = Rc::new(CrashImages::new(&memory));
    let script = script();
    // The number of images before each step; what everybody sees behind it, and its answer.
    let (mut steps, mut states, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    let instance = env.run(open(&env, &memory, Rc::clone(&images)));
    for (at, change) in script.iter().enumerate() {
        steps.push(images.count());
        let key = key_of(change, &answers);
        answers.push(env.run(ask(&instance, asked(at as u64 + 1), change, &key)).expect("done"));
        states.push(instance.list_table());
        if at % 4 == 1 {
            env.run(instance.flush()).expect("flushed");
        }
    }
    env.run_until_idle();
    let images = images.take();
    assert!(images.len() > script.len(), "{}", images.len());
    let mut known = 0;
    for (number, image) in images.into_iter().enumerate() {
        let begun = steps.iter().filter(|images| **images <= number + 1).count();
        for acknowledged in 0..begun {
            // A key that nobody was told of is not changed.
            if script[acknowledged..begun].iter().any(|change| change.needs_key().is_some_and(|at| at >= acknowledged))
            {
                continue;
            }
            let (env, memory) = (SimEnv::new(NOW), image.image());
            env.run(async {
                let instance = open(&env, &memory, YieldOnce).await;
                instance.clients().acknowledge(CLIENT, acknowledged as u64 + 1);
                let rest = script.iter().enumerate().take(begun).skip(acknowledged);
                let again = join_all(rest.map(async |(at, change)| {
                    let (origin, key) = (asked(at as u64 + 1), key_of(change, &answers));
                    let was_done = was_done(&instance, origin);
                    let answer = ask(&instance, origin, change, &key).await;
                    let answer = answer.unwrap_or_else(|error| panic!("image {number}, {change:?}: {error}"));
                    let same = match (&answer, &answers[at]) {
                        // Its indexes are those of now.
                        (Answer::Table(now), Answer::Table(then)) => {
                            now.options == then.options && now.name == then.name
                        }
                        (now, then) => now == then || !was_done && *change == Change::CreateKey,
                    };
                    assert!(same, "image {number}, {change:?}: {answer:?}, not {:?}", answers[at]);
                    usize::from(was_done)
                }));
                known += again.await.iter().sum::<usize>();
                assert_eq!(instance.list_table(), states[begun - 1], "image {number}, acknowledged {acknowledged}");
                let keys = script[..begun].iter().map(|change| match change {
                    Change::CreateKey => 1,
                    Change::DeleteKey(_) => -1,
                    _ => 0,
                });
                assert_eq!(instance.access_keys().all().len() as i32, keys.sum::<i32>(), "image {number}");
            });
            env.run_until_idle();
        }
    }
    assert!(known > 100, "{known}");
}

/// R5: engines die at any point while clients create and delete. Each client asks the next engine again, which may die too.
#[test]
fn r5_random_changes_asked_again_after_crashes_are_done_once() {
    const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
    let (mut known, mut lost) = (0, 0);
    for seed in 0..40 {
        let env = SimEnv::shuffled(NOW, seed);
        let below = |most: u64| env.random() % most;
        let mut memory = MemoryStorage::new();
        let (mut tables, mut keys, mut request) = (BTreeSet::new(), 0, 0);
        // The client's calls without an answer, in order.
        let mut flying: Vec<(u64, Change)> = Vec::new();
        for life in 0..10 {
            let images = Rc::new(CrashImages::new(&memory));
            let instance = env.run(open(&env, &memory, Rc::clone(&images)));
            if below(2) == 0 {
                instance.clients().acknowledge(CLIENT, flying.first().map_or(request + 1, |(least, _)| *least));
            }
            for (request, _) in &flying {
                if was_done(&instance, asked(*request)) { known += 1 } else { lost += 1 }
            }
            let answered: RefCell<Vec<(u64, usize)>> = RefCell::default();
            for round in 0..=below(4) {
                let mut asks = if round == 0 { flying.clone() } else { Vec::new() };
                for _ in 0..below(4) {
                    let name = NAMES[below(5) as usize];
                    let change = match below(5) {
                        0 => Change::CreateKey,
                        1 if tables.contains(name) => Change::Update(name, Some(86_400 + below(1000) as i64), None),
                        _ if tables.contains(name) => Change::Delete(name),
                        _ => Change::Create(name),
                    };
                    match &change {
                        Change::CreateKey => keys += 1,
                        Change::Delete(_) => drop(tables.remove(name)),
                        Change::Create(_) => drop(tables.insert(name)),
                        _ => {}
                    }
                    request += 1;
                    asks.push((request, change));
                }
                flying.retain(|(request, _)| !asks.iter().any(|(other, _)| other == request));
                flying.extend(asks.iter().cloned());
                env.run(join_all(asks.iter().map(async |(request, change)| {
                    let answer = ask(&instance, asked(*request), change, "").await;
                    answer.unwrap_or_else(|error| panic!("seed {seed}, life {life}, {change:?}: {error}"));
                    answered.borrow_mut().push((*request, images.count()));
                })));
                if below(4) == 0 {
                    env.run(instance.flush()).expect("flushed");
                }
            }
            if life == 9 {
                assert_eq!(instance.list_table(), tables.iter().copied().collect::<Vec<_>>(), "seed {seed}");
                assert_eq!(instance.access_keys().all().len(), keys, "seed {seed}");
                break;
            }
            // It dies at some change of the storage. The client has got some of the answers that had come by then.
            let images = images.take();
            let at = below(images.len() as u64) as usize;
            for (request, count) in answered.take() {
                if count <= at + 1 && below(3) > 0 {
                    flying.retain(|(other, _)| *other != request);
                }
            }
            drop(instance);
            env.crash();
            memory = images[at].image();
        }
    }
    assert!(known > 200 && lost > 200, "{known} {lost}");
}
