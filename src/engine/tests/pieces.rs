//! A merge that has no room for its whole output goes on in pieces.

use super::*;
use crate::storage::AnyStorage;
use crate::storage::faults::{CrashImages, Hooked};
use crate::storage::files::FileStorage;
use crate::storage::files::device::Device;

const ROWS: i64 = 4000;
const RESERVE: usize = 128 << 10;

/// Small sizes with the proportions of a browser's.
fn options(segment_bytes: u64) -> Options {
    let shape = Shape { block_bytes: 4 << 10, segment_bytes, level1_bytes: 64 << 10, ..Shape::DEFAULT };
    let options = Options { memtable_bytes: 32 << 10, cache_bytes: 1 << 20, reserve_bytes: RESERVE, ..tiny() };
    Options { shape, clock: ClockMode::Injected, ..options }
}

/// A value that does not compress.
fn noise(row: i64) -> Vec<u8> {
    let word = |word: i64| (row * 125 + word + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed());
    let mixed =
        |word: i64| (word ^ word.unsigned_abs().rotate_right(29).cast_signed()).wrapping_mul(0x2545_F491_4F6C_DD1D);
    (0..125).flat_map(|at| mixed(word(at)).to_le_bytes()).collect()
}

fn key(row: i64) -> String {
    format!("k{row:04}")
}

/// All rows, in an order that comes to all parts of the key axis again and again.
fn scattered() -> impl Iterator<Item = i64> {
    (0..ROWS).map(|at| at * 1787 % ROWS)
}

/// A storage with a limit.
trait Limited: Clone {
    fn storage(&self) -> AnyStorage;
    fn used(&self) -> u64;
    fn limit(&self, bytes: u64);
}

impl Limited for MemoryStorage {
    fn storage(&self) -> AnyStorage {
        AnyStorage::from(self.clone())
    }

    fn used(&self) -> u64 {
        self.bytes() as u64
    }

    fn limit(&self, bytes: u64) {
        self.set_quota(Some(bytes as usize));
    }
}

/// The device of a storage in files. Its journal keeps little.
#[derive(Clone)]
struct InFiles(Device, SimEnv);

impl Limited for InFiles {
    fn storage(&self) -> AnyStorage {
        AnyStorage::from(self.1.run(FileStorage::open_with(self.0.folder(), 64 << 10, false)).expect("opens"))
    }

    fn used(&self) -> u64 {
        self.0.used()
    }

    fn limit(&self, bytes: u64) {
        self.0.set_room(Some(bytes));
    }
}

/// A store whose rows lie in one run, on a storage that is full.
struct Full<S> {
    env: SimEnv,
    storage: S,
    engine: Rc<Engine>,
    bytes: u64,
}

impl<S: Limited> Full<S> {
    fn new(env: SimEnv, storage: S, segment_bytes: u64) -> Self {
        let opened = Engine::open(storage.storage(), Rc::new(env.clone()), options(segment_bytes));
        let engine = env.run(opened).expect("opens");
        env.run(async {
            for row in 0..ROWS {
                put_noise(&engine, row).await.expect("put");
            }
            engine.compact().await.expect("compacted");
        });
        let full = Self { env, bytes: 0, storage, engine };
        full.pass_seconds(5);
        assert_eq!(full.engine.metrics().reserve_bytes, RESERVE as u64);
        let bytes = full.storage.used();
        full.storage.limit(bytes);
        Self { bytes, ..full }
    }

    fn pass_seconds(&self, seconds: u32) {
        for _ in 0..seconds {
            self.env.run_until_idle();
            self.env.advance(1000);
        }
        self.env.run_until_idle();
    }

    fn delete(&self, rows: impl Iterator<Item = i64>) {
        self.env.run(async {
            for row in rows {
                let change = RowChange { kind: ChangeKind::Delete, stamp: NOW, cells: &[] };
                self.engine.write(TREE, key(row).as_bytes(), &change, None).await.expect("deleted");
            }
        });
        self.pass_seconds(2);
    }

    fn rows(&self) -> Vec<String> {
        self.env.run(keys(&self.engine))
    }

