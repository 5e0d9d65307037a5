//! Freed space: unused data goes, and no other data.

use super::*;
use crate::engine::background::rewrite::Input;
use crate::engine::rows::row::Keep;
use crate::engine::versions::partition::Partition;
use crate::engine::versions::snapshot::Sources;
use crate::engine::work::CompactionReason;
use crate::storage::faults::{Call, Hook, Hooked};
use std::cell::RefCell;

const DAY: i64 = 86_400_000;
const OTHER: TreeId = TreeId(2);

struct Disk {
    env: SimEnv,
    storage: MemoryStorage,
    engine: Rc<Engine>,
}

impl Disk {
    fn new(time_to_live: Option<i64>) -> Self {
        let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
        let options = Options { clock: ClockMode::Injected, ..tiny() };
        let engine = open(&env, &storage, &options);
        engine.set_retention(TREE, Retention { time_to_live, ..Retention::ALL });
        Self { env, storage, engine }
    }

    /// Changes rows, all with one version, and lets background work settle.
    fn change(&self, keys: std::ops::Range<i64>, kind: ChangeKind, version: i64) {
        self.env.run(async {
            for i in keys {
                let cells = [put("x", version, i)];
                let cells = if kind == ChangeKind::Delete { &[][..] } else { &cells[..] };
                write(&self.engine, &format!("k{i:04}"), kind, version, cells).await;
            }
            self.engine.flush().await.expect("flushed");
        });
        self.env.run_until_idle();
    }

    /// Writes something elsewhere.
    fn nudge(&self) {
        self.env.run(async {
            let change = RowChange { kind: ChangeKind::Put, stamp: 1, cells: &[] };
            self.engine.write(OTHER, b"k", &change, None).await.expect("written");
            self.engine.flush().await.expect("flushed");
        });
        self.env.run_until_idle();
    }

    /// Reads rows until the engine checks the clock, and lets it do its work.
    fn read_some(&self) {
        for i in 0..100 {
            self.env.run(get(&self.engine, &format!("k{i:04}")));
        }
        self.env.run_until_idle();
    }

    /// A thousand rows of four ages, a fourth of a day apart, in turn, so each segment has all ages.
    fn put_four_ages(&self) {
        for age in 0..4 {
            self.env.run(async {
                for i in (0..1000).filter(|i| i % 4 == age) {
                    let version = NOW + age * DAY / 4;
                    write(&self.engine, &format!("k{i:04}"), ChangeKind::Put, version, &[put("x", version, i)]).await;
                }
            });
        }
        self.env.run(self.engine.compact()).expect("compacted");
    }

    fn rows(&self) -> usize {
        self.env.run(scan(&self.engine, all(), Direction::Forward)).len()
    }

    /// Segments with stored blocks, named by a version or not.
    fn stored(&self) -> usize {
        self.env.run(crate::storage::Storage::list_segments(&self.storage)).expect("listed").len()
    }

    fn bytes(&self) -> u64 {
        let metrics = self.engine.metrics();
        let levels = metrics.trees.iter().filter(|tree| tree.tree == TREE).flat_map(|tree| &tree.levels);
        levels.map(|level| level.bytes).sum()
    }
}

#[test]
fn the_space_of_deleted_rows_is_given_back_without_further_writes() {
    let disk = Disk::new(None);
    disk.change(0..1000, ChangeKind::Put, NOW);
    let full = disk.bytes();
    disk.change(0..500, ChangeKind::Delete, NOW);
    assert_eq!(disk.rows(), 500);
    assert!(disk.bytes() < full * 7 / 10, "{} of {full} bytes are left", disk.bytes());
    disk.change(500..1000, ChangeKind::Delete, NOW);
    assert_eq!(disk.rows(), 0);
    assert!(disk.bytes() < full / 10, "{} of {full} bytes are left", disk.bytes());
    assert!(disk.storage.bytes() < full as usize);
}

