//! Storages that misbehave on purpose.
