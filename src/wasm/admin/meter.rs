//! The capacity meter and metered storage (C2, C3, V9).

use super::answers::{Answer, Members};
use super::arguments::Arguments;
use crate::error::Result;
use crate::model::meter::{Consumption, Prices, Units};
use crate::tablestore::{ComputeConsumed, ConsumedSeries, Stored};
use serde::Deserialize;

/// Prices. A missing one keeps its default.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SomePrices {
    reserved: Option<SomeUnits>,
    on_demand: Option<SomeUnits>,
}

#[derive(Clone, Copy, Default, Deserialize)]
struct SomeUnits {
    read: Option<f64>,
    write: Option<f64>,
}

impl SomePrices {
    /// These prices, with the usual ones for those that are missing.
    pub(super) fn over(self, usual: Prices) -> Prices {
        let units = |given: Option<SomeUnits>, usual: Units| {
            let given = given.unwrap_or_default();
            Units { read: given.read.unwrap_or(usual.read), write: given.write.unwrap_or(usual.write) }
        };
        Prices { reserved: units(self.reserved, usual.reserved), on_demand: units(self.on_demand, usual.on_demand) }
    }
}

/// The arguments of ComputeConsumed. `prices` are the instance's.
pub(super) fn compute_consumed(arguments: &Arguments, prices: Prices) -> Result<ComputeConsumed> {
    Ok(ComputeConsumed {
        table: arguments.get("tableName")?,
        start: arguments.get("start")?,
        end: arguments.get("end")?,
        period: arguments.get::<Option<_>>("period")?.unwrap_or_default(),
        prices: arguments.get::<Option<SomePrices>>("prices")?.unwrap_or_default().over(prices),
    })
}

/// Consumption, `ComputeConsumedResult` of the package.
pub(super) fn consumed(series: &ConsumedSeries) -> Answer<'_> {
    Members::default().and("periods", Answer::list(&series.periods, period)).and("total", period(&series.total)).end()
}

fn period(period: &Consumption) -> Answer<'_> {
    let pair = |units: Units| Answer::pair(units.read, units.write);
    Members::default()
        .and("start", period.start)
        .and("reserved", pair(period.reserved))
        .and("onDemand", pair(period.on_demand))
        .and("consumed", pair(period.consumed))
        .and("cost", period.cost)
        .end()
}

/// The metered storage of a table.
pub(super) fn stored(stored: Stored) -> Answer<'static> {
    Members::default().and("rows", stored.rows).and("bytes", stored.bytes).end()
}