/// Such a segment is in neither the version before nor the one after.
#[test]
fn what_one_edit_adds_and_another_one_of_the_same_commit_drops_is_given_back() {
    let disk = Disk::new(None);
    let engine = &disk.engine;
    disk.env.run(async {
        for i in 0..15 {
            write(engine, &format!("k{i:04}"), ChangeKind::Put, NOW, &[put("x", NOW, i)]).await;
        }
        let memtable = Rc::clone(&engine.store.view.borrow().memtable);
        let sources = Sources { memtables: vec![memtable], runs: Vec::new() };
        let (input, rewriter) = (Input { sources, keep: Keep::All }, &engine.compactor.rewriter);
        let (parts, _) = rewriter.rewrite(vec![input]).await.expect("staged");
        let staged = crate::storage::Storage::list_segments(&disk.storage).await.expect("listed");
        assert_eq!(staged.len(), 1, "its blocks are stored, and named by no manifest");
        let add = Edit { add: parts.into_iter().map(|(tree, part)| (tree, 0, part)).collect(), ..Edit::default() };
        let drop = Edit { drop_trees: vec![TREE], ..Edit::default() };
        let (number, commits) = (engine.store.line.next_log(), &engine.commits);
        let (added, dropped) = futures_util::future::join(commits.commit_edit(add), commits.commit_edit(drop)).await;
        added.and(dropped).expect("both are stored");
        assert_eq!(engine.store.line.next_log().0, number.0 + 1, "by one commit");
    });
    disk.env.run_until_idle();
    assert_eq!(disk.stored(), 0);
}

/// Each partition gets little; alone it would become many small segments and commits.
#[test]
fn what_flushes_bring_to_many_partitions_is_gathered_together() {
    let disk = Disk::new(None);
    let change = |rows: std::iter::StepBy<std::ops::Range<i64>>, value| {
        disk.env.run(async {
            for row in rows {
                let key = [&[2][..], &(row | 1 << 62).to_be_bytes()].concat();
                let cells = [put("x", value, row * value)];
                let change = RowChange { kind: ChangeKind::Put, stamp: NOW, cells: &cells };
                disk.engine.write(TREE, &key, &change, None).await.expect("written");
            }
            disk.engine.flush().await.expect("flushed");
        });
        disk.env.run_until_idle();
    };
    change((0..4000).step_by(1), 1);
    let mut most = 0;
    for round in 2..10 {
        change((0..4000).step_by(100), round);
        let view = disk.engine.store.view.borrow();
        let partitions = view.version.trees.get(&TREE).expect("there").all();
        let above = |partition: &Rc<Partition>| -> Vec<_> {
            let levels = partition.levels.levels.iter().take(4).skip(1).flatten();
            levels.map(|part| part.segment.id).collect()
        };
        let gathered: Vec<_> = partitions.iter().flat_map(above).collect();
        let of_one = gathered.iter().map(|id| gathered.iter().filter(|other| *other == id).count()).max();
        most = most.max(of_one.unwrap_or(0));
    }
    assert!(most >= 3, "a segment has runs of {most} partitions");
    let rows = disk.env.run(scan(&disk.engine, all(), Direction::Forward));
    assert_eq!(rows.len(), 4000);
}

#[test]
fn what_is_overwritten_wastes_a_fourth_at_most() {
    let disk = Disk::new(None);
    disk.change(0..1000, ChangeKind::Put, NOW);
    disk.env.run(disk.engine.compact()).expect("compacted");
    let live = disk.bytes();
    for round in 1..10 {
        disk.change(round * 50..round * 50 + 300, ChangeKind::Put, NOW + round);
        assert!(disk.bytes() <= live * 13 / 10 + tiny().shape.level1_bytes, "{} of {live}", disk.bytes());
    }
}

