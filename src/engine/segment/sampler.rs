//! Weighs rows while a segment is written, by key range.

use crate::engine::rows::keys::{TREE_BYTES, partition_of};
use crate::format::fragment::FragmentHead;
use crate::format::segment::SampleWeight;
use crate::model::capacity::column_bytes;
use crate::model::{CellChange, CellOp};

/// A sample ends with the first partition key at which it has this weight.
const SAMPLE_BYTES: u64 = 32 << 10;

/// The weight of a row; a deleted one has none.
pub(crate) fn weigh(key: &[u8], head: FragmentHead, cells: &[CellChange<'_>]) -> SampleWeight {
    let mut puts = None;
    for weight in cells.iter().filter_map(weigh_cell) {
        puts = Some(puts.unwrap_or(0) + weight);
    }
    weigh_row(key, head, puts)
}

/// The weight of a cell; a deletion has none.
pub(crate) fn weigh_cell(cell: &CellChange<'_>) -> Option<u64> {
    match cell.op {
        CellOp::Put(_, value) => Some(column_bytes(cell.column, value) as u64),
        CellOp::DeleteColumn | CellOp::DeleteVersion(_) => None,
    }
}

/// The weight of a row whose puts have this weight; none if it has no puts.
pub(crate) fn weigh_row(key: &[u8], head: FragmentHead, puts: Option<u64>) -> SampleWeight {
    if puts.is_none() && head.marker.is_none() {
        return SampleWeight::default();
    }
    SampleWeight { bytes: puts.unwrap_or(0) + key.len().saturating_sub(TREE_BYTES) as u64, rows: 1 }
}

/// Cuts rows, which come in order, into samples.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    weight: SampleWeight,
}

impl Sampler {
    /// Adds the row with this key, which follows the one with the key `last`. Returns the weight of the sample that ended
    /// there, if one did.
    pub(crate) fn add(&mut self, last: &[u8], key: &[u8], weight: SampleWeight) -> Option<SampleWeight> {
        let other_tree = last.get(..TREE_BYTES) != key.get(..TREE_BYTES);
        let full = self.weight.bytes >= SAMPLE_BYTES && !key.starts_with(partition_of(last));
        let ended = ((other_tree || full) && self.weight != SampleWeight::default()).then(|| self.finish());
        self.grow(weight);
        ended
    }

    /// Adds to the weight of the last row.
    pub(crate) fn grow(&mut self, weight: SampleWeight) {
        self.weight.bytes += weight.bytes;
        self.weight.rows += weight.rows;
    }

    /// Ends the open sample. Returns its weight.
    pub(crate) fn finish(&mut self) -> SampleWeight {
        std::mem::take(&mut self.weight)
    }
}
