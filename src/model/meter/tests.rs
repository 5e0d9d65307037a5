use super::*;
use proptest::prelude::*;

fn reserve(read: u32, write: u32) -> ReservedThroughput {
    ReservedThroughput { read, write }
}

/// Counts (second, payer, read units) and gives the seconds and the hours.
fn counted(uses: &[(i64, Payer, u32)], reserved: u32) -> [SmallMap<i64, Tally>; 2] {
    let (mut seconds, mut hours) = (SmallMap::default(), SmallMap::default());
    for (second, payer, read) in uses {
        let hour = second.div_euclid(HOUR);
        count(seconds.entry(*second), hours.entry(hour), *payer, Consumed::reading(*read), reserve(reserved, 0));
    }
    [seconds, hours]
}

fn fixed(payer: Payer, read: u32) -> Reserved {
    let mut reserved = Reserved::default();
    reserved.table(payer, i64::MIN, reserve(read, 0));
    reserved
}

/// The documents' example: 100 units reserved, seconds of 120, 95 and 110.
#[test]
fn c2_what_a_second_uses_above_the_reserved_is_on_demand() {
    let [seconds, hours] = counted(&[(0, 1, 60), (0, 1, 60), (1, 1, 95), (2, 1, 110)], 100);
    let prices = Prices::default();
    let (periods, total) = series(Period::Second, [0, 3], 2, &seconds, &fixed(1, 100), None, &prices);
    let told = periods.iter().map(|second| (second.start, second.reserved.read, second.on_demand.read));
    assert_eq!(told.collect::<Vec<_>>(), [(0, 100.0, 20.0), (1000, 100.0, 0.0), (2000, 100.0, 10.0)]);
    assert_eq!((total.on_demand.read, total.consumed.read), (30.0, 325.0));
    assert!((total.cost - (300.0 / 3600.0 * 0.004 + 30.0 / 10_000.0 * 0.02)).abs() < 1e-12);
    let (_, total) = series(Period::Hour, [0, 1], 3600, &hours, &fixed(1, 100), None, &prices);
    assert_eq!((total.reserved.read, total.on_demand.read), (100.0, 30.0));
}

/// The documents' example: 80 reads a second of rows of 3 KB, 80 units reserved for an hour.
#[test]
fn c3_eighty_units_reserved_for_an_hour_cost_eighty_times_the_price_and_serve_288000_reads() {
    let uses: Vec<_> = (0..3600).flat_map(|second| (0..80).map(move |_| (second, 1, 1))).collect();
    let [_, hours] = counted(&uses, 80);
    let one = Units { read: 1.0, write: 1.0 };
    let prices = Prices { reserved: one, on_demand: one };
    let (periods, total) = series(Period::Hour, [0, 1], 3600, &hours, &fixed(1, 80), None, &prices);
    assert_eq!(periods, [total]);
    assert_eq!((total.reserved.read, total.on_demand.read, total.consumed.read), (80.0, 0.0, 288_000.0));
    assert!((total.cost - 80.0).abs() < 1e-9);
}

#[test]
fn c3_an_hour_averages_what_was_reserved_whether_it_was_used_or_not() {
    let step = |second, before, after| ThroughputStep {
        payer: 1,
        second,
        before: reserve(before, 0),
        after: reserve(after, 0),
    };
    let mut reserved = Reserved::default();
    for step in [step(900, 0, 80), step(1800, 80, 40), step(7200, 40, 0)] {
        reserved.step(step);
    }
    let none = SmallMap::default();
    let told = |period, range, now| {
        let (periods, _) = series(period, range, now, &none, &reserved, None, &Prices::default());
        periods.iter().map(|period| (period.start / 1000, period.reserved.read)).collect::<Vec<_>>()
    };
    assert_eq!(told(Period::Hour, [-1, 9], 99_999), [(0, 40.0), (3600, 40.0)], "80 for a quarter, 40 for a half");
    assert_eq!(told(Period::Hour, [0, 9], 1800), [(0, 20.0)], "only what is over is billed");
    assert_eq!(told(Period::Second, [898, 902], 99_999), [(900, 80.0), (901, 80.0)]);
    assert_eq!(told(Period::Second, [7198, 7202], 7198), [(7198, 40.0)], "what is to come is not");
}

#[test]
fn c2_a_reservation_that_is_raised_within_a_second_covers_all_of_it() {
    let (mut second, mut hour) = (Tally::default(), Tally::default());
    count(&mut second, &mut hour, 1, Consumed { read: 50, write: 7 }, reserve(10, 0));
    assert_eq!((hour.uses[0].over, hour.uses[0].used), ([40, 7], [50, 7]));
    count(&mut second, &mut hour, 1, Consumed { read: 60, write: 0 }, reserve(100, 0));
    assert_eq!((hour.uses[0].over, hour.uses[0].used), ([10, 7], [110, 7]));
}

#[test]
fn c3_an_hour_with_very_many_tables_stays_bounded() {
    let (mut second, mut hour) = (Tally::default(), Tally::default());
    for payer in 1..5000 {
        count(&mut second, &mut hour, payer, Consumed::reading(1), reserve(0, 0));
    }
    assert!(hour.uses.len() <= MOST_PAYERS + 1);
    assert_eq!(hour.uses.iter().map(|used| used.used[0]).sum::<u64>(), 4999);
}

proptest! {
    /// C3, for any clock: the reserved units of a range are the sum over its seconds, and the last step before a second
    /// sets its units.
    #[test]
    fn c3_reserved_units_are_those_of_each_second(
        changes in proptest::collection::vec((0i64..60, 0u32..9), 0..6), from in -5i64..70, long in 0i64..70,
    ) {
        let mut sorted = SmallMap::default();
        changes.iter().for_each(|(second, units)| sorted.insert(*second, *units));
        let (mut reserved, mut rate) = (Reserved::default(), 3);
        reserved.table(4, i64::MIN, reserve(sorted.values().last().map_or(rate, |units| *units), 0));
        for (second, units) in sorted.iter() {
            reserved.step(ThroughputStep { payer: 4, second: *second, before: reserve(rate, 0), after: reserve(*units, 1) });
            rate = *units;
        }
        let expected = (from..from + long).map(|at| {
            let set = sorted.iter().filter(|(second, _)| **second <= at).last();
            u64::from(set.map_or(3, |(_, units)| *units))
        });
        prop_assert_eq!(reserved.sum(from, from + long)[0], expected.sum::<u64>());
    }

    #[test]
    fn c3_no_clock_is_too_far(
        at in any::<i64>(), now in any::<i64>(), reads in any::<u32>(), units in any::<u32>(), hourly in any::<bool>(),
    ) {
        let period = if hourly { Period::Hour } else { Period::Second };
        let number = at.div_euclid(period.seconds());
        let mut tallies = SmallMap::default();
        let (mut second, mut hour) = (Tally::default(), Tally::default());
        count(&mut second, &mut hour, 1, Consumed::reading(reads), reserve(units, units));
        tallies.insert(number, if hourly { hour } else { second });
        let range = [number.saturating_sub(2), number.saturating_add(2)];
        let _ = series(period, range, now, &tallies, &fixed(1, units), Some(1), &Prices::default());
    }
}
