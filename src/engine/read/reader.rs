//! Point reads and scans.
//!
//! Reads of data in memory finish in one synchronous section. A read sees all operations that were asked for before it.
//! If a write of one of its rows is pending, it waits for that write's commit and reads just behind it.

use super::merge::{Merge, MergeStep};
use super::order::Order;
use super::passing::BlockFilter;
use crate::collections::sort::sort_by;
use crate::engine::base::runtime::Runtime;
use crate::engine::memory::images::{Image, Images};
use crate::engine::memory::memtable::{PRIVATE, Rows, unreadable};
use crate::engine::memory::overlay::Overlay;
use crate::engine::rows::holds::Hold;
use crate::engine::rows::keys::{Direction, KeyRange, full_key, own_key, tree_of, tree_range};
use crate::engine::rows::row::{self, DatedFragment, Depth, RowView};
use crate::engine::segment::cache::{Pins, RecordId, Usage, damaged};
use crate::engine::store::Store;
use crate::engine::versions::part::Part;
use crate::engine::versions::snapshot::Snapshot;
use crate::error::{Code, Error, Result};
use crate::format::block::Block;
use crate::format::segment::SegmentMeta;
use crate::model::TreeId;
use crate::model::select::{Need, Stretch};
use crate::storage::BlockId;
use std::cell::Ref;
use std::ops::{Bound, ControlFlow, Range};
use std::rc::Rc;

/// A read of rows by their keys.
#[derive(Clone, Copy)]
pub struct ReadRequest<'r> {
    /// The tree.
    pub tree: TreeId,
    /// The keys, without their tree.
    pub keys: &'r [&'r [u8]],
    /// The versions to show of each row.
    pub depth: Depth,
    /// What the reader needs of a large row: cells that it does not need may be left out. Without it, all.
    pub needs: Option<&'r Needs<'r>>,
    /// Writes on top of those that are done.
    pub overlay: Option<&'r Overlay>,
    /// Whether a deleted row is shown while it is remembered, for its stamp.
    pub shows_deleted: bool,
}

impl<'r> ReadRequest<'r> {
    /// A read of the visible versions of rows that exist.
    #[must_use]
    pub fn of(tree: TreeId, keys: &'r [&'r [u8]]) -> Self {
        Self { tree, keys, depth: Depth::Visible, needs: None, overlay: None, shows_deleted: false }
    }
}

/// The parameters of a scan.
#[derive(Clone, Copy)]
pub struct ScanOptions<'s> {
    /// The versions to show of each row. A visitor that needs only the newest ones is faster.
    pub depth: Depth,
    /// Writes on top of those that are done.
    pub overlay: Option<&'s Overlay>,
    /// A filter that may pass rows over without a visit.
    pub filter: Option<&'s dyn BlockFilter>,
}

impl ScanOptions<'_> {
    /// A scan of everything stored.
    pub const STORED: Self = Self { depth: Depth::Stored, overlay: None, filter: None };
}

/// Sorts records, and leaves each of them once.
fn make_distinct(wants: &mut Vec<RecordId>) {
    sort_by(wants, |a, b| a.id().cmp(&b.id()));
    wants.dedup();
}

/// The parameters of a lookup.
#[derive(Clone, Copy)]
pub(crate) struct Look<'l> {
    pub(crate) snapshot: &'l Snapshot,
    pub(crate) pins: &'l Pins,
    /// The part of the row that the reader needs; without it, all.
    pub(crate) needs: Option<&'l Needs<'l>>,
    /// The images to use; without them, whole rows are shown.
    pub(crate) images: Option<&'l Images>,
    pub(crate) depth: Depth,
}

/// Reads rows.
pub(crate) struct Reader {
    pub(crate) runtime: Rc<Runtime>,
    pub(crate) store: Rc<Store>,
    order: Rc<Order>,
}

