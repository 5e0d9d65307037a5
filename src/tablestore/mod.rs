//! Tables, rows, batches and ranges: the meaning of a wide-column store's operations.
//!
//! All validation is here, once, in the service's order: the request itself, the table's existence, the key, the table's
//! options, conditions. Then the operation runs. The engine below knows trees of rows and no tables. Sessions and doors
//! above know bytes and no rules.
//!
//! Operations on one row take effect in the order in which their futures are first polled.
//!
//! [`Instance`] wires the parts: tables, transactions, the meter, the throttle and the stamps keep their own state and
//! know no instance. Each group of operations has a file of its own with an `impl Instance`. Files still use each other in
//! circles: `cargo xtask structure --circles` names them.

pub mod foreign;
mod inspect;
mod instance;
mod operations;
mod rows;
mod state;
mod stream;
mod table;
mod units;

pub use inspect::{Hidden, KeyPlace, StoredRow, TreeKind, TreeName};
pub use instance::{Instance, InstanceOptions};
pub use operations::answering::Changed;
pub use operations::batch::Scope;
pub use operations::count::{CountRows, RowCount};
pub use operations::ingest::{Loader, PutRows, StoreRows};
pub use operations::metering::{ComputeConsumed, ConsumedSeries};
pub use operations::missing_rows::MissingRows;
pub use operations::read::RangeRead;
pub use operations::splits::{SplitRequest, Splits};
pub use operations::stored::Stored;
pub use operations::transact::Started;
pub use operations::watch::{ChangedRows, Watched};
pub use rows::point_read::Found;
pub use rows::prepared::{ReturnedRow, Written};
pub use rows::request::{
    ColumnChange, ColumnOp, Existence, GetRange, GetRow, Mutation, PutCell, ReadOptions, ReturnContent, RowWrite,
    TableRead,
};
pub use state::access::{AccessKey, Right, Rights, authorize};
pub use stream::{ShardDescription, StreamPage, StreamRecord, StreamRecords, StreamStart};
pub use table::descriptions::{
    CreateTable, IndexDescription, IndexSpec, OptionsChange, PartitionDescription, StreamChange, StreamDescription,
    TableDescription, UpdateTable,
};
pub use table::{Index, IndexMeta, Table};
pub use units::failure::{Failure, Outcome, Refused};
pub use units::throttle::ThrottleOptions;
