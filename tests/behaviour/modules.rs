//! Code that is loaded on first use: the order of requests meanwhile, and life where it cannot be loaded.

use crate::session::{frame, get_row, spoil};
use crate::store::*;
use std::cell::RefCell;
use std::rc::Rc;
use tabstore::engine::{ClockMode, Options, Shape};
use tabstore::model::filter::{CastType, ColumnFilter, Comparator, Filter, Transfer};
use tabstore::model::{KeyType, KeyValue};
use tabstore::modules::Module;
use tabstore::session::codec::responses;
use tabstore::session::{Session, Sessions};
use tabstore::tablestore::{GetRow, IndexSpec, InstanceOptions, OptionsChange, ReadOptions};

struct World {
    store: Store,
    sessions: Sessions,
    delivered: Rc<RefCell<Vec<Vec<u8>>>>,
}

impl World {
    /// A table `t` in an instance without the code for regular expressions.
    fn without_rules() -> Self {
        Self::without(&[Module::Rules])
    }

    /// The same without the code of these modules.
    fn without(modules: &[Module]) -> Self {
        let store = Store::with_table(OptionsChange::default());
        store.env.leave_out(modules);
        let sessions = Sessions::new(Rc::clone(&store.instance), Rc::new(store.env.clone()));
        Self { store, sessions, delivered: Rc::default() }
    }

    fn session(&self, client: u64) -> Session {
        let delivered = Rc::clone(&self.delivered);
        self.sessions.open(client, move |frame| delivered.borrow_mut().push(frame)).expect("opened")
    }

    /// The answers that come later, sorted.
    fn later(&self) -> Vec<String> {
        self.store.env.run_until_idle();
        let mut later: Vec<String> = self.delivered.take().iter().flat_map(|frame| told(frame)).collect();
        later.sort();
        later
    }
}

fn submit(session: &Session, frame: Vec<u8>) -> Vec<String> {
    let ready = session.submit(frame).expect("a right frame");
    ready.iter().flat_map(|frame| told(frame)).collect()
}

/// Responses as `number: cells or error`. Even numbers are reads, odd ones writes.
fn told(frame: &[u8]) -> Vec<String> {
    let told = responses(frame).expect("whole").into_iter().map(|response| match response.payload {
        Err(error) => format!("{}: {}", response.id, error.code),
        Ok(_) if response.id % 2 == 1 => format!("{}: done", response.id),
        Ok(mut payload) => {
            let found = payload.found().expect("whole").1;
            format!("{}: {:?}", response.id, found.map(|row| row.cells.len()))
        }
    });
    told.collect()
}

/// A read of row 1 that asks for a number of at least 5 in the text of column `a`.
fn matching<'a>() -> GetRow<'a> {
    let transfer = Some(Transfer { regex: "rev:([0-9]+)", cast: CastType::Integer });
    let filter = Filter::Column(ColumnFilter { transfer, ..comparison("a", Comparator::GreaterEqual, int(5)) });
    GetRow { options: ReadOptions { filter: Some(filter), ..versions(1) }, ..get_row(1) }
}

/// R5, R8: a filter with a rule sees what was asked before it and nothing of what was asked later, although its code has
/// to be loaded first. Other sessions do not wait.
#[test]
fn r5_r8_requests_keep_their_order_while_the_code_of_a_filter_is_loaded() {
    let world = World::without_rules();
    let [one, other] = [1, 2].map(|client| world.session(client));
    let write = |value| put("t", id(1), &[cell("a", text(value))]);
    let at_once = submit(
        &one,
        frame(|out| {
            out.row_write(1, &write("rev:7"));
            out.get_row(2, &matching());
            out.row_write(3, &write("rev:1"));
            out.get_row(4, &matching());
        }),
    );
    assert_eq!(at_once, Vec::<String>::new());
    assert_eq!(submit(&one, frame(|out| out.row_write(5, &write("rev:9")))), Vec::<String>::new());
    assert_eq!(submit(&one, frame(|out| out.get_row(6, &matching()))), Vec::<String>::new());
    // Row 2 is not there.
    assert_eq!(submit(&other, frame(|out| out.get_row(8, &get_row(2)))), ["8: None"]);
    assert_eq!(world.later(), ["1: done", "2: Some(1)", "3: done", "4: None", "5: done", "6: Some(1)"]);
    // Now it is there.
    assert_eq!(submit(&one, frame(|out| out.get_row(2, &matching()))), ["2: Some(1)"]);
}