#[test]
fn v3_wholly_expired_segments_go_without_being_read() {
    let disk = Disk::new(Some(DAY / 1000));
    disk.change(0..1000, ChangeKind::Put, NOW);
    disk.env.run(disk.engine.compact()).expect("compacted");
    let before = disk.engine.metrics();
    disk.env.set_now(NOW + DAY / 2);
    disk.nudge();
    assert!(disk.bytes() > 0);
    disk.env.set_now(NOW + 2 * DAY);
    disk.nudge();
    assert_eq!(disk.bytes(), 0);
    let after = disk.engine.metrics();
    let read = after.compacted_bytes_read - before.compacted_bytes_read;
    assert!(read < 500, "{read} bytes read, and those of the other tree");
    assert_eq!(disk.stored() as u64, after.segments, "nothing is left behind");
}

/// V4: without writes, reads are enough to check the clock.
#[test]
fn v4_wholly_expired_segments_go_while_rows_are_only_read() {
    let disk = Disk::new(Some(DAY / 1000));
    disk.change(0..1000, ChangeKind::Put, NOW);
    disk.env.run(disk.engine.compact()).expect("compacted");
    let (full, before) = (disk.bytes(), disk.engine.metrics());
    let after = |ms: i64| {
        disk.env.set_now(NOW + ms);
        disk.read_some();
        disk.bytes()
    };
    assert_eq!(after(DAY / 2), full, "nothing has expired");
    assert_eq!((after(2 * DAY), after(2 * DAY + 1000)), (full, full), "it is noticed");
    assert_eq!(after(2 * DAY + 599_000), full);
    assert_eq!(after(2 * DAY + 600_000), 0);
    assert_eq!(disk.engine.metrics().compacted_bytes_read, before.compacted_bytes_read);
    assert_eq!(disk.stored(), 0, "nothing is left behind");
}

/// V5: whatever other work is due by then.
#[test]
fn v5_a_time_to_live_that_was_lowered_by_mistake_can_be_raised_again_for_ten_minutes() {
    let disk = Disk::new(None);
    disk.change(0..1000, ChangeKind::Put, NOW);
    disk.nudge();
    disk.env.run(disk.engine.compact()).expect("compacted");
    disk.engine.set_retention(OTHER, Retention { time_to_live: Some(DAY / 1000), ..Retention::ALL });
    let (full, segments) = (disk.bytes(), disk.stored());
    let minute = |minute: i64| {
        disk.env.set_now(NOW + 2 * DAY + minute * 60_000);
        disk.read_some();
    };
    minute(0);
    minute(9);
    disk.engine.set_retention(TREE, Retention { time_to_live: Some(DAY / 1000), ..Retention::ALL });
    minute(10);
    minute(19);
    assert_eq!((disk.bytes(), disk.stored()), (full, segments));
    disk.engine.set_retention(TREE, Retention::ALL);
    minute(20);
    assert_eq!(disk.stored(), segments);
    minute(30);
    assert_eq!((disk.bytes(), disk.stored()), (full, segments - 1), "the other table's row is gone");
    assert_eq!(disk.rows(), 1000);
}

/// V4: a reader at the present instant holds nothing back; one at an older instant does, for a while.
#[test]
fn v4_expired_space_comes_back_though_somebody_reads_whenever_the_clock_is_looked_at() {
    for older in [false, true] {
        let disk = Disk::new(Some(DAY / 1000));
        disk.put_four_ages();
        let full = disk.bytes();
        let minute = |minute: i64| {
            disk.env.set_now(NOW + DAY + DAY / 2 + DAY / 8 + minute * 60_000);
            disk.read_some();
            disk.bytes()
        };
        let seqno = if older { 1 } else { disk.engine.store.view.borrow().visible_seqno() };
        let hold = disk.engine.store.holds.hold(seqno);
        assert_eq!(minute(0), full);
        assert_eq!(minute(10) == full, older);
        drop(hold);
        assert_eq!(minute(19) == full, older);
        assert!(minute(20) < full * 6 / 10);
        assert_eq!(disk.rows(), 250);
    }
}

