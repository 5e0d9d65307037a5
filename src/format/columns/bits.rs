//! Bits, the lowest first.

use crate::format::wire::{Damage, Decoded};

/// Appends bits to bytes.
pub(super) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    buffer: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, buffer: 0, count: 0 }
    }

    /// Appends `count` bits, at most 32. Higher bits of `value` are 0.
    #[inline]
    pub(super) fn put(&mut self, value: u32, count: u32) {
        self.buffer |= u64::from(value) << self.count;
        self.count += count;
        if self.count >= 32 {
            self.out.extend_from_slice(&(self.buffer as u32).to_le_bytes());
            self.buffer >>= 32;
            self.count -= 32;
        }
    }

    /// Appends the remaining bits, filled up to a whole byte.
    pub(super) fn finish(self) {
        let bytes = self.buffer.to_le_bytes();
        self.out.extend_from_slice(bytes.get(..self.count.div_ceil(8) as usize).unwrap_or_default());
    }
}

/// Reads bits.
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    buffer: u64,
    count: u32,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, buffer: 0, count: 0 }
    }

    /// The next bits, at least 32; zeros behind the end.
    #[inline]
    pub(super) fn peek(&mut self) -> u32 {
        if self.count < 32 {
            if let Some((word, rest)) = self.bytes.split_first_chunk() {
                self.buffer |= u64::from(u32::from_le_bytes(*word)) << self.count;
                (self.bytes, self.count) = (rest, self.count + 32);
            } else {
                while let Some((&byte, rest)) = self.bytes.split_first().filter(|_| self.count <= 56) {
                    self.buffer |= u64::from(byte) << self.count;
                    (self.bytes, self.count) = (rest, self.count + 8);
                }
            }
        }
        self.buffer as u32
    }

    /// Skips bits that were peeked at.
    #[inline]
    pub(super) fn skip(&mut self, count: u32) -> Decoded<()> {
        self.count = self.count.checked_sub(count).ok_or(Damage { what: "the bits end too early", at: 0 })?;
        self.buffer >>= count;
        Ok(())
    }

    /// The next `count` bits, 32 at most.
    pub(super) fn take(&mut self, count: u32) -> Decoded<u32> {
        let value = self.peek() & ((1u64 << count) - 1) as u32;
        self.skip(count)?;
        Ok(value)
    }
}
