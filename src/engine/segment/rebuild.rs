//! Rebuilds a damaged index of a segment from the segment's blocks, which hold the same data. The filter and the samples
//! are left out. Without them reads look into more blocks, and split points are computed from the blocks.

use crate::error::{Error, Result};
use crate::format::block::Block;
use crate::format::record::Place;
use crate::format::segment::{Cut, SegmentMeta, SegmentMetaBuilder};
use crate::format::wire::{Damage, Decoded};
use crate::storage::BlockId;

/// An index under construction.
#[derive(Default)]
pub(crate) struct Rebuild {
    builder: SegmentMetaBuilder,
    last_key: Vec<u8>,
    /// The current column of the last entry, and the number of its puts in the entry so far.
    column: String,
    rank: u64,
}

impl Rebuild {
    /// Adds the next block.
    pub(crate) fn add(&mut self, block: &Block) -> Decoded<()> {
        let last = block.len().checked_sub(1).and_then(|last| block.entry(last));
        let (Some(first), Some(last)) = (block.entry(0), last) else {
            return Err(Damage { what: "there is no entry", at: 0 });
        };
        let mut fragment = block.fragment(&first)?;
        let continues = fragment.continues();
        if first.key == self.last_key {
            let cut = fragment.next_cell()?.filter(|_| continues).map(|cell| {
                let rank = if cell.column == self.column { self.rank } else { 0 };
                Cut { place: cell.place(), rank }
            });
            self.builder.continue_block(first.key, cut);
        } else {
            self.builder.start_block(first.key);
        }
        if block.len() > 1 || !continues {
            self.column.clear();
            self.rank = 0;
        }
        let mut fragment = block.fragment(&last)?;
        while let Some(cell) = fragment.next_unread()? {
            if cell.column != self.column {
                cell.column.clone_into(&mut self.column);
                self.rank = 0;
            }
            self.rank += u64::from(cell.is_put());
        }
        last.key.clone_into(&mut self.last_key);
        Ok(())
    }

    /// The finished index, with its place.
    pub(crate) fn finish(self, place: BlockId) -> Result<SegmentMeta> {
        let place = Place::SegmentMeta(place);
        let built = self.builder.finish(place, &self.last_key);
        Ok(built.map_err(|damage| Error::corrupt(place, damage))?.1)
    }
}
