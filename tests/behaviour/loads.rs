//! Sorted rows in great numbers (R2: BatchWriteRow without its limits): they are checked, stamped, metered and refused as
//! every PutRow, and stored together.

use crate::store::*;
use std::cell::RefCell;
use std::rc::Rc;
use tabstore::Code;
use tabstore::engine::{ClockMode, Direction, Options, Shape};
use tabstore::model::{Consumed, DefinedColumn, IndexKind, KeyType, TableName, ValueType};
use tabstore::session::codec::{FrameWriter, Reader, responses};
use tabstore::session::{Session, Sessions};
use tabstore::tablestore::{
    Existence, IndexSpec, InstanceOptions, Loader, OptionsChange, PutRows, RowWrite, StoreRows, ThrottleOptions,
};

type Rejected = Vec<(usize, String)>;

fn loader() -> Loader {
    Loader::of_at_least(1)
}

/// Puts rows; which were refused, or `None` if they were written at once.
fn put_rows(store: &Store, loader: &Loader, writes: Vec<RowWrite<'_>>) -> Option<Rejected> {
    let writes: Vec<_> = writes.into_iter().map(Ok).collect();
    let count = writes.len();
    match store.env.run(store.instance.put_rows(loader, writes, None)) {
        PutRows::Taken { rows, refused, .. } => {
            assert_eq!(rows, count);
            Some(refused.into_iter().map(|(at, failure)| (at, failure.to_string())).collect())
        }
        PutRows::Written(results) => {
            assert_eq!(results.len(), count);
            None
        }
    }
}

fn rows(ids: std::ops::Range<i64>, value: i64) -> Vec<RowWrite<'static>> {
    ids.map(|row| put("t", id(row), &[cell("v", int(value))])).collect()
}

/// Rows that have to be taken, all of them.
fn take(store: &Store, loader: &Loader, ids: std::ops::Range<i64>, value: i64) {
    assert_eq!(put_rows(store, loader, rows(ids, value)), Some(Vec::new()), "all are taken");
}

/// Everything that was taken has to be stored.
fn finish(store: &Store, loader: &Loader) -> Consumed {
    let stored = store.env.run(store.instance.store_rows(loader));
    assert!(stored.failed.is_empty(), "{stored:?}");
    stored.consumed
}

/// Puts rows; the load that took them, if one did.
fn load_of(store: &Store, loader: &Loader, ids: std::ops::Range<i64>, value: i64) -> Option<u64> {
    let writes = rows(ids, value).into_iter().map(Ok).collect();
    match store.env.run(store.instance.put_rows(loader, writes, None)) {
        PutRows::Taken { load, .. } => Some(load),
        PutRows::Written(_) => None,
    }
}

#[test]
fn r1_rows_are_there_when_they_are_stored_and_not_before() {
    let mut store = Store::with_table(OptionsChange::default());
    let one = loader();
    take(&store, &one, 0..300, 1);
    take(&store, &one, 300..500, 2);
    assert_eq!(store.ids(), Vec::<i64>::new());
    assert_eq!(finish(&store, &one), Consumed::writing(500));
    assert!(one.is_empty());
    assert_eq!(store.ids(), (0..500).collect::<Vec<_>>());
    assert_eq!(store.all(id(7)), ints(&[("v", NOW, 1)]));
    store.reopen();
    assert_eq!(store.all(id(499)), ints(&[("v", NOW, 2)]));
    assert_eq!(finish(&store, &one), Consumed::default(), "nothing is left to be stored");
}

