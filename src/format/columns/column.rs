//! The values of one column and type.
//!
//! | form | values |
//! |---|---|
//! | 0 | integers: sv |
//! | 1 | integers: sv, the difference to the one before |
//! | 2 | doubles: all highest bytes, then all second ones, to the lowest |
//! | 3 | doubles that are integers divided by a power of ten: its exponent, 1 byte, then form 0 or 1 |
//! | 4 | texts and binaries without a byte 00, each with one behind it |
//! | 5 | texts and binaries: two streams, the lengths as uv and the bytes |

use super::stream;
use crate::format::wire::{Damage, Decoded, Reader, put_sv, put_uv, tag};
use std::borrow::Cow;

const INTEGERS: u8 = 0;
const DIFFERENCES: u8 = 1;
const PLANES: u8 = 2;
const DECIMALS: u8 = 3;
const TERMINATED: u8 = 4;
const LENGTHS: u8 = 5;

/// What doubles are multiplied with to make integers of them: values that people wrote have few decimals.
const POWERS: [f64; 8] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7];
/// Integers are exact in doubles up to here, and some.
const EXACT: f64 = 4.0e15;

/// The values of a column, on their way into a stream. Texts are places in the block's payload.
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

    /// Adds the value that `reader`, which reads `payload` from its start, has before it.
    #[inline]
    pub(super) fn read(&mut self, reader: &mut Reader<'_>) -> Decoded<()> {
        match self.tag {
            tag::INTEGER => self.numbers.push(reader.sv()?.cast_unsigned()),
            tag::DOUBLE => self.numbers.push(reader.u64()?),
            _ => {
                let length = reader.bytes()?.len();
                self.texts.push(((reader.at() - length) as u32, length as u32));
            }
        }
        Ok(())
    }

    /// Appends the column; tells how long its streams are before they are compressed.
    pub(super) fn put(&self, payload: &[u8], scratch: &mut Scratch, out: &mut Vec<u8>) -> usize {
        let Scratch { plain, packed } = scratch;
        let mut size = 0;
        plain.clear();
        let texts = || {
            let of = |&(start, length): &(u32, u32)| payload.get(start as usize..(start + length) as usize);
            self.texts.iter().filter_map(of)
        };
        match self.tag {
            tag::INTEGER => out.push(put_integers(&self.numbers, plain)),
            tag::DOUBLE => {
                if let Some((exponent, numbers)) = decimals(&self.numbers) {
                    out.extend_from_slice(&[DECIMALS, exponent]);
                    out.push(put_integers(&numbers, plain));
                } else {
                    out.push(PLANES);
                    for plane in (0..8).rev() {
                        plain.extend(self.numbers.iter().map(|bits| (bits >> (8 * plane)) as u8));
                    }
                }
            }
            _ => {
                for text in texts() {
                    plain.extend_from_slice(text);
                    plain.push(0);
                }
                // Exactly one for each text.
                if plain.iter().filter(|&&byte| byte == 0).count() == self.texts.len() {
                    out.push(TERMINATED);
                } else {
                    out.push(LENGTHS);
                    plain.clear();
                    texts().for_each(|text| put_uv(text.len() as u64, plain));
                    stream::put(plain, packed, out);
                    size = plain.len();
                    plain.clear();
                    texts().for_each(|text| plain.extend_from_slice(text));
                }
            }
        }
        stream::put(plain, packed, out);
        size + plain.len()
    }
}

/// Room that is used again and again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) plain: Vec<u8>,
    pub(super) packed: Vec<u8>,
}

/// The doubles as integers, if all are such, divided by a power of ten, exactly; with the exponent.
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

/// Writes integers in the form that is given, as they are unless differences are clearly shorter: equal values still
/// look alike.
fn put_integers(numbers: &[u64], out: &mut Vec<u8>) -> u8 {
    let (mut whole, mut steps, mut last) = (0, 0, 0u64);
    for &number in numbers {
        whole += size(number);
        steps += size(number.wrapping_sub(last));
        last = number;
    }
    let form = if steps + steps / 4 < whole { DIFFERENCES } else { INTEGERS };
    last = 0;
    for &number in numbers {
        put_sv(number.wrapping_sub(last).cast_signed(), out);
        if form == DIFFERENCES {
            last = number;
        }
    }
    form
}

/// A column as it is stored, its streams decompressed.
pub(super) struct Stored<'a> {
    form: u8,
    exponent: Option<u8>,
    first: Cow<'a, [u8]>,
    second: Cow<'a, [u8]>,
}

