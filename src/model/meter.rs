//! The capacity meter's arithmetic (C2, C3). Use above the reserved throughput of a second is on demand. An hour sums
//! that up and averages the reserved throughput. Both have a price.
//!
//! A [`Tally`] holds the counts of one second or of one hour. Both are counted together, and only for use. The reserved
//! throughput is a function of time, known from its [`ThroughputStep`]s, and holds in seconds without a request too.
//! Seconds and hours are numbered from 1970 UTC.

use super::{Consumed, ReservedThroughput};
use crate::collections::small_map::SmallMap;
use serde::Deserialize;

/// Seconds that are kept one by one.
pub const SECONDS: i64 = 3600;
/// Hours that are kept: 30 days.
pub const HOURS: i64 = 30 * 24;
/// Seconds of an hour.
const HOUR: i64 = 3600;
/// Units on demand that a price buys.
pub const ON_DEMAND_UNITS: f64 = 10_000.0;
/// In an hour with this many payers, later ones count as [`NOBODY`].
const MOST_PAYERS: usize = 1024;

/// Who pays for units: a table, by the number of its tree.
pub type Payer = u32;

/// The payer of requests on tables that do not exist (C4).
pub const NOBODY: Payer = 0;

/// Read units, then write units.
type Pair = [u64; 2];

/// Units of both kinds: sums, averages or prices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Units {
    /// Read units.
    pub read: f64,
    /// Write units.
    pub write: f64,
}

/// The use of one payer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// The payer.
    pub payer: Payer,
    /// All units.
    pub used: Pair,
    /// Those above the reserved ones of their second.
    pub over: Pair,
}

/// A change of a payer's reserved throughput. It holds for the whole second in which it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThroughputStep {
    /// The payer.
    pub payer: Payer,
    /// The second.
    pub second: i64,
    /// The reserved throughput before.
    pub before: ReservedThroughput,
    /// The reserved throughput from then on.
    pub after: ReservedThroughput,
}

impl ThroughputStep {
    /// Whether this step cancels the other: it was made after it, but at an earlier second, because the clock had gone
    /// back.
    #[must_use]
    pub fn undoes(&self, other: &Self) -> bool {
        self.payer == other.payer && self.second < other.second
    }
}

/// The counts of a second or an hour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The use of each payer; one entry each.
    pub uses: Vec<Use>,
    /// The steps of an hour; those of a second are in its hour.
    pub steps: Vec<ThroughputStep>,
}

impl Tally {
    fn of(&mut self, payer: Payer) -> &mut Use {
        let whose = |payer| move |used: &Use| used.payer == payer;
        let mut payer = payer;
        if self.uses.len() >= MOST_PAYERS && !self.uses.iter().any(whose(payer)) {
            payer = NOBODY;
        }
        let place = self.uses.iter().position(whose(payer)).unwrap_or_else(|| {
            self.uses.push(Use { payer, ..Use::default() });
            self.uses.len() - 1
        });
        &mut self.uses[place]
    }

    /// Removes the steps that a new one cancels. The new step takes over the first one's `before`.
    pub fn undo(&mut self, new: &mut ThroughputStep) {
        let mut found = None;
        self.steps.retain(|step| {
            let undone = new.undoes(step);
            if undone && found.is_none() {
                found = Some(step.before);
            }
            !undone
        });
        new.before = found.unwrap_or(new.before);
    }

    /// Adds a step to an hour. The last step of a second counts.
    pub fn step(&mut self, step: ThroughputStep) {
        let same = |old: &&mut ThroughputStep| (old.payer, old.second) == (step.payer, step.second);
        match self.steps.iter_mut().find(same) {
            Some(old) => old.after = step.after,
            None => self.steps.push(step),
        }
    }
}

/// Counts units that a payer used in a second, in the second and in the hour around it (C2).
pub fn count(second: &mut Tally, hour: &mut Tally, payer: Payer, consumed: Consumed, reserved: ReservedThroughput) {
    let (here, there) = (second.of(payer), hour.of(payer));
    let kinds = [(consumed.read, reserved.read), (consumed.write, reserved.write)];
    for (kind, (units, reserved)) in kinds.into_iter().enumerate() {
        let before = here.over[kind];
        here.used[kind] = here.used[kind].saturating_add(u64::from(units));
        here.over[kind] = here.used[kind].saturating_sub(u64::from(reserved));
        there.used[kind] = there.used[kind].saturating_add(u64::from(units));
        // Raised reserved units within the second also cover earlier units of that second.
        there.over[kind] = there.over[kind].saturating_sub(before).saturating_add(here.over[kind]);
    }
}

/// The price of units. Reserved: a unit a second, for an hour, used or not. On demand: 10,000 units. The default figures
/// are examples that are charged to nobody. On demand is the dearer way to buy units that can be reserved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// A reserved unit for an hour.
    pub reserved: Units,
    /// 10,000 units on demand.
    pub on_demand: Units,
}

impl Default for Prices {
    fn default() -> Self {
        Self { reserved: Units { read: 0.004, write: 0.008 }, on_demand: Units { read: 0.02, write: 0.04 } }
    }
}

/// The period of a series: seconds or hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Period {
    /// Hours (UTC), the last 720 of them.
    #[default]
    Hour,
    /// Seconds, the last 3600 of them.
    Second,
}

impl Period {
    /// Its seconds.
    #[must_use]
    pub fn seconds(self) -> i64 {
        match self {
            Self::Second => 1,
            Self::Hour => HOUR,
        }
    }

    /// How many of them are kept.
    #[must_use]
    pub fn kept(self) -> i64 {
        match self {
            Self::Second => SECONDS,
            Self::Hour => HOURS,
        }
    }
}

