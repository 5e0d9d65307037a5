//! Rebuilds a block's payload from columns.

use super::simple::{SimpleRow, SimpleRows, SimpleRowsBuilder, fixed_bytes, text_bytes};
use super::stream::Share;
use super::{ColumnNumbers, SHAPES, TAG, column, has_value, is_text, most, stream};
use crate::collections::order::compare;
use crate::format::fragment::{HAS_MARKER, OWN_VERSION};
use crate::format::names::Names;
use crate::format::wire::{Damage, Decoded, Reader, put_bytes, put_sv, put_uv};
use std::borrow::Cow;
use std::cmp::Ordering;

/// The least bytes of a cell with a value in a block: its name, its tag and the value.
const LEAST_CELL: usize = 3;

/// The least bytes of an entry in a block: the lengths of its key and its fragment, its seqno, and a head with a stamp.
const LEAST_ENTRY: usize = 5;

/// The most memory of value lists and their code tables, as a multiple of the block. Each value of a list is in the
/// block, and on average twice, in a cell of at least [`LEAST_CELL`] bytes. Codes of n bits need as many cells as the
/// Fibonacci number n + 2, and have a table of 2ⁿ places of two bytes. That is at most 8192 bytes for 377 cells, seven
/// and a quarter times their bytes. The values and their ends take less than three times the bytes of their cells.
const MOST_LISTS: usize = 11;

const OTHER_LENGTH: Damage = Damage { what: "the block has another length", at: 0 };

/// A cell of a shape.
struct Cell {
    name: u32,
    bits: u8,
    /// The place of its value, if the tag is not all of it.
    column: u32,
}

/// The shape of a fragment: its head, and the range of its cells.
#[derive(Clone, Copy)]
struct Shape {
    head: u8,
    start: usize,
    end: usize,
    /// Its [`fixed_bytes`].
    fixed: Option<u32>,
}

/// The shapes so far.
#[derive(Default)]
struct Shapes {
    cells: Vec<Cell>,
    known: Vec<Shape>,
    columns: ColumnNumbers,
}

/// The keys of the entries, one after another.
struct Keys<'a> {
    key: Vec<u8>,
    differences: Reader<'a>,
    steps: Reader<'a>,
    own: Reader<'a>,
}

impl Keys<'_> {
    /// Makes `key` that of the next entry. Returns whether it is another one.
    fn advance(&mut self) -> Decoded<bool> {
        match self.differences.uv_here()?.checked_sub(1) {
            None => {
                let last = self.key.last_chunk_mut().ok_or(self.differences.damage("a key without one before it"))?;
                let step = self.steps.uv_here()?;
                *last = u64::from_be_bytes(*last).wrapping_add(step).to_be_bytes();
                Ok(step != 0)
            }
            Some(shared) => {
                let shared = usize::try_from(shared).unwrap_or(usize::MAX);
                let own = self.own.take(self.differences.uv32()? as usize)?;
                let rest = self.key.get(shared..).ok_or(self.own.damage("a key without one before it"))?;
                let is_same = rest == own;
                self.key.truncate(shared);
                self.key.extend_from_slice(own);
                Ok(!is_same)
            }
        }
    }
}

/// The payload of `raw` bytes from its stored form, and its rows if all are simple. Takes at most a few times `raw` of memory,
/// whatever the bytes.
///
/// With some `keys`, which ascend, it has the entries of these only. The values of other entries are passed over. Of those
/// behind the last wanted entry most are not even decompressed.
///
/// # Errors
/// The bytes are not in this form.
pub fn join(stored: &[u8], raw: usize, keys: Option<&[&[u8]]>) -> Decoded<(Vec<u8>, Option<SimpleRows>)> {
    let block = StoredBlock::take(stored, raw)?;
    let of = block.entries;
    let Some(keys) = keys else { return block.rows(None, Share { first: of, of }) };
    let wanted = block.entries_of(keys)?;
    let share = share_of(&wanted, of);
    match block.rows(Some(&wanted), share) {
        // More than its share of a column's values may be in front.
        Err(_) if share.first < of => block.rows(Some(&wanted), Share { of: share.first, ..share }),
        rows => rows,
    }
}

/// The entries up to the last of the `wanted` ones.
fn share_of(wanted: &[u32], of: u32) -> Share {
    Share { first: wanted.last().map_or(0, |last| last + 1), of }
}

/// Whether the rows of `keys` are in the shares of all columns that are decompressed first.
#[cfg(test)]
pub(super) fn is_in_share(stored: &[u8], raw: usize, keys: &[&[u8]]) -> bool {
    let block = StoredBlock::take(stored, raw).expect("a block");
    let wanted = block.entries_of(keys).expect("entries");
    block.rows(Some(&wanted), share_of(&wanted, block.entries)).is_ok()
}

