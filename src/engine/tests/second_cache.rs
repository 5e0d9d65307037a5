//! The second cache, in a file beside the storage: what it spares, and that it never has another row than the storage.

use super::*;
use crate::engine::segment::file_cache::{FileCache, PAGES, PAGES_AT};
use crate::engine::segment::second_cache::{SecondaryCache, StoreMark};
use crate::engine::versions::manifest::Segments;
use crate::format::block::{Block, BlockBuilder};
use crate::format::columns::Form;
use crate::format::fragment::{self, FragmentHead};
use crate::format::record::Place;
use crate::storage::faults::{Call, Gates, Hooked, Moment};
use crate::storage::files::Folder;
use crate::storage::files::device::Device;
use crate::storage::{BlockId, SegmentId};

type Rows = BTreeMap<String, i64>;

/// A store whose log and second cache are on a device. Calls of the storage beside pass the gates.
struct World {
    env: SimEnv,
    storage: MemoryStorage,
    device: Device,
    gates: Rc<Gates>,
    options: Options,
}

impl World {
    fn new(env: SimEnv, options: Options) -> Self {
        let (storage, device) = (MemoryStorage::new(), Device::default());
        Self { env, storage, device, gates: Rc::new(Gates::default()), options }
    }

    fn open(&self) -> Rc<Engine> {
        let base = Hooked::new(self.storage.clone(), Rc::clone(&self.gates));
        let engine = open_beside(&self.env, base, &self.device, &self.options).expect("opens");
        self.env.run_until_idle();
        engine
    }

    /// Opens it as a thread without files does. The log must be in the storage.
    fn open_without_files(&self) -> Rc<Engine> {
        open(&self.env, &self.storage, &self.options)
    }

    fn scratch(&self) -> Vec<u8> {
        self.device.files().into_iter().find(|(name, _)| name == "scratch").map(|(_, bytes)| bytes).unwrap_or_default()
    }

    fn put(&self, engine: &Engine, key: &str, value: i64) {
        self.env.run(write(engine, key, ChangeKind::Put, NOW, &[put("x", NOW, value)]));
    }

    fn value(&self, engine: &Engine, key: &str) -> Option<i64> {
        self.env.run(get(engine, key)).map(|cells| cells[0].2)
    }

    fn rows(&self, engine: &Engine) -> Rows {
        let rows = self.env.run(scan(engine, all(), Direction::Forward));
        rows.into_iter().map(|(key, cells)| (key, cells[0].2)).collect()
    }
}

fn key(i: u64) -> String {
    format!("k{i:05}")
}

/// Blocks as in IndexedDB, and a cache in memory that holds few of them.
fn large_blocks() -> Options {
    Options { cache_bytes: 2 << 20, ..without_reserve() }
}

/// 30,000 rows in blocks of many slices.
fn filled() -> World {
    let world = World::new(SimEnv::new(NOW), large_blocks());
    let engine = world.open();
    world.env.run(async {
        for i in 0..30_000 {
            write(&engine, &key(i * 2), ChangeKind::Put, NOW, &[put("x", NOW, i.cast_signed())]).await;
        }
        engine.compact().await.expect("compacted");
        engine.close().await;
    });
    world
}

/// Makes reads of blocks fail from now on.
fn without_blocks(world: &World) {
    world.gates.fail(u32::MAX, |call| matches!(call, Call::GetBlocks(_)), Moment::Before, Code::Unavailable);
}

/// P: a row that is not in memory is read without the storage: alone, with others, in a range, and one that is not there.
#[test]
fn after_a_reopening_rows_come_from_the_file() {
    let world = filled();
    let engine = world.open();
    without_blocks(&world);
    for i in (0..30_000).step_by(997) {
        assert_eq!(world.value(&engine, &key(i * 2)), Some(i.cast_signed()));
        assert_eq!(world.value(&engine, &key(i * 2 + 1)), None);
    }
    let keys: Vec<String> = (0..30_000).step_by(311).map(|i| key(i * 2)).collect();
    let asked: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let mut found = 0;
    let mut see = |index: usize, row: Option<&RowView<'_>>| {
        assert_eq!(cells(row.expect("there"))[0].2, 311 * i64::try_from(index).expect("small"));
        found += 1;
    };
    world.env.run(engine.read(TREE, &asked, &mut see)).expect("read");
    assert_eq!(found, keys.len());
    assert_eq!(world.rows(&engine).len(), 30_000);
}

