//! Splits a block's payload into columns.

use super::column::Values;
use super::simple::{SimpleRow, SimpleRows, SimpleRowsBuilder, fixed_bytes};
use super::{ColumnNumbers, Form, SHAPES, TAG, has_value, most, stream};
use crate::format::fragment::{HAS_MARKER, OWN_VERSION};
use crate::format::names::Names;
use crate::format::wire::here::{put_sv, put_uv};
use crate::format::wire::{Decoded, Reader, put_bytes, uv_length};

/// A block that names more columns is not split: each has few values, and takes memory until all are read.
const COLUMNS: u32 = 1024;

/// The growing streams.
#[derive(Default)]
struct Streams {
    keys: Vec<u8>,
    steps: Vec<u8>,
    own: Vec<u8>,
    seqnos: Vec<u8>,
    rows: Vec<u8>,
    shapes: Vec<u8>,
    stamps: Vec<u8>,
    markers: Vec<u8>,
    versions: Vec<u8>,
    columns: Vec<Values>,
    numbers: ColumnNumbers,
    /// The shapes with numbers and their [`fixed_bytes`], and that of the row before.
    known: Vec<(Box<[u8]>, Option<u32>)>,
    last_shape: usize,
    shape: Vec<u8>,
}

/// A payload that was read.
struct Split {
    streams: Streams,
    /// The start of its entries.
    head: usize,
    rows: Option<SimpleRows>,
}

/// The rows of a payload, if all are simple.
#[must_use]
pub fn simple_rows(payload: &[u8]) -> Option<SimpleRows> {
    take_apart(payload, None)?.1
}

/// The payload in its stored form, and its rows if all are simple; nothing if [`super::join()`] could not rebuild it.
#[must_use]
pub fn split(payload: &[u8], form: Form) -> Option<(Vec<u8>, Option<SimpleRows>)> {
    take_apart(payload, Some(form))
}

/// The same. Without a form there is nothing to store.
fn take_apart(payload: &[u8], form: Option<Form>) -> Option<(Vec<u8>, Option<SimpleRows>)> {
    let Split { streams, head, rows: simple } = read(payload, form.is_none()).ok()?;
    let Some(form) = form else { return Some((Vec::new(), simple)) };
    let mut out = Vec::with_capacity(payload.len() / 2);
    put_bytes(payload.get(..head)?, &mut out);
    let Streams { keys, steps, own, seqnos, rows, shapes, stamps, markers, versions, columns, .. } = streams;
    let mut size = 0;
    for bytes in [keys, steps, own, seqnos, rows, shapes, stamps, markers, versions] {
        stream::put(&bytes, form, &mut out);
        size += bytes.len();
    }
    for column in columns {
        size += column.put(payload, form, &mut out);
    }
    (size <= most(payload.len())).then_some((out, simple))
}

/// Reads a payload, up to a row that `has_to_be_simple` and is not.
fn read(payload: &[u8], has_to_be_simple: bool) -> Decoded<Split> {
    let mut reader = Reader::new(payload);
    let mut to = Streams::default();
    let base = reader.sv_here()?;
    let mut simple = SimpleRowsBuilder::new(reader.uv()?);
    let count = reader.uv32()?;
    if reader.clone().uv32()? > COLUMNS {
        return Err(reader.damage("too many columns to split"));
    }
    let names = Names::decode(&mut reader)?;
    let head = reader.at();
    let (mut previous, mut seqno, mut stamp): (&[u8], _, _) = (&[], 0i64, 0i64);
    for _ in 0..count {
        let before = reader.at();
        let key = reader.bytes()?;
        // The end of a row's cells is computed from the length of the next key, which must not be padded then.
        let is_length_short = reader.at() - before == uv_length(key.len() as u32) + key.len();
        let is_next = to.add_key(key, previous) && is_length_short;
        previous = key;
        let behind_key = reader.at();
        let next = reader.sv_here()?;
        put_sv(next.wrapping_sub(seqno), &mut to.seqnos);
        seqno = next;
        let length = reader.bytes()?.len();
        // A reader that ends with the fragment and keeps its place in the payload.
        let within = payload.get(..reader.at()).unwrap_or_default();
        let mut fragment = Reader::new_at(within, reader.at() - length);
        let row = to.add_fragment(&mut fragment, behind_key, (&mut stamp, base), &names)?;
        let row = SimpleRow { is_next, seqno, ..row };
        if !simple.push(&row) && has_to_be_simple {
            return Err(reader.damage("a row is not simple"));
        }
    }
    if !reader.is_empty() {
        return Err(reader.damage("bytes behind the last entry"));
    }
    Ok(Split { streams: to, head, rows: simple.finish() })
}

