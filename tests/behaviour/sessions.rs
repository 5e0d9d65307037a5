//! Many sessions on one instance: their view of each other, their shares, and the state after one ends.

use crate::session::{frame, get_row, numbers};
use crate::store::*;
use std::cell::RefCell;
use std::rc::Rc;
use tabstore::engine::{ClockMode, Options};
use tabstore::model::{KeyType, Value, ValueRef};
use tabstore::session::codec::{Reader, responses};
use tabstore::session::{Session, Sessions};
use tabstore::tablestore::{InstanceOptions, OptionsChange, RowWrite};

/// The number of a request whose answer a test reads.
const ASKED: u64 = 999;

struct World {
    store: Store,
    sessions: Sessions,
}

struct Client {
    session: Session,
    delivered: Rc<RefCell<Vec<Vec<u8>>>>,
}

fn world() -> World {
    world_of(Store::new())
}

fn world_of(store: Store) -> World {
    let options = OptionsChange { max_versions: Some(9), ..OptionsChange::default() };
    store.create("t", &[("id", KeyType::Integer)], options);
    let sessions = Sessions::new(Rc::clone(&store.instance), Rc::new(store.env.clone()));
    World { store, sessions }
}

impl World {
    fn client(&self, number: u64) -> Client {
        let delivered = Rc::default();
        let out: Rc<RefCell<Vec<Vec<u8>>>> = Rc::clone(&delivered);
        let session = self.sessions.open(number, move |frame| out.borrow_mut().push(frame)).expect("opened");
        Client { session, delivered }
    }

    fn pair(&self) -> [Client; 2] {
        [1, 2].map(|number| self.client(number))
    }

    fn settle(&self) {
        self.store.env.run_until_idle();
    }

    /// The answer to the request [`ASKED`] of a frame, whenever it comes.
    fn ask<T>(&self, client: &Client, frame: Vec<u8>, read: impl FnOnce(&mut Reader<'_>) -> T) -> Result<T, String> {
        let at_once = client.session.submit(frame).expect("a right frame");
        client.delivered.borrow_mut().extend(at_once);
        self.settle();
        let frames = client.delivered.take();
        let mut told = frames.iter().flat_map(|frame| responses(frame).expect("whole"));
        let told = told.find(|response| response.id == ASKED).expect("an answer");
        told.payload.map(|mut payload| read(&mut payload)).map_err(|error| error.code)
    }

    fn start_transaction(&self, client: &Client, row: i64) -> String {
        let started = frame(|out| out.start_transaction(ASKED, "t", &id(row)));
        self.ask(client, started, |reader| reader.started().expect("whole").1).expect("started")
    }

    /// The column `a` of a row of `t`, if it is there.
    fn read(&self, client: &Client, row: i64) -> Option<Value> {
        let read = frame(|out| out.get_row(ASKED, &get_row(row)));
        let found = self.ask(client, read, |reader| reader.found().expect("whole").1).expect("read");
        found.map(|row| row.cells[0].2.clone())
    }
}

impl Client {
    /// The numbers of the requests that are answered at once.
    fn submit(&self, frame: Vec<u8>) -> Vec<u64> {
        self.session.submit(frame).expect("a right frame").map_or_else(Vec::new, |answer| numbers(&answer))
    }

    fn put(&self, request: u64, row: i64, value: ValueRef<'_>) -> Vec<u64> {
        self.submit(frame(|out| out.row_write(request, &put("t", id(row), &[cell("a", value)]))))
    }

    /// The delivered frames: the requests, and the code of the error of each refused one.
    fn told(&self) -> Vec<(u64, Option<String>)> {
        let frames = self.delivered.take();
        let responses = frames.iter().flat_map(|frame| responses(frame).expect("whole"));
        let mut told =
            responses.map(|response| (response.id, response.payload.err().map(|error| error.code))).collect::<Vec<_>>();
        told.sort();
        told
    }

