//! The second cache, in a file beside the storage: what it spares, and that it never has another row than the storage.

use super::*;
use crate::engine::segment::file_cache::PAGES_AT;
use crate::storage::faults::{Call, Gates, Hooked, Moment};
use crate::storage::files::LogInFiles;
use crate::storage::files::device::Device;

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
        let engine = self.env.run(async {
            let shared: Rc<dyn Env> = Rc::new(self.env.clone());
            let check = Rc::new(|| Box::pin(async { Ok(()) }) as LocalFuture<Result<()>>);
            let log = LogInFiles::open_with(base, self.device.folder(), Rc::clone(&shared), check, 20_000).await?;
            Engine::open(log, shared, self.options.clone()).await
        });
        let engine = engine.expect("opens");
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
