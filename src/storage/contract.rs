//! The contract of every storage, as tests: one suite for each implementation, natively and in every browser engine.
//!
//! The rules are plain async functions over a [`Stores`], so that any test harness can run them.
//! [`storage_contract_rules!`](crate::storage_contract_rules) lists them once and for all.

use super::{
    AnyStorage, BlockId, Commit, Durability, Fence, FencedStorage, LogNumber, ManifestId, STAGE_BYTES, SegmentId,
};
use crate::error::{Code, Result};
use bytes::Bytes;

/// The source of the suite's stores.
#[expect(async_fn_in_trait, reason = "one thread: no future has to be Send")]
pub trait Stores {
    /// A new handle to the store `name`, which is empty at its first opening.
    async fn open(&self, name: &str) -> Result<AnyStorage>;
}

/// Hands the names of all rules to `$each`, a macro that makes a test of each.
///
/// ```ignore
/// macro_rules! each { ($($rule:ident)*) => { $(
///     #[test] fn $rule() { block_on(contract::$rule(&Memory::default())).unwrap() }
/// )* } }
/// tabstore::storage_contract_rules!(each);
/// ```
#[macro_export]
macro_rules! storage_contract_rules {
    ($each:ident) => {
        $each! {
            a_new_store_is_empty
            a_commit_does_all_it_says
            a_failed_commit_stores_nothing
            a_failed_add_stops_the_rest_of_the_commit_whatever_its_place
            a_log_number_is_written_once
            a_manifest_never_goes_back
            manifests_are_kept_until_they_are_not_needed
            a_second_writer_fences_the_first
            a_staged_record_is_replaced
            blocks_come_in_the_order_asked
            segments_are_listed_and_deleted_whole
            trimming_takes_the_named_records_only
            both_durabilities_store
            large_records_come_back
            too_much_at_once_is_refused
            empty_records_are_records
            many_log_records_come_in_order
            a_reopened_store_has_everything
            commits_in_flight_together_keep_their_order
            a_closed_storage_says_so
        }
    };
}

fn bytes(len: usize, seed: u64) -> Bytes {
    // Neither compressible nor periodic, so a browser's compression or a shifted copy would show.
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(next).collect()
}

fn append(number: u64) -> Commit {
    Commit { log: vec![(LogNumber(number), bytes(100, number))], ..Commit::default() }
}

fn with_manifest(id: u64) -> Commit {
    Commit { manifest: Some((ManifestId(id), bytes(50, id))), ..Commit::default() }
}

fn block(segment: u64, block: u32) -> BlockId {
    BlockId { segment: SegmentId(segment), block }
}

/// Everything in a store, to compare its state before and after.
type Content = (Vec<(ManifestId, Bytes)>, Vec<(LogNumber, Bytes)>, Vec<SegmentId>, Vec<Option<Bytes>>);

async fn manifests(storage: &AnyStorage) -> Result<Vec<(ManifestId, Bytes)>> {
    Ok(storage.load(&|_| Ok(LogNumber(0))).await?.manifests)
}

async fn content(storage: &AnyStorage) -> Result<Content> {
    let segments = storage.list_segments().await?;
    let ids: Vec<BlockId> = segments.iter().flat_map(|id| (0..8).map(|number| block(id.0, number))).collect();
    let blocks = storage.get_blocks(&ids).await?;
    Ok((manifests(storage).await?, storage.read_log(LogNumber(0)).await?, segments, blocks))
}

/// Nothing is there at first.
pub async fn a_new_store_is_empty(stores: &impl Stores) -> Result<()> {
    let storage = stores.open("new").await?;
    assert_eq!(content(&storage).await?, Content::default());
    assert_eq!(storage.get_blocks(&[block(1, 0)]).await?, [None]);
    assert_eq!(storage.get_blocks(&[]).await?, []);
    storage.commit(Commit::default()).await?;
    storage.delete_segments(&[SegmentId(5)]).await?;
    storage.delete_segments(&[]).await?;
    assert_eq!(content(&storage).await?, Content::default());
    Ok(())
}

