//! The stored form of a block: similar values lie together, so that they compress.
//!
//! In memory a block is a list of rows (`block.rs`). Before it is stored, its payload is split into streams: the keys as
//! differences, the shapes of rows, seqnos, stamps, and the values of each column and type. Each stream is compressed by
//! itself. FORMAT.md draws it.
//!
//! ```text
//! head      uv length · the payload up to its first entry, as it is
//! streams   of all rows:
//!   keys      a key: 0, the difference is in the next stream; or 1 + how many bytes it shares with the key before
//!             and how many follow of its own, both uv
//!   steps     uv: the last eight bytes, as a big-endian number, minus those of the key before, which is as long
//!   own       the bytes of keys that are not shared
//!   seqnos    sv, the difference to the entry before; as do the stamps
//!   rows      uv: which shape the fragment has; the number of shapes so far is a new one
//!   shapes    head of the fragment, 1 byte · uv cells · each: uv name, 1 byte tag, as in a fragment
//!   stamps    sv
//!   markers   sv, of those that have one
//!   versions  sv, of cells that have one of their own
//! columns   to the end, in the order in which shapes name them, for each name and type that has a value:
//!           1 byte form · one or two streams
//! ```
//!
//! The first 64 shapes keep their numbers; a new shape after them counts once.

mod bits;
mod column;
mod dense;
mod huffman;
mod join;
mod simple;
mod split;
mod stream;
#[cfg(test)]
mod tests;

pub use join::join;
pub use simple::{ROW_MEMORY, SimpleRows};
pub use split::{simple_rows, split};

use super::fragment::TAG;
use super::names::Names;
use crate::model::tags as tag;

/// Whether a value follows a cell's tag.
const fn has_value(tag: u8) -> bool {
    matches!(tag, tag::INTEGER | tag::DOUBLE | tag::STRING | tag::BINARY)
}

/// Whether it is the tag of a text, or of bytes.
const fn is_text(tag: u8) -> bool {
    matches!(tag, tag::STRING | tag::BINARY)
}

/// The effort for making a block small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Cheap: reading and writing are as fast as plain LZ4.
    #[default]
    Fast,
    /// Small: streams are coded bit by bit. Reading and writing take several times as long.
    Dense,
}

/// The number of shapes that keep their numbers.
const SHAPES: usize = 64;

/// The limit of the streams' bytes, from those of the block: a reader takes no more memory.
const fn most(raw: usize) -> usize {
    raw.saturating_mul(2).saturating_add(256)
}

/// The column number of each name and tag, in the order of their first use.
#[derive(Default)]
struct ColumnNumbers {
    numbers: Vec<u32>,
    count: u32,
}

impl ColumnNumbers {
    /// The number, and whether it is new; nothing if there is no such name.
    #[inline]
    fn of(&mut self, name: u32, tag: u8, names: &Names) -> Option<(u32, bool)> {
        // Four tags have values: 2, 3, 6 and 7.
        let slot = name as usize * 4 + usize::from(tag & 1 | tag >> 1 & 2);
        match self.numbers.get(slot) {
            Some(&number) if number != u32::MAX => Some((number, false)),
            _ => self.add(name, slot, names),
        }
    }

    #[cold]
    fn add(&mut self, name: u32, slot: usize, names: &Names) -> Option<(u32, bool)> {
        // So the table grows with the names, not with a number from the data.
        names.get(name)?;
        if slot >= self.numbers.len() {
            self.numbers.resize(slot + 1, u32::MAX);
        }
        *self.numbers.get_mut(slot)? = self.count;
        self.count += 1;
        Some((self.count - 1, true))
    }
}
