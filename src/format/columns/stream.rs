//! One stream: bytes that are compressed on their own.
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
/// A stream that LZ4 makes this short stays LZ4: the dense form's code lists would take as much.
const SHORT: usize = 32;
/// A stream of this length or more cannot be that short, so LZ4 is not tried first.
const MAY_BE_SHORT: usize = 4096;

/// Appends a stream, by the shortest method that its form allows.
pub(super) fn put(bytes: &[u8], form: Form, out: &mut Vec<u8>) {
    let (mut method, mut packed) = (RAW, Vec::new());
    let mut stored = bytes;
    if bytes.len() >= WORTHWHILE {
        // Code lists may be longer than their data.
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

/// The part of a block's entries whose values are wanted: its first ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// So many entries.
    pub(super) first: u32,
    /// Of so many.
    pub(super) of: u32,
}

impl Share {
    /// All entries.
    pub(super) const ALL: Self = Self { first: 1, of: 1 };

    /// The first bytes of a stream of `raw` that probably hold the values of these entries: a little more than a share.
    fn bytes(self, raw: usize) -> usize {
        if self.first >= self.of {
            return raw;
        }
        let share = raw as u64 * u64::from(self.first) / u64::from(self.of);
        raw.min(share as usize + raw / 16 + 64)
    }
}

/// Reads a stream and uses up its part of `budget`, the bytes for all streams together. Its end may be missing if only a
/// share of it is wanted.
pub(super) fn take<'a>(reader: &mut Reader<'a>, budget: &mut usize, share: Share) -> Decoded<Cow<'a, [u8]>> {
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
        LZ4 => Ok(Cow::Owned(lz4::decompress(stored, raw, share.bytes(raw))?)),
        DENSE => Ok(Cow::Owned(dense::decompress(stored, raw, share.bytes(raw))?)),
        _ => Err(damage("a stream of an unknown method")),
    }
}
