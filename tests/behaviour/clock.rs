//! The device's clock, which may be wrong for a while (V1, V4, V6, V10).

use crate::store::*;
use std::cell::RefCell;
use std::rc::Rc;
use tabstore::Code;
use tabstore::engine::{ClockMode, Options, Shape};
use tabstore::model::KeyType;
use tabstore::model::meter::{Period, Prices};
use tabstore::tablestore::{ComputeConsumed, InstanceOptions, OptionsChange};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
const WEEK_TO_LIVE: OptionsChange = OptionsChange {
    time_to_live: Some(7 * 86_400),
    max_versions: Some(9),
    max_version_offset: None,
    allow_update: None,
};

/// A store on the device's clock; its table keeps rows for a week.
fn store() -> Store {
    let options = Options { clock: ClockMode::Device, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    store.create("t", &[("id", KeyType::Integer)], WEEK_TO_LIVE);
    store
}

/// The store's reports from now on.
fn listen(store: &Store) -> Rc<RefCell<Vec<String>>> {
    let told = Rc::new(RefCell::new(Vec::new()));
    let heard = Rc::clone(&told);
    store.instance.on_trouble(move |trouble| {
        let trouble = trouble.expect("nothing is mended");
        assert_eq!(trouble.code(), Code::ClockJumped);
        heard.borrow_mut().push(trouble.message().to_owned());
    });
    told
}

/// Time passes on both clocks, and the store looks at them.
fn a_second_later(store: &Store) {
    store.env.advance(1000);
    store.update(id(99), &[add("a", None, 1)]);
    store.env.run_until_idle();
}

#[test]
fn v10_a_device_clock_that_was_wrong_once_is_right_again() {
    let mut store = store();
    store.put(id(1), &[cell("a", int(1))]);
    store.env.set_now(NOW + 365 * DAY);
    store.put(id(2), &[cell("a", int(2))]);
    assert_eq!(store.ids(), [2], "by the device's clock the first row has expired");
    store.env.set_now(NOW + 1000);
    for reopened in [false, true] {
        if reopened {
            store.env.run(store.instance.close());
            store.reopen();
        }
        assert_eq!(store.instance.now_ms(), NOW + 1000);
        assert_eq!(store.ids(), [1, 2], "V4");
        store.write(&put("t", id(3), &[cell_at("a", NOW + 1000, int(3))])).expect("V6: the present");
        store.write(&delete("t", id(3))).expect("deleted");
        let id = if reopened { id(5) } else { id(4) };
        store.put(id.clone(), &[cell("a", int(4))]);
        assert_eq!(store.all(id), ints(&[("a", NOW + 1000, 4)]), "V1: a new row has the clock");
        store.write(&delete("t", self::id(if reopened { 5 } else { 4 }))).expect("deleted");
    }
}

#[test]
fn v10_stamps_of_a_row_increase_although_the_device_clock_goes_back() {
    let mut store = store();
    store.env.set_now(NOW + 3 * DAY);
    store.put(id(1), &[cell("a", int(1))]);
    store.env.set_now(NOW);
    store.update(id(1), &[add("a", None, 2)]);
    store.reopen();
    store.update(id(1), &[add("a", None, 3)]);
    let newest = NOW + 3 * DAY;
    assert_eq!(store.all(id(1)), ints(&[("a", newest + 2, 3), ("a", newest + 1, 2), ("a", newest, 1)]));
}

#[test]
fn v10_a_jump_of_the_device_clock_is_told() {
    let store = store();
    let told = listen(&store);
    store.env.advance(30 * DAY);
    a_second_later(&store);
    store.env.set_now(NOW + 30 * DAY + DAY / 2);
    a_second_later(&store);
    assert_eq!(*told.borrow(), [""; 0], "time has passed, and the clock was set by less than a day");
    store.env.set_now(NOW + 395 * DAY + DAY / 2 + 5000);
    a_second_later(&store);
    store.env.set_now(NOW);
    a_second_later(&store);
    store.env.pass(3 * DAY.unsigned_abs());
    a_second_later(&store);
    let texts = [
        "The device's clock has jumped forward by 365 days.",
        "The device's clock has jumped back by 395 days.",
        "The device's clock has jumped back by 3 days.",
    ];
    assert_eq!(*told.borrow(), texts);
}

#[test]
fn v10_a_device_clock_that_went_back_between_openings_is_told_once() {
    let mut store = store();
    store.env.set_now(NOW + 40 * DAY);
    store.put(id(1), &[]);
    store.env.set_now(NOW);
    store.reopen();
    assert_eq!(
        *listen(&store).borrow(),
        ["The device's clock has jumped back by 40 days since the store was last used."]
    );
    store.reopen();
    assert_eq!(*listen(&store).borrow(), [""; 0], "it has been recorded");
    store.env.set_now(NOW + 40 * DAY);
    store.reopen();
    assert_eq!(*listen(&store).borrow(), [""; 0], "nobody had it open for so long");
}

#[test]
fn v10_an_injected_clock_jumps_without_a_word() {
    let mut store = Store::with_table(WEEK_TO_LIVE);
    let told = listen(&store);
    for at in [400 * DAY, -400 * DAY, 0] {
        store.env.set_now(NOW + at);
        a_second_later(&store);
    }
    store.reopen();
    assert_eq!((told.borrow().len(), listen(&store).borrow().len()), (0, 0));
}

/// Rows of a week to live in segments that compaction looks at whenever another one comes.
fn in_segments() -> Store {
    let options = Options { clock: ClockMode::Device, shape: Shape::TINY, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    store.create("t", &[("id", KeyType::Integer)], WEEK_TO_LIVE);
    for row in 0..50 {
        store.put(id(row), &[cell("a", int(row))]);
    }
    flush(&store);
    store
}

fn flush(store: &Store) {
    store.env.run(store.instance.flush()).expect("flushed");
    store.env.run_until_idle();
}

/// Rows are written and flushed, again and again: everything that is due is compacted.
fn compact_in_background(store: &Store) {
    for row in 1000..1004 {
        store.put(id(row), &[cell("a", int(1))]);
        flush(store);
    }
}

#[test]
fn v4_for_an_hour_after_a_jump_forward_compaction_takes_nothing_as_expired() {
    let store = in_segments();
    store.env.set_now(NOW + 365 * DAY);
    compact_in_background(&store);
    store.env.advance(HOUR - 1000);
    compact_in_background(&store);
    store.env.set_now(NOW + HOUR);
    assert_eq!(
        store.ids().iter().filter(|id| **id < 1000).count(),
        50,
        "the clock is right again, and nothing is lost"
    );
    store.env.set_now(NOW + 365 * DAY + HOUR);
    store.env.advance(HOUR);
    compact_in_background(&store);
    store.env.set_now(NOW + HOUR);
    assert_eq!(store.ids().iter().filter(|id| **id < 1000).count(), 0, "it has stood for an hour");
}

#[test]
fn v4_compact_takes_what_has_expired_by_the_device_clock_whatever_it_did() {
    let store = in_segments();
    store.env.set_now(NOW + 365 * DAY);
    store.compact();
    store.env.set_now(NOW);
    assert_eq!(store.ids(), [0; 0]);
}

#[test]
fn r7_a_minute_of_a_transaction_is_measured_by_the_steady_clock() {
    let store = store();
    let start = || {
        let table = tabstore::model::TableName::parse("t").expect("a name");
        store.instance.start_local_transaction(table, &id(1)).expect("started").id
    };
    let tx = start();
    for at in [365 * DAY, -365 * DAY, 0] {
        store.env.set_now(NOW + at);
        let conflict = refused(store.write(&put("t", id(1), &[])));
        assert!(conflict.contains("being modified"), "the lock stays: {conflict}");
    }
    store.env.run(store.instance.commit_transaction(&tx, None)).expect("committed");
    let tx = start();
    store.env.pass(60_000);
    store.put(id(1), &[]);
    assert!(refused(store.env.run(store.instance.commit_transaction(&tx, None))).contains("OTSSessionNotExist"));
}

#[test]
fn c3_a_device_clock_that_was_wrong_loses_and_doubles_no_unit() {
    let mut store = store();
    for at in [0, 365 * DAY, 0, 1000, 365 * DAY, -DAY, 1000] {
        store.env.set_now(NOW + at);
        for row in 0..3 {
            store.update(id(row), &[add("a", None, 1)]);
        }
    }
    store.env.run(store.instance.close());
    store.reopen();
    let end = Some(NOW + 366 * DAY);
    for (start, units) in [(NOW - 2 * DAY, 3.0), (NOW, 12.0), (NOW + 364 * DAY, 6.0)] {
        let end = if start > NOW { end } else { Some(start + DAY + DAY / 2) };
        let request = ComputeConsumed {
            table: Some("t".into()),
            start: Some(start),
            end,
            period: Period::Hour,
            prices: Prices::default(),
        };
        let told = store.env.run(store.instance.compute_consumed(&request)).expect("told");
        assert_eq!(told.total.consumed.write, units, "from {}", (start - NOW) / DAY);
    }
}

/// P1: the load of a partition in a second is no less because the device's clock jumps meanwhile.
#[test]
fn p1_the_load_of_partitions_is_measured_by_the_steady_clock() {
    let shape = Shape { partition_operations: 100, ..Shape::DEFAULT };
    let options = Options { clock: ClockMode::Device, shape, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    for second in 0..5 {
        for row in 0..400 {
            store.put(id(row), &[]);
        }
        store.env.advance(1000);
        store.env.set_now(NOW + (second % 2) * 365 * DAY);
    }
    store.put(id(1), &[]);
    store.env.run_until_idle();
    let table = store.instance.describe_table("t").expect("described");
    assert!(table.partitions.len() > 1, "{:?}", table.partitions);
}
