//! Rows of loads that are asked for again, because the engine that took them has ended: each is stored once, and gets one
//! answer (R4, R5). `asked_again` has all other writes.

use crate::store::*;
use futures_util::future::{join_all, select};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use tabstore::engine::{ClockMode, Direction, Engine, Options, Origin, Shape};
use tabstore::env::Env;
use tabstore::env::sim::SimEnv;
use tabstore::model::{Consumed, KeyColumn, KeyInput, KeyType, KeyValue, TableName, Value, ValueRef};
use tabstore::storage::faults::{CrashImages, Hook, Hooked, YieldOnce};
use tabstore::storage::{MemoryStorage, Storage};
use tabstore::tablestore::{
    CreateTable, Existence, Instance, InstanceOptions, Loader, OptionsChange, PutRows, RowWrite,
};

const CLIENT: u64 = 7;

fn asked(request: u64) -> Option<Origin> {
    Some(Origin { client: CLIENT, request })
}

fn world() -> Store {
    let store = Store::with_table(OptionsChange::default());
    keep(&store);
    store
}

fn keep(store: &Store) {
    store.env.run(store.instance.keep_answers(CLIENT, CLIENT, true)).expect("kept");
}

/// Everything in memory is lost, and the client asks the next engine.
fn crash(store: &mut Store) {
    store.reopen();
    keep(store);
}

fn loader() -> Loader<MemoryStorage> {
    Loader::of_at_least(1)
}

fn row(number: i64, value: i64) -> RowWrite<'static> {
    put("t", id(number), &[cell("n", int(value))])
}

fn put_all(store: &Store, loader: &Loader<MemoryStorage>, request: u64, rows: Vec<RowWrite<'_>>) -> PutRows {
    let rows = rows.into_iter().map(Ok).collect();
    store.env.run(store.instance.put_rows(loader, rows, asked(request)))
}

/// Rows that a load has to take.
fn take(store: &Store, loader: &Loader<MemoryStorage>, request: u64, rows: Range<i64>, value: i64) {
    let put = put_all(store, loader, request, rows.map(|number| row(number, value)).collect());
    assert!(matches!(&put, PutRows::Taken { refused, .. } if refused.is_empty()), "{put:?}");
}

/// Rows that were stored: their costs.
fn recall(store: &Store, request: u64, rows: Vec<RowWrite<'_>>) -> Vec<Result<Consumed, String>> {
    match put_all(store, &loader(), request, rows) {
        PutRows::Written(rows) => {
            rows.into_iter().map(|row| row.map(|row| row.consumed).map_err(|refused| refused.to_string())).collect()
        }
        taken => panic!("{taken:?}"),
    }
}

fn store_all(store: &Store, loader: &Loader<MemoryStorage>) -> Consumed {
    let stored = store.env.run(store.instance.store_rows(loader));
    assert!(stored.failed.is_empty(), "{stored:?}");
    stored.consumed
}

fn number(store: &Store, row: i64) -> Option<i64> {
    store.all(id(row)).map(|cells| match cells[..] {
        [(_, _, Value::Integer(value))] => value,
        ref other => panic!("{other:?}"),
    })
}

const ONE: Consumed = Consumed { read: 0, write: 1 };

/// R5: rows that were stored are not stored again, whoever asked for that: their client, or a write among them.
#[test]
fn r5_rows_of_a_stored_load_are_not_stored_again() {
    for asks in [true, false] {
        for flushes in [false, true] {
            let mut store = world();
            let first = loader();
            take(&store, &first, 1, 0..30, 1);
            take(&store, &first, 2, 30..60, 1);
            if asks {
                assert_eq!(store_all(&store, &first).write, 60);
            }
            store.put(id(5), &[cell("n", int(9))]);
            if flushes {
                store.env.run(store.instance.flush()).expect("flushed");
                store.compact();
            }
            crash(&mut store);
            let again = |range: Range<i64>| range.map(|number| row(number, 1)).collect::<Vec<_>>();
            assert_eq!(recall(&store, 1, again(0..30)), vec![Ok(ONE); 30]);
            assert_eq!(recall(&store, 2, again(30..60)), vec![Ok(ONE); 30]);
            assert_eq!((number(&store, 5), number(&store, 6)), (Some(9), Some(1)), "asks: {asks}");
            assert_eq!(store.ids().len(), 60);
        }
    }
}

