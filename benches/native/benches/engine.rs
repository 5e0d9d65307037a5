//! The engine's operations beside fjall's: the same rows, in groups of 1000, each with its own defaults. Ours on storage in
//! memory, fjall in a folder in memory without fsync. CPU time of all threads.

use criterion::measurement::{Measurement, ValueFormatter};
use criterion::{Criterion, Throughput};
use std::path::PathBuf;
use std::time::Duration;
use tabstore::engine::Options;
use tabstore_bench_native::process_time;
use tabstore_bench_native::rows::{Random, Row, Rows, key, scattered};
use tabstore_bench_native::store::Ours;

const ROWS: u64 = 100_000;
const GROUP: u64 = 1000;

/// CPU time of the process.
struct CpuTime;

struct Nanoseconds;

impl ValueFormatter for Nanoseconds {
    fn scale_values(&self, _: f64, _: &mut [f64]) -> &'static str {
        "ns"
    }

    fn scale_throughputs(&self, _: f64, throughput: &Throughput, values: &mut [f64]) -> &'static str {
        if let Throughput::Elements(elements) = throughput {
            for value in values {
                *value /= *elements as f64 * 1000.0;
            }
        }
        "us a row"
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        "ns"
    }
}

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        process_time()
    }

    fn end(&self, started: Duration) -> Duration {
        process_time() - started
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Nanoseconds
    }
}

/// fjall in a folder of its own.
struct Theirs {
    folder: PathBuf,
    db: fjall::Database,
    rows: fjall::Keyspace,
    maker: Rows,
}

impl Theirs {
    fn new(name: &str, cache: u64) -> Self {
        Self::with_blocks(name, cache, 4 << 10)
    }

