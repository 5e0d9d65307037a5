//! Writes: those known beforehand, and those that depend on stored rows.
//!
//! Operations on one row take effect in the order in which their futures are first polled. Nearly all join a group at
//! that poll. An operation that has to load blocks before it can decide takes the turns of its rows, and later operations
//! on those rows queue up behind it. Tickets for several rows are drawn together, so no two such writes can wait for each
//! other.

use super::commit::Commits;
use super::loads::Loads;
use crate::collections::turns::Turn;
use crate::engine::base::runtime::Runtime;
use crate::engine::memory::images::Images;
use crate::engine::memory::overlay::Overlay;
use crate::engine::memory::waiting_records::{record_cell, record_key};
use crate::engine::read::order::Order;
use crate::engine::read::reader::{Look, ReadRequest, Reader, ascending};
use crate::engine::rows::holds::Holds;
use crate::engine::rows::keys::full_key;
use crate::engine::rows::row::{self, DatedFragment, Depth, RowView};
use crate::engine::segment::cache::{Pins, RecordId, Usage};
use crate::engine::store::Store;
use crate::engine::store::pending::{Group, Pending};
use crate::engine::versions::snapshot::Snapshot;
use crate::error::{Error, Result};
use crate::format::fragment::FragmentHead;
use crate::model::{CellChange, CellOp, ChangeKind, Origin, RecordPlace, RowChange, TreeId, WriteNote};
use std::rc::Rc;

/// Decides what to write, from the stored rows.
pub trait Decide {
    /// Sees the row with number `at`, with all earlier operations on it, stored or pending. A deleted row is shown too
    /// while it is remembered, for its stamp. All rows are seen in order in one synchronous section. If blocks have to be
    /// loaded meanwhile, the rows are seen again from the first one on.
    ///
    /// # Errors
    /// A refusal: nothing is written. It is returned once the seen writes are stored; if they fail, all rows are seen
    /// again.
    fn see(&mut self, at: usize, row: Option<&RowView<'_>>) -> Result<()>;

    /// Agrees to the write, after all rows were seen. Called once.
    ///
    /// # Errors
    /// A refusal: nothing is written.
    fn agree(&mut self) -> Result<()> {
        Ok(())
    }

    /// Which versions it needs to see of the row with number `at`.
    fn depth(&self, _at: usize) -> Depth {
        Depth::Visible
    }

    /// Writes, in the same section. All writes become durable in one log record, or none.
    fn write(&mut self, writes: &mut Writes<'_>);
}

/// Takes the writes of one decision.
#[derive(Debug)]
pub struct Writes<'e>(Target<'e>);

/// A decision on its way into the log.
#[derive(Debug)]
pub struct Receipt(Option<Rc<Group>>);

impl Receipt {
    /// Resolves when it is durable.
    ///
    /// # Errors
    /// As for [`Engine::write`](crate::engine::Engine::write).
    pub async fn stored(self) -> Result<()> {
        match self.0 {
            Some(group) => group.done.wait().await,
            None => Ok(()),
        }
    }
}

/// The target of writes.
#[derive(Debug)]
enum Target<'e> {
    /// Into the log.
    Pending {
        pending: &'e mut Pending,
        images: &'e Images,
        origin: Option<Origin>,
        group: Option<Rc<Group>>,
        last_stamp: i64,
    },
    /// Writes stay private.
    Overlay(&'e Overlay),
}

impl<'e> Writes<'e> {
    /// Writes that go into an overlay.
    pub(crate) fn over(overlay: &'e Overlay) -> Self {
        Self(Target::Overlay(overlay))
    }

    /// Changes a row of any tree.
    pub fn change(&mut self, tree: TreeId, key: &[u8], change: &RowChange<'_>) {
        self.push(full_key(tree, key), tree, FragmentHead::of(change), change.cells);
    }

    /// Changes a row. The stream at `place` gets a record of it, which is made from this change alone when it is read or
    /// flushed. Private writes have no order, so they cannot.
    pub fn change_recorded(&mut self, tree: TreeId, key: &[u8], change: &RowChange<'_>, place: RecordPlace) {
        debug_assert!(!self.is_private(), "private writes have no order");
        self.push_recorded(full_key(tree, key), tree, FragmentHead::of(change), change.cells, Some(place));
    }

