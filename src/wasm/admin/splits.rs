//! Slices of a table (P4).

use super::answers::{Answer, Members};
use super::arguments::Arguments;
use super::tables::key;
use crate::error::Result;
use crate::model::KeyValue;
use crate::tablestore::{SplitRequest, Splits};

/// The request to split a table.
pub(super) fn request<'a>(table: &'a str, arguments: &Arguments) -> Result<SplitRequest<'a>> {
    Ok(SplitRequest {
        table,
        split_size: arguments.get("splitSize")?,
        unit: arguments.get("splitSizeUnitBytes")?,
        point_limit: arguments.get("splitPointLimit")?,
    })
}

/// The slices of a table, `ComputeSplitPointsBySizeResult` of the package. The ends of a slice are the values of the key
/// columns in their order, because objects do not take every name of a column (`__proto__`). The package adds the names.
pub(super) fn splits<'a>(splits: &'a Splits) -> Answer<'a> {
    let infinity = |end: &'static str| Members::default().and("infinity", end).end();
    // A point is a partition key, before all rows that have it. The outer slices end with the table.
    let end = |point: Option<&'a KeyValue>, outside: &'static str| {
        let rest = if point.is_some() { "min" } else { outside };
        let columns = (0..splits.schema.key().len()).map(|at| match point {
            Some(point) if at == 0 => Answer::key(point),
            _ => infinity(rest),
        });
        Answer::List(columns.collect())
    };
    let slice = |number: usize| {
        let lower = number.checked_sub(1).and_then(|before| splits.points.get(before));
        Members::default()
            .and("lower", end(lower, "min"))
            .and("upper", end(splits.points.get(number), "max"))
            .and("location", splits.locations.get(number).map_or("", String::as_str))
            .end()
    };
    Members::default()
        .and("primaryKey", key(&splits.schema))
        .and("splits", Answer::List((0..=splits.points.len()).map(slice).collect()))
        .and("consumed", Answer::pair(splits.consumed.read, splits.consumed.write))
        .end()
}