#[test]
fn v3_what_no_compaction_has_removed_shows_again_when_the_time_to_live_is_raised() {
    let disk = Disk::new(Some(DAY / 1000));
    disk.change(0..1000, ChangeKind::Put, NOW);
    disk.env.set_now(NOW + 2 * DAY);
    disk.engine.set_retention(TREE, Retention::ALL);
    disk.nudge();
    assert_eq!(disk.rows(), 1000);
}

#[test]
fn v3_rows_that_are_mostly_expired_are_written_anew_without_the_expired_ones() {
    let disk = Disk::new(Some(DAY / 1000));
    disk.put_four_ages();
    let full = disk.bytes();
    disk.env.set_now(NOW + DAY + DAY / 2 + DAY / 8);
    disk.nudge();
    assert!(disk.bytes() < full * 6 / 10, "{} of {full} bytes are left", disk.bytes());
    assert_eq!(disk.rows(), 250);
}

/// A version from the future lies below a deletion that is older than it: the deletion must not expire first.
#[test]
fn v3_what_expires_above_still_hides_what_is_below() {
    let disk = Disk::new(Some(DAY / 1000));
    let future = NOW + 10 * DAY;
    disk.change(0..200, ChangeKind::Put, future);
    disk.env.run(disk.engine.compact()).expect("compacted");
    disk.change(0..10, ChangeKind::Put, NOW);
    disk.env.set_now(NOW + 3 * DAY);
    disk.nudge();
    for i in 0..10 {
        let row = disk.env.run(get(&disk.engine, &format!("k{i:04}")));
        assert!(
            row.is_none_or(|cells| cells.iter().all(|cell| cell.1 != future)),
            "row {i} shows an overwritten version"
        );
    }
}

/// A reader at an older instant keeps everything. Compaction waits instead of trying for ever.
#[test]
fn expired_rows_stay_while_somebody_reads_an_older_instant() {
    let disk = Disk::new(Some(DAY / 1000));
    disk.change(0..1000, ChangeKind::Put, NOW);
    disk.env.run(disk.engine.compact()).expect("compacted");
    disk.change(0..100, ChangeKind::Delete, NOW);
    let hold = disk.engine.store.holds.hold(1);
    disk.env.set_now(NOW + DAY / 2);
    disk.change(0..500, ChangeKind::Delete, NOW);
    drop(hold);
    disk.nudge();
    assert_eq!(disk.rows(), 500);
}

/// V3: lowering max versions hides an older version only behind newer ones that exist. Suppose one of those was deleted
/// before, by a write that is in no segment yet. Then a merge of the segments must not remove the older one.
#[test]
fn v3_what_was_never_hidden_survives_a_merge_that_does_not_see_the_deletion_above() {
    let disk = Disk::new(None);
    let (older, newer) = (NOW, NOW + 1);
    disk.change(0..40, ChangeKind::Put, older);
    disk.env.run(async {
        for i in 0..40 {
            let key = format!("k{i:04}");
            write(&disk.engine, &key, ChangeKind::Update, newer, &[put("x", newer, i)]).await;
        }
        disk.engine.flush().await.expect("flushed");
        for i in 0..40 {
            let deleted = CellChange { column: "x", op: CellOp::DeleteVersion(newer) };
            write(&disk.engine, &format!("k{i:04}"), ChangeKind::Update, newer + 1, &[deleted]).await;
        }
        disk.engine.set_retention(TREE, Retention { max_versions: 1, time_to_live: None });
        disk.engine.compactor.compact_all().await.expect("merged");
    });
    disk.env.run_until_idle();
    let rows = disk.env.run(scan(&disk.engine, all(), Direction::Forward));
    assert_eq!(rows.len(), 40);
    for (_, cells) in rows {
        assert_eq!(cells.iter().map(|cell| cell.1).collect::<Vec<_>>(), [older]);
    }
    disk.env.run(disk.engine.compact()).expect("compacted");
    let rows = disk.env.run(scan(&disk.engine, all(), Direction::Forward));
    assert!(rows.iter().all(|(_, cells)| cells.len() == 1), "{rows:?}");
}

