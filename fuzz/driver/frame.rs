//! Frames of whole requests: the bytes of names, keys and values.

use super::described::{Shape, operations, shape};
use tabstore::format::wire::{put_bytes, put_sv, put_uv};

/// A value, or a marker in its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Integer(i64),
    Double(f64),
    Boolean(bool),
    Text(String),
    Binary(Vec<u8>),
    InfMin,
    InfMax,
    AutoIncrement,
}

/// Key columns as a request names them.
pub(crate) type Key = Vec<(String, Item)>;

/// Builds a frame.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    requests: Vec<u8>,
    names: Vec<String>,
    count: u64,
}

/// The number of an operation.
pub(crate) fn number(operation: &str) -> u8 {
    operations().iter().find(|one| one.name == operation).expect("it is declared").number
}

fn tag(name: &str) -> u8 {
    match shape("tag") {
        Some(Shape::Tags(tags)) => tags.iter().find(|(tag, _)| *tag == name).expect("it is declared").1,
        _ => unreachable!("tags are declared"),
    }
}

impl Builder {
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut frame = vec![1];
        frame.extend((self.requests.len() as u32 + 5).to_le_bytes());
        frame.extend(&self.requests);
        put_uv(self.names.len() as u64, &mut frame);
        self.names.iter().for_each(|name| put_bytes(name.as_bytes(), &mut frame));
        frame
    }

    /// GetRow of a whole row.
    pub(crate) fn get(&mut self, table: &str, key: &Key) {
        self.head(number("GET_ROW"));
        self.name(table);
        self.key(key);
        let Some(Shape::Flags(flags)) = shape("ReadOptions") else { unreachable!("read options are declared") };
        self.u8(flags.iter().find(|flag| flag.name == "max_versions").expect("it is declared").number);
        self.uv(i64::MAX.cast_unsigned());
    }

    /// The number of the next request, and its operation.
    pub(crate) fn head(&mut self, operation: u8) {
        self.count += 1;
        self.uv(self.count);
        self.u8(operation);
    }

    pub(crate) fn u8(&mut self, byte: u8) {
        self.requests.push(byte);
    }

    pub(crate) fn uv(&mut self, value: u64) {
        put_uv(value, &mut self.requests);
    }

    pub(crate) fn sv(&mut self, value: i64) {
        put_sv(value, &mut self.requests);
    }

    pub(crate) fn text(&mut self, text: &str) {
        put_bytes(text.as_bytes(), &mut self.requests);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        put_bytes(bytes, &mut self.requests);
    }

    pub(crate) fn name(&mut self, name: &str) {
        let index = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.uv(index as u64);
    }

    pub(crate) fn key(&mut self, key: &Key) {
        self.requests.push(key.len() as u8);
        for (name, item) in key {
            self.name(name);
            self.item(item);
        }
    }

    pub(crate) fn item(&mut self, item: &Item) {
        let out = &mut self.requests;
        match item {
            Item::Integer(value) => {
                out.push(tag("INTEGER"));
                put_sv(*value, out);
            }
            Item::Double(value) => {
                out.push(tag("DOUBLE"));
                out.extend(value.to_le_bytes());
            }
            Item::Boolean(value) => out.push(tag(if *value { "TRUE" } else { "FALSE" })),
            Item::Text(value) => {
                out.push(tag("STRING"));
                put_bytes(value.as_bytes(), out);
            }
            Item::Binary(value) => {
                out.push(tag("BINARY"));
                put_bytes(value, out);
            }
            Item::InfMin => out.push(tag("INF_MIN")),
            Item::InfMax => out.push(tag("INF_MAX")),
            Item::AutoIncrement => out.push(tag("AUTO_INCREMENT")),
        }
    }
}
