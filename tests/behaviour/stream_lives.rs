//! Streams (ST2, ST3): random lives of a table, whose records make the same table again.

use crate::store::*;
use crate::streams::{iterator, on, read, set, shards};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use tabstore::engine::{ClockMode, Direction, Options, Shape};
use tabstore::env::Env;
use tabstore::env::sim::SimEnv;
use tabstore::model::select::VersionQuery;
use tabstore::model::{ChangeKind, KeyType, KeyValue, ValueRef};
use tabstore::storage::MemoryStorage;
use tabstore::storage::faults::CrashImages;
use tabstore::tablestore::{
    ColumnOp, Existence, InstanceOptions, Loader, OptionsChange, PutRows, ReadOptions, StreamRecord, StreamStart,
};

/// Rows and their versions, as any reader sees them.
pub(crate) fn content(store: &Store, table: &str) -> Vec<(Vec<KeyValue>, Vec<Cell>)> {
    let mut request = range(table, Direction::Forward);
    request.options = ReadOptions {
        versions: VersionQuery { max_versions: Some(100), ..VersionQuery::NEWEST },
        ..ReadOptions::default()
    };
    store.range(&request).0
}

/// Writes a record to a table.
fn replay(store: &Store, table: &str, record: &StreamRecord) {
    let key = key(&[("id", record.key[0].as_ref()), ("n", record.key[1].as_ref())]);
    let written = match record.kind {
        ChangeKind::Delete => delete(table, key),
        ChangeKind::Put => {
            let cells: Vec<_> = record
                .cells
                .iter()
                .map(|(name, version, value)| {
                    cell_at(name, version.expect("a put"), value.as_ref().expect("a put").as_ref())
                })
                .collect();
            put(table, key, &cells)
        }
        ChangeKind::Update => {
            let changes: Vec<_> = record
                .cells
                .iter()
                .map(|(name, version, value)| {
                    change(
                        name,
                        match (version, value) {
                            (version, Some(value)) => ColumnOp::Put { version: *version, value: value.as_ref() },
                            (Some(version), None) => ColumnOp::DeleteVersion(*version),
                            (None, None) => ColumnOp::DeleteColumn,
                        },
                    )
                })
                .collect();
            update(table, key, &changes)
        }
    };
    store.write(&written).expect("right");
}

/// A reader of all shards that keeps its places over restarts, and replays what it reads.
#[derive(Default)]
struct Follower {
    /// The iterators of shards that were begun; none for those read to their ends.
    places: BTreeMap<i64, Option<String>>,
    /// What was read of each row.
    read: BTreeMap<String, Vec<StreamRecord>>,
}

impl Follower {
    fn follow(&mut self, store: &Store, limit: i64) {
        let mut todo: VecDeque<(i64, [i64; 2], bool)> = shards(store).into();
        let known: BTreeSet<i64> = todo.iter().map(|shard| shard.0).collect();
        while let Some((shard, parents, _)) = todo.pop_front() {
            let unread = |parent: &i64| known.contains(parent) && !matches!(self.places.get(parent), Some(None));
            if parents.iter().any(unread) {
                continue;
            }
            let at = match self.places.get(&shard) {
                Some(None) => continue,
                Some(Some(at)) => at.clone(),
                None => iterator(store, shard, StreamStart::Oldest),
            };
            let (records, next) = read(store, at, limit);
            for record in records {
                replay(store, "copy", &record);
                self.read.entry(format!("{:?}", record.key)).or_default().push(record);
            }
            self.places.insert(shard, next);
        }
    }
}

/// A small random generator.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, most: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as i64).rem_euclid(most)
    }
}

const COLUMNS: &[(&str, KeyType)] = &[("id", KeyType::Integer), ("n", KeyType::Integer)];

fn wide() -> OptionsChange {
    OptionsChange { max_versions: Some(3), max_version_offset: Some(1_000_000_000), ..OptionsChange::default() }
}

/// A store with a table `t` whose parts are small.
pub(crate) fn small_store() -> Store {
    let shape = Shape {
        block_bytes: 400,
        segment_bytes: 2500,
        level0_parts: 2,
        partition_bytes: 3000,
        merge_bytes: 1000,
        ..Shape::DEFAULT
    };
    let options =
        Options { clock: ClockMode::Injected, memtable_bytes: 5000, cache_bytes: 50_000, shape, ..Options::default() };
    let store = Store::over(SimEnv::new(NOW), MemoryStorage::new(), InstanceOptions::default(), options);
    store.create("t", COLUMNS, wide());
    store
}

