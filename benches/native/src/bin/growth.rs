//! The engine as data grows: CPU time a row, memory, and the written and stored bytes for each byte of the users.
//!
//! `cargo xtask growth [ROWS]...`; without numbers 10 thousand, 100 thousand, 1 million and 10 million rows. Default
//! options, storage in memory, rows of 150 bytes that come in no order, groups of 1000. The table is Markdown.

use std::time::Duration;
use tabstore::engine::Options;
use tabstore_bench_native::memory::{self, Counting};
use tabstore_bench_native::rows::{Random, TREE, scattered};
use tabstore_bench_native::store::{Disk, Ours};
use tabstore_bench_native::thread_time;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const GROUP: u64 = 1000;
const MB: f64 = 1e6;

fn micros(time: Duration, per: u64) -> f64 {
    time.as_secs_f64() * 1e6 / per.max(1) as f64
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let started = thread_time();
    let result = work();
    (thread_time() - started, result)
}

struct Size {
    rows: u64,
    put: f64,
    background: f64,
    get_hot: f64,
    get_any: f64,
    scan: f64,
    reopen: f64,
    peak: f64,
    longest_ms: f64,
    stored: f64,
    written: f64,
}

fn size(rows: u64) -> Size {
    let options = Options::default();
    memory::take_peak();
    let mut store = Ours::new(options.clone());
    let (put, user) = timed(|| {
        let mut user = 0;
        for first in (0..rows).step_by(GROUP as usize) {
            user += store.put(&mut (first..(first + GROUP).min(rows)).map(|at| scattered(at, rows)), 0);
        }
        store.world.settle();
        user
    });
    let (background, longest) = store.world.take_background();
    let metrics = store.engine.metrics();
    let stored = store.disk.0.bytes() as f64 / MB;
    // A working set that the cache holds.
    let mut random = Random::new(rows);
    let hot: Vec<u64> = (0..20_000).map(|_| rows / 2 + random.below(2000.min(rows / 2))).collect();
    let (_, warm) = timed(|| hot.iter().map(|id| store.get(*id)).sum::<usize>());
    assert_eq!(warm, hot.len() * 5, "every row is found");
    let (get_hot, _) = timed(|| hot.iter().map(|id| store.get(*id)).sum::<usize>());
    let any: Vec<u64> = (0..2000).map(|_| random.below(rows)).collect();
    let (get_any, found) = timed(|| any.iter().map(|id| store.get(*id)).sum::<usize>());
    assert_eq!(found, any.len() * 5, "every row is found");
    let (scan, scanned) = timed(|| store.scan());
    assert_eq!(scanned, rows, "every row is scanned");
    let (world, disk) = (store.world.clone(), Disk(store.disk.0.clone()));
    store.world.run(store.engine.close());
    drop(store);
    let (reopen, store) = timed(|| {
        let store = Ours::open(world, disk, options);
        store.get(rows / 2);
        store
    });
    let peak = memory::take_peak() as f64 / MB;
    memory::stored(-(store.disk.0.bytes() as i64));
    drop(store);
    Size {
        rows,
        put: micros(put, rows),
        background: micros(background, rows),
        get_hot: micros(get_hot, hot.len() as u64),
        get_any: micros(get_any, any.len() as u64),
        scan: micros(scan, rows),
        reopen: reopen.as_secs_f64() * 1e3,
        peak,
        longest_ms: longest.as_secs_f64() * 1e3,
        stored,
        written: (metrics.flushed_bytes + metrics.compacted_bytes_written) as f64 / user as f64,
    }
}

fn print_sizes(sizes: &[Size]) {
    println!(
        "| rows | put, us (of it background) | get, hot us | get, any us | scan, us a row | reopen and first read, ms | peak memory, MB | longest slice, ms | stored, MB | written / user bytes |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for size in sizes {
        println!(
            "| {} | {:.2} ({:.2}) | {:.2} | {:.1} | {:.2} | {:.1} | {:.1} | {:.1} | {:.1} | {:.2} |",
            size.rows,
            size.put,
            size.background,
            size.get_hot,
            size.get_any,
            size.scan,
            size.reopen,
            size.peak,
            size.longest_ms,
            size.stored,
            size.written
        );
    }
    if let [first, .., last] = sizes {
        println!(
            "| growth, to be below 2 | {:.2} | {:.2} | {:.2} | {:.2} | | | | | |",
            last.put / first.put,
            last.get_hot / first.get_hot,
            last.get_any / first.get_any,
            last.scan / first.scan
        );
    }
}