/// A stored block. Its columns are still to be decompressed.
struct StoredBlock<'a> {
    raw: usize,
    /// The payload up to its first entry: the bases, the number of entries, the names.
    head: &'a [u8],
    bases: &'a [u8],
    entries: u32,
    named: &'a [u8],
    names: Names,
    streams: [Cow<'a, [u8]>; 9],
    columns: Reader<'a>,
    /// The bytes that the columns' streams may hold.
    budget: usize,
}

impl<'a> StoredBlock<'a> {
    /// Reads all but the columns.
    fn take(stored: &'a [u8], raw: usize) -> Decoded<Self> {
        let mut columns = Reader::new(stored);
        let head = columns.bytes()?;
        let mut budget = most(raw);
        let mut next = || stream::take(&mut columns, &mut budget, Share::ALL);
        let streams = [next()?, next()?, next()?, next()?, next()?, next()?, next()?, next()?, next()?];
        let mut described = Reader::new(head);
        described.sv()?;
        described.uv()?;
        let bases = head.get(..described.at()).unwrap_or_default();
        let entries = described.uv32()?;
        let named = described.rest();
        let names = Names::decode(&mut described)?;
        if !described.is_empty() {
            return Err(described.damage("bytes behind the names"));
        }
        Ok(Self { raw, head, bases, entries, named, names, streams, columns, budget })
    }