/// A row that is read again and again is in memory as before: its block is taken out of the file once.
#[test]
fn blocks_of_rows_that_are_read_often_come_into_memory() {
    let world = filled();
    let engine = world.open();
    let hits = |engine: &Engine| engine.metrics().cache_hits;
    let before = hits(&engine);
    for _ in 0..40 {
        assert_eq!(world.value(&engine, &key(0)), Some(0));
    }
    assert!(hits(&engine) - before > 20 * 2, "its index and its block: {}", hits(&engine) - before);
}

/// R1: damage in the file costs nothing but the time for the storage.
#[test]
fn f_a_damaged_file_never_shows_other_rows() {
    let world = filled();
    let length = world.scratch().len();
    assert!(length > PAGES_AT as usize + 100_000, "{length}");
    for seed in 0..60_u64 {
        let random = world.env.random();
        world.device.damage("scratch", |bytes| match seed % 4 {
            0 => bytes.truncate(random as usize % length),
            1 => bytes
                .iter_mut()
                .skip(random as usize % 4000)
                .step_by(1 + random as usize % 7000)
                .for_each(|byte| *byte ^= 1),
            2 => bytes.copy_within(PAGES_AT as usize..PAGES_AT as usize + 40_000, PAGES_AT as usize + 4096),
            _ => bytes.iter_mut().skip(PAGES_AT as usize).step_by(97).for_each(|byte| *byte = byte.wrapping_add(1)),
        });
        let engine = world.open();
        for i in (0..30_000).step_by(1009) {
            assert_eq!(world.value(&engine, &key(i * 2)), Some(i.cast_signed()), "seed {seed}");
        }
        world.env.run(engine.compact()).expect("compacted");
        world.put(&engine, "z", seed.cast_signed());
        world.env.run(engine.flush()).expect("flushed");
        world.env.run(engine.close());
    }
}

/// Q: the file gives its room back before a write is refused, and before the reserve is used.
#[test]
fn q_a_full_disk_takes_the_file_first() {
    let world = filled();
    let engine = world.open();
    assert!(world.scratch().len() > 100_000);
    world.gates.fail(1, |call| matches!(call, Call::Stage(..)), Moment::Before, Code::QuotaExceeded);
    world.put(&engine, &key(1), 7);
    world.env.run(engine.flush()).expect("flushed, once there was room");
    assert_eq!(world.scratch().len(), 0);
    assert_eq!((world.value(&engine, &key(1)), world.value(&engine, &key(2))), (Some(7), Some(1)));
    world.env.run(engine.close());
    let engine = world.open();
    assert_eq!((world.value(&engine, &key(1)), world.value(&engine, &key(2))), (Some(7), Some(1)));
}

/// Q: a commit and a flush that found no room at once share the room of the file.
#[test]
fn q_calls_that_are_refused_together_share_the_room_of_the_file() {
    let world = filled();
    let engine = world.open();
    world.put(&engine, &key(1), 7);
    let writes = |call: &Call| matches!(call, Call::Stage(..) | Call::Commit(_));
    world.gates.hold(writes);
    let cells = [put("x", NOW, 9)];
    let change = RowChange { kind: ChangeKind::Put, stamp: NOW, cells: &cells };
    let (flushed, ()) = world.env.run(async {
        let flush = engine.flush();
        let refused = async {
            while world.gates.held() == 0 {
                world.env.yield_now().await;
            }
            world.gates.fail(2, writes, Moment::Before, Code::QuotaExceeded);
            world.gates.open();
        };
        futures_util::future::join(flush, refused).await
    });
    flushed.expect("flushed: the second refusal takes what the first one has given");
    world.env.run(engine.write(TREE, b"z", &change, None)).expect("written");
    assert_eq!((world.scratch().len(), world.gates.failures_left()), (0, 0));
}

