//! Merging what several fragments say about one row.
//!
//! A row's fragments, newest first, end with the first one that hides everything older. Of each version of a column the
//! newest word counts; a deletion of a column silences what is older than it.

use crate::format::fragment::{Fragment, FragmentHead};
use crate::format::wire::{Damage, Decoded};
use crate::model::sort::sort_by;
use crate::model::version::Retention;
use crate::model::{CellChange, CellOp, CellRef};
use std::cell::{Cell, OnceCell};
use std::cmp::{Ordering, Reverse};

/// One row: all stored versions, deletions applied, retention not applied. Nothing but its head is decoded before somebody
/// asks.
#[derive(Debug)]
pub struct RowView<'a> {
    head: FragmentHead,
    fragments: &'a [Dated<'a>],
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

    /// Whether nothing is left of the row but the memory that there was one.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.head.marker.is_none() && self.cells().is_empty()
    }

    /// How many writes, merged ones counted once, had to be put together for it: a row that is written often and never
    /// as a whole takes ever longer to read.
    #[must_use]
    pub fn fragments(&self) -> usize {
        self.fragments.len()
    }

    /// What was put together for it, newest first.
    pub(super) fn dated(&self) -> &'a [Dated<'a>] {
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

/// A fragment and when it was written.
#[derive(Clone, Debug)]
pub(super) struct Dated<'a> {
    pub(super) seqno: u64,
    pub(super) fragment: Fragment<'a>,
}

/// What a list of fragments, newest first, says of the row as a whole. `None` if there is no fragment.
fn merged_head(fragments: &[Dated<'_>]) -> Option<FragmentHead> {
    let mut head = fragments.first()?.fragment.head();
    for older in fragments.iter().skip(1).map(|dated| dated.fragment.head()) {
        head.hides_older |= older.hides_older;
        head.marker = head.marker.or(older.marker);
        head.stamp = head.stamp.max(older.stamp);
    }
    Some(head)
}

/// Cuts the list behind the first fragment that hides everything older.
pub(super) fn cut_hidden(fragments: &mut Vec<Dated<'_>>) {
    if let Some(last) = fragments.iter().position(|dated| dated.fragment.head().hides_older) {
        fragments.truncate(last + 1);
    }
}

/// Orders operations of a row: by column, a deletion of the column first, then newest version first, then newest word.
fn order(a: &(CellChange<'_>, u32), b: &(CellChange<'_>, u32)) -> Ordering {
    let by_version = |op: &CellOp<'_>| op.version().map_or((0, Reverse(0)), |version| (1, Reverse(version)));
    a.0.column.cmp(b.0.column).then_with(|| by_version(&a.0.op).cmp(&by_version(&b.0.op))).then_with(|| a.1.cmp(&b.1))
}

/// Merges the cells of several fragments, newest first. `keep_deletions` says whether something older may lie below,
/// for which deletions are still needed.
fn merge_cells<'a>(fragments: &[Dated<'a>], keep_deletions: bool, mut emit: impl FnMut(CellChange<'a>)) -> Decoded<()> {
    if let [only] = fragments {
        let mut fragment = only.fragment.clone();
        while let Some(cell) = fragment.next_cell()? {
            if keep_deletions || matches!(cell.op, CellOp::Put(..)) {
                emit(cell);
            }
        }
        return Ok(());
    }
    let mut ops = Vec::new();
    for (age, dated) in (0..).zip(fragments) {
        let mut fragment = dated.fragment.clone();
        while let Some(cell) = fragment.next_cell()? {
            ops.push((cell, age));
        }
    }
    sort_by(&mut ops, order);
    for column in ops.chunk_by(|a, b| a.0.column == b.0.column) {
        // The newest deletion of the column comes first, if there is one.
        let deleted_at = column.first().filter(|(cell, _)| cell.op == CellOp::DeleteColumn).map(|(_, age)| *age);
        if let Some((cell, _)) = column.first()
            && deleted_at.is_some()
            && keep_deletions
        {
            emit(*cell);
        }
        let mut previous = None;
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
    }
    Ok(())
}

/// Gives the row that `fragments` (newest first) make up to `visit`; `None` if there is no fragment.
pub(super) fn view<R>(mut fragments: Vec<Dated<'_>>, visit: impl FnOnce(Option<&RowView<'_>>) -> R) -> Decoded<R> {
    cut_hidden(&mut fragments);
    let Some(head) = merged_head(&fragments) else { return Ok(visit(None)) };
    let row = RowView { head, fragments: &fragments, cells: OnceCell::new(), damage: Cell::new(None) };
    let seen = visit(Some(&row));
    row.check().map(|()| seen)
}

/// A row as it is written to a segment.
#[derive(Debug)]
pub(super) struct Merged<'a> {
    pub(super) head: FragmentHead,
    pub(super) cells: Vec<CellChange<'a>>,
}

/// Merges fragments (newest first) into one that says the same. Nothing is lost but what deletions in the list reach.
pub(super) fn collapse<'a>(mut fragments: Vec<Dated<'a>>) -> Decoded<Option<Merged<'a>>> {
    cut_hidden(&mut fragments);
    let Some(head) = merged_head(&fragments) else { return Ok(None) };
    let mut cells = Vec::with_capacity(8);
    merge_cells(&fragments, !head.hides_older, |cell| cells.push(cell))?;
    Ok(Some(Merged { head, cells }))
}

/// A fragment as it is, every deletion kept.
pub(super) fn alone(dated: Dated<'_>) -> Decoded<Merged<'_>> {
    let (head, mut cells) = (dated.fragment.head(), Vec::new());
    merge_cells(&[dated], true, |cell| cells.push(cell))?;
    Ok(Merged { head, cells })
}

/// Takes from a row what its table does not keep (V2 to V5): expired versions, more versions than allowed, and
/// deletions, which have done their work. Only where nothing older lies below: a version that went here while an older
/// word on it stays there would come back with the older value. `None` if nothing is left.
pub(super) fn retain<'a>(mut row: Merged<'a>, retention: &Retention, now: i64) -> Option<Merged<'a>> {
    let (mut column, mut kept) = ("", 0);
    row.cells.retain(|cell| {
        if cell.column != column {
            column = cell.column;
            kept = 0;
        }
        let CellOp::Put(version, _) = cell.op else { return false };
        let keep = !retention.expired(version, now) && kept < retention.max_versions;
        kept += u32::from(keep);
        keep
    });
    row.head.marker = row.head.marker.filter(|&marker| !retention.expired(marker, now));
    (row.head.marker.is_some() || !row.cells.is_empty()).then_some(row)
}

#[cfg(test)]
mod tests;
