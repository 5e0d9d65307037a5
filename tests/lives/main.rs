//! Lives of a store: random ones against a plain model, crashes at every commit, faults at every call.
//!
//! One seed fixes a whole life: its operations, the order in which tasks run, its clock.

mod azure;
mod counters;
mod crash;
mod crowd;
mod decider;
mod decisions;
mod faults;
mod fuzz;
mod indexed_crash;
mod judged;
mod keyed;
mod loads;
mod manifests;
mod memory;
mod model;
mod partitioning;
mod races;
mod random;
mod script;
#[path = "../behaviour/store.rs"]
#[expect(dead_code, reason = "shared with the behaviour tests, which need all of it")]
mod store;
mod texts;
mod transactions;

use tabstore::env::sim::share;

/// How many times as many lives as the test command takes: `TABSTORE_TIMES=50` searches longer.
fn times() -> u64 {
    std::env::var("TABSTORE_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

/// The seeds of `count` lives, as many times as [`times`] says; one alone if `TABSTORE_SEED` names it. `TABSTORE_SHARE=3` takes a
/// third of them.
fn seeds(first: u64, count: u64) -> std::ops::Range<u64> {
    match std::env::var("TABSTORE_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => first..first + (count * times()).div_ceil(share()),
    }
}

/// How many microseconds pass in a life from one look at the clock to the next: none, or so many that background work ends its slice
/// at each second look, or at each.
fn work_us(seed: u64) -> u64 {
    seed % 3 * 2500
}
