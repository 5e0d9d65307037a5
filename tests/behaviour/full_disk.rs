//! A full disk: stored data opens, is read and can be deleted. With space again, writes work as before.

use crate::store::*;
use futures_util::future::join;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tabstore::engine::{ClockMode, Options};
use tabstore::env::Env as _;
use tabstore::model::{KeyType, TableName};
use tabstore::storage::faults::{Call, Counts, CrashImages, Gates, Hook, Moment};
use tabstore::storage::{MemoryStorage, SegmentId, Storage as _};
use tabstore::tablestore::{GetRow, Instance, InstanceOptions, OptionsChange, RowWrite};
use tabstore::{Code, Error, Result};

const RESERVE: usize = 60_000;

/// Two tables of 2000 rows whose values do not compress, written without a pause.
fn written(reserve_bytes: usize) -> Store {
    let memtable_bytes = 64 << 10;
    let store = Store::with(
        InstanceOptions::default(),
        Options { clock: ClockMode::Injected, memtable_bytes, reserve_bytes, ..Options::default() },
    );
    for table in ["t", "u"] {
        store.create(table, &[("id", KeyType::Integer)], OptionsChange::default());
        for i in 0..2000 {
            put_noise(&store, table, i).expect("put");
        }
    }
    store
}

/// The same in segments, after a pause.
fn filled(reserve_bytes: usize) -> Store {
    let store = written(reserve_bytes);
    store.compact();
    pass_seconds(&store, 2);
    store
}

/// So long does nobody ask for anything.
fn pass_seconds(store: &Store, seconds: u32) {
    for _ in 0..seconds {
        store.env.run_until_idle();
        store.env.advance(1000);
    }
    store.env.run_until_idle();
}

fn noise(i: i64, words: i64) -> String {
    (0..words).map(|word| format!("{:x}", (i * words + word).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64))).collect()
}

fn put_noise(store: &Store, table: &str, i: i64) -> Result<()> {
    let noise = noise(i, 8);
    let cells = [cell("noise", text(&noise)), cell("n", int(i))];
    store.write(&put(table, id(i), &cells)).map(drop).map_err(|failure| failure.error)
}

/// Nothing more fits.
fn fill_up(storage: &MemoryStorage) {
    storage.set_quota(Some(storage.bytes()));
}

fn code<T>(result: Result<T>) -> Option<Code> {
    result.err().map(|error| error.code())
}

/// The reports from now on of troubles that end nothing.
fn troubles(store: &Store) -> Rc<RefCell<Vec<String>>> {
    let told = Rc::<RefCell<Vec<String>>>::default();
    let sink = Rc::clone(&told);
    store.instance.on_trouble(move |trouble| {
        let trouble = trouble.expect("nothing is told of what works");
        assert_eq!(trouble.code(), Code::QuotaExceeded, "{trouble}");
        sink.borrow_mut().push(trouble.message().to_owned());
    });
    told
}

fn reserve_of(store: &Store) -> u64 {
    store.instance.metrics().reserve_bytes
}

#[test]
fn q_a_full_disk_opens_is_read_and_gives_deletions_the_reserve() {
    let mut store = filled(RESERVE);
    assert_eq!(reserve_of(&store), RESERVE as u64);
    fill_up(&store.storage);
    store.reopen();
    let told = troubles(&store);
    assert_eq!(store.ids().len(), 2000);
    assert_eq!(code(put_noise(&store, "t", 9000)), Some(Code::QuotaExceeded));
    assert_eq!(store.ids().len(), 2000, "nothing of it was stored");
    for i in 0..500 {
        store.write(&delete("t", id(i))).expect("deleted");
    }
    assert_eq!(store.ids().len(), 1500);
    let refused = put_noise(&store, "t", 9000).expect_err("the room is kept for deletions");
    assert_eq!(refused.code(), Code::QuotaExceeded);
    let hint = refused.hint().unwrap_or_default();
    assert!(hint.contains(&format!("'reserveBytes') has {} of {RESERVE} bytes", reserve_of(&store))), "{hint}");
    assert_eq!(told.borrow().len(), 1, "{told:?}");
    assert!(told.borrow()[0].contains("deleted"), "{told:?}");
    assert!(reserve_of(&store) < RESERVE as u64);
    // A crash forgets nothing.
    store.reopen();
    store.env.run_until_idle();
    assert_eq!(store.ids().len(), 1500);
    assert_eq!(code(put_noise(&store, "t", 9000)), Some(Code::QuotaExceeded), "nor does an opening");
    store.write(&delete("t", id(700))).expect("deleted, in what is left of the reserve");
}