/// R5: a write that was refused stays refused, though a load of its client has made its condition true since: if the load is
/// stored, by its answers, and else by those of a write.
#[test]
fn r5_a_write_that_was_refused_before_a_load_stays_refused() {
    let early = || expecting(Existence::ExpectExist, put("t", id(5), &[cell("n", int(9))]));
    let ask = |store: &Store, request| store.env.run(store.instance.write_row(&early(), asked(request)));
    for stored in [true, false] {
        let mut store = world();
        ask(&store, 1).expect_err("there is no such row");
        let first = loader();
        take(&store, &first, 2, 0..30, 1);
        if stored {
            assert_eq!(store_all(&store, &first).write, 30);
        } else {
            let elsewhere = put("t", id(1000), &[cell("n", int(1))]);
            store.env.run(store.instance.write_row(&elsewhere, asked(3))).expect("written");
        }
        for _ in 0..2 {
            crash(&mut store);
            if !stored {
                store.put(id(5), &[cell("n", int(1))]);
            }
            ask(&store, 1).expect_err("it was refused");
            store.compact();
        }
        assert_eq!(number(&store, 5), Some(1));
        store.instance.acknowledge(CLIENT, 4);
        ask(&store, 4).expect("a write of its own");
    }
}

/// R4, R5: rows that were taken and not stored are gone with their engine. They are taken again, and stored.
#[test]
fn r5_rows_of_a_lost_load_are_stored_when_they_are_asked_again() {
    let mut store = world();
    let first = loader();
    take(&store, &first, 1, 0..30, 1);
    assert_eq!(store_all(&store, &first).write, 30);
    let second = loader();
    take(&store, &second, 2, 30..60, 1);
    crash(&mut store);
    drop((first, second));
    assert_eq!(recall(&store, 1, (0..30).map(|number| row(number, 1)).collect()), vec![Ok(ONE); 30]);
    let again = loader();
    take(&store, &again, 2, 30..60, 1);
    assert_eq!(store.ids().len(), 30);
    assert_eq!(store_all(&store, &again).write, 30);
    assert_eq!(store.ids().len(), 60);
    // Now both are known.
    crash(&mut store);
    assert_eq!(recall(&store, 2, (30..60).map(|number| row(number, 1)).collect()), vec![Ok(ONE); 30]);
}

/// C1, R5: each row has its own cost again. A refused row has changed nothing, so it is decided anew.
#[test]
fn r5_rows_of_a_load_keep_their_costs_and_refused_ones_are_decided_anew() {
    let mut store = world();
    let large = vec![b'x'; 9000];
    let rows = || {
        let late = put("t", id(3), &[cell_at("n", NOW + 86_400_000, int(1))]);
        let cells = [cell("n", ValueRef::Binary(&large))];
        vec![row(1, 1), put("t", id(2), &cells), late, row(4, 1)]
    };
    let first = loader();
    let PutRows::Taken { refused, .. } = put_all(&store, &first, 1, rows()) else { panic!("it was not loaded") };
    assert_eq!(refused.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [2]);
    assert_eq!(store_all(&store, &first).write, 5);
    crash(&mut store);
    let costs = recall(&store, 1, rows());
    let three = Consumed { read: 0, write: 3 };
    assert!(matches!(&costs[..], [Ok(ONE), Ok(large), Err(_), Ok(ONE)] if *large == three), "{costs:?}");
    // The window has moved: now the row is stored, and that is known too.
    store.env.advance(1000);
    assert_eq!(recall(&store, 1, rows())[2], Ok(ONE));
    store.put(id(3), &[cell("n", int(9))]);
    crash(&mut store);
    assert_eq!(recall(&store, 1, rows()), [Ok(ONE), Ok(three), Ok(ONE), Ok(ONE)]);
    assert_eq!(number(&store, 3), Some(9));
}

/// A row that was stored keeps its answer, even if nobody could put it now.
#[test]
fn r5_rows_of_a_load_are_known_although_they_would_be_refused_now() {
    let mut store = world();
    let rows = || vec![put("t", id(1), &[cell_at("n", NOW, int(1))]), row(2, 1)];
    let first = loader();
    assert!(matches!(put_all(&store, &first, 1, rows()), PutRows::Taken { .. }));
    store_all(&store, &first);
    store.env.advance(3 * 86_400_000);
    crash(&mut store);
    assert_eq!(recall(&store, 1, rows()), [Ok(ONE), Ok(ONE)]);
    store.env.run(store.instance.delete_table("t")).expect("deleted");
    assert_eq!(recall(&store, 1, rows()), [Ok(ONE), Ok(ONE)]);
}

