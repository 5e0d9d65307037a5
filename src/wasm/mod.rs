//! The edge to JavaScript: the only code that names a browser API.
//!
//! It converts and calls, and decides nothing: what a call means is [`session`](crate::session)'s and
//! [`tablestore`](crate::tablestore)'s business.

mod admin;
mod engine;
pub mod env;
mod error;
pub mod idb;
mod instances;
mod session;
mod storage;

pub use engine::Engine;
pub use instances::{create_instance, delete_instance, describe_instance, list_instances};
pub use session::Session;
pub use storage::AnyStorage;
