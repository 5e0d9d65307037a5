//! Watchers of rows, the base of live queries: they are told of each change among their rows, and of nothing else.

use crate::store::*;
use crate::stream_lives::{Random, change_table, content, small_store};
use std::collections::BTreeMap;
use std::pin::pin;
use tabstore::engine::{ChangePlace, Direction};
use tabstore::env::Env as _;
use tabstore::model::{KeyPart, KeyType, KeyValue, TableName};
use tabstore::tablestore::{ChangedRows, GetRange, Loader, OptionsChange, PutRows, Watched};
use tabstore::{Code, Result};

fn ask(store: &Store, watched: &Watched<'_>, place: Option<ChangePlace>) -> impl Future<Output = Result<ChangedRows>> {
    store.instance.changed_rows(TableName::parse("t").expect("a name"), watched, place, true)
}

/// The answer, if there is one at once.
fn now(store: &Store, watched: &Watched<'_>, place: Option<ChangePlace>) -> Option<ChangedRows> {
    poll(pin!(ask(store, watched, place))).map(|answer| answer.expect("right"))
}

fn begin(store: &Store, watched: &Watched<'_>) -> Option<ChangePlace> {
    let first = now(store, watched, None).expect("at once");
    assert_eq!(first.keys, None);
    Some(first.place)
}

fn integers(key: &[KeyValue]) -> Vec<i64> {
    key.iter().map(|value| if let KeyValue::Integer(value) = value { *value } else { unreachable!() }).collect()
}

/// The told keys of Integer columns.
fn changed_keys(answer: &ChangedRows) -> Option<Vec<Vec<i64>>> {
    Some(answer.keys.as_ref()?.iter().map(|key| integers(key)).collect())
}

/// The same of one column.
fn changed_ids(answer: &ChangedRows) -> Option<Vec<i64>> {
    changed_keys(answer).map(|keys| keys.concat())
}

/// The rows from one id to another, in either direction.
fn between<'a>(start: i64, end: i64) -> Watched<'a> {
    let direction = if start < end { Direction::Forward } else { Direction::Backward };
    Watched::Range { range: Box::new(GetRange { start: id(start), end: id(end), ..range("t", direction) }), last: None }
}

/// The same as far as a last row.
fn up_to<'a>(start: i64, end: i64, last: i64) -> Watched<'a> {
    let Watched::Range { range, .. } = between(start, end) else { unreachable!() };
    Watched::Range { range, last: Some(Box::new(id(last))) }
}

fn whole<'a>() -> Watched<'a> {
    Watched::Range { range: Box::new(range("t", Direction::Forward)), last: None }
}

fn store() -> Store {
    let store = Store::with_table(OptionsChange::default());
    (0..20).for_each(|row| store.put(id(row), &[cell("n", int(row))]));
    store
}

#[test]
fn a_watcher_is_told_of_every_change_among_its_rows_and_of_no_other() {
    let store = store();
    for (watched, inside, outside) in [
        (Watched::Row(id(5)), vec![5], vec![4, 6]),
        (between(5, 8), vec![5, 7], vec![4, 8]),
        (between(8, 5), vec![8, 6], vec![9, 5]),
        (up_to(5, 15, 8), vec![5, 8], vec![4, 9, 14]),
        (up_to(15, 5, 8), vec![15, 8], vec![16, 7, 6]),
        (whole(), vec![0, 19, 1000], vec![]),
    ] {
        let mut place = begin(&store, &watched);
        assert_eq!(now(&store, &watched, place), None, "nothing has changed");
        for row in inside {
            let mut waiting = pin!(ask(&store, &watched, place));
            assert!(poll(waiting.as_mut()).is_none());
            for &other in &outside {
                store.put(id(other), &[cell("n", int(1))]);
                store.write(&delete("t", id(other))).expect("deleted");
            }
            assert!(poll(waiting.as_mut()).is_none(), "{outside:?} are not among {watched:?}");
            store.update(id(row), &[increment("n", 1)]);
            let told = poll(waiting.as_mut()).expect("now").expect("right");
            assert_eq!(changed_ids(&told), Some(vec![row]));
            assert_eq!(told.schema.key()[0].name, "id");
            place = Some(told.place);
            assert_eq!(now(&store, &watched, place), None, "it was told");
        }
    }
}

