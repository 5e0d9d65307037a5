//! Reads single rows (R1, R2): their content and cost.

use super::row_reader::{Projection, RowReader};
use crate::engine::{RowView, TreeId};
use crate::error::Result;
use crate::model::select::{Need, Stretch};
use crate::model::{Consumed, KeyInput, KeyRefs, RowSink};
use crate::tablestore::table::Table;
use crate::tablestore::units::meter::Consumes;
use crate::tablestore::units::throttle::Throttle;

/// The result of reading one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Whether the row exists and passes the filter; the sink has it.
    pub row: bool,
    /// The cost (C1): of the returned data, or, if the filter dropped the row, of the data selected for it.
    pub consumed: Consumed,
}

impl Consumes for Found {
    fn consumed(&self) -> Consumed {
        self.consumed
    }
}

/// The key of a row, and its encoded form.
pub(crate) type EncodedKey<'a> = (KeyRefs<'a>, Vec<u8>);

/// Fits a key to a table, and encodes it.
///
/// # Errors
/// A key that does not fit.
pub(crate) fn encoded<'a>(key: &KeyInput<'a>, table: &Table) -> Result<EncodedKey<'a>> {
    let values = key.fit_row(table.schema()).map_err(|error| error.in_table(table.name()))?;
    let mut key = Vec::with_capacity(values.metered_bytes() + 3 * values.len());
    values.encode(&mut key);
    Ok((values, key))
}

/// Reads single rows of one table for one request. Each row's units are taken from its partition key value (C5).
pub(crate) struct PointReader<'a> {
    rows: RowReader<'a>,
    throttle: &'a Throttle,
    tree: TreeId,
    now: i64,
}

impl<'a> PointReader<'a> {
    /// A reader at the time `now`.
    pub(crate) fn new(projection: Projection<'a>, table: &Table, now: i64, throttle: &'a Throttle) -> Self {
        Self { rows: RowReader::new(projection, table, now, false), throttle, tree: table.tree(), now }
    }

    /// Whether it needs some cells of a row.
    pub(crate) fn needs(&self, stretch: &Stretch<'_>) -> Need {
        self.rows.needs(stretch)
    }

    /// Reads a stored row, and passes it to the sink if it is returned.
    ///
    /// # Errors
    /// `Corrupt`; `OTSCapacityUnitExhausted`.
    pub(crate) fn read(
        &self,
        (key, encoded): &EncodedKey<'_>,
        row: Option<&RowView<'_>>,
        sink: &mut dyn RowSink,
    ) -> Result<Found> {
        let admit = |units: u32| self.throttle.take_of(self.tree, encoded, units, self.now).map(|()| units);
        let read = |row| self.rows.read(key, row, sink, &mut |sum| admit(sum.units()).map(|_| true));
        let sum = row.map(read).transpose()?;
        let units = match &sum {
            Some(sum) if sum.exists => sum.units(),
            _ => admit(1)?,
        };
        Ok(Found { row: sum.is_some_and(|sum| sum.is_returned()), consumed: Consumed::reading(units) })
    }
}