    fn with_blocks(name: &str, cache: u64, block: u32) -> Self {
        let memory = PathBuf::from("/dev/shm");
        let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let folder = parent.join(format!("tabstore-bench-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let db = fjall::Database::builder(&folder).cache_size(cache).worker_threads(1).open().expect("opens");
        let options = || {
            fjall::KeyspaceCreateOptions::default()
                .max_memtable_size(8 << 20)
                .data_block_size_policy(fjall::config::BlockSizePolicy::all(block))
        };
        let rows = db.keyspace("rows", options).expect("a keyspace");
        Self { folder, db, rows, maker: Rows::default() }
    }

    /// Puts rows, as one batch. A row's value is its columns, one after another.
    fn put(&self, ids: impl Iterator<Item = u64>, round: u64) {
        let mut batch = self.db.batch();
        let mut row = Row::default();
        for id in ids {
            self.maker.make(id, round, &mut row);
            let mut value = Vec::with_capacity(160);
            for (name, text) in [("city", row.city), ("name", row.name), ("note", &row.note)] {
                value.extend_from_slice(name.as_bytes());
                value.push(text.len() as u8);
                value.extend_from_slice(text.as_bytes());
            }
            value.extend_from_slice(b"count");
            value.extend_from_slice(&row.count.to_le_bytes());
            value.extend_from_slice(b"score");
            value.extend_from_slice(&row.score.to_le_bytes());
            batch.insert(&self.rows, key(id), value);
        }
        batch.commit().expect("stored");
    }

    fn get(&self, id: u64) -> usize {
        self.rows.get(key(id)).expect("read").map_or(0, |value| value.len())
    }

    fn scan(&self) -> u64 {
        self.rows.iter().map(|guard| guard.into_inner().map_or(0, |(_, value)| u64::from(!value.is_empty()))).sum()
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn groups(mut put: impl FnMut(&mut dyn Iterator<Item = u64>)) {
    for first in (0..ROWS).step_by(GROUP as usize) {
        put(&mut (first..first + GROUP).map(|at| scattered(at, ROWS)));
    }
}

fn ours(cache: usize) -> Ours {
    let mut store = Ours::new(Options { cache_bytes: cache, ..Options::default() });
    groups(|ids| {
        store.put(ids, 0);
    });
    store.compact();
    store.world.settle();
    store
}

fn theirs(name: &str, cache: u64, block: u32) -> Theirs {
    let store = Theirs::with_blocks(name, cache, block);
    groups(|ids| store.put(ids, 0));
    store.rows.rotate_memtable_and_wait().expect("flushed");
    store.rows.major_compact().expect("compacted");
    store
}

fn put(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("put in groups, random overwrites with all that follows");
    group.throughput(Throughput::Elements(GROUP));
    let (mut random, mut round) = (Random::new(3), 0);
    let mut store = ours(32 << 20);
    group.bench_function("tabstore", |bench| {
        bench.iter(|| {
            round += 1;
            store.put(&mut (0..GROUP).map(|_| random.below(ROWS)), round)
        });
    });
    let other = theirs("put", 32 << 20, 4 << 10);
    group.bench_function("fjall", |bench| {
        bench.iter(|| {
            round += 1;
            other.put((0..GROUP).map(|_| random.below(ROWS)), round);
        });
    });
    group.finish();
}

fn get(criterion: &mut Criterion<CpuTime>) {
    for (name, cache) in [("get, warm", 32 << 20), ("get, cold: no cache", 0)] {
        let mut group = criterion.benchmark_group(name);
        let mut random = Random::new(5);
        let store = ours(cache);
        store.scan();
        group.bench_function("tabstore", |bench| bench.iter(|| assert!(store.get(random.below(ROWS)) > 0)));
        // Our blocks are large because of IndexedDB: each of them that is not in memory costs that much more.
        for (name, block) in [("fjall", 4 << 10), ("fjall, blocks of 64 KiB", 64 << 10)] {
            let other = theirs("get", cache as u64, block);
            other.scan();
            group.bench_function(name, |bench| bench.iter(|| assert!(other.get(random.below(ROWS)) > 0)));
        }
        group.finish();
    }
}

fn scan(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("scan, warm");
    group.throughput(Throughput::Elements(ROWS)).sample_size(20);
    let store = ours(32 << 20);
    group.bench_function("tabstore", |bench| bench.iter(|| assert_eq!(store.scan(), ROWS)));
    let other = theirs("scan", 32 << 20, 4 << 10);
    group.bench_function("fjall", |bench| bench.iter(|| assert_eq!(other.scan(), ROWS)));
    group.finish();
}

/// Measures the effect of `work` on a store of `make`. Making and dropping the store do not count.
fn each<T>(
    group: &mut criterion::BenchmarkGroup<'_, CpuTime>,
    name: &str,
    mut make: impl FnMut() -> T,
    mut work: impl FnMut(&mut T),
) {
    group.bench_function(name, |bench| {
        bench.iter_custom(|times| {
            let mut total = Duration::ZERO;
            for _ in 0..times {
                let mut store = make();
                let started = process_time();
                work(&mut store);
                total += process_time() - started;
            }
            total
        });
    });
}

fn bulk(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("load 100,000 sorted rows and flush");
    group.throughput(Throughput::Elements(ROWS)).sample_size(10);
    each(
        &mut group,
        "tabstore",
        || Ours::new(Options::default()),
        |store| {
            for first in (0..ROWS).step_by(GROUP as usize) {
                store.put(&mut (first..first + GROUP), 0);
            }
            store.flush();
            store.world.settle();
        },
    );
    each(
        &mut group,
        "fjall",
        || Theirs::new("load", 32 << 20),
        |store| {
            for first in (0..ROWS).step_by(GROUP as usize) {
                store.put(first..first + GROUP, 0);
            }
            store.rows.rotate_memtable_and_wait().expect("flushed");
        },
    );
    group.finish();

    // As many as one memtable takes.
    let rows = 20_000;
    let mut group = criterion.benchmark_group("flush 20,000 rows");
    group.throughput(Throughput::Elements(rows)).sample_size(10);
    let make = || {
        let mut store = Ours::new(Options::default());
        store.put(&mut (0..rows).map(|at| at * 7919 % rows), 0);
        store
    };
    each(&mut group, "tabstore", make, |store| store.flush());
    let make = || {
        let store = Theirs::new("flush", 32 << 20);
        store.put((0..rows).map(|at| at * 7919 % rows), 0);
        store
    };
    each(&mut group, "fjall", make, |store| {
        store.rows.rotate_memtable_and_wait().expect("flushed");
    });
    group.finish();

    let mut group = criterion.benchmark_group("compact 100,000 rows that came in no order");
    group.throughput(Throughput::Elements(ROWS)).sample_size(10);
    let make = || {
        let mut store = Ours::new(Options { auto_compact: false, ..Options::default() });
        groups(|ids| {
            store.put(ids, 0);
        });
        store.flush();
        store
    };
    each(&mut group, "tabstore", make, |store| store.compact());
    let make = || {
        let store = Theirs::new("compact", 32 << 20);
        groups(|ids| store.put(ids, 0));
        store.rows.rotate_memtable_and_wait().expect("flushed");
        store
    };
    each(&mut group, "fjall", make, |store| store.rows.major_compact().expect("compacted"));
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default()
        .with_measurement(CpuTime)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3))
        .without_plots()
        .configure_from_args();
    put(&mut criterion);
    get(&mut criterion);
    scan(&mut criterion);
    bulk(&mut criterion);
    criterion.final_summary();
}
