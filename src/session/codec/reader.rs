//! Reads numbers and texts from bytes that may be anything.

use std::fmt;

/// Bytes that are no frame: what is wrong, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// What is wrong.
    pub what: &'static str,
    /// At which byte.
    pub at: usize,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.at)
    }
}

impl std::error::Error for Damage {}

/// A position in bytes.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads `bytes` from `at` on.
    #[must_use]
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// Where the next byte is.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// Damage at the current position.
    #[must_use]
    pub fn damage(&self, what: &'static str) -> Damage {
        Damage { what, at: self.at }
    }

    /// One byte.
    ///
    /// # Errors
    /// Damage when none is left, as for all that follow.
    pub fn u8(&mut self) -> Result<u8, Damage> {
        let byte = *self.bytes.get(self.at).ok_or(self.damage("the bytes end too early"))?;
        self.at += 1;
        Ok(byte)
    }

    /// Bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        let end = self.at.checked_add(count).ok_or(self.damage("a length is too large"))?;
        let bytes = self.bytes.get(self.at..end).ok_or(self.damage("the bytes end too early"))?;
        self.at = end;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let at = self.at;
        self.take(N)?.try_into().map_err(|_| Damage { what: "the bytes end too early", at })
    }

    /// Four bytes, unsigned.
    pub fn u32(&mut self) -> Result<u32, Damage> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes, signed.
    pub fn i64(&mut self) -> Result<i64, Damage> {
        self.array().map(i64::from_le_bytes)
    }

    /// An IEEE double.
    pub fn f64(&mut self) -> Result<f64, Damage> {
        self.array().map(f64::from_le_bytes)
    }

    /// An unsigned varint of at most 64 bits.
    pub fn uv(&mut self) -> Result<u64, Damage> {
        let first = self.u8()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        let mut value = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.damage("a number has more than 64 bits"))
    }

    /// A zigzag varint of at most 64 bits.
    pub fn sv(&mut self) -> Result<i64, Damage> {
        let value = self.uv()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A number of things that take at least one byte each, so that a false one reserves no memory.
    pub fn count(&mut self) -> Result<usize, Damage> {
        let value = self.uv()?;
        usize::try_from(value)
            .ok()
            .filter(|count| *count <= self.left())
            .ok_or(self.damage("a count is larger than the bytes left"))
    }

    /// Bytes with their length before them.
    pub fn bytes(&mut self) -> Result<&'a [u8], Damage> {
        let count = self.count()?;
        self.take(count)
    }

    /// A text with its length in bytes before it.
    pub fn str(&mut self) -> Result<&'a str, Damage> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|_| Damage { what: "a text is not UTF-8", at: self.at - bytes.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{put_sv, put_uv};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn d2_every_integer_survives(value in prop_oneof![any::<i64>(), -300i64..300], unsigned in any::<u64>()) {
            let mut bytes = Vec::new();
            put_sv(&mut bytes, value);
            put_uv(&mut bytes, unsigned);
            let mut reader = Reader::new(&bytes, 0);
            prop_assert_eq!(reader.sv(), Ok(value));
            prop_assert_eq!(reader.uv(), Ok(unsigned));
            prop_assert_eq!(reader.left(), 0);
        }
    }

    #[test]
    fn numbers_that_are_too_long_are_damage() {
        assert!(Reader::new(&[0xff; 10], 0).uv().is_err());
        assert!(Reader::new(&[0x80; 9], 0).uv().is_err());
        assert_eq!(Reader::new(&[0x80, 0x80, 0x80, 0x80, 0x00], 0).uv(), Ok(0), "padding is right");
        assert_eq!(
            Reader::new(&[0x09, b'a'], 0).str().expect_err("short").what,
            "a count is larger than the bytes left"
        );
    }
}
