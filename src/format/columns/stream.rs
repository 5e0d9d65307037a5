//! One stream: bytes that are compressed by themselves.
//!
//! ```text
//! uv stored length × 4 + method · if it is not raw: uv length · the bytes
//! ```

use super::{Form, dense};
use crate::format::lz4;
use crate::format::wire::{Damage, Decoded, Reader, put_uv};
use std::borrow::Cow;

const RAW: u64 = 0;
const LZ4: u64 = 1;
const DENSE: u64 = 2;
const METHOD_BITS: u32 = 2;

/// Shorter streams are kept as they are.
const WORTHWHILE: usize = 16;
/// What is no longer than this as LZ4 stays so: the dense form's lists of codes would take as much.
const SHORT: usize = 32;
/// What may be: streams of this length and more are not tried.
const MAY_BE_SHORT: usize = 4096;

/// Appends a stream, in the shortest of the methods that its form allows.
pub(super) fn put(bytes: &[u8], form: Form, out: &mut Vec<u8>) {
    let (mut method, mut packed) = (RAW, Vec::new());
    let mut stored = bytes;
    if bytes.len() >= WORTHWHILE {
        // The lists of codes may be longer than all they are to name.
        if form == Form::Fast || bytes.len() < MAY_BE_SHORT {
            lz4::compress(bytes, &mut packed);
            method = LZ4;
        }
        if form == Form::Dense && (method == RAW || packed.len() > SHORT) {
            let mut coded = Vec::new();
            dense::compress(bytes, &mut coded);
            if method == RAW || coded.len() < packed.len() {
                (method, packed) = (DENSE, coded);
            }
        }
        if packed.len() < bytes.len() {
            stored = &packed;
        } else {
            method = RAW;
        }
    }
    put_uv((stored.len() as u64) << METHOD_BITS | method, out);
    if method != RAW {
        put_uv(bytes.len() as u64, out);
    }
    out.extend_from_slice(stored);
}

/// Appends a stream as it is.
pub(super) fn put_raw(bytes: &[u8], out: &mut Vec<u8>) {
    put_uv((bytes.len() as u64) << METHOD_BITS | RAW, out);
    out.extend_from_slice(bytes);
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
        LZ4 => Ok(Cow::Owned(lz4::decompress(stored, raw)?)),
        DENSE => Ok(Cow::Owned(dense::decompress(stored, raw)?)),
        _ => Err(damage("a stream of an unknown method")),
    }
}