#[test]
fn q_a_table_that_is_deleted_on_a_full_disk_makes_room_for_writes() {
    let store = filled(RESERVE);
    fill_up(&store.storage);
    assert_eq!(code(put_noise(&store, "t", 9000)), Some(Code::QuotaExceeded));
    store.env.run(store.instance.delete_table("u")).expect("deleted");
    store.env.run_until_idle();
    assert_eq!(reserve_of(&store), RESERVE as u64, "it is there again, for the next time");
    put_noise(&store, "t", 9000).expect("there is room again");
    assert_eq!(code(store.try_create("v", &[("id", KeyType::Integer)], OptionsChange::default())), None);
}

#[test]
fn q_rows_that_are_deleted_on_a_full_disk_make_room_once_compaction_has_forgotten_them() {
    let store = filled(RESERVE);
    fill_up(&store.storage);
    for i in 0..1700 {
        store.write(&delete("t", id(i))).expect("deleted");
    }
    store.compact();
    store.env.run_until_idle();
    assert_eq!(store.ids().len(), 300);
    assert_eq!(reserve_of(&store), RESERVE as u64);
    put_noise(&store, "t", 9000).expect("there is room again");
}

#[test]
fn q_an_index_can_be_dropped_on_a_full_disk() {
    let mut store = filled(RESERVE);
    let column = |name: &str, column_type| tabstore::model::DefinedColumn { name: name.into(), column_type };
    let defined = vec![column("n", tabstore::model::ValueType::Integer)];
    store.env.run(store.instance.add_defined_column("t", defined)).expect("defined");
    let spec = tabstore::tablestore::IndexSpec { name: "by_n".into(), key: vec!["n".into()], ..Default::default() };
    store.env.run(store.instance.create_index("t", spec, true)).expect("created");
    store.env.run_until_idle();
    store.compact();
    store.env.run_until_idle();
    fill_up(&store.storage);
    store.reopen();
    // A deleted row's index row goes with it.
    store.write(&delete("t", id(1))).expect("deleted");
    store.env.run(store.instance.drop_index("t", "by_n")).expect("dropped");
    store.env.run_until_idle();
    put_noise(&store, "t", 9000).expect("there is room again");
}

/// Without a reserve there may be no space even for the record that takes the lead. The store is then read, and is
/// written as soon as there is space, by itself.
#[test]
fn q_a_store_without_a_reserve_opens_read_only_and_takes_the_lead_when_there_is_room() {
    for by_itself in [false, true] {
        let mut store = filled(0);
        assert_eq!((reserve_of(&store), has_reserve(&store)), (0, false));
        fill_up(&store.storage);
        store.reopen();
        assert_eq!(store.ids().len(), 2000);
        store.env.run_until_idle();
        let told = troubles(&store);
        assert_eq!(code(put_noise(&store, "t", 9000)), Some(Code::QuotaExceeded));
        assert!(store.write(&delete("t", id(1))).is_err());
        assert_eq!(code(store.env.run(store.instance.flush())), None, "there is nothing to flush");
        assert_eq!(told.borrow().len(), 1, "{told:?}");
        assert!(told.borrow()[0].contains("only be read"), "{told:?}");
        store.storage.set_quota(None);
        if by_itself {
            pass_seconds(&store, 2);
        }
        put_noise(&store, "t", 9000).expect("there is room");
        store.reopen();
        assert_eq!(store.ids().len(), 2001);
    }
}

