//! The values of one column and type.
//!
//! | form | values |
//! |---|---|
//! | 0 | integers: sv |
//! | 1 | integers: sv, the difference from the one before |
//! | 2 | doubles: all highest bytes, then all second ones, to the lowest |
//! | 3 | doubles that are integers divided by a power of ten: its exponent, 1 byte, then a form of integers |
//! | 4 | texts and binaries without a byte 00, each with one behind it |
//! | 5 | texts and binaries: two streams, the lengths as uv and the bytes |
//! | 6 | uv number of different values · these in a form above or below · a stream: their codes, then the code of each value |
//! | 8, 9 | forms 0 and 1, packed: sv least · uv divisor · u8 width · the excess of each over the least, divided, in bits |

use super::bits::{BitReader, BitWriter};
use super::huffman::{Decoder, Encoder};
use super::stream::Share;
use super::{Form, stream};
use crate::format::wire::here::{put_sv, put_uv};
use crate::format::wire::{Damage, Decoded, Reader};
use crate::model::tags as tag;
use std::borrow::Cow;

const INTEGERS: u8 = 0;
const DIFFERENCES: u8 = 1;
const PLANES: u8 = 2;
const DECIMALS: u8 = 3;
const TERMINATED: u8 = 4;
const LENGTHS: u8 = 5;
/// Added to the forms of integers: they are packed into bits.
const PACKED: u8 = 8;

/// A list of the different values, and the place of each value in it.
const LISTED: u8 = 6;
/// The most values of a list: each has a code.
const MOST_LISTED: usize = 2048;

const ENDED: Damage = Damage { what: "a column has too few values", at: 0 };

/// Powers that may turn doubles into integers: human-written values have few decimals.
const POWERS: [f64; 8] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7];
/// Integers are exact in doubles up to here, and a little beyond.
const EXACT: f64 = 4.0e15;

/// Collects the values of a column for its streams. Texts are places in the block's payload.
#[derive(Debug)]
pub(super) struct Values {
    tag: u8,
    numbers: Vec<u64>,
    texts: Vec<(u32, u32)>,
}

impl Values {
    /// No values of the type with this tag.
    pub(super) fn new(tag: u8) -> Self {
        Self { tag, numbers: Vec::new(), texts: Vec::new() }
    }

    /// Adds the next value of `reader`, which reads `payload` from its start. Returns the length of a text.
    #[inline]
    pub(super) fn read(&mut self, reader: &mut Reader<'_>) -> Decoded<usize> {
        match self.tag {
            tag::INTEGER => self.numbers.push(reader.sv()?.cast_unsigned()),
            tag::DOUBLE => self.numbers.push(reader.u64()?),
            _ => {
                let length = reader.bytes()?.len();
                self.texts.push(((reader.at() - length) as u32, length as u32));
                return Ok(length);
            }
        }
        Ok(0)
    }

    /// Appends the column. Returns the length of its streams before compression. In the dense form it becomes a list of
    /// different values if that is shorter.
    pub(super) fn put(&self, payload: &[u8], form: Form, out: &mut Vec<u8>) -> usize {
        let listed = (form == Form::Dense).then(|| self.put_dense(payload, out)).flatten();
        listed.unwrap_or_else(|| self.put_all(payload, form, false, out))
    }

    /// The same in the dense form, if a list may be shorter. A gate of [`Module::Dense`](crate::modules::Module::Dense).
    #[inline(never)]
    fn put_dense(&self, payload: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        let list = self.different(payload)?;
        let start = out.len();
        out.push(LISTED);
        put_uv(list.different.len() as u64, out);
        let listed_size = list.different.put_all(payload, Form::Dense, false, out) + list.which.len();
        stream::put_raw(&list.which, out);
        if !list.predictable {
            return Some(listed_size);
        }
        let mut all = Vec::new();
        let size = self.put_all(payload, Form::Dense, true, &mut all);
        if out.len() - start < all.len() {
            return Some(listed_size);
        }
        out.truncate(start);
        out.extend_from_slice(&all);
        Some(size)
    }

    fn len(&self) -> usize {
        self.numbers.len() + self.texts.len()
    }

    /// The identity of a value: equal values have the same.
    fn word(&self, at: usize, payload: &[u8]) -> u64 {
        let text = || self.text(at, payload).map_or(0, xxhash_rust::xxh3::xxh3_64);
        self.numbers.get(at).copied().unwrap_or_else(text)
    }

