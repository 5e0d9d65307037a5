//! Versions, time to live and the window of versions a write may give (V4 to V7). Compared in seconds.

/// What a table keeps of a column: how many versions, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// The newest this many versions of a column are kept; at least 1.
    pub max_versions: u32,
    /// How old, in seconds, a version may be; `None` is for ever (the option's -1).
    pub time_to_live: Option<i64>,
}

impl Retention {
    /// Keeps everything.
    pub const ALL: Self = Self { max_versions: u32::MAX, time_to_live: None };

    /// Whether a version (ms) has outlived its time to live when the store's clock shows `now` (ms): V7.
    #[must_use]
    pub fn expired(&self, version: i64, now: i64) -> bool {
        self.time_to_live.is_some_and(|ttl| second(version) < second(now).saturating_sub(ttl))
    }
}

/// The second a version or an instant (both ms since 1970) lies in.
#[must_use]
pub fn second(ms: i64) -> i64 {
    ms.div_euclid(1000)
}