/// A store that takes over meanwhile is the only writer.
#[test]
fn q_r5_a_store_that_waits_for_room_to_take_the_lead_is_fenced_by_another_one() {
    let mut store = filled(0);
    fill_up(&store.storage);
    let storage = store.storage.clone();
    store.reopen();
    // The same records as the first handle's: another tab.
    let (env, options) = (store.env.clone(), store.engine_options.clone());
    let mut waiting = Store::over(env.clone(), storage.clone(), store.options, options.clone());
    assert_eq!(waiting.ids().len(), 2000);
    storage.set_quota(None);
    let other = Store::over(env, storage, store.options, options);
    put_noise(&other, "t", 9000).expect("put");
    assert_eq!(code(put_noise(&waiting, "t", 9001)), Some(Code::Fenced));
    assert_eq!(other.ids().len(), 2001);
    waiting.reopen();
    assert_eq!(waiting.ids().len(), 2001);
}

fn has_reserve(store: &Store) -> bool {
    store.env.run(store.storage.list_segments()).expect("listed").contains(&SegmentId(0))
}

#[test]
fn q_a_store_gets_its_reserve_after_its_first_writes_or_at_its_next_opening() {
    let mut store = filled(0);
    store.engine_options.reserve_bytes = RESERVE;
    store.reopen();
    store.env.run_until_idle();
    assert!(!has_reserve(&store), "an opening waits for nothing");
    pass_seconds(&store, 1);
    assert!(has_reserve(&store));
    assert_eq!(reserve_of(&store), RESERVE as u64);
    let stored = store.storage.bytes();
    store.reopen();
    pass_seconds(&store, 1);
    assert_eq!(reserve_of(&store), RESERVE as u64);
    assert!(store.storage.bytes() < stored + 1000, "there is one");
    // Another size, and none.
    for reserve_bytes in [RESERVE / 2, 0] {
        store.engine_options.reserve_bytes = reserve_bytes;
        store.reopen();
        pass_seconds(&store, 1);
        assert_eq!((reserve_of(&store), has_reserve(&store)), (reserve_bytes as u64, reserve_bytes > 0));
    }
    assert!(store.storage.bytes() < stored - RESERVE + 3000);
}

/// Its disk may be full before it pauses.
#[test]
fn q_a_store_that_fills_memtables_gets_its_reserve_beside_its_writes() {
    let store = written(RESERVE);
    fill_up(&store.storage);
    store.write(&delete("t", id(1))).expect("the reserve is there");
    assert!(!has_reserve(&store), "it was needed");
}

/// A small store stays small until a client has written to it for a while.
#[test]
fn q_an_empty_store_has_no_reserve() {
    let store = Store::new();
    store.env.advance(60_000);
    store.env.run_until_idle();
    assert!(store.storage.bytes() < 1000);
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    store.put(id(1), &[cell("a", int(1))]);
    pass_seconds(&store, 1);
    assert!(store.storage.bytes() < 2000, "it was written to in that second");
    pass_seconds(&store, 1);
    assert!(store.storage.bytes() > Options::default().reserve_bytes);
}

/// Memtables that there was no room to flush hold up what adds, not what deletes.
#[test]
fn q_rows_can_be_deleted_while_nothing_can_be_flushed() {
    let mut store = filled(0);
    store.engine_options.reserve_bytes = RESERVE;
    // As much room as the log takes, but for flushes.
    store.reopen();
    pass_seconds(&store, 1);
    let room = 40_000;
    store.storage.set_quota(Some(store.storage.bytes() + room));
    let refused = (3000..9000).find_map(|i| put_noise(&store, "t", i).err()).expect("it gets full");
    assert_eq!(refused.code(), Code::QuotaExceeded);
    for i in 0..300 {
        store.write(&delete("t", id(i))).expect("deleted");
    }
    store.env.run(store.instance.delete_table("u")).expect("deleted");
    store.env.run_until_idle();
    put_noise(&store, "t", 9000).expect("there is room again");
    assert!(store.ids().len() >= 1701);
}

