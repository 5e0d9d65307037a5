//! Throttling (C5): limits the units of one partition key value, and the operations on tables, in a second of the clock.
//! Off by default; then none of this exists.
//!
//! The cost of a request is known before it writes, index rows included, and before it returns rows. So a refused request
//! has done nothing. A request that alone exceeds the limit may pass if it is the first of its second. Otherwise it would
//! be refused for ever.
//!
//! A 64-bit hash stands for a partition key value. Memory is bounded: if too many values meet in one second, the one with
//! the least use is forgotten, which is never near the limit.

use crate::engine::TreeId;
use crate::error::{Code, Error, Result};
use crate::model::partition_prefix;
use crate::model::version::second;
use serde::Deserialize;
use std::cell::{Cell, RefCell};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The number of partition key values to watch.
const SLOTS: usize = 4096;
/// The places where a value may be kept.
const PROBES: usize = 8;

/// Limits above which requests are refused; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThrottleOptions {
    /// Read and write units together, in a second, for one partition key value; the documents' limit is 10,000.
    pub units_per_second: Option<u32>,
    /// Operations on tables in a second; the documents' limit is 10.
    pub table_operations_per_second: Option<u32>,
}

/// A partition key value of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Partition(u64);

impl Partition {
    /// The partition of an encoded key.
    pub(crate) fn of(tree: TreeId, key: &[u8]) -> Self {
        Self(xxh3_64_with_seed(partition_prefix(key).unwrap_or_default(), u64::from(tree.0)))
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    partition: Partition,
    second: i64,
    units: u32,
}

/// The watched values.
#[derive(Debug)]
pub(crate) struct Throttle {
    options: ThrottleOptions,
    /// Empty until the first use.
    slots: RefCell<Vec<Slot>>,
    /// The second of the last operation on tables, and the number of operations in it.
    operations: Cell<(i64, u32)>,
}

impl Throttle {
    pub(crate) fn new(options: ThrottleOptions) -> Self {
        Self { options, slots: RefCell::default(), operations: Cell::default() }
    }

    /// Whether units are limited.
    pub(crate) fn watches(&self) -> bool {
        self.options.units_per_second.is_some()
    }

    /// Takes units of the partition of an encoded key, at the time `now`, or none if too few are left.
    ///
    /// # Errors
    /// `OTSCapacityUnitExhausted`.
    pub(crate) fn take_of(&self, tree: TreeId, key: &[u8], units: u32, now: i64) -> Result<()> {
        // A key is hashed only if units are limited.
        if self.watches() { self.take(now, &[(Partition::of(tree, key), units)]) } else { Ok(()) }
    }

    /// Takes units of partitions, each named once, at the time `now`: of all or, if one has too few left, of none.
    ///
    /// # Errors
    /// `OTSCapacityUnitExhausted`.
    pub(crate) fn take(&self, now: i64, wanted: &[(Partition, u32)]) -> Result<()> {
        let Some(limit) = self.options.units_per_second else { return Ok(()) };
        let mut slots = self.slots.borrow_mut();
        slots.resize(SLOTS, Slot::default());
        let second = second(now);
        for (partition, units) in wanted {
            let slot = slot(&mut slots, *partition, second);
            if slot.units > 0 && slot.units.saturating_add(*units) > limit {
                return Err(Error::new(Code::CapacityUnitExhausted, "Capacity unit is not enough."));
            }
        }
        for (partition, units) in wanted {
            let slot = slot(&mut slots, *partition, second);
            slot.units = slot.units.saturating_add(*units);
        }
        Ok(())
    }

    /// Takes an operation on tables.
    pub(crate) fn operation(&self, now: i64) -> Result<()> {
        let Some(limit) = self.options.table_operations_per_second else { return Ok(()) };
        let (last, count) = self.operations.get();
        let count = if last == second(now) { count } else { 0 };
        if count >= limit {
            return Err(Error::too_frequent());
        }
        self.operations.set((second(now), count + 1));
        Ok(())
    }
}

/// The slot of a partition; if needed, another partition loses its slot.
fn slot(slots: &mut [Slot], partition: Partition, second: i64) -> &mut Slot {
    let places = (0..PROBES as u64).map(|probe| (partition.0.wrapping_add(probe) % SLOTS as u64) as usize);
    let mut best = 0;
    let mut least = u32::MAX;
    for place in places {
        let slot = slots[place];
        let current = slot.second == second;
        if current && slot.partition == partition {
            best = place;
            break;
        }
        let units = if current { slot.units } else { 0 };
        if units < least {
            (best, least) = (place, units);
        }
    }
    let slot = &mut slots[best];
    if slot.second != second || slot.partition != partition {
        *slot = Slot { partition, second, units: 0 };
    }
    slot
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn throttle(units: u32) -> Throttle {
        Throttle::new(ThrottleOptions { units_per_second: Some(units), table_operations_per_second: None })
    }

    #[test]
    fn c5_a_partition_has_its_units_every_second() {
        let throttle = throttle(10);
        let take = |now, partition, units| throttle.take(now, &[(Partition(partition), units)]).is_ok();
        assert!(take(0, 1, 6) && take(500, 1, 4) && !take(999, 1, 1));
        assert!(take(999, 2, 10), "another value");
        assert!(take(1000, 1, 10) && !take(1000, 1, 1), "another second");
        assert!(take(500, 1, 10), "the clock travelled back");
        assert!(take(3000, 1, 99), "what is above the limit alone must not be refused for ever");
        assert!(!take(3000, 1, 1));
    }

    #[test]
    fn c5_of_several_partitions_all_or_none_are_used() {
        let throttle = throttle(10);
        assert!(throttle.take(0, &[(Partition(1), 8), (Partition(2), 2)]).is_ok());
        assert!(throttle.take(0, &[(Partition(2), 8), (Partition(1), 3)]).is_err());
        assert!(throttle.take(0, &[(Partition(2), 8), (Partition(1), 2)]).is_ok());
    }

    proptest! {
        /// C5: a value with most of the use in its neighbourhood is not forgotten, whatever else is requested.
        #[test]
        fn c5_a_busy_partition_is_watched_among_very_many(seed in any::<u64>()) {
            let throttle = throttle(1000);
            let busy = Partition(seed);
            let mut used = 0;
            for other in 0..20_000u64 {
                let _ = throttle.take(0, &[(Partition(xxh3_64_with_seed(&other.to_le_bytes(), seed)), 1)]);
                if other % 10 == 0 && throttle.take(0, &[(busy, 1)]).is_ok() {
                    used += 1;
                }
            }
            prop_assert!((1000..1010).contains(&used), "{used}");
            prop_assert_eq!(throttle.slots.borrow().len(), SLOTS);
        }
    }
}