/// Answers to loaded rows are kept until the client has them. A later load deletes them.
#[test]
fn r5_answers_to_loaded_rows_are_kept_until_the_client_has_them() {
    let mut store = world();
    for round in 1..=20 {
        let one = loader();
        take(&store, &one, round, 0..30, round as i64);
        store_all(&store, &one);
        store.instance.acknowledge(CLIENT, round);
    }
    crash(&mut store);
    let rows = || (0..30).map(|number| row(number, 1)).collect();
    recall(&store, 20, rows());
    assert_eq!(number(&store, 1), Some(20), "the last answer was not acknowledged");
    // The answer before is deleted with the next load.
    for forgotten in 1..19 {
        let again = loader();
        take(&store, &again, forgotten, 0..30, 1);
        store_all(&store, &again);
    }
    assert_eq!(number(&store, 1), Some(1));
}

/// Clients in the engine's own tab end with it, so nothing is stored for them; nor for a client that has ended.
#[test]
fn r5_answers_to_loaded_rows_end_with_their_client() {
    let mut store = Store::with_table(OptionsChange::default());
    let one = loader();
    take(&store, &one, 1, 0..30, 1);
    store_all(&store, &one);
    crash(&mut store);
    let again = loader();
    take(&store, &again, 1, 0..30, 2);
    store_all(&store, &again);
    store.env.run(store.instance.forget_answers(Some(CLIENT), vec![])).expect("forgotten");
    crash(&mut store);
    let last = loader();
    take(&store, &last, 1, 0..30, 3);
    store_all(&store, &last);
    assert_eq!(number(&store, 1), Some(3));
}

/// A client comes back to the same engine while a load of its earlier session is being stored, for another client.
#[test]
fn r5_a_load_that_is_being_stored_is_known_to_the_next_session() {
    let store = world();
    let one = loader();
    take(&store, &one, 1, 0..30, 1);
    let other = row(5, 9);
    let waits = store.instance.write_row(&other, None);
    let again = async {
        drop(one);
        store.instance.keep_answers(CLIENT, CLIENT, true).await.expect("kept");
    };
    let (written, ()) = store.env.run(futures_util::future::join(waits, again));
    written.expect("written");
    assert_eq!(recall(&store, 1, (0..30).map(|number| row(number, 1)).collect()), vec![Ok(ONE); 30]);
    assert_eq!(number(&store, 5), Some(9));
}

/// R7: a row that was refused for now is asked again alone, under a number of its own. In its load, something that is no
/// row stands in its place then.
#[test]
fn r5_a_row_that_was_refused_for_now_is_stored_once_whatever_becomes_of_its_load() {
    for stored in [false, true] {
        let mut store = world();
        let table = TableName::parse("t").expect("a name");
        store.instance.start_local_transaction(table, &id(2)).expect("started");
        let first = loader();
        let taken = put_all(&store, &first, 1, vec![row(1, 1), row(2, 1), row(3, 1)]);
        assert!(matches!(&taken, PutRows::Taken { refused, .. } if refused.len() == 1), "{taken:?}");
        if stored {
            store_all(&store, &first);
        }
        crash(&mut store);
        let again = loader();
        let known = put_all(&store, &again, 1, vec![row(1, 1), put("t", KeyInput::new(), &[]), row(3, 1)]);
        assert_eq!(matches!(known, PutRows::Written(_)), stored, "{known:?}");
        let alone = store.env.run(store.instance.write_row(&row(2, 1), asked(9)));
        alone.expect("its transaction is gone");
        store_all(&store, &again);
        assert_eq!([1, 2, 3].map(|row| number(&store, row)), [Some(1); 3]);
    }
}

const ROWS: usize = 40;

/// What a client asks, and what others write. Values ascend in the order of the calls.
#[derive(Clone, Debug)]
enum Ask {
    Put { request: u64, loader: u64, rows: Vec<usize>, value: i64 },
    Store { request: u64, loader: u64 },
    One { request: u64, row: usize, value: i64 },
}

impl Ask {
    fn request(&self) -> u64 {
        match self {
            Self::Put { request, .. } | Self::Store { request, .. } | Self::One { request, .. } => *request,
        }
    }
}

/// The client's calls without a final answer.
type Unfinished = Rc<RefCell<Vec<Ask>>>;

