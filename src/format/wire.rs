//! Reads and writes the small pieces of every format: varints, lengths, fixed integers.
//!
//! [`Reader`] never trusts its bytes: every step is bounded, and bytes that do not fit are a [`Damage`].

use crate::model::{ValueRef, tags as tag};

/// The fault of some bytes, and its place. The layer that knows their source names the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at}")]
pub struct Damage {
    /// The fault.
    pub what: &'static str,
    /// Its place.
    pub at: usize,
}

/// The result of decoding.
pub type Decoded<T> = Result<T, Damage>;

/// The most bytes of a varint.
const MOST_UV: usize = 10;

/// Walks over bytes. Bytes that do not fit are a [`Damage`].
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

#[expect(clippy::missing_errors_doc, reason = "every method gives the damage that it meets")]
impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::new_at(bytes, 0)
    }

    /// A reader of `bytes` from `at` on.
    #[must_use]
    pub fn new_at(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// The place of the next byte.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// The number of bytes that are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left() == 0
    }

    /// Damage at the current position.
    #[must_use]
    pub fn damage(&self, what: &'static str) -> Damage {
        Damage { what, at: self.at }
    }

    /// All bytes that are left.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Decoded<&'a [u8]> {
        self.take_here(count)
    }

    /// The same, compiled into its caller.
    #[inline(always)]
    fn take_here(&mut self, count: usize) -> Decoded<&'a [u8]> {
        let end = self.at.checked_add(count).ok_or(self.damage("a length is too large"))?;
        let bytes = self.bytes.get(self.at..end).ok_or(self.damage("the bytes end too early"))?;
        self.at = end;
        Ok(bytes)
    }

    /// Passes the next `count` bytes over.
    #[inline(always)]
    fn skip(&mut self, count: usize) -> Decoded<()> {
        if count > self.left() {
            return Err(self.damage("the bytes end too early"));
        }
        self.at += count;
        Ok(())
    }

    /// Passes an unsigned varint over.
    #[inline(always)]
    pub(super) fn skip_uv(&mut self) -> Decoded<()> {
        if self.u8()? >= 0x80 {
            self.at = skip_long_uv(self.bytes, self.at)?;
        }
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        let at = self.at;
        self.take(N)?.try_into().map_err(|_| Damage { what: "the bytes end too early", at })
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Decoded<u8> {
        let byte = *self.bytes.get(self.at).ok_or(self.damage("the bytes end too early"))?;
        self.at += 1;
        Ok(byte)
    }

    /// Four bytes, unsigned.
    pub fn u32(&mut self) -> Decoded<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes, unsigned.
    pub fn u64(&mut self) -> Decoded<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Eight bytes, signed.
    pub fn i64(&mut self) -> Decoded<i64> {
        self.array().map(i64::from_le_bytes)
    }

    /// An IEEE double.
    pub fn f64(&mut self) -> Decoded<f64> {
        self.array().map(f64::from_le_bytes)
    }

    /// An unsigned varint of at most 64 bits.
    pub fn uv(&mut self) -> Decoded<u64> {
        self.uv_here()
    }

    /// The same, inlined, for code that reads every cell.
    #[inline(always)]
    pub(super) fn uv_here(&mut self) -> Decoded<u64> {
        // Nearly every varint of a row is one byte long.
        let first = self.u8()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        let value;
        (value, self.at) = long_uv(self.bytes, self.at, first)?;
        Ok(value)
    }

    /// A zigzag varint of at most 64 bits.
    pub fn sv(&mut self) -> Decoded<i64> {
        self.sv_here()
    }

    /// The same, inlined.
    #[inline(always)]
    pub(super) fn sv_here(&mut self) -> Decoded<i64> {
        let value = self.uv_here()?;
        Ok((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }

    /// An unsigned varint that fits a `u32`.
    pub fn uv32(&mut self) -> Decoded<u32> {
        self.uv32_here()
    }

    /// The same, compiled into its caller.
    #[inline(always)]
    pub(super) fn uv32_here(&mut self) -> Decoded<u32> {
        let value = self.uv_here()?;
        u32::try_from(value).map_err(|_| self.damage("a number has more than 32 bits"))
    }

    /// A number of items that take at least one byte each, so that a false number reserves no memory.
    #[inline(always)]
    pub fn count(&mut self) -> Decoded<usize> {
        let value = self.uv_here()?;
        usize::try_from(value)
            .ok()
            .filter(|count| *count <= self.left())
            .ok_or(self.damage("a count is larger than the bytes left"))
    }

    /// Bytes with their length before them.
    pub fn bytes(&mut self) -> Decoded<&'a [u8]> {
        self.bytes_here()
    }

    /// The same, inlined.
    #[inline(always)]
    pub(super) fn bytes_here(&mut self) -> Decoded<&'a [u8]> {
        let count = self.count()?;
        self.take_here(count)
    }

    /// Text with its length in bytes before it.
    pub fn str(&mut self) -> Decoded<&'a str> {
        self.str_here()
    }

    /// The same, compiled into its caller.
    #[inline(always)]
    fn str_here(&mut self) -> Decoded<&'a str> {
        let bytes = self.bytes_here()?;
        std::str::from_utf8(bytes).map_err(|_| Damage { what: "a text is not UTF-8", at: self.at - bytes.len() })
    }
}

