//! Versions, time to live and the window of versions a write may give (V4 to V7). Compared in seconds.

/// The versions of a column that a table keeps: how many, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// The number of newest versions of a column to keep; at least 1.
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
        version < self.oldest(now)
    }

    /// The oldest version (ms) that is visible when the clock shows `now` (ms): V7. The first of its second.
    #[must_use]
    pub fn oldest(&self, now: i64) -> i64 {
        self.time_to_live.map_or(i64::MIN, |ttl| second(now).saturating_sub(ttl).saturating_mul(1000))
    }
}

/// The versions that a write may give its cells: seconds in `[max(now - offset, now - TTL), now + offset)` (V6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    from_second: i64,
    to_second: i64,
}

impl Window {
    /// The window of a table with this retention and this max version offset (seconds), at `now` (ms).
    #[must_use]
    pub fn new(retention: Retention, offset: i64, now: i64) -> Self {
        let now = second(now);
        let reach_back = retention.time_to_live.map_or(offset, |ttl| ttl.min(offset));
        Self { from_second: now.saturating_sub(reach_back), to_second: now.saturating_add(offset) }
    }

    /// Whether `version` (ms) may be written.
    #[must_use]
    pub fn contains(&self, version: i64) -> bool {
        (self.from_second..self.to_second).contains(&second(version))
    }

    /// Its ends in ms: the first version that may be written, and the first one behind it that may not.
    #[must_use]
    pub fn ends(&self) -> (i64, i64) {
        (self.from_second.saturating_mul(1000), self.to_second.saturating_mul(1000))
    }
}

/// The second a version or an instant (both ms since 1970) lies in.
#[must_use]
pub fn second(ms: i64) -> i64 {
    ms.div_euclid(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Retention = Retention { max_versions: 1, time_to_live: Some(86_400) };
    /// 2016-07-21 00:00:00 UTC+8.
    const NOW: i64 = 1_469_030_400_000;

    #[test]
    fn v7_boundary_instants() {
        let window = Window::new(DAY, 86_400, NOW);
        assert!(window.contains(1_468_944_000_000) && !DAY.expired(1_468_944_000_000, NOW));
        assert_eq!(window.ends(), (1_468_944_000_000, 1_469_116_800_000), "as messages tell them");
        for outside in [1_468_943_999_999, 1_468_943_999_000] {
            assert!(!window.contains(outside) && DAY.expired(outside, NOW), "{outside}");
        }
        assert!(window.contains(1_469_116_799_999) && !window.contains(1_469_116_800_000));
        assert!(!DAY.expired(1_468_944_000_000, NOW + 999) && DAY.expired(1_468_944_000_000, NOW + 1000));
    }

    #[test]
    fn v6_without_time_to_live_only_the_offset_counts() {
        let forever = Retention { time_to_live: None, ..DAY };
        assert!(Window::new(forever, 2_000_000_000, NOW).contains(0), "an offset that reaches behind 1970");
        assert!(!forever.expired(0, NOW));
        let short_lived = Window::new(DAY, 1_000_000, NOW);
        assert!(
            !short_lived.contains(NOW - 86_401_000) && short_lived.contains(NOW + 86_401_000),
            "TTL bounds the past"
        );
        let narrow = Window::new(Retention { time_to_live: Some(1_000_000), ..DAY }, 10, NOW);
        assert!(narrow.contains(NOW - 10_000) && !narrow.contains(NOW - 10_001), "the offset bounds the past");
        let extreme = Window::new(forever, i64::MAX / 1_000_000, i64::MAX);
        assert!(extreme.contains(i64::MAX));
    }
}