#[test]
fn r1_a_put_replaces_its_row_and_v10_versions_increase() {
    let store = Store::with_table(OptionsChange { max_versions: Some(9), ..OptionsChange::default() });
    for row in [3, 4] {
        store.put(id(row), &[cell("old", int(1)), cell("v", int(0))]);
    }
    store.env.run(store.instance.flush()).expect("flushed");
    let one = loader();
    take(&store, &one, 0..10, 1);
    store.update(id(20), &[add("v", None, 5)]);
    store.update(id(4), &[add("v", None, 2)]);
    assert_eq!(store.all(id(3)), ints(&[("v", NOW + 1, 1)]), "an update of a row among them had them stored");
    assert_eq!(store.all(id(4)), ints(&[("v", NOW + 2, 2), ("v", NOW + 1, 1)]));
    let _ = finish(&store, &one);
    store.compact();
    assert_eq!(store.all(id(4)), ints(&[("v", NOW + 2, 2), ("v", NOW + 1, 1)]));
    assert_eq!(store.all(id(3)), ints(&[("v", NOW + 1, 1)]));
}

#[test]
fn v6_r8_a_row_that_is_wrong_fails_alone() {
    let store = Store::with_table(OptionsChange::default());
    let one = loader();
    let mut some = rows(0..6, 1);
    some[1] = put("t", key(&[("id", text("1"))]), &[]);
    some[2] = put("t", id(2), &[cell_at("v", 5, int(1))]);
    some[4] = put("t", id(4), &[cell("id", int(1))]);
    let refused = put_rows(&store, &one, some).expect("taken");
    let told: Vec<_> = refused.iter().map(|(at, error)| (*at, error.split(':').next().unwrap_or_default())).collect();
    assert_eq!(told, [(1, "OTSInvalidPK"), (2, "OTSParameterInvalid"), (4, "OTSParameterInvalid")]);
    assert_eq!(finish(&store, &one), Consumed::writing(3));
    assert_eq!(store.ids(), [0, 3, 5]);
}

#[test]
fn v3_v5_compaction_keeps_of_loaded_rows_what_the_table_keeps() {
    let store = Store::with_table(OptionsChange { max_versions: Some(2), ..OptionsChange::default() });
    let one = loader();
    let versions: Vec<_> = (0..5).map(|back| cell_at("v", NOW - back * 1000, int(back))).collect();
    assert_eq!(put_rows(&store, &one, vec![put("t", id(1), &versions)]), Some(Vec::new()));
    let _ = finish(&store, &one);
    let kept = ints(&[("v", NOW, 0), ("v", NOW - 1000, 1)]);
    assert_eq!(store.all(id(1)), kept);
    store.compact();
    assert_eq!(store.all(id(1)), kept);
    store.set_options("t", OptionsChange { time_to_live: Some(86_400), ..OptionsChange::default() });
    store.env.advance(2 * 86_400_000);
    assert_eq!(store.all(id(1)), None, "it has expired");
    store.compact();
    assert!(store.ids().is_empty());
}

#[test]
fn rows_that_cannot_be_loaded_are_written_at_once() {
    let store = Store::with_table(OptionsChange::default());
    let descending: Vec<_> = [3, 2, 2].map(|row| put("t", id(row), &[cell("v", int(row))])).into();
    assert_eq!(put_rows(&store, &loader(), descending), None);
    let expecting = vec![expecting(Existence::ExpectNotExist, put("t", id(9), &[]))];
    assert_eq!(put_rows(&store, &loader(), expecting), None);
    assert_eq!(put_rows(&store, &loader(), vec![update("t", id(4), &[add("v", None, 4)])]), None);
    assert_eq!(put_rows(&store, &loader(), vec![put("none", id(4), &[])]), None);
    assert_eq!(put_rows(&store, &Loader::default(), rows(10..20, 1)), None, "they are few");
    assert_eq!(put_rows(&store, &loader(), rows(15..25, 2)), None, "some are in memory");
    assert_eq!(store.ids(), (2..4).chain([4, 9]).chain(10..25).collect::<Vec<_>>());
    // A load goes on where it is followed, whatever was written beside it.
    let one = loader();
    take(&store, &one, 100..110, 1);
    assert_eq!(put_rows(&store, &one, rows(105..120, 2)), None, "they do not follow: the others are stored first");
    assert_eq!(store.all(id(104)), ints(&[("v", NOW + 2, 1)]), "this one was not replaced");
    take(&store, &one, 200..210, 3);
    let _ = finish(&store, &one);
    take(&store, &one, 300..310, 4);
    let _ = finish(&store, &one);
    assert_eq!(store.ids().len(), 19 + 20 + 10 + 10);
}