/// A session of the client.
struct Asking<S: Storage> {
    instance: Rc<Instance<S>>,
    loaders: RefCell<BTreeMap<u64, Rc<Loader<S>>>>,
    /// The requests whose rows a load has taken.
    taken: Rc<RefCell<Vec<u64>>>,
    unfinished: Unfinished,
}

impl<S: Storage> Asking<S> {
    fn new(instance: Rc<Instance<S>>, unfinished: &Unfinished) -> Self {
        Self { instance, loaders: RefCell::default(), taken: Rc::default(), unfinished: Rc::clone(unfinished) }
    }

    async fn ask(&self, ask: Ask) {
        let done: Box<dyn Fn(&Ask) -> bool> = match ask.clone() {
            Ask::Put { request, loader, rows, value } => {
                let loader = Rc::clone(
                    self.loaders.borrow_mut().entry(loader).or_insert_with(|| Rc::new(Loader::of_at_least(1))),
                );
                let rows = rows.iter().map(|number| Ok(row(*number as i64, value))).collect();
                match self.instance.put_rows(&loader, rows, asked(request)).await {
                    PutRows::Taken { refused, .. } => {
                        assert!(refused.is_empty(), "{refused:?}");
                        self.taken.borrow_mut().push(request);
                        return;
                    }
                    PutRows::Written(rows) => assert!(rows.iter().all(Result::is_ok), "{rows:?}"),
                }
                Box::new(move |other| other.request() == request)
            }
            Ask::Store { request, loader: number } => {
                let loader = self.loaders.borrow().get(&number).map(Rc::clone).unwrap_or_default();
                let stored = self.instance.store_rows(&loader).await;
                assert!(stored.failed.is_empty(), "{stored:?}");
                // Rows without an answer may be written one by one, which it does not wait for.
                let taken = Rc::clone(&self.taken);
                Box::new(move |other| match other {
                    Ask::Put { loader, request: earlier, .. } => {
                        *loader == number && *earlier < request && taken.borrow().contains(earlier)
                    }
                    other => other.request() == request,
                })
            }
            Ask::One { request, row: number, value } => {
                let write = row(number as i64, value);
                self.instance.write_row(&write, asked(request)).await.expect("written");
                Box::new(move |other| other.request() == request)
            }
        };
        self.unfinished.borrow_mut().retain(|ask| !done(ask));
    }

    /// Asks all that has no final answer, in order.
    async fn again(&self) {
        let asks = self.unfinished.borrow().clone();
        join_all(asks.into_iter().map(|ask| self.ask(ask))).await;
    }

    /// Has all rows stored.
    async fn finish(&self, next: u64) {
        let loaders: Vec<u64> = self.loaders.borrow().keys().copied().collect();
        let asks = loaders.into_iter().map(|loader| Ask::Store { request: next, loader });
        join_all(asks.map(|ask| self.ask(ask))).await;
    }
}

async fn open<H: Hook>(env: &SimEnv, memory: &MemoryStorage, hook: H) -> Rc<Instance<Hooked<MemoryStorage, H>>> {
    let options = Options { clock: ClockMode::Injected, shape: Shape::TINY, ..Options::default() };
    let engine = Engine::open(Hooked::new(memory.clone(), hook), Rc::new(env.clone()), options).await.expect("opens");
    let instance = Instance::open(engine, InstanceOptions::default()).await.expect("opens");
    instance.keep_answers(CLIENT, CLIENT, true).await.expect("kept");
    instance
}

async fn create<S: Storage>(instance: &Instance<S>) {
    let key = vec![KeyColumn::new("id", KeyType::Integer)];
    instance.create_table(CreateTable { name: "t".into(), key, ..CreateTable::default() }).await.expect("created");
}

/// The value of each row; 0 if there is none.
async fn values<S: Storage>(instance: &Instance<S>) -> [i64; ROWS] {
    let mut found = Rows::default();
    instance.get_range(&range("t", Direction::Forward), &mut found).await.expect("read");
    let mut values = [0; ROWS];
    for (key, cells) in found.0 {
        let ([KeyValue::Integer(row)], [(_, _, Value::Integer(value))]) = (&key[..], &cells[..]) else {
            panic!("{key:?} {cells:?}")
        };
        values[*row as usize] = *value;
    }
    values
}

fn newer(values: &mut [i64; ROWS], rows: &[usize], value: i64) {
    rows.iter().for_each(|row| values[*row] = values[*row].max(value));
}

