//! Rebuilds a block's payload from columns.

use super::column::Stored;
use super::{ColumnNumbers, SHAPES, has_value, most, stream};
use crate::collections::order::compare;
use crate::format::fragment::{HAS_MARKER, OWN_VERSION, TAG};
use crate::format::names::Names;
use crate::format::wire::{Damage, Decoded, Reader, put_bytes, put_sv, put_uv};
use std::cmp::Ordering;

/// The least bytes of a cell with a value in a block: its name, its tag and the value.
const LEAST_CELL: usize = 3;

/// The most memory of value lists and their code tables, as a multiple of the block. Each value of a list is in the
/// block, and on average twice, in a cell of at least [`LEAST_CELL`] bytes. Codes of n bits need as many cells as the
/// Fibonacci number n + 2, and have a table of 2ⁿ places of two bytes. That is at most 8192 bytes for 377 cells, seven
/// and a quarter times their bytes. The values and their ends take less than three times the bytes of their cells.
const MOST_LISTS: usize = 11;

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
}

/// The shapes so far.
#[derive(Default)]
struct Shapes {
    cells: Vec<Cell>,
    known: Vec<Shape>,
    columns: ColumnNumbers,
}

/// The payload of `raw` bytes from its stored form. Takes at most a few times `raw` of memory, whatever the bytes.
///
/// # Errors
/// The bytes are not in this form.
pub fn join(stored: &[u8], raw: usize) -> Decoded<Vec<u8>> {
    join_rows(stored, raw, None)
}

/// The same with only the entries of some `keys`, which ascend. The values of other entries are passed over.
///
/// # Errors
/// As for [`join()`].
pub fn join_rows(stored: &[u8], raw: usize, mut keys: Option<&[&[u8]]>) -> Decoded<Vec<u8>> {
    let mut reader = Reader::new(stored);
    let head = reader.bytes()?;
    let mut budget = most(raw);
    let mut next = || stream::take(&mut reader, &mut budget);
    let streams = [next()?, next()?, next()?, next()?, next()?, next()?, next()?, next()?, next()?];
    let [differences, steps, own, seqnos, rows, shapes, stamps, markers, versions] = &streams;
    let mut columns = Vec::new();
    while !reader.is_empty() {
        columns.push(Stored::take(&mut reader, &mut budget)?);
        if columns.len() > raw / LEAST_CELL {
            return Err(reader.damage("more columns than values"));
        }
    }
    let mut lists = raw.saturating_mul(MOST_LISTS);
    let values = |column| {
        let values = Stored::values(column)?;
        let left = lists.checked_sub(values.memory());
        lists = left.ok_or(Damage { what: "the lists hold more than the block", at: 0 })?;
        Ok(values)
    };
    let mut columns = columns.iter().map(values).collect::<Decoded<Vec<_>>>()?;

    let mut described = Reader::new(head);
    described.sv()?;
    described.uv()?;
    let bases = described.at();
    let count = described.uv32()?;
    let named = described.rest();
    let names = Names::decode(&mut described)?;

    let [mut differences, mut steps, mut own] = [differences, steps, own].map(|stream| Reader::new(stream));
    let [mut seqnos, mut rows, mut definitions] = [seqnos, rows, shapes].map(|stream| Reader::new(stream));
    let [mut stamps, mut markers, mut versions] = [stamps, markers, versions].map(|stream| Reader::new(stream));
    let (mut key, mut seqno, mut stamp, mut shapes) = (Vec::new(), 0i64, 0i64, Shapes::default());
    // The output exceeds its limit by at most one row, and a row is no longer than its input.
    let mut out = Vec::with_capacity(if keys.is_some() { head.len() } else { raw });
    out.extend_from_slice(head);
    // The values of each column that were passed over and not read yet; none if all entries are wanted.
    let mut behind = vec![0; if keys.is_some() { columns.len() } else { 0 }];
    let (mut fragment, mut found) = (Vec::new(), 0);
    for _ in 0..count {
        next_key(&mut key, &mut differences, &mut steps, &mut own)?;
        let mut order = Ordering::Equal;
        if let Some(left) = &mut keys {
            while let Some((next, behind)) = left.split_first() {
                order = compare(next, &key);
                if order.is_ge() {
                    break;
                }
                *left = behind;
            }
            if left.is_empty() {
                break;
            }
        }
        seqno = seqno.wrapping_add(seqnos.sv()?);
        let shape = shapes.get(rows.uv()?, &mut definitions, &names)?;
        stamp = stamp.wrapping_add(stamps.sv()?);
        let cells = shapes.cells.get(shape.start..shape.end).unwrap_or_default();
        if order.is_gt() {
            if shape.head & HAS_MARKER != 0 {
                markers.sv()?;
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
        found += 1;
        put_bytes(&key, &mut out);
        put_sv(seqno, &mut out);
        fragment.clear();
        fragment.push(shape.head);
        put_sv(stamp, &mut fragment);
        if shape.head & HAS_MARKER != 0 {
            put_sv(markers.sv()?, &mut fragment);
        }
        for cell in cells {
            put_uv(cell.name.into(), &mut fragment);
            fragment.push(cell.bits);
            if cell.bits & OWN_VERSION != 0 {
                put_sv(versions.sv()?, &mut fragment);
            }
            if has_value(cell.bits & TAG) {
                let column = columns.get_mut(cell.column as usize).ok_or(rows.damage("a column is missing"))?;
                if let Some(behind) = behind.get_mut(cell.column as usize) {
                    column.pass(std::mem::take(behind))?;
                }
                column.put_next(cell.bits & TAG, &mut fragment)?;
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
    }
    if out.len() > raw || keys.is_none() && out.len() < raw {
        return Err(Damage { what: "the block has another length", at: 0 });
    }
    if found == count {
        return Ok(out);
    }
    let mut part = Vec::with_capacity(out.len());
    part.extend_from_slice(head.get(..bases).unwrap_or_default());
    put_uv(found.into(), &mut part);
    part.extend_from_slice(named);
    part.extend_from_slice(out.get(head.len()..).unwrap_or_default());
    Ok(part)
}

fn next_key(
    key: &mut Vec<u8>,
    differences: &mut Reader<'_>,
    steps: &mut Reader<'_>,
    own: &mut Reader<'_>,
) -> Decoded<()> {
    match differences.uv()?.checked_sub(1) {
        None => {
            let last = key.last_chunk_mut().ok_or(differences.damage("a key without one before it"))?;
            *last = u64::from_be_bytes(*last).wrapping_add(steps.uv()?).to_be_bytes();
        }
        Some(shared) => {
            key.truncate(usize::try_from(shared).unwrap_or(usize::MAX));
            key.extend_from_slice(own.take(differences.uv32()? as usize)?);
        }
    }
    Ok(())
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
        for _ in 0..definitions.uv32()? {
            let name = definitions.uv32()?;
            let bits = definitions.u8()?;
            let column =
                if has_value(bits & TAG) { self.columns.of(name, bits & TAG, names) } else { Some((0, false)) };
            let (column, _) = column.ok_or(definitions.damage("an unknown column number"))?;
            self.cells.push(Cell { name, bits, column });
        }
        let shape = Shape { head, start, end: self.cells.len() };
        if self.known.len() < SHAPES {
            self.known.push(shape);
        }
        Ok(shape)
    }
}