    fn text<'p>(&self, at: usize, payload: &'p [u8]) -> Option<&'p [u8]> {
        let &(start, length) = self.texts.get(at)?;
        payload.get(start as usize..(start + length) as usize)
    }

    /// The different values in the order of their first use, and the place of each value as codes; nothing if most values
    /// are different.
    fn different(&self, payload: &[u8]) -> Option<List> {
        let mut different = Self::new(self.tag);
        // One more than the number of the value whose word belongs here or before; 0 for none.
        let mut places = vec![0u32; MOST_LISTED * 4];
        let mut counts = Vec::new();
        let mut which = Vec::with_capacity(self.len());
        for at in 0..self.len() {
            let word = self.word(at, payload);
            let mut place = (word.wrapping_mul(0x9E37_79B1_85EB_CA87) >> 40) as usize;
            let number = loop {
                let slot = places.get_mut(place % (MOST_LISTED * 4))?;
                let Some(number) = slot.checked_sub(1) else {
                    if counts.len() == MOST_LISTED {
                        return None;
                    }
                    different.numbers.extend(self.numbers.get(at));
                    different.texts.extend(self.texts.get(at));
                    counts.push(0);
                    *slot = counts.len() as u32;
                    break counts.len() - 1;
                };
                let number = number as usize;
                let equal = different.numbers.get(number) == self.numbers.get(at)
                    && different.text(number, payload) == self.text(at, payload);
                if equal {
                    break number;
                }
                place += 1;
            };
            *counts.get_mut(number)? += 1;
            which.push(number);
        }
        if counts.len() * 2 > which.len() {
            return None;
        }
        // The value that followed each value last time; at first the value itself, as in a run.
        let mut after: Vec<usize> = (0..counts.len()).collect();
        let mut expected = 0;
        for pair in which.windows(2) {
            if let &[before, number] = pair
                && let Some(slot) = after.get_mut(before)
            {
                expected += usize::from(number == before || number == *slot);
                *slot = number;
            }
        }
        let mut stored = Vec::new();
        let mut bits = BitWriter::new(&mut stored);
        let codes = Encoder::new(&counts, &mut bits);
        which.iter().for_each(|&number| codes.put(number, &mut bits));
        bits.finish();
        Some(List { different, which: stored, predictable: expected * 2 > which.len() })
    }

    /// Appends the values one by one. `again`: parts of the sequence repeat.
    pub(super) fn put_all(&self, payload: &[u8], form: Form, again: bool, out: &mut Vec<u8>) -> usize {
        let mut plain = Vec::new();
        match self.tag {
            tag::INTEGER => return put_integers(&self.numbers, form, again, out),
            tag::DOUBLE => {
                if let Some((exponent, numbers)) = decimals(&self.numbers) {
                    out.extend_from_slice(&[DECIMALS, exponent]);
                    return put_integers(&numbers, form, again, out);
                }
                out.push(PLANES);
                for plane in (0..8).rev() {
                    plain.extend(self.numbers.iter().map(|bits| (bits >> (8 * plane)) as u8));
                }
            }
            _ => {
                let of = |&(start, length): &(u32, u32)| payload.get(start as usize..(start + length) as usize);
                let texts = || self.texts.iter().filter_map(of);
                for text in texts() {
                    plain.extend_from_slice(text);
                    plain.push(0);
                }
                // Exactly one for each text.
                if plain.iter().filter(|&&byte| byte == 0).count() == self.texts.len() {
                    out.push(TERMINATED);
                } else {
                    out.push(LENGTHS);
                    let mut lengths = Vec::new();
                    texts().for_each(|text| put_uv(text.len() as u64, &mut lengths));
                    stream::put(&lengths, form, out);
                    plain.clear();
                    texts().for_each(|text| plain.extend_from_slice(text));
                    stream::put(&plain, form, out);
                    return lengths.len() + plain.len();
                }
            }
        }
        stream::put(&plain, form, out);
        plain.len()
    }
}

/// A column as a list of its different values.
struct List {
    different: Values,
    /// The places of the values, as codes.
    which: Vec<u8>,
    /// Most values equal the one before, or the one that followed it last time. If not, repetitions are longer than
    /// codes.
    predictable: bool,
}

