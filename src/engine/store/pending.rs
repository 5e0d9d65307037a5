//! Pending writes: accepted, ordered, not yet stored.
//!
//! Writes that arrive during a commit share the next one. Later conditions and increments see them on top of the store.
//! Ordinary reads wait until earlier writes are stored, and then see those.

use crate::collections::small_map::SmallMap;
use crate::engine::base::latch::Latch;
use crate::engine::rows::keys::own_key;
use crate::engine::rows::row::DatedFragment;
use crate::engine::versions::version::Edit;
use crate::error::{Error, Result};
use crate::format::fragment::{self, Fragment, FragmentHead};
use crate::format::log::{BatchBuilder, Span};
use crate::format::wire::Decoded;
use crate::model::{CellChange, CellOp, TreeId, WriteNote};
use rustc_hash::FxHashMap;
use std::cell::{Cell, Ref, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// The bytes at which a group is full, so that one transaction stays short. It is also full at a number of writes: they
/// lie in the log together, and an opening replays them.
const GROUP_BYTES: usize = 1 << 20;
const GROUP_WRITES: u64 = 10_000;

/// Writes that become durable together, in one log record.
#[derive(Debug)]
pub(crate) struct Group {
    batch: RefCell<BatchBuilder>,
    /// The group has a write that adds to rows; it has one that deletes.
    adds: Cell<bool>,
    deletes: Cell<bool>,
    /// The trees that it writes to.
    trees: RefCell<Vec<TreeId>>,
    /// Set when the group is stored or has failed.
    pub(crate) done: Latch<Result<()>>,
}

impl Group {
    pub(crate) fn batch(&self) -> Ref<'_, BatchBuilder> {
        self.batch.borrow()
    }

    /// Whether it writes to the tree.
    pub(crate) fn has(&self, tree: TreeId) -> bool {
        self.trees.borrow().contains(&tree)
    }

    fn has_room(&self) -> bool {
        let batch = self.batch();
        batch.len() < GROUP_BYTES && batch.count() < GROUP_WRITES
    }

    /// Whether it adds to rows. The meter's own writes do not count.
    pub(crate) fn adds(&self) -> bool {
        self.adds.get()
    }

    /// Whether it deletes and adds nothing.
    pub(crate) fn frees(&self) -> bool {
        self.deletes.get() && !self.adds.get()
    }
}

/// A version change that waits for its commit.
#[derive(Debug)]
pub(crate) struct PendingEdit {
    pub(crate) edit: Edit,
    pub(crate) done: Rc<Latch<Result<()>>>,
}

/// The pending writes of one row.
#[derive(Debug, Default)]
struct PendingRow {
    /// Ascending by seqno.
    writes: VecDeque<(u64, Rc<Group>, Span)>,
}

/// All pending writes and version changes.
#[derive(Debug)]
pub(crate) struct Pending {
    /// Groups that no commit has taken yet, oldest first; the last one takes new writes.
    groups: VecDeque<Rc<Group>>,
    /// The group whose commit is in flight.
    taken: Option<Rc<Group>>,
    rows: FxHashMap<Box<[u8]>, PendingRow>,
    /// The newest group that writes to each tree.
    trees: SmallMap<TreeId, Rc<Group>>,
    next_seqno: u64,
    /// The newest group takes no more writes, because the seqno behind its last one is in use.
    closed: bool,
    /// The next write comes along with others, and does not count as one that adds.
    pub(crate) aside: bool,
    /// Version changes, in order.
    pub(crate) edits: Vec<PendingEdit>,
}

impl Pending {
    pub(crate) fn new(next_seqno: u64) -> Self {
        Self {
            groups: VecDeque::new(),
            taken: None,
            rows: FxHashMap::default(),
            trees: SmallMap::default(),
            next_seqno,
            closed: false,
            aside: false,
            edits: Vec::new(),
        }
    }

    /// The seqno of the newest accepted write.
    pub(crate) fn last_seqno(&self) -> u64 {
        self.next_seqno - 1
    }

