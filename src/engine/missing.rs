//! What is missing of a damaged store that was opened to be salvaged.

use crate::error::{Code, Error};
use crate::model::TreeId;

/// What could not be read when a store was opened to salvage it.
#[derive(Debug)]
pub struct Missing {
    /// Which record, and why it cannot be read.
    pub error: Error,
    /// The tree whose rows are missing, if that is known: if not, the latest writes of any table may be.
    pub tree: Option<TreeId>,
    /// All rows of the tree from the first key on are missing, up to those before the other one: encoded, and perhaps no keys
    /// of rows. Empty where no tree is known, or all rows of it are missing.
    pub keys: [Vec<u8>; 2],
}

impl Missing {
    /// Writes are missing, nobody knows of which rows.
    pub(crate) fn writes(error: Error) -> Self {
        Self { error, tree: None, keys: Default::default() }
    }

    /// All rows of a tree are missing.
    pub(crate) fn of_tree(tree: TreeId, error: Error) -> Self {
        Self { error, tree: Some(tree), keys: Default::default() }
    }
}

/// Says what may help where a record is damaged without which nothing can be opened.
pub(crate) fn or_salvage(error: Error) -> Error {
    let hint = "Opened with the option 'salvage', read-only, it gives the rows that do not depend on that.";
    if error.code() == Code::Corrupt { error.with_hint(hint) } else { error }
}

/// The refusal of a write.
pub(super) fn read_only() -> Error {
    let error = Error::new(Code::ReadOnly, "The database was opened to salvage it, and is read-only.");
    error.with_hint("Write what it gives to another instance.")
}
