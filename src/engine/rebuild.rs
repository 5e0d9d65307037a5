//! Making the index of a segment anew when it is damaged: it says nothing that the segment's blocks do not say. The filter
//! and the samples are left out. Without them reads look into more blocks, and split points are computed from the blocks.

use super::cache::{BlockCache, Pins, Want};
use super::merge::damaged;
use crate::error::{Error, Result};
use crate::format::block::Block;
use crate::format::record::Place;
use crate::format::segment::{Cut, SegmentMeta, SegmentMetaBuilder};
use crate::format::wire::{Damage, Decoded};
use crate::storage::{BlockId, Storage};
use std::pin::Pin;

/// The index that belongs to `place`, of the blocks that lie before it. Gives the error of a block that cannot be read.
pub(super) async fn rebuilt<S: Storage>(cache: &BlockCache, storage: &S, place: BlockId) -> Result<SegmentMeta> {
    let mut index = Rebuild::default();
    for block in 0..place.block {
        let id = BlockId { block, ..place };
        let (wants, mut pins) = ([Want::Block(id)], Pins::default());
        // Not by `load`: the caller may be reading the block into the cache, and would wait for himself. A box, because
        // fetching comes to here again, as far as the compiler knows.
        let fetching: Pin<Box<dyn Future<Output = Result<()>> + '_>> =
            Box::pin(cache.fetch(storage, &wants, &mut pins, false));
        fetching.await?;
        let block = cache.block(id, &pins).map_err(|_| Error::internal("a block that was just loaded is gone"))?;
        index.add(&block).map_err(|damage| damaged(id, &damage))?;
    }
    let built = index.builder.finish(Place::SegmentMeta(place), &index.last_key);
    Ok(built.map_err(|damage| Error::corrupt(Place::SegmentMeta(place), damage))?.1)
}

/// An index in the making.
#[derive(Default)]
struct Rebuild {
    builder: SegmentMetaBuilder,
    last_key: Vec<u8>,
    /// The column that the last entry has come to, and how many puts of it lie in the entry so far.
    column: String,
    rank: u64,
}

impl Rebuild {
    /// Takes over the next block.
    fn add(&mut self, block: &Block) -> Decoded<()> {
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
}
