//! The activity of all sessions of an instance: requests, latencies and failures by operation (I5).
//!
//! Clocks are slow to read, so time is read once for each frame that comes and once for each that leaves. A request
//! lasts from the arrival of its frame until its response leaves. Rates come from the counts of the last seconds.

use super::codec::contract::op::{self, METRICS};

/// The names of operations in metrics.
const NAMES: [&str; COUNT] = names();
/// The number of different names.
const COUNT: usize = count(METRICS.len());
/// The place of an operation's name, by the operation's number. [`COUNT`] for operations without a name in metrics.
const PLACES: [u8; op::IN_TRANSACTION as usize] = places();

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let (mut at, mut same) = (0, a.len() == b.len());
    while same && at < a.len() {
        same = a[at] == b[at];
        at += 1;
    }
    same
}

/// Whether metrics tell the name of this declared operation, and no earlier operation has the same name.
const fn is_new(at: usize) -> bool {
    let mut before = 0;
    while before < at && !is_same(METRICS[before].1, METRICS[at].1) {
        before += 1;
    }
    before == at && !METRICS[at].1.is_empty()
}

/// The number of different names of the first declared operations.
const fn count(operations: usize) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < operations {
        count += is_new(at) as usize;
        at += 1;
    }
    count
}

const fn names() -> [&'static str; COUNT] {
    let (mut names, mut at) = ([""; COUNT], 0);
    while at < METRICS.len() {
        if is_new(at) {
            names[count(at)] = METRICS[at].1;
        }
        at += 1;
    }
    names
}

const fn places() -> [u8; op::IN_TRANSACTION as usize] {
    let (mut places, mut at) = ([COUNT as u8; op::IN_TRANSACTION as usize], 0);
    while at < METRICS.len() {
        let mut place = 0;
        while place < COUNT && !is_same(NAMES[place], METRICS[at].1) {
            place += 1;
        }
        places[METRICS[at].0 as usize] = place as u8;
        at += 1;
    }
    places
}

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
#[derive(Debug)]
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
        let empty = [Count::default(); COUNT];
        Self { began: now, leaving: empty, total: empty, buckets: Default::default(), units }
    }

    /// A request that came at `started` is answered.
    pub(super) fn answered(&mut self, operation: u8, started: u64, failed: bool) {
        let place = PLACES.get(usize::from(operation)).map_or(COUNT, |place| usize::from(*place));
        if let Some(count) = self.leaving.get_mut(place) {
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
        let operation = |number: usize| {
            let mut window = Count::default();
            recent().for_each(|bucket| window.add(bucket.operations[number]));
            OperationActivity {
                name: NAMES[number],
                requests: self.total[number].requests,
                errors: self.total[number].errors,
                requests_per_second: window.requests as f64 / seconds,
                mean_latency_ms: window.latency as f64 / 1000.0 / window.requests.max(1) as f64,
            }
        };
        let units = |kind: usize| recent().map(|bucket| bucket.units[kind]).sum::<u64>() as f64 / seconds;
        ActivityReport {
            operations: (0..COUNT).map(operation).collect(),
            read_per_second: units(0),
            write_per_second: units(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