/// Q: as in WebKitGTK.
#[test]
fn where_deletions_fail_on_a_full_disk_it_is_read_and_the_reserve_stays() {
    let store = filled(RESERVE);
    fill_up(&store.storage);
    let gates = Rc::new(Gates::default());
    let deletes = |call: &Call| matches!(call, Call::DeleteSegments(_));
    gates.fail(u32::MAX, deletes, Moment::Before, Code::QuotaExceeded);
    let instance = store.opened_with(Rc::clone(&gates)).expect("opened");
    store.env.run_until_idle();
    let refused = store.env.run(instance.write_row(&delete("t", id(1)), None));
    assert_eq!(code(refused.map_err(|failure| failure.error)), Some(Code::QuotaExceeded));
    pass_seconds(&store, 100);
    assert_eq!(instance.metrics().reserve_bytes, RESERVE as u64);
    let read = GetRow { table: TableName::parse("t").expect("a name"), key: id(1), options: versions(1) };
    let mut rows = Rows::default();
    store.env.run(instance.get_row(&read, &mut rows)).expect("read");
}

/// Q: a flush that needs more than there is leaves deletions some, and is not tried for ever.
#[test]
fn what_does_not_fit_into_the_reserve_neither_stops_deletions_nor_goes_on_for_ever() {
    let mut store = filled(0);
    store.engine_options.reserve_bytes = RESERVE / 4;
    store.storage.set_quota(Some(store.storage.bytes() + RESERVE / 4 + 30_000));
    let counts = Rc::new(Counts::default());
    let instance = store.opened_with(Rc::clone(&counts)).expect("opened");
    pass_seconds(&store, 3);
    assert_eq!(instance.metrics().reserve_bytes, RESERVE as u64 / 4);
    let write = |write: RowWrite<'_>| store.env.run(instance.write_row(&write, None)).map_err(|failure| failure.error);
    let refused = (0..100).any(|i| write(put("t", id(9000 + i), &[cell("noise", text(&noise(i, 200)))])).is_err());
    assert!(refused, "it gets full");
    // It fails in the background, with all that it could have.
    store.env.spawn(Box::pin({
        let instance = Rc::clone(&instance);
        async move { drop(instance.compact().await) }
    }));
    for i in 0..100 {
        write(delete("t", id(i))).expect("deleted");
    }
    pass_seconds(&store, 2);
    let before = counts.bytes_staged.get();
    pass_seconds(&store, 600);
    assert!(counts.bytes_staged.get() - before < 20 * RESERVE as u64, "{}", counts.bytes_staged.get() - before);
}

/// A crash in the middle of storing it leaves a part, which is neither taken for all of it nor left behind.
#[test]
fn q_a_part_of_a_reserve_is_stored_anew() {
    let mut store = filled(0);
    let mut wanted = Options::default().reserve_bytes;
    store.engine_options.reserve_bytes = wanted;
    let images = Rc::new(CrashImages::new(&store.storage));
    let instance = store.opened_with(Rc::clone(&images)).expect("opened");
    pass_seconds(&store, 2);
    drop(instance);
    for image in images.take() {
        // Nothing is larger than a record.
        let parts = image.bytes() - store.storage.bytes().min(image.bytes());
        store.storage = image;
        store.reopen();
        pass_seconds(&store, 2);
        assert_eq!(reserve_of(&store), wanted as u64, "after {parts} bytes");
        let metrics = store.instance.metrics();
        let known = metrics.reserve_bytes + metrics.segment_bytes;
        assert!(store.storage.bytes() as u64 - known < 20_000, "after {parts} bytes");
    }
    wanted = 0;
    store.engine_options.reserve_bytes = wanted;
    store.reopen();
    store.env.run_until_idle();
    let stored = store.env.run(store.storage.list_segments()).expect("listed");
    assert!(stored.iter().all(|id| id.0 >> 24 > 0), "{stored:?}");
}