impl Reader {
    pub(crate) fn new(store: &Rc<Store>, order: &Rc<Order>) -> Self {
        Self { runtime: Rc::clone(&store.runtime), store: Rc::clone(store), order: Rc::clone(order) }
    }

    /// Reads rows by key, all at one instant. `visit` is called once for each key, in their order; a missing row is
    /// `None`. Completes at the first poll if all data is in memory.
    ///
    /// # Errors
    /// `Corrupt` if the read needs a damaged record; errors of the storage.
    pub(crate) async fn read(
        &self,
        request: ReadRequest<'_>,
        visit: &mut dyn FnMut(usize, Option<&RowView<'_>>),
    ) -> Result<()> {
        let ReadRequest { tree, keys, depth, needs, overlay, shows_deleted } = request;
        let mut visit = |at: usize, row: Option<&RowView<'_>>| {
            visit(at, row.filter(|row| shows_deleted || !row.is_deleted()));
        };
        let keys: Vec<Box<[u8]>> = keys.iter().map(|key| full_key(tree, key)).collect();
        let sampled = keys.iter().filter(|key| self.store.traffic.count(key)).count();
        if sampled > 0 {
            self.store.tick();
        }
        let mut hold = self.order.after_pending_rows(&keys).await?;
        // The wait may have ended with a commit of unknown outcome.
        self.store.ready().await?;
        self.store.make_records_of(tree)?;
        let snapshot = self.store.snapshot(overlay, tree, hold.as_ref().map(Hold::seqno));
        let mut pins = Pins::default();
        let images = Some(overlay.map_or(&self.store.images, |overlay| &overlay.images));
        let (mut next, mut loaded_for) = (0, 0);
        let most = self.store.cache.most_at_once();
        while let Some(key) = keys.get(next) {
            let look = Look { snapshot: &snapshot, pins: &pins, needs, images, depth };
            let image = self.image(look, key);
            let mut wants = self.lookup(look, key, Vec::new(), image.as_deref(), &mut |row| visit(next, row))?;
            if wants.is_empty() {
                next += 1;
                continue;
            }
            // Release records of finished keys from time to time: keys may be many. Records of the current key stay.
            if pins.len() >= most && std::mem::replace(&mut loaded_for, next) != next {
                pins = Pins::default();
            }
            // One trip, with the missing records of the other keys.
            let look = Look { snapshot: &snapshot, pins: &pins, needs, images: None, depth };
            self.want_more(look, keys.get(next + 1..).unwrap_or_default(), most, &mut wants)?;
            hold.get_or_insert_with(|| self.store.holds.hold(snapshot.seqno));
            self.load_wanted(wants, &mut pins, Usage::Rows(&ascending(&keys))).await?;
        }
        Ok(())
    }

    /// Adds the missing records of more keys, until there are `most` of them.
    fn want_more(&self, look: Look<'_>, keys: &[Box<[u8]>], most: usize, wants: &mut Vec<RecordId>) -> Result<()> {
        for key in keys {
            // Keys of one block want it only once.
            if wants.len() >= most {
                make_distinct(wants);
                if wants.len() >= most {
                    break;
                }
            }
            wants.extend(self.lookup(look, key, Vec::new(), None, &mut |_| ())?);
        }
        Ok(())
    }