/// Log, manifest, dropped segments and trimmed log of one commit all take effect.
pub async fn a_commit_does_all_it_says(stores: &impl Stores) -> Result<()> {
    let storage = stores.open("whole").await?;
    storage.stage(SegmentId(1), vec![(0, bytes(10, 1)), (1, bytes(20, 2))], Durability::Relaxed).await?;
    storage.stage(SegmentId(2), vec![(0, bytes(30, 3))], Durability::Relaxed).await?;
    storage.commit(append(1)).await?;
    let commit = Commit {
        log: vec![(LogNumber(2), bytes(5, 5)), (LogNumber(3), bytes(6, 6))],
        manifest: Some((ManifestId(1), bytes(7, 7))),
        drop_segments: vec![SegmentId(1)],
        trim_log: vec![LogNumber(1)],
        durability: Durability::Strict,
        ..Commit::default()
    };
    storage.commit(commit).await?;
    assert_eq!(storage.read_log(LogNumber(1)).await?, [(LogNumber(2), bytes(5, 5)), (LogNumber(3), bytes(6, 6))]);
    assert_eq!(storage.read_log(LogNumber(3)).await?, [(LogNumber(3), bytes(6, 6))]);
    assert_eq!(storage.read_log(LogNumber(4)).await?, []);
    assert_eq!(manifests(&storage).await?, [(ManifestId(1), bytes(7, 7))]);
    assert_eq!(storage.list_segments().await?, [SegmentId(2)]);
    assert_eq!(storage.get_blocks(&[block(1, 0), block(1, 1)]).await?, [None, None]);
    Ok(())
}

/// A commit whose log number is taken changes nothing: no manifest, no log, no deletion (R4).
pub async fn a_failed_commit_stores_nothing(stores: &impl Stores) -> Result<()> {
    let storage = stores.open("nothing").await?;
    storage.stage(SegmentId(1), vec![(0, bytes(10, 1))], Durability::Relaxed).await?;
    storage.commit(append(1)).await?;
    storage.commit(append(2)).await?;
    storage.commit(with_manifest(1)).await?;
    let before = content(&storage).await?;

    let commit = Commit {
        log: vec![(LogNumber(3), bytes(5, 5)), (LogNumber(2), bytes(6, 6)), (LogNumber(4), bytes(7, 7))],
        manifest: Some((ManifestId(2), bytes(8, 8))),
        drop_segments: vec![SegmentId(1)],
        trim_log: vec![LogNumber(1)],
        durability: Durability::Relaxed,
        ..Commit::default()
    };
    let error = storage.commit(commit).await.expect_err("log record 2 is there already");
    assert_eq!(error.code(), Code::Fenced, "{error}");
    assert_eq!(content(&storage).await?, before);
    // The storage works on.
    storage.commit(append(3)).await?;
    assert_eq!(storage.read_log(LogNumber(3)).await?, [(LogNumber(3), bytes(100, 3))]);
    Ok(())
}

/// A trap: if `commit()` is called with requests pending, Firefox completes a transaction even if one of its requests
/// failed. The failing request stands first, in the middle, or last; a large one delays the others.
pub async fn a_failed_add_stops_the_rest_of_the_commit_whatever_its_place(stores: &impl Stores) -> Result<()> {
    for place in 0..3 {
        let storage = stores.open(&format!("trap {place}")).await?;
        storage.commit(append(100)).await?;
        let before = content(&storage).await?;
        let mut log = vec![(LogNumber(1), bytes(300_000, 1)), (LogNumber(2), bytes(300_000, 2))];
        log.insert(place, (LogNumber(100), bytes(1, 100)));
        let commit = Commit { log, manifest: Some((ManifestId(1), bytes(300_000, 3))), ..Commit::default() };
        let error = storage.commit(commit).await.expect_err("log record 100 is there already");
        assert_eq!(error.code(), Code::Fenced, "{error}");
        assert_eq!(content(&storage).await?, before, "place {place}");
    }
    Ok(())
}

/// Also twice in one commit; other numbers are free, below and above.
pub async fn a_log_number_is_written_once(stores: &impl Stores) -> Result<()> {
    let storage = stores.open("once").await?;
    storage.commit(append(5)).await?;
    assert_eq!(storage.commit(append(5)).await.expect_err("taken").code(), Code::Fenced);
    let twice = vec![(LogNumber(7), bytes(1, 1)), (LogNumber(7), bytes(1, 2))];
    let twice = storage.commit(Commit { log: twice, ..Commit::default() }).await;
    assert_eq!(twice.expect_err("twice").code(), Code::Fenced);
    storage.commit(append(4)).await?;
    storage.commit(append(6)).await?;
    let numbers: Vec<u64> = storage.read_log(LogNumber(0)).await?.iter().map(|(number, _)| number.0).collect();
    assert_eq!(numbers, [4, 5, 6]);
    Ok(())
}