#[test]
fn a_watcher_that_asks_later_misses_nothing_of_any_way_to_write() {
    let store = store();
    let watched = between(0, 100);
    let place = begin(&store, &watched);
    store.put(id(1), &[cell("n", int(1))]);
    store.write(&delete("t", id(2))).expect("deleted");
    let batch = [put("t", id(3), &[]), put("t", id(200), &[]), update("t", id(4), &[increment("n", 1)])];
    store.env.run(store.instance.batch_write_row(&batch, None)).expect("right");
    let writes = [put("t", id(5), &[cell("n", int(1))]), update("t", id(5), &[add("n", None, 2)])];
    store.env.run(store.instance.batch_write_row_atomic(&writes, None)).expect("right");
    let started =
        store.instance.start_local_transaction(TableName::parse("t").expect("a name"), &id(6)).expect("started");
    store.env.run(store.instance.write_row_in(Some(&started.id), &delete("t", id(6)), None)).expect("right");
    let told = now(&store, &watched, place).expect("at once");
    assert_eq!(changed_ids(&told), Some(vec![1, 2, 3, 4, 5, 5]), "what is not committed is no change");
    store.env.run(store.instance.commit_transaction(&started.id, None)).expect("committed");
    let told = now(&store, &watched, Some(told.place)).expect("at once");
    assert_eq!(changed_ids(&told), Some(vec![6]));
    // A refused write changes nothing, nor do reads, flushes and compactions.
    let refused = store.write(&expecting(tabstore::tablestore::Existence::ExpectNotExist, put("t", id(1), &[])));
    refused.expect_err("it exists");
    store.compact();
    assert_eq!(store.ids().len(), 19);
    assert_eq!(now(&store, &watched, Some(told.place)), None);
    // Of a load, anything may have changed.
    let mut waiting = pin!(ask(&store, &watched, Some(told.place)));
    assert!(poll(waiting.as_mut()).is_none());
    let loader = Loader::of_at_least(1);
    let rows = (50..60).map(|row| Ok(put("t", id(row), &[cell("n", int(row))]))).collect();
    let taken = store.env.run(store.instance.put_rows(&loader, rows, None));
    assert!(matches!(taken, PutRows::Taken { .. }));
    assert!(poll(waiting.as_mut()).is_none(), "not before it is stored");
    assert!(store.env.run(store.instance.store_rows(&loader)).failed.is_empty());
    let told = poll(waiting.as_mut()).expect("now").expect("right");
    assert_eq!(told.keys, None);
    assert_eq!(now(&store, &watched, Some(told.place)), None, "it goes on from there");
}

#[test]
fn a_place_of_another_engine_or_of_other_options_is_unknown_and_a_deleted_table_is_told() {
    let mut store = store();
    let watched = between(0, 100);
    let place = begin(&store, &watched);
    store.reopen();
    let told = now(&store, &watched, place).expect("at once");
    assert_eq!(told.keys, None);
    let place = Some(told.place);
    assert_eq!(now(&store, &watched, place), None);
    {
        let mut waiting = pin!(ask(&store, &watched, place));
        assert!(poll(waiting.as_mut()).is_none());
        store.set_options("t", OptionsChange { time_to_live: Some(86_400), ..OptionsChange::default() });
        let told = poll(waiting.as_mut()).expect("other rows may be visible").expect("right");
        assert_eq!(told.keys, None);
        let mut waiting = pin!(ask(&store, &watched, Some(told.place)));
        assert!(poll(waiting.as_mut()).is_none());
        store.env.run(store.instance.delete_table("t")).expect("deleted");
        let told = poll(waiting.as_mut()).expect("now").expect_err("it is gone");
        assert_eq!(told.code(), Code::ObjectNotExist);
    }
}

