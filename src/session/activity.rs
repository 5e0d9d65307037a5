//! The activity of all sessions of an instance: requests, latencies and failures by operation (I5).
//!
//! Clocks are slow to read, so time is read once for each frame that comes and once for each that leaves. A request
//! lasts from the arrival of its frame until its response leaves. Rates come from the counts of the last seconds.

use super::codec::contract::op::METRICS;

/// Counts are kept by the numbers of operations, which begin with 1.
const COUNT: usize = METRICS.len() + 1;
/// Rates cover this many seconds, including the running one.
const WINDOW: u64 = 5;
const SECOND: u64 = 1_000_000;

/// The activity of one operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperationActivity {
    /// The operation.
    pub name: &'static str,
    /// Requests answered since the instance was opened.
    pub requests: u64,
    /// Those of them that were refused or failed. A batch counts only if it failed as a whole.
    pub errors: u64,
    /// Requests answered per second, in the last five seconds.
    pub requests_per_second: f64,
    /// Their mean latency, in ms; 0 if there were none.
    pub mean_latency_ms: f64,
}

/// The activity of all sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct ActivityReport {
    /// By operation.
    pub operations: Vec<OperationActivity>,
    /// Read units used per second, in the last five seconds.
    pub read_per_second: f64,
    /// Write units.
    pub write_per_second: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    requests: u64,
    errors: u64,
    /// Microseconds, summed up.
    latency: u64,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.errors += other.errors;
        self.latency = self.latency.wrapping_add(other.latency);
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    second: u64,
    operations: [Count; COUNT],
    units: [u64; 2],
}

/// Counts the activity of all sessions. Times are microseconds of a clock that only goes forward.
#[derive(Debug, Default)]
pub(super) struct Activity {
    began: u64,
    /// Answered requests whose response has not left. `left` adds the time of leaving to their latency.
    leaving: [Count; COUNT],
    total: [Count; COUNT],
    buckets: [Bucket; WINDOW as usize],
    /// The units that the instance had used at the last look.
    units: [u64; 2],
}

impl Activity {
    pub(super) fn new(now: u64, units: [u64; 2]) -> Self {
        Self { began: now, units, ..Self::default() }
    }

    /// A request that came at `started` is answered.
    pub(super) fn answered(&mut self, operation: u8, started: u64, failed: bool) {
        if let Some(count) = self.leaving.get_mut(usize::from(operation)) {
            count.add(Count { requests: 1, errors: u64::from(failed), latency: started.wrapping_neg() });
        }
    }

    /// The answered requests leave. `units` are all that the instance has used.
    pub(super) fn left(&mut self, now: u64, units: [u64; 2]) {
        let second = now / SECOND;
        let bucket = &mut self.buckets[(second % WINDOW) as usize];
        if bucket.second != second {
            *bucket = Bucket { second, ..Bucket::default() };
        }
        for ((leaving, total), recent) in self.leaving.iter_mut().zip(&mut self.total).zip(&mut bucket.operations) {
            if leaving.requests == 0 {
                continue;
            }
            let mut count = std::mem::take(leaving);
            count.latency = count.latency.wrapping_add(now.wrapping_mul(count.requests));
            total.add(count);
            recent.add(count);
        }
        for ((used, before), recent) in units.into_iter().zip(&mut self.units).zip(&mut bucket.units) {
            *recent += used.saturating_sub(*before);
            *before = used;
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
    pub(super) fn report(&self, now: u64) -> ActivityReport {
        let first = (now / SECOND).saturating_sub(WINDOW - 1);
        let recent = || self.buckets.iter().filter(move |bucket| bucket.second >= first);
        let since = (first * SECOND).max(self.began);
        let seconds = (now.saturating_sub(since) as f64 / SECOND as f64).max(1.0);
        // Several operations may have one name. Those without are not told.
        let mut counts: Vec<(&'static str, Count, Count)> = Vec::new();
        for (number, name) in METRICS.iter().filter(|(_, name)| !name.is_empty()) {
            let number = usize::from(*number);
            let place = counts.iter().position(|(known, ..)| known == name).unwrap_or_else(|| {
                counts.push((name, Count::default(), Count::default()));
                counts.len() - 1
            });
            let (_, total, window) = &mut counts[place];
            total.add(self.total[number]);
            recent().for_each(|bucket| window.add(bucket.operations[number]));
        }
        let operation = |(name, total, window): (&'static str, Count, Count)| OperationActivity {
            name,
            requests: total.requests,
            errors: total.errors,
            requests_per_second: window.requests as f64 / seconds,
            mean_latency_ms: window.latency as f64 / 1000.0 / window.requests.max(1) as f64,
        };
        let units = |kind: usize| recent().map(|bucket| bucket.units[kind]).sum::<u64>() as f64 / seconds;
        ActivityReport {
            operations: counts.into_iter().map(operation).collect(),
            read_per_second: units(0),
            write_per_second: units(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::codec::contract::op;

    fn of(report: &ActivityReport, name: &str) -> OperationActivity {
        *report.operations.iter().find(|operation| operation.name == name).expect("it is listed")
    }

    #[test]
    fn i5_rates_and_latencies_are_those_of_the_last_seconds() {
        let mut activity = Activity::new(0, [0, 0]);
        for second in 0..10 {
            let now = second * SECOND;
            for _ in 0..20 {
                activity.answered(op::PUT_ROW, now, false);
            }
            activity.answered(op::GET_ROW, now + 1000, true);
            activity.left(now + 3000, [(second + 1) * 7, 0]);
        }
        let report = activity.report(10 * SECOND - 1);
        let put = of(&report, "PutRow");
        assert_eq!((put.requests, put.errors), (200, 0));
        assert!((put.requests_per_second - 20.0).abs() < 0.01 && (put.mean_latency_ms - 3.0).abs() < 1e-9);
        let get = of(&report, "GetRow");
        assert_eq!((get.requests, get.errors), (10, 10));
        assert!((get.mean_latency_ms - 2.0).abs() < 1e-9);
        assert!((report.read_per_second - 7.0).abs() < 0.01);
        let later = of(&activity.report(60 * SECOND), "PutRow");
        assert_eq!((later.requests, later.requests_per_second, later.mean_latency_ms), (200, 0.0, 0.0));
    }
}