type Counted = Instance;

/// A store on a full disk, with much in its log and no space to flush it, and the counts of its calls.
fn with_a_log_that_cannot_be_flushed() -> (Store, Rc<Counted>, Rc<Counts>) {
    let mut store = filled(0);
    (store.engine_options.reserve_bytes, store.engine_options.memtable_bytes) = (RESERVE, 8 << 20);
    store.storage.set_quota(Some(store.storage.bytes() + RESERVE + 250_000));
    let counts = Rc::new(Counts::default());
    let instance = store.opened_with(Rc::clone(&counts)).expect("opened");
    pass_seconds(&store, 3);
    assert_eq!(instance.metrics().reserve_bytes, RESERVE as u64);
    let write = |i| {
        let noise = noise(i, 50);
        let cells = [cell("noise", text(&noise))];
        store.env.run(instance.write_row(&put("t", id(i), &cells), None)).map_err(|failure| failure.error)
    };
    let refused = (9000..10_000).find_map(|i| write(i).err()).expect("it gets full");
    assert_eq!(refused.code(), Code::QuotaExceeded);
    (store, instance, counts)
}

/// Q: a flush that found no room when nothing was written for a while is not tried again until something is.
#[test]
fn on_a_full_disk_a_store_that_is_left_alone_leaves_the_disk_alone() {
    let (store, _instance, counts) = with_a_log_that_cannot_be_flushed();
    pass_seconds(&store, 10);
    let before = (counts.bytes_staged.get(), counts.calls.get());
    pass_seconds(&store, 600);
    let after = (counts.bytes_staged.get(), counts.calls.get());
    assert_eq!(after.0, before.0, "nothing is staged");
    // The reserve is tried now and then.
    assert!(after.1 - before.1 < 100, "{} calls in ten minutes", after.1 - before.1);
}

/// A client that deletes by hand, a row now and then, is not stopped by the flushes that are tried in between.
#[test]
fn q_rows_can_be_deleted_one_by_one_at_leisure_on_a_full_disk() {
    let (store, instance, _) = with_a_log_that_cannot_be_flushed();
    for i in 0..10 {
        pass_seconds(&store, 3);
        let deleted = store.env.run(instance.write_row(&delete("t", id(i)), None));
        assert!(deleted.is_ok(), "the deletion {i}: {:?}", deleted.err());
    }
}

/// The units of reads are stored by a commit of their own. A deletion behind it does not fail with it.
#[test]
fn q_a_deletion_behind_the_units_of_reads_gets_the_reserve() {
    let store = filled(RESERVE);
    store.env.run(store.instance.close());
    fill_up(&store.storage);
    let gates = Rc::new(Gates::default());
    let instance = store.opened_with(Rc::clone(&gates)).expect("opened");
    store.env.run_until_idle();
    let read = || {
        let request = GetRow { table: TableName::parse("t").expect("a name"), key: id(1), options: versions(1) };
        store.env.run(instance.get_row(&request, &mut Rows::default())).expect("read");
    };
    read();
    store.env.advance(1000);
    gates.hold(|call| matches!(call, Call::Commit(_)));
    read();
    store.env.run_until_idle();
    assert_eq!(gates.held(), 1, "the units are on their way");
    let deletion = delete("t", id(1));
    let (deleted, ()) = store.env.run(join(instance.write_row(&deletion, None), async { gates.open() }));
    assert_eq!(code(deleted.map_err(|failure| failure.error)), None);
    assert!(instance.metrics().reserve_bytes < RESERVE as u64);
}

/// A disk that keeps what was deleted until it was asked for it often enough.
#[derive(Default)]
struct Hoarder {
    is_full: Cell<bool>,
    asked: Cell<u32>,
    enough: u32,
}

impl Hook for Hoarder {
    async fn before(&self, call: &Call) -> Result<()> {
        match call {
            Call::Commit(commit) if self.is_full.get() && !commit.log.is_empty() => {
                Err(Error::new(Code::QuotaExceeded, "no room"))
            }
            _ => Ok(()),
        }
    }

