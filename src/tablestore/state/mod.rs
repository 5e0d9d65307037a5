//! What an open instance holds besides its tables, and how it is stored. Nothing here knows an instance.

pub(super) mod access;
pub(super) mod answers;
pub(super) mod catalog;
pub(super) mod catalog_records;
pub(super) mod salvage;
pub(super) mod transaction;
