//! A write inside the engine: it sees its row, then it writes. Plain writes and those of batches and transactions use it.

use crate::engine::{Decide, Depth, Origin, RowView, Writes};
use crate::error::Result;
use crate::model::Consumed;
use crate::tablestore::rows::decide::{Decision, RowCells};
use crate::tablestore::rows::prepared::{PreparedWrite, Written};
use crate::tablestore::rows::time::Draw;
use crate::tablestore::state::{State, catalog_rows};
use crate::tablestore::stream::trim::trim_soon;

/// A write inside the engine.
pub(crate) struct RowDecision<'d, 'r, 'a> {
    state: &'d State,
    pub(crate) ready: &'d PreparedWrite<'r, 'a>,
    draw: Draw,
    /// Its sender, whose answers may have to be stored.
    origin: Option<Origin>,
    pub(crate) decided: Decision,
}

impl<'d, 'r, 'a> RowDecision<'d, 'r, 'a> {
    /// A write with a drawn stamp.
    pub(crate) fn new(state: &'d State, ready: &'d PreparedWrite<'r, 'a>, draw: Draw, origin: Option<Origin>) -> Self {
        let stamp = if let Draw::Stamp(stamp) = draw { stamp } else { 0 };
        let decided = Decision { stamp, ..Decision::default() };
        Self { state, ready, draw, origin, decided }
    }

    /// Whether it does not have to see its row.
    pub(crate) fn is_decided(&self) -> bool {
        self.draw != Draw::Read && self.ready.is_plain()
    }

    /// Its cost.
    pub(crate) fn consumed(&self) -> Consumed {
        self.ready.consumed + self.decided.derived.consumed()
    }

    /// Its effect on its row, which it has seen.
    pub(crate) fn change(&self) -> RowCells<'_> {
        (self.ready.write.kind(), self.decided.cells(self.ready.write))
    }

    /// Its result, once it is complete.
    pub(crate) fn written(&self) -> Written {
        Written { consumed: self.consumed(), row: self.ready.returned(&self.decided.incremented) }
    }
}

impl Decide for RowDecision<'_, '_, '_> {
    fn see(&mut self, _: usize, view: Option<&RowView<'_>>) -> Result<()> {
        let Self { state, ready, draw, .. } = *self;
        let stored = view.map(RowView::stamp);
        let decided = ready.decide(view, || state.stamps.settle(draw, || ready.row_hash(), ready.now, stored));
        let decided = decided.inspect_err(|error| state.answers.refuse(self.origin, ready.row, error));
        self.decided = decided?;
        Ok(())
    }

    fn agree(&mut self) -> Result<()> {
        let Self { state, ready, .. } = *self;
        match ready.derives {
            true => state.admit(&ready.table, &ready.key, self.consumed(), state.engine.clock().now_ms()),
            false => Ok(()),
        }
    }

    fn depth(&self, _: usize) -> Depth {
        self.ready.depth()
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        // A transaction knows the order of its records only at its commit.
        match self.ready.table.stream().filter(|_| !writes.is_private()) {
            Some(stream) => {
                stream.write(&self.state.engine, self.ready, &self.decided, writes);
                trim_soon(self.state, &self.ready.table);
            }
            None => self.decided.write(self.ready, None, writes),
        }
        if self.state.answers.keep(self.origin) {
            let (written, stamp) = (self.written(), self.decided.stamp);
            self.state.answers.put(self.origin, self.ready.row, &written, stamp, writes);
        }
        let table = &self.ready.table;
        // Not earlier: a refused write stores nothing, and other writes would rely on the reservation.
        if table.schema().auto_increment().is_some()
            && let Some(given) = table.ids.reserve(self.state.engine.failures())
        {
            catalog_rows::put_progress(table, Some(given), self.decided.stamp, writes);
        }
    }
}
