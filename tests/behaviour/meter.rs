//! The capacity meter (C2, C3, C4, C6, I4): its counts, its records and its prices.

use crate::store::*;
use std::cell::Cell;
use std::ops::{Bound, ControlFlow};
use std::rc::Rc;
use tabstore::engine::{ClockMode, Direction, Engine, KeyRange, Options, RowView, TreeId};
use tabstore::model::meter::{Consumption, Period, Prices, Units};
use tabstore::model::{
    CellChange, CellOp, ChangeKind, InstanceKind, KeyColumn, KeyType, RowChange, TableName, ValueRef,
};
use tabstore::storage::faults::{Call, CrashImages, Hook};
use tabstore::tablestore::{
    ComputeConsumed, ConsumedSeries, CreateTable, Existence, GetRow, IndexSpec, Instance, InstanceOptions,
    OptionsChange, TableRead, UpdateTable,
};
use tabstore::{Code, Error};

/// The second of [`NOW`], which is the first of an hour.
const SECOND: i64 = NOW / 1000;

fn asked(period: Period) -> ComputeConsumed {
    ComputeConsumed { table: None, start: None, end: None, period, prices: Prices::default() }
}

fn consumed(store: &Store, request: &ComputeConsumed) -> ConsumedSeries {
    store.env.run(store.instance.compute_consumed(request)).expect("told")
}

fn of_table(store: &Store, table: &str, period: Period) -> ConsumedSeries {
    consumed(store, &ComputeConsumed { table: Some(table.into()), ..asked(period) })
}

fn pair(units: Units) -> (f64, f64) {
    (units.read, units.write)
}

/// The report of each period: its number behind [`NOW`], its reserved, on-demand and consumed read units.
fn reads(series: &ConsumedSeries, period: Period) -> Vec<(i64, f64, f64, f64)> {
    let number = |told: &Consumption| (told.start / 1000 - SECOND) / period.seconds();
    let told = |told| (number(told), told.reserved.read, told.on_demand.read, told.consumed.read);
    series.periods.iter().map(told).collect()
}

fn read_many(store: &Store, count: usize) {
    let keys = (0..count).map(|_| id(1)).collect::<Vec<_>>();
    for keys in keys.chunks(100) {
        let table = TableName::parse("t").expect("a name");
        let tables = [TableRead { table, keys: keys.to_vec(), options: versions(1) }];
        store.env.run(store.instance.batch_get_row(&tables, &mut [Rows::default()])).expect("read");
    }
}

fn reserve(store: &Store, table: &str, read: i64, write: i64) {
    let request = UpdateTable {
        name: table.into(),
        reserved_read: Some(read),
        reserved_write: Some(write),
        ..UpdateTable::default()
    };
    store.env.run(store.instance.update_table(request)).expect("reserved");
}

fn reserving(read: i64) -> Store {
    let store = Store::with_table(OptionsChange::default());
    reserve(&store, "t", read, 0);
    store
}

/// The documents' example: 100 units reserved, 120, 95 and 110 reads in three seconds: none is refused.
#[test]
fn c2_what_a_second_uses_above_the_reserved_is_on_demand() {
    let store = reserving(100);
    for count in [120, 95, 110] {
        read_many(&store, count);
        store.env.advance(1000);
    }
    let expected = [(0, 100.0, 20.0, 120.0), (1, 100.0, 0.0, 95.0), (2, 100.0, 10.0, 110.0), (3, 100.0, 0.0, 0.0)];
    let series = of_table(&store, "t", Period::Second);
    assert_eq!(reads(&series, Period::Second), expected);
    assert_eq!((series.total.on_demand.read, series.total.consumed.read), (30.0, 325.0));
    let hours = consumed(&store, &asked(Period::Hour));
    assert_eq!(hours.total.on_demand.read, 30.0);
}

