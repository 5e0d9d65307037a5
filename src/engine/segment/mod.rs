//! Segments: writing them, and the cache of their decoded records.

pub(super) mod cache;
pub(super) mod rebuild;
pub(super) mod sampler;
pub(super) mod writer;
