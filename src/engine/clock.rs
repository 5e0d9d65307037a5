//! The clocks of an engine: the store's clock, which versions and times to live are compared with, and a steady one,
//! which measures how long something lasts.
//!
//! The store's clock is the device's, wrong or right: a device whose clock was wrong once is not wrong for ever. Only
//! stamps never run backwards (see `tablestore/time.rs`). A wrong clock must not cost data, though: while the engine is
//! open, the device's clock and the steady one should go alike, and a jump of the first is told. After a jump forward
//! compaction in the background takes nothing as expired for an hour.

use super::health::Health;
use super::options::ClockMode;
use crate::env::Env;
use crate::error::{Code, Error};
use std::cell::Cell;
use std::rc::Rc;

const HOUR_MS: i64 = 3_600_000;

/// The device's clock has jumped when it has moved by more than this against the steady clock, ms.
const JUMP_MS: i64 = 24 * HOUR_MS;

/// The clocks of an engine, and what is known of the device's.
pub(super) struct Clock {
    env: Rc<dyn Env>,
    mode: ClockMode,
    /// What the device's clock showed when the store was last written to before this opening, ms.
    stored: i64,
    /// How far it was ahead of the steady clock at the last look, ms.
    ahead: Cell<i64>,
    /// Until when compaction takes nothing as expired, ms of the steady clock.
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
    /// `stored` is what the store recorded last.
    pub(super) fn new(env: Rc<dyn Env>, mode: ClockMode, stored: i64) -> Self {
        let clock = Self { env, mode, stored, ahead: Cell::new(0), distrusted_until: Cell::new(i64::MIN) };
        clock.ahead.set(clock.now_ms().saturating_sub(clock.steady_ms()));
        clock
    }

    /// The store's clock, in ms since 1970 UTC (V10): the device's, or the injected one.
    pub(super) fn now_ms(&self) -> i64 {
        self.env.now_ms()
    }

    /// A clock that measures how long something lasts, ms: it only goes forward, whatever the device's clock does. An
    /// injected clock stands for both (V10).
    pub(super) fn steady_ms(&self) -> i64 {
        match self.mode {
            ClockMode::Device => i64::try_from(self.env.ticks_us() / 1000).unwrap_or(i64::MAX),
            ClockMode::Injected => self.env.now_ms(),
        }
    }

    /// Tells whether the clock has gone back since the store was last written to.
    pub(super) fn compare_with_stored(&self, health: &Health) {
        let by = self.now_ms().saturating_sub(self.stored);
        // It may have gone forward by any time: nobody had the store open.
        if self.mode == ClockMode::Device && by < 0 && is_jump(by) {
            health.tell(None, told(by, " since the store was last used"));
        }
    }

    /// By how much the device's clock has jumped since the last look.
    fn jump(&self) -> Option<i64> {
        let steady = self.steady_ms();
        let ahead = self.now_ms().saturating_sub(steady);
        let by = ahead.saturating_sub(self.ahead.replace(ahead));
        if by > JUMP_MS {
            self.distrusted_until.set(steady.saturating_add(HOUR_MS));
        }
        is_jump(by).then_some(by)
    }

    /// Looks whether the device's clock has jumped.
    pub(super) fn watch(&self, health: &Health) {
        if self.mode == ClockMode::Device
            && let Some(by) = self.jump()
        {
            health.tell(None, told(by, ""));
        }
    }

    /// The instant at which compaction in the background judges what is expired. Soon after a jump forward nothing is.
    pub(super) fn expiry_ms(&self, health: &Health) -> i64 {
        self.watch(health);
        if self.steady_ms() < self.distrusted_until.get() { i64::MIN } else { self.now_ms() }
    }

    /// What the store records as the device's clock. A lesson that travelled in time leaves no trace there.
    pub(super) fn to_store(&self) -> i64 {
        match self.mode {
            ClockMode::Device => self.now_ms(),
            ClockMode::Injected => self.stored,
        }
    }
}
