//! TabStore: a wide-column database that lives in a browser tab.
//!
//! Read `ARCHITECTURE.md` for the shape and `FORMAT.md` for the bytes. Data flows one way, down. [`session`] decodes a
//! client's requests, [`tablestore`] gives them their meaning, [`engine`] keeps rows in log-structured merge trees.
//! [`format`](mod@format) turns structs into bytes, and [`storage`] keeps the bytes. [`model`] is their common
//! vocabulary.

pub mod azure;
mod collections;
pub mod doors;
pub mod engine;
pub mod env;
pub mod error;
pub mod format;
pub mod model;
pub mod modules;
pub mod session;
pub mod storage;
pub mod tablestore;
#[cfg(target_arch = "wasm32")]
pub mod wasm;

pub use error::{Code, Error, Kind, Result};
