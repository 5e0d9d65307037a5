//! The dense form of a stream: repetitions as length and distance, everything in Huffman codes.
//!
//! ```text
//! lengths of the codes of 320 symbols: 256 bytes, then slots of lengths; and of 64 slots of distances
//! symbols: a byte; or a slot of (length - 4), the rest of it, a slot of the distance, the rest of it
//! ```
//!
//! A number below 8 is its own slot. The slot of a larger number names its two highest bits; the rest follows. Distance 0
//! repeats the distance of the repetition before.

use super::bits::{BitReader, BitWriter};
use super::huffman::{Decoder, Encoder};
use crate::format::lz4::{LEAST, LITERALS, common, load, repeat};
use crate::format::wire::{Damage, Decoded};

const SYMBOLS: usize = 256 + 64;
const DISTANCES: usize = 64;
/// The number of different hashes of places, as a power of two.
const MOST_BITS: u32 = 15;
const LEAST_BITS: u32 = 6;
/// The number of places with the same hash to check, the last ones.
const TRIES: usize = 2;
/// No repetition starts in the last bytes.
const NO_START: usize = 8;
/// Approximate costs in bits: of a byte, of a repetition with the distance of the one before, and of another without its
/// distance.
const LITERAL: i32 = 4;
const AGAIN: i32 = 6;
const FAR: i32 = 8;

/// The slot of a number, and the number of its bits outside the slot.
fn slot(number: usize) -> (usize, u32) {
    match number.checked_ilog2() {
        Some(log @ 3..) => (2 + 2 * log as usize + (number >> (log - 1) & 1), log - 1),
        _ => (number, 0),
    }
}

/// The number whose slot was read.
fn number(slot: usize, bits: &mut BitReader<'_>) -> Decoded<usize> {
    if slot < 8 {
        return Ok(slot);
    }
    // 31 bits at most: a slot is below 64.
    let rest = (slot / 2 - 2) as u32;
    Ok((2 + (slot & 1)) << rest | bits.take(rest)? as usize)
}

/// The bits saved by a repetition of `length` bytes from `distance` back. `again`: the repetition before had that
/// distance.
fn gain(distance: usize, length: usize, again: bool) -> i32 {
    let cost = if again { AGAIN } else { FAR + distance.ilog2() as i32 };
    if length < LEAST { 0 } else { length as i32 * LITERAL - cost }
}

/// Finds earlier places of the same bytes.
struct Finder<'a> {
    input: &'a [u8],
    bits: u32,
    /// The last place with each hash, and for each place the one before it with the same hash; one more than the place, 0
    /// for none.
    heads: Vec<u32>,
    before: Vec<u32>,
    /// The number of known places.
    known: usize,
}

impl<'a> Finder<'a> {
    fn new(input: &'a [u8]) -> Self {
        let bits = (usize::BITS - input.len().leading_zeros()).clamp(LEAST_BITS, MOST_BITS);
        Self { input, bits, heads: vec![0; 1 << bits], before: vec![0; input.len()], known: 0 }
    }

    /// The best repetition at a place: its saving, distance and length. `last`: the distance of the repetition before.
    fn best(&mut self, at: usize, last: usize) -> (i32, usize, usize) {
        while self.known <= at {
            let hash = (load(self.input, self.known) & 0xFFFF_FFFF).wrapping_mul(0x9E37_79B1_85EB_CA87);
            if let (Some(head), Some(slot)) =
                (self.heads.get_mut((hash >> (64 - self.bits)) as usize), self.before.get_mut(self.known))
            {
                *slot = std::mem::replace(head, self.known as u32 + 1);
            }
            self.known += 1;
        }
        let mut best = (0, 0, 0);
        let mut consider = |from: usize, again: bool| {
            // Only a longer one is better.
            if self.input.get(from + best.2) != self.input.get(at + best.2) {
                return;
            }
            let length = common(self.input, at, from, self.input.len());
            let saved = gain(at - from, length, again);
            if saved > best.0 {
                best = (saved, at - from, length);
            }
        };
        if last > 0 && last <= at {
            consider(at - last, true);
        }
        let before = |at: usize| self.before.get(at).and_then(|&next| (next as usize).checked_sub(1));
        let mut next = before(at);
        for _ in 0..TRIES {
            let Some(from) = next else { break };
            consider(from, false);
            next = before(from);
        }
        best
    }
}

