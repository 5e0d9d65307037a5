//! LZ4 blocks. The writer is as fast as others and finds better matches: it looks for eight equal bytes first, and for
//! four only if there are none. In texts made of words, the last place with four equal bytes shares one word; the last
//! place with eight often shares two.

use super::wire::{Decoded, Reader};

/// Matches have at least four bytes and reach back 64 KiB at most.
pub(super) const LEAST: usize = 4;
const WINDOW: usize = 0xFFFF;
/// The format's rule for the end: no match starts in the last twelve bytes, none covers the last five.
const NO_START: usize = 12;
const NO_MATCH: usize = 5;
/// The number of remembered places, as a power of two. More would find more matches and cost more to clear.
const MOST_BITS: u32 = 13;
const LEAST_BITS: u32 = 6;
/// After this many places without a match, as a power of two, places are checked less often.
const PATIENCE: u32 = 6;

pub(super) fn load(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

/// The number of bytes from `left` on that equal those from `right` on, with `left` staying below `end`.
pub(super) fn common(bytes: &[u8], mut left: usize, mut right: usize, end: usize) -> usize {
    let start = left;
    while left + 8 <= end {
        let difference = load(bytes, left) ^ load(bytes, right);
        if difference != 0 {
            return left - start + (difference.trailing_zeros() / 8) as usize;
        }
        left += 8;
        right += 8;
    }
    while left < end && bytes.get(left) == bytes.get(right) {
        left += 1;
        right += 1;
    }
    left - start
}

/// The last place of bytes with each hash.
struct Seen {
    places: Vec<u32>,
    shift: u32,
    /// The bytes of the eight that are hashed.
    mask: u64,
}

impl Seen {
    fn new(bits: u32, mask: u64) -> Self {
        Self { places: vec![0; 1 << bits], shift: 64 - bits, mask }
    }

    /// Records that `value` is at `place`; returns the place before. An unseen value returns 0, which may be wrong like
    /// any other place: the caller compares the bytes.
    #[inline]
    fn replace(&mut self, value: u64, place: usize) -> usize {
        let hash = (value & self.mask).wrapping_mul(0x9E37_79B1_85EB_CA87) >> self.shift;
        self.places.get_mut(hash as usize).map_or(0, |slot| std::mem::replace(slot, place as u32) as usize)
    }
}

/// Appends `input` as an LZ4 block.
pub(super) fn compress(input: &[u8], out: &mut Vec<u8>) {
    let bits = (usize::BITS - input.len().leading_zeros()).clamp(LEAST_BITS, MOST_BITS);
    let (mut long, mut short) = (Seen::new(bits, u64::MAX), Seen::new(bits, 0xFFFF_FFFF));
    let (limit, end) = (input.len().saturating_sub(NO_START), input.len().saturating_sub(NO_MATCH));
    let (mut at, mut anchor, mut misses) = (1, 0, 0u32);
    while at < limit {
        let value = load(input, at);
        let (mut from, other) = (long.replace(value, at), short.replace(value, at));
        let length_from = |at: usize, from: usize| {
            if from < at && at - from <= WINDOW { common(input, at, from, end) } else { 0 }
        };
        let mut length = length_from(at, from);
        if length < LEAST {
            (length, from) = (length_from(at, other), other);
            if length >= LEAST {
                // Eight equal bytes may start at the next place.
                let next = long.replace(load(input, at + 1), at + 1);
                let longer = length_from(at + 1, next);
                if longer > length {
                    (length, from, at) = (longer, next, at + 1);
                }
            }
        }
        if length < LEAST {
            misses += 1;
            at += 1 + (misses >> PATIENCE) as usize;
            continue;
        }
        misses = 0;
        while at > anchor && from > 0 && input.get(at - 1) == input.get(from - 1) {
            (at, from, length) = (at - 1, from - 1, length + 1);
        }
        put_sequence(input.get(anchor..at).unwrap_or_default(), Some((at - from, length)), out);
        for place in [at + 2, at + length - 2] {
            let value = load(input, place);
            long.replace(value, place);
            short.replace(value, place);
        }
        at += length;
        anchor = at;
    }
    put_sequence(input.get(anchor..).unwrap_or_default(), None, out);
}

/// Short literals, and the steps of copies, are moved as so many bytes at once. What is moved too much is overwritten
/// later. So a buffer has room for [`LITERALS`] bytes more than the block holds.
pub(super) const LITERALS: usize = 16;
const STEP: usize = 8;
/// The bytes of a short sequence: its token, its literals or what is moved for them, and the distance.
const SEQUENCE: usize = 1 + LITERALS + 2;
/// A longer copy is a few large moves.
const SHORT_COPY: usize = 64;

/// Copies the `N` bytes at a place to another one. Returns whether both are inside.
#[inline(always)]
fn move_chunk<const N: usize>(from: Option<&[u8; N]>, out: &mut [u8], at: usize) -> bool {
    let into = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<N>);
    if let (Some(from), Some(into)) = (from, into) {
        *into = *from;
        return true;
    }
    false
}