/// V3: the deletion was accepted under the higher number, and is stored under the lower one.
#[test]
fn v3_what_was_never_hidden_survives_when_fewer_versions_are_kept_while_a_deletion_is_on_its_way() {
    for written_before in [false, true] {
        let disk = Disk::new(None);
        let (older, newer) = (NOW, NOW + 1);
        disk.change(0..1, ChangeKind::Put, older);
        disk.env.run(async {
            write(&disk.engine, "k0000", ChangeKind::Update, newer, &[put("x", newer, 0)]).await;
            disk.engine.flush().await.expect("flushed");
            if written_before {
                write(&disk.engine, "k0001", ChangeKind::Put, newer, &[put("x", newer, 0)]).await;
            }
            let deleted = [CellChange { column: "x", op: CellOp::DeleteVersion(newer) }];
            let deletion = write(&disk.engine, "k0000", ChangeKind::Update, newer + 1, &deleted);
            let lowering = async {
                disk.engine.set_retention(TREE, Retention { max_versions: 1, time_to_live: None });
                // Memory goes into a segment; the deletion does not.
                if disk.engine.store.view.borrow().has_to_flush() {
                    disk.engine.store.freeze();
                }
            };
            futures_util::future::join(deletion, lowering).await;
        });
        disk.env.run_until_idle();
        assert!(disk.engine.store.view.borrow().frozen.is_empty());
        disk.env.run(disk.engine.compactor.compact_all()).expect("merged");
        assert_eq!(disk.env.run(get(&disk.engine, "k0000")), Some(vec![("x".into(), older, 0)]));
        // In the end the lower number applies.
        disk.env.run(async {
            write(&disk.engine, "k0000", ChangeKind::Update, newer, &[put("x", newer, 0)]).await;
            disk.engine.compact().await.expect("compacted");
            assert_eq!(get(&disk.engine, "k0000").await, Some(vec![("x".into(), newer, 0)]));
        });
    }
}

/// However many tables come and go, and whatever their size.
#[test]
fn little_is_remembered_of_trees_that_are_gone() {
    let disk = Disk::new(None);
    for tree in (2..6).map(TreeId) {
        disk.engine.set_retention(tree, Retention::ALL);
        disk.env.run(async {
            for i in 0..1500_u64 {
                // All of one partition key.
                let key = [&[2][..], &[0x80, 0, 0, 0, 0, 0, 0, 1], &[2], &i.to_be_bytes()].concat();
                let cells = [put("x", NOW, i.wrapping_mul(0x9E37_79B9_7F4A_7C15).cast_signed())];
                let change = RowChange { kind: ChangeKind::Put, stamp: NOW, cells: &cells };
                disk.engine.write(tree, &key, &change, None).await.expect("written");
            }
            disk.engine.compact().await.expect("compacted");
        });
        disk.nudge();
        assert_eq!(disk.engine.house.compactions.oversized_keys.borrow().len(), 1, "{tree:?}");
        disk.engine.drop_tree(tree);
        disk.env.run_until_idle();
        assert!(!disk.engine.store.view.borrow().version.trees.contains_key(&tree));
    }
    let view = disk.engine.store.view.borrow();
    assert!((1..8).all(|id| view.dropped_trees.contains(TreeId(id)) == (2..6).contains(&id)));
    assert_eq!(view.retentions.0.len(), 1);
}

/// Staging always fails.
struct NoRoom;

impl Hook for NoRoom {
    async fn before(&self, call: &Call) -> Result<()> {
        let full = matches!(call, Call::Stage(..));
        if full { Err(Error::new(Code::QuotaExceeded, "the disk is full")) } else { Ok(()) }
    }
}