    /// Whether rows can be added again, and so many bytes of the storage are free.
    fn assert_healed(&self, least: u64) {
        let free = self.bytes - self.storage.used();
        assert!(free >= least, "{free} of {} bytes are free", self.bytes);
        assert_eq!(self.engine.metrics().reserve_bytes, RESERVE as u64);
        self.env.run(put_noise(&self.engine, ROWS)).expect("there is room again");
    }
}

async fn put_noise(engine: &Engine, row: i64) -> Result<()> {
    let noise = noise(row);
    let cells = [CellChange { column: "x", op: CellOp::Put(NOW, ValueRef::Binary(&noise)) }];
    engine.write(TREE, key(row).as_bytes(), &RowChange { kind: ChangeKind::Put, stamp: NOW, cells: &cells }, None).await
}

/// The keys of all rows, whose values are checked.
async fn keys(engine: &Engine) -> Vec<String> {
    let mut keys = Vec::new();
    let mut visit = |found: &[u8], row: &RowView<'_>| {
        let found = String::from_utf8_lossy(found).into_owned();
        let number: i64 = found[1..].parse().expect("a number");
        assert!(matches!(row.cells(), [only] if only.value == ValueRef::Binary(&noise(number))), "row {number}");
        keys.push(found);
        ControlFlow::Continue(())
    };
    engine.scan(TREE, all(), Direction::Forward, &mut visit).await.expect("scanned");
    keys
}

fn heals_when_nearly_all_is_deleted(full: Full<impl Limited>) {
    full.delete(scattered().filter(|row| row % 20 != 0));
    full.assert_healed(full.bytes * 7 / 10);
    let mut expected: Vec<String> = (0..ROWS).step_by(20).map(key).collect();
    expected.push(key(ROWS));
    assert_eq!(full.rows(), expected);
    let Full { env, storage, engine, .. } = full;
    env.run(engine.close());
    drop(engine);
    let opened = Engine::open(storage.storage(), Rc::new(env.clone()), options(64 << 10));
    assert_eq!(env.run(keys(&env.run(opened).expect("opens"))), expected);
}

/// Half of the rows stay, in one stretch. What is written anew of the others is more than the reserve.
fn heals_beside_rows_that_stay(full: &Full<impl Limited>) {
    full.delete(scattered().filter(|row| *row >= ROWS / 2 && row % 10 != 0));
    full.assert_healed(full.bytes * 3 / 10);
    let rest = (0..=ROWS).filter(|row| *row < ROWS / 2 || row % 10 == 0);
    assert_eq!(full.rows(), rest.map(key).collect::<Vec<_>>());
}

fn in_memory(segment_bytes: u64) -> Full<MemoryStorage> {
    Full::new(SimEnv::new(NOW), MemoryStorage::new(), segment_bytes)
}

fn in_files(segment_bytes: u64) -> Full<InFiles> {
    let env = SimEnv::new(NOW);
    Full::new(env.clone(), InFiles(Device::default(), env), segment_bytes)
}

#[test]
fn q_a_full_storage_heals_though_what_is_left_is_more_than_the_reserve() {
    for segment_bytes in [64 << 10, 256 << 10] {
        heals_when_nearly_all_is_deleted(in_memory(segment_bytes));
    }
}

#[test]
fn q_a_full_folder_heals_though_what_is_left_is_more_than_the_reserve() {
    for segment_bytes in [64 << 10, 256 << 10] {
        heals_when_nearly_all_is_deleted(in_files(segment_bytes));
    }
}

#[test]
fn q_a_full_storage_heals_beside_many_rows_that_stay() {
    heals_beside_rows_that_stay(&in_memory(256 << 10));
    heals_beside_rows_that_stay(&in_files(256 << 10));
}

/// Whoever asks for it gets it in pieces too.
#[test]
fn q_a_compaction_that_is_asked_for_on_a_full_storage_goes_on_in_pieces() {
    let full = in_memory(64 << 10);
    full.delete(scattered().filter(|row| row % 2 == 0));
    full.env.run(full.engine.compact()).expect("compacted");
    full.assert_healed(full.bytes * 4 / 10);
    assert_eq!(full.rows().len() as i64, ROWS / 2 + 1);
}