/// The varint whose first byte was read, and the place behind it. It is not given the reader: one that is lent to a function
/// lies in memory, not in registers.
fn long_uv(bytes: &[u8], mut at: usize, first: u8) -> Decoded<(u64, usize)> {
    let mut value = u64::from(first & 0x7f);
    for shift in (7..64).step_by(7) {
        let byte = *bytes.get(at).ok_or(Damage { what: "the bytes end too early", at })?;
        at += 1;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            break;
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Ok((value, at));
        }
    }
    Err(Damage { what: "a number has more than 64 bits", at })
}

/// The place behind the varint whose first byte was read.
fn skip_long_uv(bytes: &[u8], at: usize) -> Decoded<usize> {
    let rest = bytes.get(at..).unwrap_or_default().iter().take(MOST_UV - 1);
    match rest.enumerate().find(|(_, byte)| **byte < 0x80) {
        Some((more, &byte)) if more < MOST_UV - 2 || byte <= 1 => Ok(at + more + 1),
        _ => Err(Damage { what: "a number has more than 64 bits", at }),
    }
}

/// Appends an unsigned varint.
pub fn put_uv(value: u64, out: &mut Vec<u8>) {
    here::put_uv(value, out);
}

/// The bytes of an unsigned varint that is no longer than it has to be.
#[inline(always)]
pub(super) fn uv_length(value: u32) -> usize {
    (u32::BITS - (value | 1).leading_zeros()).div_ceil(7) as usize
}

/// Appends a signed varint.
pub fn put_sv(value: i64, out: &mut Vec<u8>) {
    here::put_sv(value, out);
}

/// Appends bytes behind their length.
pub fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    here::put_bytes(bytes, out);
}

/// The same, inlined, for code that writes every cell. Elsewhere inlining would only add size.
pub mod here {
    /// Appends an unsigned varint.
    #[inline(always)]
    pub fn put_uv(mut value: u64, out: &mut Vec<u8>) {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }

    /// Appends a signed varint.
    #[inline(always)]
    pub fn put_sv(value: i64, out: &mut Vec<u8>) {
        put_uv(((value << 1) ^ (value >> 63)).cast_unsigned(), out);
    }

    /// Appends bytes behind their length.
    #[inline(always)]
    pub fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
        put_uv(bytes.len() as u64, out);
        out.extend_from_slice(bytes);
    }
}

/// The tag that stands before a value.
#[inline]
pub fn value_tag(value: ValueRef<'_>) -> u8 {
    match value {
        ValueRef::Integer(_) => tag::INTEGER,
        ValueRef::Double(_) => tag::DOUBLE,
        ValueRef::Boolean(false) => tag::FALSE,
        ValueRef::Boolean(true) => tag::TRUE,
        ValueRef::String(_) => tag::STRING,
        ValueRef::Binary(_) => tag::BINARY,
    }
}