/// R4, R5: a crash at any change of the storage. Whatever of its answers the client has got, it asks the rest again. Then
/// each row has the value that was put last: what is known is not put a second time over what others have written.
#[test]
fn r5_after_a_crash_at_any_change_of_the_storage_a_load_that_is_asked_again_is_stored_once() {
    let all = |from: usize, to: usize| (from..to).collect::<Vec<_>>();
    let put = |request, loader, rows, value| Ask::Put { request, loader, rows, value };
    // Each is awaited before the next; without a number it is another client's write.
    let script = [
        (Some(put(1, 1, all(0, 20), 1)), None),
        (Some(put(2, 1, all(20, 40), 2)), None),
        (Some(Ask::Store { request: 3, loader: 1 }), None),
        (None, Some((5, 3))),
        (Some(put(4, 4, all(0, 15), 4)), None),
        // The load is stored because of this.
        (None, Some((10, 5))),
        (Some(put(5, 4, all(15, 30), 6)), None),
        (Some(Ask::One { request: 6, row: 20, value: 7 }), None),
        (Some(put(7, 4, all(21, 40), 8)), None),
        (None, Some((30, 9))),
        (None, Some((1, 10))),
        (Some(Ask::Store { request: 8, loader: 4 }), None),
        (None, Some((25, 11))),
        (None, Some((39, 12))),
    ];
    let (env, memory) = (SimEnv::new(NOW), MemoryStorage::new());
    env.run(async { create(&*open(&env, &memory, YieldOnce).await).await });
    env.run_until_idle();
    env.crash();
    let images = Rc::new(CrashImages::new(&memory));
    // The number of images before each step.
    let mut steps = Vec::new();
    let asking = env.run(open(&env, &memory, Rc::clone(&images)));
    let session = Asking::new(Rc::clone(&asking), &Unfinished::default());
    for (ask, other) in script.clone() {
        steps.push(images.count());
        env.run(async {
            if let Some(ask) = ask {
                session.ask(ask).await;
            }
            if let Some((at, value)) = other {
                asking.write_row(&row(at, value), None).await.expect("written");
            }
        });
    }
    env.run_until_idle();
    let images = images.take();
    assert!(images.len() > script.len(), "{}", images.len());
    for (number, image) in images.into_iter().enumerate() {
        // The steps that had begun, and the answers that had come.
        let begun = steps.iter().filter(|images| **images <= number + 1).count();
        for acknowledged in 0..=begun.saturating_sub(1) {
            // The client may have got answers up to a request that was stored.
            let known = &script[..acknowledged];
            if known.iter().any(|(ask, _)| matches!(ask, Some(Ask::Put { .. })))
                && !matches!(known.last(), Some((Some(Ask::Store { .. }), _)))
            {
                continue;
            }
            let (env, memory) = (SimEnv::new(NOW + 1000), image.image());
            env.run(async {
                let instance = open(&env, &memory, YieldOnce).await;
                let mut expected = values(&instance).await;
                let asks: Vec<_> = script[acknowledged..begun].iter().filter_map(|(ask, _)| ask.clone()).collect();
                for ask in &asks {
                    match ask {
                        Ask::Put { rows, value, .. } => newer(&mut expected, rows, *value),
                        Ask::One { row, value, .. } => newer(&mut expected, &[*row], *value),
                        Ask::Store { .. } => {}
                    }
                }
                let session = Asking::new(Rc::clone(&instance), &Rc::new(RefCell::new(asks)));
                session.again().await;
                session.finish(100).await;
                assert!(session.unfinished.borrow().is_empty());
                let stored = values(&instance).await;
                assert_eq!(stored, expected, "image {number}, acknowledged {acknowledged} of {begun}");
            });
            env.run_until_idle();
        }
    }
}

