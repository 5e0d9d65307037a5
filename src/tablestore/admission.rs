//! Admission of requests (C5).

use super::instance::Instance;
use super::table::Table;
use crate::error::Result;
use crate::model::Consumed;

impl Instance {
    /// Lets a request use units of a row, or refuses it.
    pub(super) fn admit(&self, table: &Table, key: &[u8], consumed: Consumed, now: i64) -> Result<()> {
        let units = consumed.read.saturating_add(consumed.write);
        self.throttle.take_of(table.tree(), key, units, now)
    }

    /// Lets an operation on tables run, or refuses it.
    pub(super) fn table_operation(&self) -> Result<()> {
        self.throttle.operation(self.engine.now_ms())
    }
}
