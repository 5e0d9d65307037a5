//! A storage in memory.

/// A storage in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryStorage;
