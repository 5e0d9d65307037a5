//! A refused operation: the reason, and its cost.

use crate::error::{Code, Error};
use crate::model::Consumed;
use std::fmt;

/// The reason why an operation failed, and the capacity units it still consumed.
#[derive(Clone)]
pub struct Failure {
    /// The reason.
    pub error: Error,
    /// The cost.
    pub consumed: Consumed,
}

/// The result of an operation.
pub type Outcome<T> = Result<T, Failure>;

/// Refused rows: their numbers, and the reasons.
pub type Refused = Vec<(usize, Failure)>;

/// The cost of a refused operation, by its type.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Charge {
    /// A read: one read unit.
    Read,
    /// PutRow, DeleteRow: one write unit.
    Write,
    /// UpdateRow: one of each, but only one write unit if there is no such table.
    Update,
    /// A batch that is refused as a whole, and operations on tables: no cost.
    Nothing,
}

impl Charge {
    /// The failure of an operation of this type. Faults of the service (HTTP status 5xx) cost nothing; a failed
    /// condition costs one unit of each.
    pub(crate) fn failure(self, error: Error) -> Failure {
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
