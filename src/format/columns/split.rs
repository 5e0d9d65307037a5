//! Splits a block's payload into columns.

use super::column::Values;
use super::{ColumnNumbers, Form, SHAPES, has_value, most, stream};
use crate::format::fragment::{HAS_MARKER, OWN_VERSION, TAG};
use crate::format::names::Names;
use crate::format::wire::here::{put_sv, put_uv};
use crate::format::wire::{Decoded, Reader, put_bytes};

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
    /// The shapes with numbers, and that of the row before.
    known: Vec<Box<[u8]>>,
    last_shape: usize,
    shape: Vec<u8>,
}

/// The payload in its stored form; nothing if [`super::join()`] could not rebuild it.
#[must_use]
pub fn split(payload: &[u8], form: Form) -> Option<Vec<u8>> {
    let (streams, head) = read(payload).ok()?;
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
    (size <= most(payload.len())).then_some(out)
}

/// Reads a payload. Returns the start of its entries.
fn read(payload: &[u8]) -> Decoded<(Streams, usize)> {
    let mut reader = Reader::new(payload);
    let mut to = Streams::default();
    reader.sv_here()?;
    reader.uv()?;
    let count = reader.uv32()?;
    if reader.clone().uv32()? > COLUMNS {
        return Err(reader.damage("too many columns to split"));
    }
    let names = Names::decode(&mut reader)?;
    let head = reader.at();
    let (mut previous, mut seqno, mut stamp): (&[u8], _, _) = (&[], 0i64, 0i64);
    for _ in 0..count {
        let key = reader.bytes()?;
        to.add_key(key, previous);
        previous = key;
        let next = reader.sv_here()?;
        put_sv(next.wrapping_sub(seqno), &mut to.seqnos);
        seqno = next;
        let length = reader.bytes()?.len();
        // A reader that ends with the fragment and keeps its place in the payload.
        let within = payload.get(..reader.at()).unwrap_or_default();
        let mut fragment = Reader::new_at(within, reader.at() - length);
        let next = to.add_fragment(&mut fragment, stamp, &names)?;
        stamp = next;
    }
    if !reader.is_empty() {
        return Err(reader.damage("bytes behind the last entry"));
    }
    Ok((to, head))
}

impl Streams {
    fn add_key(&mut self, key: &[u8], previous: &[u8]) {
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
    }

    /// Adds the fragment at the end of `reader`. Returns its stamp.
    fn add_fragment(&mut self, reader: &mut Reader<'_>, before: i64, names: &Names) -> Decoded<i64> {
        self.shape.clear();
        let head = reader.u8()?;
        self.shape.push(head);
        let stamp = reader.sv_here()?;
        put_sv(stamp.wrapping_sub(before), &mut self.stamps);
        if head & HAS_MARKER != 0 {
            put_sv(reader.sv_here()?, &mut self.markers);
        }
        let mut cells = 0;
        while !reader.is_empty() {
            let name = reader.uv32()?;
            let bits = reader.u8()?;
            put_uv(name.into(), &mut self.shape);
            self.shape.push(bits);
            cells += 1;
            if bits & OWN_VERSION != 0 {
                put_sv(reader.sv_here()?, &mut self.versions);
            }
            if has_value(bits & TAG) {
                self.column(name, bits & TAG, names).ok_or(reader.damage("an unknown column number"))?.read(reader)?;
            }
        }
        self.add_shape(cells);
        Ok(stamp)
    }

    #[inline]
    fn column(&mut self, name: u32, tag: u8, names: &Names) -> Option<&mut Values> {
        let (number, new) = self.numbers.of(name, tag, names)?;
        if new {
            self.columns.push(Values::new(tag));
        }
        self.columns.get_mut(number as usize)
    }

    fn add_shape(&mut self, cells: u64) {
        let is = |known: &[u8]| known == self.shape;
        if !self.known.get(self.last_shape).is_some_and(|known| is(known)) {
            self.last_shape = self.known.iter().position(|known| is(known)).unwrap_or(self.known.len());
        }
        put_uv(self.last_shape as u64, &mut self.rows);
        if self.last_shape == self.known.len() {
            if let Some((head, named)) = self.shape.split_first() {
                self.shapes.push(*head);
                put_uv(cells, &mut self.shapes);
                self.shapes.extend_from_slice(named);
            }
            if self.known.len() < SHAPES {
                self.known.push(self.shape.as_slice().into());
            }
        }
    }
}
