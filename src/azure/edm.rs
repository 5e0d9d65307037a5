//! Property values: the eight types of the service (V1 of its rules, `azure_V1`), and how they are stored.
//!
//! | type | stored as |
//! |---|---|
//! | String, Boolean, Double | the same |
//! | Int32 | Integer |
//! | Binary | Binary: 0, then its bytes |
//! | Int64 | Binary: 1, then 8 bytes, little-endian |
//! | DateTime | Binary: 2, then its ticks in 8 bytes, little-endian |
//! | Guid | Binary: 3, then its 16 bytes in the order of its text |

use super::text::{parse_base64, push_base64, push_integer, utf16_length};
use super::{AzureCode, AzureError, AzureResult, date_time, double};
use crate::model::{ValueRef, decimal};
use std::borrow::Cow;

/// UTF-16 units of a String (L4).
///
/// Else: `PropertyValueTooLarge`.
pub const STRING_UNITS: usize = 32_768;
/// Bytes of a Binary (L4).
///
/// Else: `PropertyValueTooLarge`.
pub const BINARY_BYTES: usize = 65_536;

/// The type of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EdmType {
    /// Bytes, at most 64 KiB.
    Binary,
    /// True or false.
    Boolean,
    /// A time in 100 ns, from 1601 to 9999.
    DateTime,
    /// 64-bit floating point, with NaN and infinities.
    Double,
    /// 128 bits.
    Guid,
    /// 32-bit integer.
    Int32,
    /// 64-bit integer.
    Int64,
    /// Text, at most 32,768 UTF-16 units.
    String,
}

/// The value of a property.
#[derive(Clone, Debug, PartialEq)]
pub enum EdmValue<'a> {
    /// See [`EdmType::Binary`].
    Binary(Cow<'a, [u8]>),
    /// See [`EdmType::Boolean`].
    Boolean(bool),
    /// Ticks of 100 ns since 1601-01-01 UTC.
    DateTime(i64),
    /// See [`EdmType::Double`].
    Double(f64),
    /// Its bytes in the order of its text.
    Guid([u8; 16]),
    /// See [`EdmType::Int32`].
    Int32(i32),
    /// See [`EdmType::Int64`].
    Int64(i64),
    /// See [`EdmType::String`].
    String(Cow<'a, str>),
}

const BINARY: u8 = 0;
const INT64: u8 = 1;
const DATE_TIME: u8 = 2;
const GUID: u8 = 3;

impl EdmType {
    /// All types, with their names on the wire.
    pub const NAMES: [(&str, Self); 8] = [
        ("Edm.Binary", Self::Binary),
        ("Edm.Boolean", Self::Boolean),
        ("Edm.DateTime", Self::DateTime),
        ("Edm.Double", Self::Double),
        ("Edm.Guid", Self::Guid),
        ("Edm.Int32", Self::Int32),
        ("Edm.Int64", Self::Int64),
        ("Edm.String", Self::String),
    ];

    /// The type of this name.
    ///
    /// # Errors
    /// `InvalidInput`.
    pub fn named(name: &str) -> AzureResult<Self> {
        let found = Self::NAMES.iter().find(|(other, _)| *other == name);
        found.map(|(_, edm_type)| *edm_type).ok_or_else(AzureError::invalid_input)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, other)| *other == self).map_or("", |(name, _)| name)
    }
}

/// Reads the 32 digits of a Guid, with its four dashes (V8).
#[must_use]
pub fn parse_guid(text: &str) -> Option<[u8; 16]> {
    let text = text.as_bytes();
    let dashes = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    if text.len() != 36 || (0..36).any(|at| dashes(at) != (text.get(at) == Some(&b'-'))) {
        return None;
    }
    let (mut guid, mut digits) = ([0; 16], text.iter().filter(|byte| **byte != b'-'));
    for byte in &mut guid {
        let mut digit = || char::from(*digits.next()?).to_digit(16).map(|digit| digit as u8);
        *byte = digit()? << 4 | digit()?;
    }
    Some(guid)
}

/// Appends the text of a Guid, in small letters.
pub fn write_guid(guid: [u8; 16], out: &mut String) {
    for (at, byte) in guid.into_iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        out.extend([byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0')));
    }
}

/// Reads hexadecimal digits in pairs, as literals of filters have them.
#[must_use]
pub fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    let mut bytes = Vec::with_capacity(text.len() / 2);
    for pair in text.as_bytes().chunks(2) {
        let [high, low] = pair else { return None };
        bytes.push(digit(high)? << 4 | digit(low)?);
    }
    Some(bytes)
}

/// Reads a double: decimal, or `NaN`, `Infinity`, `-Infinity` (V5).
#[must_use]
pub fn parse_double(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" | "INF" => Some(f64::INFINITY),
        "-Infinity" | "-INF" => Some(f64::NEG_INFINITY),
        _ => decimal::parse(text),
    }
}

