//! Loads that are asked for again (R4, R5): after a crash at any change of the storage, and through random lives.

use crate::client::{CLIENT, asked, open};
use crate::loads_again::row;
use crate::store::*;
use futures_util::future::{join_all, select};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use tabstore::engine::Direction;
use tabstore::env::Env;
use tabstore::env::sim::SimEnv;
use tabstore::model::{KeyColumn, KeyType, KeyValue, Value};
use tabstore::storage::MemoryStorage;
use tabstore::storage::faults::{CrashImages, YieldOnce};
use tabstore::tablestore::{CreateTable, Instance, Loader, PutRows};

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
struct Asking {
    instance: Rc<Instance>,
    loaders: RefCell<BTreeMap<u64, Rc<Loader>>>,
    /// The requests whose rows a load has taken.
    taken: Rc<RefCell<Vec<u64>>>,
    unfinished: Unfinished,
}

impl Asking {
    fn new(instance: Rc<Instance>, unfinished: &Unfinished) -> Self {
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

async fn create(instance: &Instance) {
    let key = vec![KeyColumn::new("id", KeyType::Integer)];
    instance.create_table(CreateTable { name: "t".into(), key, ..CreateTable::default() }).await.expect("created");
}

/// The value of each row; 0 if there is none.
async fn values(instance: &Instance) -> [i64; ROWS] {
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
                            session.instance.clients().acknowledge(CLIENT, oldest.unwrap_or(request + 1));
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
