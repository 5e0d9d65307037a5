//! Merges the fragments of one row.
//!
//! A row's fragments, newest first, end with the first one that hides everything older. For each version of a column the
//! newest operation counts. A deletion of a column hides everything older in it.

use crate::collections::sort::sort_by;
use crate::format::fragment::{Fragment, FragmentHead};
use crate::format::wire::{Damage, Decoded};
use crate::model::version::Retention;
use crate::model::{CellChange, CellOp, CellRef};
use std::cell::{Cell, OnceCell};
use std::cmp::Ordering;

/// The versions that a read of a row has to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The newest version of each column.
    Newest,
    /// Every version that max versions does not hide.
    Visible,
    /// Every version that is stored.
    Stored,
}

/// How much of the rows to keep.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keep {
    /// Everything, deletions included.
    All,
    /// The data that the table's options keep at an instant (ms), if nothing older lies below.
    Retained(Retention, i64),
}

/// One row: its stored versions, deletions applied, retention not applied. Only its head is decoded until a reader needs
/// more. Versions that the tree's max versions hides may be missing.
#[derive(Debug)]
pub struct RowView<'a> {
    head: FragmentHead,
    fragments: &'a [DatedFragment<'a>],
    trimmed: bool,
    depth: Depth,
    cells: OnceCell<Vec<CellRef<'a>>>,
    damage: Cell<Option<Damage>>,
}

impl<'a> RowView<'a> {
    /// The time of the PutRow that made the row exist, if one did. It expires as a version of that time would (V4).
    #[must_use]
    pub fn marker(&self) -> Option<i64> {
        self.head.marker
    }

    /// The newest stamp ever given on this row (V10).
    #[must_use]
    pub fn stamp(&self) -> i64 {
        self.head.stamp
    }

    /// The seqno of the row's newest write.
    #[must_use]
    pub fn seqno(&self) -> u64 {
        self.fragments.first().map_or(0, |newest| newest.seqno)
    }

    /// Whether the row is deleted and only remembered.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.head.marker.is_none() && self.cells().is_empty()
    }

    /// Whether versions behind the tree's max versions may be missing.
    #[must_use]
    pub fn is_trimmed(&self) -> bool {
        self.trimmed
    }

    /// Whether it was put together from more pieces or cells than this.
    pub(in crate::engine) fn has_more_than(&self, pieces: usize) -> bool {
        self.pieces() > pieces || self.cells.get().is_some_and(|cells| cells.len() > pieces)
    }

    /// The number of its pieces. The pieces of a cut row count as one.
    pub(in crate::engine) fn pieces(&self) -> usize {
        self.fragments.iter().filter(|dated| !dated.fragment.continues()).count()
    }

    /// Its fragments, newest first.
    pub(in crate::engine) fn dated(&self) -> &'a [DatedFragment<'a>] {
        self.fragments
    }

    /// The row's only fragment, if one write is all there is of it.
    #[must_use]
    pub fn alone(&self) -> Option<Fragment<'a>> {
        match self.fragments {
            [only] => Some(only.fragment.clone()),
            _ => None,
        }
    }

    /// Cells by column name, then newest first. A reader that needs the newest versions may get no others. Empty if they are
    /// damaged: then the read fails once the row has been visited, and [`RowView::check`] reports it before.
    #[must_use]
    pub fn cells(&self) -> &[CellRef<'a>] {
        self.cells.get_or_init(|| {
            self.put_together().unwrap_or_else(|damage| {
                self.damage.set(Some(damage));
                Vec::new()
            })
        })
    }

    fn put_together(&self) -> Decoded<Vec<CellRef<'a>>> {
        if self.depth == Depth::Newest
            && let Some(cells) = newest_cells(self.fragments)?
        {
            return Ok(cells);
        }
        let mut cells = Vec::with_capacity(7);
        merge_cells(self.fragments, false, |cell| {
            if let CellOp::Put(version, value) = cell.op {
                cells.push(CellRef { column: cell.column, version, value });
            }
        })?;
        Ok(cells)
    }

    /// Checks the decoded parts of the row.
    ///
    /// # Errors
    /// The damage.
    pub fn check(&self) -> Decoded<()> {
        self.damage.get().map_or(Ok(()), Err)
    }
}

/// A fragment and its seqno. One entry of a large row comes as several fragments, one after another; all but the first
/// continue it.
#[derive(Clone, Debug)]
pub(crate) struct DatedFragment<'a> {
    pub(crate) seqno: u64,
    pub(crate) fragment: Fragment<'a>,
}