#[test]
fn c1_every_operation_on_rows_is_metered() {
    let store = Store::with_table(OptionsChange::default());
    let used = || pair(consumed(&store, &asked(Period::Second)).total.consumed);
    store.put(id(1), &[cell("a", text(&"x".repeat(5000)))]);
    assert_eq!(used(), (0.0, 2.0));
    store.write(&expecting(Existence::ExpectExist, delete("t", id(2)))).expect_err("refused");
    assert_eq!(used(), (1.0, 3.0), "a condition that failed");
    store.get("t", id(1), versions(1));
    assert_eq!(used(), (3.0, 3.0));
    store.range(&range("t", Direction::Forward));
    assert_eq!(used(), (5.0, 3.0));
    let writes = [put("t", id(3), &[]), update("t", id(4), &[increment("n", 1)]), put("t", key(&[("x", int(1))]), &[])];
    store.env.run(store.instance.batch_write_row(&writes, None)).expect("written");
    assert_eq!(used(), (5.0, 6.0));
    read_many(&store, 3);
    assert_eq!(used(), (11.0, 6.0));
    store.get("t", id(77), versions(1));
    assert_eq!(used(), (12.0, 6.0));
    store.env.run(store.instance.batch_write_row(&[], None)).expect_err("refused");
    store.set_options("t", OptionsChange { max_versions: Some(2), ..OptionsChange::default() });
    assert_eq!(used(), (12.0, 6.0), "whole batches that are refused and operations on tables cost nothing");
    let hours = consumed(&store, &asked(Period::Hour)).total;
    assert_eq!((pair(hours.consumed), pair(hours.on_demand)), ((12.0, 6.0), (12.0, 6.0)));
    let table = TableName::parse("t").expect("a name");
    let start = || store.instance.start_local_transaction(table, &id(9)).expect("started").id;
    store.env.run(store.instance.commit_transaction(&start(), None)).expect("committed");
    store.instance.abort_transaction(&start()).expect("aborted");
    store.instance.abort_transaction("nonsense").expect_err("refused");
    assert_eq!(used(), (12.0, 11.0), "a transaction costs a unit when it starts and one when it ends");
    let atomic = [put("t", id(7), &[]), update("t", id(7), &[add("a", None, 1)])];
    store.env.run(store.instance.batch_write_row_atomic(&atomic, None)).expect("done").remove(0).expect("written");
    assert_eq!(used(), (12.0, 13.0));
}

#[test]
fn c4_a_table_that_does_not_exist_has_nothing_reserved_and_costs_a_unit_on_demand() {
    let store = reserving(100);
    let request = GetRow { table: TableName::parse("no").expect("a name"), key: id(1), options: versions(1) };
    store.env.run(store.instance.get_row(&request, &mut Rows::default())).expect_err("refused");
    store.write(&put("no", id(1), &[])).expect_err("refused");
    store.get("t", id(1), versions(1));
    let total = consumed(&store, &asked(Period::Second)).total;
    assert_eq!((pair(total.on_demand), pair(total.consumed)), ((1.0, 1.0), (2.0, 1.0)));
    assert_eq!(pair(of_table(&store, "t", Period::Second).total.on_demand), (0.0, 0.0));
    let unknown = ComputeConsumed { table: Some("no".into()), ..asked(Period::Hour) };
    let told = refused(store.env.run(store.instance.compute_consumed(&unknown)));
    assert_eq!(told, "OTSObjectNotExist: Requested table does not exist.");
}

