//! The activity of all sessions of an instance: requests, latencies and failures by operation (I5).
//!
//! Clocks are slow to read, so time is read once for each frame that comes and once for each that leaves. A request
//! lasts from the arrival of its frame until its response leaves. Rates, means and percentiles come from the counts of
//! the last seconds.

use super::codec::contract::op::METRICS;
use super::latencies::{Latencies, Spread};

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
    /// The latency that half of them did not exceed, in ms, at most 1/32 away; 0 if there were none.
    pub p50_latency_ms: f64,
    /// The same of 99 in 100.
    pub p99_latency_ms: f64,
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
        self.latency += other.latency;
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    second: u64,
    operations: [Count; COUNT],
    units: [u64; 2],
}

/// Answered requests of one operation and one frame whose responses have not left.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    operation: usize,
    /// When their frame came.
    started: u64,
    requests: u64,
    errors: u64,
}

/// Counts the activity of all sessions. Times are microseconds of a clock that only goes forward.
#[derive(Debug, Default)]
pub(super) struct Activity {
    began: u64,
    /// They have no latency before they leave.
    leaving: Vec<Leaving>,
    total: [Count; COUNT],
    buckets: [Bucket; WINDOW as usize],
    latencies: [Latencies<{ WINDOW as usize }>; COUNT],
    /// The units that the instance had used at the last look.
    units: [u64; 2],
}

impl Activity {
    pub(super) fn new(now: u64, units: [u64; 2]) -> Self {
        Self { began: now, units, ..Self::default() }
    }

    /// A request that came at `started` is answered.
    pub(super) fn answered(&mut self, operation: u8, started: u64, failed: bool) {
        let (operation, errors) = (usize::from(operation), u64::from(failed));
        if operation >= COUNT {
            return;
        }
        // A frame may mix a few operations.
        let mut newest = self.leaving.iter_mut().rev().take(4);
        match newest.find(|known| known.operation == operation && known.started == started) {
            Some(known) => {
                known.requests += 1;
                known.errors += errors;
            }
            None => self.leaving.push(Leaving { operation, started, requests: 1, errors }),
        }
    }

    /// The answered requests leave. `units` are all that the instance has used.
    pub(super) fn left(&mut self, now: u64, units: [u64; 2]) {
        let second = now / SECOND;
        let place = (second % WINDOW) as usize;
        let bucket = &mut self.buckets[place];
        if bucket.second != second {
            *bucket = Bucket { second, ..Bucket::default() };
            self.latencies.iter_mut().for_each(|latencies| latencies.forget(place));
        }
        for Leaving { operation, started, requests, errors } in self.leaving.drain(..) {
            let latency = now.saturating_sub(started);
            let count = Count { requests, errors, latency: latency * requests };
            self.total[operation].add(count);
            bucket.operations[operation].add(count);
            self.latencies[operation].add(place, latency, requests);
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
        let mut counts: Vec<(&'static str, Count, Count, Spread)> = Vec::new();
        for (number, name) in METRICS.iter().filter(|(_, name)| !name.is_empty()) {
            let number = usize::from(*number);
            let place = counts.iter().position(|(known, ..)| known == name).unwrap_or_else(|| {
                counts.push((name, Count::default(), Count::default(), Spread::default()));
                counts.len() - 1
            });
            let (_, total, window, spread) = &mut counts[place];
            total.add(self.total[number]);
            for (place, bucket) in self.buckets.iter().enumerate().filter(|(_, bucket)| bucket.second >= first) {
                window.add(bucket.operations[number]);
                spread.add(&self.latencies[number], place);
            }
        }
        let operation = |(name, total, window, spread): (&'static str, Count, Count, Spread)| OperationActivity {
            name,
            requests: total.requests,
            errors: total.errors,
            requests_per_second: window.requests as f64 / seconds,
            mean_latency_ms: window.latency as f64 / 1000.0 / window.requests.max(1) as f64,
            p50_latency_ms: spread.percentile(50) as f64 / 1000.0,
            p99_latency_ms: spread.percentile(99) as f64 / 1000.0,
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
            // Of another frame.
            activity.answered(op::DELETE_ROW, now, false);
            activity.answered(op::DELETE_ROW, now + 2000, false);
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
        for (operation, p50, p99) in [(put, 3.0, 3.0), (get, 2.0, 2.0), (of(&report, "DeleteRow"), 1.0, 3.0)] {
            let near = |told: f64, exact: f64| (told - exact).abs() <= exact / 32.0;
            assert!(near(operation.p50_latency_ms, p50) && near(operation.p99_latency_ms, p99), "{operation:?}");
        }
        assert!((report.read_per_second - 7.0).abs() < 0.01);
        let later = of(&activity.report(60 * SECOND), "PutRow");
        assert_eq!((later.requests, later.requests_per_second, later.mean_latency_ms), (200, 0.0, 0.0));
        assert_eq!((later.p50_latency_ms, later.p99_latency_ms), (0.0, 0.0));
    }

    #[test]
    fn i5_a_percentile_is_of_the_last_five_seconds_only() {
        let mut activity = Activity::new(0, [0, 0]);
        let mut answer = |second: u64, latency: u64| {
            activity.answered(op::PUT_ROW, second * SECOND, false);
            activity.left(second * SECOND + latency, [0, 0]);
            activity.report(second * SECOND + latency)
        };
        answer(10, 20);
        answer(11, 10);
        assert!((of(&answer(14, 10), "PutRow").p99_latency_ms - 0.02).abs() < 1e-9, "of second 10");
        assert!((of(&answer(15, 10), "PutRow").p99_latency_ms - 0.01).abs() < 1e-9, "second 10 has passed");
    }

    #[test]
    fn i5_operations_of_one_name_have_their_percentiles_together() {
        let mut activity = Activity::new(0, [0, 0]);
        (0..99).for_each(|_| activity.answered(op::BATCH_WRITE_ROW, 0, false));
        activity.left(10, [0, 0]);
        activity.answered(op::BATCH_WRITE_ROW_ATOMIC, 10, true);
        activity.left(40, [0, 0]);
        let batch = of(&activity.report(50), "BatchWriteRow");
        assert_eq!((batch.requests, batch.errors), (100, 1));
        assert!((batch.p50_latency_ms - 0.01).abs() < 1e-9 && (batch.p99_latency_ms - 0.01).abs() < 1e-9, "{batch:?}");
        activity.answered(op::BATCH_WRITE_ROW_ATOMIC, 50, false);
        activity.left(80, [0, 0]);
        assert!((of(&activity.report(90), "BatchWriteRow").p99_latency_ms - 0.03).abs() < 1e-9);
    }
}
