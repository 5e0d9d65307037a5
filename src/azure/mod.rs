//! The data model of the Azure Table service (Z1 to Z3): accounts, tables, entities and properties.
//!
//! An Azure table is a table of [`tablestore`](crate::tablestore) with rules of its own for names, keys and values. So its
//! rows have versions, a meter and partitions as those of any table. `listTable` and the quotas of I3 do not know it. An
//! entity is a row with two key columns ([`key`]), a cell for each property ([`edm`]) and one for its timestamp.
//!
//! It knows no HTTP; that is the work of [`doors::azure`](crate::doors::azure).
//!
//! All of it is a gate of [`Module::Azure`](crate::modules::Module::Azure).

pub mod account;
pub mod date_time;
mod double;
pub mod edm;
pub mod entity;
pub mod error;
pub mod filter;
mod group;
mod identifiers;
pub mod key;
pub mod names;
mod natural;
mod stored;
pub(crate) mod text;

pub use account::{Account, Query, Refusal, Setting};
pub use edm::{EdmType, EdmValue};
pub use entity::{Entity, EntityChange, EntityOp, IfMatch};
pub use error::{AzureCode, AzureError};
pub use filter::Filter;

/// A result with an error of the Azure Table service.
pub type AzureResult<T> = std::result::Result<T, AzureError>;
