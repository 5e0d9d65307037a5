//! Reads: single rows, ranges, and the walks over sorted sources that flushes and compactions share.

pub(super) mod large_row;
pub(super) mod merge;
pub(super) mod order;
pub(super) mod passing;
pub(super) mod profile;
pub(super) mod reader;
pub(super) mod run_cursor;
