//! Collects requests and makes a frame of them, for clients in Rust, tests and benchmarks.

use super::numbers::{IN_TRANSACTION, VERSION};
use super::{put_bytes, put_sv, put_uv};
use crate::format::wire;
use crate::model::ValueRef;

/// Collects requests and makes a frame of them.
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

    /// Adds the requests that follow to this transaction.
    pub fn transaction(&mut self, id: Option<&str>) {
        self.transaction = id.map(str::to_owned);
    }

    /// The beginning of a request.
    pub(super) fn head(&mut self, id: u64, op: u8) {
        self.uv(id);
        match self.transaction.take() {
            None => self.u8(op),
            Some(transaction) => {
                self.u8(op | IN_TRANSACTION);
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

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        put_bytes(bytes, &mut self.requests);
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
        self.u8(wire::value_tag(value));
        wire::put_value(value, &mut self.requests);
    }
}