/// Not even to an id that is free again, because older manifests were deleted.
pub async fn a_manifest_never_goes_back(stores: &impl Stores) -> Result<()> {
    let storage = stores.open("back").await?;
    for id in 1..=5 {
        storage.commit(Commit { first_manifest: ManifestId(id), ..with_manifest(id) }).await?;
    }
    let before = content(&storage).await?;
    for id in [5, 4, 3, 2, 1] {
        let commit = Commit { log: vec![(LogNumber(1), bytes(1, 1))], ..with_manifest(id) };
        assert_eq!(storage.commit(commit).await.expect_err("taken or outdated").code(), Code::Fenced, "{id}");
    }
    assert_eq!(content(&storage).await?, before);
    storage.commit(with_manifest(6)).await
}

/// Newest first. A commit deletes those that it no longer needs.
pub async fn manifests_are_kept_until_they_are_not_needed(stores: &impl Stores) -> Result<()> {
    let storage = stores.open("manifests").await?;
    for id in 1..=12 {
        storage.commit(with_manifest(id)).await?;
    }
    let from = |first: u64, last| (first..=last).rev().map(|id| (ManifestId(id), bytes(50, id))).collect::<Vec<_>>();
    assert_eq!(manifests(&storage).await?, from(1, 12));
    storage.commit(Commit { first_manifest: ManifestId(11), ..with_manifest(13) }).await?;
    assert_eq!(manifests(&storage).await?, from(11, 13));
    storage.commit(Commit { first_manifest: ManifestId(14), ..with_manifest(14) }).await?;
    assert_eq!(manifests(&storage).await?, from(14, 14));
    let taken = Commit { first_manifest: ManifestId(14), ..with_manifest(14) };
    assert_eq!(storage.commit(taken).await.expect_err("taken").code(), Code::Fenced);
    assert_eq!(manifests(&storage).await?, from(14, 14));
    Ok(())
}

/// Two handles to one store, as in two tabs: the second writer of a log number gets an error.
pub async fn a_second_writer_fences_the_first(stores: &impl Stores) -> Result<()> {
    let first = stores.open("fence").await?;
    let second = stores.open("fence").await?;
    first.commit(append(1)).await?;
    first.commit(with_manifest(1)).await?;
    // The second one takes over: it reads where the first one is, and writes the next log number.
    assert_eq!(second.read_log(LogNumber(1)).await?.len(), 1);
    second.commit(append(2)).await?;

    let late = first.commit(append(2)).await.expect_err("fenced");
    assert_eq!(late.code(), Code::Fenced, "{late}");
    assert!(!late.retryable(), "the same commit will never do");
    second.commit(with_manifest(2)).await?;
    let late = Commit { drop_segments: vec![SegmentId(1)], ..with_manifest(2) };
    assert_eq!(first.commit(late).await.expect_err("fenced").code(), Code::Fenced);
    // Both read the same.
    assert_eq!(content(&first).await?, content(&second).await?);
    first.close().await;
    second.commit(append(3)).await
}

/// A flush that failed half way is staged again under the same id.
pub async fn a_staged_record_is_replaced(stores: &impl Stores) -> Result<()> {
    let storage = stores.open("replace").await?;
    storage.stage(SegmentId(1), vec![(0, bytes(10, 1)), (1, bytes(10, 2))], Durability::Relaxed).await?;
    storage.stage(SegmentId(1), vec![(1, bytes(70_000, 3)), (2, bytes(10, 4))], Durability::Relaxed).await?;
    let found = storage.get_blocks(&[block(1, 0), block(1, 1), block(1, 2)]).await?;
    assert_eq!(found, [Some(bytes(10, 1)), Some(bytes(70_000, 3)), Some(bytes(10, 4))]);
    Ok(())
}