/// R7: requests about transactions wait for their code, and so do those that come behind them in the same frame.
#[test]
fn r7_requests_keep_their_order_while_the_code_of_transactions_is_loaded() {
    for offline in [false, true] {
        let world = World::without(&[Module::Transactions]);
        world.store.env.set_offline(offline);
        let session = world.session(1);
        let write = put("t", id(1), &[cell("a", text("one"))]);
        let at_once = submit(
            &session,
            frame(|out| {
                out.row_write(1, &write);
                out.start_transaction(3, "t", &id(7));
                out.get_row(2, &get_row(1));
                out.commit(5, "no id");
                out.abort(7, "no id");
                out.get_row(4, &get_row(9));
            }),
        );
        assert_eq!(at_once, Vec::<String>::new());
        let [started, ended] = if offline { ["Unavailable"; 2] } else { ["done", "OTSParameterInvalid"] };
        let expected = [
            "1: done",
            "2: Some(1)",
            &format!("3: {started}"),
            "4: None",
            &format!("5: {ended}"),
            &format!("7: {ended}"),
        ];
        assert_eq!(world.later(), expected, "offline: {offline}");
    }
}

/// R2: rows in great numbers wait for the code that loads them, and requests behind them do. Where it cannot be had, the
/// rows are written as others are.
#[test]
fn r2_rows_in_great_numbers_are_stored_with_and_without_the_code_that_loads_them() {
    for offline in [false, true] {
        let world = World::without(&[Module::Loads]);
        world.store.env.set_offline(offline);
        let session = world.session(1);
        let rows: Vec<_> = (10..400).map(|row| put("t", id(row), &[cell("a", int(row))])).collect();
        let requests = frame(|out| {
            out.row_write(1, &put("t", id(1), &[cell("a", int(1))]));
            out.put_rows(3, 1, &rows);
            out.get_row(2, &get_row(10));
            out.store_rows(5, 1);
            out.get_row(4, &get_row(399));
        });
        assert_eq!(submit(&session, requests), Vec::<String>::new());
        // Rows of a load are there when it is stored.
        let early = if offline { "Some(1)" } else { "None" };
        assert_eq!(world.later(), ["1: done", &format!("2: {early}"), "3: done", "4: Some(1)", "5: done"]);
        assert_eq!(world.store.ids(), [1].into_iter().chain(10..400).collect::<Vec<_>>(), "offline: {offline}");
        // The next ones ask for the code again.
        world.store.env.set_offline(false);
        let rows: Vec<_> = (400..800).map(|row| put("t", id(row), &[cell("a", int(row))])).collect();
        submit(&session, frame(|out| out.put_rows(7, 2, &rows)));
        world.later();
        assert_eq!(world.store.ids().len(), 391, "they are in a load");
        submit(&session, frame(|out| out.store_rows(9, 2)));
        assert_eq!(world.later(), ["9: done"]);
        assert_eq!(world.store.ids().len(), 791);
    }
}

/// R2: a server that hangs holds a session for the code of loads once, and not again for ten times as long.
#[test]
fn r2_rows_in_great_numbers_do_without_code_that_did_not_come() {
    let world = World::without(&[Module::Loads]);
    let env = &world.store.env;
    env.set_offline(true);
    env.set_hanging(30_000);
    let session = world.session(1);
    let put_rows = |number: u64, first: i64| {
        let rows: Vec<_> = (first..first + 300).map(|row| put("t", id(row), &[cell("a", int(row))])).collect();
        frame(|out| {
            out.put_rows(number, number, &rows);
            out.get_row(number + 1, &get_row(7));
        })
    };
    assert_eq!(submit(&session, put_rows(1, 1000)), Vec::<String>::new());
    assert_eq!(world.later(), Vec::<String>::new());
    env.advance(30_000);
    assert_eq!(world.later(), ["1: done", "2: None"]);
    env.set_offline(false);
    env.advance(299_000);
    assert_eq!(submit(&session, put_rows(3, 2000)), ["4: None"], "nobody waits");
    assert_eq!(world.later(), ["3: done"]);
    env.advance(1000);
    assert_eq!(submit(&session, put_rows(5, 3000)), Vec::<String>::new());
    assert_eq!(world.later(), ["5: done", "6: None"]);
    assert_eq!(world.store.ids().len(), 600, "the last ones are in a load");
}

