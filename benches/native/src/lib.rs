//! What the native measurements share: rows, a world that takes time, a storage that is not the engine's memory.
//!
//! Figures are CPU time, not time on the wall: those do not depend on what else the machine does.

pub mod memory;
pub mod rows;
pub mod store;
pub mod world;

use std::time::Duration;

fn clock(id: rustix::time::ClockId) -> Duration {
    let now = rustix::time::clock_gettime(id);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

/// CPU time of this thread so far.
pub fn thread_time() -> Duration {
    clock(rustix::time::ClockId::ThreadCPUTime)
}

/// CPU time of all threads so far: others' background threads count too.
pub fn process_time() -> Duration {
    clock(rustix::time::ClockId::ProcessCPUTime)
}