/// The documents' example: 80 units reserved for an hour.
#[test]
fn c3_an_hour_averages_the_reserved_units_and_sums_those_on_demand() {
    let store = reserving(80);
    read_many(&store, 100);
    store.env.advance(1800 * 1000);
    read_many(&store, 90);
    reserve(&store, "t", 40, 0);
    store.env.advance(5400 * 1000);
    let one = Units { read: 1.0, write: 1.0 };
    let prices = Prices { reserved: one, on_demand: Units { read: 10_000.0, write: 0.0 } };
    let series = consumed(&store, &ComputeConsumed { prices, ..asked(Period::Hour) });
    let expected = [(0, 60.0, 70.0, 190.0), (1, 40.0, 0.0, 0.0)];
    assert_eq!(
        reads(&series, Period::Hour),
        expected,
        "two halves of 80 and 40; the last second is on demand above 40"
    );
    assert!((series.total.cost - (100.0 + 70.0)).abs() < 1e-9);
    let prices = Prices::default();
    assert!(prices.on_demand.read > prices.reserved.read && prices.on_demand.write > prices.reserved.write);
    assert!(prices.on_demand.read * 3600.0 / 10_000.0 > prices.reserved.read, "for what a reserved unit serves, too");
}

#[test]
fn c3_the_meter_survives_a_restart() {
    let mut store = reserving(10);
    read_many(&store, 25);
    store.env.advance(1000);
    store.put(id(1), &[]);
    store.env.advance(2000);
    store.env.run(store.instance.close());
    store.reopen();
    read_many(&store, 12);
    let seconds = [(0, 10.0, 15.0, 25.0), (1, 10.0, 0.0, 0.0), (2, 10.0, 0.0, 0.0), (3, 10.0, 2.0, 12.0)];
    assert_eq!(reads(&consumed(&store, &asked(Period::Second)), Period::Second), seconds);
    store.compact();
    store.reopen();
    assert_eq!(reads(&consumed(&store, &asked(Period::Second)), Period::Second), seconds);
    store.env.advance(2 * 3600 * 1000);
    let hours = consumed(&store, &asked(Period::Hour));
    assert_eq!(reads(&hours, Period::Hour)[..2], [(0, 10.0, 17.0, 37.0), (1, 10.0, 0.0, 0.0)]);
    assert_eq!(hours.total.consumed.write, 1.0);
}

/// A second that goes on after a restart is one second.
#[test]
fn c2_a_restart_does_not_split_a_second() {
    let mut store = reserving(10);
    read_many(&store, 8);
    store.env.run(store.instance.close());
    store.reopen();
    read_many(&store, 8);
    assert_eq!(reads(&consumed(&store, &asked(Period::Second)), Period::Second), [(0, 10.0, 6.0, 16.0)]);
}

#[test]
fn c3_a_crash_loses_the_running_second_at_most() {
    let mut store = Store::with_table(OptionsChange::default());
    for _ in 0..5 {
        store.put(id(1), &[]);
        read_many(&store, 3);
        store.env.advance(1000);
    }
    store.put(id(1), &[]);
    store.reopen();
    let total = consumed(&store, &asked(Period::Hour)).total;
    assert_eq!(pair(total.consumed), (15.0, 5.0));
}

/// C3, at every point where a crash can come: a second and its hour are stored together, and nothing is counted twice.
#[test]
fn c3_any_crash_leaves_whole_seconds() {
    let store = Store::with_table(OptionsChange::default());
    let images = Rc::new(CrashImages::new(&store.storage.image()));
    let instance = store.opened_with(Rc::clone(&images)).expect("opens");
    let request = GetRow { table: TableName::parse("t").expect("a name"), key: id(1), options: versions(1) };
    for second in 0..6 {
        store.env.run(async {
            instance.get_row(&request, &mut Rows::default()).await.expect("read");
            if second % 2 == 0 {
                instance.write_row(&put("t", id(second), &[]), None).await.expect("written");
            }
        });
        store.env.advance(1000);
        if second == 3 {
            store.env.run(instance.compact()).expect("compacted");
        }
    }
    store.env.run(instance.close());
    let mut before = 0.0;
    for image in images.take() {
        let totals = store.env.run(async {
            let engine =
                Engine::open(image, Rc::new(store.env.clone()), store.engine_options.clone()).await.expect("opens");
            let instance = Instance::open(engine, store.options).await.expect("opens");
            let seconds = instance.compute_consumed(&asked(Period::Second)).await.expect("told").total;
            let hours = instance.compute_consumed(&asked(Period::Hour)).await.expect("told").total;
            instance.close().await;
            [seconds, hours]
        });
        let [seconds, hours] = totals.map(|total| (total.consumed, total.on_demand));
        assert_eq!(seconds, hours);
        assert!(seconds.0.read >= before && seconds.0.read <= before + 1.0, "{seconds:?} after {before}");
        before = seconds.0.read;
    }
    assert_eq!(before, 6.0);
}