impl<'a> Stored<'a> {
    /// Reads a column; its streams take their part of the budget.
    pub(super) fn take(reader: &mut Reader<'a>, budget: &mut usize) -> Decoded<Self> {
        let (mut form, mut exponent) = (reader.u8()?, None);
        if form == DECIMALS {
            exponent = Some(reader.u8()?);
            form = reader.u8()?;
            if form > DIFFERENCES {
                return Err(reader.damage("decimals of an unknown form"));
            }
        }
        let first = stream::take(reader, budget)?;
        let second = if form == LENGTHS { stream::take(reader, budget)? } else { Cow::default() };
        Ok(Self { form, exponent, first, second })
    }

    /// Its values, from the first one on.
    pub(super) fn values(&self) -> Decoded<Column<'_>> {
        let unknown = Damage { what: "a column of an unknown form", at: 0 };
        let numbers = |differences| Numbers { reader: Reader::new(&self.first), differences, last: 0 };
        Ok(match (self.form, self.exponent) {
            (INTEGERS | DIFFERENCES, None) => Column::Integers(numbers(self.form == DIFFERENCES)),
            (INTEGERS | DIFFERENCES, Some(exponent)) => {
                let power = *POWERS.get(usize::from(exponent)).ok_or(unknown)?;
                Column::Decimals(numbers(self.form == DIFFERENCES), power)
            }
            (PLANES, _) => {
                let mut rest = &self.first[..];
                let mut planes = [&[][..]; 8];
                for plane in &mut planes {
                    (*plane, rest) = rest.split_at_checked(self.first.len() / 8).unwrap_or_default();
                }
                Column::Planes(planes, 0)
            }
            (TERMINATED, _) => Column::Terminated(&self.first),
            (LENGTHS, _) => Column::Lengths(Reader::new(&self.first), Reader::new(&self.second)),
            _ => return Err(unknown),
        })
    }
}

/// The values of a column, being read.
pub(super) enum Column<'a> {
    Integers(Numbers<'a>),
    Decimals(Numbers<'a>, f64),
    Planes([&'a [u8]; 8], usize),
    Terminated(&'a [u8]),
    Lengths(Reader<'a>, Reader<'a>),
}

/// Integers, being read.
pub(super) struct Numbers<'a> {
    reader: Reader<'a>,
    differences: bool,
    last: i64,
}

impl Numbers<'_> {
    #[inline]
    fn next(&mut self) -> Decoded<i64> {
        let value = self.reader.sv()?;
        if !self.differences {
            return Ok(value);
        }
        self.last = self.last.wrapping_add(value);
        Ok(self.last)
    }
}

impl Column<'_> {
    /// Appends the next value as fragments have it. It must be of the type with this tag.
    #[inline]
    pub(super) fn put_next(&mut self, of: u8, out: &mut Vec<u8>) -> Decoded<()> {
        let ended = Damage { what: "a column has too few values", at: 0 };
        match (self, of) {
            (Self::Integers(numbers), tag::INTEGER) => put_sv(numbers.next()?, out),
            (Self::Decimals(numbers, power), tag::DOUBLE) => {
                out.extend_from_slice(&(numbers.next()? as f64 / *power).to_le_bytes());
            }
            (Self::Planes(planes, at), tag::DOUBLE) => {
                let mut bits = 0;
                for plane in planes {
                    bits = bits << 8 | u64::from(*plane.get(*at).ok_or(ended)?);
                }
                *at += 1;
                out.extend_from_slice(&bits.to_le_bytes());
            }
            (Self::Terminated(rest), tag::STRING | tag::BINARY) => {
                let length = zero(rest).ok_or(ended)?;
                put_uv(length as u64, out);
                let (text, behind) = rest.split_at_checked(length).ok_or(ended)?;
                out.extend_from_slice(text);
                *rest = behind.get(1..).unwrap_or_default();
            }
            (Self::Lengths(lengths, bytes), tag::STRING | tag::BINARY) => {
                let length = lengths.uv()?;
                put_uv(length, out);
                out.extend_from_slice(bytes.take(usize::try_from(length).map_err(|_| ended)?)?);
            }
            _ => return Err(Damage { what: "a column of another type", at: 0 }),
        }
        Ok(())
    }
}

/// Where the first byte 00 is. Eight bytes at a time: texts are most of what is stored.
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