/// The doubles as integers divided by a power of ten, if that is exact for all; with the exponent.
fn decimals(bits: &[u64]) -> Option<(u8, Vec<u64>)> {
    (0..).zip(POWERS).find_map(|(exponent, power)| {
        let integer = |&bits: &u64| {
            let scaled = (f64::from_bits(bits) * power).round_ties_even();
            let exact = scaled.abs() < EXACT && ((scaled as i64) as f64 / power).to_bits() == bits;
            exact.then_some((scaled as i64).cast_unsigned())
        };
        Some((exponent, bits.iter().map(integer).collect::<Option<_>>()?))
    })
}

/// The bytes of an sv.
fn size(value: u64) -> u32 {
    let zigzag = (value << 1) ^ (value.cast_signed() >> 63).cast_unsigned();
    (70 - (zigzag | 1).leading_zeros()) / 7
}

/// Appends integers. Differences are stored only if they are clearly shorter: equal values stay visibly equal without
/// them. In the dense form, integers are packed if that is shorter.
fn put_integers(numbers: &[u64], form: Form, again: bool, out: &mut Vec<u8>) -> usize {
    let mut last = 0u64;
    let differences: Vec<u64> =
        numbers.iter().map(|&number| number.wrapping_sub(std::mem::replace(&mut last, number))).collect();
    let bytes = |numbers: &[u64]| numbers.iter().map(|&number| size(number)).sum::<u32>();
    let (whole, steps) = (bytes(numbers), bytes(&differences));
    let (differ, numbers) =
        if steps + steps / 4 < whole { (DIFFERENCES, &differences[..]) } else { (INTEGERS, numbers) };
    let mut plain = Vec::new();
    numbers.iter().for_each(|number| put_sv(number.cast_signed(), &mut plain));
    if form == Form::Dense {
        return put_dense_integers(numbers, differ, &plain, again, out);
    }
    out.push(differ);
    stream::put(&plain, form, out);
    plain.len()
}

/// Appends integers in the dense form; `plain` are the same ones, one after another. A gate of
/// [`Module::Dense`](crate::modules::Module::Dense).
#[inline(never)]
fn put_dense_integers(numbers: &[u64], differ: u8, plain: &[u8], again: bool, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.push(differ + PACKED);
    let mut packed = Vec::new();
    pack(numbers, &mut packed);
    stream::put_raw(&packed, out);
    // Codes are shorter only if values repeat.
    let runs = numbers.windows(2).filter(|pair| pair.first() == pair.last()).count() * 2 > numbers.len();
    if !again && !runs && packed.len() <= least(plain) {
        return packed.len();
    }
    let mut coded = vec![differ];
    stream::put(plain, Form::Dense, &mut coded);
    if out.len() - start < coded.len() {
        return packed.len();
    }
    out.truncate(start);
    out.extend_from_slice(&coded);
    plain.len()
}

