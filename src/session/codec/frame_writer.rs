//! Writes request frames as a client does: for clients in Rust, tests and benchmarks.

use super::{VERSION, op, put_bytes, put_sv, put_uv, tag};
use crate::engine::Direction;
use crate::model::filter::{ColumnFilter, Filter};
use crate::model::{KeyInput, KeyPart, ValueRef};
use crate::tablestore::{
    ColumnOp, Existence, GetRange, GetRow, Mutation, ReadOptions, ReturnContent, RowWrite, TableRead,
};

/// Collects requests and makes a frame of them. The layouts are in [`RequestReader`](super::RequestReader)'s module.
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

    /// PUT_ROW, UPDATE_ROW or DELETE_ROW.
    pub fn row_write(&mut self, id: u64, write: &RowWrite<'_>) {
        self.head(id, op_of(write));
        self.write(write);
    }

    /// BATCH_WRITE_ROW.
    pub fn batch_write(&mut self, id: u64, writes: &[RowWrite<'_>]) {
        self.head(id, op::BATCH_WRITE_ROW);
        self.writes(writes);
    }

    /// BATCH_WRITE_ROW_ATOMIC.
    pub fn batch_write_atomic(&mut self, id: u64, writes: &[RowWrite<'_>]) {
        self.head(id, op::BATCH_WRITE_ROW_ATOMIC);
        self.writes(writes);
    }

    /// PUT_ROWS.
    pub fn put_rows(&mut self, id: u64, loader: u64, writes: &[RowWrite<'_>]) {
        self.head(id, op::PUT_ROWS);
        put_uv(loader, &mut self.requests);
        self.writes(writes);
    }

    /// STORE_ROWS.
    pub fn store_rows(&mut self, id: u64, loader: u64) {
        self.head(id, op::STORE_ROWS);
        put_uv(loader, &mut self.requests);
    }

    fn writes(&mut self, writes: &[RowWrite<'_>]) {
        self.uv(writes.len());
        for write in writes {
            self.requests.push(op_of(write));
            self.write(write);
        }
    }

    /// GET_ROW.
    pub fn get_row(&mut self, id: u64, request: &GetRow<'_>) {
        self.head(id, op::GET_ROW);
        self.name(request.table.as_str());
        self.key(&request.key);
        self.options(&request.options);
    }

    /// BATCH_GET_ROW.
    pub fn batch_get(&mut self, id: u64, tables: &[TableRead<'_>]) {
        self.head(id, op::BATCH_GET_ROW);
        self.uv(tables.len());
        for read in tables {
            self.name(read.table.as_str());
            self.options(&read.options);
            self.uv(read.keys.len());
            read.keys.iter().for_each(|key| self.key(key));
        }
    }

    /// GET_RANGE.
    pub fn get_range(&mut self, id: u64, request: &GetRange<'_>) {
        self.head(id, op::GET_RANGE);
        self.name(request.table.as_str());
        self.requests.push(u8::from(request.direction == Direction::Backward));
        self.key(&request.start);
        self.key(&request.end);
        self.uv(request.limit.map_or(0, |limit| limit as usize));
        self.options(&request.options);
    }

    /// START_LOCAL_TRANSACTION.
    pub fn start_transaction(&mut self, id: u64, table: &str, key: &KeyInput<'_>) {
        self.head(id, op::START_LOCAL_TRANSACTION);
        self.name(table);
        self.key(key);
    }

    /// COMMIT_TRANSACTION.
    pub fn commit(&mut self, id: u64, transaction: &str) {
        self.head(id, op::COMMIT_TRANSACTION);
        put_bytes(transaction.as_bytes(), &mut self.requests);
    }

    /// ABORT_TRANSACTION.
    pub fn abort(&mut self, id: u64, transaction: &str) {
        self.head(id, op::ABORT_TRANSACTION);
        put_bytes(transaction.as_bytes(), &mut self.requests);
    }

    fn head(&mut self, id: u64, op: u8) {
        put_uv(id, &mut self.requests);
        match &self.transaction {
            None => self.requests.push(op),
            Some(transaction) => {
                self.requests.push(op | op::IN_TRANSACTION);
                put_bytes(transaction.as_bytes(), &mut self.requests);
            }
        }
    }

    fn uv(&mut self, value: usize) {
        put_uv(value as u64, &mut self.requests);
    }

    fn name(&mut self, name: &str) {
        let index = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.uv(index);
    }

    fn write(&mut self, write: &RowWrite<'_>) {
        self.name(write.table.as_str());
        self.key(&write.key);
        let existence = match write.condition {
            Existence::Ignore => 0,
            Existence::ExpectExist => 1,
            Existence::ExpectNotExist => 2,
        };
        self.requests.extend([existence, u8::from(write.column_condition.is_some())]);
        write.column_condition.iter().for_each(|filter| self.filter(filter));
        match &write.returns {
            ReturnContent::None => self.requests.push(0),
            ReturnContent::PrimaryKey => self.requests.push(1),
            ReturnContent::AfterModify(columns) => {
                self.requests.push(2);
                self.uv(columns.len());
                columns.iter().for_each(|column| self.name(column.as_str()));
            }
        }
        match &write.mutation {
            Mutation::Put(cells) => {
                self.uv(cells.len());
                for cell in cells {
                    self.name(cell.column.as_str());
                    self.versioned(cell.version, cell.value);
                }
            }
            Mutation::Update(changes) => {
                self.uv(changes.len());
                for change in changes {
                    self.name(change.column.as_str());
                    match change.op {
                        ColumnOp::Put { version, value } => {
                            self.requests.push(1);
                            self.versioned(version, value);
                        }
                        ColumnOp::DeleteVersion(version) => {
                            self.requests.push(2);
                            put_sv(version, &mut self.requests);
                        }
                        ColumnOp::DeleteColumn => self.requests.push(3),
                        ColumnOp::Increment(delta) => {
                            self.requests.push(4);
                            put_sv(delta, &mut self.requests);
                        }
                    }
                }
            }
            Mutation::Delete => {}
        }
    }

    fn key(&mut self, key: &KeyInput<'_>) {
        self.requests.push(key.columns().len() as u8);
        for (name, part) in key.columns() {
            self.name(name);
            match part {
                KeyPart::Value(value) => self.value(*value),
                KeyPart::InfMin => self.requests.push(tag::INF_MIN),
                KeyPart::InfMax => self.requests.push(tag::INF_MAX),
                KeyPart::AutoIncrement => self.requests.push(tag::AUTO_INCREMENT),
            }
        }
    }

    fn versioned(&mut self, version: Option<i64>, value: ValueRef<'_>) {
        self.requests.push(u8::from(version.is_some()));
        if let Some(version) = version {
            put_sv(version, &mut self.requests);
        }
        self.value(value);
    }

    fn value(&mut self, value: ValueRef<'_>) {
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

    fn options(&mut self, options: &ReadOptions<'_>) {
        let versions = options.versions;
        let flags = [
            versions.max_versions.is_some(),
            versions.range.is_some(),
            versions.version.is_some(),
            !options.columns.is_empty(),
            options.start_column.is_some(),
            options.end_column.is_some(),
            options.filter.is_some(),
        ];
        self.requests.push(flags.iter().enumerate().map(|(bit, set)| u8::from(*set) << bit).sum());
        if let Some(count) = versions.max_versions {
            self.uv(count as usize);
        }
        if let Some((start, end)) = versions.range {
            put_sv(start, &mut self.requests);
            put_sv(end, &mut self.requests);
        }
        if let Some(version) = versions.version {
            put_sv(version, &mut self.requests);
        }
        if !options.columns.is_empty() {
            self.uv(options.columns.len());
            options.columns.iter().for_each(|column| self.name(column.as_str()));
        }
        for column in [options.start_column, options.end_column].into_iter().flatten() {
            put_bytes(column.as_bytes(), &mut self.requests);
        }
        options.filter.iter().for_each(|filter| self.filter(filter));
    }

    fn filter(&mut self, filter: &Filter<'_>) {
        let (operator, children) = match filter {
            Filter::Not(children) => (1, children),
            Filter::And(children) => (2, children),
            Filter::Or(children) => (3, children),
            Filter::Column(filter) => return self.column_filter(filter),
            Filter::Page { offset, limit } => {
                self.requests.push(3);
                put_sv(*offset, &mut self.requests);
                return put_sv(*limit, &mut self.requests);
            }
        };
        self.requests.extend([2, operator]);
        self.uv(children.len());
        children.iter().for_each(|child| self.filter(child));
    }

    fn column_filter(&mut self, filter: &ColumnFilter<'_>) {
        self.requests.push(1);
        self.name(filter.column.as_str());
        self.requests.push(filter.comparator as u8);
        if filter.comparator.compares() {
            filter.value.iter().for_each(|value| self.value(*value));
        }
        let flags = [filter.pass_if_missing, filter.latest_version_only, filter.transfer.is_some()];
        self.requests.push(flags.iter().enumerate().map(|(bit, set)| u8::from(*set) << bit).sum());
        if let Some(transfer) = filter.transfer {
            put_bytes(transfer.regex.as_bytes(), &mut self.requests);
            self.requests.push(transfer.cast as u8);
        }
    }
}

fn op_of(write: &RowWrite<'_>) -> u8 {
    match write.mutation {
        Mutation::Put(_) => op::PUT_ROW,
        Mutation::Update(_) => op::UPDATE_ROW,
        Mutation::Delete => op::DELETE_ROW,
    }
}