/// Changes the table `t`, whose key is `id` and `n`, or moves its rows about: one of 20 kinds of steps, but the 5th. Returns
/// whether it has loaded rows.
pub(crate) fn change_table(store: &mut Store, random: &mut Random, step: i64, kind: i64) -> bool {
    let mut loaded = false;
    let row = |random: &mut Random| {
        let ids = if random.below(6) == 0 { 50 } else { 12 };
        (random.below(ids), random.below(4))
    };
    let one = |random: &mut Random, id: i64, n: i64| {
        let key = key(&[("id", ValueRef::Integer(id)), ("n", ValueRef::Integer(n))]);
        let now = NOW + random.below(5);
        match random.below(9) {
            0..=2 => put("t", key, &[cell("x", int(step)), cell("pad", text("some text to fill a block"))]),
            3 => put("t", key, &[cell_at("x", now, int(step))]),
            4 => update("t", key, &[add("x", None, step), increment("c", 1)]),
            5 => update("t", key, &[add("x", Some(now), step), change("c", ColumnOp::DeleteColumn)]),
            6 => update("t", key, &[change("x", ColumnOp::DeleteVersion(now))]),
            7 => expecting(Existence::ExpectExist, update("t", key, &[increment("c", 2)])),
            _ => delete("t", key),
        }
    };
    match kind {
        0 => store.env.run(store.instance.flush()).expect("works"),
        1 => store.compact(),
        2 => {
            let at = KeyValue::Integer(random.below(50));
            store.env.run(store.instance.split_partition("t", &at)).expect("works");
        }
        3 => {
            let partitions = store.instance.partitions("t").expect("there");
            let one = &partitions[random.below(partitions.len() as i64) as usize];
            if one.id > 0 {
                store.env.run(store.instance.merge_partition("t", one.id)).expect("works");
            }
        }
        // The store ends without a word: what was acknowledged is there.
        4 => store.reopen(),
        6 => {
            let id = random.below(12);
            let (a, b) = (random.below(4), random.below(4));
            let writes = [one(random, id, a), one(random, id, b)];
            let _ = store.env.run(store.instance.batch_write_row_atomic(&writes, None));
        }
        7 => {
            let partition = random.below(12);
            let start = key(&[("id", ValueRef::Integer(partition))]);
            let name = tabstore::model::TableName::parse("t").expect("right");
            let Ok(started) = store.instance.start_local_transaction(name, &start) else { return false };
            for _ in 0..3 {
                let n = random.below(4);
                let write = one(random, partition, n);
                let _ = store.env.run(store.instance.write_row_in(Some(&started.id), &write, None));
            }
            if random.below(3) > 0 {
                let _ = store.env.run(store.instance.commit_transaction(&started.id, None));
            } else {
                let _ = store.instance.abort_transaction(&started.id);
            }
        }
        8 => {
            let loader = Loader::of_at_least(1);
            let first = 10 + random.below(40);
            let keys = (first..first + 3).flat_map(|id| (0..3).map(move |n| (id, n)));
            let writes = keys.map(|(id, n)| {
                let key = key(&[("id", ValueRef::Integer(id)), ("n", ValueRef::Integer(n))]);
                Ok(put("t", key, &[cell("x", int(step)), cell("l", int(n))]))
            });
            if let PutRows::Taken { .. } = store.env.run(store.instance.put_rows(&loader, writes.collect(), None)) {
                loaded = true;
            }
            if random.below(4) > 0 {
                let stored = store.env.run(store.instance.store_rows(&loader));
                assert!(stored.failed.is_empty());
            }
        }
        9..12 => {
            let writes: Vec<_> = (0..4)
                .map(|_| {
                    let (id, n) = row(random);
                    one(random, id, n)
                })
                .collect();
            let _ = store.env.run(store.instance.batch_write_row(&writes, None));
        }
        _ => {
            let (id, n) = row(random);
            let write = one(random, id, n);
            let _ = store.write(&write);
        }
    }
    loaded
}