/// The least bytes of codes for these bytes, if nothing repeats.
fn least(bytes: &[u8]) -> usize {
    let mut counts = [0u32; 256];
    for &byte in bytes {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    // Logarithms times 64, linear between powers of two.
    let log = |count: u32| (count.ilog2() * 64) + ((u64::from(count) << 6 >> count.ilog2()) as u32 - 64);
    let all = u64::from(log(bytes.len().max(1) as u32));
    let bits: u64 =
        counts.iter().filter(|&&count| count > 0).map(|&count| u64::from(count) * (all - u64::from(log(count)))).sum();
    (bits / 512) as usize
}

/// Appends numbers in the bits of the largest one, after subtracting the least and dividing by the common divisor.
fn pack(numbers: &[u64], out: &mut Vec<u8>) {
    let least = numbers.iter().map(|number| number.cast_signed()).min().unwrap_or(0).cast_unsigned();
    let (mut divisor, mut most) = (0, 0);
    for number in numbers {
        let mut rest = number.wrapping_sub(least);
        most = most.max(rest);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
    }
    let divisor = divisor.max(1);
    let width = 64 - (most / divisor).leading_zeros();
    put_sv(least.cast_signed(), out);
    put_uv(divisor, out);
    out.push(width as u8);
    let mut bits = BitWriter::new(out);
    for number in numbers {
        let number = number.wrapping_sub(least) / divisor;
        bits.put(number as u32, width.min(32));
        bits.put((number >> 32) as u32, width.saturating_sub(32));
    }
    bits.finish();
}

/// A stored column with decompressed streams.
pub(super) struct Stored<'a> {
    /// The number of listed values, and the order of their use.
    listed: Option<(usize, Cow<'a, [u8]>)>,
    form: u8,
    exponent: Option<u8>,
    first: Cow<'a, [u8]>,
    second: Cow<'a, [u8]>,
}

impl<'a> Stored<'a> {
    /// Reads a column, or the first values of it; its streams use up their part of the budget.
    pub(super) fn take(reader: &mut Reader<'a>, budget: &mut usize, share: Share) -> Decoded<Self> {
        let (mut form, mut listed, mut exponent) = (reader.u8()?, None, None);
        if form == LISTED {
            listed = Some(reader.uv32()? as usize);
            form = reader.u8()?;
        }
        if form == DECIMALS {
            exponent = Some(reader.u8()?);
            form = reader.u8()?;
            if form & !PACKED > DIFFERENCES {
                return Err(reader.damage("decimals of an unknown form"));
            }
        }
        // Each value is in all planes, and any value may be the last one of a list.
        let share = if form == PLANES || listed.is_some() { Share::ALL } else { share };
        let first = stream::take(reader, budget, share)?;
        let second = if form == LENGTHS { stream::take(reader, budget, share)? } else { Cow::default() };
        let listed = match listed {
            Some(count) if !(1..=MOST_LISTED).contains(&count) => {
                return Err(reader.damage("none or too many values are listed"));
            }
            Some(count) => Some((count, stream::take(reader, budget, Share::ALL)?)),
            None => None,
        };
        Ok(Self { listed, form, exponent, first, second })
    }

    /// Its values, from the first one on.
    pub(super) fn values(&self) -> Decoded<Column<'_>> {
        let column = self.column()?;
        let Some((count, which)) = &self.listed else { return Ok(column) };
        let mut which = BitReader::new(which);
        Ok(Column::Listed(Listed::new(column, *count)?, Decoder::read(*count, &mut which)?, which))
    }

    /// The values that are stored one by one.
    fn column(&self) -> Decoded<Column<'_>> {
        let unknown = Damage { what: "a column of an unknown form", at: 0 };
        Ok(match (self.form, self.exponent) {
            (PLANES, None) => {
                let mut rest = &self.first[..];
                let mut planes = [&[][..]; 8];
                for plane in &mut planes {
                    (*plane, rest) = rest.split_at_checked(self.first.len() / 8).unwrap_or_default();
                }
                Column::Planes(planes, 0)
            }
            (TERMINATED, None) => Column::Terminated(&self.first),
            (LENGTHS, None) => Column::Lengths(Reader::new(&self.first), Reader::new(&self.second)),
            (form, exponent) if form & !PACKED <= DIFFERENCES => {
                let numbers = Numbers::new(form, &self.first)?;
                match exponent {
                    None => Column::Integers(numbers),
                    Some(exponent) => Column::Decimals(numbers, *POWERS.get(usize::from(exponent)).ok_or(unknown)?),
                }
            }
            _ => return Err(unknown),
        })
    }
}

