//! Memory stays within what the options say, however much data comes and however fast: bytes are counted, not time.

use crate::store::{self, cell, id, put};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;
use tabstore::engine::{Decide, Direction, Engine, KeyRange, Options, RowView, TreeId, Writes};
use tabstore::env::Env as _;
use tabstore::env::sim::SimEnv;
use tabstore::model::{CellChange, CellOp, ChangeKind, KeyColumn, KeyType, RowChange, TableName, ValueRef};
use tabstore::session::codec::{FrameWriter, responses};
use tabstore::session::{Session, Sessions};
use tabstore::storage::MemoryStorage;
use tabstore::storage::faults::{Call, Hook, Hooked};
use tabstore::tablestore::{CreateTable, Instance, InstanceOptions, OptionsChange, ReadOptions, TableRead};

/// The system's allocator, counting for each thread what it has and the most that it had, without what is stored.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

/// So many bytes come, or go.
fn count(bytes: isize) {
    // A thread that ends has no counters any more.
    let live = LIVE.try_with(|live| {
        live.set(live.get() + bytes);
        live.get()
    });
    if let Ok(live) = live {
        let _ = MOST.try_with(|most| most.set(most.get().max(live)));
    }
}

#[expect(unsafe_code, reason = "an allocator is unsafe by nature; this one only counts")]
// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller's promises are those that the system's allocator wants.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Takes what the storage holds out of the count, call by call: it stands for a disk.
struct Disk(MemoryStorage, Cell<usize>);

impl Hook for Disk {
    async fn after(&self, _: &Call) -> tabstore::Result<()> {
        let stored = self.0.bytes();
        count(self.1.replace(stored).cast_signed() - stored.cast_signed());
        Ok(())
    }
}

const CACHE: usize = 2 << 20;
const MEMTABLE: usize = 512 << 10;
const SMALL: (usize, usize) = (MEMTABLE, CACHE);
/// The memory, about, of the requests that a session may have started.
const STARTED: usize = 4 << 20;
/// The memory of flush, compaction and a commit beside the cache's budget, and of this test itself.
const FLOOR: usize = 5 << 20;
/// What the README promises in its place.
const PROMISED_FLOOR: usize = 12 << 20;
const ROWS: i64 = 100_000;
const BATCH: i64 = 200;
const IN_FLIGHT: i64 = 20_000;

/// Memory is bounded by the options: memtables, cache, requests in flight. The data is many times as large.
#[test]
fn memory_stays_within_the_options_whatever_comes() {
    let (env, memory) = (SimEnv::new(store::NOW), MemoryStorage::new());
    let options = Options { cache_bytes: CACHE, memtable_bytes: MEMTABLE, ..Options::default() };
    let disk = Hooked::new(memory.clone(), Disk(memory.clone(), Cell::new(0)));
    let engine = env.run(Engine::open(disk, Rc::new(env.clone()), options)).expect("opens");
    let instance = env.run(async {
        let instance = Instance::open(Rc::clone(&engine), InstanceOptions::default()).await.expect("opens");
        let key = vec![KeyColumn::new("id", KeyType::Integer)];
        let table = CreateTable {
            name: "t".into(),
            key,
            options: OptionsChange::default(),
            reserved_read: None,
            reserved_write: None,
            defined: Vec::new(),
            indexes: Vec::new(),
            local_transactions: None,
            ..CreateTable::default()
        };
        instance.create_table(table).await.expect("created");
        instance
    });
    let answers = Rc::new(Cell::new(0));
    let answered = Rc::clone(&answers);
    let sessions = Sessions::new(Rc::clone(&instance), Rc::new(env.clone()));
    let deliver = move |frame: Vec<u8>| answered.set(answered.get() + responses(&frame).expect("whole").len() as i64);
    let session = sessions.open(1, deliver).expect("opened");
    let before = LIVE.get();
    MOST.set(before);
    let within = |what: &str, in_flight: usize| {
        let (most, budget) = ((MOST.get() - before).unsigned_abs(), CACHE + 3 * MEMTABLE + in_flight + FLOOR);
        assert!(most <= budget, "{what}: {most} bytes of {budget}, {} stored", memory.bytes());
        MOST.set(LIVE.get());
    };

    let mut frames = 0i64;
    for first in (0..ROWS).step_by(BATCH as usize) {
        let ids = (first..first + BATCH).map(|at| at * 7919 % ROWS);
        let rows: Vec<(i64, String)> = ids.map(|row| (row, text(row))).collect();
        let cells = |text| [cell("a", ValueRef::String(text)), cell("b", ValueRef::Integer(7))];
        let writes: Vec<_> = rows.iter().map(|(row, text)| put("t", id(*row), &cells(text))).collect();
        let mut frame = FrameWriter::default();
        frame.batch_write(frames.unsigned_abs(), &writes);
        drop(writes);
        let at_once = session.submit(frame.finish()).expect("a right frame");
        answers.set(answers.get() + at_once.map_or(0, |frame| responses(&frame).expect("whole").len() as i64));
        frames += 1;
        env.advance(1);
        if (frames - answers.get()) * BATCH >= IN_FLIGHT {
            env.run(async {
                while (frames - answers.get()) * BATCH > IN_FLIGHT / 2 {
                    env.yield_now().await;
                }
            });
        }
    }
    env.run_until_idle();
    assert_eq!(answers.get(), frames, "all are answered");
    // Frames that wait take their bytes.
    within("loading", STARTED + IN_FLIGHT as usize * 160);

    let all = || KeyRange { lower: std::ops::Bound::Unbounded, upper: std::ops::Bound::Unbounded };
    let tree = instance.tree_of(tabstore::model::TableName::parse("t").expect("a name")).expect("there");
    let mut rows = 0;
    env.run(engine.scan(tree, all(), Direction::Forward, &mut |_, _| {
        rows += 1;
        ControlFlow::Continue(())
    }))
    .expect("scanned");
    assert_eq!(rows, ROWS);
    within("scanning", 0);
    for first in 0..20 {
        let keys: Vec<Vec<u8>> = (0..100).map(|at| key(first + at * (ROWS / 100))).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let mut found = 0;
        env.run(engine.read(tree, &keys, &mut |_, row| found += usize::from(row.is_some()))).expect("read");
        assert_eq!(found, keys.len());
    }
    within("reading rows from all over the table together", 0);
    for first in 0..5 {
        let keys: Vec<Vec<u8>> = (0..BATCH).map(|at| key(first + at * (ROWS / BATCH))).collect();
        let rows: Vec<_> = keys.iter().map(|key| (tree, key.as_slice())).collect();
        let mut seen = Seen(Vec::new());
        env.run(engine.modify(&rows, None, &mut seen)).expect("decided");
        assert_eq!(seen.0, vec![true; rows.len()]);
    }
    within("deciding about rows from all over the table", 0);
    env.run(instance.compact()).expect("compacted");
    within("compacting", 0);
    // As stored; in memory it would be three times that.
    assert!(memory.bytes() > CACHE + 2 * MEMTABLE, "{} are not much", memory.bytes());
}