#[test]
fn c3_seconds_are_kept_an_hour_and_hours_thirty_days() {
    let store = Store::with_table(OptionsChange::default());
    let day = 24 * 3600 * 1000;
    store.put(id(1), &[]);
    store.env.advance(3599 * 1000);
    assert_eq!(consumed(&store, &asked(Period::Second)).total.consumed.write, 1.0);
    store.env.advance(1000);
    assert_eq!(consumed(&store, &asked(Period::Second)).total.consumed.write, 0.0);
    store.env.advance(29 * day);
    store.compact();
    assert_eq!(consumed(&store, &asked(Period::Hour)).total.consumed.write, 1.0);
    let old = ComputeConsumed { start: Some(NOW), end: Some(NOW + 3_600_000), ..asked(Period::Second) };
    assert_eq!(consumed(&store, &old).total.consumed.write, 0.0, "it is gone for good");
    store.env.advance(day + 1000);
    store.compact();
    let old = ComputeConsumed { start: Some(NOW), end: Some(NOW + 3_600_000), ..asked(Period::Hour) };
    assert_eq!(consumed(&store, &old).periods, []);
}

/// C3: clocks of lessons travel, both ways.
#[test]
fn c3_a_clock_that_jumps_loses_nothing() {
    let mut store = reserving(4);
    for at in [0, 5_000_000, 1, 5_000_001, -3_000_000_000, 7_999, 5_000_000, 99_999_999_999, 2] {
        store.env.set_now(NOW + at * 1000);
        read_many(&store, 3);
    }
    store.env.set_now(NOW + 5_000_010_000);
    let series = consumed(&store, &asked(Period::Second));
    let told = reads(&series, Period::Second).into_iter().filter(|(.., used)| *used > 0.0).collect::<Vec<_>>();
    assert_eq!(told, [(5_000_000, 4.0, 2.0, 6.0), (5_000_001, 4.0, 0.0, 3.0)]);
    for at in [i64::MIN, i64::MAX, 0, -1] {
        store.env.set_now(at);
        read_many(&store, 1);
        for period in [Period::Second, Period::Hour] {
            consumed(&store, &asked(period));
            let all = ComputeConsumed { start: Some(i64::MIN), end: Some(i64::MAX), ..asked(period) };
            consumed(&store, &all);
        }
    }
    store.env.set_now(NOW);
    store.env.run(store.instance.close());
    store.reopen();
    assert_eq!(consumed(&store, &asked(Period::Hour)).total.consumed.read, 9.0, "the seconds 0, 1 and 2");
    let later = ComputeConsumed { end: Some(NOW + 8_000_000), ..asked(Period::Hour) };
    assert_eq!(consumed(&store, &later).total.consumed.read, 12.0, "and what has been counted ahead of the clock");
}

/// C1, C3: an index that is built anew has another tree, and the bill of the one before.
#[test]
fn c3_an_index_that_is_built_anew_keeps_its_history_and_what_was_not_counted_yet() {
    let mut store = Store::with_table(OptionsChange::default());
    let index =
        IndexSpec { name: "i".into(), key: vec!["id".into()], time_to_live: Some(86_400), ..IndexSpec::default() };
    store.env.run(store.instance.create_index("t", index, true)).expect("made");
    store.put(id(1), &[]);
    let live = |store: &Store, time_to_live| {
        store.set_options("i", OptionsChange { time_to_live: Some(time_to_live), ..OptionsChange::default() });
        store.env.run_until_idle();
    };
    let read = |store: &Store| drop(store.range(&range("i", Direction::Forward)));
    let used = |store: &Store| of_table(store, "i", Period::Hour).total.consumed.read;
    (0..10).for_each(|_| read(&store));
    store.env.advance(5000);
    assert_eq!(used(&store), 10.0);
    (0..3).for_each(|_| read(&store));
    live(&store, -1);
    read(&store);
    assert_eq!(used(&store), 14.0);
    store.env.advance(5000);
    assert_eq!(consumed(&store, &asked(Period::Hour)).total.consumed.read, 15.0, "and one of the write");
    store.reopen();
    live(&store, 86_400);
    live(&store, -1);
    read(&store);
    assert_eq!(used(&store), 15.0);
}

