//! Looks inside an instance: what the engine's trees are, what a read does, which versions are hidden. Local extensions, for tools
//! and lessons; no door has them.
//!
//! All of it is a gate of [`Module::Inspection`](crate::modules::Module::Inspection).

mod keys;
mod reads;
mod trees;
mod work;

pub use keys::KeyPlace;
pub use reads::{Hidden, StoredRow};
pub use trees::{TreeKind, TreeName};

use crate::tablestore::state::State;

/// A look inside an instance.
#[derive(Clone, Copy)]
pub struct Inspection<'i> {
    pub(crate) state: &'i State,
}