/// Neighbours, gaps, repetitions and several segments in one trip; a missing record takes its place as `None`.
pub async fn blocks_come_in_the_order_asked(stores: &impl Stores) -> Result<()> {
    let storage = stores.open("order").await?;
    for segment in [1, 2, 10] {
        let blocks = [0, 1, 2, 3, 5, 6].map(|number| (number, bytes(20, segment * 100 + u64::from(number))));
        storage.stage(SegmentId(segment), blocks.into(), Durability::Relaxed).await?;
    }
    // A run with gaps, a run without, then single blocks.
    let runs = (0..8).map(|number| (2, number)).chain((0..4).map(|number| (1, number)));
    let singles = [(10, 6), (10, 5), (10, 5), (1, 3), (3, 0), (2, 3), (10, 0), (10, u32::MAX)];
    let asked: Vec<BlockId> = runs.chain(singles).map(|(segment, number)| block(segment, number)).collect();
    let there = |id: &BlockId| [1, 2, 10].contains(&id.segment.0) && [0, 1, 2, 3, 5, 6].contains(&id.block);
    let expected = asked.iter().map(|id| there(id).then(|| bytes(20, id.segment.0 * 100 + u64::from(id.block))));
    assert_eq!(storage.get_blocks(&asked).await?, expected.collect::<Vec<_>>());
    Ok(())
}

/// A segment is listed from its first staged record on, even if no manifest knows it. Deletion takes all of it and
/// nothing of its neighbours.
pub async fn segments_are_listed_and_deleted_whole(stores: &impl Stores) -> Result<()> {
    let storage = stores.open("segments").await?;
    for segment in [1, 9, 10, 11, 1 << 33] {
        let blocks = (0..5).map(|number| (number * 1000, bytes(10, segment))).collect();
        storage.stage(SegmentId(segment), blocks, Durability::Relaxed).await?;
    }
    let listed: Vec<u64> = storage.list_segments().await?.iter().map(|id| id.0).collect();
    assert_eq!(listed, [1, 9, 10, 11, 1 << 33]);
    storage.delete_segments(&[SegmentId(10), SegmentId(1), SegmentId(77)]).await?;
    assert_eq!(storage.list_segments().await?, [SegmentId(9), SegmentId(11), SegmentId(1 << 33)]);
    let drop_segments = vec![SegmentId(1 << 33), SegmentId(9), SegmentId(9)];
    storage.commit(Commit { drop_segments, ..Commit::default() }).await?;
    assert_eq!(storage.list_segments().await?, [SegmentId(11)]);
    let asked: Vec<BlockId> = (0..5).map(|number| block(11, number * 1000)).collect();
    assert_eq!(storage.get_blocks(&asked).await?, vec![Some(bytes(10, 11)); 5]);
    Ok(())
}

/// Records between the trimmed ones stay (leadership records do); a number that is not there is no fault.
pub async fn trimming_takes_the_named_records_only(stores: &impl Stores) -> Result<()> {
    let storage = stores.open("trim").await?;
    for number in 1..=10 {
        storage.commit(append(number)).await?;
    }
    let trim_log = [1, 2, 3, 5, 6, 7, 9, 42].map(LogNumber).into();
    storage.commit(Commit { trim_log, ..Commit::default() }).await?;
    let numbers: Vec<u64> = storage.read_log(LogNumber(0)).await?.iter().map(|(number, _)| number.0).collect();
    assert_eq!(numbers, [4, 8, 10]);
    let numbers: Vec<u64> = storage.read_log(LogNumber(5)).await?.iter().map(|(number, _)| number.0).collect();
    assert_eq!(numbers, [8, 10]);
    Ok(())
}

/// They differ only in when the device is asked to flush.
pub async fn both_durabilities_store(stores: &impl Stores) -> Result<()> {
    let storage = stores.open("durability").await?;
    for (number, durability) in [(1, Durability::Relaxed), (2, Durability::Strict), (3, Durability::Relaxed)] {
        storage.stage(SegmentId(number), vec![(0, bytes(10, number))], durability).await?;
        storage.commit(Commit { durability, ..append(number) }).await?;
    }
    let again = stores.open("durability").await?;
    assert_eq!(again.read_log(LogNumber(1)).await?.len(), 3);
    assert_eq!(again.list_segments().await?, [1, 2, 3].map(SegmentId));
    Ok(())
}

/// Browsers keep large values apart from small ones (Chromium's LevelDB from 64 KiB on).
pub async fn large_records_come_back(stores: &impl Stores) -> Result<()> {
    let storage = stores.open("large").await?;
    let sizes = [65_535, 65_536, 65_537, STAGE_BYTES, 5 << 20];
    for (number, size) in (0..).zip(sizes) {
        storage.stage(SegmentId(1), vec![(number, bytes(size, u64::from(number)))], Durability::Relaxed).await?;
    }
    storage.commit(Commit { log: vec![(LogNumber(1), bytes(3 << 20, 9))], ..Commit::default() }).await?;
    let asked: Vec<BlockId> = (0..5).map(|number| block(1, number)).collect();
    for (number, (found, size)) in (0..).zip(storage.get_blocks(&asked).await?.into_iter().zip(sizes)) {
        assert!(found == Some(bytes(size, number)), "the record of {size} bytes differs");
    }
    assert!(storage.read_log(LogNumber(1)).await? == [(LogNumber(1), bytes(3 << 20, 9))], "the log record differs");
    Ok(())
}