#[test]
fn r1_few_large_rows_are_loaded_as_many_small_ones_are() {
    let store = Store::with_table(OptionsChange::default());
    let (one, big) = (Loader::default(), "x".repeat(5000));
    let large = |ids: std::ops::Range<i64>| ids.map(|row| put("t", id(row), &[cell("v", text(&big))])).collect();
    assert_eq!(put_rows(&store, &one, large(0..10)), None, "they are few and small");
    assert_eq!(put_rows(&store, &one, large(10..30)), Some(Vec::new()));
    assert_eq!(finish(&store, &one), Consumed::writing(40));
    assert_eq!(store.ids().len(), 30);
}

#[test]
fn r1_rows_that_follow_when_somebody_else_had_a_load_stored_are_loaded_too() {
    let store = Store::with_table(OptionsChange::default());
    let one = Loader::default();
    let load_of = |ids, value| load_of(&store, &one, ids, value);
    let first = load_of(0..300, 1).expect("taken");
    assert_eq!(load_of(300..310, 1), Some(first));
    store.update(id(7), &[add("n", None, 1)]);
    assert_eq!(store.ids().len(), 310, "it is stored");
    assert_eq!(load_of(310..320, 2), None, "few do not begin one");
    let second = load_of(320..620, 2).expect("taken");
    assert!(second > first);
    // Those of two loads at once, the second not yet stored when the third begins.
    let both = store.env.run(async {
        let touched = update("t", id(400), &[add("n", None, 1)]);
        let more = rows(620..920, 3).into_iter().map(Ok).collect();
        let touch = store.instance.write_row(&touched, None);
        futures_util::future::join(touch, store.instance.put_rows(&one, more, None)).await
    });
    let _ = both.0.expect("written");
    assert!(matches!(both.1, PutRows::Taken { load, .. } if load > second));
    assert_eq!(store.ids().len(), 620);
    assert_eq!(finish(&store, &one), Consumed::writing(910), "those that were written told what they cost");
    assert_eq!(store.ids(), (0..920).collect::<Vec<_>>());
    assert_eq!(finish(&store, &one), Consumed::default());
}

#[test]
fn i3_a_table_with_an_index_takes_no_load_and_gets_the_rows_of_one_that_was_under_way() {
    let store = Store::with_table(OptionsChange::default());
    let one = loader();
    let some: Vec<_> = (0..40).map(|row| put("t", id(row), &[cell("v", int(row % 7))])).collect();
    assert_eq!(put_rows(&store, &one, some), Some(Vec::new()));
    store.env.run(async {
        let column = DefinedColumn { name: "v".into(), column_type: ValueType::Integer };
        store.instance.add_defined_column("t", vec![column]).await.expect("defined");
        let (key, columns) = (vec!["v".into()], Vec::new());
        let index = IndexSpec { name: "by_v".into(), kind: IndexKind::Global, key, columns, time_to_live: None };
        store.instance.create_index("t", index, true).await.expect("created");
    });
    assert_eq!(put_rows(&store, &one, rows(100..120, 3)), None);
    assert_eq!(finish(&store, &one), Consumed::writing(40));
    store.env.run_until_idle();
    let (found, _) = store.range(&range("by_v", Direction::Forward));
    assert_eq!(found.len(), 60);
}