/// Copies to `at` the `length` bytes from `distance` bytes before it, which must exist. May write up to seven bytes behind
/// them.
#[inline]
pub(super) fn repeat(distance: usize, length: usize, mut at: usize, out: &mut [u8]) {
    let (start, end) = (at - distance, at + length);
    if distance >= STEP && length <= SHORT_COPY {
        while at < end {
            let from = out.get(at - distance..).and_then(<[u8]>::first_chunk::<STEP>).copied();
            move_chunk(from.as_ref(), out, at);
            at += STEP;
        }
        return;
    }
    // An overlapping copy repeats. Each round copies all bytes so far, twice as many as before.
    while at < end {
        let count = (end - at).min(at - start);
        out.copy_within(start..start + count, at);
        at += count;
    }
}

/// The `raw` bytes of an LZ4 block, or its beginning: at least the first `wanted` of them. Nothing is known of the rest
/// then.
pub(super) fn decompress(block: &[u8], raw: usize, wanted: usize) -> Decoded<Vec<u8>> {
    let mut reader = Reader::new(block);
    let less = "an LZ4 block holds less than it says";
    // It cannot hold more than 255 times its length, and must not ask for more memory.
    if raw > block.len().saturating_mul(255) {
        return Err(reader.damage(less));
    }
    let mut out = vec![0; raw + LITERALS];
    let mut at = 0;
    loop {
        // Most sequences are short. Far from both ends they need few checks.
        while let Some(sequence) = reader.rest().first_chunk::<SEQUENCE>() {
            let &[token, ref literals @ .., _, _] = sequence;
            let (count, length) = (usize::from(token >> 4), usize::from(token & 15) + LEAST);
            if count == 15 || length == 15 + LEAST || raw - at < SEQUENCE + 15 + LEAST || at >= wanted {
                break;
            }
            move_chunk(literals.first_chunk::<LITERALS>(), &mut out, at);
            let distance = sequence
                .get(1 + count..)
                .and_then(<[u8]>::first_chunk)
                .map_or(0, |two| usize::from(u16::from_le_bytes(*two)));
            let end = at + count;
            if distance < STEP || distance > end {
                break;
            }
            for step in [0, STEP, 2 * STEP] {
                if step < length {
                    let from = out.get(end + step - distance..).and_then(<[u8]>::first_chunk::<STEP>).copied();
                    move_chunk(from.as_ref(), &mut out, end + step);
                }
            }
            at = end + length;
            reader.take(3 + count)?;
        }
        if at >= wanted && at < raw {
            out.truncate(at);
            return Ok(out);
        }
        let token = usize::from(reader.u8()?);
        let literals = length(token >> 4, &mut reader)?;
        if literals > raw - at {
            return Err(reader.damage("an LZ4 block holds more than it says"));
        }
        if literals > LITERALS || !move_chunk::<LITERALS>(reader.rest().first_chunk(), &mut out, at) {
            let into = out.get_mut(at..at + literals).unwrap_or_default();
            into.copy_from_slice(reader.rest().get(..literals).ok_or(reader.damage(less))?);
        }
        reader.take(literals)?;
        at += literals;
        if reader.is_empty() {
            break;
        }
        let distance = usize::from(reader.u8()?) | usize::from(reader.u8()?) << 8;
        let length = length(token & 15, &mut reader)?.saturating_add(LEAST);
        if distance == 0 || distance > at || length > raw - at {
            return Err(reader.damage("an LZ4 block copies from before its start"));
        }
        repeat(distance, length, at, &mut out);
        at += length;
    }
    out.truncate(raw);
    if at == raw { Ok(out) } else { Err(reader.damage(less)) }
}

/// A length whose first four bits were read.
#[inline]
fn length(first: usize, reader: &mut Reader<'_>) -> Decoded<usize> {
    let mut length = first;
    if first == 15 {
        loop {
            let more = reader.u8()?;
            length = length.saturating_add(more.into());
            if more != 255 {
                break;
            }
        }
    }
    Ok(length)
}

