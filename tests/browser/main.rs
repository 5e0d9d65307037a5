//! Tests that need a browser: whether IndexedDB is as we think. `cargo xtask test wasm` runs this in a page and in a
//! dedicated worker.

#![cfg(target_arch = "wasm32")]
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod blocks;
mod catalogue;
mod contract;
mod decimals;
mod edge;
mod env;
mod idb;