/// R2, R8: of rows in great numbers, one has a condition with a rule. Each code is waited for, and only the request with the
/// rule is refused without its own.
#[test]
fn r2_r8_rows_in_great_numbers_with_a_rule_wait_for_the_code_of_both() {
    for offline in [false, true] {
        let world = World::without(&[Module::Loads, Module::Rules]);
        world.store.env.set_offline(offline);
        let session = world.session(1);
        let mut rows: Vec<_> = (10..400).map(|row| put("t", id(row), &[cell("a", int(row))])).collect();
        let more: Vec<_> = (400..800).map(|row| put("t", id(row), &[cell("a", int(row))])).collect();
        rows[5].column_condition = matching().options.filter.map(Box::new);
        let requests = frame(|out| {
            out.put_rows(3, 1, &rows);
            out.put_rows(5, 1, &more);
            out.get_row(2, &get_row(500));
            out.store_rows(7, 1);
        });
        assert_eq!(submit(&session, requests), Vec::<String>::new());
        // Rows of a load are there when it is stored.
        let (with_rule, early) = if offline { ("Unavailable", "Some(1)") } else { ("done", "None") };
        assert_eq!(world.later(), [&format!("2: {early}"), &format!("3: {with_rule}"), "5: done", "7: done"]);
        assert_eq!(world.store.ids(), (if offline { 400 } else { 10 }..800).collect::<Vec<_>>());
    }
}

/// A host that cannot load the code refuses what needs it, by name, and nothing else.
#[test]
fn r8_a_rule_whose_code_cannot_be_loaded_is_refused_alone() {
    let world = World::without_rules();
    world.store.env.set_offline(true);
    let session = world.session(1);
    let write = put("t", id(1), &[cell("a", text("rev:7"))]);
    let requests = || {
        frame(|out| {
            out.get_row(2, &matching());
            out.row_write(3, &write);
            out.get_row(4, &matching());
        })
    };
    assert_eq!(submit(&session, requests()), Vec::<String>::new());
    assert_eq!(world.later(), ["2: Unavailable", "3: done", "4: Unavailable"]);
    world.store.env.set_offline(false);
    assert_eq!(submit(&session, requests()), Vec::<String>::new());
    assert_eq!(world.later(), ["2: Some(1)", "3: done", "4: Some(1)"]);
}

/// A session that ends while code is loaded answers all that it holds, once.
#[test]
fn a_session_that_ends_while_code_is_loaded_answers_all_that_was_asked() {
    let world = World::without_rules();
    let session = world.session(1);
    let requests = frame(|out| {
        out.get_row(2, &matching());
        out.row_write(3, &put("t", id(1), &[]));
    });
    assert_eq!(submit(&session, requests), Vec::<String>::new());
    let closed = session.close();
    assert_eq!(world.later(), ["2: Closed", "3: Closed"]);
    world.store.env.run(closed);
    // Nothing of it is left: its number can be used again.
    let again = world.session(1);
    assert_eq!(submit(&again, frame(|out| out.get_row(2, &get_row(1)))), ["2: None"]);
}

