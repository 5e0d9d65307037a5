//! Deleting the rows of a range in the engine: nothing of them goes to the client. The service has no such operation.

use super::batch::{begin_each, finish_each};
use super::count::{CountRows, RowCount};
use super::read::get_range;
use super::write::prepare_row;
use crate::engine::Direction;
use crate::error::Code;
use crate::model::select::VersionQuery;
use crate::model::{CellRef, Filter, KeyInput, KeyPart, KeyValue, RowSink, ValueRef};
use crate::tablestore::rows::fits;
use crate::tablestore::rows::request::{Existence, GetRange, Mutation, ReadOptions, ReturnContent, RowWrite};
use crate::tablestore::state::State;
use crate::tablestore::units::failure::{Charge, Outcome};
use std::pin::Pin;

/// Rows that one call deletes: their deletions are in memory at once.
const ROWS: i64 = 1000;

/// Keeps the keys of a range's rows.
#[derive(Default)]
struct Keys(Vec<Vec<KeyValue>>);

impl RowSink for Keys {
    fn row(&mut self, key: &[ValueRef<'_>], _: &[CellRef<'_>]) {
        self.0.push(key.iter().filter_map(|value| KeyValue::of(*value)).collect());
    }

    fn stream<'c>(&mut self, key: &[ValueRef<'_>], next: &mut dyn FnMut() -> Option<CellRef<'c>>) -> bool {
        while next().is_some() {}
        self.row(key, &[]);
        true
    }

    fn streams(&self) -> bool {
        true
    }

    fn undo(&mut self) {
        self.0.pop();
    }
}

/// The result of [`delete_range`].
pub(crate) type Deleting<'a> = Pin<Box<dyn Future<Output = Outcome<RowCount>> + 'a>>;

/// See [`Instance::delete_range`](crate::tablestore::Instance::delete_range). A gate of [`Module::Transactions`](crate::modules::Module::Transactions).
#[inline(never)]
pub(crate) fn delete_range<'a>(state: &'a State, request: CountRows<'a>) -> Deleting<'a> {
    Box::pin(async move {
        let CountRows { table, start, end, filter } = request;
        state
            .catalog
            .table(table)
            .and_then(|table| fits::no_index(&table))
            .map_err(|error| Charge::Nothing.failure(error))?;
        // The range is read with its newest versions alone, and the condition must judge these too.
        let condition = filter.as_ref().map(Filter::of_newest);
        let options = ReadOptions { versions: VersionQuery::NEWEST, filter, ..ReadOptions::default() };
        let range = GetRange { table, direction: Direction::Forward, start, end, limit: Some(ROWS), options };
        let mut keys = Keys::default();
        let mut read = get_range(state, None, &range, &mut keys).await?;
        let mut writes = Vec::with_capacity(keys.0.len());
        for values in &keys.0 {
            let mut key = KeyInput::new();
            for (column, value) in read.schema.key().iter().zip(values) {
                key.push(&column.name, KeyPart::Value(value.as_value()));
            }
            writes.push(RowWrite {
                table,
                key,
                // A row that others have deleted meanwhile does not count.
                condition: Existence::ExpectExist,
                column_condition: condition.clone().map(Box::new),
                returns: ReturnContent::None,
                mutation: Mutation::Delete,
            });
        }
        let now = state.clock();
        let ready: Vec<_> = writes.iter().map(|write| prepare_row(state, write, now)).collect();
        let begun = begin_each(state, None, &ready, None).await;
        drop(ready);
        drop(writes);
        let (mut rows, mut failed) = (0, None);
        for (at, done) in finish_each(state, begun, None).await.into_iter().enumerate() {
            match done {
                Ok(written) => {
                    rows += 1;
                    read.consumed = read.consumed + written.consumed;
                }
                // It has changed meanwhile.
                Err(failure) if failure.error.code() == Code::ConditionCheckFail => {
                    read.consumed = read.consumed + failure.consumed;
                }
                Err(failure) if failed.is_none() => failed = Some((at, failure)),
                Err(_) => {}
            }
        }
        let next = match failed {
            Some((_, failure)) if rows == 0 => return Err(failure),
            Some((at, _)) => Some(keys.0.swap_remove(at)),
            None => read.next,
        };
        Ok(RowCount { schema: read.schema, consumed: read.consumed, rows, next })
    })
}