#[test]
fn r7_rows_that_a_transaction_holds_are_refused_and_a_load_does_not_come_up_inside_of_one() {
    let store = Store::new();
    store.create("t", &[("p", KeyType::Integer), ("id", KeyType::Integer)], OptionsChange::default());
    let row = |p: i64, row: i64| put("t", key(&[("p", int(p)), ("id", int(row))]), &[cell("v", int(1))]);
    let one = loader();
    assert_eq!(put_rows(&store, &one, vec![row(1, 1), row(1, 2), row(2, 1)]), Some(Vec::new()));
    let table = TableName::parse("t").expect("a name");
    let started = store.instance.start_local_transaction(table, &key(&[("p", int(1))])).expect("started");
    let seen = |transaction: Option<&str>| {
        let mut found = Rows::default();
        let key = key(&[("p", int(1)), ("id", int(2))]);
        let request = tabstore::tablestore::GetRow { table, key, options: versions(1) };
        store.env.run(store.instance.get_row_in(transaction, &request, &mut found)).expect("read");
        found.0.len()
    };
    assert_eq!((seen(Some(&started.id)), seen(None)), (1, 1), "what was put before is there");
    let _ = finish(&store, &one);
    let refused = put_rows(&store, &one, vec![row(1, 5), row(3, 1)]).expect("taken");
    assert_eq!(refused, [(0, "OTSRowOperationConflict: Data is being modified by the other request.".to_owned())]);
    assert_eq!(finish(&store, &one), Consumed::writing(1));
    let write = put("t", key(&[("p", int(1)), ("id", int(2))]), &[cell("v", int(9))]);
    store.env.run(store.instance.write_row_in(Some(&started.id), &write, None)).expect("written");
    store.env.run(store.instance.commit_transaction(&started.id, None)).expect("committed");
    assert_eq!(store.range(&range("t", Direction::Forward)).0.len(), 4);
}

#[test]
fn c1_c5_loaded_rows_are_metered_and_throttled_row_by_row() {
    let throttle = ThrottleOptions { units_per_second: Some(2), table_operations_per_second: None };
    let options = InstanceOptions { throttle, ..InstanceOptions::default() };
    let store = Store::with(options, Options { clock: ClockMode::Injected, ..Options::default() });
    store.create("t", &[("p", KeyType::Integer), ("id", KeyType::Integer)], OptionsChange::default());
    let row = |p: i64, row: i64| put("t", key(&[("p", int(p)), ("id", int(row))]), &[cell("v", text("x"))]);
    let before = store.instance.units_used();
    let one = loader();
    let refused = put_rows(&store, &one, vec![row(1, 1), row(1, 2), row(1, 3), row(2, 1)]).expect("taken");
    assert_eq!(refused, [(2, "OTSCapacityUnitExhausted: Capacity unit is not enough.".to_owned())]);
    assert_eq!(finish(&store, &one), Consumed::writing(3));
    let used = store.instance.units_used();
    assert_eq!([used[0] - before[0], used[1] - before[1]], [0, 4], "a refused row costs a unit as ever");
}

#[test]
fn c1_rows_whose_client_is_gone_are_metered_when_others_have_them_stored() {
    let store = Store::with_table(OptionsChange::default());
    let used = || store.instance.units_used()[1];
    let one = loader();
    take(&store, &one, 0..40, 1);
    let before = used();
    let touched = update("t", id(7), &[add("n", None, 1)]);
    let mut touch = Box::pin(store.instance.write_row(&touched, None));
    assert!(poll(touch.as_mut()).is_none());
    drop(one);
    let _ = store.env.run(touch).expect("written");
    assert_eq!((used() - before, store.ids().len()), (41, 40));
    // Its client is told nothing new of the units, and they are not used twice.
    let other = loader();
    take(&store, &other, 100..140, 1);
    store.update(id(107), &[add("n", None, 1)]);
    assert_eq!(used() - before, 41 + 41);
    assert_eq!(finish(&store, &other), Consumed::writing(40));
    take(&store, &loader(), 200..240, 1);
    store.env.run_until_idle();
    assert_eq!((used() - before, store.ids().len()), (82, 80), "what is given up was never used");
}

#[test]
fn a_table_that_is_deleted_or_made_anew_meanwhile_gets_none_of_it() {
    let store = Store::with_table(OptionsChange::default());
    let one = loader();
    take(&store, &one, 0..100, 1);
    store.env.run(store.instance.delete_table("t")).expect("deleted");
    assert_eq!(put_rows(&store, &one, rows(100..110, 1)), None);
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    assert_eq!(put_rows(&store, &one, rows(200..210, 1)), None, "another table");
    let _ = finish(&store, &one);
    assert_eq!(store.ids(), (200..210).collect::<Vec<_>>());
}