/// The head of a row, from a list of heads, newest first. `None` if the list is empty.
pub(crate) fn merged_head(heads: impl IntoIterator<Item = FragmentHead>) -> Option<FragmentHead> {
    let mut heads = heads.into_iter();
    let mut head = heads.next()?;
    for older in heads {
        head.hides_older |= older.hides_older;
        head.marker = head.marker.or(older.marker);
        head.stamp = head.stamp.max(older.stamp);
    }
    Some(head)
}

fn head_of(fragments: &[DatedFragment<'_>]) -> Option<FragmentHead> {
    merged_head(fragments.iter().map(|dated| dated.fragment.head()))
}

/// Cuts the list behind the first entry that hides everything older.
pub(crate) fn cut_hidden(fragments: &mut Vec<DatedFragment<'_>>) {
    if let Some(last) = fragments.iter().position(|dated| dated.fragment.head().hides_older) {
        let older = fragments.iter().skip(last + 1);
        let continued = older.take_while(|dated| dated.fragment.continues()).count();
        fragments.truncate(last + 1 + continued);
    }
}

/// An operation of a row, and the place of its fragment, newest first.
pub(crate) type Word<'a> = (CellChange<'a>, u32);

/// Orders operations of a row: by column, a deletion of the column first, then newest version first, then newest
/// operation.
fn order(a: &Word<'_>, b: &Word<'_>) -> Ordering {
    a.0.place().cmp(&b.0.place()).then_with(|| a.1.cmp(&b.1))
}

/// The state of a merge that stops inside a column and goes on later.
#[derive(Debug, Default)]
pub(crate) struct Course {
    column: String,
    /// The fragment with the newest deletion of the column.
    deleted_at: Option<u32>,
    previous: Option<i64>,
    /// The column whose versions are counted, and how many of it are kept.
    counted: String,
    kept: u32,
}

/// Merges the cells of several fragments, newest first. `keep_deletions`: something older may lie below, so deletions are
/// still needed.
fn merge_cells<'a>(
    fragments: &[DatedFragment<'a>],
    keep_deletions: bool,
    mut emit: impl FnMut(CellChange<'a>),
) -> Decoded<()> {
    // One entry: its cells are in order.
    if fragments.iter().skip(1).all(|dated| dated.fragment.continues()) {
        for dated in fragments {
            let mut fragment = dated.fragment.clone();
            while let Some(cell) = fragment.next_cell()? {
                if keep_deletions || matches!(cell.op, CellOp::Put(..)) {
                    emit(cell);
                }
            }
        }
        return Ok(());
    }
    let (mut words, mut age) = (Vec::new(), 0);
    for dated in fragments {
        let mut fragment = dated.fragment.clone();
        age += u32::from(!fragment.continues());
        while let Some(cell) = fragment.next_cell()? {
            words.push((cell, age));
        }
    }
    merge_words(&mut words, keep_deletions, None, emit);
    Ok(())
}

/// The newest version of each column, if none of the fragments, newest first, deletes something. It puts each cell in its place, so
/// it takes a third of the time of [`merge_cells`] for a row that was changed several times.
fn newest_cells<'a>(fragments: &[DatedFragment<'a>]) -> Decoded<Option<Vec<CellRef<'a>>>> {
    let (mut cells, mut at) = (Vec::<CellRef<'a>>::with_capacity(8), 0);
    for dated in fragments {
        let mut fragment = dated.fragment.clone();
        if !fragment.continues() {
            at = 0;
        }
        while let Some(CellChange { column, op }) = fragment.next_cell()? {
            let CellOp::Put(version, value) = op else { return Ok(None) };
            let cell = CellRef { column, version, value };
            let newer = loop {
                match cells.get_mut(at).map(|other| (column.cmp(other.column), other)) {
                    Some((Ordering::Greater, _)) => at += 1,
                    Some((Ordering::Equal, other)) => break Some(other),
                    _ => break None,
                }
            };
            match newer {
                Some(other) if other.version < version => *other = cell,
                Some(_) => {}
                None => cells.insert(at, cell),
            }
        }
    }
    Ok(Some(cells))
}

