//! Pages: rows packed for a client that decodes their text once.
//!
//! ```text
//! header     u32 page length | u32 rows | u32 offset of row table | u32 offset of names | u32 offset of text | i64 base version
//! row data   key values in schema order | uv columns | each: uv name, uv versions | each: sv version - base, value
//! row table  each row: u32 offset of its data | u32 position of its first text
//! names      uv names | each: uv length | uv key columns | each: uv name
//! text       UTF-8 of the names, then of the rows' strings in the order in which they occur
//! ```
//!
//! Offsets count bytes from the start of the page. Lengths and positions of texts count UTF-16 units, because
//! JavaScript cuts strings that way. Positions start at the rows' text. A value is as in a request, but a string has
//! only its tag and length here: its characters lie in the text.

use crate::collections::order::same;
use crate::format::wire::here::{put_sv, put_uv};
use crate::format::wire::{put_value, value_tag};
use crate::model::{CellRef, RowSink, TableSchema, ValueRef};
use rustc_hash::FxHashMap;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes of the header.
pub(super) const HEADER: usize = 28;
/// A larger buffer is freed after use.
const KEEP: usize = 1 << 20;
/// More names than this are freed after use: about as many as a wide row has.
const KEEP_NAMES: usize = 1024;
/// Up to this many names are searched linearly.
const FEW: usize = 8;

/// Packs rows into a page.
#[derive(Debug, Default)]
pub struct PageWriter {
    data: Vec<u8>,
    text: Vec<u8>,
    text_units: usize,
    /// The start of the last row's text.
    last_text: usize,
    /// Offset of the data and position of the text, row by row.
    rows: Vec<(usize, usize)>,
    base: Option<i64>,
    key: Vec<usize>,
    names: Names,
    /// The columns of the last row. Most rows have the same ones.
    last: Vec<usize>,
}

#[derive(Debug, Default)]
struct Names {
    text: String,
    all: Vec<Range<usize>>,
    /// Filled once there are more than a few names. Of two names with the same hash only the first is here.
    index: FxHashMap<u64, usize>,
}

impl PageWriter {
    /// The number of a row's column name, by the column's position.
    #[inline(always)]
    fn name(&mut self, place: usize, column: &str) -> usize {
        match self.last.get(place) {
            Some(&name) if self.names.is(name, column) => name,
            _ => {
                let name = self.names.of(column);
                self.last.truncate(place);
                self.last.push(name);
                name
            }
        }
    }

    /// Forgets all rows and names, and keeps the buffers unless they are large.
    pub fn clear(&mut self) {
        self.data.clear();
        self.data.shrink_to(KEEP);
        self.text.clear();
        self.text.shrink_to(KEEP);
        self.text_units = 0;
        self.rows.clear();
        self.base = None;
        self.key.clear();
        if self.names.all.len() > KEEP_NAMES {
            (self.names, self.last) = Default::default();
        }
        self.names.text.clear();
        self.names.all.clear();
        self.names.index.clear();
        self.last.clear();
    }

    /// The bytes that its buffers have room for.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.data.capacity() + self.text.capacity()
    }

    /// Appends the page to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let row_table = HEADER + self.data.len();
        let names = row_table + 8 * self.rows.len();
        out.reserve(names + self.names.text.len() + 4 * self.names.all.len() + self.text.len());
        out.resize(start + HEADER, 0);
        out.extend_from_slice(&self.data);
        for (data, text) in &self.rows {
            out.extend_from_slice(&(*data as u32).to_le_bytes());
            out.extend_from_slice(&(*text as u32).to_le_bytes());
        }
        put_uv(self.names.all.len() as u64, out);
        for name in &self.names.all {
            put_uv(units(self.names.get(name)) as u64, out);
        }
        put_uv(self.key.len() as u64, out);
        self.key.iter().for_each(|name| put_uv(*name as u64, out));
        let text = out.len() - start;
        out.extend_from_slice(self.names.text.as_bytes());
        out.extend_from_slice(&self.text);
        let length = out.len() - start;
        let header = [length, self.rows.len(), row_table, names, text];
        let base = self.base.unwrap_or(0).to_le_bytes();
        let header = header.into_iter().flat_map(|field| (field as u32).to_le_bytes()).chain(base);
        out.iter_mut().skip(start).zip(header).for_each(|(slot, byte)| *slot = byte);
    }

    fn value(&mut self, value: ValueRef<'_>) {
        self.data.push(value_tag(value));
        match value {
            ValueRef::String(v) => {
                let units = units(v);
                put_uv(units as u64, &mut self.data);
                self.text.extend_from_slice(v.as_bytes());
                self.text_units += units;
            }
            other => put_value(other, &mut self.data),
        }
    }
}

