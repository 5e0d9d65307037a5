//! The missing data of a damaged store that was opened with `salvage`.

use crate::error::{Code, Error};
use crate::model::TreeId;

/// Data that could not be read.
#[derive(Debug)]
pub struct Missing {
    /// The record, and why it cannot be read.
    pub error: Error,
    /// The tree whose rows are missing. If unknown, the latest writes of any table may be missing.
    pub tree: Option<TreeId>,
    /// The range of the missing rows: from the first key on, up to those before the second. Keys are encoded, and perhaps
    /// no keys of rows. Empty if the tree is unknown, or all of its rows are missing.
    pub keys: [Vec<u8>; 2],
}

impl Missing {
    /// Writes of unknown rows are missing.
    pub(crate) fn writes(error: Error) -> Self {
        Self { error, tree: None, keys: Default::default() }
    }

    /// All rows of a tree are missing.
    pub(crate) fn of_tree(tree: TreeId, error: Error) -> Self {
        Self { error, tree: Some(tree), keys: Default::default() }
    }
}

/// Adds the hint about `salvage` to the error of a record that every opening needs.
pub(crate) fn or_salvage(error: Error) -> Error {
    let hint = "With the option 'salvage' it opens read-only, with the rows that do not depend on this record.";
    if error.code() == Code::Corrupt { error.with_hint(hint) } else { error }
}

/// The error that refuses a write.
pub(crate) fn read_only() -> Error {
    let error = Error::new(Code::ReadOnly, "The database was opened with 'salvage' and is read-only.");
    error.with_hint("Copy its rows to another instance.")
}
