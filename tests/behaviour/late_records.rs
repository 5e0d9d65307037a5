//! ST1 to ST3: records that are made late, and packs of loads, beside everything else that happens: damage, full disks, failures,
//! loads, clocks, endings.

use crate::store::*;
use crate::streams::{iterator, keys, on, read, set, shards, stream};
use futures_util::future::{join_all, join3};
use std::rc::Rc;
use tabstore::engine::{ClockMode, Engine, Options};
use tabstore::env::Env as _;
use tabstore::model::{KeyType, KeyValue};
use tabstore::modules::Module;
use tabstore::storage::faults::{Call, FlipByte, Gates, Hooked, Record};
use tabstore::storage::{LogNumber, Storage as _};
use tabstore::tablestore::{Instance, InstanceOptions, Loader, OptionsChange, PutRows, StreamChange, StreamStart};

fn store() -> Store {
    let options = Options { clock: ClockMode::Injected, reserve_bytes: 0, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    set(&store, on(24, &[]));
    store
}

/// A reader that has to make many records meets a load that is asked for meanwhile, and a write behind that.
#[test]
fn st2_a_reader_that_makes_records_loses_no_load() {
    let store = store();
    store.env.run(store.instance.split_partition("t", &KeyValue::Integer(100_000))).expect("cut");
    store.put(id(200_000), &[]);
    let shard = shards(&store).last().expect("some").0;
    let stream = stream(&store);
    let gates = Rc::new(Gates::default());
    let instance = store.opened_with(Rc::clone(&gates)).expect("opens");
    let env = &store.env;
    env.run_until_idle();
    let at = env.run(instance.streams().get_shard_iterator(&stream, shard, StreamStart::Oldest)).expect("there");
    let writes: Vec<_> = (0..12_000).map(|n| put("t", id(n), &[cell("n", int(n))])).collect();
    env.run(join_all(writes.iter().map(|write| instance.write_row(write, None))));
    let loader = Loader::of_at_least(1);
    let rows = (100_000..100_300).map(|n| Ok(put("t", id(n), &[cell("n", int(n))]))).collect();
    assert!(matches!(env.run(instance.put_rows(&loader, rows, None)), PutRows::Taken { .. }));
    gates.hold(|call| matches!(call, Call::Stage(..)));
    let later = put("t", id(300_000), &[]);
    let (page, stored, written) = env.run(join3(
        instance.streams().get_stream_record(&at, Some(1000)),
        async {
            // The load is on its way until the reader has read.
            let stored = instance.store_rows(&loader);
            let open = async {
                for _ in 0..100 {
                    env.yield_now().await;
                }
                gates.open();
            };
            futures_util::future::join(stored, open).await.0
        },
        instance.write_row(&later, None),
    ));
    assert_eq!(stored.failed, []);
    written.expect("written");
    let page = page.expect("read");
    let mut all = page.read().expect("whole");
    let mut next = page.next;
    while let Some(at) = next {
        let page = env.run(instance.streams().get_stream_record(&at, Some(1000))).expect("read");
        all.extend(page.read().expect("whole"));
        next = page.next.filter(|_| page.count > 0);
    }
    let expected: Vec<i64> = [200_000].into_iter().chain(100_000..100_300).chain([300_000]).collect();
    let fresh = env.run(instance.streams().get_shard_iterator(&stream, shard, StreamStart::Oldest)).expect("there");
    let fresh = env.run(instance.streams().get_stream_record(&fresh, Some(1000))).expect("read").read().expect("whole");
    assert_eq!(keys(&fresh), expected, "a fresh reader sees all");
    assert!(all.is_sorted_by(|a, b| a.seqno <= b.seqno));
    assert_eq!(keys(&all).len(), expected.len(), "records were lost");
}

/// A store with a stream, some of it in segments, some waiting in the log; a log record is damaged.
#[test]
fn q_a_store_with_waiting_records_can_be_salvaged() {
    let store = store();
    for n in 0..5 {
        store.put(id(n), &[cell("n", int(n))]);
    }
    store.env.run(store.instance.flush()).expect("flushed");
    for n in 5..10 {
        store.put(id(n), &[cell("n", int(n))]);
    }
    let storage = store.storage.image();
    let log = store.env.run(storage.load(&|_| Ok(LogNumber(1)))).expect("read").log;
    let damaged = log.last().expect("some").0;
    let hook = FlipByte { record: Record::Log(damaged), at: 40, mask: 1 };
    let storage = Hooked::new(storage, hook);
    let options = Options { salvage: true, ..store.engine_options.clone() };
    let opened = store.env.run(async {
        let engine = Engine::open(storage, Rc::new(store.env.clone()), options).await?;
        Instance::open(engine, store.options).await
    });
    let instance = opened.expect("a damaged store opens with salvage");
    assert!(!instance.missing().is_empty());
    let at =
        store.env.run(instance.streams().get_shard_iterator(&stream(&store), 1, StreamStart::Oldest)).expect("there");
    let page = store.env.run(instance.streams().get_stream_record(&at, None)).expect("read");
    assert_eq!(keys(&page.read().expect("whole")), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

fn tree_of_stream(store: &Store) -> u32 {
    stream(store).rsplit('_').next().expect("a number").parse().expect("a number")
}

/// The bytes of a tree in segments.
fn bytes_of(store: &Store, tree: u32) -> Option<u64> {
    let trees = store.instance.metrics().trees;
    trees.into_iter().find(|one| one.tree.0 == tree).map(|one| one.levels.iter().map(|level| level.bytes).sum())
}

#[test]
fn st1_a_stream_that_was_disabled_before_a_crash_does_not_come_back() {
    let mut store = store();
    let tree = tree_of_stream(&store);
    for n in 0..1500 {
        store.put(id(n), &[cell("n", int(n))]);
    }
    set(&store, Some(StreamChange::default()));
    store.env.run_until_idle();
    store.reopen();
    store.env.run(store.instance.flush()).expect("flushed");
    store.compact();
    store.env.run_until_idle();
    assert_eq!(bytes_of(&store, tree), None, "bytes of a stream that is no more");
}

#[test]
fn q_an_instance_without_streams_opens_without_their_code() {
    let mut store = store();
    store.put(id(1), &[]);
    set(&store, Some(StreamChange::default()));
    store.env.leave_out(&[Module::Streams]);
    store.env.set_offline(true);
    store.reopen();
    assert_eq!(store.ids(), [1]);
}

/// A load that takes long: somebody's computer slept.
#[test]
fn st2_the_records_of_a_load_that_took_hours_live_as_long_as_it() {
    const HOUR: i64 = 3_600_000;
    let store = store();
    let loader = Loader::of_at_least(1);
    let rows = (0..3000)
        .map(|n| Ok(put("t", id(n), &[cell("n", int(n)), cell("x", text("some text of this row"))])))
        .collect();
    assert!(matches!(store.env.run(store.instance.put_rows(&loader, rows, None)), PutRows::Taken { .. }));
    store.env.advance(5 * HOUR);
    let rows = (3000..3010).map(|n| Ok(put("t", id(n), &[cell("n", int(n))]))).collect();
    assert!(matches!(store.env.run(store.instance.put_rows(&loader, rows, None)), PutRows::Taken { .. }));
    assert_eq!(store.env.run(store.instance.store_rows(&loader)).failed, []);
    for hours in 1..=23 {
        store.env.advance(HOUR);
        store.compact();
        store.env.run_until_idle();
        let records = read(&store, iterator(&store, 1, StreamStart::Beginning), 1000).0;
        assert_eq!(records.len(), 3010, "{hours} hours behind the load, of 24");
    }
}

/// Deletions on a full disk, in a table with a stream or without.
fn deletes_on_full_disk(streamed: bool, cut: bool, reads: bool) -> (usize, Option<String>) {
    let options =
        Options { clock: ClockMode::Injected, memtable_bytes: 64 << 10, reserve_bytes: 60_000, ..Options::default() };
    let store = Store::with(InstanceOptions::default(), options);
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    if streamed {
        set(&store, on(24, &[]));
    }
    for n in 0..2000_i64 {
        let noise: String =
            (0..8).map(|word| format!("{:x}", (n * 8 + word).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64))).collect();
        store.put(id(n), &[cell("noise", text(&noise))]);
    }
    store.compact();
    for _ in 0..3 {
        store.env.run_until_idle();
        store.env.advance(1000);
    }
    store.env.run_until_idle();
    if cut {
        store.env.run(store.instance.split_partition("t", &KeyValue::Integer(1000))).expect("cut");
        store.env.run_until_idle();
    }
    store.storage.set_quota(Some(store.storage.bytes()));
    let at = streamed.then(|| iterator(&store, 1, StreamStart::Latest));
    for n in 0..1000 {
        if let Err(failure) = store.write(&delete("t", id(n))) {
            return (n as usize, Some(failure.error.to_string()));
        }
        if let (true, Some(at)) = (reads, &at)
            && n % 50 == 0
        {
            let _ = store.env.run(store.instance.streams().get_stream_record(at, None));
        }
    }
    store.storage.set_quota(None);
    for _ in 0..70 {
        store.env.run_until_idle();
        store.env.advance(1000);
    }
    store.env.run_until_idle();
    store.put(id(9000), &[]);
    if streamed {
        let records: usize = shards(&store)
            .into_iter()
            .map(|(shard, ..)| read(&store, iterator(&store, shard, StreamStart::Oldest), 1000).0.len())
            .sum();
        assert_eq!(records, 3001);
    }
    (1000, None)
}

#[test]
fn q_deletions_on_a_full_disk() {
    let plain = deletes_on_full_disk(false, false, false);
    let streamed = deletes_on_full_disk(true, false, false);
    let read = deletes_on_full_disk(true, false, true);
    let cut = deletes_on_full_disk(true, true, false);
    assert_eq!([streamed.0, read.0, cut.0], [plain.0; 3]);
}

/// The commit of a load is stored, its answer is lost; or it is not stored.
#[test]
fn r5_a_load_of_unknown_fate() {
    use tabstore::storage::faults::Moment;
    for (moment, expected) in [(Moment::After, 2500), (Moment::Before, 0)] {
        let store = store();
        let stream = stream(&store);
        let gates = Rc::new(Gates::default());
        let instance = store.opened_with(Rc::clone(&gates)).expect("opens");
        let env = &store.env;
        let loader = Loader::of_at_least(1);
        let rows =
            (0..2500).map(|n| Ok(put("t", id(n), &[cell("n", int(n)), cell("x", text("some more text"))]))).collect();
        assert!(matches!(env.run(instance.put_rows(&loader, rows, None)), PutRows::Taken { .. }));
        let other = Loader::of_at_least(1);
        let rows = (5000..5010).map(|n| Ok(put("t", id(n), &[]))).collect();
        assert!(matches!(env.run(instance.put_rows(&other, rows, None)), PutRows::Taken { .. }));
        gates.fail(
            1,
            |call| matches!(call, Call::Commit(commit) if commit.manifest.is_some()),
            moment,
            tabstore::Code::Unavailable,
        );
        assert_eq!(env.run(instance.store_rows(&loader)).failed.len(), 1);
        let _ = env.run(instance.write_row(&put("t", id(9000), &[]), None));
        assert_eq!(env.run(instance.store_rows(&other)).failed.len(), 0);
        let mut at =
            Some(env.run(instance.streams().get_shard_iterator(&stream, 1, StreamStart::Beginning)).expect("there"));
        let mut all = Vec::new();
        while let Some(place) = at {
            let page = env.run(instance.streams().get_stream_record(&place, Some(613))).expect("read");
            all.extend(page.read().expect("whole"));
            at = page.next.filter(|_| page.count > 0);
        }
        assert_eq!(all.len(), expected + 11, "{moment:?}");
    }
}

/// A flush that is held, fails, and comes again, with readers and writers beside it; then a crash.
#[test]
fn st1_reads_beside_flushes_that_fail() {
    use tabstore::storage::faults::Moment;
    for seed in 0..20 {
        let options =
            Options { clock: ClockMode::Injected, reserve_bytes: 0, memtable_bytes: 20_000, ..Options::default() };
        let store = Store::shuffled(InstanceOptions::default(), options, seed + 1);
        store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
        set(&store, on(24, &[]));
        let stream = stream(&store);
        let gates = Rc::new(Gates::default());
        let instance = store.opened_with(Rc::clone(&gates)).expect("opens");
        let env = &store.env;
        // A merge that finds no room cuts its partition, and with it the shard: later records are in the shards below.
        let read = async || {
            let (mut seen, mut first) = (Vec::new(), None);
            loop {
                let shards = instance.streams().describe_stream(&stream, first, None).await.expect("there");
                for shard in shards.shards {
                    let beginning =
                        instance.streams().get_shard_iterator(&stream, shard.id, StreamStart::Beginning).await;
                    let (mut place, mut all) = (Some(beginning.expect("there")), Vec::new());
                    while let Some(at) = place {
                        let page = instance.streams().get_stream_record(&at, Some(100)).await.expect("read");
                        all.extend(page.read().expect("whole"));
                        place = page.next.filter(|_| page.count > 0);
                    }
                    let ids = keys(&all);
                    assert!(ids.is_sorted(), "seed {seed}, shard {}: {ids:?}", shard.id);
                    seen.extend(ids);
                }
                first = shards.next;
                if first.is_none() {
                    seen.sort_unstable();
                    return seen;
                }
            }
        };
        let mut expected = Vec::new();
        for round in 0..12_i64 {
            match round % 4 {
                1 => {
                    gates.fail(
                        2,
                        |call| matches!(call, Call::Stage(..)),
                        Moment::Before,
                        tabstore::Code::QuotaExceeded,
                    );
                }
                2 => gates.hold(|call| matches!(call, Call::Stage(..))),
                3 => gates.fail(
                    1,
                    |call| matches!(call, Call::Commit(commit) if commit.manifest.is_some()),
                    Moment::After,
                    tabstore::Code::Unavailable,
                ),
                _ => gates.open(),
            }
            let ids: Vec<i64> = (0..60).map(|n| round * 60 + n).collect();
            let writes: Vec<_> = ids
                .iter()
                .map(|n| put("t", id(*n), &[cell("x", text("some text that takes some place in memory"))]))
                .collect();
            let (done, seen, ()) =
                env.run(join3(join_all(writes.iter().map(|write| instance.write_row(write, None))), read(), async {
                    if round % 4 != 2 {
                        let _ = instance.flush().await;
                    }
                }));
            expected.extend(ids.iter().zip(&done).filter(|(_, done)| done.is_ok()).map(|(id, _)| *id));
            let missed: Vec<_> = expected.iter().filter(|id| **id < round * 60 && !seen.contains(id)).collect();
            assert!(missed.is_empty(), "seed {seed}, round {round}: {missed:?}");
            gates.open();
        }
        let last = env.run(read());
        let rest: Vec<_> = expected.iter().filter(|id| !last.contains(id)).collect();
        assert!(rest.is_empty() && last.windows(2).all(|two| two[0] != two[1]), "seed {seed}: {rest:?}");
        env.run(instance.close());
    }
}

/// Records that wait longer than they live.
#[test]
fn st3_records_that_expire_while_they_wait() {
    const HOUR: i64 = 3_600_000;
    let mut store = store();
    for n in 0..10 {
        store.put(id(n), &[]);
    }
    store.env.advance(30 * HOUR);
    store.put(id(10), &[]);
    store.reopen();
    store.put(id(11), &[]);
    store.env.run_until_idle();
    let oldest = iterator(&store, 1, StreamStart::Oldest);
    assert_eq!(keys(&read(&store, oldest, 100).0), [10, 11]);
    let beginning = iterator(&store, 1, StreamStart::Beginning);
    assert_eq!(
        store.env.run(store.instance.streams().get_stream_record(&beginning, None)).expect_err("expired").error.code(),
        tabstore::Code::TrimmedDataAccess
    );
    store.env.advance(2 * HOUR);
    store.put(id(12), &[]);
    store.compact();
    store.env.run_until_idle();
    assert_eq!(keys(&read(&store, iterator(&store, 1, StreamStart::Oldest), 100).0), [10, 11, 12]);
}

/// Two loads at once, beside plain writes; read one by one, in shards that are cut between.
#[test]
fn st2_two_loads_at_once() {
    let mut store = store();
    let (left, right) = (Loader::of_at_least(1), Loader::of_at_least(1));
    let give = |store: &Store, loader: &Loader, from: i64, to: i64| {
        let rows = (from..to)
            .map(|n| {
                Ok(put("t", id(n), &[cell("n", int(n)), cell("x", text("some more text, so that packs end sooner"))]))
            })
            .collect();
        assert!(matches!(store.env.run(store.instance.put_rows(loader, rows, None)), PutRows::Taken { .. }));
    };
    give(&store, &left, 0, 700);
    give(&store, &right, 10_000, 10_700);
    give(&store, &left, 700, 1400);
    give(&store, &right, 10_700, 11_400);
    store.env.run(store.instance.split_partition("t", &KeyValue::Integer(10_350))).expect("cut");
    store.put(id(20_000), &[]);
    store.env.run(store.instance.split_partition("t", &KeyValue::Integer(650))).expect("cut");
    assert_eq!(store.env.run(store.instance.store_rows(&right)).failed, []);
    store.put(id(20_001), &[]);
    assert_eq!(store.env.run(store.instance.store_rows(&left)).failed, []);
    for reopened in [false, true] {
        if reopened {
            store.reopen();
            store.compact();
        }
        for limit in [1, 1000] {
            let mut all = Vec::new();
            for (shard, ..) in shards(&store) {
                let records = read(&store, iterator(&store, shard, StreamStart::Beginning), limit).0;
                assert!(records.is_sorted_by(|a, b| a.seqno <= b.seqno));
                all.extend(keys(&records));
            }
            all.sort();
            let expected: Vec<i64> = (0..1400).chain(10_000..11_400).chain([20_000, 20_001]).collect();
            assert_eq!(all, expected, "{limit}, {reopened}");
        }
    }
}

/// Close in the middle of everything; the next opening has all.
#[test]
fn q_close_while_records_are_made() {
    for polls in 0..30 {
        let options = Options { clock: ClockMode::Injected, reserve_bytes: 0, ..Options::default() };
        let mut store = Store::with(InstanceOptions::default(), options);
        store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
        set(&store, on(24, &[]));
        let writes: Vec<_> = (0..5000).map(|n| put("t", id(n), &[cell("n", int(n))])).collect();
        store.env.run(join_all(writes.iter().map(|write| store.instance.write_row(write, None))));
        store.env.take_us(500);
        let at = iterator(&store, 1, StreamStart::Beginning);
        let _ = store.env.run(join3(
            store.instance.streams().get_stream_record(&at, None),
            async {
                let _ = store.instance.flush().await;
            },
            async {
                for _ in 0..polls {
                    store.env.yield_now().await;
                }
                store.instance.close().await;
            },
        ));
        store.reopen();
        store.env.take_us(0);
        assert_eq!(read(&store, iterator(&store, 1, StreamStart::Beginning), 1000).0.len(), 5000, "{polls}");
    }
}