/// R6: if such a write reserved values, they are not reserved. A user of the values checks the number of failures.
#[test]
fn r6_writes_that_fail_for_they_waited_for_a_flush_are_told_to_those_who_rely_on_them() {
    let env = SimEnv::new(NOW);
    let storage = Hooked::new(MemoryStorage::new(), NoRoom);
    let engine = env.run(Engine::open(storage, Rc::new(env.clone()), tiny())).expect("opens");
    let write = |i: i64| {
        let change = RowChange { kind: ChangeKind::Put, stamp: NOW, cells: &[put("x", NOW, i)] };
        env.run(engine.write(TREE, format!("k{i:04}").as_bytes(), &change, None))
    };
    let lost = (0..1000).find_map(|i| write(i).err()).expect("memory is bounded");
    assert_eq!((lost.code(), engine.failures()), (Code::QuotaExceeded, 1));
}

/// How often each block was read.
#[derive(Clone, Default)]
struct Reads(Rc<RefCell<BTreeMap<(u64, u32), usize>>>);

impl Hook for Reads {
    async fn before(&self, call: &Call) -> Result<()> {
        if let Call::GetBlocks(blocks) = call {
            for id in blocks {
                *self.0.borrow_mut().entry((id.segment.0, id.block)).or_default() += 1;
            }
        }
        Ok(())
    }
}

#[test]
fn a_compaction_reads_every_block_once_however_its_runs_alternate() {
    let (env, reads) = (SimEnv::new(NOW), Reads::default());
    let shape = Shape { segment_bytes: 1 << 20, ..Shape::TINY };
    // Nothing is in the cache.
    let options = Options { memtable_bytes: 1 << 20, cache_bytes: 1, auto_compact: false, shape, ..Options::default() };
    let storage = Hooked::new(MemoryStorage::new(), reads.clone());
    let engine = env.run(Engine::open(storage, Rc::new(env.clone()), options)).expect("opens");
    env.run(async {
        for run in 0..3 {
            for i in (run..4000).step_by(3) {
                let change = RowChange { kind: ChangeKind::Put, stamp: NOW, cells: &[put("x", NOW, i)] };
                engine.write(TREE, format!("k{i:04}").as_bytes(), &change, None).await.expect("written");
            }
            engine.flush().await.expect("flushed");
        }
        reads.0.borrow_mut().clear();
        engine.compact().await.expect("compacted");
    });
    let reads = reads.0.borrow();
    assert!(reads.len() > 30, "only {} blocks were read", reads.len());
    let again: Vec<_> = reads.iter().filter(|(_, times)| **times > 1).collect();
    assert!(again.is_empty(), "read more than once: {again:?} of {}", reads.len());
}

/// A cut part ends behind its last key, so the key does not tell that a walk is done with it.
#[test]
fn a_scan_reads_every_block_once_where_parts_are_cut() {
    for direction in [Direction::Forward, Direction::Backward] {
        let (env, reads) = (SimEnv::new(NOW), Reads::default());
        let shape = Shape { segment_bytes: 1 << 20, ..Shape::TINY };
        let options =
            Options { memtable_bytes: 1 << 20, cache_bytes: 1, auto_compact: false, shape, ..Options::default() };
        let storage = Hooked::new(MemoryStorage::new(), reads.clone());
        let engine = env.run(Engine::open(storage, Rc::new(env.clone()), options)).expect("opens");
        let mut seen = 0;
        env.run(async {
            for prefixes in ["az", "lp"] {
                for i in 0..600 {
                    for prefix in prefixes.chars() {
                        let change = RowChange { kind: ChangeKind::Put, stamp: NOW, cells: &[put("x", NOW, i)] };
                        let key = format!("{prefix}{i:04}");
                        engine.write(TREE, key.as_bytes(), &change, None).await.expect("written");
                    }
                }
                if prefixes == "az" {
                    engine.compact().await.expect("the bottom");
                }
            }
            engine.flush().await.expect("level 0");
            engine.split_partition(TREE, b"n").await.expect("split");
            // The walk goes on to another segment, and meets rows between the two in level 0.
            let ahead = engine.partitions(TREE)[usize::from(direction == Direction::Forward)].id;
            let (compactor, now) = (&engine.compactor, engine.clock().now_ms());
            compactor.compact_partition(TREE, ahead, now, CompactionReason::Asked).await.expect("compacted");
            reads.0.borrow_mut().clear();
            let mut visit = |_: &[u8], _: &RowView<'_>| {
                seen += 1;
                ControlFlow::Continue(())
            };
            engine.scan(TREE, all(), direction, &mut visit).await.expect("scanned");
        });
        assert_eq!(seen, 2400);
        let reads = reads.0.borrow();
        assert!(reads.len() > 30, "only {} blocks were read", reads.len());
        let again: Vec<_> = reads.iter().filter(|(_, times)| **times > 1).collect();
        assert!(again.is_empty(), "{direction:?}: read more than once: {again:?} of {}", reads.len());
    }
}

