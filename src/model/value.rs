//! Attribute values (D2).

use serde::Deserialize;

/// The type of an attribute value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ValueType {
    /// A 64-bit signed integer.
    Integer,
    /// A 64-bit float; never NaN or infinite.
    Double,
    /// True or false.
    Boolean,
    /// UTF-8 text, at most 2 MB, possibly empty.
    String,
    /// Bytes, at most 2 MB, possibly none.
    Binary,
}

impl ValueType {
    /// The types by the names that callers give.
    pub const NAMES: [(&str, Self); 5] = [
        ("INTEGER", Self::Integer),
        ("DOUBLE", Self::Double),
        ("BOOLEAN", Self::Boolean),
        ("STRING", Self::String),
        ("BINARY", Self::Binary),
    ];

    /// The type's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::NAMES.into_iter().find(|(_, other)| *other == self).map_or("", |(name, _)| name)
    }

    /// The type's name in the service's messages.
    #[must_use]
    pub fn variant(self) -> &'static str {
        match self {
            Self::Integer => "VT_INTEGER",
            Self::Double => "VT_DOUBLE",
            Self::Boolean => "VT_BOOLEAN",
            Self::String => "VT_STRING",
            Self::Binary => "VT_BLOB",
        }
    }
}

/// An attribute value that owns its bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// See [`ValueType::Integer`].
    Integer(i64),
    /// See [`ValueType::Double`].
    Double(f64),
    /// See [`ValueType::Boolean`].
    Boolean(bool),
    /// See [`ValueType::String`].
    String(String),
    /// See [`ValueType::Binary`].
    Binary(Vec<u8>),
}

/// An attribute value that borrows its bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// See [`ValueType::Integer`].
    Integer(i64),
    /// See [`ValueType::Double`].
    Double(f64),
    /// See [`ValueType::Boolean`].
    Boolean(bool),
    /// See [`ValueType::String`].
    String(&'a str),
    /// See [`ValueType::Binary`].
    Binary(&'a [u8]),
}

impl Value {
    /// The same value, borrowed.
    #[must_use]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Self::Integer(v) => ValueRef::Integer(*v),
            Self::Double(v) => ValueRef::Double(*v),
            Self::Boolean(v) => ValueRef::Boolean(*v),
            Self::String(v) => ValueRef::String(v),
            Self::Binary(v) => ValueRef::Binary(v),
        }
    }
}

impl ValueRef<'_> {
    /// The value's type.
    #[must_use]
    pub fn value_type(self) -> ValueType {
        match self {
            Self::Integer(_) => ValueType::Integer,
            Self::Double(_) => ValueType::Double,
            Self::Boolean(_) => ValueType::Boolean,
            Self::String(_) => ValueType::String,
            Self::Binary(_) => ValueType::Binary,
        }
    }

    /// The same value with bytes of its own.
    #[must_use]
    pub fn to_owned(self) -> Value {
        match self {
            Self::Integer(v) => Value::Integer(v),
            Self::Double(v) => Value::Double(v),
            Self::Boolean(v) => Value::Boolean(v),
            Self::String(v) => Value::String(v.to_owned()),
            Self::Binary(v) => Value::Binary(v.to_vec()),
        }
    }

    /// The bytes that capacity units count for the value (C1): 8 for numbers, 1 for a boolean, else its length.
    #[must_use]
    pub fn metered_bytes(self) -> usize {
        match self {
            Self::Integer(_) | Self::Double(_) => 8,
            Self::Boolean(_) => 1,
            Self::String(v) => v.len(),
            Self::Binary(v) => v.len(),
        }
    }
}