/// Q: a reserve that finds no room takes the file's, and nobody is told of a full disk.
#[test]
fn q_the_reserve_takes_the_room_of_the_file() {
    let world = World::new(SimEnv::new(NOW), Options { reserve_bytes: 60_000, ..large_blocks() });
    let engine = world.open();
    let is_reserve = |call: &Call| matches!(call, Call::Stage(segment, ..) if segment.0 < 4);
    world.gates.fail(1, is_reserve, Moment::Before, Code::QuotaExceeded);
    for i in 0..3000 {
        world.put(&engine, &key(i), i.cast_signed());
    }
    world.env.run(engine.compact()).expect("compacted");
    let before = world.scratch().len();
    for _ in 0..5 {
        world.env.advance(1000);
        world.env.run_until_idle();
    }
    assert_eq!(engine.metrics().reserve_bytes, 60_000);
    assert_eq!((before > PAGES_AT as usize, world.scratch().len(), world.gates.failures_left()), (true, 0, 0));
    assert_eq!(world.value(&engine, &key(2999)), Some(2999));
}

/// R5: lives of a store whose leaders have the file or not, that are closed or die, lose the last moments of the storage or not, and lose
/// power or not. What is read is what the storage has, always.
#[test]
fn f_lives_with_and_without_the_file_agree_with_a_model() {
    let (mut reused, mut from_file) = (0, 0);
    for seed in 0..120 {
        let env = SimEnv::shuffled(NOW, seed);
        let random = |below: u64| env.random() % below;
        let mut world = World::new(env.clone(), Options { cache_bytes: 30_000, memtable_bytes: 6000, ..tiny() });
        let mut model = Rows::new();
        let mut older: Option<(MemoryStorage, Rows)> = None;
        // Then its log is in the files.
        let mut died = false;
        for life in 0..12 {
            let has_file = died || random(4) > 0;
            let engine = if has_file { world.open() } else { world.open_without_files() };
            assert_eq!(world.rows(&engine), model, "seed {seed}, life {life}");
            for step in 0..random(120) {
                let key = format!("k{:02}", random(60));
                match random(10) {
                    0 => {
                        env.run(write(&engine, &key, ChangeKind::Delete, NOW, &[]));
                        model.remove(&key);
                    }
                    1..6 => {
                        let value = (life * 1000 + step).cast_signed();
                        world.put(&engine, &key, value);
                        model.insert(key, value);
                    }
                    _ => assert_eq!(world.value(&engine, &key), model.get(&key).copied(), "seed {seed}, life {life}"),
                }
                match random(40) {
                    0 => env.run(engine.flush()).expect("flushed"),
                    1 => env.run(engine.compact()).expect("compacted"),
                    _ => {}
                }
            }
            from_file += u32::from(world.scratch().len() > PAGES_AT as usize);
            died = has_file && random(3) == 0;
            if died {
                world.storage = world.storage.image();
                world.device = world.device.image();
                drop(engine);
                continue;
            }
            env.run(engine.close());
            world.storage = world.storage.image();
            if random(4) == 0 {
                world.device = world.device.power_cut(&mut |below| random(below));
            }
            // The log is in the storage alone now, so an older image of it is a state that it had.
            match older.take() {
                Some((storage, rows)) if random(3) == 0 => {
                    (world.storage, model) = (storage, rows);
                    reused += 1;
                }
                _ if random(2) == 0 => older = Some((world.storage.image(), model.clone())),
                kept => older = kept,
            }
        }
    }
    assert!(reused > 100 && from_file > 400, "{reused} fell back, {from_file} had a file");
}

fn block_id(block: u32) -> BlockId {
    BlockId { segment: SegmentId(9), block }
}

