//! Merging what several fragments say about one row.
//!
//! A row's fragments, newest first, end with the first one that hides everything older. Of each version of a column the
//! newest word counts; a deletion of a column silences what is older than it.

use crate::collections::sort::sort_by;
use crate::format::fragment::{Fragment, FragmentHead};
use crate::format::wire::{Damage, Decoded};
use crate::model::version::Retention;
use crate::model::{CellChange, CellOp, CellRef};
use std::cell::{Cell, OnceCell};
use std::cmp::Ordering;

/// What of the rows is kept.
#[derive(Clone, Copy, Debug)]
pub(super) enum Keep {
    /// Everything, deletions included.
    All,
    /// What the table's options keep at an instant (ms): nothing older lies below.
    Retained(Retention, i64),
}

/// One row: its stored versions, deletions applied, retention not applied. Nothing but its head is decoded before somebody
/// asks. Versions may be left out that the number of versions of the tree's retention hides.
#[derive(Debug)]
pub struct RowView<'a> {
    head: FragmentHead,
    fragments: &'a [DatedFragment<'a>],
    trimmed: bool,
    cells: OnceCell<Vec<CellRef<'a>>>,
    damage: Cell<Option<Damage>>,
}

impl<'a> RowView<'a> {
    /// When a PutRow made the row exist, if one did: it expires as a version of that time would (V4).
    #[must_use]
    pub fn marker(&self) -> Option<i64> {
        self.head.marker
    }

    /// The newest stamp ever given on this row (V10).
    #[must_use]
    pub fn stamp(&self) -> i64 {
        self.head.stamp
    }

    /// The place of the newest write of the row among all writes.
    #[must_use]
    pub fn seqno(&self) -> u64 {
        self.fragments.first().map_or(0, |newest| newest.seqno)
    }

    /// Whether nothing is left of the row but the memory that there was one.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.head.marker.is_none() && self.cells().is_empty()
    }

    /// Whether columns may have versions that are not shown, behind as many as the tree's retention keeps.
    #[must_use]
    pub fn is_trimmed(&self) -> bool {
        self.trimmed
    }

    /// Whether it was put together from more pieces or cells than so many.
    pub(super) fn has_more_than(&self, pieces: usize) -> bool {
        self.pieces() > pieces || self.cells.get().is_some_and(|cells| cells.len() > pieces)
    }

    /// From how many pieces it was put together; those of a row that was cut count as one.
    pub(super) fn pieces(&self) -> usize {
        self.fragments.iter().filter(|dated| !dated.fragment.continues()).count()
    }

    /// What was put together for it, newest first.
    pub(super) fn dated(&self) -> &'a [DatedFragment<'a>] {
        self.fragments
    }

    /// The row as it was written, where one write is all that is to be known of it.
    #[must_use]
    pub fn alone(&self) -> Option<Fragment<'a>> {
        match self.fragments {
            [only] => Some(only.fragment.clone()),
            _ => None,
        }
    }

    /// Sorted by column name, then newest first. Empty when they are damaged: then whoever reads the row fails once it has
    /// been looked at, and [`RowView::check`] says so before.
    #[must_use]
    pub fn cells(&self) -> &[CellRef<'a>] {
        self.cells.get_or_init(|| {
            let mut cells = Vec::with_capacity(7);
            let merged = merge_cells(self.fragments, false, |cell| {
                if let CellOp::Put(version, value) = cell.op {
                    cells.push(CellRef { column: cell.column, version, value });
                }
            });
            merged.map_or_else(
                |damage| {
                    self.damage.set(Some(damage));
                    Vec::new()
                },
                |()| cells,
            )
        })
    }

    /// Whether what was looked at of the row is whole.
    ///
    /// # Errors
    /// The damage.
    pub fn check(&self) -> Decoded<()> {
        self.damage.get().map_or(Ok(()), Err)
    }
}

/// A fragment and when it was written. What a large row says in one entry comes as several fragments, one after another;
/// all but the first continue.
#[derive(Clone, Debug)]
pub(super) struct DatedFragment<'a> {
    pub(super) seqno: u64,
    pub(super) fragment: Fragment<'a>,
}

