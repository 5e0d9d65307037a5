//! A stream, small: repetitions are named by length and distance, and all of it in Huffman codes.
//!
//! ```text
//! lengths of the codes of 320 symbols: 256 bytes, then slots of lengths; and of 64 slots of distances
//! symbols: a byte; or a slot of (length - 4), the rest of it, a slot of the distance, the rest of it
//! ```
//!
//! A slot is a number below 8, or names the two highest bits of a larger one, whose rest follows. Distance 0 is that of
//! the repetition before.

use super::bits::{BitReader, BitWriter};
use super::huffman::{Decoder, Encoder};
use crate::format::lz4::{self, LEAST};
use crate::format::wire::{Damage, Decoded};

const SYMBOLS: usize = 256 + 64;
const DISTANCES: usize = 64;
/// Places that are remembered, as a power of two.
const BITS: u32 = 15;

/// The slot of a number, and how many bits of it are not named by the slot.
#[inline]
fn slot(number: usize) -> (usize, u32) {
    match number.checked_ilog2() {
        Some(log @ 3..) => (2 + 2 * log as usize + (number >> (log - 1) & 1), log - 1),
        _ => (number, 0),
    }
}

/// The number whose slot was read.
#[inline]
fn number(slot: usize, bits: &mut BitReader<'_>) -> Decoded<usize> {
    if slot < 8 {
        return Ok(slot);
    }
    // 31 bits at most: a slot is below 64.
    let rest = (slot / 2 - 2) as u32;
    Ok((2 + (slot & 1)) << rest | bits.take(rest)? as usize)
}

/// Appends the stream.
pub(super) fn compress(input: &[u8], out: &mut Vec<u8>) {
    let (mut symbols, mut distances) = ([0u32; SYMBOLS], [0u32; DISTANCES]);
    let count = |counts: &mut [u32], symbol: usize| {
        if let Some(count) = counts.get_mut(symbol) {
            *count += 1;
        }
    };
    // Literals behind each other, then the repetition.
    let mut found: Vec<(u32, u32, u32)> = Vec::new();
    let mut last = 0;
    lz4::repetitions(input, usize::MAX, BITS, &mut |literals, copy| {
        literals.iter().for_each(|&byte| count(&mut symbols, byte.into()));
        let (mut distance, length) = copy.unwrap_or_default();
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

/// The stream of `raw` bytes that was stored as `stored`.
pub(super) fn decompress(stored: &[u8], raw: usize) -> Decoded<Vec<u8>> {
    let mut bits = BitReader::new(stored);
    let symbols = Decoder::read(SYMBOLS, &mut bits)?;
    let distances = Decoder::read(DISTANCES, &mut bits)?;
    let mut out = Vec::with_capacity(raw);
    let mut last = 0;
    while out.len() < raw {
        let symbol = symbols.next(&mut bits)?;
        let Some(length) = symbol.checked_sub(256) else {
            out.push(symbol as u8);
            continue;
        };
        let length = LEAST + number(length, &mut bits)?;
        let distance = number(distances.next(&mut bits)?, &mut bits)?;
        if distance > 0 {
            last = distance;
        }
        if last == 0 || last > out.len() || length > raw - out.len() {
            return Err(Damage { what: "a repetition of what is not there", at: out.len() });
        }
        lz4::repeat(last, length, &mut out);
    }
    Ok(out)
}