/// C2, V10: reservations are billed by the clock, also if that was set back behind earlier changes: these never come.
#[test]
fn c2_v10_reserved_units_are_billed_by_a_clock_that_went_back() {
    let (hour, minute) = (3_600_000, 60_000);
    let mut store = Store::with_table(OptionsChange::default());
    let at = |store: &Store, time: i64| store.env.set_now(NOW + time);
    at(&store, hour);
    reserve(&store, "t", 100, 0);
    at(&store, 2 * hour);
    reserve(&store, "t", 300, 0);
    at(&store, 30 * minute);
    reserve(&store, "t", 200, 0);
    let hours = |store: &Store| -> Vec<f64> {
        of_table(store, "t", Period::Hour).periods.iter().map(|period| period.reserved.read).collect()
    };
    at(&store, 4 * hour);
    assert_eq!(hours(&store), [100.0, 200.0, 200.0, 200.0], "half an hour of 200, then 200");
    reserve(&store, "t", 0, 0);
    at(&store, 6 * hour);
    store.env.run_until_idle();
    store.reopen();
    assert_eq!(hours(&store), [100.0, 200.0, 200.0, 200.0]);
    // A table that is deleted before its last change is no more.
    reserve(&store, "t", 500, 0);
    at(&store, 5 * hour);
    store.env.run(store.instance.delete_table("t")).expect("deleted");
    at(&store, 9 * hour);
    let all = consumed(&store, &asked(Period::Hour));
    let all: Vec<f64> = all.periods.iter().map(|period| period.reserved.read).collect();
    assert_eq!(all, [100.0, 200.0, 200.0, 200.0]);
}

/// C2, T6: a reservation and its bill change in one step, at any crash.
#[test]
fn c2_t6_a_crash_leaves_a_change_of_reserved_throughput_with_its_place_in_the_bill_or_not_at_all() {
    let store = reserving(6);
    store.env.run_until_idle();
    let then = NOW + 200_000;
    store.env.set_now(then);
    let images = Rc::new(CrashImages::new(&store.storage));
    let instance = store.opened_with(Rc::clone(&images)).expect("opens");
    let change = UpdateTable { name: "t".into(), reserved_read: Some(100), ..UpdateTable::default() };
    store.env.run(instance.update_table(change)).expect("reserved");
    store.env.run(instance.delete_table("t")).expect("deleted");
    store.env.run_until_idle();
    let mut seen = Vec::new();
    for image in images.take() {
        store.env.set_now(then);
        let (rate, reserved) = store.env.run(async {
            let engine =
                Engine::open(image, Rc::new(store.env.clone()), store.engine_options.clone()).await.expect("opens");
            let instance = Instance::open(engine, store.options).await.expect("opens");
            let rate = instance.describe_table("t").map_or(0, |table| table.throughput.read);
            store.env.set_now(then + 10_000);
            let series = instance.compute_consumed(&asked(Period::Second)).await.expect("told");
            instance.close().await;
            (rate, series.total.reserved.read)
        });
        seen.push(rate);
        // The second that has begun counts as a whole.
        let expected = f64::from(200 * 6 + 10 * rate);
        assert!((reserved - expected).abs() <= f64::from(rate.max(6)), "{rate} are reserved: {reserved} of {expected}");
    }
    seen.dedup();
    assert_eq!(seen, [6, 100, 0]);
}