/// Lives a random life. Returns the number of loads.
fn life(seed: u64) -> u64 {
    let mut random = Random(seed);
    let mut store = small_store();
    store.create("copy", COLUMNS, wide());
    let origin: &[&str] = if seed.is_multiple_of(3) { &["x"] } else { &[] };
    set(&store, on(24, origin));
    let (mut follower, mut loaded) = (Follower::default(), 0);
    for step in 0..150 {
        store.env.set_now(store.env.now_ms() + random.below(50));
        match random.below(20) {
            5 => {
                let limit = 1 + random.below(30);
                follower.follow(&store, limit);
            }
            kind => loaded += u64::from(change_table(&mut store, &mut random, step, kind)),
        }
    }
    follower.follow(&store, 1000);
    assert_eq!(content(&store, "copy"), content(&store, "t"), "seed {seed}");
    assert!(!content(&store, "t").is_empty());
    loaded
}

/// ST2: with splits, mergers, restarts of the store and of the reader, the records make the same table again: every change,
/// none twice, in the order of each key.
#[test]
fn st2_st3_the_records_of_a_table_make_it_again() {
    let loaded: u64 = (0..100).map(life).sum();
    assert!(loaded > 200, "{loaded} loads");
}

/// ST1, ST2: a crash at any change of the storage. The records are those of the changes that are stored, each once; and the
/// next changes are recorded behind them.
#[test]
fn st1_st2_after_a_crash_at_any_change_of_the_storage_each_stored_change_has_its_record() {
    let store = small_store();
    store.create("copy", COLUMNS, wide());
    set(&store, on(24, &["x"]));
    let images = Rc::new(CrashImages::new(&store.storage));
    let instance = store.opened_with(Rc::clone(&images)).expect("opens");
    let at = |id: i64, n: i64| key(&[("id", ValueRef::Integer(id)), ("n", ValueRef::Integer(n))]);
    let one = |id, n, x| put("t", at(id, n), &[cell("x", int(x)), cell("pad", text("some text to fill a block"))]);
    let loader = Loader::of_at_least(1);
    store.env.run(async {
        for step in 0..6 {
            for n in 0..3 {
                instance.write_row(&one(step, n, step), None).await.expect("written");
            }
            let batch = [one(step, 0, -1), update("t", at(step, 1), &[increment("c", 1)]), delete("t", at(step, 2))];
            assert!(instance.batch_write_row(&batch, None).await.is_ok());
            let both = [one(step, 3, 7), update("t", at(step, 0), &[change("x", ColumnOp::DeleteColumn)])];
            instance.batch_write_row_atomic(&both, None).await.expect("written");
            let name = tabstore::model::TableName::parse("t").expect("right");
            let of = key(&[("id", ValueRef::Integer(step))]);
            let open = instance.start_local_transaction(name, &of).expect("free").id;
            for write in [one(step, 1, 100), update("t", at(step, 1), &[increment("c", 5)]), delete("t", at(step, 3))] {
                instance.write_row_in(Some(&open), &write, None).await.expect("written");
            }
            instance.commit_transaction(&open, None).await.expect("committed");
            let rows = (0..4).map(|n| Ok(one(10 + step, n, 50))).collect();
            // Rows of a table with old values are not loaded.
            assert!(matches!(instance.put_rows(&loader, rows, None).await, PutRows::Written(_)));
            match step {
                1 | 4 => instance.flush().await.expect("flushed"),
                2 => instance.split_partition("t", &KeyValue::Integer(2)).await.expect("split"),
                3 => instance.compact().await.expect("compacted"),
                _ => {}
            }
        }
    });
    store.env.run_until_idle();
    let images = images.take();
    assert!(images.len() > 40, "{}", images.len());
    let mut whole: Option<Follower> = None;
    for (number, image) in images.into_iter().enumerate().rev() {
        let (options, env) = (store.engine_options.clone(), SimEnv::new(NOW + 1000));
        let crashed = Store::over(env, image.image(), store.options, options);
        let mut follower = Follower::default();
        follower.follow(&crashed, 7);
        assert_eq!(content(&crashed, "copy"), content(&crashed, "t"), "image {number}");
        let known = whole.get_or_insert_with(|| Follower { places: BTreeMap::new(), read: follower.read.clone() });
        for (key, records) in &follower.read {
            assert_eq!(known.read[key][..records.len()], records[..], "image {number}, {key}");
        }
        crashed.write(&one(1, 1, 1000)).expect("written");
        crashed.write(&delete("t", at(1, 1))).expect("written");
        let before = follower.read.values().flatten().count();
        follower.follow(&crashed, 7);
        assert_eq!(follower.read.values().flatten().count(), before + 2, "image {number}");
        assert_eq!(content(&crashed, "copy"), content(&crashed, "t"), "image {number}");
    }
}
