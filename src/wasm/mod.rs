//! The edge to JavaScript: the only code that names a browser API.
//!
//! It converts and calls, and makes no decisions: [`session`](crate::session) and [`tablestore`](crate::tablestore)
//! interpret the calls.

mod admin;
mod engine;
pub mod env;
mod error;
mod files;
pub mod idb;
mod instances;
mod opened;
mod session;

pub use engine::{Engine, progress};
pub use instances::{create_instance, delete_instance, describe_instance, list_instances};
pub use session::Session;