    fn keys(&self) -> Keys<'_> {
        let [differences, steps, own, ..] = &self.streams;
        let [differences, steps, own] = [differences, steps, own].map(|stream| Reader::new(stream));
        Keys { key: Vec::new(), differences, steps, own }
    }

    /// The numbers of the entries that have one of `keys`.
    fn entries_of(&self, mut keys: &[&[u8]]) -> Decoded<Vec<u32>> {
        let (mut walk, mut found) = (self.keys(), Vec::new());
        for entry in 0..self.entries {
            walk.advance()?;
            while let Some((next, behind)) = keys.split_first() {
                match compare(next, &walk.key) {
                    Ordering::Less => keys = behind,
                    Ordering::Equal if found.len() > self.raw / LEAST_ENTRY => {
                        return Err(walk.own.damage("more entries than the block has room for"));
                    }
                    Ordering::Equal => {
                        found.push(entry);
                        break;
                    }
                    Ordering::Greater => break,
                }
            }
            if keys.is_empty() {
                break;
            }
        }
        Ok(found)
    }

    /// The payload with the `wanted` ones of the first entries of `share`, or with all of these.
    fn rows(&self, wanted: Option<&[u32]>, share: Share) -> Decoded<(Vec<u8>, Option<SimpleRows>)> {
        let &Self { raw, head, ref names, .. } = self;
        let (mut reader, mut budget) = (self.columns.clone(), self.budget);
        let mut columns = Vec::new();
        while !reader.is_empty() {
            columns.push(column::Stored::take(&mut reader, &mut budget, share)?);
            if columns.len() > raw / LEAST_CELL {
                return Err(reader.damage("more columns than values"));
            }
        }
        let mut lists = raw.saturating_mul(MOST_LISTS);
        let values = |column| {
            let values = column::Stored::values(column)?;
            let left = lists.checked_sub(values.memory());
            lists = left.ok_or(Damage { what: "the lists hold more than the block", at: 0 })?;
            Ok(values)
        };
        let mut columns = columns.iter().map(values).collect::<Decoded<Vec<_>>>()?;

        let [_, _, _, seqnos, rows, shapes, stamps, markers, versions] = &self.streams;
        let [mut seqnos, mut rows, mut definitions] = [seqnos, rows, shapes].map(|stream| Reader::new(stream));
        let [mut stamps, mut markers, mut versions] = [stamps, markers, versions].map(|stream| Reader::new(stream));
        let (mut walk, mut seqno, mut stamp, mut shapes) = (self.keys(), 0i64, 0i64, Shapes::default());
        // The output exceeds its limit by at most one row, and a row is no longer than its input.
        let mut out = Vec::with_capacity(if wanted.is_some() { head.len() } else { raw });
        out.extend_from_slice(head);
        // The values of each column that were passed over and not read yet; none if all entries are wanted.
        let mut behind = vec![0; if wanted.is_some() { columns.len() } else { 0 }];
        let (mut fragment, mut left) = (Vec::new(), wanted.unwrap_or_default().iter().peekable());
        let mut bases = Reader::new(self.bases);
        let base = bases.sv()?;
        let mut simple = SimpleRowsBuilder::new(bases.uv()?);
        for entry in 0..share.first {
            let is_next = walk.advance()?;
            seqno = seqno.wrapping_add(seqnos.sv_here()?);
            let shape = shapes.get(rows.uv_here()?, &mut definitions, names)?;
            stamp = stamp.wrapping_add(stamps.sv_here()?);
            let cells = shapes.cells.get(shape.start..shape.end).unwrap_or_default();
            if left.next_if_eq(&&entry).is_none() && wanted.is_some() {
                if shape.head & HAS_MARKER != 0 {
                    markers.sv_here()?;
                }
                for cell in cells {
                    if cell.bits & OWN_VERSION != 0 {
                        versions.sv()?;
                    }
                    if has_value(cell.bits & TAG) {
                        *behind.get_mut(cell.column as usize).ok_or(rows.damage("a column is missing"))? += 1;
                    }
                }
                continue;
            }
            put_bytes(&walk.key, &mut out);
            let behind_key = out.len();
            put_sv(seqno, &mut out);
            fragment.clear();
            fragment.push(shape.head);
            put_sv(stamp, &mut fragment);
            let marked = shape.head & HAS_MARKER != 0;
            let at = base.wrapping_add(stamp);
            let (mut texts, mut oldest) = (0, at);
            if marked {
                let marker = markers.sv()?;
                put_sv(marker, &mut fragment);
                oldest = oldest.min(at.wrapping_add(marker));
            }
            let cells_at = fragment.len();
            for cell in cells {
                put_uv(cell.name.into(), &mut fragment);
                fragment.push(cell.bits);
                if cell.bits & OWN_VERSION != 0 {
                    let own = versions.sv()?;
                    put_sv(own, &mut fragment);
                    oldest = oldest.min(at.wrapping_add(own));
                }
                if has_value(cell.bits & TAG) {
                    let column = columns.get_mut(cell.column as usize).ok_or(rows.damage("a column is missing"))?;
                    if let Some(behind) = behind.get_mut(cell.column as usize) {
                        column.pass(std::mem::take(behind))?;
                    }
                    let before = fragment.len();
                    column.put_next(cell.bits & TAG, &mut fragment)?;
                    if is_text(cell.bits & TAG) {
                        texts += text_bytes(fragment.len() - before);
                    }
                }
                // A value that is listed once may occur often.
                if fragment.len() > raw {
                    return Err(rows.damage("a row is longer than its block"));
                }
            }
            put_bytes(&fragment, &mut out);
            if out.len() > raw {
                break;
            }
            let before_cells = out.len() - (fragment.len() - cells_at) - behind_key;
            simple.push(&SimpleRow { fixed: shape.fixed, texts, is_next, seqno, before_cells, oldest, marked });
        }
        if out.len() > raw || wanted.is_none() && out.len() < raw {
            return Err(OTHER_LENGTH);
        }
        let Some(wanted) = wanted else { return Ok((out, simple.finish())) };
        let mut part = Vec::with_capacity(out.len());
        part.extend_from_slice(self.bases);
        put_uv(wanted.len() as u64, &mut part);
        part.extend_from_slice(self.named);
        part.extend_from_slice(out.get(head.len()..).unwrap_or_default());
        if wanted.len() < self.entries as usize && part.len() >= raw {
            // It would be taken for the whole block.
            return Err(OTHER_LENGTH);
        }
        Ok((part, None))
    }
}

impl Shapes {
    /// The shape with this number; for a new one, the next definition.
    #[inline]
    fn get(&mut self, number: u64, definitions: &mut Reader<'_>, names: &Names) -> Decoded<Shape> {
        match self.known.get(usize::try_from(number).unwrap_or(usize::MAX)) {
            Some(&shape) => Ok(shape),
            None => self.define(definitions, names),
        }
    }

    fn define(&mut self, definitions: &mut Reader<'_>, names: &Names) -> Decoded<Shape> {
        // Shapes that counted once have freed their place.
        let start = self.known.last().map_or(0, |shape| shape.end);
        self.cells.truncate(start);
        let head = definitions.u8()?;
        let count = definitions.uv32()?;
        let named = definitions.rest();
        for _ in 0..count {
            let name = definitions.uv32()?;
            let bits = definitions.u8()?;
            let column =
                if has_value(bits & TAG) { self.columns.of(name, bits & TAG, names) } else { Some((0, false)) };
            let (column, _) = column.ok_or(definitions.damage("an unknown column number"))?;
            self.cells.push(Cell { name, bits, column });
        }
        let named = named.get(..named.len() - definitions.left()).unwrap_or_default();
        let shape = Shape { head, start, end: self.cells.len(), fixed: fixed_bytes(head, named, names) };
        if self.known.len() < SHAPES {
            self.known.push(shape);
        }
        Ok(shape)
    }
}
