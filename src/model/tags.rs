//! The numbers that stand for types of values. Stored databases contain them, so they never change.
//!
//! Fragments, blocks, requests and pages share the bytes here. Keys and the catalog have older numbers of their own: those of
//! keys decide their order.

use super::ValueType;

/// Before an Integer.
pub const INTEGER: u8 = 2;
/// Before a Double.
pub const DOUBLE: u8 = 3;
/// False.
pub const FALSE: u8 = 4;
/// True.
pub const TRUE: u8 = 5;
/// Before a String.
pub const STRING: u8 = 6;
/// Before a Binary.
pub const BINARY: u8 = 7;

/// In encoded keys.
pub(super) mod key {
    pub(in crate::model) const INF_MIN: u8 = 0x01;
    pub(in crate::model) const INTEGER: u8 = 0x02;
    pub(in crate::model) const STRING: u8 = 0x03;
    pub(in crate::model) const BINARY: u8 = 0x04;
    pub(in crate::model) const INF_MAX: u8 = 0xFE;
}

/// In the catalog.
pub const CATALOG: [(u32, ValueType); 5] = [
    (1, ValueType::Integer),
    (2, ValueType::String),
    (3, ValueType::Binary),
    (4, ValueType::Double),
    (5, ValueType::Boolean),
];
