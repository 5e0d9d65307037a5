mod lives;

use super::device::{Device, DeviceFolder, Opens, Random};
use super::*;
use crate::env::sim::SimEnv;
use crate::storage::contract::{self, Stores};
use crate::storage::{AnyStorage, ManifestId};
use futures_executor::block_on;
use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use std::collections::BTreeMap;
use std::pin::pin;

type Files = FileStorage<DeviceFolder>;

/// So the journal turns often.
const TURN: u64 = 3000;

fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("a device never waits")
}

fn open(device: &Device) -> Result<Files> {
    now(Files::open_with(device.folder(), TURN, false))
}

#[derive(Default)]
struct Handles(RefCell<BTreeMap<String, Files>>);

impl Stores for Handles {
    async fn open(&self, name: &str) -> Result<AnyStorage> {
        if let Some(storage) = self.0.borrow().get(name) {
            return Ok(storage.clone().into());
        }
        let storage = Files::open(Device::default().folder()).await?;
        self.0.borrow_mut().insert(name.to_owned(), storage.clone());
        Ok(storage.into())
    }
}

/// Each opening is by a new process, which finds what the one before has left.
#[derive(Default)]
struct Processes(RefCell<BTreeMap<String, Device>>);

impl Stores for Processes {
    async fn open(&self, name: &str) -> Result<AnyStorage> {
        let device = self.0.borrow_mut().entry(name.to_owned()).or_default().clone();
        let image = device.image();
        self.0.borrow_mut().insert(name.to_owned(), image.clone());
        Ok(Files::open(image.folder()).await?.into())
    }
}

mod keeps_the_contract {
    use super::*;

    macro_rules! each {
        ($($rule:ident)*) => { $(
            #[test]
            fn $rule() {
                now(contract::$rule(&Handles::default())).unwrap();
            }
        )* };
    }
    crate::storage_contract_rules!(each);
}

/// A later process finds what an earlier one has stored, without any close.
#[test]
fn a_store_outlives_its_process() {
    now(contract::a_reopened_store_has_everything(&Processes::default())).unwrap();
    now(contract::large_records_come_back(&Processes::default())).unwrap();
}

/// For a file that was written, Chromium reserves more room than it has bytes, until it is closed.
#[test]
fn a_written_segment_is_closed_once_a_manifest_may_name_it() {
    let storage = open(&Device::default()).unwrap();
    let opened = || storage.store.segments.borrow().open.len();
    let block = |segment, block| BlockId { segment: SegmentId(segment), block };
    for number in 0..3 {
        now(storage.stage(SegmentId(1), vec![(number, vec![7; 100].into())], Durability::Strict)).unwrap();
    }
    now(storage.stage(SegmentId(2), vec![(0, vec![8; 100].into())], Durability::Relaxed)).unwrap();
    now(storage.commit(append(1, 10))).unwrap();
    assert_eq!(opened(), 2);
    let manifest = Some((ManifestId(1), vec![1].into()));
    now(storage.commit(Commit { manifest, ..Commit::default() })).unwrap();
    assert_eq!(opened(), 0);
    let found = now(storage.get_blocks(&[block(1, 2), block(2, 0), block(2, 1)])).unwrap();
    assert_eq!(found, [Some(vec![7; 100].into()), Some(vec![8; 100].into()), None]);
    // What is only read stays open, and what is written again is closed again.
    assert_eq!(opened(), 2);
    now(storage.stage(SegmentId(2), vec![(1, vec![9; 100].into())], Durability::Relaxed)).unwrap();
    now(storage.commit(Commit { manifest: Some((ManifestId(2), vec![2].into())), ..Commit::default() })).unwrap();
    assert_eq!(opened(), 1);
    assert_eq!(now(storage.get_blocks(&[block(2, 1)])).unwrap(), [Some(vec![9; 100].into())]);
}

/// A scan reads a block of each run in turn. It does not open a file for each block.
#[test]
fn as_many_files_stay_open_as_there_are_runs_after_short_lives() {
    let device = Device::default();
    let storage = open(&device).unwrap();
    let blocks = |segment| (0..4).map(|block| (block, vec![segment as u8; 100].into())).collect();
    (0..100).for_each(|segment| now(storage.stage(SegmentId(segment), blocks(segment), Durability::Relaxed)).unwrap());
    now(storage.commit(Commit { manifest: Some((ManifestId(1), vec![1].into())), ..Commit::default() })).unwrap();
    let before = device.openings();
    for block in 0..4 {
        for segment in 0..100 {
            let id = BlockId { segment: SegmentId(segment), block };
            assert_eq!(now(storage.get_blocks(&[id])).unwrap(), [Some(vec![segment as u8; 100].into())]);
        }
    }
    assert_eq!(device.openings() - before, 100);
}

