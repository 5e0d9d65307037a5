//! Tables, rows, batches and ranges: the meaning of a wide-column store's operations.
//!
//! All validation is here, once, in the service's order: the request itself, the table's existence, the key, the table's
//! options, conditions. Then the operation runs. The engine below knows trees of rows and no tables. Sessions and doors
//! above know bytes and no rules.
//!
//! Operations on one row take effect in the order in which their futures are first polled.
//!
//! Each room uses those below it. No two files use each other: `cargo xtask structure` checks that.
//!
//! | room | has |
//! |---|---|
//! | `instance` | what others call; passes the state to an operation |
//! | `inspect`, `foreign`, `operations`, `stream` | functions over the state, by the operation; each uses those behind it |
//! | `state` | what an open instance holds: an owner for each part, and what takes several of them |
//! | `rows` | requests on rows: checked, decided and read. Nothing here waits |
//! | `units` | what operations cost, counted and limited |
//! | `table` | a table, its indexes, its stream, their descriptions |

pub mod foreign;
mod inspect;
mod instance;
mod operations;
mod rows;
mod state;
mod stream;
mod table;
mod units;

pub use inspect::{Hidden, Inspection, KeyPlace, StoredRow, TreeKind, TreeName};
pub use instance::Instance;
pub use operations::access_admin::AccessKeyAdmin;
pub use operations::answering::{Changed, Clients};
pub use operations::atomic_batch::Scope;
pub use operations::consumed::{ComputeConsumed, ConsumedSeries};
pub use operations::count::{CountRows, RowCount};
pub use operations::load::{Loader, PutRows, StoreRows};
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
pub use state::InstanceOptions;
pub use state::access::{AccessKey, Right, Rights, authorize};
pub use stream::{ShardDescription, StreamPage, StreamRecord, StreamRecords, StreamStart, Streams};
pub use table::descriptions::{
    CreateTable, IndexDescription, IndexSpec, OptionsChange, PartitionDescription, StreamChange, StreamDescription,
    TableDescription, UpdateTable,
};
pub use table::{Index, IndexMeta, Table};
pub use units::failure::{Failure, Outcome, Refused};
pub use units::throttle::ThrottleOptions;
