//! A refused operation: why, and what it cost all the same.

use crate::error::{Code, Error};
use crate::model::Consumed;
use std::fmt;

/// Why an operation failed, and the capacity units it consumed nevertheless.
#[derive(Clone)]
pub struct Failure {
    /// Why.
    pub error: Error,
    /// What it cost.
    pub consumed: Consumed,
}

/// What an operation gives.
pub type Outcome<T> = Result<T, Failure>;

/// What a refused operation costs, by its type.
#[derive(Clone, Copy, Debug)]
pub(super) enum Charge {
    /// A read: one read unit.
    Read,
    /// PutRow, DeleteRow: one write unit.
    Write,
    /// UpdateRow: one of each, but one write unit when there is no such table.
    Update,
    /// A batch that is refused as a whole, and operations on tables: nothing.
    Nothing,
}

impl Charge {
    /// The failure of an operation of this type. Faults of the service (HTTP status 5xx) cost nothing; a failed
    /// condition costs one unit of each.
    pub(super) fn failure(self, error: Error) -> Failure {
        let consumed = match (self, error.code()) {
            (Self::Nothing, _) => Consumed::default(),
            (_, Code::ConditionCheckFail) => Consumed { read: 1, write: 1 },
            (_, code) if code.status() >= 500 => Consumed::default(),
            (Self::Read, _) => Consumed::reading(1),
            (Self::Update, code) if code != Code::ObjectNotExist => Consumed { read: 1, write: 1 },
            (Self::Write | Self::Update, _) => Consumed::writing(1),
        };
        Failure { error, consumed }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (cost {} read, {} write)", self.error, self.consumed.read, self.consumed.write)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}