    /// Reserves all seqnos up to this one.
    pub(crate) fn skip_to(&mut self, seqno: u64) {
        self.next_seqno = self.next_seqno.max(seqno + 1);
    }

    /// Takes a seqno outside all groups: above every write so far, below every later one.
    pub(crate) fn reserve(&mut self) -> u64 {
        let seqno = self.next_seqno;
        self.next_seqno += 1;
        self.closed = true;
        seqno
    }

    /// The seqno of the first write that no commit has taken yet.
    pub(crate) fn first_waiting(&self) -> Option<u64> {
        self.groups.front().map(|group| group.batch().first_seqno())
    }

    /// Whether a write with this seqno or one below is pending.
    pub(crate) fn holds_up_to(&self, seqno: u64) -> bool {
        let oldest = self.taken.as_ref().or(self.groups.front());
        oldest.is_some_and(|group| group.batch().first_seqno() <= seqno)
    }

    /// Whether a write of a row between these keys is pending.
    pub(crate) fn touches(&self, tree: TreeId, within: impl Fn(&[u8]) -> bool) -> bool {
        self.trees.contains_key(&tree) && self.rows.keys().any(|key| within(key))
    }

    /// The group that takes new writes. All writes pushed into it before the next call become durable together.
    pub(crate) fn open_group(&mut self, stamp: i64) -> Rc<Group> {
        match self.groups.back() {
            Some(group) if !self.closed && group.has_room() => Rc::clone(group),
            _ => {
                self.closed = false;
                let batch = RefCell::new(BatchBuilder::new(self.next_seqno, stamp));
                let group = Rc::new(Group {
                    batch,
                    adds: Cell::default(),
                    deletes: Cell::default(),
                    trees: RefCell::default(),
                    done: Latch::default(),
                });
                self.groups.push_back(Rc::clone(&group));
                group
            }
        }
    }

