//! Beneath everything: options, clocks, counters, latches, and problems to report.

pub(super) mod clock;
pub(super) mod counters;
pub(super) mod health;
pub(super) mod latch;
pub(super) mod missing;
pub(super) mod options;
pub(crate) mod pauses;
pub(super) mod runtime;
pub(super) mod slices;
pub(super) mod wiring;
