//! Operations on rows, and local transactions.

use super::Instance;
use crate::engine::{ChangePlace, Origin};
use crate::error::Result;
use crate::model::{Consumed, KeyInput, RowSink, TableName};
use crate::tablestore::operations::atomic_batch::{self, Scope};
use crate::tablestore::operations::count::{CountRows, RowCount};
use crate::tablestore::operations::delete_range::Deleting;
use crate::tablestore::operations::load::{Loader, PutRows, StoreRows};
use crate::tablestore::operations::read::RangeRead;
use crate::tablestore::operations::transact::Started;
use crate::tablestore::operations::watch::{ChangedRows, Watched};
use crate::tablestore::operations::{batch, count, delete_range, load, read, transact, watch, write};
use crate::tablestore::rows::point_read::Found;
use crate::tablestore::rows::prepared::Written;
use crate::tablestore::rows::request::{GetRange, GetRow, RowWrite, TableRead};
use crate::tablestore::units::failure::Outcome;

impl Instance {
    /// Runs one PutRow, UpdateRow or DeleteRow; resolves when it is durable.
    ///
    /// # Errors
    /// Any error of the request, its key, its versions or its condition; then nothing is stored.
    pub fn write_row(&self, write: &RowWrite<'_>, origin: Option<Origin>) -> impl Future<Output = Outcome<Written>> {
        write::write_row(&self.state, None, write, origin)
    }

    /// The same as part of a transaction: it is stored at the commit.
    ///
    /// # Errors
    /// As for [`Instance::write_row`], and those of transactions: `OTSParameterInvalid` for a malformed id,
    /// `OTSSessionNotExist`, `OTSSessionBusy`, `OTSDataOutOfRange`, `OTSOutOfTransactionDataSizeLimit`.
    pub fn write_row_in(
        &self,
        transaction: Option<&str>,
        write: &RowWrite<'_>,
        origin: Option<Origin>,
    ) -> impl Future<Output = Outcome<Written>> {
        write::write_row(&self.state, transaction, write, origin)
    }