/// What a list of heads, newest first, says of the row as a whole. `None` if there is none.
pub(super) fn merged_head(heads: impl IntoIterator<Item = FragmentHead>) -> Option<FragmentHead> {
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
pub(super) fn cut_hidden(fragments: &mut Vec<DatedFragment<'_>>) {
    if let Some(last) = fragments.iter().position(|dated| dated.fragment.head().hides_older) {
        let older = fragments.iter().skip(last + 1);
        let continued = older.take_while(|dated| dated.fragment.continues()).count();
        fragments.truncate(last + 1 + continued);
    }
}

/// An operation of a row, and the place of the one who said it among all, newest first.
pub(super) type Word<'a> = (CellChange<'a>, u32);

/// Orders operations of a row: by column, a deletion of the column first, then newest version first, then newest word.
fn order(a: &Word<'_>, b: &Word<'_>) -> Ordering {
    a.0.place().cmp(&b.0.place()).then_with(|| a.1.cmp(&b.1))
}

/// What a merge has to know of the column that it is in, when it stops there and goes on later.
#[derive(Debug, Default)]
pub(super) struct Course {
    column: String,
    /// Whose word the newest deletion of the column is.
    deleted_at: Option<u32>,
    previous: Option<i64>,
    /// The column that versions are counted of, and how many of it are kept.
    counted: String,
    kept: u32,
}

/// Merges the cells of several fragments, newest first. `keep_deletions` says whether something older may lie below,
/// for which deletions are still needed.
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

/// Merges operations of a row, in any order. If they are some of the row's, behind others, `course` says where those
/// stopped.
pub(super) fn merge_words<'a>(
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
            // A deletion of the column already covers what a deletion of a version would be kept for.
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
pub(super) fn deletes_versions(fragments: &[DatedFragment<'_>]) -> Decoded<bool> {
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

/// Gives the row that `fragments` (newest first) make up to `visit`; `None` if there is no fragment. It is `trimmed` if one
/// of them is.
pub(super) fn view<R>(
    mut fragments: Vec<DatedFragment<'_>>,
    trimmed: bool,
    visit: impl FnOnce(Option<&RowView<'_>>) -> R,
) -> Decoded<R> {
    cut_hidden(&mut fragments);
    let Some(head) = head_of(&fragments) else { return Ok(visit(None)) };
    let row = RowView { head, fragments: &fragments, trimmed, cells: OnceCell::new(), damage: Cell::new(None) };
    let seen = visit(Some(&row));
    row.check().map(|()| seen)
}

/// A row as it is written to a segment.
#[derive(Debug)]
pub(super) struct MergedRow<'a> {
    pub(super) head: FragmentHead,
    pub(super) cells: Vec<CellChange<'a>>,
}

/// Merges fragments (newest first) into one that says the same. Nothing is lost but what deletions in the list reach.
pub(super) fn collapse<'a>(mut fragments: Vec<DatedFragment<'a>>) -> Decoded<Option<MergedRow<'a>>> {
    cut_hidden(&mut fragments);
    let Some(head) = head_of(&fragments) else { return Ok(None) };
    let mut cells = Vec::with_capacity(8);
    merge_cells(&fragments, !head.hides_older, |cell| cells.push(cell))?;
    Ok(Some(MergedRow { head, cells }))
}

/// Takes from a row what its table does not keep (V2 to V5): expired versions, more versions than allowed, and
/// deletions, which have done their work. Only where nothing older lies below: a version that went here while an older
/// word on it stays there would come back with the older value. `None` if nothing is left.
pub(super) fn retain<'a>(mut row: MergedRow<'a>, retention: &Retention, now: i64) -> Option<MergedRow<'a>> {
    retain_cells(&mut row.cells, retention, now, None);
    row.head.marker = row.head.marker.filter(|&marker| !retention.expired(marker, now));
    (row.head.marker.is_some() || !row.cells.is_empty()).then_some(row)
}

/// The same of the cells. If they are some of the row's, behind others, `course` says where those stopped.
pub(super) fn retain_cells<'a>(
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
    // Not by `retain`, which is slower here and weighs more.
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
