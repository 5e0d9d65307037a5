//! The units that were used in a stretch of time, and their price (C2, C3).

use crate::collections::small_map::SmallMap;
use crate::error::{Error, Result};
use crate::model::TableName;
use crate::model::meter::{self, Consumption, Period, Prices, Reserved, Tally};
use crate::model::version::second;
use crate::tablestore::state::State;
use crate::tablestore::units::meter::tallies;

/// The parameters of `computeConsumed`.
#[derive(Clone, Debug)]
pub struct ComputeConsumed {
    /// The table. Without one, the whole instance: also deleted tables, and requests on tables that do not exist.
    pub table: Option<String>,
    /// The first instant, in ms since 1970 UTC; its whole period counts. By default the oldest that is kept.
    pub start: Option<i64>,
    /// The end, exclusive; now by default.
    pub end: Option<i64>,
    /// Seconds or hours.
    pub period: Period,
    /// The price of units.
    pub prices: Prices,
}

/// The result of `computeConsumed`.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsumedSeries {
    /// The periods with reserved or used units, ascending.
    pub periods: Vec<Consumption>,
    /// Their sum.
    pub total: Consumption,
}

/// See [`Instance::compute_consumed`](crate::tablestore::Instance::compute_consumed).
pub(crate) async fn compute_consumed(state: &State, request: &ComputeConsumed) -> Result<ConsumedSeries> {
    let payer = match &request.table {
        Some(name) => Some(state.catalog.table(TableName::parse(name)?)?.payer()),
        None => None,
    };
    let (period, now) = (request.period, second(state.clock()));
    let seconds = period.seconds();
    let to = request.end.map_or(now.saturating_add(1), |end| second(end.saturating_add(999)));
    let to = to.div_euclid(seconds).saturating_add(i64::from(to.rem_euclid(seconds) > 0));
    let oldest = to.saturating_sub(period.kept());
    let from = request.start.map_or(oldest, |start| second(start).div_euclid(seconds).max(oldest));
    if from > to {
        return Err(Error::parameter("The start must not be after the end."));
    }
    let _turn = state.save_meter().await;
    let mut reserved = Reserved::default();
    for table in state.catalog.all().values().filter(|table| payer.is_none_or(|payer| payer == table.payer())) {
        reserved.table(table.payer(), second(table.created()), table.throughput());
    }
    let mut counted = SmallMap::<i64, Tally>::default();
    if period == Period::Second {
        tallies(&state.engine, Period::Second, [from, to], &mut |number, tally| counted.insert(number, tally)).await?;
    }
    // The reservation before a step is known from that step only, so all later steps are read.
    let first_hour = from.saturating_mul(seconds).div_euclid(Period::Hour.seconds());
    let mut steps = Vec::new();
    let mut hour = |number: i64, tally: Tally| {
        steps.extend_from_slice(&tally.steps);
        if period == Period::Hour && number < to {
            counted.insert(number, tally);
        }
    };
    tallies(&state.engine, Period::Hour, [first_hour, i64::MAX], &mut hour).await?;
    for waiting in state.meter.waiting().iter() {
        let (mut other, number) = (Tally::default(), waiting.second.div_euclid(seconds));
        if (from..to).contains(&number) {
            let tally = counted.entry(number);
            match period {
                Period::Second => waiting.add_to(tally, &mut other),
                Period::Hour => waiting.add_to(&mut other, tally),
            }
        }
    }
    for step in steps.into_iter().filter(|step| payer.is_none_or(|payer| payer == step.payer)) {
        reserved.step(step);
    }
    let (periods, total) = meter::series(period, [from, to], now, &counted, &reserved, payer, &request.prices);
    Ok(ConsumedSeries { periods, total })
}