    /// Runs a batch of writes concurrently. Writes of one row take effect in order. Returns the result of each.
    ///
    /// # Errors
    /// If the request itself is wrong: too many rows or bytes, a value that is too long, or a repeated row with a
    /// condition or an increment. Then nothing is stored.
    pub fn batch_write_row(
        &self,
        writes: &[RowWrite<'_>],
        origin: Option<Origin>,
    ) -> impl Future<Output = Outcome<Vec<Outcome<Written>>>> {
        batch::write_rows(&self.state, None, writes.to_vec(), origin)
    }

    /// The same. As part of a transaction the rows are written one after the other, and stored at its commit. It drops the
    /// request as soon as possible, because many rows may wait for the disk.
    ///
    /// # Errors
    /// As for [`Instance::batch_write_row`], and those of transactions. A row outside the transaction gets such an error
    /// as its result.
    pub fn batch_write_rows(
        &self,
        transaction: Option<&str>,
        writes: Vec<RowWrite<'_>>,
        origin: Option<Origin>,
    ) -> impl Future<Output = Outcome<Vec<Outcome<Written>>>> {
        batch::write_rows(&self.state, transaction, writes, origin)
    }

    /// BatchWriteRow of rows of one table and partition key value, all of them or none (R4).
    ///
    /// # Errors
    /// As for [`Instance::write_atomic`].
    pub fn batch_write_row_atomic(
        &self,
        writes: &[RowWrite<'_>],
        origin: Option<Origin>,
    ) -> impl Future<Output = Outcome<Vec<Outcome<Written>>>> {
        atomic_batch::write_atomic(&self.state, writes, Scope::Partition, origin)
    }

    /// Runs a batch of writes, all of them or none. Returns the result of each: if one fails, the others name it.
    ///
    /// # Errors
    /// As for [`Instance::batch_write_row`]. Rows beyond the scope fail with `OTSDataOutOfRange`.
    pub fn write_atomic(
        &self,
        writes: &[RowWrite<'_>],
        scope: Scope,
        origin: Option<Origin>,
    ) -> impl Future<Output = Outcome<Vec<Outcome<Written>>>> {
        atomic_batch::write_atomic(&self.state, writes, scope, origin)
    }

    /// Puts rows, each wholly or not at all; if a row comes twice, the last put stays. Resolves when the caller may send
    /// more.
    pub fn put_rows(
        &self,
        loader: &Loader,
        writes: Vec<Result<RowWrite<'_>>>,
        origin: Option<Origin>,
    ) -> impl Future<Output = PutRows> {
        load::put_rows(&self.state, loader, writes, origin)
    }

    /// Stores the rows so far: all rows of each load, or none. Later operations on the rows come after it. A caller that
    /// asks again gets the same result, without the units reported before.
    pub fn store_rows(&self, loader: &Loader) -> impl Future<Output = StoreRows> {
        load::store_rows(&self.state, loader)
    }

    /// Deletes rows of a range that pass the filter, in ascending order from its start, as far as one call goes. Each row is deleted
    /// for itself, and only if it still passes. The result counts the deleted rows. If one cannot be deleted, the next call begins
    /// there.
    ///
    /// # Errors
    /// As for [`Instance::get_range`] and [`Instance::write_row`], the latter if nothing was deleted.
    pub fn delete_range<'a>(&'a self, request: CountRows<'a>) -> Deleting<'a> {
        delete_range::delete_range(&self.state, request)
    }

    /// Reads one row; `sink` gets it if it exists.
    ///
    /// # Errors
    /// Any error of the request or its key; `Corrupt` if stored data is damaged.
    pub fn get_row(&self, request: &GetRow<'_>, sink: &mut dyn RowSink) -> impl Future<Output = Outcome<Found>> {
        read::get_row(&self.state, None, request, sink)
    }

    /// The same as part of a transaction: the read sees the transaction's writes.
    ///
    /// # Errors
    /// As for [`Instance::get_row`], and those of transactions: `OTSParameterInvalid` for a malformed id,
    /// `OTSSessionNotExist`, `OTSSessionBusy`, `OTSDataOutOfRange`.
    pub fn get_row_in(
        &self,
        transaction: Option<&str>,
        request: &GetRow<'_>,
        sink: &mut dyn RowSink,
    ) -> impl Future<Output = Outcome<Found>> {
        read::get_row(&self.state, transaction, request, sink)
    }

    /// Reads up to 100 rows of one or many tables. Returns each row's result, and passes the found rows to the sink of
    /// their table. Every table of a batch that is not refused must have a sink.
    ///
    /// # Errors
    /// If the request itself is wrong, or the storage cannot be read. Errors of single rows (no such table, a key that
    /// does not fit, damaged data) are their results.
    pub fn batch_get_row<K: RowSink>(
        &self,
        tables: &[TableRead<'_>],
        sinks: &mut [K],
    ) -> impl Future<Output = Outcome<Vec<Vec<Outcome<Found>>>>> {
        // The rest is compiled once, for all kinds of sinks.
        let sinks = sinks.iter_mut().map(|sink| sink as &mut dyn RowSink).collect();
        read::batch_get_row(&self.state, tables, sinks)
    }

    /// Reads a range of rows into `sink`: at most `limit`, and at most 5000 rows or 4 MB scanned, cut at whole rows.
    /// Scanned data counts whether or not the reader asked for it and the filter passes it. So a call may return no row
    /// but a next start, and the filter does not make it cheaper. A call also ends after many deleted or expired rows, or
    /// if the filter's regular expressions had too much work.
    ///
    /// # Errors
    /// Any error of the request or its ends; `Corrupt` if stored data is damaged.
    pub fn get_range(
        &self,
        request: &GetRange<'_>,
        sink: &mut dyn RowSink,
    ) -> impl Future<Output = Outcome<RangeRead>> {
        read::get_range(&self.state, None, request, sink)
    }

    /// The same as part of a transaction: the read sees the transaction's writes.
    ///
    /// # Errors
    /// As for [`Instance::get_range`], and those of transactions.
    pub fn get_range_in(
        &self,
        transaction: Option<&str>,
        request: &GetRange<'_>,
        sink: &mut dyn RowSink,
    ) -> impl Future<Output = Outcome<RangeRead>> {
        read::get_range(&self.state, transaction, request, sink)
    }

    /// Counts the rows of a range that pass the filter, in ascending order from its start. A call reads as many rows as
    /// [`Instance::get_range`] would, all of one instant, and costs the same.
    ///
    /// # Errors
    /// As for [`Instance::get_range`].
    pub fn count_rows(&self, request: CountRows<'_>) -> impl Future<Output = Outcome<RowCount>> {
        count::count_rows(&self.state, request)
    }

    /// Which of the watched rows have changed since `place`: at once if one has, if the place is not known, or unless it
    /// `waits`; else after the next stored change among them, or after some seconds. Without a place: where to begin, at
    /// once; what is read after that has all earlier changes. A change may leave its row as it was. Rows that expire do not
    /// count.
    ///
    /// # Errors
    /// Those of a read of the same rows. Errors of an engine that has ended.
    pub fn changed_rows(
        &self,
        name: TableName<'_>,
        watched: &Watched<'_>,
        place: Option<ChangePlace>,
        waits: bool,
    ) -> impl Future<Output = Result<ChangedRows>> {
        watch::changed_rows(&self.state, name, watched, place, waits)
    }

    /// Starts a transaction on the rows of one partition key value, which is all of `key`, and locks them.
    ///
    /// # Errors
    /// A wrong key; `OTSObjectNotExist`; `OTSParameterInvalid` for a table without transactions;
    /// `OTSRowOperationConflict` if another transaction has the rows.
    pub fn start_local_transaction(&self, table: TableName<'_>, key: &KeyInput<'_>) -> Outcome<Started> {
        transact::start(&self.state, None, table, key)
    }

    /// The same for a client, whose end ends the transaction.
    ///
    /// # Errors
    /// Those of [`start_local_transaction`](Self::start_local_transaction).
    pub fn start_local_transaction_of(
        &self,
        client: Option<u64>,
        table: TableName<'_>,
        key: &KeyInput<'_>,
    ) -> Outcome<Started> {
        transact::start(&self.state, client, table, key)
    }

    /// Commits a transaction: stores all its writes at once, or none. It is over afterwards, whatever the result, unless
    /// its partition key value is over its limit (C5): then it can be committed later.
    ///
    /// # Errors
    /// `OTSParameterInvalid` for a malformed id; `OTSSessionNotExist`; `OTSSessionBusy`; `OTSCapacityUnitExhausted`;
    /// errors of a write.
    pub fn commit_transaction(&self, id: &str, origin: Option<Origin>) -> impl Future<Output = Outcome<Consumed>> {
        transact::commit(&self.state, id, origin)
    }

    /// Aborts a transaction: none of its writes ever takes effect.
    ///
    /// # Errors
    /// `OTSParameterInvalid` for a malformed id; `OTSSessionNotExist`; `OTSSessionBusy`.
    pub fn abort_transaction(&self, id: &str) -> Outcome<Consumed> {
        transact::abort(&self.state, id)
    }

    /// Ends the transactions of a client without a commit. One that is being committed ends by itself.
    pub fn end_transactions_of(&self, client: u64) {
        self.state.transactions.end_of_client(client);
    }
}