#[test]
fn a_watcher_is_answered_after_20_seconds_and_when_the_store_closes() {
    let store = store();
    let watched = between(0, 100);
    let place = begin(&store, &watched);
    let mut waiting = pin!(ask(&store, &watched, place));
    assert!(poll(waiting.as_mut()).is_none());
    store.env.advance(19_999);
    assert!(poll(waiting.as_mut()).is_none());
    store.env.advance(1);
    let told = poll(waiting.as_mut()).expect("now").expect("right");
    assert_eq!(changed_ids(&told), Some(vec![]));
    let mut waiting = pin!(ask(&store, &watched, Some(told.place)));
    assert!(poll(waiting.as_mut()).is_none());
    store.env.run(store.instance.close());
    let told = poll(waiting.as_mut()).expect("now").expect_err("it is closed");
    assert_eq!(told.code(), Code::Closed);
}

#[test]
fn a_watcher_that_does_not_wait_is_told_at_once_that_nothing_has_changed() {
    let store = store();
    let watched = between(0, 100);
    let place = begin(&store, &watched);
    let look = |place| {
        let name = TableName::parse("t").expect("a name");
        poll(pin!(store.instance.changed_rows(name, &watched, place, false))).expect("at once").expect("right")
    };
    store.put(id(200), &[]);
    let told = look(place);
    assert_eq!(changed_ids(&told), Some(vec![]));
    store.put(id(7), &[]);
    assert_eq!(changed_ids(&look(place)), Some(vec![7]));
    let told = look(Some(told.place));
    assert_eq!(changed_ids(&told), Some(vec![7]));
    assert_eq!(changed_ids(&look(Some(told.place))), Some(vec![]));
}

#[test]
fn wrong_rows_and_ranges_are_refused_as_reads_of_them_are() {
    let store = store();
    let wrong = |watched: &Watched<'_>| {
        let error = poll(pin!(ask(&store, watched, None))).expect("at once").expect_err("wrong");
        assert!(matches!(error.code(), Code::ParameterInvalid | Code::InvalidPk), "{error}");
        error.message().to_owned()
    };
    assert!(wrong(&between(5, 5)).contains("Begin key must more than end key"));
    wrong(&Watched::Row(key(&[("id", text("a"))])));
    wrong(&Watched::Row(key(&[("other", int(1))])));
    let mut infinite = tabstore::model::KeyInput::new();
    infinite.push("id", KeyPart::InfMin);
    wrong(&Watched::Row(infinite));
    let unknown = TableName::parse("nothing").expect("a name");
    let error = poll(pin!(store.instance.changed_rows(unknown, &between(1, 2), None, true))).expect("at once");
    assert_eq!(error.expect_err("unknown").code(), Code::ObjectNotExist);
}

/// Many changes elsewhere push out what is kept. Who waits still learns the keys; who does not reads its range again.
#[test]
fn changes_elsewhere_that_are_too_many_to_keep_cost_a_waiting_watcher_nothing() {
    let store = store();
    store.create("u", &[("id", KeyType::Integer)], OptionsChange::default());
    let elsewhere = || {
        for round in 0..100 {
            let rows: Vec<_> = (0..100).map(|row| put("u", id(round * 100 + row), &[])).collect();
            store.env.run(store.instance.batch_write_row(&rows, None)).expect("right");
        }
    };
    let watched = between(5, 8);
    let place = begin(&store, &watched);
    let mut waiting = pin!(ask(&store, &watched, place));
    assert!(poll(waiting.as_mut()).is_none());
    elsewhere();
    assert!(poll(waiting.as_mut()).is_none());
    store.put(id(6), &[cell("n", int(1))]);
    let told = poll(waiting.as_mut()).expect("now").expect("right");
    assert_eq!(changed_ids(&told), Some(vec![6]));
    let quiet = between(10, 11);
    let mut other = pin!(ask(&store, &quiet, Some(told.place)));
    assert!(poll(other.as_mut()).is_none());
    elsewhere();
    assert_eq!(now(&store, &watched, Some(told.place)).expect("at once").keys, None);
}