/// A scan opens one file after the other. Compaction, and other readers, do not wait for its end.
#[test]
fn a_read_of_many_files_does_not_hold_up_another() {
    let device = Device::default();
    let storage = open(&device).unwrap();
    let block = |segment| BlockId { segment: SegmentId(segment), block: 0 };
    let all: Vec<BlockId> = (0..50).map(block).collect();
    for id in &all {
        now(storage.stage(id.segment, vec![(0, vec![7; 100].into())], Durability::Relaxed)).unwrap();
    }
    now(storage.commit(Commit { manifest: Some((ManifestId(1), vec![1].into())), ..Commit::default() })).unwrap();
    device.set_opens(Opens::Later);
    let long = storage.get_blocks(&all);
    let short = async { storage.get_blocks(&[block(48)]).await };
    match block_on(select(pin!(long), pin!(short))) {
        Either::Left(_) => panic!("the read of one file ended behind that of fifty"),
        Either::Right((found, long)) => {
            assert_eq!(found.unwrap(), [Some(vec![7; 100].into())]);
            assert_eq!(block_on(long).unwrap().len(), 50);
        }
    }
}

fn append(number: u64, bytes: usize) -> Commit {
    Commit { log: vec![(LogNumber(number), vec![number as u8; bytes].into())], ..Commit::default() }
}

fn numbers(storage: &Files) -> Vec<u64> {
    now(storage.read_log(LogNumber(0))).unwrap().into_iter().map(|(number, _)| number.0).collect()
}

/// A device with these log records, of 100 bytes each, in one turn.
fn filled(count: u64) -> Device {
    let device = Device::default();
    let storage = now(Files::open(device.folder())).unwrap();
    (1..=count).for_each(|number| now(storage.commit(append(number, 100))).unwrap());
    drop(storage);
    device
}

#[test]
fn a_tail_of_zeros_or_noise_ends_the_journal() {
    for tail in [vec![0; 5000], vec![0xFF; 5000], (0..=255).cycle().take(5000).collect()] {
        let device = filled(5);
        device.damage("journal-0", |bytes| bytes.extend_from_slice(&tail));
        let storage = open(&device).unwrap();
        assert_eq!(numbers(&storage), [1, 2, 3, 4, 5]);
        now(storage.commit(append(6, 10))).unwrap();
        drop(storage);
        assert_eq!(numbers(&open(&device.image()).unwrap()), [1, 2, 3, 4, 5, 6]);
    }
}

/// Wherever the file is cut off, whole commits are left, and the store goes on.
#[test]
fn a_journal_that_was_cut_off_ends_with_a_whole_commit() {
    let device = filled(4);
    let length = device.files()[0].1.len();
    let mut seen = Vec::new();
    for left in 26..=length {
        let cut = device.image();
        cut.damage("journal-0", |bytes| bytes.truncate(left));
        let storage = open(&cut).unwrap();
        let found = numbers(&storage);
        assert_eq!(found, (1..=found.len() as u64).collect::<Vec<_>>());
        now(storage.commit(append(9, 10))).unwrap();
        assert_eq!(numbers(&open(&cut.image()).unwrap()).last(), Some(&9));
        seen.push(found.len());
    }
    seen.dedup();
    assert_eq!(seen, [0, 1, 2, 3, 4]);
}

/// Q: damage of commits that the device had is told, whichever byte it is in, and changes nothing; a salvage has all others.
#[test]
fn damaged_commits_are_told_and_left_out_by_a_salvage() {
    let device = filled(5);
    let storage = open(&device).unwrap();
    now(storage.close());
    drop(storage);
    // The state, five commits of the same length, and the mark of the close.
    let (start, end) = (journal::HEAD + 2, device.files()[0].1.len() - journal::HEAD);
    for at in start..end {
        let device = device.image();
        device.damage("journal-0", |bytes| bytes[at] ^= 1);
        let files = device.files();
        assert_eq!(open(&device).err().map(|error| error.code()), Some(Code::Corrupt), "byte {at}");
        let salvaged = now(Files::open_with(device.folder(), TURN, true)).unwrap();
        let damaged = 1 + ((at - start) * 5 / (end - start)) as u64;
        assert_eq!(numbers(&salvaged), (1..=5).filter(|number| *number != damaged).collect::<Vec<_>>(), "byte {at}");
        assert_eq!(device.files(), files);
    }
}

