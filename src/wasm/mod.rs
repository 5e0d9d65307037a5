//! The edge to JavaScript: the only code that names a browser API.
//!
//! It converts and calls, and decides nothing: what a call means is [`session`](crate::session)'s business.

pub mod env;
pub mod idb;
mod storage;

pub use storage::AnyStorage;