impl Streams {
    /// Adds a key. Returns whether it is another one.
    fn add_key(&mut self, key: &[u8], previous: &[u8]) -> bool {
        let shared = key.iter().zip(previous).take_while(|(left, right)| left == right).count();
        if key.len() == previous.len()
            && key.len() - shared <= 8
            && let (Some(this), Some(last)) = (key.last_chunk(), previous.last_chunk())
        {
            self.keys.push(0);
            put_uv(u64::from_be_bytes(*this).wrapping_sub(u64::from_be_bytes(*last)), &mut self.steps);
        } else {
            put_uv(shared as u64 + 1, &mut self.keys);
            put_uv((key.len() - shared) as u64, &mut self.keys);
            self.own.extend_from_slice(key.get(shared..).unwrap_or_default());
        }
        shared < key.len().max(previous.len())
    }

    /// Adds the fragment at the end of `reader`. `stamp`, relative to `base`, becomes its own.
    fn add_fragment(
        &mut self,
        reader: &mut Reader<'_>,
        behind_key: usize,
        (stamp, base): (&mut i64, i64),
        names: &Names,
    ) -> Decoded<SimpleRow> {
        self.shape.clear();
        let head = reader.u8()?;
        self.shape.push(head);
        let before = std::mem::replace(stamp, reader.sv_here()?);
        put_sv(stamp.wrapping_sub(before), &mut self.stamps);
        let at = base.wrapping_add(*stamp);
        let (marked, mut oldest) = (head & HAS_MARKER != 0, at);
        if marked {
            let marker = reader.sv_here()?;
            put_sv(marker, &mut self.markers);
            oldest = oldest.min(at.wrapping_add(marker));
        }
        let (before_cells, mut cells, mut texts) = (reader.at() - behind_key, 0, 0);
        while !reader.is_empty() {
            let name = reader.uv32()?;
            let bits = reader.u8()?;
            put_uv(name.into(), &mut self.shape);
            self.shape.push(bits);
            cells += 1;
            if bits & OWN_VERSION != 0 {
                let own = reader.sv_here()?;
                put_sv(own, &mut self.versions);
                oldest = oldest.min(at.wrapping_add(own));
            }
            if has_value(bits & TAG) {
                let column = self.column(name, bits & TAG, names).ok_or(reader.damage("an unknown column number"))?;
                texts += column.read(reader)?;
            }
        }
        let fixed = self.add_shape(cells, names);
        Ok(SimpleRow { fixed, texts, before_cells, oldest, marked, is_next: true, seqno: 0 })
    }

    #[inline]
    fn column(&mut self, name: u32, tag: u8, names: &Names) -> Option<&mut Values> {
        let (number, new) = self.numbers.of(name, tag, names)?;
        if new {
            self.columns.push(Values::new(tag));
        }
        self.columns.get_mut(number as usize)
    }

    /// Adds the shape of a row. Returns its [`fixed_bytes`].
    fn add_shape(&mut self, cells: u64, names: &Names) -> Option<u32> {
        let is = |(known, _): &(Box<[u8]>, _)| **known == *self.shape;
        if !self.known.get(self.last_shape).is_some_and(is) {
            self.last_shape = self.known.iter().position(is).unwrap_or(self.known.len());
        }
        put_uv(self.last_shape as u64, &mut self.rows);
        if let Some((_, fixed)) = self.known.get(self.last_shape) {
            return *fixed;
        }
        let (head, named) = self.shape.split_first()?;
        let fixed = fixed_bytes(*head, named, names);
        self.shapes.push(*head);
        put_uv(cells, &mut self.shapes);
        self.shapes.extend_from_slice(named);
        if self.known.len() < SHAPES {
            self.known.push((self.shape.as_slice().into(), fixed));
        }
        fixed
    }
}