/// A reader of a column's values.
pub(super) enum Column<'a> {
    Integers(Numbers<'a>),
    Decimals(Numbers<'a>, f64),
    Planes([&'a [u8]; 8], usize),
    Terminated(&'a [u8]),
    Lengths(Reader<'a>, Reader<'a>),
    Listed(Listed, Decoder, BitReader<'a>),
}

/// Repeated values in the form of fragments.
pub(super) struct Listed {
    /// Their type; a text's may also be binary.
    tag: u8,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Listed {
    fn new(mut column: Column<'_>, count: usize) -> Decoded<Self> {
        let tag = match &column {
            Column::Integers(_) => tag::INTEGER,
            Column::Decimals(..) | Column::Planes(..) => tag::DOUBLE,
            _ => tag::STRING,
        };
        let (mut bytes, mut ends) = (Vec::new(), vec![0]);
        for _ in 0..count {
            column.put_next(tag, &mut bytes)?;
            ends.push(bytes.len());
        }
        Ok(Self { tag, bytes, ends })
    }

    #[inline]
    fn get(&self, number: usize) -> &[u8] {
        let place = |at: usize| self.ends.get(at).copied();
        place(number).zip(place(number + 1)).and_then(|(start, end)| self.bytes.get(start..end)).unwrap_or_default()
    }
}

/// A reader of integers.
pub(super) struct Numbers<'a> {
    values: Source<'a>,
    differences: bool,
    last: i64,
}

enum Source<'a> {
    Varints(Reader<'a>),
    Packed { bits: BitReader<'a>, width: u32, least: i64, divisor: u64 },
}

impl<'a> Numbers<'a> {
    fn new(form: u8, stream: &'a [u8]) -> Decoded<Self> {
        let mut reader = Reader::new(stream);
        let values = if form & PACKED == 0 {
            Source::Varints(reader)
        } else {
            let (least, divisor, width) = (reader.sv()?, reader.uv()?, u32::from(reader.u8()?));
            if width > 64 {
                return Err(reader.damage("numbers of more than 64 bits"));
            }
            Source::Packed { bits: BitReader::new(reader.rest()), width, least, divisor }
        };
        Ok(Self { values, differences: form & DIFFERENCES != 0, last: 0 })
    }

    #[inline]
    fn next(&mut self) -> Decoded<i64> {
        let value = match &mut self.values {
            Source::Varints(reader) => reader.sv()?,
            Source::Packed { bits, width, least, divisor } => {
                let low = u64::from(bits.take((*width).min(32))?);
                let high = u64::from(bits.take(width.saturating_sub(32))?);
                least.wrapping_add((high << 32 | low).wrapping_mul(*divisor).cast_signed())
            }
        };
        if !self.differences {
            return Ok(value);
        }
        self.last = self.last.wrapping_add(value);
        Ok(self.last)
    }
}

impl Column<'_> {
    /// Its memory beside its streams.
    pub(super) fn memory(&self) -> usize {
        match self {
            Self::Listed(listed, codes, _) => listed.bytes.len() + size_of_val(listed.ends.as_slice()) + codes.memory(),
            _ => 0,
        }
    }

    /// Passes over the next values.
    pub(super) fn pass(&mut self, count: usize) -> Decoded<()> {
        for _ in 0..count {
            match self {
                Self::Integers(numbers) | Self::Decimals(numbers, _) => drop(numbers.next()?),
                Self::Terminated(rest) => {
                    let length = zero(rest).ok_or(ENDED)?;
                    *rest = rest.get(length + 1..).unwrap_or_default();
                }
                Self::Lengths(lengths, bytes) => drop(bytes.take(lengths.uv32()? as usize)?),
                Self::Listed(_, codes, which) => drop(codes.next(which)?),
                Self::Planes(_, at) => *at += 1,
            }
        }
        Ok(())
    }

    /// Appends the next value in the form of fragments. It must have the type of this tag.
    #[inline]
    pub(super) fn put_next(&mut self, of: u8, out: &mut Vec<u8>) -> Decoded<()> {
        match (self, of) {
            (Self::Integers(numbers), tag::INTEGER) => put_sv(numbers.next()?, out),
            (Self::Decimals(numbers, power), tag::DOUBLE) => {
                out.extend_from_slice(&(numbers.next()? as f64 / *power).to_le_bytes());
            }
            (Self::Planes(planes, at), tag::DOUBLE) => {
                let mut bits = 0;
                for plane in planes {
                    bits = bits << 8 | u64::from(*plane.get(*at).ok_or(ENDED)?);
                }
                *at += 1;
                out.extend_from_slice(&bits.to_le_bytes());
            }
            (Self::Terminated(rest), tag::STRING | tag::BINARY) => {
                let length = zero(rest).ok_or(ENDED)?;
                put_uv(length as u64, out);
                let (text, behind) = rest.split_at_checked(length).ok_or(ENDED)?;
                out.extend_from_slice(text);
                *rest = behind.get(1..).unwrap_or_default();
            }
            (Self::Lengths(lengths, bytes), tag::STRING | tag::BINARY) => {
                let length = lengths.uv()?;
                put_uv(length, out);
                out.extend_from_slice(bytes.take(usize::try_from(length).map_err(|_| ENDED)?)?);
            }
            (Self::Listed(listed, codes, which), of)
                if listed.tag == of || listed.tag == tag::STRING && of == tag::BINARY =>
            {
                out.extend_from_slice(listed.get(codes.next(which)?));
            }
            _ => return Err(Damage { what: "a column of another type", at: 0 }),
        }
        Ok(())
    }
}

/// The place of the first byte 00. Eight bytes at a time: most stored data is text.
#[inline]
fn zero(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut rest = bytes;
    while let Some((chunk, behind)) = rest.split_first_chunk() {
        let word = u64::from_le_bytes(*chunk);
        // The lowest bit that is set belongs to the first zero byte.
        let zeros = word.wrapping_sub(ONES) & !word & (ONES << 7);
        if zeros != 0 {
            return Some(bytes.len() - rest.len() + (zeros.trailing_zeros() / 8) as usize);
        }
        rest = behind;
    }
    rest.iter().position(|&byte| byte == 0).map(|at| bytes.len() - rest.len() + at)
}
