//! What a table holds, as pure data and pure rules: values, keys, rows, schemas, names, versions, limits, capacity.
//!
//! Nothing here does I/O, asks the time or knows how anything is stored.

mod key;
mod row;
mod value;
pub mod version;

pub use key::{KeyBound, KeyType, KeyValue, decode_key, encode_bound, encode_key, partition_prefix};
pub use row::{CellChange, CellOp, CellRef, ChangeKind, RowChange, RowSink};
pub use value::{Value, ValueRef, ValueType};