/// T4, D1: one row is many times as large as all memory: of large versions, of many small ones.
#[test]
fn t4_d1_memory_stays_within_the_options_however_large_a_row_is() {
    let large = |version: u64| vec![(0, version, noise(version, 100 << 10))];
    let small = |write: u64| (0..1000).rev().map(|at| (0, write * 1000 + at, noise(write * 1000 + at, 12))).collect();
    let huge = |version: u64| vec![(0, version, noise(version, 1 << 20))];
    row_stays_within("versions of 100 KB", SMALL, 120 * crate::times(), &large);
    row_stays_within("small versions", SMALL, 60 * crate::times(), &small);
    // A cell of this size is in memory several times.
    row_stays_within("versions of 1 MB", (8 << 20, 32 << 20), 60 * crate::times(), &huge);
    let columns = |write: u64| (0..1000).map(|at| (write * 1000 + at, 1, noise(at, 12))).collect();
    row_stays_within("columns", SMALL, 60 * crate::times(), &columns);
}

/// Writes a row by so many updates, each of which has some cells: column, version, value.
fn row_stays_within(
    what: &str,
    (memtable_bytes, cache_bytes): (usize, usize),
    writes: u64,
    cells: &dyn Fn(u64) -> Vec<(u64, u64, Vec<u8>)>,
) {
    let (env, memory) = (SimEnv::new(store::NOW), MemoryStorage::new());
    let options = Options { cache_bytes, memtable_bytes, ..Options::default() };
    let disk = Hooked::new(memory.clone(), Disk(memory.clone(), Cell::new(0)));
    let engine = env.run(Engine::open(disk, Rc::new(env.clone()), options)).expect("opens");
    let before = LIVE.get();
    MOST.set(before);
    for write in 0..writes {
        let of_write = cells(write);
        let named: Vec<_> = of_write.iter().map(|(column, ..)| format!("c{column:06}")).collect();
        let cells = of_write.iter().zip(&named).map(|((_, version, value), column)| CellChange {
            column,
            op: CellOp::Put(version.cast_signed(), ValueRef::Binary(value)),
        });
        let cells: Vec<_> = cells.collect();
        let change = RowChange { kind: ChangeKind::Update, stamp: write.cast_signed(), cells: &cells };
        env.run(engine.write(TreeId(1), b"row", &change, None)).expect("written");
    }
    env.run_until_idle();
    env.run(engine.compact()).expect("compacted");
    // With nine times as many columns a merge needs about twice as much; the README's promise holds there too.
    let budget = if crate::times() == 1 {
        cache_bytes + 3 * memtable_bytes + FLOOR
    } else {
        cache_bytes + 4 * memtable_bytes + PROMISED_FLOOR
    };
    let most = (MOST.get() - before).unsigned_abs();
    assert!(most <= budget, "{what}: {most} bytes of {budget}, {} stored", memory.bytes());
    assert!(memory.bytes() > memtable_bytes, "{what}: {} are not much", memory.bytes());
}