#[test]
fn who_asks_twice_for_the_same_rows_is_charged_once_and_loses_nothing() {
    let store = Store::with_table(OptionsChange::default());
    let one = loader();
    take(&store, &one, 0..50, 1);
    let mut again = Box::pin(store.instance.store_rows(&one));
    assert!(poll(again.as_mut()).is_none());
    assert_eq!(finish(&store, &one), Consumed::writing(50));
    take(&store, &one, 100..150, 1);
    let again = store.env.run(again);
    assert_eq!((again.consumed, again.failed.len()), (Consumed::default(), 0));
    assert_eq!(finish(&store, &one), Consumed::writing(50));
    assert_eq!(store.ids().len(), 100);
}

#[test]
fn who_asks_is_told_of_the_rows_that_were_put_before_and_of_no_later_ones() {
    let store = Store::with_table(OptionsChange::default());
    let one = loader();
    assert_eq!(store.env.run(store.instance.store_rows(&one)).until, 0);
    let first = load_of(&store, &one, 0..50, 1).expect("taken");
    let mut asking = Box::pin(store.instance.store_rows(&one));
    assert!(poll(asking.as_mut()).is_none());
    let second = load_of(&store, &one, 50..100, 1).expect("taken");
    let told = store.env.run(asking);
    assert!(told.failed.is_empty() && (first..second).contains(&told.until), "{told:?}");
    assert_eq!(store.ids().len(), 50);
    assert!(store.env.run(store.instance.store_rows(&one)).until >= second);
    assert_eq!(store.ids().len(), 100);
    assert!(store.env.run(store.instance.store_rows(&one)).until >= second, "asked again");
}