/// Q: a file that is shorter than at its close is told, also if no commit was flushed; what a process leaves behind a close may be torn.
#[test]
fn a_journal_that_was_cut_after_a_close_is_told() {
    // In the first turn, and in a later one, whose file is the other one.
    for count in [4, 40] {
        let device = filled(count);
        let storage = open(&device).unwrap();
        now(storage.close());
        drop(storage);
        let current =
            if open(&device.image()).unwrap().store.journal.borrow().is_in_first() { JOURNAL[0] } else { JOURNAL[1] };
        let length =
            device.image().files().into_iter().find(|(name, _)| name == current).map_or(0, |(_, bytes)| bytes.len());
        let whole = length - journal::HEAD;
        let cut_to = |device: &Device, left: usize| {
            let cut = device.image();
            cut.damage(current, |bytes| bytes.truncate(left));
            cut
        };
        for left in journal::HEAD + 2..whole {
            let error = open(&cut_to(&device, left)).err().expect("it is shorter");
            assert_eq!(error.code(), Code::Corrupt, "{count} commits, {left} bytes");
            let salvaged = now(Files::open_with(cut_to(&device, left).folder(), TURN, true));
            assert!(salvaged.is_ok_and(|storage| numbers(&storage).len() < count as usize) || left < whole / 2);
        }
        // Only the mark of the close is gone: all commits are there.
        assert_eq!(numbers(&open(&cut_to(&device, whole)).unwrap()).last(), Some(&count));

        // The next process dies. What it wrote may be torn, but not what lay before the close.
        let next = device.image();
        let storage = now(Files::open(next.folder())).unwrap();
        now(storage.commit(append(count + 1, 100))).unwrap();
        drop(storage);
        assert_eq!(numbers(&open(&cut_to(&next, length + 20)).unwrap()).last(), Some(&count));
        assert_eq!(open(&cut_to(&next, whole - 1)).err().map(|error| error.code()), Some(Code::Corrupt));
    }
}

/// What lies behind a group that is not whole does not come back when another group fills the place.
#[test]
fn groups_behind_a_torn_one_do_not_come_back() {
    let device = Device::default();
    let storage = open(&device).unwrap();
    let stage = |storage: &Files, block: u32, byte: u8| {
        now(storage.stage(SegmentId(1), vec![(block, vec![byte; 50].into())], Durability::Relaxed)).unwrap();
    };
    stage(&storage, 0, 1);
    stage(&storage, 1, 2);
    drop(storage);
    device.damage("segment-1", |bytes| bytes[0] ^= 1);
    let storage = open(&device).unwrap();
    assert_eq!(now(storage.list_segments()).unwrap(), [SegmentId(1)], "its file is there");
    stage(&storage, 0, 3);
    drop(storage);
    let ids = [0, 1].map(|block| BlockId { segment: SegmentId(1), block });
    let found = now(open(&device).unwrap().get_blocks(&ids)).unwrap();
    assert_eq!(found, [Some(vec![3; 50].into()), None]);
}

/// Frames of an earlier turn lie behind the end of the newer, shorter one.
#[test]
fn frames_of_an_earlier_turn_stay_behind_the_end() {
    let device = Device::default();
    let storage = open(&device).unwrap();
    for number in 1..=200 {
        let trim_log = (1..number).map(LogNumber).collect();
        now(storage.commit(Commit { trim_log, ..append(number, 100) })).unwrap();
        let image = device.image();
        assert_eq!(numbers(&open(&image).unwrap()), [number]);
    }
    assert!(device.used() < 4 * (TURN + 1000), "{} bytes", device.used());
}

#[test]
fn damage_at_the_start_of_the_journal_is_told() {
    let device = Device::default();
    let storage = open(&device).unwrap();
    (1..=100).for_each(|number| now(storage.commit(append(number, 100))).unwrap());
    drop(storage);
    let newest = if open(&device).unwrap().store.journal.borrow().is_in_first() { "journal-0" } else { "journal-1" };
    for (damaged, name) in [(device.image(), newest), (filled(2), "journal-0")] {
        for place in [0, 8, 16, 20, 24, 25] {
            let damaged = damaged.image();
            damaged.damage(name, |bytes| bytes[place] ^= 1);
            assert_eq!(open(&damaged).err().map(|error| error.code()), Some(Code::Corrupt), "{name}, {place}");
            // A salvage has the commits behind it, and says that there was more.
            let files = damaged.files();
            let salvaged = now(Files::open_with(damaged.folder(), TURN, true)).unwrap();
            let mut found = now(salvaged.read_log(LogNumber(0))).unwrap();
            let commits: Vec<_> = found.iter().map(|(number, _)| number.0).collect();
            let last = if name == newest { 100 } else { 2 };
            assert_eq!(commits, (commits[0]..=last).collect::<Vec<_>>(), "{name}, {place}");
            found = now(salvaged.load(&|_| Ok(LogNumber(0)))).unwrap().log;
            assert_eq!(found.pop(), Some((LogNumber(last + 1), Bytes::new())));
            assert_eq!(damaged.files(), files);
        }
    }
}