/// Merges operations of a row, in any order. If others of the row came before, `course` is their state at the end.
pub(crate) fn merge_words<'a>(
    words: &mut [Word<'a>],
    keep_deletions: bool,
    mut course: Option<&mut Course>,
    mut emit: impl FnMut(CellChange<'a>),
) {
    sort_by(words, order);
    for column in words.chunk_by(|a, b| a.0.column == b.0.column) {
        let Some((first, age)) = column.first() else { continue };
        let before = course.as_ref().filter(|course| course.column == first.column);
        // The newest deletion of the column comes first, if there is one.
        let mut deleted_at = before.and_then(|course| course.deleted_at);
        let mut previous = before.and_then(|course| course.previous);
        if first.op == CellOp::DeleteColumn && deleted_at.is_none() {
            deleted_at = Some(*age);
            if keep_deletions {
                emit(*first);
            }
        }
        for (cell, age) in column {
            let Some(version) = cell.op.version() else { continue };
            if deleted_at.is_some_and(|deleted| *age > deleted) || previous == Some(version) {
                continue;
            }
            previous = Some(version);
            // A deletion of the column covers the deletion of a version.
            if matches!(cell.op, CellOp::Put(..)) || (keep_deletions && deleted_at.is_none()) {
                emit(*cell);
            }
        }
        if let Some(course) = &mut course {
            if course.column != first.column {
                course.column.clear();
                course.column.push_str(first.column);
            }
            (course.deleted_at, course.previous) = (deleted_at, previous);
        }
    }
}

/// Whether a version of a column is deleted by one of the fragments.
pub(crate) fn deletes_versions(fragments: &[DatedFragment<'_>]) -> Decoded<bool> {
    for dated in fragments {
        let mut fragment = dated.fragment.clone();
        while let Some(cell) = fragment.next_unread()? {
            if cell.deletes_version() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Shows `visit` the row of these fragments, newest first; `None` if there is none. It is `trimmed` if one of them is, and has what
/// a reader needs for `depth`.
#[inline(always)]
pub(crate) fn view<R>(
    mut fragments: Vec<DatedFragment<'_>>,
    (trimmed, depth): (bool, Depth),
    visit: impl FnOnce(Option<&RowView<'_>>) -> R,
) -> Decoded<R> {
    cut_hidden(&mut fragments);
    let Some(head) = head_of(&fragments) else { return Ok(visit(None)) };
    let row = RowView { head, fragments: &fragments, trimmed, depth, cells: OnceCell::new(), damage: Cell::new(None) };
    let seen = visit(Some(&row));
    row.check().map(|()| seen)
}

/// A row as it is written to a segment.
#[derive(Debug)]
pub(crate) struct MergedRow<'a> {
    pub(crate) head: FragmentHead,
    pub(crate) cells: Vec<CellChange<'a>>,
}

/// Merges fragments, newest first, into an equivalent one. Nothing is lost but data that deletions in the list hide.
pub(crate) fn collapse<'a>(mut fragments: Vec<DatedFragment<'a>>) -> Decoded<Option<MergedRow<'a>>> {
    cut_hidden(&mut fragments);
    let Some(head) = head_of(&fragments) else { return Ok(None) };
    let mut cells = Vec::with_capacity(8);
    merge_cells(&fragments, !head.hides_older, |cell| cells.push(cell))?;
    Ok(Some(MergedRow { head, cells }))
}

/// Removes data that the table does not keep (V2 to V5): expired versions, more versions than allowed, and deletions,
/// which are no longer needed. Call it only if nothing older lies below. Otherwise a version removed here could reappear
/// with an older value from there. `None` if nothing is left.
pub(crate) fn retain<'a>(mut row: MergedRow<'a>, retention: &Retention, now: i64) -> Option<MergedRow<'a>> {
    retain_cells(&mut row.cells, retention, now, None);
    row.head.marker = row.head.marker.filter(|&marker| !retention.expired(marker, now));
    (row.head.marker.is_some() || !row.cells.is_empty()).then_some(row)
}

/// The same for the cells. If others of the row came before, `course` is their state at the end.
pub(crate) fn retain_cells<'a>(
    cells: &mut Vec<CellChange<'a>>,
    retention: &Retention,
    now: i64,
    course: Option<&mut Course>,
) {
    let (mut column, mut kept): (Option<&'a str>, _) = (None, 0);
    if let (Some(course), Some(first)) = (&course, cells.first())
        && course.counted == first.column
    {
        (column, kept) = (Some(first.column), course.kept);
    }
    // Not by `retain`, which is slower and larger here.
    let mut end = 0;
    for at in 0..cells.len() {
        let cell = &cells[at];
        if column != Some(cell.column) {
            column = Some(cell.column);
            kept = 0;
        }
        if let CellOp::Put(version, _) = cell.op
            && kept < retention.max_versions
            && !retention.expired(version, now)
        {
            kept += 1;
            if end != at {
                cells.swap(end, at);
            }
            end += 1;
        }
    }
    cells.truncate(end);
    if let (Some(course), Some(column)) = (course, column) {
        course.counted.clear();
        course.counted.push_str(column);
        course.kept = kept;
    }
}

#[cfg(test)]
mod tests;
