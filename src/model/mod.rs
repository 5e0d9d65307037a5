//! The content of tables, as pure data and pure rules: values, keys, rows, schemas, names, versions, limits, capacity.
//!
//! Nothing here does I/O, asks the time or knows storage.

pub mod capacity;
pub(crate) mod decimal;
pub mod filter;
mod ids;
mod key;
mod key_input;
mod key_reader;
pub mod limits;
pub mod meter;
mod name;
mod row;
pub(crate) mod schema;
pub mod select;
pub mod tags;
mod value;
pub mod version;

pub use capacity::Consumed;
pub use filter::Filter;
pub use ids::{BlockId, LogNumber, ManifestId, Origin, RecordPlace, SegmentId, TreeId, WriteNote};
pub use key::{
    KeyBound, KeyType, KeyValue, MAX_KEY_COLUMNS, decode_key, encode_bound, encode_key, encode_value, key_bytes,
    partition_prefix,
};
pub use key_input::{KeyInput, KeyPart};
pub use key_reader::{KeyReader, KeyRefs};
pub use limits::{Limits, NameRules};
pub use name::{ColumnName, InstanceName, TableName};
pub use row::{CellChange, CellOp, CellPlace, CellRef, ChangeKind, RowChange, RowSink};
pub use schema::{DefinedColumn, IndexKind, InstanceKind, KeyColumn, ReservedThroughput, TableOptions, TableSchema};
pub use value::{Value, ValueRef, ValueType};
