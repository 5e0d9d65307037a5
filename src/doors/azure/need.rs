//! What a request needs: the right of a key, and what a signature has to give.

use crate::azure::entity::EntityOp;
use crate::tablestore::Right;

/// The kind of thing that is worked on, as signatures of an account know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// The service.
    Service,
    /// A table.
    Container,
    /// Entities.
    Object,
}

/// What an operation needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need<'n> {
    /// The right of a key.
    pub(super) right: Right,
    /// The kind of thing.
    pub(super) level: Level,
    /// One letter of each of these, in a signature. Without any, no signature gives it.
    pub(super) letters: &'static [&'static str],
    /// The table of the entities.
    pub(super) table: Option<&'n str>,
    /// The keys of the only entity.
    pub(super) key: Option<(&'n str, &'n str)>,
}

impl<'n> Need<'n> {
    /// What work on tables or on the service needs.
    pub(super) fn of(right: Right, level: Level, letters: &'static [&'static str]) -> Self {
        Self { right, level, letters, table: None, key: None }
    }

    /// What reading entities needs.
    pub(super) fn to_read(table: &'n str, key: Option<(&'n str, &'n str)>) -> Self {
        Self { table: Some(table), key, ..Self::of(Right::Read, Level::Object, &["r"]) }
    }

    /// What a change of an entity needs.
    pub(super) fn to_change(op: EntityOp, table: &'n str, key: (&'n str, &'n str)) -> Self {
        let letters: &'static [&'static str] = match op {
            EntityOp::Insert => &["a"],
            EntityOp::Replace(_) | EntityOp::Merge(_) => &["u"],
            EntityOp::InsertOrReplace | EntityOp::InsertOrMerge => &["a", "u"],
            EntityOp::Delete(_) => &["d"],
        };
        Self { table: Some(table), key: Some(key), ..Self::of(Right::Write, Level::Object, letters) }
    }
}
