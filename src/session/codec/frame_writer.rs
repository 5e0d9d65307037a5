//! Writes request frames as a client does: for clients in Rust, tests and benchmarks.

use super::contract::{self, op};
use super::fields::{Field, List, Row, Text, Unsigned};
use super::values::{PutRows, StartLocalTransaction};
use super::{VERSION, put_bytes, put_sv, put_uv, tag};
use crate::model::{KeyInput, TableName, ValueRef};
use crate::tablestore::{GetRange, GetRow, RowWrite, TableRead};

/// Collects requests and makes a frame of them. The layouts are in the [contract](super::contract).
#[derive(Debug, Default)]
pub struct FrameWriter {
    requests: Vec<u8>,
    names: Vec<String>,
    transaction: Option<String>,
}

impl FrameWriter {
    /// The frame of all requests so far.
    pub fn finish(&mut self) -> Vec<u8> {
        let requests = std::mem::take(&mut self.requests);
        let mut frame = Vec::with_capacity(requests.len() + 64);
        frame.push(VERSION);
        frame.extend_from_slice(&(requests.len() as u32 + 5).to_le_bytes());
        frame.extend_from_slice(&requests);
        put_uv(self.names.len() as u64, &mut frame);
        self.names.drain(..).for_each(|name| put_bytes(name.as_bytes(), &mut frame));
        frame
    }

    /// Makes the requests that follow part of this transaction.
    pub fn transaction(&mut self, id: Option<&str>) {
        self.transaction = id.map(str::to_owned);
    }

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
        self.request::<List<Row>>(id, op::BATCH_WRITE_ROW, &writes.to_vec());
    }

    /// BATCH_WRITE_ROW_ATOMIC.
    pub fn batch_write_atomic(&mut self, id: u64, writes: &[RowWrite<'_>]) {
        self.request::<List<Row>>(id, op::BATCH_WRITE_ROW_ATOMIC, &writes.to_vec());
    }

    /// PUT_ROWS.
    pub fn put_rows(&mut self, id: u64, loader: u64, writes: &[RowWrite<'_>]) {
        let rows = PutRows { loader, rows: writes.iter().cloned().map(Ok).collect() };
        self.request::<contract::PutRows>(id, op::PUT_ROWS, &rows);
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
        self.request::<List<contract::TableRead>>(id, op::BATCH_GET_ROW, &tables.to_vec());
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

    fn head(&mut self, id: u64, op: u8) {
        self.uv(id);
        match self.transaction.take() {
            None => self.u8(op),
            Some(transaction) => {
                self.u8(op | op::IN_TRANSACTION);
                self.str(&transaction);
                self.transaction = Some(transaction);
            }
        }
    }

    pub(super) fn u8(&mut self, byte: u8) {
        self.requests.push(byte);
    }

    pub(super) fn uv(&mut self, value: u64) {
        put_uv(value, &mut self.requests);
    }

    pub(super) fn sv(&mut self, value: i64) {
        put_sv(value, &mut self.requests);
    }

    pub(super) fn str(&mut self, text: &str) {
        put_bytes(text.as_bytes(), &mut self.requests);
    }

    /// The number of a name in the frame's dictionary.
    pub(super) fn name(&mut self, name: &str) {
        let index = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.uv(index as u64);
    }

    pub(super) fn value(&mut self, value: ValueRef<'_>) {
        let out = &mut self.requests;
        match value {
            ValueRef::Integer(v) => {
                out.push(tag::INTEGER);
                put_sv(v, out);
            }
            ValueRef::Double(v) => {
                out.push(tag::DOUBLE);
                out.extend_from_slice(&v.to_le_bytes());
            }
            ValueRef::Boolean(v) => out.push(if v { tag::TRUE } else { tag::FALSE }),
            ValueRef::String(v) => {
                out.push(tag::STRING);
                put_bytes(v.as_bytes(), out);
            }
            ValueRef::Binary(v) => {
                out.push(tag::BINARY);
                put_bytes(v, out);
            }
        }
    }
}