/// `stage` keeps its transactions small; one record larger than that is taken alone.
pub async fn too_much_at_once_is_refused(stores: &impl Stores) -> Result<()> {
    let storage = stores.open("too much").await?;
    let half = STAGE_BYTES / 2;
    storage.stage(SegmentId(1), vec![(0, bytes(half, 1)), (1, bytes(half, 2))], Durability::Relaxed).await?;
    let error =
        storage.stage(SegmentId(2), vec![(0, bytes(half, 1)), (1, bytes(half + 1, 2))], Durability::Relaxed).await;
    assert_eq!(error.expect_err("too much").code(), Code::InternalServerError);
    assert_eq!(storage.list_segments().await?, [SegmentId(1)]);
    Ok(())
}

/// A record of no bytes is not a missing one.
pub async fn empty_records_are_records(stores: &impl Stores) -> Result<()> {
    let storage = stores.open("empty").await?;
    storage.stage(SegmentId(1), vec![(0, Bytes::new())], Durability::Relaxed).await?;
    let commit = Commit { log: vec![(LogNumber(1), Bytes::new())], ..Commit::default() };
    storage.commit(Commit { manifest: Some((ManifestId(1), Bytes::new())), ..commit }).await?;
    assert_eq!(storage.get_blocks(&[block(1, 0), block(1, 1)]).await?, [Some(Bytes::new()), None]);
    assert_eq!(storage.read_log(LogNumber(1)).await?, [(LogNumber(1), Bytes::new())]);
    assert_eq!(manifests(&storage).await?, [(ManifestId(1), Bytes::new())]);
    Ok(())
}

/// Numbers sort as numbers, not as text; many of them come in one answer.
pub async fn many_log_records_come_in_order(stores: &impl Stores) -> Result<()> {
    let storage = stores.open("many").await?;
    let numbers: Vec<u64> = (1..=1500).chain([1 << 32, (1 << 53) - 1]).collect();
    for part in numbers.chunks(200) {
        let log = part.iter().map(|number| (LogNumber(*number), bytes(40, *number))).collect();
        storage.commit(Commit { log, ..Commit::default() }).await?;
    }
    let found = storage.read_log(LogNumber(0)).await?;
    let expected: Vec<_> = numbers.iter().map(|number| (LogNumber(*number), bytes(40, *number))).collect();
    assert!(found == expected, "{} records of {} came", found.len(), expected.len());
    Ok(())
}

/// A later handle reads all data that an earlier one wrote.
pub async fn a_reopened_store_has_everything(stores: &impl Stores) -> Result<()> {
    let storage = stores.open("reopen").await?;
    storage.stage(SegmentId(3), vec![(0, bytes(70_000, 1)), (1, bytes(10, 2))], Durability::Relaxed).await?;
    storage.commit(Commit { log: append(1).log, ..with_manifest(1) }).await?;
    let before = content(&storage).await?;
    storage.close().await;
    let again = stores.open("reopen").await?;
    assert_eq!(content(&again).await?, before);
    assert_eq!(again.commit(append(1)).await.expect_err("still taken").code(), Code::Fenced);
    assert_eq!(content(&stores.open("another").await?).await?, Content::default(), "stores are apart");
    Ok(())
}

/// Staging, reading and committing at the same time; each call is whole.
pub async fn commits_in_flight_together_keep_their_order(stores: &impl Stores) -> Result<()> {
    let storage = stores.open("together").await?;
    let commits = (1..=20).map(|number| storage.commit(append(number)));
    let stages = (1..=5).map(|id| storage.stage(SegmentId(id), vec![(0, bytes(100_000, id))], Durability::Relaxed));
    let both = futures_util::future::join3(
        futures_util::future::join_all(commits),
        futures_util::future::join_all(stages),
        storage.get_blocks(&[]),
    );
    let (commits, stages, _) = both.await;
    commits.into_iter().chain(stages).collect::<Result<Vec<()>>>()?;
    assert_eq!(storage.read_log(LogNumber(1)).await?.len(), 20);
    assert_eq!(storage.list_segments().await?.len(), 5);
    Ok(())
}

