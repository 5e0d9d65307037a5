//! The fuzz targets (fuzz/) on inputs that seeds fix, so that they are exercised by every run of the tests.

#[path = "../../fuzz/driver/mod.rs"]
mod driver;

use tabstore::env::sim::SimEnv;

/// An input as long as 2000 bytes.
fn input(seed: u64) -> Vec<u8> {
    let world = SimEnv::shuffled(0, seed);
    let length = world.random() % 2000;
    (0..length).map(|_| (world.random() >> 32) as u8).collect()
}

/// Runs a target on inputs; says which one it was that something went wrong with.
fn drive(target: fn(&[u8]), seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let survived = std::panic::catch_unwind(|| target(&input(seed)));
        assert!(survived.is_ok(), "the input of seed {seed} broke the store");
    }
}

/// R8: whatever is asked for, nothing breaks, and acknowledged data is there.
#[test]
fn requests_of_any_kind_never_break_the_store() {
    drive(driver::requests, 0..2000 * super::times());
}

/// R7: requests reach the inside of transactions. An eighth of them succeed there; most others are wrong anywhere.
#[test]
fn r7_requests_of_any_kind_succeed_inside_transactions_too() {
    let (mut inside, mut done) = (0, 0);
    for seed in 0..400 {
        let of_input = driver::done_in_transactions(&input(seed));
        (inside, done) = (inside + of_input.0, done + of_input.1);
    }
    assert!(inside > 200 && 8 * done > inside, "{done} of {inside}");
}

#[test]
fn bytes_of_any_kind_never_break_the_store() {
    drive(driver::frames, 0..2000 * super::times());
}

/// R8: whatever is stored, and however it is damaged, it is what was stored, a block or damage.
#[test]
fn blocks_of_any_kind_come_back_or_are_refused() {
    drive(driver::blocks, 0..4000 * super::times());
}

/// Z3: whatever passes the door of Azure, it is answered, and a stranger gets nothing.
#[test]
fn azure_requests_of_any_kind_are_answered() {
    drive(driver::azure, 0..2000 * super::times());
}

/// I6: whatever passes the door of Table Store, it is answered, and a stranger gets nothing.
#[test]
fn i6_table_store_requests_of_any_kind_are_answered() {
    drive(driver::tablestore, 0..2000 * super::times());
}

/// R1: many of those requests on rows are done, so that what is behind the door is reached.
#[test]
fn r1_table_store_requests_of_any_kind_reach_the_rows() {
    let (mut asked, mut done) = (0, 0);
    for seed in 0..400 {
        let of_input = driver::done_at_the_door(&input(seed));
        (asked, done) = (asked + of_input.0, done + of_input.1);
    }
    assert!(asked > 2000 && 10 * done > asked, "{done} of {asked}");
}
