//! The old cells of a stream's record (`stream/record.rs` has all of its layout). They are derived from the stored row.

use super::base_change::BaseChange;
use crate::engine::RowView;
use crate::format::wire::{put_bytes, put_sv, put_value, value_tag};
use crate::model::{CellRef, ValueRef};

/// The newest cells of some columns of a row, as a record has them. A gate of
/// [`Module::Streams`](crate::modules::Module::Streams).
#[inline(never)]
pub(crate) fn old_cells(base: &BaseChange<'_, '_>, columns: &[String]) -> Vec<u8> {
    let (stamp, retention) = (base.change.stamp, base.table.options().retention());
    let newest =
        base.before.map_or(&[][..], RowView::cells).chunk_by(|a, b| a.column == b.column).filter_map(<[_]>::first);
    let mut out = Vec::new();
    let wanted = |cell: &&CellRef<'_>| {
        columns.iter().any(|column| column == cell.column) && !retention.expired(cell.version, stamp)
    };
    for cell in newest.filter(wanted) {
        put_bytes(cell.column.as_bytes(), &mut out);
        put_sv(cell.version.wrapping_sub(stamp), &mut out);
        put_tagged(cell.value, &mut out);
    }
    out
}

/// Appends a value and, before it, its type.
pub(crate) fn put_tagged(value: ValueRef<'_>, out: &mut Vec<u8>) {
    out.push(value_tag(value));
    put_value(value, out);
}