#[test]
fn c3_deleted_tables_stay_in_the_instances_bill() {
    let store = reserving(6);
    read_many(&store, 10);
    store.env.advance(10_000);
    store.env.run(store.instance.delete_table("t")).expect("deleted");
    store.env.advance(10_000);
    let series = consumed(&store, &asked(Period::Second));
    assert_eq!(series.total.reserved.read, 60.0, "ten seconds of 6");
    assert_eq!((series.total.on_demand.read, series.total.consumed.read), (4.0, 10.0));
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    assert_eq!(of_table(&store, "t", Period::Second).periods, [], "another table of that name is another table");
}

#[test]
fn c3_a_range_of_time_can_be_asked_for() {
    let store = Store::with_table(OptionsChange::default());
    for _ in 0..6 {
        read_many(&store, 1);
        store.env.advance(1000);
    }
    let request = ComputeConsumed { start: Some(NOW + 1500), end: Some(NOW + 3001), ..asked(Period::Second) };
    let told = reads(&consumed(&store, &request), Period::Second).into_iter().map(|(second, ..)| second);
    assert_eq!(told.collect::<Vec<_>>(), [1, 2, 3]);
    let request = ComputeConsumed { start: Some(NOW + 9000), end: Some(NOW), ..asked(Period::Second) };
    let told = refused(store.env.run(store.instance.compute_consumed(&request)));
    assert_eq!(told, "OTSParameterInvalid: The start must not be after the end.");
}

/// A storage on which nothing can be committed while it is full.
#[derive(Default)]
struct Full(Cell<bool>);

impl Hook for Full {
    async fn before(&self, call: &Call) -> tabstore::Result<()> {
        match call {
            Call::Commit(_) if self.0.get() => Err(Error::new(Code::QuotaExceeded, "the origin is full")),
            _ => Ok(()),
        }
    }
}

#[test]
fn c3_a_full_disk_stops_neither_reads_nor_the_meter() {
    let store = Store::with_table(OptionsChange::default());
    let full = Rc::new(Full::default());
    let instance = store.opened_with(Rc::clone(&full)).expect("opens");
    full.0.set(true);
    let request = GetRow { table: TableName::parse("t").expect("a name"), key: id(1), options: versions(1) };
    for _ in 0..200 {
        store.env.run(instance.get_row(&request, &mut Rows::default())).expect("read");
        store.env.advance(1000);
        store.env.run_until_idle();
    }
    let total = || store.env.run(instance.compute_consumed(&asked(Period::Hour))).expect("told").total.consumed.read;
    assert_eq!(total(), 64.0, "the newest wait to be stored");
    store.env.run(instance.write_row(&put("t", id(1), &[]), None)).expect_err("the disk is full");
    full.0.set(false);
    store.env.run(instance.write_row(&put("t", id(1), &[]), None)).expect("written");
    assert_eq!(total(), 63.0, "and the second of the write");
    store.env.run(instance.flush()).expect("flushed");
    assert_eq!(total(), 63.0, "they are stored, and once");
}

/// Damaged records count as nothing, and disturb nothing.
#[test]
fn c3_a_damaged_row_of_the_meter_disturbs_nothing() {
    let mut store = Store::with_table(OptionsChange::default());
    read_many(&store, 5);
    store.env.run(store.instance.close());
    store.env.run(async {
        let engine = Engine::open(store.storage.clone(), Rc::new(store.env.clone()), store.engine_options.clone());
        let engine = engine.await.expect("opens");
        let mut keys = Vec::new();
        let all = KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded };
        let mut see = |key: &[u8], _: &RowView<'_>| {
            keys.push(key.to_vec());
            ControlFlow::Continue(())
        };
        engine.scan(TreeId(u32::MAX), all, Direction::Forward, &mut see).await.expect("read");
        assert_eq!(keys.len(), 2, "a second and its hour");
        for (key, value) in keys.iter().zip([ValueRef::Binary(&[9, 9]), ValueRef::Integer(1)]) {
            let cells = [CellChange { column: "tally", op: CellOp::Put(NOW, value) }];
            let change = RowChange { kind: ChangeKind::Put, stamp: NOW, cells: &cells };
            engine.write(TreeId(u32::MAX), key, &change, None).await.expect("written");
        }
        engine.close().await;
    });
    store.reopen();
    assert_eq!(consumed(&store, &asked(Period::Second)).periods, []);
    read_many(&store, 7);
    store.compact();
    assert_eq!(consumed(&store, &asked(Period::Second)).total.consumed.read, 7.0);
    assert_eq!(consumed(&store, &asked(Period::Hour)).total.consumed.read, 7.0);
}

