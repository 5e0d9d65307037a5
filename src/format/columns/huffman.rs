//! Canonical Huffman codes of at most twelve bits.

use super::bits::{BitReader, BitWriter};
use crate::collections::sort::sort_by;
use crate::format::wire::{Damage, Decoded};

/// The longest code, in bits: a table of all codes has at most 4096 places.
const LONGEST: u32 = 12;
/// In the list of lengths: a number of zeros follows, in four bits from 3 on, or in eight bits from 19 on.
const SOME_ZEROS: u32 = 13;
const MANY_ZEROS: u32 = 14;

/// Codes that fit the frequency of each symbol.
pub(super) struct Encoder {
    /// Bits and their number.
    codes: Vec<(u32, u32)>,
}

impl Encoder {
    /// Makes the codes and writes their lengths.
    pub(super) fn new(counts: &[u32], out: &mut BitWriter<'_>) -> Self {
        let mut counts = counts.to_vec();
        let lengths = loop {
            let lengths = lengths(&counts);
            if lengths.iter().all(|&length| length <= LONGEST) {
                break lengths;
            }
            // Flatter counts make a flatter tree.
            counts.iter_mut().filter(|count| **count > 0).for_each(|count| *count = (*count >> 1) + 1);
        };
        put_lengths(&lengths, out);
        let mut next = first_codes(&lengths);
        let code = |&length: &u32| match next.get_mut(length as usize) {
            Some(next) if length > 0 => {
                *next += 1;
                ((*next - 1).reverse_bits() >> (32 - length), length)
            }
            _ => (0, 0),
        };
        Self { codes: lengths.iter().map(code).collect() }
    }

    #[inline]
    pub(super) fn put(&self, symbol: usize, out: &mut BitWriter<'_>) {
        if let Some(&(code, length)) = self.codes.get(symbol) {
            out.put(code, length);
        }
    }
}

/// The lengths of Huffman's codes; 0 for symbols that never occur.
fn lengths(counts: &[u32]) -> Vec<u32> {
    let mut lengths = vec![0; counts.len()];
    let mut leaves: Vec<(u32, usize)> = counts.iter().copied().zip(0..).filter(|(count, _)| *count > 0).collect();
    sort_by(&mut leaves, Ord::cmp);
    // Two queues: leaves, lightest first, and pairs, which also arise lightest first. A parent is the number of a pair.
    let mut pairs: Vec<(u32, usize)> = Vec::new();
    let (mut leaf, mut pair) = (0, 0);
    let mut parents = vec![0; leaves.len()];
    while leaves.len() - leaf + pairs.len() - pair > 1 {
        let (mut weight, parent) = (0, pairs.len());
        for _ in 0..2 {
            match (leaves.get(leaf), pairs.get_mut(pair)) {
                (Some(lighter), other) if other.as_ref().is_none_or(|other| lighter.0 <= other.0) => {
                    weight += lighter.0;
                    if let Some(slot) = parents.get_mut(leaf) {
                        *slot = parent;
                    }
                    leaf += 1;
                }
                (_, Some(lighter)) => {
                    weight += lighter.0;
                    lighter.1 = parent;
                    pair += 1;
                }
                _ => {}
            }
        }
        pairs.push((weight, 0));
    }
    // From the last pair, the root, downwards: a pair is one deeper than its parent, which comes behind it.
    let mut depths = vec![0; pairs.len()];
    for at in (0..pairs.len().saturating_sub(1)).rev() {
        let above = pairs.get(at).and_then(|(_, parent)| depths.get(*parent).copied()).unwrap_or(0);
        if let Some(depth) = depths.get_mut(at) {
            *depth = above + 1;
        }
    }
    for ((_, symbol), parent) in leaves.iter().zip(parents) {
        if let Some(length) = lengths.get_mut(*symbol) {
            *length = depths.get(parent).copied().unwrap_or(0) + 1;
        }
    }
    lengths
}

/// The first code of each length.
fn first_codes(lengths: &[u32]) -> [u32; LONGEST as usize + 2] {
    let mut counts = [0; LONGEST as usize + 1];
    for &length in lengths.iter().filter(|&&length| length > 0) {
        if let Some(count) = counts.get_mut(length as usize) {
            *count += 1;
        }
    }
    let (mut codes, mut code) = ([0; LONGEST as usize + 2], 0);
    for (next, count) in codes.iter_mut().skip(1).zip(counts) {
        code = (code + count) << 1;
        *next = code;
    }
    codes
}

fn put_lengths(lengths: &[u32], out: &mut BitWriter<'_>) {
    let mut rest = lengths;
    while let Some((&length, behind)) = rest.split_first() {
        let zeros = rest.iter().take(274).take_while(|&&length| length == 0).count();
        if zeros >= 3 {
            let (mark, bits, least) = if zeros < 19 { (SOME_ZEROS, 4, 3) } else { (MANY_ZEROS, 8, 19) };
            out.put(mark, 4);
            out.put((zeros - least) as u32, bits);
            rest = rest.get(zeros..).unwrap_or_default();
        } else {
            out.put(length, 4);
            rest = behind;
        }
    }
}

/// All codes, by the next bits.
pub(super) struct Decoder {
    /// The symbol × 16 and the length of its code; 0 if there is no code. It has as many places as the longest code
    /// needs.
    table: Vec<u16>,
}

impl Decoder {
    /// Reads the lengths of `symbols` codes.
    pub(super) fn read(symbols: usize, bits: &mut BitReader<'_>) -> Decoded<Self> {
        let damage = Damage { what: "a code that cannot be", at: 0 };
        let mut lengths = Vec::with_capacity(symbols);
        while lengths.len() < symbols {
            match bits.take(4)? {
                SOME_ZEROS => lengths.resize(lengths.len() + 3 + bits.take(4)? as usize, 0),
                MANY_ZEROS => lengths.resize(lengths.len() + 19 + bits.take(8)? as usize, 0),
                length if length <= LONGEST => lengths.push(length),
                _ => return Err(damage),
            }
        }
        let mut table = vec![0; 1 << lengths.iter().max().copied().unwrap_or(0)];
        let mut next = first_codes(&lengths);
        for (symbol, &length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
            let next = next.get_mut(length as usize).ok_or(damage)?;
            // There are more codes than fit this length.
            if *next >> length != 0 {
                return Err(damage);
            }
            let code = next.reverse_bits() >> (32 - length);
            *next += 1;
            // For all bits behind the code.
            for place in table.iter_mut().skip(code as usize).step_by(1 << length) {
                *place = (symbol << 4) as u16 | length as u16;
            }
        }
        Ok(Self { table })
    }

    /// Its memory.
    pub(super) fn memory(&self) -> usize {
        size_of_val(self.table.as_slice())
    }

    pub(super) fn next(&self, bits: &mut BitReader<'_>) -> Decoded<usize> {
        let entry = self.table.get(bits.peek() as usize & (self.table.len() - 1)).copied().unwrap_or(0);
        if entry == 0 {
            return Err(Damage { what: "bits that are no code", at: 0 });
        }
        bits.skip(u32::from(entry & 15))?;
        Ok(usize::from(entry >> 4))
    }
}