/// Appends a value without its tag.
#[inline]
pub fn put_value(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value {
        ValueRef::Integer(v) => here::put_sv(v, out),
        ValueRef::Double(v) => out.extend_from_slice(&v.to_le_bytes()),
        ValueRef::Boolean(_) => {}
        ValueRef::String(v) => put_bytes(v.as_bytes(), out),
        ValueRef::Binary(v) => put_bytes(v, out),
    }
}

/// Reads the value that `tag` announced.
#[inline]
pub fn value<'a>(reader: &mut Reader<'a>, tag: u8) -> Decoded<ValueRef<'a>> {
    Ok(match tag {
        tag::INTEGER => ValueRef::Integer(reader.sv_here()?),
        tag::DOUBLE => ValueRef::Double(reader.f64()?),
        tag::FALSE => ValueRef::Boolean(false),
        tag::TRUE => ValueRef::Boolean(true),
        tag::STRING => ValueRef::String(reader.str_here()?),
        tag::BINARY => ValueRef::Binary(reader.bytes_here()?),
        _ => return Err(reader.damage("an unknown tag of a value")),
    })
}

/// Skips the value that `tag` announced. Returns its bytes as units count them.
pub(super) fn pass(reader: &mut Reader<'_>, tag: u8) -> Decoded<usize> {
    pass_here(reader, tag)
}

/// The same, compiled into its caller.
#[inline(always)]
pub(super) fn pass_here(reader: &mut Reader<'_>, tag: u8) -> Decoded<usize> {
    let (stored, metered) = match tag {
        tag::STRING | tag::BINARY => {
            let count = reader.count()?;
            (count, count)
        }
        tag::INTEGER => {
            reader.skip_uv()?;
            return Ok(8);
        }
        tag::DOUBLE => (8, 8),
        tag::FALSE | tag::TRUE => (0, 1),
        _ => return Err(reader.damage("an unknown tag of a value")),
    };
    reader.skip(stored)?;
    Ok(metered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// F: what is passed over is damaged exactly where it cannot be read.
        #[test]
        fn a_value_is_passed_over_as_it_is_read(
            tag in 2u8..9,
            high in 0usize..11,
            rest in proptest::collection::vec(prop_oneof![0u8..3, any::<u8>()], 0..6),
        ) {
            let bytes = [vec![0x80; high], rest].concat();
            let (mut read, mut passed) = (Reader::new(&bytes), Reader::new(&bytes));
            match (value(&mut read, tag).map_err(|damage| damage.what), pass(&mut passed, tag)) {
                (Ok(value), Ok(metered)) => {
                    prop_assert_eq!((value.metered_bytes(), read.at()), (metered, passed.at()));
                }
                // A text is not checked.
                (Err("a text is not UTF-8"), Ok(_)) | (Err(_), Err(_)) => {}
                (read, passed) => prop_assert!(false, "read {read:?}, passed over {passed:?}"),
            }
        }

        #[test]
        fn d2_every_integer_survives(value in prop_oneof![any::<i64>(), -300i64..300], unsigned in any::<u64>()) {
            let mut bytes = Vec::new();
            put_sv(value, &mut bytes);
            put_uv(unsigned, &mut bytes);
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(reader.sv(), Ok(value));
            prop_assert_eq!(reader.uv(), Ok(unsigned));
            prop_assert!(reader.is_empty());
            let short = unsigned as u32 >> (unsigned >> 59);
            bytes.clear();
            put_uv(short.into(), &mut bytes);
            prop_assert_eq!(uv_length(short), bytes.len());
        }
    }

    #[test]
    fn what_does_not_fit_is_damage() {
        assert!(Reader::new(&[0xff; 10]).uv().is_err());
        assert!(Reader::new(&[0x80; 9]).uv().is_err());
        assert_eq!(Reader::new(&[0x80, 0x80, 0x80, 0x80, 0x00]).uv(), Ok(0), "padding is right");
        let short = Damage { what: "a count is larger than the bytes left", at: 1 };
        assert_eq!(Reader::new(&[5, 1]).bytes(), Err(short));
        assert_eq!(Reader::new(&[1, 0xff]).str(), Err(Damage { what: "a text is not UTF-8", at: 1 }));
    }
}