/// Literals, then a copy: its distance and its length.
fn put_sequence(literals: &[u8], copy: Option<(usize, usize)>, out: &mut Vec<u8>) {
    let rest = copy.map_or(0, |(_, length)| length - LEAST);
    out.push((literals.len().min(15) << 4 | rest.min(15)) as u8);
    put_length(literals.len(), out);
    out.extend_from_slice(literals);
    if let Some((distance, _)) = copy {
        out.extend_from_slice(&(distance as u16).to_le_bytes());
        put_length(rest, out);
    }
}

/// The part of a length that does not fit the four bits of a token.
fn put_length(length: usize, out: &mut Vec<u8>) {
    let Some(mut rest) = length.checked_sub(15) else { return };
    while rest >= 255 {
        out.push(255);
        rest -= 255;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn there_and_back(input: &[u8]) -> usize {
        let mut block = Vec::new();
        compress(input, &mut block);
        assert_eq!(decompress(&block, input.len(), input.len()).as_deref(), Ok(input));
        assert_eq!(lz4_flex::block::decompress(&block, input.len()).ok().as_deref(), Some(input));
        block.len()
    }

    proptest! {
        #[test]
        fn lz4_gives_back_what_it_was_given(
            pieces in proptest::collection::vec(
                prop_oneof![
                    proptest::collection::vec(any::<u8>(), 0..40),
                    proptest::collection::vec(0u8..3, 0..600),
                    (any::<u8>(), 0usize..900).prop_map(|(byte, count)| vec![byte; count]),
                ],
                0..12,
            ),
            again in any::<bool>(),
        ) {
            let mut input = pieces.concat();
            if again {
                input.extend(input.clone());
            }
            there_and_back(&input);
        }
    }

    proptest! {
        /// F: a damaged block is refused, or read as any other reader of LZ4 does.
        #[test]
        fn a_damaged_block_is_read_as_others_read_it(
            pieces in proptest::collection::vec(proptest::collection::vec(0u8..4, 0..90), 1..6),
            damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
            cut in any::<proptest::sample::Index>(),
            raw in 0usize..500,
        ) {
            let input = pieces.concat();
            let mut block = Vec::new();
            compress(&input, &mut block);
            for (place, mask) in damage {
                *place.get_mut(&mut block) ^= mask;
            }
            for (block, raw) in [(&block[..], input.len()), (&block[..], raw), (&block[..cut.index(block.len())], input.len())] {
                let (read, others) = (decompress(block, raw, raw).ok(), lz4_flex::block::decompress(block, raw).ok());
                prop_assert_eq!(read, others.filter(|read| read.len() == raw));
            }
        }
    }

    proptest! {
        #[test]
        fn the_beginning_of_a_block_is_read_alone(
            pieces in proptest::collection::vec(proptest::collection::vec(0u8..4, 0..90), 1..20),
            wanted in any::<proptest::sample::Index>(),
        ) {
            let input = pieces.concat();
            let mut block = Vec::new();
            compress(&input, &mut block);
            let wanted = wanted.index(input.len() + 1);
            let read = decompress(&block, input.len(), wanted).expect("its beginning");
            prop_assert!(read.len() >= wanted && input.starts_with(&read));
        }
    }

    #[test]
    fn damage_tells_its_place() {
        let mut block = Vec::new();
        compress(b"abcdefgh, abcdefgh, abcdefgh and so on", &mut block);
        let place = |block: &[u8], raw| decompress(block, raw, raw).expect_err("damage").at;
        assert_eq!(place(&block, 5), 1, "more than five literals");
        assert_eq!(place(&block, 39), block.len(), "one byte less");
        assert_eq!(place(&block, 100_000), 0);
        let distance = block.windows(2).position(|two| two == [10, 0]).expect("a repetition");
        *block.get_mut(distance).expect("the distance") = 11;
        assert_eq!(place(&block, 38), distance + 2);
    }

    #[test]
    fn lz4_of_any_length_and_distance() {
        for length in 0..300 {
            assert!(there_and_back(&vec![7; length]) <= length + 2);
        }
        // The same noise twice, at the greatest visible distance, and one byte further.
        for (gap, seen) in [(WINDOW - 1000, true), (WINDOW - 999, false)] {
            let noise: Vec<u8> =
                (0..1000u32).flat_map(|i| i.wrapping_mul(0x9E37_79B1).to_be_bytes()).take(1000).collect();
            let input = [noise.clone(), vec![0; gap], noise].concat();
            assert_eq!(there_and_back(&input) < 1600, seen, "{gap}");
        }
    }
}
