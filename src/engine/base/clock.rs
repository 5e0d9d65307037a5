//! The engine's clocks. The store's clock is the reference for versions and times to live. The steady clock measures
//! durations.
//!
//! The store's clock is the device's, wrong or right: a clock that was wrong once is right again when the device's is.
//! Only stamps never run backwards (see `tablestore/rows/time.rs`). A wrong clock must not cost data, though. While the engine
//! is open, it compares the device's clock with the steady one and reports a jump. After a jump forward, background
//! compaction treats nothing as expired for an hour.

use super::health::Health;
use super::options::ClockMode;
use crate::env::Env;
use crate::error::{Code, Error};
use std::cell::Cell;
use std::rc::Rc;

const HOUR_MS: i64 = 3_600_000;

/// A jump: the device's clock has moved by more than this against the steady clock, ms.
const JUMP_MS: i64 = 24 * HOUR_MS;

/// The engine's clocks, and the observed state of the device's.
pub struct Clock {
    env: Rc<dyn Env>,
    mode: ClockMode,
    /// The device's clock at the last write before this opening, ms.
    stored: i64,
    /// The lead over the steady clock at the last check, ms.
    ahead: Cell<i64>,
    /// Until then compaction treats nothing as expired, ms of the steady clock.
    distrusted_until: Cell<i64>,
}

fn is_jump(by: i64) -> bool {
    by.unsigned_abs() > JUMP_MS.unsigned_abs()
}

fn told(by: i64, since: &str) -> Error {
    let days = by.unsigned_abs() / JUMP_MS.unsigned_abs();
    let way = if by > 0 { "forward" } else { "back" };
    let text = format!("The device's clock has jumped {way} by {days} days{since}.");
    let hint = "The store follows the device's clock. Versions and times to live are compared with it.";
    Error::new(Code::ClockJumped, text).with_hint(hint)
}

impl Clock {
    /// `stored` is the clock that the store recorded last.
    pub(crate) fn new(env: Rc<dyn Env>, mode: ClockMode, stored: i64) -> Self {
        let clock = Self { env, mode, stored, ahead: Cell::new(0), distrusted_until: Cell::new(i64::MIN) };
        clock.ahead.set(clock.now_ms().saturating_sub(clock.steady_ms()));
        clock
    }

    /// The store's clock, in ms since 1970 UTC (V10): the device's, or the injected one.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.env.now_ms()
    }

    /// A clock for durations, ms: it only goes forward, even if the device's clock does not. An injected clock replaces
    /// both (V10).
    #[must_use]
    pub fn steady_ms(&self) -> i64 {
        match self.mode {
            ClockMode::Device => i64::try_from(self.env.ticks_us() / 1000).unwrap_or(i64::MAX),
            ClockMode::Injected => self.env.now_ms(),
        }
    }

    /// Reports a clock that is behind the store's last write.
    pub(crate) fn compare_with_stored(&self, health: &Health) {
        let by = self.now_ms().saturating_sub(self.stored);
        // A clock ahead is normal: the store may have been closed for any time.
        if self.mode == ClockMode::Device && by < 0 && is_jump(by) {
            health.tell(None, told(by, " since the store was last used"));
        }
    }

    /// The jump of the device's clock since the last check.
    fn jump(&self) -> Option<i64> {
        let steady = self.steady_ms();
        let ahead = self.now_ms().saturating_sub(steady);
        let by = ahead.saturating_sub(self.ahead.replace(ahead));
        if by > JUMP_MS {
            self.distrusted_until.set(steady.saturating_add(HOUR_MS));
        }
        is_jump(by).then_some(by)
    }

    /// Checks the device's clock for a jump.
    pub(crate) fn watch(&self, health: &Health) {
        if self.mode == ClockMode::Device
            && let Some(by) = self.jump()
        {
            health.tell(None, told(by, ""));
        }
    }

    /// The instant for expiry in background compaction. Soon after a jump forward nothing is expired.
    pub(crate) fn expiry_ms(&self, health: &Health) -> i64 {
        self.watch(health);
        if self.steady_ms() < self.distrusted_until.get() { i64::MIN } else { self.now_ms() }
    }

    /// The clock to record in the store. A lesson with an injected clock leaves no trace there.
    pub(crate) fn to_store(&self) -> i64 {
        match self.mode {
            ClockMode::Device => self.now_ms(),
            ClockMode::Injected => self.stored,
        }
    }
}