#[test]
fn i4_c6_a_capacity_instance_bills_everything_on_demand() {
    let options = InstanceOptions { kind: InstanceKind::Capacity, ..InstanceOptions::default() };
    let store = Store::with(options, Options { clock: ClockMode::Injected, ..Options::default() });
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    store.put(id(1), &[]);
    read_many(&store, 3);
    let total = consumed(&store, &asked(Period::Second)).total;
    assert_eq!((pair(total.reserved), pair(total.on_demand)), ((0.0, 0.0), (3.0, 1.0)));
}

/// C6: the same calls, with and without a reservation, give the same results by the same calls of the storage.
#[test]
fn c6_a_reservation_changes_neither_service_nor_work() {
    let run = |reserved_read| {
        let store = Store::new();
        let key = vec![KeyColumn::new("id", KeyType::Integer)];
        let request = CreateTable { name: "t".into(), key, reserved_read, ..CreateTable::default() };
        store.env.run(store.instance.create_table(request)).expect("created");
        for n in 0..200 {
            store.put(id(n), &[cell("a", int(n))]);
        }
        read_many(&store, 300);
        let metrics = store.instance.metrics();
        (store.ids(), metrics.commits)
    };
    let ((free, commits), (reserved, reserved_commits)) = (run(None), run(Some(1)));
    assert_eq!(free, reserved);
    assert!(reserved_commits <= commits + 1, "{commits} commits, {reserved_commits} with a reservation");
}

/// Counts share the commits of writes; reads alone make one commit a second.
#[test]
fn c3_metering_takes_no_commits_of_its_own_from_writers() {
    let store = Store::with_table(OptionsChange::default());
    let commits = || store.instance.metrics().commits;
    store.put(id(0), &[]);
    let before = commits();
    for n in 0..10 {
        store.env.advance(1000);
        store.put(id(n), &[]);
    }
    assert_eq!(commits(), before + 10);
    for _ in 0..10 {
        store.env.advance(1000);
        read_many(&store, 500);
        store.env.run_until_idle();
    }
    assert_eq!(commits(), before + 20);
    for _ in 0..10 {
        store.env.advance(1000);
    }
    store.env.run_until_idle();
    assert_eq!(commits(), before + 20, "nothing is stored when nothing was used");
}

/// V4: the background removes expired data, at no cost.
#[test]
fn v4_the_removal_of_what_has_expired_consumes_nothing() {
    let store = Store::with_table(OptionsChange { time_to_live: Some(86_400), ..OptionsChange::default() });
    let long = "x".repeat(10_000);
    (0..20).for_each(|row| store.put(id(row), &[cell("a", text(&long))]));
    let used = || pair(consumed(&store, &asked(Period::Hour)).total.consumed);
    let before = used();
    assert_eq!(before, (0.0, 60.0), "each row is 3 units");
    store.env.advance(2 * 86_400_000);
    store.compact();
    store.env.run_until_idle();
    let tree = store.instance.tree_of(TableName::parse("t").expect("a name")).expect("there");
    assert!(store.instance.metrics().trees.iter().all(|other| other.tree != tree), "it is gone");
    assert_eq!(used(), before);
}
