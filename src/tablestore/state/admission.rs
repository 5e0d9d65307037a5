//! Admission of requests (C5).

use super::State;
use crate::error::Result;
use crate::model::Consumed;
use crate::tablestore::table::Table;
use crate::tablestore::units::throttle::Partition;

impl State {
    /// Lets a request use units of a row, or refuses it.
    pub(crate) fn admit(&self, table: &Table, key: &[u8], consumed: Consumed, now: i64) -> Result<()> {
        self.throttle.take_of(table.tree(), key, units(consumed), now)
    }

    /// Lets a request use units of rows, or refuses all of it: then it has used nothing of any partition key.
    pub(crate) fn admit_all<'r>(
        &self,
        rows: impl Iterator<Item = (&'r Table, &'r [u8], Consumed)>,
        now: i64,
    ) -> Result<()> {
        if !self.throttle.watches() {
            return Ok(());
        }
        let mut wanted: Vec<(Partition, u32)> = Vec::new();
        for (table, key, consumed) in rows {
            let partition = Partition::of(table.tree(), key);
            match wanted.iter_mut().find(|(other, _)| *other == partition) {
                Some((_, all)) => *all = all.saturating_add(units(consumed)),
                None => wanted.push((partition, units(consumed))),
            }
        }
        self.throttle.take(now, &wanted)
    }

    /// Lets an operation on tables run, or refuses it.
    pub(crate) fn table_operation(&self) -> Result<()> {
        self.throttle.operation(self.engine.clock().now_ms())
    }
}

/// What counts against the limit.
fn units(consumed: Consumed) -> u32 {
    consumed.read.saturating_add(consumed.write)
}