    /// Asks for so much that some of it has to wait: eight rows of 1 MiB, of which two are started.
    fn fill(&self) {
        let big = vec![7_u8; 1 << 20];
        for row in 0..8 {
            assert_eq!(self.put(row, row as i64, ValueRef::Binary(&big)), [0; 0]);
        }
    }
}

/// R5: a write that is on its way is seen by whatever is asked later, in whichever session.
#[test]
fn r5_sessions_see_each_others_writes_in_the_order_in_which_they_were_asked() {
    let world = world();
    let [one, other] = world.pair();
    one.put(1, 1, int(1));
    other.submit(frame(|out| out.row_write(1, &update("t", id(1), &[increment("a", 10)]))));
    one.submit(frame(|out| out.row_write(2, &update("t", id(1), &[increment("a", 100)]))));
    assert_eq!(world.read(&other, 1), Some(Value::Integer(111)));
    other.put(2, 1, int(5));
    assert_eq!(world.read(&one, 1), Some(Value::Integer(5)));
    assert_eq!(world.read(&other, 1), Some(Value::Integer(5)));
}

/// Numbers of requests are a session's own: each session gets its own answers, each once, and no others.
#[test]
fn fifty_sessions_get_exactly_their_own_answers() {
    let world = world();
    let clients: Vec<Client> = (0..50).map(|number| world.client(number)).collect();
    let mut expected = vec![Vec::new(); clients.len()];
    for round in 0..20_u64 {
        for (number, client) in clients.iter().enumerate() {
            let own = 1000 * (number as i64 + 1);
            let requests = frame(|out| {
                out.row_write(3 * round, &put("t", id(own + round as i64), &[cell("a", int(own + round as i64))]));
                out.get_row(3 * round + 1, &get_row(own + round as i64 - 1));
                out.row_write(3 * round + 2, &put("none", id(1), &[]));
            });
            let at_once = client.session.submit(requests).expect("a right frame");
            client.delivered.borrow_mut().extend(at_once);
            expected[number].extend(3 * round..3 * round + 3);
        }
        if round % 3 == 0 {
            world.settle();
        }
    }
    world.settle();
    for (number, (client, expected)) in clients.iter().zip(expected).enumerate() {
        let own = 1000 * (number as i64 + 1);
        let mut answered = Vec::new();
        for frame in client.delivered.take() {
            for response in responses(&frame).expect("whole") {
                answered.push(response.id);
                match response.id % 3 {
                    1 => {
                        let (_, found) = response.payload.expect("read").found().expect("whole");
                        let value = found.map(|row| row.cells[0].2.clone());
                        let round = (response.id / 3) as i64;
                        assert_eq!(value, (round > 0).then_some(Value::Integer(own + round - 1)));
                    }
                    2 => assert_eq!(response.payload.expect_err("no such table").code, "OTSObjectNotExist"),
                    _ => drop(response.payload.expect("written")),
                }
            }
        }
        answered.sort_unstable();
        assert_eq!(answered, expected);
    }
}

/// R7: the transactions that a session has not ended end with it, and no others.
#[test]
fn r7_a_session_that_ends_aborts_its_transactions() {
    let world = world();
    let [one, other] = world.pair();
    let (left, kept) = (world.start_transaction(&one, 1), world.start_transaction(&other, 2));
    let inside = |tx: &str, row| {
        frame(|out| {
            out.transaction(Some(tx));
            out.row_write(ASKED, &put("t", id(row), &[cell("a", int(7))]));
        })
    };
    world.ask(&one, inside(&left, 1), |_| ()).expect("written");
    world.ask(&other, inside(&kept, 2), |_| ()).expect("written");
    let locked = frame(|out| out.row_write(ASKED, &put("t", id(1), &[cell("a", int(1))])));
    assert_eq!(world.ask(&other, locked.clone(), |_| ()), Err("OTSRowOperationConflict".into()));
    world.store.env.run(one.session.close());
    assert_eq!(world.read(&other, 1), None);
    world.ask(&other, locked, |_| ()).expect("its row is free");
    world.ask(&other, frame(|out| out.commit(ASKED, &kept)), |_| ()).expect("it is open still");
    assert_eq!(world.read(&other, 2), Some(Value::Integer(7)));
    let gone = frame(|out| out.commit(ASKED, &left));
    assert_eq!(world.ask(&other, gone, |_| ()), Err("OTSSessionNotExist".into()));
}

/// A commit that is on its way is finished, though its session is gone.
#[test]
fn r7_what_a_session_was_committing_is_committed() {
    let world = world();
    let [one, other] = world.pair();
    let tx = world.start_transaction(&one, 1);
    one.submit(frame(|out| {
        out.transaction(Some(&tx));
        out.row_write(2, &put("t", id(1), &[cell("a", int(7))]));
        out.transaction(None);
        out.commit(3, &tx);
    }));
    drop(one);
    assert_eq!(world.read(&other, 1), Some(Value::Integer(7)));
}

/// Rows that a session has put and not asked to be stored are given up with it.
#[test]
fn rows_that_nobody_asked_to_be_stored_go_with_their_session() {
    let world = world();
    let [one, other] = world.pair();
    let rows: Vec<RowWrite<'_>> = (0..300).map(|row| put("t", id(row), &[cell("a", int(1))])).collect();
    let load = frame(|out| out.put_rows(ASKED, 5, &rows));
    world.ask(&one, load, |reader| assert!(reader.rows_put().expect("whole").is_some())).expect("taken");
    world.store.env.run(one.session.close());
    // A write into the range of a load has the load stored before.
    other.put(1, 7, int(7));
    world.settle();
    assert_eq!(world.store.ids(), [7]);
}

/// At the end of a session its started requests are finished and answered. Held and later ones are refused.
#[test]
fn a_session_that_ends_answers_all_that_was_asked() {
    for seed in 0..10 {
        let options = Options { clock: ClockMode::Injected, ..Options::default() };
        let world = world_of(Store::shuffled(InstanceOptions::default(), options, seed));
        let [one, other] = world.pair();
        one.fill();
        world.store.env.run(one.session.close());
        let closed = |request| (request, Some("Closed".to_owned()));
        let told = [(0, None), (1, None)].into_iter().chain((2..8).map(closed)).collect::<Vec<_>>();
        assert_eq!(one.told(), told, "when it is closed, all is answered");
        assert_eq!(world.ask(&one, frame(|out| out.get_row(ASKED, &get_row(0))), |_| ()), Err("Closed".into()));
        assert_eq!(refused(world.store.env.run(one.session.started())), "Closed: the session is closed");
        world.store.env.run(other.session.started()).expect("open");
        other.put(1, 50, int(1));
        world.settle();
        assert_eq!(world.store.ids(), [0, 1, 50]);
    }
}

/// A client has one session at a time: the log tells its writes by its number.
#[test]
fn a_client_has_one_session() {
    let world = world();
    let one = world.client(1);
    let message = refused(world.sessions.open(1, |_| ()).map(drop));
    assert_eq!(message, "OTSParameterInvalid: The client 1 has a session already.");
    world.store.env.run(one.session.close());
    assert!(world.client(1).put(1, 1, int(1)).is_empty());
}

/// I5: the open sessions are counted, one a client.
#[test]
fn open_sessions_are_counted() {
    let world = world();
    let [one, other] = world.pair();
    assert_eq!(world.sessions.count(), 2);
    world.store.env.run(one.session.close());
    assert_eq!(world.sessions.count(), 1);
    world.store.env.run(other.session.close());
    assert_eq!(world.sessions.count(), 0);
}

/// However much a session asks for, another one has its share, and not more.
#[test]
fn requests_of_one_session_do_not_starve_anothers() {
    let world = world();
    let [greedy, modest] = world.pair();
    greedy.fill();
    let get = |request| frame(|out| out.get_row(request, &get_row(100)));
    assert_eq!(greedy.submit(get(100)), [0; 0], "it waits behind the others");
    assert_eq!(modest.submit(get(1)), [1]);
    let big = vec![7_u8; 1 << 20];
    assert_eq!(modest.put(2, 20, ValueRef::Binary(&big)), [0; 0]);
    assert_eq!(modest.submit(get(3)), [0; 0], "its share is used up");
    world.settle();
    assert_eq!(greedy.told().len(), 9);
    assert_eq!(modest.told(), [(2, None), (3, None)]);
}

/// Sessions that hold frames start them in turn, however many each of them holds.
#[test]
fn sessions_start_what_they_hold_in_turn() {
    let world = world();
    let [greedy, modest] = world.pair();
    greedy.fill();
    let big = vec![7_u8; 1 << 20];
    modest.put(1, 20, ValueRef::Binary(&big));
    for (client, values) in [(&greedy, [1, 2]), (&modest, [3, 4])] {
        for value in values {
            let write = update("t", id(30), &[add("a", None, value)]);
            assert_eq!(client.submit(frame(|out| out.row_write(100 + value as u64, &write))), [0; 0]);
        }
    }
    world.sessions.start_held();
    world.settle();
    let cells = world.store.all(id(30)).expect("there");
    let values = cells.into_iter().map(|(_, _, value)| value).collect::<Vec<_>>();
    assert_eq!(values, [2, 1, 4, 3].map(Value::Integer), "newest first: the first one holds more");
}

/// V10: requests from before the clock is set are done at the time before, in all sessions.
#[test]
fn v10_all_sessions_start_what_they_hold_when_the_clock_is_set() {
    let world = world();
    let [one, other] = world.pair();
    [&one, &other].into_iter().for_each(Client::fill);
    one.put(100, 30, int(1));
    other.put(100, 31, int(1));
    world.sessions.start_held();
    world.store.env.set_now(NOW + 1_000_000);
    world.settle();
    for row in [30, 31] {
        let cells = world.store.all(id(row)).expect("there");
        assert!((NOW..NOW + 1000).contains(&cells[0].1), "{cells:?}");
    }
}

/// I5: administration waits for the requests that came before it. Those that come later do not prolong that.
#[test]
fn i5_what_waits_for_earlier_requests_does_not_wait_for_later_ones() {
    let world = world();
    let client = world.client(1);
    client.fill();
    let started = client.session.started();
    let big = vec![7_u8; 1 << 20];
    for later in 100..140 {
        assert_eq!(client.put(later, 1, ValueRef::Binary(&big)), [0; 0]);
    }
    world.store.env.run(started).expect("open");
    let answered = client.told().len();
    assert!((1..16).contains(&answered), "eight requests came before, and {answered} are answered");
    world.settle();
    assert_eq!(answered + client.told().len(), 48);
}

/// I5: an instance's activity is that of all its sessions, including those that have ended.
#[test]
fn i5_activity_is_that_of_all_sessions() {
    let world = world();
    let [one, other] = world.pair();
    one.put(1, 1, int(1));
    other.put(1, 2, int(1));
    other.put(2, 3, int(1));
    world.settle();
    world.store.env.run(one.session.close());
    let report = world.sessions.activity();
    let put = report.operations.iter().find(|operation| operation.name == "PutRow").expect("listed");
    assert_eq!((put.requests, put.errors, report.write_per_second), (3, 0, 3.0));
}

/// The end of all sessions, as when the instance is closed.
#[test]
fn all_sessions_end_with_their_instance() {
    let world = world();
    let clients = world.pair();
    world.sessions.end();
    for client in &clients {
        assert_eq!(client.submit(frame(|out| out.get_row(1, &get_row(1)))), [1]);
        assert!(world.store.env.run(client.session.started()).is_err());
    }
}