/// A reader that has begun before sees what was there.
#[test]
fn a_scan_sees_its_instant_while_a_merge_goes_on_in_pieces() {
    let full = in_memory(64 << 10);
    let mut seen = 0;
    full.env.run(async {
        let mut order = scattered().filter(|row| row % 20 != 0);
        let mut visit = |_: &[u8], _: &RowView<'_>| {
            seen += 1;
            ControlFlow::Continue(())
        };
        let scan = full.engine.scan(TREE, all(), Direction::Backward, &mut visit);
        let deletions = async {
            for row in &mut order {
                let change = RowChange { kind: ChangeKind::Delete, stamp: NOW, cells: &[] };
                full.engine.write(TREE, key(row).as_bytes(), &change, None).await.expect("deleted");
            }
        };
        let (scanned, ()) = futures_util::future::join(scan, deletions).await;
        scanned.expect("scanned");
    });
    assert_eq!(seen, ROWS);
    full.pass_seconds(2);
    full.assert_healed(full.bytes * 7 / 10);
}

/// The stored state after each change has the deletions up to some place, and all other rows.
#[test]
fn a_crash_at_any_time_of_a_merge_in_pieces_loses_nothing() {
    let Full { env, storage, engine, .. } = in_memory(64 << 10);
    env.run(engine.close());
    let images = Rc::new(CrashImages::new(&storage));
    let hooked = Hooked::new(storage.clone(), Rc::clone(&images));
    let opened = Engine::open(hooked, Rc::new(env.clone()), options(64 << 10));
    let engine = env.run(opened).expect("opens");
    let order: Vec<i64> = scattered().filter(|row| row % 20 != 0).collect();
    let mut pieces = 1;
    for some in order.chunks(100) {
        env.run(async {
            for row in some {
                let change = RowChange { kind: ChangeKind::Delete, stamp: NOW, cells: &[] };
                engine.write(TREE, key(*row).as_bytes(), &change, None).await.expect("deleted");
            }
        });
        env.run_until_idle();
        pieces = pieces.max(engine.partitions(TREE).len());
        let taken = images.take();
        let every = taken.len().div_ceil(3);
        for image in taken.into_iter().step_by(every.max(1)) {
            let env = SimEnv::new(NOW);
            let found = env.run(keys(&open(&env, &image, &options(64 << 10))));
            let there = |row: &i64| found.binary_search(&key(*row)).is_ok();
            assert!((0..ROWS).step_by(20).all(|row| there(&row)), "the rows that stay");
            let deleted = order.iter().take_while(|row| !there(row)).count();
            assert_eq!(found.len() + deleted, ROWS as usize, "after {deleted} deletions");
        }
    }
    assert!(pieces > 2, "{pieces} pieces");
}

/// A few rows that are written again and again fill the log, and would make a small segment.
fn flushes_when_its_log_cannot_grow(env: &SimEnv, storage: &impl Limited, room: u64) {
    let options = Options { memtable_bytes: 8 << 20, ..options(64 << 10) };
    let opened = Engine::open(storage.storage(), Rc::new(env.clone()), options);
    let engine = env.run(opened).expect("opens");
    env.run(put_noise(&engine, 0)).expect("put");
    for _ in 0..3 {
        env.run_until_idle();
        env.advance(1000);
    }
    env.run_until_idle();
    assert_eq!(engine.metrics().reserve_bytes, RESERVE as u64);
    storage.limit(storage.used() + room);
    let mut refused = 0;
    for round in 0..10_000 {
        match env.run(put_noise(&engine, round % 20)) {
            Ok(()) => {}
            Err(error) => {
                assert_eq!(error.code(), Code::QuotaExceeded, "{error}");
                refused += 1;
                env.run_until_idle();
            }
        }
    }
    assert!(refused < 100, "{refused} of 10000 writes were refused");
    assert_eq!(env.run(keys(&engine)).len(), 20);
}

#[test]
fn q_a_log_that_cannot_grow_is_flushed() {
    flushes_when_its_log_cannot_grow(&SimEnv::new(NOW), &MemoryStorage::new(), 300 << 10);
}

#[test]
fn q_a_log_in_a_full_folder_is_flushed() {
    let env = SimEnv::new(NOW);
    flushes_when_its_log_cannot_grow(&env, &InFiles(Device::default(), env.clone()), 4 << 20);
}