/// Random overwrites of a table ten times the memtable's budget, twenty times over; then deletes and time.
fn amplification(rounds: u64) {
    let options = Options::default();
    let rows = options.memtable_bytes as u64 * 10 / 150;
    memory::take_peak();
    let mut store = Ours::new(options);
    let mut random = Random::new(7);
    let (mut user, mut most, mut longest) = (0, 0, Duration::ZERO);
    for round in 0..=rounds {
        for first in (0..rows).step_by(GROUP as usize) {
            let many = GROUP.min(rows - first);
            user += if round == 0 {
                store.put(&mut (first..first + many).map(|at| at * 7_919 % rows), 0)
            } else {
                store.put(&mut (0..many).map(|_| random.below(rows)), round)
            };
            most = most.max(store.disk.0.bytes());
        }
    }
    store.world.settle();
    longest = longest.max(store.world.take_background().1);
    let peak = memory::take_peak() as f64 / MB;
    let metrics = store.engine.metrics();
    let settled = store.disk.0.bytes() as f64 / MB;
    let flushed = metrics.flushed_bytes as f64;
    let written = flushed + metrics.compacted_bytes_written as f64;
    let shape: Vec<String> = metrics
        .trees
        .iter()
        .flat_map(|tree| &tree.levels)
        .map(|level| format!("{} in {:.1} MB", level.segments, level.bytes as f64 / MB))
        .collect();
    store.compact();
    let live = store.disk.0.bytes() as f64 / MB;
    longest = longest.max(store.world.take_background().1);
    println!(
        "\n{rows} rows overwritten {rounds} times at random, {:.0} MB of users' bytes; levels: {}\n",
        user as f64 / MB,
        shape.join(", ")
    );
    println!("| | | target |\n|---|---|---|");
    println!("| written to segments / users' bytes | {:.2} | < 10 |", written / user as f64);
    println!("| written to segments / flushed, both compressed | {:.1} | |", written / flushed);
    println!("| stored after settling / live | {settled:.1} MB / {live:.1} MB | <= {:.1} MB |", live * 1.3 + 32.0);
    println!("| stored at most meanwhile | {:.1} MB | |", most as f64 / MB);
    println!("| peak memory of the engine | {peak:.1} MB | <= {:.0} MB |", budget());

    // Every second row is deleted; nothing else is written then.
    let (took, ()) = timed(|| {
        for first in (0..rows).step_by(2 * GROUP as usize) {
            store.delete(&mut (first..(first + 2 * GROUP).min(rows)).step_by(2));
        }
        store.flush();
        store.world.settle();
    });
    println!(
        "| stored when half is deleted | {:.1} MB, after {:.1} s | <= {:.1} MB |",
        store.disk.0.bytes() as f64 / MB,
        took.as_secs_f64(),
        live / 2.0 * 1.3 + 32.0
    );
    longest = longest.max(store.world.take_background().1);
    let day = 86_400_000;
    let retention = tabstore::model::version::Retention {
        time_to_live: Some(day / 1000),
        ..tabstore::model::version::Retention::ALL
    };
    store.engine.set_retention(TREE, retention);
    store.world.advance(10 * day);
    let (took, ()) = timed(|| {
        store.put(&mut (rows..rows + 1), 0);
        // Without a flush, the clock alone starts it ten minutes later.
        store.flush();
        store.world.settle();
    });
    println!(
        "| stored when all is expired | {:.1} MB, after {:.3} s | <= 32 MB |",
        store.disk.0.bytes() as f64 / MB,
        took.as_secs_f64()
    );
    longest = longest.max(store.world.take_background().1);
    println!("| longest synchronous slice, CPU | {:.1} ms | <= 8 ms (20 in wasm) |", longest.as_secs_f64() * 1e3);
    memory::stored(-(store.disk.0.bytes() as i64));
}

/// The memory that the options allow: the memtable that takes writes and two that wait, and the cache. MB.
fn budget() -> f64 {
    let options = Options::default();
    (3 * options.memtable_bytes + options.cache_bytes) as f64 / MB
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |text: &String| text.parse::<u64>().unwrap_or_else(|_| panic!("{text:?} is not a number of rows"));
    let mut rows: Vec<u64> = arguments.iter().filter(|text| !text.starts_with("--")).map(number).collect();
    if rows.is_empty() {
        rows = vec![10_000, 100_000, 1_000_000, 10_000_000];
    }
    println!("Budget for memory: {:.0} MB\n", budget());
    if !arguments.iter().any(|text| text == "--amplification") {
        let sizes: Vec<Size> = rows.into_iter().map(size).collect();
        print_sizes(&sizes);
    }
    if !arguments.iter().any(|text| text == "--sizes") {
        amplification(20);
    }
}
