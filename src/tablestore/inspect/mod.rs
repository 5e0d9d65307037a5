//! Looks inside an instance: what the engine's trees are, what a read does, which versions are hidden. Local extensions, for tools
//! and lessons; no door has them.

mod keys;
mod reads;
mod trees;
mod work;

pub use keys::KeyPlace;
pub use reads::{Hidden, StoredRow};
pub use trees::{TreeKind, TreeName};
