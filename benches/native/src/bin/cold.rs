//! Reads of a table of ten times the cache, and of one that is in it: CPU time, the least of five rounds. `cargo run --release
//! --bin cold [WORDS OF A LINE]` in this folder.

use std::time::Duration;
use tabstore::engine::{Options, RowView};
use tabstore::model::InstanceKind;
use tabstore_bench_native::rows::{Random, TREE, key, scattered};
use tabstore_bench_native::store::Ours;
use tabstore_bench_native::thread_time;

const ROWS: u64 = 300_000;
const GROUP: u64 = 1000;
const BATCH: usize = 100;
const ROUNDS: usize = 5;

fn store(kind: InstanceKind, cache: usize) -> Ours {
    let mut store = Ours::new(Options { cache_bytes: 64 << 20, ..Options::of(kind) });
    for first in (0..ROWS).step_by(GROUP as usize) {
        store.put(&mut (first..first + GROUP).map(|at| scattered(at, ROWS)), 0);
    }
    store.compact();
    store.world.settle();
    Ours::open(store.world.clone(), store.disk.clone(), Options { cache_bytes: cache, ..Options::of(kind) })
}

/// The least CPU time of one of `times` calls, in microseconds.
fn least(times: usize, mut call: impl FnMut()) -> f64 {
    let round = || {
        let started = thread_time();
        (0..times).for_each(|_| call());
        thread_time() - started
    };
    let least = std::iter::repeat_with(round).take(ROUNDS).min().unwrap_or(Duration::ZERO);
    least.as_secs_f64() * 1e6 / times as f64
}

/// Reads rows in one call.
fn batch(store: &Ours, ids: impl Iterator<Item = u64>) {
    let keys: Vec<_> = ids.map(key).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    let mut found = 0;
    let mut see = |_: usize, row: Option<&RowView<'_>>| found += row.map_or(0, |row| row.cells().len());
    store.world.run(store.engine.read(TREE, &keys, &mut see)).expect("read");
    assert_eq!(found, keys.len() * 5);
}

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    println!("{ROWS} rows; microseconds a get, a key of a batch, a row of a scan");
    for (name, kind) in [("fast", InstanceKind::HighPerformance), ("dense", InstanceKind::Capacity)] {
        for (state, cache) in [("cold, no cache", 0), ("cold, 4 MB", 4 << 20), ("warm", 96 << 20)] {
            if !format!("{name} {state}").contains(&filter) {
                continue;
            }
            let (store, mut random) = (store(kind, cache), Random::new(5));
            println!("{:.1} MB are stored", store.disk.0.bytes() as f64 / f64::from(1 << 20));
            let scan = |store: &Ours| assert_eq!(store.scan(), ROWS);
            if state == "warm" {
                scan(&store);
            }
            let times = if state == "warm" { 50_000 } else { 2000 };
            let get = least(times, || assert!(store.get(random.below(ROWS)) > 0));
            let far = least(times.div_ceil(BATCH), || batch(&store, (0..BATCH).map(|_| random.below(ROWS))));
            let near = least(times.div_ceil(BATCH), || {
                let first = random.below(ROWS - 1000);
                batch(&store, (0..BATCH as u64).map(|at| first + at * 7));
            });
            let row = least(1, || scan(&store));
            println!(
                "{name:5} {state:14} get {get:7.2}  batch {:7.2}  batch of near keys {:7.2}  scan {:6.3}",
                far / BATCH as f64,
                near / BATCH as f64,
                row / ROWS as f64
            );
        }
    }
}