/// A copy of some rows that reads again what has changed.
struct Copy<'a> {
    watched: Watched<'a>,
    place: Option<ChangePlace>,
    rows: BTreeMap<Vec<i64>, Vec<Cell>>,
    /// How often it read all.
    wholes: u64,
    /// How often it read rows.
    parts: u64,
}

fn rows_of(store: &Store, watched: &Watched<'_>) -> BTreeMap<Vec<i64>, Vec<Cell>> {
    let (rows, only) = match watched {
        Watched::Range { range: request, .. } => {
            (store.range(&GetRange { options: versions(100), ..(**request).clone() }).0, None)
        }
        Watched::Row(key) => (content(store, "t"), Some(key.columns())),
    };
    let rows = rows.into_iter().map(|(key, cells)| (integers(&key), cells));
    let wanted = |key: &[i64]| {
        let parts = key.iter().map(|value| KeyPart::Value(int(*value)));
        only.is_none_or(|only| parts.eq(only.iter().map(|(_, part)| *part)))
    };
    rows.filter(|(key, _)| wanted(key)).collect()
}

impl Copy<'_> {
    fn follow(&mut self, store: &Store) {
        while let Some(told) = now(store, &self.watched, self.place) {
            self.place = Some(told.place);
            let all = rows_of(store, &self.watched);
            let Some(keys) = changed_keys(&told) else {
                self.wholes += 1;
                self.rows = all;
                continue;
            };
            for key in keys {
                self.parts += 1;
                match all.get(&key) {
                    Some(cells) => drop(self.rows.insert(key, cells.clone())),
                    None => drop(self.rows.remove(&key)),
                }
            }
        }
    }
}

/// Copies that read only the rows that they are told of are equal to the table, through random lives.
#[test]
fn copies_that_read_again_what_they_are_told_of_equal_the_table() {
    let (mut wholes, mut parts) = (0, 0);
    for seed in 0..40 {
        let mut random = Random(seed);
        let mut store = small_store();
        let one = |id: i64, n: i64| key(&[("id", int(id)), ("n", int(n))]);
        let part = |from: i64, to: i64, direction| {
            let end_at = |id: i64| {
                let mut key = key(&[("id", int(id))]);
                key.push("n", KeyPart::InfMin);
                key
            };
            let (start, end) = (end_at(from), end_at(to));
            Watched::Range { range: Box::new(GetRange { start, end, ..range("t", direction) }), last: None }
        };
        let watched =
            [whole(), part(3, 9, Direction::Forward), part(9, 3, Direction::Backward), Watched::Row(one(5, 2))];
        let mut copies =
            watched.map(|watched| Copy { watched, place: None, rows: BTreeMap::new(), wholes: 0, parts: 0 });
        for step in 0..150 {
            store.env.set_now(store.env.now_ms() + random.below(50));
            let kind = random.below(20);
            if kind == 5 {
                for copy in &mut copies {
                    copy.follow(&store);
                    assert_eq!(
                        copy.rows,
                        rows_of(&store, &copy.watched),
                        "seed {seed}, step {step}, {:?}",
                        copy.watched
                    );
                }
            } else {
                change_table(&mut store, &mut random, step, kind);
            }
        }
        wholes += copies.iter().map(|copy| copy.wholes).sum::<u64>();
        parts += copies.iter().map(|copy| copy.parts).sum::<u64>();
    }
    assert!(parts > 1000 && wholes < parts, "{parts} rows were told, and {wholes} times all");
}
