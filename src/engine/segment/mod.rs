//! Segments: writing them, the cache of their decoded records, and a second cache behind it.

pub(super) mod cache;
pub(super) mod file_cache;
pub(super) mod rebuild;
pub(super) mod sampler;
pub(super) mod second_cache;
pub(super) mod writer;
