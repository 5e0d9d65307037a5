//! Bytes with a meaning of their own, beneath all layouts.

/// The version of both kinds of frame.
pub const VERSION: u8 = 1;

/// Added to the number of an operation that is part of a transaction.
pub const IN_TRANSACTION: u8 = 0x40;

/// The bytes before values. The contract declares the same ones.
pub(super) mod tag {
    // A row's values leave the engine with the tags that they have in fragments.
    pub(in crate::session) use crate::model::tags::*;

    pub(in crate::session) const INF_MIN: u8 = 8;
    pub(in crate::session) const INF_MAX: u8 = 9;
    pub(in crate::session) const AUTO_INCREMENT: u8 = 10;
}