    /// Reads the rows of a range as [`Engine::scan`](crate::engine::Engine::scan) does, with the writes of an overlay on top. It also visits deleted
    /// rows while they are remembered. There may be very many, so the visitor decides when to stop.
    ///
    /// # Errors
    /// As for [`Reader::read`].
    pub(crate) async fn scan_over(
        &self,
        options: ScanOptions<'_>,
        tree: TreeId,
        range: KeyRange,
        direction: Direction,
        visit: &mut dyn FnMut(&[u8], &RowView<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let ScanOptions { depth, overlay, filter } = options;
        let range = tree_range(tree, range);
        if self.store.traffic.count(range_start(&range, direction)) {
            self.store.tick();
        }
        let instant = self.order.after_pending_range(tree, &range).await;
        self.store.ready().await?;
        self.store.make_records_of(tree)?;
        let snapshot = self.store.snapshot(overlay, tree, instant.as_ref().map(|instant| instant.decided.seqno()));
        // A decision that was open may have changed rows behind the instant, so each row is looked at.
        let filter = filter.filter(|_| instant.is_none());
        let mut hold = None;
        let sources = snapshot.sources(&range);
        let ahead = self.store.cache.most_ahead() / sources.runs.len().max(1) as u64;
        let mut merge = Merge::new(sources, range, direction, snapshot.seqno);
        merge.read_ahead_at_most(ahead);
        let mut pins = Pins::default();
        let mut see = |key: &[u8], mut fragments: Vec<DatedFragment<'_>>| {
            if let Some(instant) = &instant
                && !instant.held.iter().any(|held| **held == *key)
            {
                fragments.retain(|dated| dated.seqno <= instant.asked.seqno() || dated.seqno >= PRIVATE);
            }
            row::view(fragments, (false, depth), |row| match row {
                Some(row) => visit(own_key(key), row),
                None => ControlFlow::Continue(()),
            })
            .map_err(|damage| Error::corrupt(format_args!("a row of tree {}", tree.0), damage))
        };
        loop {
            let step = merge.step_passing(&self.store.cache, &pins, filter, &mut see)?;
            if let MergeStep::Done | MergeStep::Stopped = step {
                return Ok(());
            }
            hold.get_or_insert_with(|| self.store.holds.hold(snapshot.seqno));
            match step {
                MergeStep::Need(wants, held) => {
                    pins = held;
                    self.load_records(&wants, &mut pins, Usage::All).await?;
                }
                _ => self.runtime.env.yield_now().await,
            }
        }
    }

    /// Loads records. A replaced leader has to find that out before it calls a record damaged: its successor may have
    /// deleted the record. A read may last long, and background work that becomes due does not wait for its end.
    pub(crate) async fn load_records(&self, wants: &[RecordId], pins: &mut Pins, usage: Usage<'_>) -> Result<()> {
        self.store.tick();
        let loaded = self.store.cache.load(&self.runtime.storage, wants, pins, usage).await;
        if loaded.as_ref().is_err_and(|error| error.code() == Code::Corrupt) {
            Box::pin(self.store.check_lead()).await?;
        }
        self.tell_rebuilt();
        loaded
    }

    /// Reports damaged indexes of segments, for each tree that has rows there.
    pub(crate) fn tell_rebuilt(&self) {
        for (id, error) in self.store.cache.take_rebuilt() {
            let version = Rc::clone(&self.store.view.borrow().version);
            for (tree, partitions) in version.trees.iter() {
                if partitions.parts().any(|part| part.segment.id == id.segment) {
                    self.runtime.health.tell(Some(*tree), error.clone());
                }
            }
        }
    }

    /// [`Reader::load_records`] for several readers with common records.
    pub(crate) async fn load_wanted(&self, mut wants: Vec<RecordId>, pins: &mut Pins, usage: Usage<'_>) -> Result<()> {
        make_distinct(&mut wants);
        self.load_records(&wants, pins, usage).await
    }

    /// The image to start from.
    #[inline]
    pub(crate) fn image(&self, look: Look<'_>, key: &[u8]) -> Option<Rc<Image>> {
        let images = look.images.filter(|images| !images.is_empty())?;
        images.get(key, look.snapshot.seqno, self.versions(look.depth, key))
    }

    /// How many versions of each column a read has to show.
    fn versions(&self, depth: Depth, key: &[u8]) -> u32 {
        match depth {
            Depth::Newest => 1,
            Depth::Visible => {
                let view = self.store.view.borrow();
                let kept = tree_of(key).and_then(|tree| view.retentions.get(tree));
                kept.map_or(u32::MAX, |kept| kept.max_versions)
            }
            Depth::Stored => u32::MAX,
        }
    }