/// R5: engines die at any point while a client loads, and others write among its rows. It asks the next engine again, which
/// may die too. In the end each row has the value that was put last.
#[test]
fn r5_random_loads_asked_again_after_crashes_are_stored_once() {
    let (mut crashes, mut known, mut lost) = (0, 0, 0);
    for seed in 0..60 {
        let env = SimEnv::shuffled(NOW, seed);
        let below = |most: u64| env.random() % most;
        let mut memory = MemoryStorage::new();
        env.run(async { create(&*open(&env, &memory, YieldOnce).await).await });
        env.run_until_idle();
        env.crash();
        let (mut request, mut value) = (0, 0);
        let unfinished = Unfinished::default();
        // What each row must have, and what others have written without an answer.
        let newest = Rc::new(RefCell::new([0; ROWS]));
        let mut unsure: Vec<i64> = Vec::new();
        for life in 0..12 {
            let instance = env.run(open(&env, &memory, YieldOnce));
            let before = env.run(values(&instance));
            for (row, found) in before.iter().enumerate() {
                let expected = newest.borrow()[row];
                assert!(*found <= expected || unsure.contains(found), "seed {seed}, life {life}, row {row}: {found}");
                newer(&mut newest.borrow_mut(), &[row], *found);
            }
            let session = Asking::new(Rc::clone(&instance), &unfinished);
            let held: Vec<_> = unfinished
                .borrow()
                .iter()
                .filter_map(|ask| if let Ask::Put { rows, value, .. } = ask { Some((rows[0], *value)) } else { None })
                .collect();
            known += held.iter().filter(|(row, value)| before[*row] >= *value).count();
            lost += held.iter().filter(|(row, value)| before[*row] < *value).count();
            let mut rounds = Vec::new();
            let mut loader = 0;
            for _ in 0..below(8) {
                let mut asks = Vec::new();
                for _ in 0..=below(4) {
                    request += 1;
                    value += 1;
                    let ask = match below(8) {
                        0..=3 => {
                            if loader == 0 || below(4) == 0 {
                                loader = request;
                            }
                            let from = below(ROWS as u64 - 1) as usize;
                            let rows: Vec<_> = (from..ROWS).filter(|_| below(3) > 0).take(12).collect();
                            let rows = if rows.is_empty() { vec![from] } else { rows };
                            (Some(Ask::Put { request, loader, rows, value }), None)
                        }
                        4 if loader > 0 => (Some(Ask::Store { request, loader }), None),
                        5 => (Some(Ask::One { request, row: below(ROWS as u64) as usize, value }), None),
                        _ => {
                            unsure.push(value);
                            (None, Some((below(ROWS as u64) as usize, value)))
                        }
                    };
                    asks.push(ask);
                }
                rounds.push((asks, below(6)));
            }
            let stop = if below(4) == 0 { u64::MAX } else { below(150) };
            let work = async {
                session.again().await;
                for (asks, then) in rounds {
                    let begun = asks.into_iter().map(|(ask, other)| {
                        // The order is settled when they are asked, which the first poll does.
                        match &ask {
                            Some(Ask::Put { rows, value, .. }) => newer(&mut newest.borrow_mut(), rows, *value),
                            Some(Ask::One { row, value, .. }) => newer(&mut newest.borrow_mut(), &[*row], *value),
                            _ => {}
                        }
                        session.unfinished.borrow_mut().extend(ask.clone());
                        let (session, newest) = (&session, Rc::clone(&newest));
                        async move {
                            if let Some(ask) = ask {
                                session.ask(ask).await;
                            }
                            if let Some((at, value)) = other {
                                let write = row(at as i64, value);
                                session.instance.write_row(&write, None).await.expect("written");
                                newer(&mut newest.borrow_mut(), &[at], value);
                            }
                        }
                    });
                    join_all(begun.collect::<Vec<_>>()).await;
                    match then {
                        0 => session.instance.flush().await.expect("flushed"),
                        1 => session.instance.compact().await.expect("compacted"),
                        2 => {
                            let oldest = session.unfinished.borrow().iter().map(Ask::request).min();
                            session.instance.acknowledge(CLIENT, oldest.unwrap_or(request + 1));
                        }
                        _ => {}
                    }
                }
            };
            let time = async {
                let mut left = stop;
                while left > 0 {
                    env.yield_now().await;
                    left -= 1;
                }
            };
            if stop == u64::MAX {
                env.run(work);
            } else {
                env.run(async { drop(select(Box::pin(work), Box::pin(time)).await) });
                crashes += 1;
            }
            env.crash();
            memory = memory.image();
        }
        let instance = env.run(open(&env, &memory, YieldOnce));
        let before = env.run(values(&instance));
        before.iter().enumerate().for_each(|(row, found)| newer(&mut newest.borrow_mut(), &[row], *found));
        let session = Asking::new(instance, &unfinished);
        env.run(async {
            session.again().await;
            session.finish(request + 1).await;
            assert!(session.unfinished.borrow().is_empty(), "seed {seed}: {:?}", session.unfinished);
            assert_eq!(values(&session.instance).await, *newest.borrow(), "seed {seed}");
        });
    }
    assert!(crashes > 300 && known > 100 && lost > 100, "{crashes} {known} {lost}");
}
