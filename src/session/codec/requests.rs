//! The requests of a client in Rust, by the [contract].

use super::contract::{self, Row, op};
use super::fields::{Batch, Blob, Field, Text, Unsigned};
use super::frame_writer::FrameWriter;
use super::values::{PutRows, StartLocalTransaction};
use crate::model::{KeyInput, TableName};
use crate::tablestore::{GetRange, GetRow, RowWrite, TableRead};

impl FrameWriter {
    /// A request of this operation and layout.
    pub fn request<F: Field>(&mut self, id: u64, op: u8, request: &F::Value<'_>) {
        self.head(id, op);
        F::write(request, self);
    }

    /// PUT_ROW, UPDATE_ROW or DELETE_ROW.
    pub fn row_write(&mut self, id: u64, write: &RowWrite<'_>) {
        self.request::<contract::RowWrite>(id, contract::RowWrite::op(write), write);
    }

    /// BATCH_WRITE_ROW.
    pub fn batch_write(&mut self, id: u64, writes: &[RowWrite<'_>]) {
        self.request::<Batch<Row>>(id, op::BATCH_WRITE_ROW, &writes.to_vec());
    }

    /// ATOMIC.
    pub fn atomic(&mut self, id: u64, writes: &[RowWrite<'_>]) {
        self.request::<Batch<Row>>(id, op::ATOMIC, &writes.to_vec());
    }

    /// BATCH_WRITE_ROW_ATOMIC.
    pub fn batch_write_atomic(&mut self, id: u64, writes: &[RowWrite<'_>]) {
        self.request::<Batch<Row>>(id, op::BATCH_WRITE_ROW_ATOMIC, &writes.to_vec());
    }

    /// PUT_ROWS.
    pub fn put_rows(&mut self, id: u64, loader: u64, writes: &[RowWrite<'_>]) {
        let rows = PutRows { loader, rows: writes.iter().cloned().map(Ok).collect() };
        self.request::<contract::PutRows>(id, op::PUT_ROWS, &rows);
    }

    /// ACKNOWLEDGE.
    pub fn acknowledge(&mut self, below: u64) {
        self.request::<Unsigned>(0, op::ACKNOWLEDGE, &below);
    }

    /// AZURE.
    pub fn azure(&mut self, id: u64, request: &[u8]) {
        self.request::<Blob>(id, op::AZURE, &request);
    }

    /// STORE_ROWS.
    pub fn store_rows(&mut self, id: u64, loader: u64) {
        self.request::<Unsigned>(id, op::STORE_ROWS, &loader);
    }

    /// GET_ROW.
    pub fn get_row(&mut self, id: u64, request: &GetRow<'_>) {
        self.request::<contract::GetRow>(id, op::GET_ROW, request);
    }

    /// BATCH_GET_ROW.
    pub fn batch_get(&mut self, id: u64, tables: &[TableRead<'_>]) {
        self.request::<Batch<contract::TableRead>>(id, op::BATCH_GET_ROW, &tables.to_vec());
    }

    /// GET_RANGE.
    pub fn get_range(&mut self, id: u64, request: &GetRange<'_>) {
        self.request::<contract::GetRange>(id, op::GET_RANGE, request);
    }

    /// START_LOCAL_TRANSACTION.
    pub fn start_transaction(&mut self, id: u64, table: &str, key: &KeyInput<'_>) {
        let request = StartLocalTransaction { table: TableName::known(table), key: key.clone() };
        self.request::<contract::StartLocalTransaction>(id, op::START_LOCAL_TRANSACTION, &request);
    }

    /// COMMIT_TRANSACTION.
    pub fn commit(&mut self, id: u64, transaction: &str) {
        self.request::<Text>(id, op::COMMIT_TRANSACTION, &transaction);
    }

    /// ABORT_TRANSACTION.
    pub fn abort(&mut self, id: u64, transaction: &str) {
        self.request::<Text>(id, op::ABORT_TRANSACTION, &transaction);
    }
}