/// Reads an integer in decimal, without spaces.
fn parse_integer(text: &str) -> Option<i64> {
    text.strip_prefix('+').is_none().then(|| text.parse().ok())?
}

impl<'a> EdmValue<'a> {
    /// Its type.
    #[must_use]
    pub fn edm_type(&self) -> EdmType {
        match self {
            Self::Binary(_) => EdmType::Binary,
            Self::Boolean(_) => EdmType::Boolean,
            Self::DateTime(_) => EdmType::DateTime,
            Self::Double(_) => EdmType::Double,
            Self::Guid(_) => EdmType::Guid,
            Self::Int32(_) => EdmType::Int32,
            Self::Int64(_) => EdmType::Int64,
            Self::String(_) => EdmType::String,
        }
    }

    /// Reads the text of a value with a type (V3 to V9). `property` is named in errors.
    ///
    /// # Errors
    /// `InvalidInput` for a text of another type, `OutOfRangeInput` for a time out of range.
    pub fn parse_typed(property: &str, edm_type: EdmType, text: &str) -> AzureResult<EdmValue<'static>> {
        let value = match edm_type {
            EdmType::Binary => parse_base64(text).map(|bytes| EdmValue::Binary(Cow::Owned(bytes))),
            // The service takes them in any case.
            EdmType::Boolean => match &*text.to_ascii_lowercase() {
                "true" => Some(EdmValue::Boolean(true)),
                "false" => Some(EdmValue::Boolean(false)),
                _ => None,
            },
            EdmType::DateTime => Some(EdmValue::DateTime(date_time::parse(text, property)?)),
            EdmType::Double => parse_double(text).map(EdmValue::Double),
            EdmType::Guid => parse_guid(text).map(EdmValue::Guid),
            EdmType::Int32 => parse_integer(text).and_then(|value| value.try_into().ok()).map(EdmValue::Int32),
            EdmType::Int64 => parse_integer(text).map(EdmValue::Int64),
            EdmType::String => Some(EdmValue::String(Cow::Owned(text.to_owned()))),
        };
        value.ok_or_else(AzureError::invalid_input)
    }

    /// Refuses a value that is too large (L4).
    ///
    /// # Errors
    /// `PropertyValueTooLarge`.
    pub fn check(&self) -> AzureResult<()> {
        let fits = match self {
            Self::String(text) => text.len() <= STRING_UNITS || utf16_length(text) <= STRING_UNITS,
            Self::Binary(bytes) => bytes.len() <= BINARY_BYTES,
            _ => true,
        };
        if fits { Ok(()) } else { Err(AzureCode::PropertyValueTooLarge.into()) }
    }

    /// Appends the text of the value, as JSON has it without quotes. A double without a fraction gets one (`3.0`).
    pub fn write_text(&self, out: &mut String) {
        match self {
            Self::Binary(bytes) => push_base64(bytes, out),
            Self::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::DateTime(ticks) => out.push_str(&date_time::format(*ticks)),
            Self::Double(value) if value.is_finite() => double::write(*value, out),
            Self::Double(value) => out.push_str(if value.is_nan() {
                "NaN"
            } else if *value > 0.0 {
                "Infinity"
            } else {
                "-Infinity"
            }),
            Self::Guid(bytes) => write_guid(*bytes, out),
            Self::Int32(value) => push_integer((*value).into(), out),
            Self::Int64(value) => push_integer(*value, out),
            Self::String(text) => out.push_str(text),
        }
    }

    /// The value as a cell stores it. `scratch` gets the bytes of the types that need some.
    pub fn store<'s>(&'s self, scratch: &'s mut Vec<u8>) -> ValueRef<'s> {
        scratch.clear();
        let (tag, bytes): (u8, &[u8]) = match self {
            Self::Boolean(value) => return ValueRef::Boolean(*value),
            Self::Double(value) => return ValueRef::Double(*value),
            Self::Int32(value) => return ValueRef::Integer(i64::from(*value)),
            Self::String(value) => return ValueRef::String(value),
            Self::Int64(value) => (INT64, &value.to_le_bytes()),
            Self::DateTime(ticks) => (DATE_TIME, &ticks.to_le_bytes()),
            Self::Binary(bytes) => (BINARY, bytes),
            Self::Guid(bytes) => (GUID, bytes),
        };
        scratch.push(tag);
        scratch.extend_from_slice(bytes);
        ValueRef::Binary(scratch)
    }

    /// The value of a stored cell. `None` if no property is stored so.
    #[must_use]
    pub fn stored(value: ValueRef<'a>) -> Option<Self> {
        Some(match value {
            ValueRef::Boolean(value) => Self::Boolean(value),
            ValueRef::Double(value) => Self::Double(value),
            ValueRef::Integer(value) => Self::Int32(value.try_into().ok()?),
            ValueRef::String(value) => Self::String(Cow::Borrowed(value)),
            ValueRef::Binary(bytes) => match bytes.split_first()? {
                (&BINARY, bytes) => Self::Binary(Cow::Borrowed(bytes)),
                (&INT64, bytes) => Self::Int64(i64::from_le_bytes(bytes.try_into().ok()?)),
                (&DATE_TIME, bytes) => Self::DateTime(i64::from_le_bytes(bytes.try_into().ok()?)),
                (&GUID, bytes) => Self::Guid(bytes.try_into().ok()?),
                _ => return None,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = EdmValue<'static>> {
        prop_oneof![
            any::<Vec<u8>>().prop_map(|bytes| EdmValue::Binary(Cow::Owned(bytes))),
            any::<bool>().prop_map(EdmValue::Boolean),
            (0..=date_time::MAX).prop_map(EdmValue::DateTime),
            any::<f64>().prop_map(EdmValue::Double),
            any::<[u8; 16]>().prop_map(EdmValue::Guid),
            any::<i32>().prop_map(EdmValue::Int32),
            any::<i64>().prop_map(EdmValue::Int64),
            any::<String>().prop_map(|text| EdmValue::String(Cow::Owned(text))),
        ]
    }

    proptest! {
        /// Every value comes back with its type, from its cell and from its text.
        #[test]
        fn azure_v1_every_value_survives_its_cell_and_its_text(value in value()) {
            let mut scratch = Vec::new();
            prop_assert_eq!(EdmValue::stored(value.store(&mut scratch)), Some(value.clone()));
            let mut text = String::new();
            value.write_text(&mut text);
            prop_assert_eq!(EdmValue::parse_typed("p", value.edm_type(), &text), Ok(value));
        }
    }

    fn parsed(edm_type: EdmType, text: &str) -> Option<EdmValue<'static>> {
        EdmValue::parse_typed("p", edm_type, text).ok()
    }

    #[test]
    fn azure_v3_v4_integers_keep_to_their_ranges() {
        assert_eq!(parsed(EdmType::Int32, "-2147483648"), Some(EdmValue::Int32(i32::MIN)));
        assert_eq!(parsed(EdmType::Int64, "9223372036854775807"), Some(EdmValue::Int64(i64::MAX)));
        for text in ["2147483648", "", "1.0", "1e3", " 1", "+1", "abc"] {
            assert_eq!(parsed(EdmType::Int32, text), None, "{text}");
        }
        for text in ["9223372036854775808", "abc", "1L", ""] {
            assert_eq!(parsed(EdmType::Int64, text), None, "{text}");
        }
    }

    #[test]
    fn azure_v5_v6_doubles_are_exact_and_may_be_infinite() {
        assert!(matches!(parsed(EdmType::Double, "NaN"), Some(EdmValue::Double(value)) if value.is_nan()));
        assert_eq!(parsed(EdmType::Double, "-Infinity"), Some(EdmValue::Double(f64::NEG_INFINITY)));
        assert_eq!(parsed(EdmType::Double, "3"), Some(EdmValue::Double(3.0)));
        assert_eq!(parsed(EdmType::Double, "1e400"), None);
        let text = |value| {
            let mut text = String::new();
            EdmValue::Double(value).write_text(&mut text);
            text
        };
        assert_eq!([text(3.0), text(-0.0), text(0.1), text(f64::NAN)], ["3.0", "-0.0", "0.1", "NaN"]);
    }

    #[test]
    fn azure_v8_v9_guids_and_base64() {
        let guid = "c9da6455-213d-42c9-9a79-3e9149a57833";
        let mut text = String::new();
        parsed(EdmType::Guid, &guid.to_uppercase()).expect("a guid").write_text(&mut text);
        assert_eq!(text, guid);
        for text in [
            "",
            "c9da6455213d42c99a793e9149a57833",
            "{c9da6455-213d-42c9-9a79-3e9149a57833}",
            "g9da6455-213d-42c9-9a79-3e9149a57833",
        ] {
            assert_eq!(parsed(EdmType::Guid, text), None, "{text}");
        }
        assert_eq!(parsed(EdmType::Binary, ""), Some(EdmValue::Binary(Cow::Borrowed(&[]))));
        assert_eq!(parsed(EdmType::Binary, "AQID"), Some(EdmValue::Binary(Cow::Borrowed(&[1, 2, 3]))));
        for text in ["A", "AQ", "AQI", "A_==", "AQID\n"] {
            assert_eq!(parsed(EdmType::Binary, text), None, "{text}");
        }
        assert_eq!((parse_hex("0aFF"), parse_hex("0a1"), parse_hex("0g")), (Some(vec![10, 255]), None, None));
    }

    #[test]
    fn azure_l4_texts_and_bytes_have_a_limit() {
        let text = |units: usize| EdmValue::String(Cow::Owned("é".repeat(units))).check();
        assert!(text(32_768).is_ok() && text(32_769).is_err());
        let bytes = |count: usize| EdmValue::Binary(Cow::Owned(vec![0; count])).check();
        assert!(bytes(65_536).is_ok() && bytes(65_537).is_err());
    }
}