/// A block of a thousand rows.
fn block(id: BlockId) -> Block {
    let mut builder = BlockBuilder::default();
    for i in 0..1000_u64 {
        let seed = (i + u64::from(id.block) * 1000) * 8;
        let noise: String = (seed..seed + 8).map(|n| format!("{:x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15))).collect();
        let head = FragmentHead { hides_older: true, marker: Some(1), stamp: 1 };
        let cell = CellChange { column: "c", op: CellOp::Put(1, ValueRef::String(&noise)) };
        builder.push(&i.to_be_bytes(), i, 1, |base, names, out| fragment::encode(head, [cell], base, names, out));
    }
    Block::decode(builder.finish(Place::Block(id), Form::Fast).1).expect("a block")
}

fn cache_on(device: &Device, env: &SimEnv, has_segment: bool) -> FileCache {
    let file = Box::new(env.run(device.folder().open("scratch")).expect("opened"));
    let mut segments = Segments::default();
    if has_segment {
        segments.insert(SegmentId(9), Rc::default());
    }
    FileCache::open(file, (Rc::new(env.clone()), 1 << 20), Some(StoreMark::default()), &segments).expect("opened")
}

/// In a private window of Chromium a file is slower than IndexedDB.
#[test]
fn a_slow_file_is_closed_after_some_reads() {
    for (us, is_slow) in [(20, false), (400, true)] {
        let (env, device) = (SimEnv::new(NOW), Device::default());
        env.take_us(us);
        let cache = cache_on(&device, &env, true);
        cache.put(block_id(0), &block(block_id(0)), true);
        let key = 7_u64.to_be_bytes();
        let reads = (0..100).filter(|_| cache.read(block_id(0), Some(&[&key])).is_some()).count();
        assert_eq!((reads < 40, device.used() == 0), (is_slow, is_slow), "{reads} of 100 reads of {us} us");
    }
}

/// What was written first goes first, what was removed leaves its place, and the file never grows beyond its pages.
#[test]
fn a_full_file_keeps_the_newest_blocks() {
    let (env, device) = (SimEnv::new(NOW), Device::default());
    let cache = cache_on(&device, &env, true);
    let all = 240;
    for number in 0..all {
        cache.put(block_id(number), &block(block_id(number)), false);
    }
    let has = |cache: &FileCache, number: u32| {
        let key = 700_u64.to_be_bytes();
        let found = cache.read(block_id(number), Some(&[&key]));
        found.inspect(|(found, is_whole)| {
            let expected = block(block_id(number));
            let entry = |block: &Block| block.entry(block.lower_bound(&key)).map(|entry| entry.fragment.to_vec());
            assert_eq!((entry(found), *is_whole), (entry(&expected), false));
        })
    };
    let first = (0..all).find(|number| has(&cache, *number).is_some()).expect("some");
    assert!(first > 20 && all - first > 50, "the first is {first}");
    assert!((first..all).all(|number| has(&cache, number).is_some()));
    assert!(device.used() <= PAGES_AT + u64::from(PAGES) * 4096, "{} bytes", device.used());
    for number in first..first + 10 {
        cache.remove(block_id(number));
    }
    for number in 0..8 {
        cache.put(block_id(number), &block(block_id(number)), false);
    }
    assert!((first + 10..all).chain(0..8).all(|number| has(&cache, number).is_some()), "there was room");
    cache.close();
    assert!(has(&cache, all - 1).is_none());
    let again = cache_on(&device, &env, true);
    assert!((first + 10..all).chain(0..8).all(|number| has(&again, number).is_some()));
    again.close();
    let other = cache_on(&device, &env, false);
    assert!(has(&other, all - 1).is_none(), "its segment is not in the store");
}

/// While a store is much larger than the file, what is written does not push out what is read.
#[test]
fn what_is_written_to_a_large_store_is_not_kept() {
    let (env, device) = (SimEnv::new(NOW), Device::default());
    let cache = cache_on(&device, &env, true);
    let kept = |is_written| {
        (0..320)
            .filter(|number| {
                cache.put(block_id(*number), &block(block_id(*number)), is_written);
                cache.read(block_id(*number), None).is_some()
            })
            .count()
    };
    assert!((50..250).contains(&kept(true)), "until a manifest tells how large it is");
    assert_eq!(kept(false), 320);
}