/// R4: no answer says that rows are stored when they are not, however often and late it is asked.
#[test]
fn r4_a_load_that_could_not_be_stored_is_told_whenever_it_is_asked_for() {
    let options = Options { clock: ClockMode::Injected, shape: Shape::TINY, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    let one = loader();
    let lost = load_of(&store, &one, 0..600, 1).expect("taken");
    store.storage.set_quota(Some(store.storage.bytes()));
    let failed = |told: &StoreRows| {
        let failed = told.failed.iter().map(|(load, error)| (*load, error.code()));
        failed.collect::<Vec<_>>()
    };
    let told = store.env.run(store.instance.store_rows(&one));
    assert_eq!(failed(&told), [(lost, Code::QuotaExceeded)]);
    assert!(told.until >= lost);
    store.storage.set_quota(None);
    for _ in 0..2 {
        let told = store.env.run(store.instance.store_rows(&one));
        assert_eq!((failed(&told), told.consumed), (vec![(lost, Code::QuotaExceeded)], Consumed::default()));
    }
    let stored = load_of(&store, &one, 0..100, 2).expect("taken");
    let told = store.env.run(store.instance.store_rows(&one));
    assert_eq!((failed(&told), told.consumed), (vec![(lost, Code::QuotaExceeded)], Consumed::writing(100)));
    assert!(told.until >= stored);
    assert_eq!(store.ids(), (0..100).collect::<Vec<_>>());
    // Somebody else ends it, and it fails: its own client is told.
    let other = load_of(&store, &one, 200..300, 3).expect("taken");
    store.storage.set_quota(Some(store.storage.bytes()));
    assert!(store.write(&put("t", id(250), &[])).is_err());
    store.storage.set_quota(None);
    let told = store.env.run(store.instance.store_rows(&one));
    assert_eq!(failed(&told), [(lost, Code::QuotaExceeded), (other, Code::QuotaExceeded)]);
    assert_eq!(store.ids().len(), 100);
    assert!(!one.is_empty(), "it is remembered");
}

#[test]
fn what_is_asked_in_the_same_moment_takes_effect_in_its_order() {
    let store = Store::with_table(OptionsChange { max_versions: Some(9), ..OptionsChange::default() });
    let one = loader();
    take(&store, &one, 0..50, 1);
    let count = update("t", id(7), &[increment("n", 1)]);
    let gone = delete("t", id(8));
    store.env.run(async {
        let stored = store.instance.store_rows(&one);
        let counted = store.instance.write_row(&count, None);
        let again = store.instance.write_row(&count, None);
        let deleted = store.instance.write_row(&gone, None);
        let (stored, counted, again, deleted) = futures_util::future::join4(stored, counted, again, deleted).await;
        assert!(stored.failed.is_empty(), "{stored:?}");
        let _ = (counted.expect("counted"), again.expect("again"), deleted.expect("deleted"));
    });
    let row = store.all(id(7)).expect("a row");
    assert_eq!(row.iter().map(|(name, _, _)| name.as_str()).collect::<Vec<_>>(), ["n", "n", "v"]);
    assert_eq!(store.ids().len(), 49);
}

/// The only answer to a frame.
fn ask<T>(store: &Store, session: &Session, out: &Out, frame: Vec<u8>, read: fn(&mut Reader<'_>) -> T) -> T {
    let frame = session.submit(frame).expect("a right frame").unwrap_or_else(|| {
        store.env.run_until_idle();
        out.borrow_mut().pop().expect("an answer")
    });
    let mut all = responses(&frame).expect("whole");
    assert_eq!(all.len(), 1);
    read(&mut all.remove(0).payload.expect("not refused"))
}

type Out = Rc<RefCell<Vec<Vec<u8>>>>;

#[test]
fn a_session_loads_by_numbers_of_its_client() {
    let store = Store::with_table(OptionsChange::default());
    let out = Out::default();
    let delivered = Rc::clone(&out);
    let sessions = Sessions::new(Rc::clone(&store.instance), Rc::new(store.env.clone()));
    let session = sessions.open(1, move |frame| delivered.borrow_mut().push(frame)).expect("opened");
    let mut frames = FrameWriter::default();
    let mut put = |load, rows: &[RowWrite<'_>]| {
        frames.put_rows(1, load, rows);
        let frame = frames.finish();
        ask(&store, &session, &out, frame, |reader| {
            reader.rows_put().expect("whole").map(|taken| (taken.2, taken.3.len()))
        })
    };
    assert_eq!(put(5, &rows(0..300, 1)), Some((300, 0)));
    assert_eq!(put(6, &rows(1000..1300, 1)), Some((300, 0)), "another load beside it");
    assert_eq!(put(5, &rows(300..310, 1)), Some((10, 0)), "few follow");
    assert_eq!(put(7, &rows(2000..2010, 1)), None, "few do not begin");
    let mut frames = FrameWriter::default();
    let mut stored = |load| {
        frames.store_rows(2, load);
        ask(&store, &session, &out, frames.finish(), |reader| {
            let (consumed, until, failed) = reader.rows_stored().expect("whole");
            assert!(until > 1 && failed.is_empty());
            consumed
        })
    };
    assert_eq!(stored(5), Consumed::writing(310));
    assert_eq!(store.ids().len(), 320);
    assert_eq!(stored(6), Consumed::writing(300));
    assert_eq!(stored(6), Consumed::default());
    drop(session);
    store.env.run_until_idle();
    assert_eq!(store.ids().len(), 620);
}

#[test]
fn a_load_that_the_disk_has_no_room_for_takes_no_more_rows() {
    let options = Options { clock: ClockMode::Injected, shape: Shape::TINY, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    let one = loader();
    store.storage.set_quota(Some(store.storage.bytes() + 2000));
    take(&store, &one, 0..6000, 1);
    store.env.run_until_idle();
    assert_eq!(put_rows(&store, &one, rows(6000..6010, 1)), None, "these are written, or their caller is told");
    let told = store.env.run(store.instance.store_rows(&one));
    assert_eq!(told.failed.iter().map(|(_, error)| error.code()).collect::<Vec<_>>(), [Code::QuotaExceeded]);
    store.storage.set_quota(None);
    assert!(store.ids().iter().all(|row| *row >= 6000), "and nothing of it was");
}