    #[cold]
    fn remember(&self, look: Look<'_>, key: &[u8], row: &RowView<'_>, base: Option<&Image>) {
        // A reader that had to wait may see data that was deleted since, under another max versions.
        let current = self.store.images.generation() == look.snapshot.images;
        // An image never has versions that no reader can see. Otherwise every image made from it would have them too.
        let depth = if look.depth == Depth::Stored { Depth::Visible } else { look.depth };
        if let Some(images) = look.images.filter(|_| current) {
            images.remember(key, row, self.runtime.options.shape.pieces, self.versions(depth, key), base);
        }
    }

    /// Looks a row up: visits it, or returns the records to load first. `newer` are fragments on top of the snapshot. If
    /// an `image` is given, only those that are newer than it count.
    pub(crate) fn lookup(
        &self,
        look: Look<'_>,
        key: &[u8],
        newer: Vec<DatedFragment<'_>>,
        image: Option<&Image>,
        visit: &mut dyn FnMut(Option<&RowView<'_>>),
    ) -> Result<Vec<RecordId>> {
        let Look { snapshot, pins, needs, .. } = look;
        let after = image.map_or(0, |image| image.seqno);
        let hidden = |fragments: &[DatedFragment<'_>]| fragments.iter().any(|dated| dated.fragment.head().hides_older);
        let rows: Vec<Ref<'_, Rows>> = snapshot.memtables.iter().map(|memtable| memtable.rows()).collect();
        let given = newer.len();
        let mut fragments = newer;
        let mut complete = hidden(&fragments);
        for rows in &rows {
            if complete {
                break;
            }
            if let Some(slots) = rows.get(key) {
                rows.fragments(slots, (after, snapshot.seqno), &mut fragments).map_err(unreadable)?;
                complete = hidden(&fragments);
            }
        }
        let image = image.filter(|_| !complete);
        if let Some(image) = image {
            fragments.push(image.dated().map_err(|damage| Error::internal(format!("an image: {damage}")))?);
            complete = true;
        }
        let mut found = RowHits { hits: Vec::with_capacity(1), wants: Vec::new(), left_out: false };
        if !complete {
            self.find_in_segments(snapshot, key, pins, needs, &mut found)?;
            if !found.wants.is_empty() {
                return Ok(found.wants);
            }
        }
        let RowHits { hits, left_out, .. } = found;
        fragments.reserve_exact(hits.len());
        for (id, block, entries, loaded) in &hits {
            for entry in entries.clone().filter_map(|index| block.entry(index)) {
                let seqno = loaded.unwrap_or(entry.seqno);
                if seqno <= snapshot.seqno {
                    let fragment = block.fragment(&entry).map_err(|damage| damaged(*id, &damage))?;
                    fragments.push(DatedFragment { seqno, fragment });
                }
            }
        }
        if left_out && row::deletes_versions(&fragments).map_err(|damage| Error::corrupt("a row", damage))? {
            let newer = fragments.into_iter().take(given).collect();
            return self.lookup(Look { needs: None, ..look }, key, newer, None, visit);
        }
        let trimmed = image.is_some_and(|image| image.trimmed);
        let seen = row::view(fragments, (trimmed, Depth::Stored), |row| {
            visit(row);
            let whole = row.filter(|row| !left_out && row.has_more_than(self.runtime.options.shape.pieces));
            if let Some(row) = whole {
                self.remember(look, key, row, image);
            }
        });
        seen.map_err(|damage| Error::corrupt("a row", damage))?;
        Ok(Vec::new())
    }

    /// The places of the row's entries, newest first, up to one that hides all older ones; or the records to load.
    fn find_in_segments(
        &self,
        snapshot: &Snapshot,
        key: &[u8],
        pins: &Pins,
        needs: Option<&Needs<'_>>,
        found: &mut RowHits,
    ) -> Result<()> {
        let partition = snapshot.tree.as_ref().and_then(|tree| tree.holding(key));
        for (number, level) in partition.iter().flat_map(|partition| &partition.levels.levels).enumerate() {
            let candidates: &[Rc<Part>] = if number == 0 {
                level
            } else {
                let at = level.partition_point(|part| *part.last_key < *key);
                level.get(at..=at).unwrap_or_default()
            };
            for part in candidates.iter().filter(|part| part.holds(key)) {
                let before = found.hits.len();
                self.find_in_part(part, key, pins, needs, found);
                let mut hides = false;
                for (id, block, entries, loaded) in found.hits.iter().skip(before) {
                    for entry in entries.clone().filter_map(|index| block.entry(index)) {
                        let fragment = block.fragment(&entry).map_err(|damage| damaged(*id, &damage))?;
                        let seqno = loaded.unwrap_or(entry.seqno);
                        hides |= seqno <= snapshot.seqno && fragment.head().hides_older;
                    }
                }
                // If a record above has to be loaded first, it may make this one unneeded; loading it does no harm.
                if hides {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Adds the row's place in a part, and the records to load first.
    fn find_in_part(&self, part: &Part, key: &[u8], pins: &Pins, needs: Option<&Needs<'_>>, found: &mut RowHits) {
        let meta = match self.store.cache.meta(part.segment.meta(), pins) {
            Ok(meta) => meta,
            Err(want) => return found.wants.push(want),
        };
        if !meta.may_contain(key) {
            return;
        }
        let blocks = meta.blocks_of(key);
        // Several entries of a large row. The first one has the head of the row.
        for number in blocks.clone() {
            match need_of(needs, &meta, &blocks, number) {
                Need::Yes => {}
                Need::No => continue,
                Need::IfDeleted => {
                    found.left_out = true;
                    continue;
                }
            }
            let id = part.segment.block(number);
            match self.store.cache.rows(id, pins) {
                Ok(block) => {
                    let entries = block.entries_of(key);
                    if !entries.is_empty() {
                        found.hits.push((id, block, entries, part.segment.seqno));
                    }
                }
                Err(want) => found.wants.push(want),
            }
        }
    }
}

/// The keys in ascending order.
pub(crate) fn ascending(keys: &[Box<[u8]>]) -> Vec<&[u8]> {
    let mut keys: Vec<&[u8]> = keys.iter().map(|key| &**key).collect();
    sort_by(&mut keys, Ord::cmp);
    keys
}

/// Whether a reader needs one of the blocks with a row. It always needs what does not continue the row.
#[inline(always)]
pub(crate) fn need_of(needs: Option<&Needs<'_>>, meta: &SegmentMeta, blocks: &Range<u32>, number: u32) -> Need {
    let (true, Some(needs)) = (number > blocks.start, needs) else { return Need::Yes };
    let Some(cut) = meta.cut(number) else { return Need::Yes };
    let end = if number + 1 < blocks.end { meta.cut(number + 1).map(|cut| cut.place) } else { None };
    needs(&Stretch { first: cut.place, rank: cut.rank, end })
}

/// Decides whether a reader needs some cells of a row.
pub type Needs<'n> = dyn Fn(&Stretch<'_>) -> Need + 'n;

/// The row's entries in segments.
struct RowHits {
    hits: Vec<Hit>,
    /// The records to load first.
    wants: Vec<RecordId>,
    /// Some entries were left out; they are needed only if a newer version is deleted.
    left_out: bool,
}

/// Entries of a row: their block, their places in it, and their seqno if they were loaded.
type Hit = (BlockId, Rc<Block>, Range<usize>, Option<u64>);

/// The key at which a walk over a range begins.
fn range_start(range: &KeyRange, direction: Direction) -> &[u8] {
    let bound = match direction {
        Direction::Forward => &range.lower,
        Direction::Backward => &range.upper,
    };
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => key,
        Bound::Unbounded => &[],
    }
}