/// Commits and deletions, in the order in which they ended. A deletion takes a while.
#[derive(Clone)]
struct Changes(SimEnv, Rc<RefCell<Vec<Option<usize>>>>);

impl Hook for Changes {
    async fn after(&self, call: &Call) -> Result<()> {
        match call {
            Call::DeleteSegments(segments) => {
                self.0.yield_now().await;
                self.1.borrow_mut().push(Some(segments.len()));
            }
            Call::Commit(_) => self.1.borrow_mut().push(None),
            _ => {}
        }
        Ok(())
    }
}

#[test]
fn commits_go_in_between_while_many_segments_are_deleted() {
    let env = SimEnv::new(NOW);
    let changes = Changes(env.clone(), Rc::default());
    let storage = MemoryStorage::new();
    let hooked = Hooked::new(storage.clone(), changes.clone());
    let options = Options { auto_compact: false, ..tiny() };
    let engine = env.run(Engine::open(hooked, Rc::new(env.clone()), options)).expect("opens");
    let write = async |tree: TreeId, i: i64| {
        let change = RowChange { kind: ChangeKind::Put, stamp: NOW, cells: &[put("x", NOW, i)] };
        engine.write(tree, format!("k{i:04}").as_bytes(), &change, None).await.expect("written");
    };
    env.run(async {
        for i in 0..2000 {
            write(TREE, i).await;
        }
        engine.flush().await.expect("flushed");
        changes.1.borrow_mut().clear();
        engine.drop_tree(TREE);
        while changes.1.borrow().last().is_none_or(Option::is_none) {
            env.yield_now().await;
        }
        // The first piece is gone.
        write(OTHER, 1).await;
    });
    env.run_until_idle();
    let changes = changes.1.borrow();
    let deleted = changes.iter().flatten();
    assert!(deleted.clone().count() > 2, "{changes:?}");
    assert!(deleted.clone().all(|segments| *segments <= 4), "{changes:?}");
    let mut behind = changes.iter().skip_while(|change| change.is_none()).skip_while(|change| change.is_some());
    assert!(behind.any(Option::is_some), "the write was committed before the last piece went: {changes:?}");
    assert_eq!(env.run(crate::storage::Storage::list_segments(&storage)).expect("listed"), []);
}

/// An opening and a read do not wait for compactions that were due before.
#[test]
fn compaction_begins_a_second_after_the_opening_or_with_the_first_commit() {
    for writes in [false, true] {
        let mut disk = Disk::new(None);
        let options = Options { clock: ClockMode::Injected, auto_compact: false, ..tiny() };
        disk.engine = open(&disk.env, &disk.storage, &options);
        for round in 0..8 {
            disk.change(round..1000, ChangeKind::Put, NOW + round);
        }
        disk.engine = open(&disk.env, &disk.storage, &Options { auto_compact: true, ..options });
        disk.read_some();
        let compacted = || disk.engine.metrics().compacted_bytes_read > 0;
        assert!(!compacted(), "just opened");
        if writes {
            disk.nudge();
        } else {
            disk.env.set_now(NOW + 1000);
            disk.read_some();
        }
        assert!(compacted(), "by a write: {writes}");
    }
}
