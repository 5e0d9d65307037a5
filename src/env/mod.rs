//! The engine's environment besides storage: time, randomness, and a place to run background work.
//!
//! Nothing in the crate may get these in any other way (`clippy.toml` bans the alternatives), so one seed replays a whole
//! simulated life (architecture: deterministic core).

use crate::error::Result;
use crate::modules::Module;
use std::future::Future;
use std::pin::Pin;

/// A future that lives on this thread.
pub type LocalFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// The outside world of an engine.
pub trait Env {
    /// The device's clock, in milliseconds since 1970 UTC. It may stand still or jump; the engine copes.
    fn now_ms(&self) -> i64;

    /// Microseconds since some instant, from a clock that only goes forward. For measuring durations.
    fn ticks_us(&self) -> u64;

    /// Fills `out` with random bytes.
    fn fill_random(&self, out: &mut [u8]);

    /// Runs `task` on this thread, some time after this call returns.
    fn spawn(&self, task: LocalFuture<()>);

    /// Lets other work of this thread run first, after a slice of background work.
    fn yield_now(&self) -> LocalFuture<()>;

    /// Sleeps at least this long. Dropping the future leaves nothing behind.
    fn sleep(&self, ms: u32) -> LocalFuture<()>;

    /// Whether the code of a module is there.
    fn has(&self, module: Module) -> bool;

    /// Loads the code of a module, unless it is there.
    ///
    /// # Errors
    /// `Unavailable` when its file cannot be had. The next call tries again.
    fn load(&self, module: Module) -> LocalFuture<Result<()>>;
}

#[cfg(not(target_arch = "wasm32"))]
pub mod sim;
