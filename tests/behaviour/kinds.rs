//! The two kinds of an instance (I4): the same data, less of it stored and in memory.

use crate::store::*;
use tabstore::engine::{ClockMode, Direction, Form, Options};
use tabstore::env::sim::SimEnv;
use tabstore::model::{InstanceKind, KeyType, ValueRef};
use tabstore::tablestore::{InstanceOptions, OptionsChange};

const KINDS: [InstanceKind; 2] = [InstanceKind::HighPerformance, InstanceKind::Capacity];
const ROWS: i64 = 4000;

fn store(kind: InstanceKind, cache_bytes: Option<usize>) -> Store {
    let options = Options::of(kind);
    let cache_bytes = cache_bytes.unwrap_or(options.cache_bytes);
    let options = Options { clock: ClockMode::Injected, cache_bytes, ..options };
    let store = Store::with(InstanceOptions { kind, ..InstanceOptions::default() }, options);
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    store
}

/// Notes of customers: names, cities, words, a price, a count.
fn notes(store: &Store) {
    const WORDS: [&str; 32] = [
        "river", "station", "morning", "pressure", "cloud", "window", "harbour", "signal", "bridge", "valley",
        "copper", "engine", "garden", "winter", "marble", "paper", "thunder", "orange", "silver", "market", "pencil",
        "forest", "mountain", "island", "kitchen", "lantern", "machine", "needle", "ocean", "planet", "quarter",
        "railway",
    ];
    let random = SimEnv::shuffled(0, 7);
    let word = || WORDS[(random.random() % 32) as usize];
    for n in 0..ROWS {
        let note = (0..12).map(|_| word()).collect::<Vec<_>>().join(" ");
        let name = format!("{} {}", word(), word());
        let cells = [
            cell("city", ValueRef::String(word())),
            cell("count", ValueRef::Integer((random.random() % 1_000_000) as i64)),
            cell("name", ValueRef::String(&name)),
            cell("note", ValueRef::String(&note)),
            cell("price", ValueRef::Double((random.random() % 100_000) as f64 / 8.0)),
        ];
        store.put(id(n), &cells);
    }
}

/// The reports of devices: a time, a temperature, a level, a state.
fn reports(store: &Store) {
    let random = SimEnv::shuffled(0, 8);
    let (mut time, mut temperature) = (1_700_000_000_000, 181);
    for n in 0..ROWS {
        time += 60_000 + (random.random() % 5) as i64 * 1000;
        temperature += (random.random() % 7) as i64 - 3;
        let device = format!("device-{}", random.random() % 40);
        let cells = [
            cell("at", ValueRef::Integer(time)),
            cell("device", ValueRef::String(&device)),
            cell("level", ValueRef::Integer(70 + (random.random() % 9) as i64)),
            cell("state", ValueRef::String(["on", "on", "on", "idle", "off"][(random.random() % 5) as usize])),
            cell("temperature", ValueRef::Double(temperature as f64 / 10.0)),
        ];
        store.put(id(n), &cells);
    }
}

#[test]
fn i4_a_capacity_instance_stores_at_most_seven_tenths() {
    for (name, fill) in [("notes", notes as fn(&Store)), ("reports", reports)] {
        let [fast, dense] = KINDS.map(|kind| {
            let mut store = store(kind, None);
            fill(&store);
            store.compact();
            let stored = store.instance.metrics().segment_bytes;
            let rows = store.range(&range("t", Direction::Forward)).0;
            store.reopen();
            let again = store.range(&range("t", Direction::Forward)).0;
            assert!(rows == again && rows.len() as i64 == ROWS, "the same functions");
            (stored, rows)
        });
        assert!(fast.1 == dense.1, "{name}: the same rows");
        println!("{name}: {} and {} bytes", fast.0, dense.0);
        assert!(dense.0 * 10 <= fast.0 * 7, "{name}: {} bytes of {}", dense.0, fast.0);
    }
}

#[test]
fn i4_a_capacity_instance_holds_at_most_half_the_cache() {
    let [fast, dense] = KINDS.map(Options::of);
    assert_eq!(fast.cache_bytes, 2 * dense.cache_bytes);
    assert_eq!((fast.form, dense.form), (Form::Fast, Form::Dense));
    // And no more is held than the budget says, with data several times as large.
    let store = store(InstanceKind::Capacity, Some(400_000));
    notes(&store);
    store.compact();
    assert_eq!(store.ids().len() as i64, ROWS);
    let metrics = store.instance.metrics();
    assert!(metrics.cache_bytes <= 400_000, "{}", metrics.cache_bytes);
}
