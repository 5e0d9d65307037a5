//! Tables, rows, batches and ranges: what the operations of a wide-column store mean.
//!
//! All validation lives here, once, in the order in which the service checks: what a request says of itself, whether its
//! table exists, whether its key fits, what the table allows, conditions; then it is done. Below this, the engine knows
//! trees of rows and nothing of tables; above, sessions and doors know bytes and nothing of rules.
//!
//! Operations on one row take effect in the order in which their futures are first polled.
//!
//! [`Instance`] wires the parts: tables, transactions, the meter, the throttle and the stamps keep their own state and know
//! no instance. What can be asked of an instance is in files of its own, each `impl Instance`. No two files use each other.

mod access;
mod access_admin;
mod admin;
mod admission;
mod base_change;
mod batch;
mod build;
mod build_progress;
mod catalog;
mod catalog_records;
mod check;
mod decide;
mod derived;
mod descriptions;
mod failure;
mod fits;
mod ids;
mod in_order;
mod index;
mod index_admin;
mod ingest;
mod instance;
mod meter;
mod metering;
mod missing_rows;
mod partitions;
mod point_read;
mod prepared;
mod range;
mod range_scan;
mod read;
mod request;
mod row_reader;
mod salvage;
mod sift;
mod splits;
mod stored;
mod table;
mod throttle;
mod time;
mod transact;
mod transaction;
mod unknown_table;
mod write;

pub use access::{AccessKey, Right, Rights, authorize};
pub use descriptions::{
    CreateTable, IndexDescription, IndexSpec, OptionsChange, PartitionDescription, TableDescription, UpdateTable,
};
pub use failure::{Failure, Outcome};
pub use ingest::{Loader, PutRows, Refused, StoreRows};
pub use instance::{Instance, InstanceOptions};
pub use metering::{ComputeConsumed, ConsumedSeries};
pub use missing_rows::MissingRows;
pub use point_read::Found;
pub use prepared::{ReturnedRow, Written};
pub use read::RangeRead;
pub use request::{
    ColumnChange, ColumnOp, Existence, GetRange, GetRow, Mutation, PutCell, ReadOptions, ReturnContent, RowWrite,
    TableRead,
};
pub use splits::{SplitRequest, Splits};
pub use stored::Stored;
pub use table::{Index, IndexMeta, Table};
pub use throttle::ThrottleOptions;
pub use transact::Started;