/// Reads and writes that do only a part are repeated.
#[test]
fn partial_reads_and_writes_are_completed() {
    for most in [1, 7, 100] {
        let device = Device::default();
        device.set_most(most);
        let storage = open(&device).unwrap();
        let blocks: Vec<(u32, Bytes)> = (0..4).map(|block| (block, vec![block as u8; 300].into())).collect();
        now(storage.stage(SegmentId(1), blocks, Durability::Relaxed)).unwrap();
        (1..=20).for_each(|number| now(storage.commit(append(number, 200))).unwrap());
        drop(storage);
        let storage = open(&device).unwrap();
        assert_eq!(numbers(&storage), (1..=20).collect::<Vec<_>>());
        let block = BlockId { segment: SegmentId(1), block: 2 };
        assert_eq!(now(storage.get_blocks(&[block])).unwrap(), [Some(vec![2; 300].into())]);
    }
}

/// A commit that finds no room leaves nothing, deletions go on, and so does everything else with room again.
#[test]
fn a_full_device_refuses_by_name_and_goes_on() {
    let device = Device::default();
    let storage = open(&device).unwrap();
    now(storage.stage(SegmentId(1), vec![(0, vec![1; 20_000].into())], Durability::Relaxed)).unwrap();
    now(storage.commit(append(1, 100))).unwrap();
    device.set_room(Some(device.used() + 500));
    assert_eq!(now(storage.commit(append(2, 1000))).unwrap_err().code(), Code::QuotaExceeded);
    let full = now(storage.stage(SegmentId(2), vec![(0, vec![1; 1000].into())], Durability::Relaxed));
    assert_eq!(full.unwrap_err().code(), Code::QuotaExceeded);
    assert_eq!(now(storage.list_segments()).unwrap(), [SegmentId(1)]);
    assert_eq!(numbers(&storage), [1]);
    assert_eq!(numbers(&open(&device.image()).unwrap()), [1]);
    now(storage.commit(append(2, 100))).unwrap();
    now(storage.delete_segments(&[SegmentId(1)])).unwrap();
    now(storage.commit(append(3, 1000))).unwrap();
    assert_eq!(numbers(&open(&device.image()).unwrap()), [1, 2, 3]);
}

/// On a full device the journal goes on in the bytes that it has, and gives back those that it does not need.
#[test]
fn a_journal_gives_back_the_room_of_what_nobody_needs() {
    let device = Device::default();
    let storage = now(Files::open_with(device.folder(), 2_000_000, false)).unwrap();
    assert!(!now(storage.squeeze()), "an empty one keeps nothing");
    for number in 1..=20 {
        // A flush has made the record before needless.
        now(storage.commit(Commit { trim_log: vec![LogNumber(number - 1)], ..append(number, 150_000) })).unwrap();
    }
    let full = device.used();
    assert!(full > 3_000_000, "{full}: one file is full, and half of the other one");
    // No byte more fits, but for the state.
    device.set_room(Some(full + 500));
    now(storage.commit(append(21, 150_000))).unwrap();
    assert_eq!(device.used(), full, "the older file is used again, and its bytes are there");
    assert_eq!(numbers(&open(&device.image()).unwrap()), [20, 21]);
    // Nothing is worth a turn now, so the files are cut off.
    assert_eq!((0..9).filter(|_| now(storage.squeeze())).count(), 1);
    assert!(device.used() < full - 900_000, "{} of {full}", device.used());
    now(storage.commit(append(22, 100))).unwrap();
    drop(storage);
    assert_eq!(numbers(&open(&device.image()).unwrap()), [20, 21, 22]);
}

/// After a flush that failed, the device may have anything, so nothing is acknowledged any more.
#[test]
fn a_failed_flush_ends_the_storage_until_the_next_opening() {
    let device = Device::default();
    let storage = open(&device).unwrap();
    now(storage.commit(append(1, 100))).unwrap();
    device.fail_after(1, Code::Unavailable, false);
    let strict = Commit { durability: Durability::Strict, ..append(2, 100) };
    assert_eq!(now(storage.commit(strict)).unwrap_err().code(), Code::Unavailable);
    assert_eq!(now(storage.commit(append(3, 100))).unwrap_err().code(), Code::Unavailable);
    assert_eq!(now(storage.read_log(LogNumber(1))).unwrap_err().code(), Code::Unavailable);
    drop(storage);
    assert_eq!(numbers(&open(&device).unwrap()), [1, 2]);
}
