//! One stream: bytes that are compressed by themselves.
//!
//! ```text
//! uv stored length × 4 + method · if it is not raw: uv length · the bytes
//! ```

use crate::format::lz4;
use crate::format::wire::{Damage, Decoded, Reader, put_uv};
use std::borrow::Cow;

const RAW: u64 = 0;
const LZ4: u64 = 1;
const METHOD_BITS: u32 = 2;

/// Shorter streams are kept as they are.
const WORTHWHILE: usize = 16;

/// Appends a stream.
pub(super) fn put(bytes: &[u8], scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
    scratch.clear();
    if bytes.len() >= WORTHWHILE {
        lz4::compress(bytes, scratch);
    }
    let method = if (1..bytes.len()).contains(&scratch.len()) { LZ4 } else { RAW };
    let stored = if method == RAW { bytes } else { &scratch[..] };
    put_uv((stored.len() as u64) << METHOD_BITS | method, out);
    if method != RAW {
        put_uv(bytes.len() as u64, out);
    }
    out.extend_from_slice(stored);
}

/// Reads a stream. All streams together take no more than `budget` bytes; this takes its part.
pub(super) fn take<'a>(reader: &mut Reader<'a>, budget: &mut usize) -> Decoded<Cow<'a, [u8]>> {
    let at = reader.at();
    let damage = |what| Damage { what, at };
    let length = reader.uv()?;
    let method = length & ((1 << METHOD_BITS) - 1);
    let length = usize::try_from(length >> METHOD_BITS).map_err(|_| damage("a stream is too long"))?;
    let raw = if method == RAW { length } else { reader.uv32()? as usize };
    *budget = budget.checked_sub(raw).ok_or(damage("the streams hold more than the block"))?;
    let stored = reader.take(length)?;
    match method {
        RAW => Ok(Cow::Borrowed(stored)),
        LZ4 => lz4_flex::block::decompress(stored, raw)
            .ok()
            .filter(|bytes| bytes.len() == raw)
            .map(Cow::Owned)
            .ok_or(damage("a stream's LZ4 block cannot be read")),
        _ => Err(damage("a stream of an unknown method")),
    }
}