/// The sessions of an instance in memory with an empty table `t`.
fn sessions_of_a_table(cache_bytes: usize) -> (SimEnv, Rc<Instance>, Sessions) {
    let env = SimEnv::new(store::NOW);
    let instance = env.run(async {
        let options = Options { cache_bytes, ..Options::default() };
        let engine = Engine::open(MemoryStorage::new(), Rc::new(env.clone()), options).await.expect("opens");
        let instance = Instance::open(engine, InstanceOptions::default()).await.expect("opens");
        let key = vec![KeyColumn::new("id", KeyType::Integer)];
        let table = CreateTable { name: "t".into(), key, ..CreateTable::default() };
        instance.create_table(table).await.expect("created");
        instance
    });
    let sessions = Sessions::new(Rc::clone(&instance), Rc::new(env.clone()));
    (env, instance, sessions)
}

/// What an idle session keeps for its next pages, at most: one large page, and little else.
const SPARE_PAGES: isize = 3 << 19;
const IDLE: u64 = 3;

/// Idle sessions hold on to neither the many names of their last pages, nor to many large pages.
#[test]
fn idle_sessions_keep_no_large_pages() {
    // All pages are filled one after another from the cache, or all at once, while the storage is read.
    for cache in [16 << 20, 0] {
        for (rows, names, bytes) in [(200, 250, 1), (20, 1, 100_000)] {
            let (env, instance, sessions) = sessions_of_a_table(cache);
            for row in 0..rows {
                let names: Vec<String> = (0..names).map(|at| format!("c{row}_{at}")).collect();
                let value = noise(row, bytes);
                let cells: Vec<_> = names.iter().map(|name| cell(name, ValueRef::Binary(&value))).collect();
                env.run(instance.write_row(&put("t", id(row.cast_signed()), &cells), None)).expect("put");
            }
            env.run(instance.flush()).expect("flushed");
            let open: Vec<_> = (0..IDLE).map(|client| sessions.open(client, |_| ()).expect("opened")).collect();
            let ask = |session: &Session| {
                let mut frame = FrameWriter::default();
                for number in 0..4 {
                    frame.get_range(number, &store::range("t", Direction::Forward));
                }
                drop(session.submit(frame.finish()).expect("a right frame"));
                env.run_until_idle();
            };
            // Blocks that are read now are in the cache from then on.
            ask(&open[0]);
            let before = LIVE.get();
            open.iter().skip(1).for_each(ask);
            let kept = (LIVE.get() - before) / (IDLE.cast_signed() as isize - 1);
            assert!(
                kept < SPARE_PAGES,
                "{rows} rows of {names} columns, cache {cache}: each session keeps {kept} bytes"
            );
        }
    }
}

/// R2: the memory of a request is bounded by its bytes, also if it names very many tables or keys.
#[test]
fn r2_a_batch_of_very_many_tables_or_keys_stays_within_its_bytes() {
    let (env, _instance, sessions) = sessions_of_a_table(CACHE);
    let session = sessions.open(1, |_| ()).expect("opened");
    let table = TableName::parse("t").expect("a name");
    let read = |keys| TableRead { table, keys, options: ReadOptions::default() };
    for (what, tables) in [
        ("tables", (0..200_000).map(|_| read(Vec::new())).collect::<Vec<_>>()),
        ("keys", vec![read((0..200_000).map(id).collect())]),
    ] {
        let mut frame = FrameWriter::default();
        frame.batch_get(1, &tables);
        let bytes = frame.finish();
        drop((tables, frame));
        let (length, before) = (bytes.len(), LIVE.get());
        MOST.set(before);
        let answer = session.submit(bytes).expect("a right frame").expect("answered at once");
        assert!(responses(&answer).expect("whole").remove(0).payload.is_err());
        env.run_until_idle();
        let most = (MOST.get() - before).unsigned_abs();
        assert!(most < 2 * length, "{what}: a request of {length} bytes takes {most}");
    }
}

/// Bytes that no compression shrinks.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..length).map(next).collect()
}

/// Which rows are there, and nothing to write.
struct Seen(Vec<bool>);

impl Decide for Seen {
    fn see(&mut self, at: usize, row: Option<&RowView<'_>>) -> tabstore::Result<()> {
        self.0.truncate(at);
        self.0.resize(at, false);
        self.0.push(row.is_some());
        Ok(())
    }

    fn write(&mut self, _: &mut Writes<'_>) {}
}

fn text(row: i64) -> String {
    // Compresses to about a half.
    let noise = (row.unsigned_abs() + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    format!("{noise:032x}{:032x}{noise:016x}", noise.rotate_left(17).wrapping_mul(noise))
}

/// The encoded primary key.
fn key(row: i64) -> Vec<u8> {
    [&[2][..], &(row.cast_unsigned() ^ (1 << 63)).to_be_bytes()].concat()
}