impl RowSink for PageWriter {
    fn start(&mut self, schema: &TableSchema) {
        self.key.clear();
        for column in schema.key() {
            let name = self.names.of(&column.name);
            self.key.push(name);
        }
    }

    fn streams(&self) -> bool {
        true
    }

    fn stream<'c>(&mut self, key: &[ValueRef<'_>], next: &mut dyn FnMut() -> Option<CellRef<'c>>) -> bool {
        self.last_text = self.text.len();
        self.rows.push((HEADER + self.data.len(), self.text_units));
        key.iter().for_each(|value| self.value(*value));
        let count = self.data.len();
        self.data.push(0);
        let mut columns = 0;
        while let Some(cell) = next() {
            // Longer counts take the general path.
            if columns == 0x7f {
                self.undo();
                return false;
            }
            let base = *self.base.get_or_insert(cell.version);
            let name = self.name(columns, cell.column);
            put_uv(name as u64, &mut self.data);
            self.data.push(1);
            put_sv(cell.version.wrapping_sub(base), &mut self.data);
            self.value(cell.value);
            columns += 1;
        }
        if let Some(slot) = self.data.get_mut(count) {
            *slot = columns as u8;
        }
        true
    }

    fn undo(&mut self) {
        if let Some((data, units)) = self.rows.pop() {
            self.data.truncate(data - HEADER);
            self.text.truncate(self.last_text);
            self.text_units = units;
        }
    }

    fn row(&mut self, key: &[ValueRef<'_>], cells: &[CellRef<'_>]) {
        self.rows.push((HEADER + self.data.len(), self.text_units));
        key.iter().for_each(|value| self.value(*value));
        let base = *self.base.get_or_insert_with(|| cells.first().map_or(0, |cell| cell.version));
        let next_is_other = |pair: &[CellRef<'_>]| matches!(pair, [a, b] if !same(a.column, b.column));
        let columns = cells.windows(2).filter(|pair| next_is_other(pair)).count() + usize::from(!cells.is_empty());
        put_uv(columns as u64, &mut self.data);
        let mut rest = cells;
        for place in 0..columns {
            let Some(first) = rest.first() else { break };
            let versions = 1 + rest.windows(2).take_while(|pair| !next_is_other(pair)).count();
            let name = self.name(place, first.column);
            put_uv(name as u64, &mut self.data);
            put_uv(versions as u64, &mut self.data);
            let (column, behind) = rest.split_at_checked(versions).unwrap_or((rest, &[]));
            for cell in column {
                put_sv(cell.version.wrapping_sub(base), &mut self.data);
                self.value(cell.value);
            }
            rest = behind;
        }
    }
}

impl Names {
    fn get(&self, at: &Range<usize>) -> &str {
        self.text.get(at.clone()).unwrap_or_default()
    }

    fn is(&self, name: usize, text: &str) -> bool {
        self.all.get(name).is_some_and(|at| same(self.get(at), text))
    }

    /// The number of a name. An unknown name is added.
    fn of(&mut self, text: &str) -> usize {
        if self.all.len() <= FEW {
            return (0..self.all.len()).find(|name| self.is(*name, text)).unwrap_or_else(|| self.add(text));
        }
        if self.index.is_empty() {
            for (name, at) in self.all.iter().enumerate() {
                let hash = hash(self.text.get(at.clone()).unwrap_or_default().as_bytes());
                self.index.entry(hash).or_insert(name);
            }
        }
        match self.index.get(&hash(text.as_bytes())) {
            Some(&name) if self.is(name, text) => name,
            // Another name has its hash, so it is not in the index.
            Some(_) => (0..self.all.len()).find(|name| self.is(*name, text)).unwrap_or_else(|| self.add(text)),
            None => {
                let name = self.add(text);
                self.index.insert(hash(text.as_bytes()), name);
                name
            }
        }
    }

    fn add(&mut self, text: &str) -> usize {
        let start = self.text.len();
        self.text.push_str(text);
        self.all.push(start..self.text.len());
        self.all.len() - 1
    }
}

/// The hash of a name. It takes a seed like checksums, so one function serves both.
fn hash(name: &[u8]) -> u64 {
    xxh3_64_with_seed(name, 0)
}

/// A text's length in UTF-16 units.
fn units(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    // Each character has one leading byte. A character of four bytes has two units.
    text.bytes().map(|byte| usize::from(byte & 0xc0 != 0x80) + usize::from(byte >= 0xf0)).sum()
}