    /// Accepts a write of the row with this key, tree included, into the open group.
    pub(crate) fn push(
        &mut self,
        group: &Rc<Group>,
        key: Box<[u8]>,
        tree: TreeId,
        note: WriteNote,
        head: FragmentHead,
        cells: &[CellChange<'_>],
    ) {
        let adds = head.marker.is_some() || cells.iter().any(|cell| matches!(cell.op, CellOp::Put(..)));
        match adds {
            false => group.deletes.set(true),
            true if !tree.is_aside() && !self.aside => group.adds.set(true),
            true => {}
        }
        let (seqno, span) = group.batch.borrow_mut().push(tree, own_key(&key), note, |base, names, out| {
            fragment::encode(head, cells.iter().copied(), base, names, out);
        });
        self.next_seqno = seqno + 1;
        let row = self.rows.entry(key).or_default();
        // Mostly there is one; a list grows to four places by itself.
        row.writes.reserve_exact(usize::from(row.writes.is_empty()));
        row.writes.push_back((seqno, Rc::clone(group), span));
        self.mark(tree, group);
        if let Some(record) = note.record {
            self.mark(record.tree, group);
        }
    }

    /// Remembers that readers of the tree have to wait for the group.
    fn mark(&mut self, tree: TreeId, group: &Rc<Group>) {
        match self.trees.get_mut(&tree) {
            Some(newest) if Rc::ptr_eq(newest, group) => return,
            Some(newest) => *newest = Rc::clone(group),
            None => {
                self.trees.insert(tree, Rc::clone(group));
            }
        }
        group.trees.borrow_mut().push(tree);
    }

    /// Takes the oldest group for a commit. It gets no more writes.
    pub(crate) fn pop(&mut self) -> Option<Rc<Group>> {
        self.taken = self.groups.pop_front();
        self.taken.clone()
    }

    /// The newest group that is not settled.
    pub(crate) fn newest_group(&self) -> Option<Rc<Group>> {
        self.trees.values().max_by_key(|group| group.batch().first_seqno()).map(Rc::clone)
    }

    /// Whether the oldest group frees space.
    pub(crate) fn frees_next(&self) -> bool {
        self.groups.front().is_some_and(|group| group.frees())
    }

    pub(crate) fn has_groups(&self) -> bool {
        !self.groups.is_empty()
    }

    /// The newest group that writes to the row.
    fn group_of(&self, key: &[u8]) -> Option<Rc<Group>> {
        if self.rows.is_empty() {
            return None;
        }
        self.rows.get(key)?.writes.back().map(|(_, group, _)| Rc::clone(group))
    }

    /// The newest group that writes to one of the rows.
    pub(crate) fn newest_of(&self, keys: &[Box<[u8]>]) -> Option<Rc<Group>> {
        let groups = keys.iter().filter_map(|key| self.group_of(key));
        groups.max_by_key(|group| group.batch().first_seqno())
    }

    /// The newest group that writes to the tree.
    pub(crate) fn group_of_tree(&self, tree: TreeId) -> Option<Rc<Group>> {
        self.trees.get(&tree).map(Rc::clone)
    }

    /// Calls `visit` with the row's pending fragments after `after`, newest first.
    pub(crate) fn with_fragments<R>(
        &self,
        key: &[u8],
        after: u64,
        visit: impl FnOnce(Vec<DatedFragment<'_>>) -> R,
    ) -> Decoded<R> {
        let Some(row) = self.rows.get(key) else { return Ok(visit(Vec::new())) };
        let writes = row.writes.iter().rev().take_while(|(seqno, ..)| *seqno > after);
        let batches: Vec<_> = writes.map(|(seqno, group, span)| (*seqno, group.batch(), *span)).collect();
        let mut fragments = Vec::with_capacity(batches.len());
        for (seqno, batch, span) in &batches {
            let fragment = Fragment::decode(batch.fragment(*span), batch.base_stamp(), batch.names())?;
            let hides = fragment.head().hides_older;
            fragments.push(DatedFragment { seqno: *seqno, fragment });
            // Older fragments are hidden.
            if hides {
                break;
            }
        }
        Ok(visit(fragments))
    }

    /// Removes the oldest write of the row, which is stored with its group. If it was the only one, returns the row's key
    /// for the memtable.
    pub(crate) fn settle(&mut self, group: &Rc<Group>, key: &[u8]) -> Option<Box<[u8]>> {
        let row = self.rows.get_mut(key)?;
        // Groups settle in order, and a group's writes too.
        if row.writes.front().is_some_and(|(_, other, _)| Rc::ptr_eq(other, group)) {
            row.writes.pop_front();
        }
        if row.writes.is_empty() { self.rows.remove_entry(key).map(|(key, _)| key) } else { None }
    }

    /// Removes a stored group, so that no tree waits for it.
    pub(crate) fn forget_group(&mut self, group: &Rc<Group>) {
        self.taken = None;
        self.trees.retain(|_, newest| !Rc::ptr_eq(newest, group));
    }

    /// Fails every write that no commit has taken, and returns the groups, whose callers must be told. A commit in flight
    /// stays: it may succeed, and later writes depend on it.
    pub(crate) fn fail_waiting(&mut self) -> VecDeque<Rc<Group>> {
        self.trees.clear();
        match &self.taken {
            None => self.rows.clear(),
            Some(taken) => {
                self.rows.retain(|_, row| {
                    row.writes.retain(|(_, group, _)| Rc::ptr_eq(group, taken));
                    !row.writes.is_empty()
                });
                for tree in taken.trees.borrow().iter() {
                    self.trees.insert(*tree, Rc::clone(taken));
                }
            }
        }
        std::mem::take(&mut self.groups)
    }

    /// Fails every write that is not stored, after its commit has failed. Returns the groups, that of the commit first.
    pub(crate) fn fail_all(&mut self) -> VecDeque<Rc<Group>> {
        let taken = self.taken.take();
        let mut groups = self.fail_waiting();
        taken.into_iter().for_each(|group| groups.push_front(group));
        groups
    }
}

/// Wakes everybody who waits for these groups with the error.
pub(crate) fn fail(groups: impl IntoIterator<Item = Rc<Group>>, error: &Error) {
    for group in groups {
        group.done.set(Err(error.clone()));
    }
}