/// The consumption in a period, or in a whole series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Consumption {
    /// Its start, in ms since 1970 UTC; for a sum, that of its first period.
    pub start: i64,
    /// Reserved units. A second has its own, an hour the average of its seconds, those without a request included. In a
    /// running hour only past seconds count. A series has the sum of its periods.
    pub reserved: Units,
    /// Units above the reserved ones of their second, summed up.
    pub on_demand: Units,
    /// All units, summed up.
    pub consumed: Units,
    /// The cost of the reserved and the on-demand units.
    pub cost: f64,
}

/// The reserved throughput of payers, as a function of time.
#[derive(Debug, Default)]
pub struct Reserved {
    /// By payer and second.
    steps: SmallMap<(Payer, i64), ThroughputStep>,
    /// Each table's first second, and its current reservation.
    now: SmallMap<Payer, (i64, ReservedThroughput)>,
}

impl Reserved {
    /// A table that exists since the second `created`, with its current reservation.
    pub fn table(&mut self, payer: Payer, created: i64, now: ReservedThroughput) {
        self.now.insert(payer, (created, now));
    }

    /// Adds a change, after all earlier ones. Its payer was [added](Self::table) before, or its table is gone.
    pub fn step(&mut self, mut step: ThroughputStep) {
        if let Some(undone) = self.steps.values().find(|other| step.undoes(other)) {
            step.before = undone.before;
        }
        self.steps.retain(|_, other| !step.undoes(other));
        match self.steps.get_mut(&(step.payer, step.second)) {
            Some(same) => same.after = step.after,
            None => self.steps.insert((step.payer, step.second), step),
        }
        if !self.now.contains_key(&step.payer) {
            self.now.insert(step.payer, (i64::MIN, ReservedThroughput::default()));
        }
    }

    /// The reserved units of all payers in the seconds `[from, to)`, summed up.
    fn sum(&self, from: i64, to: i64) -> Pair {
        let mut steps = self.steps.values().peekable();
        let mut sum: Pair = [0; 2];
        for (payer, (created, now)) in self.now.iter() {
            let (mut at, mut rate) = (from.max(*created), None);
            let mut add = |rate: ReservedThroughput, seconds: i64| {
                for (sum, units) in sum.iter_mut().zip([rate.read, rate.write]) {
                    *sum = sum.saturating_add(u64::from(units).saturating_mul(seconds.max(0).cast_unsigned()));
                }
            };
            while let Some(step) = steps.next_if(|step| step.payer <= *payer) {
                // Before the first step the value is that step's `before`. A table that is completely gone has no such
                // steps.
                let until = step.second.clamp(at, to.max(at));
                add(rate.unwrap_or(step.before), until.saturating_sub(at));
                at = until;
                rate = Some(step.after);
            }
            add(rate.unwrap_or(*now), to.saturating_sub(at));
        }
        sum
    }
}

/// Makes a series of the periods `[from, to)` from their counts, at the second `now`. Skips periods without reserved or
/// used units. Also returns the sum.
#[must_use]
pub(crate) fn series(
    period: Period,
    [from, to]: [i64; 2],
    now: i64,
    tallies: &SmallMap<i64, Tally>,
    reserved: &Reserved,
    payer: Option<Payer>,
    prices: &Prices,
) -> (Vec<Consumption>, Consumption) {
    let seconds = period.seconds();
    // A running second is reserved and billed as a whole, a running hour second by second.
    let over = if period == Period::Second { now.saturating_add(1) } else { now };
    let mut periods: Vec<Consumption> = Vec::new();
    let mut total = Consumption::default();
    for number in from..to {
        let start = number.saturating_mul(seconds);
        let (mut used, mut above): (Pair, Pair) = ([0; 2], [0; 2]);
        for entry in tallies.get(&number).iter().flat_map(|tally| &tally.uses) {
            if payer.is_none_or(|payer| payer == entry.payer) {
                for kind in 0..2 {
                    used[kind] = used[kind].saturating_add(entry.used[kind]);
                    above[kind] = above[kind].saturating_add(entry.over[kind]);
                }
            }
        }
        let unit_seconds = reserved.sum(start, start.saturating_add(seconds).min(over));
        if [used, unit_seconds] == [[0; 2]; 2] {
            continue;
        }
        let (hours, on_demand) = (units(unit_seconds, HOUR as f64), units(above, 1.0));
        let cost = prices.reserved.read * hours.read
            + prices.reserved.write * hours.write
            + (prices.on_demand.read * on_demand.read + prices.on_demand.write * on_demand.write) / ON_DEMAND_UNITS;
        let start = start.saturating_mul(1000);
        let one = Consumption {
            start,
            reserved: units(unit_seconds, seconds as f64),
            on_demand,
            consumed: units(used, 1.0),
            cost,
        };
        let begun = periods.first().map_or(start, |first| first.start);
        total = Consumption {
            start: begun,
            reserved: total.reserved.plus(one.reserved),
            on_demand: total.on_demand.plus(one.on_demand),
            consumed: total.consumed.plus(one.consumed),
            cost: total.cost + one.cost,
        };
        periods.push(one);
    }
    (periods, total)
}

#[expect(clippy::cast_precision_loss, reason = "exact below 2^53 units")]
fn units([read, write]: Pair, parts: f64) -> Units {
    Units { read: read as f64 / parts, write: write as f64 / parts }
}

impl Units {
    fn plus(self, other: Self) -> Self {
        Self { read: self.read + other.read, write: self.write + other.write }
    }
}

#[cfg(test)]
mod tests;