    fn squeeze(&self) -> bool {
        self.asked.set(self.asked.get() + 1);
        self.is_full.set(self.asked.get() < self.enough);
        true
    }
}

#[test]
fn q_a_deletion_gets_the_room_that_the_disk_keeps_when_the_whole_reserve_was_not_enough() {
    for (enough, asked_for_all) in [(5, 5), (100, 8)] {
        let store = filled(RESERVE);
        store.env.run(store.instance.close());
        let disk = Rc::new(Hoarder { enough, ..Hoarder::default() });
        let instance = store.opened_with(Rc::clone(&disk)).expect("opens");
        store.env.run_until_idle();
        disk.is_full.set(true);
        let put = store.env.run(instance.write_row(&put("t", id(9000), &[cell("n", int(1))]), None));
        assert_eq!(code(put.map_err(|failure| failure.error)), Some(Code::QuotaExceeded));
        assert_eq!(disk.asked.get(), 0, "what adds rows takes nothing");
        let deleted = || store.env.run(instance.write_row(&delete("t", id(1)), None)).map_err(|failure| failure.error);
        let refused = code(deleted());
        assert_eq!(refused, (enough > 5).then_some(Code::QuotaExceeded));
        assert_eq!(disk.asked.get(), asked_for_all);
        assert_eq!(code(deleted()), refused);
        assert_eq!(disk.asked.get(), asked_for_all, "it was all tried");
        store.env.run(instance.close());
    }
}

#[test]
fn q_a_deletion_takes_the_lead_too_with_the_room_that_the_disk_keeps() {
    let store = filled(RESERVE);
    store.env.run(store.instance.close());
    let disk = Rc::new(Hoarder { enough: 3, is_full: Cell::new(true), ..Hoarder::default() });
    let instance = store.opened_with(Rc::clone(&disk)).expect("opens without the lead");
    store.env.run_until_idle();
    assert_eq!(disk.asked.get(), 0);
    store.env.run(instance.write_row(&delete("t", id(1)), None)).map_err(|failure| failure.error).expect("deleted");
    assert_eq!(disk.asked.get(), 3);
    store.env.run(instance.close());
}

/// The same, where the records of segments find no room.
#[derive(Default)]
struct FullOfSegments(Hoarder);

impl Hook for FullOfSegments {
    async fn before(&self, call: &Call) -> Result<()> {
        match call {
            Call::Stage(..) if self.0.is_full.get() => Err(Error::new(Code::QuotaExceeded, "no room")),
            _ => Ok(()),
        }
    }

    fn squeeze(&self) -> bool {
        self.0.squeeze()
    }
}

/// A flush and a compaction free room too, once they are done. What they need before, the disk may keep for later.
#[test]
fn q_a_compaction_gets_the_room_that_the_disk_keeps_when_the_reserve_was_not_enough() {
    for (enough, fits) in [(3, true), (100, false)] {
        let store = filled(RESERVE);
        store.env.run(store.instance.close());
        let disk = Rc::new(FullOfSegments(Hoarder { enough, ..Hoarder::default() }));
        let instance = store.opened_with(Rc::clone(&disk)).expect("opens");
        store.env.run_until_idle();
        for i in 0..1900 {
            store.env.run(instance.write_row(&delete("t", id(i)), None)).expect("deleted");
        }
        disk.0.is_full.set(true);
        let compacted = store.env.run(instance.compact());
        assert_eq!(code(compacted), (!fits).then_some(Code::QuotaExceeded));
        assert_eq!(disk.0.asked.get() == enough, fits);
        // Later it gets no more than is there, and does not ask for ever.
        disk.0.asked.set(0);
        let again = store.env.run(instance.compact());
        assert_eq!(code(again), (!fits).then_some(Code::QuotaExceeded));
        assert!(disk.0.asked.get() <= 4, "the rest is for commits");
        store.env.run(instance.close());
    }
}