/// Every call but `close` itself.
pub async fn a_closed_storage_says_so(stores: &impl Stores) -> Result<()> {
    let storage = stores.open("closed").await?;
    storage.commit(append(1)).await?;
    storage.close().await;
    storage.close().await;
    let codes = [
        manifests(&storage).await.map(drop),
        storage.read_log(LogNumber(1)).await.map(drop),
        storage.get_blocks(&[block(1, 0)]).await.map(drop),
        storage.stage(SegmentId(1), vec![(0, bytes(1, 1))], Durability::Relaxed).await,
        storage.commit(append(2)).await,
        storage.list_segments().await.map(drop),
        storage.delete_segments(&[SegmentId(1)]).await,
    ];
    for code in codes.map(|result| result.map_err(|error| error.code())) {
        assert_eq!(code, Err(Code::Closed));
    }
    assert_eq!(stores.open("closed").await?.read_log(LogNumber(1)).await?.len(), 1);
    Ok(())
}

/// A fence that was raised keeps out every commit of a leader that has not noticed, and changes with the commit that raises it.
/// These are two handles to a new store.
pub async fn a_raised_fence_keeps_others_out(one: &impl FencedStorage, other: &impl FencedStorage) -> Result<()> {
    assert_eq!(one.fence().await?, Fence::default());
    let first = Fence { number: 1, note: Bytes::from_static(b"here") };
    one.commit_behind(append(1), 0, Some(&first)).await?;
    assert_eq!(other.fence().await?, first);
    one.commit_behind(append(2), 1, None).await?;
    let noted = Fence { number: 1, note: Bytes::from_static(b"there") };
    one.commit_behind(Commit::default(), 1, Some(&noted)).await?;
    let second = Fence { number: 2, ..noted };
    other.commit_behind(Commit::default(), 1, Some(&second)).await?;
    for commit in [Commit::default(), append(3), with_manifest(1)] {
        let refused = one.commit_behind(commit, 1, Some(&Fence { number: 2, note: Bytes::new() })).await;
        assert_eq!(refused.expect_err("the fence was raised").code(), Code::Fenced);
    }
    assert_eq!(one.fence().await?, second);
    // However often it was raised.
    let third = Fence { number: 3, ..second };
    other.commit_behind(Commit::default(), 2, Some(&third)).await?;
    for (number, changed) in [(0, None), (1, None), (1, Some(&Fence { number: 1, note: Bytes::new() })), (2, None)] {
        let refused = one.commit_behind(append(9), number, changed).await;
        assert_eq!(refused.expect_err("raised twice").code(), Code::Fenced, "{number}");
    }
    assert_eq!(one.fence().await?, third);
    // Manifests and log are as without a fence.
    other.commit_behind(with_manifest(1), 3, None).await?;
    other.commit_behind(with_manifest(2), 3, Some(&Fence { number: 3, note: Bytes::new() })).await?;
    assert_eq!(other.commit_behind(with_manifest(2), 3, None).await.expect_err("taken").code(), Code::Fenced);
    let found = one.load(&|_| Ok(LogNumber(0))).await?.manifests;
    assert_eq!(found, [(ManifestId(2), bytes(50, 2)), (ManifestId(1), bytes(50, 1))]);
    let log: Vec<u64> = other.read_log(LogNumber(0)).await?.iter().map(|(number, _)| number.0).collect();
    assert_eq!(log, [1, 2]);
    assert_eq!(one.fence().await?, Fence { number: 3, note: Bytes::new() });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::faults::{Hooked, YieldOnce};
    use super::super::memory::MemoryStorage;
    use super::*;
    use futures_executor::block_on;
    use std::cell::RefCell;
    use std::collections::HashMap;

    /// Named stores in memory, whose handles yield at every call.
    #[derive(Default)]
    struct Memory(RefCell<HashMap<String, MemoryStorage>>);

    impl Stores for Memory {
        async fn open(&self, name: &str) -> Result<AnyStorage> {
            let store = self.0.borrow_mut().entry(name.to_owned()).or_default().clone();
            Ok(Hooked::new(store, YieldOnce).into())
        }
    }

    macro_rules! each {
        ($($rule:ident)*) => { $(
            #[test]
            fn $rule() {
                block_on(super::$rule(&Memory::default())).unwrap();
            }
        )* };
    }
    crate::storage_contract_rules!(each);
}