/// Without the code of compaction a store reads and writes, says that nothing is compacted, and asks for the code
/// again after a pause.
#[test]
fn a_store_lives_on_without_the_code_of_compaction() {
    let shape = Shape { level0_parts: 4, partition_operations: 0, ..Shape::TINY };
    let options = Options { clock: ClockMode::Injected, shape, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    store.env.leave_out(&[Module::Compaction]);
    store.env.set_offline(true);
    let told = troubles(&store.instance);
    let rounds = |rounds: i64| {
        for round in 0..rounds {
            store.env.advance(1000);
            (0..20).for_each(|row| store.put(id(row), &[cell("a", int(round))]));
            store.env.run(store.instance.flush()).expect("flushed");
            store.env.run_until_idle();
        }
    };
    rounds(1);
    assert_eq!(*told.borrow(), Vec::<String>::new(), "so little needs no compaction");
    rounds(9);
    assert_eq!(store.instance.metrics().compactions, 0);
    let reports = told.take();
    assert!(!reports.is_empty() && reports.iter().all(|one| one.contains("Nothing is compacted")), "{reports:?}");
    assert!(refused(store.env.run(store.instance.compact())).contains("Unavailable"));
    assert_eq!(store.all(id(3)), ints(&[("a", tabstore::env::Env::now_ms(&store.env), 8)]));
    store.env.set_offline(false);
    store.env.advance(31_000);
    rounds(1);
    assert!(store.instance.metrics().compactions > 0);
    assert_eq!(store.ids(), (0..20).collect::<Vec<_>>());
}

/// R6: an index whose building needs code that cannot be loaded is built once it can.
#[test]
fn r6_a_build_waits_for_its_code() {
    let store = Store::new();
    store.create_with_number();
    (0..5).for_each(|row| store.put(id(row), &[cell("n", int(-row))]));
    store.env.leave_out(&[Module::Occasional]);
    store.env.set_offline(true);
    let told = troubles(&store.instance);
    let spec = IndexSpec { name: "x".into(), key: vec!["n".into()], ..IndexSpec::default() };
    store.env.run(store.instance.create_index("t", spec, true)).expect("created");
    store.env.run_until_idle();
    assert!(told.take()[0].contains("Index 'x' is not built, the next try is in 1 s: the module 'occasional'"));
    store.env.set_offline(false);
    store.env.advance(1000);
    store.env.run_until_idle();
    assert_eq!(told.take(), ["mended"]);
    assert_eq!(store.instance.describe_table("t").expect("there").indexes[0].built_rows, 5);
}

/// V5: a time to live that was lowered by mistake can be raised again for ten minutes, also where the code of compaction is
/// not loaded yet.
#[test]
fn v5_the_grace_period_holds_where_compaction_was_never_loaded() {
    let store = Store::with_table(OptionsChange::default());
    let day = 86_400_000;
    (0..20).for_each(|row| store.put(id(row), &[cell("a", int(row))]));
    store.env.run(store.instance.flush()).expect("flushed");
    store.env.advance(2 * day);
    store.env.leave_out(&[Module::Compaction]);
    store.set_options("t", OptionsChange { time_to_live: Some(86_400), ..OptionsChange::default() });
    let minutes = |minutes: i64| {
        for _ in 0..minutes {
            store.env.advance(60_000);
            store.put(id(100), &[]);
            store.env.run_until_idle();
        }
    };
    minutes(9);
    store.set_options("t", OptionsChange { time_to_live: Some(-1), ..OptionsChange::default() });
    assert_eq!(store.ids().len(), 21, "nothing is lost");
    store.set_options("t", OptionsChange { time_to_live: Some(86_400), ..OptionsChange::default() });
    minutes(12);
    store.set_options("t", OptionsChange { time_to_live: Some(-1), ..OptionsChange::default() });
    assert_eq!(store.ids(), [100], "space is freed in the end");
}

/// V5: the same where reads of one partition key ask for the code, because they could be a reason for a split. The code may fail to
/// come at first.
#[test]
fn v5_p1_the_grace_period_holds_where_hot_reads_ask_for_the_code_of_compaction() {
    let shape = Shape { partition_operations: 5, ..Shape::TINY };
    let options = Options { clock: ClockMode::Injected, shape, ..Options::default() };
    for is_offline in [false, true] {
        let store = Store::with(InstanceOptions::default(), options.clone());
        store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
        store.put(id(1), &[cell("a", int(1))]);
        store.env.run(store.instance.flush()).expect("flushed");
        store.env.advance(2 * 86_400_000);
        store.env.leave_out(&[Module::Compaction]);
        store.env.set_offline(is_offline);
        let seconds = |seconds: i64| {
            for _ in 0..seconds {
                (0..50).for_each(|_| drop(store.all(id(1))));
                store.env.advance(1000);
                store.env.run_until_idle();
            }
        };
        store.set_options("t", OptionsChange { time_to_live: Some(86_400), ..OptionsChange::default() });
        seconds(60);
        store.env.set_offline(false);
        seconds(60);
        assert_eq!(store.all(id(1)), None, "it is hidden");
        store.set_options("t", OptionsChange { time_to_live: Some(-1), ..OptionsChange::default() });
        assert_eq!(store.ids(), [1], "offline at first: {is_offline}");
    }
}

/// Who sends a damaged frame hears of it at once, also where its requests wait for code.
#[test]
fn a_frame_that_is_damaged_behind_a_rule_is_refused_at_once() {
    let world = World::without_rules();
    let session = world.session(1);
    let mut damaged = frame(|out| {
        out.get_row(2, &matching());
        out.row_write(3, &put("t", id(3), &[cell("a", int(1))]));
    });
    spoil(&mut damaged);
    assert!(refused(session.submit(damaged)).contains("OTSParameterInvalid"));
    assert_eq!(world.later(), ["2: None"], "what came before the damage is done and answered");
}

/// A store whose partition is too large asks for the code of compaction every 30 s, not whenever it looks at the clock.
#[test]
fn code_that_cannot_be_loaded_is_asked_for_after_a_pause() {
    let shape = Shape { partition_operations: 0, ..Shape::TINY };
    let options = Options { clock: ClockMode::Injected, shape, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    store.env.leave_out(&[Module::Compaction]);
    store.env.set_offline(true);
    let noise = |row: i64| "x".repeat(20) + &row.wrapping_mul(0x5DEE_CE66_D1CE_4E5B).to_string();
    // Twice, so that they have to be merged: parts that do not overlap would only move.
    for _ in 0..2 {
        (0..1000).for_each(|row| store.put(id(row), &[cell("a", text(&noise(row)))]));
        store.env.run(store.instance.flush()).expect("flushed");
    }
    store.env.run_until_idle();
    let told = troubles(&store.instance);
    for _ in 0..60 {
        store.env.advance(1000);
        assert!(store.all(id(3)).is_some());
        store.env.run_until_idle();
    }
    let reports = told.take().len();
    assert!((1..=3).contains(&reports), "{reports} in a minute");
    store.env.set_offline(false);
    store.env.advance(31_000);
    assert!(store.all(id(3)).is_some());
    store.env.run_until_idle();
    assert!(store.instance.metrics().compactions > 0, "it goes on");
}

/// A store of several partitions that are in good shape asks for no code of compaction, however long it is read.
#[test]
fn p1_partitions_in_good_shape_ask_for_no_code() {
    let shape = Shape { partition_operations: 0, ..Shape::TINY };
    let options = Options { clock: ClockMode::Injected, shape, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    let noise = |row: i64| "x".repeat(20) + &row.wrapping_mul(0x5DEE_CE66_D1CE_4E5B).to_string();
    (0..150).for_each(|row| store.put(id(row), &[cell("a", text(&noise(row)))]));
    store.compact();
    store.env.run(store.instance.split_partition("t", &KeyValue::Integer(75))).expect("cut");
    store.compact();
    assert_eq!(store.instance.describe_table("t").expect("there").partitions.len(), 2);
    store.env.leave_out(&[Module::Compaction]);
    store.env.set_offline(true);
    let told = troubles(&store.instance);
    for _ in 0..120 {
        store.env.advance(1000);
        assert!(store.all(id(3)).is_some());
        store.env.run_until_idle();
    }
    assert_eq!(*told.borrow(), Vec::<String>::new());
    assert_eq!(store.instance.describe_table("t").expect("there").partitions.len(), 2);
}