/// Tells `found` of literals, each with the distance and length of the repetition behind it; the last ones have none.
fn repetitions(input: &[u8], mut found: impl FnMut(&[u8], usize, usize)) {
    let mut finder = Finder::new(input);
    let limit = input.len().saturating_sub(NO_START);
    let (mut at, mut anchor, mut last) = (0, 0, 0);
    while at < limit {
        let (saved, distance, length) = finder.best(at, last);
        if saved > 0 {
            found(input.get(anchor..at).unwrap_or_default(), distance, length);
            (at, last) = (at + length, distance);
            anchor = at;
        } else {
            at += 1;
        }
    }
    found(input.get(anchor..).unwrap_or_default(), 0, 0);
}

/// Appends the stream.
/// A gate of [`Module::Dense`](crate::modules::Module::Dense).
#[inline(never)]
pub(super) fn compress(input: &[u8], out: &mut Vec<u8>) {
    let (mut symbols, mut distances) = ([0u32; SYMBOLS], [0u32; DISTANCES]);
    let count = |counts: &mut [u32], symbol: usize| {
        if let Some(count) = counts.get_mut(symbol) {
            *count += 1;
        }
    };
    // All literals first, then the repetition.
    let mut found: Vec<(u32, u32, u32)> = Vec::new();
    let mut last = 0;
    repetitions(input, |literals, mut distance, length| {
        literals.iter().for_each(|&byte| count(&mut symbols, byte.into()));
        if length > 0 {
            if distance == last {
                distance = 0;
            } else {
                last = distance;
            }
            count(&mut symbols, 256 + slot(length - LEAST).0);
            count(&mut distances, slot(distance).0);
        }
        found.push((literals.len() as u32, distance as u32, length as u32));
    });
    let mut bits = BitWriter::new(out);
    let symbols = Encoder::new(&symbols, &mut bits);
    let distances = Encoder::new(&distances, &mut bits);
    let put = |codes: &Encoder, base: usize, number: usize, bits: &mut BitWriter<'_>| {
        let (slot, rest) = slot(number);
        codes.put(base + slot, bits);
        bits.put(number as u32 & ((1 << rest) - 1), rest);
    };
    let mut at = 0;
    for (literals, distance, length) in found {
        let literals = literals as usize;
        for &byte in input.get(at..at + literals).unwrap_or_default() {
            symbols.put(byte.into(), &mut bits);
        }
        at += literals + length as usize;
        if length > 0 {
            put(&symbols, 256, length as usize - LEAST, &mut bits);
            put(&distances, 0, distance as usize, &mut bits);
        }
    }
    bits.finish();
}

/// The stream of `raw` bytes from its stored form; at least its first `wanted` bytes.
pub(super) fn decompress(stored: &[u8], raw: usize, wanted: usize) -> Decoded<Vec<u8>> {
    let mut bits = BitReader::new(stored);
    let symbols = Decoder::read(SYMBOLS, &mut bits)?;
    let distances = Decoder::read(DISTANCES, &mut bits)?;
    let mut out = vec![0; raw + LITERALS];
    let (mut at, mut last) = (0, 0);
    while at < wanted {
        let symbol = symbols.next(&mut bits)?;
        let Some(length) = symbol.checked_sub(256) else {
            if let Some(byte) = out.get_mut(at) {
                *byte = symbol as u8;
            }
            at += 1;
            continue;
        };
        let length = LEAST + number(length, &mut bits)?;
        let distance = number(distances.next(&mut bits)?, &mut bits)?;
        if distance > 0 {
            last = distance;
        }
        if last == 0 || last > at || length > raw - at {
            return Err(Damage { what: "a repetition from before the start", at });
        }
        repeat(last, length, at, &mut out);
        at += length;
    }
    out.truncate(at);
    Ok(out)
}
