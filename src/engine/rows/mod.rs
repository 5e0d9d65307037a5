//! Rows as bytes: their keys, how fragments become a row, and which instants readers hold.

pub(super) mod holds;
pub(super) mod keys;
pub(super) mod row;