    /// Whether they stay private: a later decision makes them public, or nobody ever sees them.
    pub fn is_private(&self) -> bool {
        matches!(self.0, Target::Overlay(_))
    }

    /// Writes the record of a change that came before in this decision. Private writes have no seqno, so they cannot.
    pub fn append_record(&mut self, place: RecordPlace, record: &[u8]) {
        let Target::Pending { pending, .. } = &self.0 else {
            return debug_assert!(false, "private writes have no order");
        };
        let key = record_key(place.shard, pending.last_seqno().saturating_add(1));
        let cells = [record_cell(place.time, record)];
        let change = RowChange { kind: ChangeKind::Update, stamp: place.time, cells: &cells };
        self.beside(|writes| writes.change(place.tree, &key, &change));
    }

    /// Writes what comes along with other changes. It does not make a deletion one that needs room.
    pub fn beside(&mut self, write: impl FnOnce(&mut Self)) {
        self.set_aside(true);
        write(self);
        self.set_aside(false);
    }

    fn set_aside(&mut self, aside: bool) {
        if let Target::Pending { pending, .. } = &mut self.0 {
            pending.aside = aside;
        }
    }

    /// Replaces a row. With a `marker` the row is as old as that says, whatever the versions of its cells (V4). Without
    /// one it exists as long as one of its cells does.
    pub fn replace(&mut self, tree: TreeId, key: &[u8], marker: Option<i64>, stamp: i64, cells: &[CellChange<'_>]) {
        let head = FragmentHead { hides_older: true, marker, stamp };
        self.push(full_key(tree, key), tree, head, cells);
    }

    /// Writes an overlay's data of a row. The overlay checked it when it came in, so it can be read.
    pub fn row_of(&mut self, overlay: &Overlay, tree: TreeId, key: &[u8]) {
        let key = full_key(tree, key);
        let rows = overlay.memtable.rows();
        let (Some(slots), mut fragments) = (rows.get(&key), Vec::new()) else { return };
        let read = rows.fragments(slots, (0, u64::MAX), &mut fragments);
        debug_assert!(read.is_ok(), "{read:?}");
        for mut dated in fragments.into_iter().rev() {
            let mut cells = Vec::new();
            while let Ok(Some(cell)) = dated.fragment.next_cell() {
                cells.push(cell);
            }
            self.push(key.clone(), tree, dated.fragment.head(), &cells);
        }
    }

    pub(crate) fn push(&mut self, key: Box<[u8]>, tree: TreeId, head: FragmentHead, cells: &[CellChange<'_>]) {
        self.push_recorded(key, tree, head, cells, None);
    }

    fn push_recorded(
        &mut self,
        key: Box<[u8]>,
        tree: TreeId,
        head: FragmentHead,
        cells: &[CellChange<'_>],
        record: Option<RecordPlace>,
    ) {
        let images = match &self.0 {
            Target::Overlay(overlay) => &overlay.images,
            Target::Pending { images, .. } => images,
        };
        if !images.is_empty() && cells.iter().any(|cell| matches!(cell.op, CellOp::DeleteVersion(_))) {
            images.before_deletion(&key);
        }
        match &mut self.0 {
            Target::Overlay(overlay) => overlay.insert(key, head, cells),
            Target::Pending { pending, origin, group, last_stamp, .. } => {
                *last_stamp = head.stamp.max(*last_stamp);
                let group = group.get_or_insert_with(|| pending.open_group(head.stamp));
                pending.push(group, key, tree, WriteNote { origin: *origin, record }, head, cells);
            }
        }
    }
}

fn full_keys(rows: &[(TreeId, &[u8])]) -> Vec<Box<[u8]>> {
    rows.iter().map(|(tree, key)| full_key(*tree, key)).collect()
}

/// The data of rows that a decision is about to see.
struct HeldRows {
    pins: Pins,
    /// Copies of the first rows, whose blocks were released: rows may be many and blocks large. Other writers wait for these rows'
    /// turns, so the copies stay true.
    overlay: Overlay,
    /// The copies, to be read.
    copies: Snapshot,
    /// The number of copied rows.
    copied: usize,
}

impl HeldRows {
    fn new(now: i64) -> Self {
        let overlay = Overlay::new(now);
        let memtables = vec![Rc::clone(&overlay.memtable)];
        let copies = Snapshot { memtables, tree: None, seqno: u64::MAX, images: 0 };
        Self { pins: Pins::default(), overlay, copies, copied: 0 }
    }
}

/// How far a decision has seen its rows.
struct Sight {
    /// Records to load first.
    wants: Vec<RecordId>,
    /// All data of the rows before this one is in memory.
    whole: usize,
    /// A refusal, and the newest pending write among the rows, which may have caused it.
    refused: Option<(Error, Rc<Group>)>,
}

/// Decides and accepts writes.
pub(crate) struct Writer {
    runtime: Rc<Runtime>,
    store: Rc<Store>,
    order: Rc<Order>,
    reader: Rc<Reader>,
    commits: Rc<Commits>,
    loads: Rc<Loads>,
}

impl Writer {
    pub(crate) fn new(
        store: &Rc<Store>,
        order: &Rc<Order>,
        reader: &Rc<Reader>,
        commits: &Rc<Commits>,
        loads: &Rc<Loads>,
    ) -> Self {
        Self {
            runtime: Rc::clone(&store.runtime),
            store: Rc::clone(store),
            order: Rc::clone(order),
            reader: Rc::clone(reader),
            commits: Rc::clone(commits),
            loads: Rc::clone(loads),
        }
    }

    /// See [`Engine::write`](crate::engine::Engine::write).
    pub(crate) async fn write(
        &self,
        tree: TreeId,
        key: &[u8],
        change: &RowChange<'_>,
        origin: Option<Origin>,
    ) -> Result<()> {
        let key = full_key(tree, key);
        let turns = self.come(std::slice::from_ref(&key)).await?;
        let accepted = self.accept_row(tree, key, change, origin);
        drop(turns);
        accepted.stored().await
    }

    /// Accepts a write of one row, when it is its turn.
    fn accept_row(&self, tree: TreeId, key: Box<[u8]>, change: &RowChange<'_>, origin: Option<Origin>) -> Receipt {
        let mut key = Some(key);
        Receipt(self.enqueue(origin, &mut |writes| {
            if let Some(key) = key.take() {
                writes.push(key, tree, FragmentHead::of(change), change.cells);
            }
        }))
    }

    /// See [`Engine::write_now`](crate::engine::Engine::write_now).
    pub(crate) fn write_now(
        &self,
        tree: TreeId,
        key: &[u8],
        change: &RowChange<'_>,
        origin: Option<Origin>,
    ) -> Option<Receipt> {
        let key = full_key(tree, key);
        self.order.takes_at_once(&key).then(|| self.accept_row(tree, key, change, origin))
    }

    /// See [`Engine::modify_now`](crate::engine::Engine::modify_now).
    pub(crate) fn modify_now(
        &self,
        (tree, key): (TreeId, &[u8]),
        sees: bool,
        origin: Option<Origin>,
        decide: &mut dyn Decide,
    ) -> Result<Option<Receipt>> {
        let key = full_key(tree, key);
        if !self.order.takes_at_once(&key) {
            return Ok(None);
        }
        let keys = std::slice::from_ref(&key);
        if sees {
            let snapshot = self.store.snapshot(None, tree, Some(u64::MAX));
            let pins = Pins::default();
            let images = Some(&self.store.images);
            let look = Look { snapshot: &snapshot, pins: &pins, needs: None, images, depth: decide.depth(0) };
            match self.show(look, &key, &mut |row| decide.see(0, row)) {
                Ok(wants) if wants.is_empty() => {}
                Err(error) if self.order.newest_pending(keys).is_none() => return Err(error),
                _ => return Ok(None),
            }
        }
        decide.agree()?;
        Ok(Some(self.accept(keys, origin, decide)))
    }

    /// See [`Engine::modify`](crate::engine::Engine::modify).
    pub(crate) async fn modify(
        &self,
        rows: &[(TreeId, &[u8])],
        origin: Option<Origin>,
        decide: &mut dyn Decide,
    ) -> Result<()> {
        let keys = full_keys(rows);
        let mut turns = self.order.turns_of(&keys).await?;
        let mut held = HeldRows::new(self.runtime.clock.now_ms());
        let most = self.store.cache.most_at_once();
        loop {
            // A commit may have failed during the wait for turns or blocks.
            self.store.ready().await?;
            if keys.iter().any(|key| self.order.loads.cover(key)) {
                self.loads.after_loads(&keys, &mut turns).await?;
            }
            // The pins keep needed records from being dropped meanwhile.
            let snapshots: Vec<_> =
                rows.iter().map(|(tree, _)| self.store.snapshot(None, *tree, Some(u64::MAX))).collect();
            let Sight { wants, whole, refused } = self.see_all(&keys, &snapshots, &held, decide)?;
            if wants.is_empty() && refused.is_none() {
                break;
            }
            if turns.is_empty() {
                // Later operations on these rows must not overtake.
                turns = self.order.take_turns(&keys);
            }
            if let Some((error, group)) = refused {
                // The write that made it fail may never be stored.
                if group.done.wait().await.is_ok() {
                    return Err(error);
                }
                continue;
            }
            if held.pins.len() >= most && whole > held.copied {
                if let Some(group) = self.order.newest_pending(&keys) {
                    // That may still fail, so copies hold stored data only.
                    let _ = group.done.wait().await;
                    continue;
                }
                self.release_blocks(&keys[..whole], &snapshots, &mut held, decide)?;
            }
            self.reader.load_wanted(wants, &mut held.pins, Usage::Rows(&ascending(&keys))).await?;
        }
        decide.agree()?;
        let accepted = self.accept(&keys, origin, decide);
        drop((turns, held));
        accepted.stored().await
    }

    /// Shows `decide` rows with all pending writes, up to one that it refuses.
    ///
    /// # Errors
    /// A refusal that no pending write has caused.
    fn see_all(
        &self,
        keys: &[Box<[u8]>],
        snapshots: &[Snapshot],
        held: &HeldRows,
        decide: &mut dyn Decide,
    ) -> Result<Sight> {
        let most = self.store.cache.most_at_once();
        let mut sight = Sight { wants: Vec::new(), whole: 0, refused: None };
        for ((at, snapshot), key) in snapshots.iter().enumerate().zip(keys) {
            let (snapshot, images) =
                if at < held.copied { (&held.copies, None) } else { (snapshot, Some(&self.store.images)) };
            let look = Look { snapshot, pins: &held.pins, needs: None, images, depth: decide.depth(at) };
            match self.show(look, key, &mut |row| decide.see(at, row)) {
                Ok(more) => sight.wants.extend(more),
                Err(error) => {
                    let Some(group) = self.order.newest_pending(keys) else { return Err(error) };
                    sight.refused = Some((error, group));
                    break;
                }
            }
            if sight.wants.is_empty() {
                sight.whole = at + 1;
            } else if sight.wants.len() >= most {
                break;
            }
        }
        Ok(sight)
    }

    /// Copies rows whose data is in memory, and releases their blocks.
    fn release_blocks(
        &self,
        keys: &[Box<[u8]>],
        snapshots: &[Snapshot],
        held: &mut HeldRows,
        decide: &dyn Decide,
    ) -> Result<()> {
        for ((at, snapshot), key) in snapshots.iter().enumerate().zip(keys).skip(held.copied) {
            let (pins, images) = (&held.pins, Some(&self.store.images));
            let look = Look { snapshot, pins, needs: None, images, depth: decide.depth(at) };
            if !self.copy(look, key, &held.overlay)?.is_empty() {
                break;
            }
            held.copied += 1;
        }
        held.pins = Pins::default();
        Ok(())
    }

    /// See [`Engine::write_unseen`](crate::engine::Engine::write_unseen).
    pub(crate) async fn write_unseen(
        &self,
        rows: &[(TreeId, &[u8])],
        origin: Option<Origin>,
        decide: &mut dyn Decide,
    ) -> Result<()> {
        let keys = full_keys(rows);
        let turns = self.come(&keys).await?;
        decide.agree()?;
        let accepted = self.accept(&keys, origin, decide);
        drop(turns);
        accepted.stored().await
    }

    /// See [`Engine::modify_over`](crate::engine::Engine::modify_over).
    pub(crate) async fn modify_over(
        &self,
        overlay: &Overlay,
        (tree, key): (TreeId, &[u8]),
        see: bool,
        decide: &mut dyn Decide,
    ) -> Result<()> {
        if see {
            let depth = decide.depth(0);
            let mut seen = Ok(());
            let mut visit = |at: usize, row: Option<&RowView<'_>>| seen = decide.see(at, row);
            let keys = [key];
            let request =
                ReadRequest { depth, overlay: Some(overlay), shows_deleted: true, ..ReadRequest::of(tree, &keys) };
            self.reader.read(request, &mut visit).await?;
            seen?;
        }
        let _turns = self.come(&[full_key(tree, key)]).await?;
        decide.agree()?;
        decide.write(&mut Writes::over(overlay));
        Ok(())
    }

    /// Waits until a write of these rows may be accepted: it is its turn, the stored state is known, and no open load
    /// covers the rows. If it had to wait, it returns the turns, so that later operations do not overtake.
    pub(crate) async fn come(&self, keys: &[Box<[u8]>]) -> Result<Vec<Turn>> {
        let mut turns = self.order.turns_of(keys).await?;
        if keys.iter().any(|key| self.order.loads.cover(key)) {
            Box::pin(self.loads.after_loads(keys, &mut turns)).await?;
        }
        Ok(turns)
    }

    /// Copies a row's stored data, so that its blocks are not needed, or returns the records to load first.
    fn copy(&self, look: Look<'_>, key: &[u8], to: &Overlay) -> Result<Vec<RecordId>> {
        let mut done = Ok(());
        let mut visit = |row: Option<&RowView<'_>>| {
            let fragments = row.map_or(&[][..], RowView::dated);
            if fragments.iter().any(|dated| dated.fragment.continues()) {
                // In memory no row is cut.
                done = row::collapse(fragments.to_vec()).map(|merged| {
                    merged.iter().for_each(|row| to.insert(key.into(), row.head, &row.cells));
                });
                return;
            }
            for dated in fragments.iter().rev() {
                let fragment = dated.fragment.clone();
                done =
                    done.and(to.memtable.insert(key.into(), dated.seqno, fragment, false, &Holds::default()).map(drop));
            }
        };
        // If the decision needed no block, this must not need one either.
        let image = self.reader.image(look, key);
        let wants = self.reader.lookup(look, key, Vec::new(), image.as_deref(), &mut visit)?;
        done.map(|()| wants).map_err(|damage| Error::corrupt("a row", damage))
    }

    /// Shows `see` a row with all pending writes, or returns the records to load first.
    fn show(
        &self,
        look: Look<'_>,
        key: &[u8],
        see: &mut dyn FnMut(Option<&RowView<'_>>) -> Result<()>,
    ) -> Result<Vec<RecordId>> {
        let mut decided = Ok(());
        let mut see = |row: Option<&RowView<'_>>| decided = see(row);
        let image = self.reader.image(look, key);
        let after = image.as_ref().map_or(0, |image| image.seqno);
        let pending = self.store.line.pending.borrow();
        let with = |newer: Vec<DatedFragment<'_>>| self.reader.lookup(look, key, newer, image.as_deref(), &mut see);
        let looked_up = pending.with_fragments(key, after, with);
        let wants = looked_up.map_err(|_| Error::internal("a pending write cannot be read"))??;
        decided.map(|()| wants)
    }

    /// Accepts the writes of `decide`, which has seen the rows with these keys.
    fn accept(&self, keys: &[Box<[u8]>], origin: Option<Origin>, decide: &mut dyn Decide) -> Receipt {
        Receipt(self.enqueue(origin, &mut |writes| decide.write(writes)).or_else(|| {
            // The decision may depend on pending writes, so these have to be stored first.
            self.order.newest_pending(keys)
        }))
    }

    /// Puts writes into one group, if there are any.
    fn enqueue(&self, origin: Option<Origin>, write: &mut dyn FnMut(&mut Writes<'_>)) -> Option<Rc<Group>> {
        let mut pending = self.store.line.pending.borrow_mut();
        let last_stamp = self.store.line.last_stamp();
        let target =
            Target::Pending { pending: &mut pending, images: &self.store.images, origin, group: None, last_stamp };
        let mut writes = Writes(target);
        write(&mut writes);
        let Writes(Target::Pending { group, last_stamp, .. }) = writes else { return None };
        self.store.line.raise_stamp(last_stamp);
        drop(pending);
        if group.is_some() {
            self.commits.kick();
        }
        group
    }
}
