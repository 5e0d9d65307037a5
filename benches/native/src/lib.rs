//! The common part of the native measurements: rows, a world that takes time, a storage outside the engine's memory.
//!
//! Figures are CPU time and not wall time: CPU time does not depend on other work of the machine.

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
