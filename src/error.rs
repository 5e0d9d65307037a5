//! The one public error.
//!
//! A [`Code`] names the problem in the words of the Table Store service, or in ours if the service has none. Its [`Kind`]
//! says what a caller can do about it. Modules keep richer errors of their own and fold them into this one at their
//! border. Errors are cheap to clone, because one failed commit fails many writers.

use std::fmt;
use std::sync::Arc;

/// The action that a caller can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Another writer was first: try again, or give up.
    Conflict,
    /// The database is closed: open it again.
    Closed,
    /// It does not work now, but it may work later.
    Unavailable,
    /// The origin is full: free space, then try again.
    Quota,
    /// The call is wrong: correct it.
    Invalid,
    /// Stored data is damaged: restore it.
    Corrupt,
    /// A fault of this program: report it.
    Internal,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:literal, $kind:ident;)*) => {
        /// The name of an error, as the service gives it. Local codes, which the service does not know, have no `OTS`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The code's text, as in `TabStoreError.code`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The HTTP status that goes with the code.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status,)* }
            }

            /// The action that a caller can take.
            #[must_use]
            pub const fn kind(self) -> Kind {
                match self { $(Self::$name => Kind::$kind,)* }
            }
        }
    };
}

codes! {
    /// A wrong name, type, option, size or combination.
    ParameterInvalid = "OTSParameterInvalid", 400, Invalid;
    /// A primary key that does not fit the table's schema.
    InvalidPk = "OTSInvalidPK", 400, Invalid;
    /// A table or instance of that name exists.
    ObjectAlreadyExist = "OTSObjectAlreadyExist", 409, Invalid;
    /// No table or instance of that name exists.
    ObjectNotExist = "OTSObjectNotExist", 404, Invalid;
    /// The row or column condition did not hold.
    ConditionCheckFail = "OTSConditionCheckFail", 403, Conflict;
    /// Another request holds the row.
    RowOperationConflict = "OTSRowOperationConflict", 409, Conflict;
    /// Reserved throughput was changed less than two minutes ago. This is a limit like others: two minutes are too long
    /// for automatic retries.
    TooFrequentReservedThroughputAdjustment = "OTSTooFrequentReservedThroughputAdjustment", 403, Invalid;
    /// A quota of the instance is used up.
    QuotaExhausted = "OTSQuotaExhausted", 403, Invalid;
    /// No transaction has this id: it was committed, aborted, or lived for more than a minute.
    SessionNotExist = "OTSSessionNotExist", 404, Invalid;
    /// The transaction is being used by another request.
    SessionBusy = "OTSSessionBusy", 409, Conflict;
    /// A row does not have the partition key of its transaction or of its atomic batch.
    DataOutOfRange = "OTSDataOutOfRange", 400, Invalid;
    /// A transaction has written too much.
    OutOfTransactionDataSizeLimit = "OTSOutOfTransactionDataSizeLimit", 400, Invalid;
    /// Records of a stream that were not read have expired.
    TrimmedDataAccess = "OTSTrimmedDataAccess", 400, Invalid;
    /// One partition key value used more capacity units in a second than are allowed.
    CapacityUnitExhausted = "OTSCapacityUnitExhausted", 403, Unavailable;
    /// Too many requests wait: this one was not started.
    ServerBusy = "OTSServerBusy", 503, Unavailable;
    /// The access key lacks the right that the request needs.
    NoPermissionAccess = "OTSNoPermissionAccess", 403, Invalid;
    /// A request is not signed by an access key of the instance.
    AuthFailed = "OTSAuthFailed", 403, Invalid;
    /// The database was opened with `salvage`: it is read-only.
    ReadOnly = "ReadOnly", 403, Invalid;
    /// A fault of this program.
    InternalServerError = "OTSInternalServerError", 500, Internal;
    /// The database was closed.
    Closed = "Closed", 503, Closed;
    /// Another tab has the instance open.
    Busy = "Busy", 503, Unavailable;
    /// Another writer has taken over the instance; this one is fenced off.
    Fenced = "LeaderChanged", 503, Closed;
    /// No such storage here (no IndexedDB, a forbidden context, a lost connection).
    Unavailable = "Unavailable", 503, Unavailable;
    /// The origin's quota is used up.
    QuotaExceeded = "QuotaExceeded", 507, Quota;
    /// The device's clock has jumped. Listeners are told; no call fails with this code.
    ClockJumped = "ClockJumped", 503, Unavailable;
    /// A stored record is damaged.
    Corrupt = "Corrupt", 500, Corrupt;
    /// The browser has lost an instance that existed.
    DataLost = "DataLost", 410, Corrupt;
}

/// Why an operation failed: a code, a message that names the culprit, and perhaps a hint.
///
/// The message is the service's text if it has one. The hint adds what that text leaves out: table, column, key, the
/// expected value and the given one.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Arc<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    code: Code,
    message: String,
    hint: Option<Box<str>>,
}

const TOO_FREQUENT: &str = "Too frequent table operations.";

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `code` that says `message`.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Arc::new(Inner { code, message: message.into(), hint: None }))
    }

    /// The same error with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Box<str>>) -> Self {
        Arc::make_mut(&mut self.0).hint = Some(hint.into());
        self
    }

    /// The same error with a hint about an argument: its path, the expected value and the given one.
    #[must_use]
    pub fn with_argument(self, path: &str, expected: &str, given: impl fmt::Display) -> Self {
        fn hint(path: &str, expected: &str, given: &dyn fmt::Display) -> String {
            format!("Argument '{path}': expected {expected}, given {given}.")
        }
        self.with_hint(hint(path, expected, &given))
    }

    /// The same error; its hint, if it has one, names the table.
    #[must_use]
    pub fn in_table(self, table: &str) -> Self {
        match self.hint().map(|hint| format!("Table '{table}': {hint}")) {
            Some(hint) => self.with_hint(hint),
            None => self,
        }
    }

    /// The same error with another message.
    #[must_use]
    pub fn with_message(mut self, message: String) -> Self {
        Arc::make_mut(&mut self.0).message = message;
        self
    }

    /// `OTSParameterInvalid`.
    pub fn parameter(message: impl Into<String>) -> Self {
        Self::new(Code::ParameterInvalid, message)
    }

    /// The quota of operations on tables in a second is used up.
    pub fn too_frequent() -> Self {
        Self::new(Code::QuotaExhausted, TOO_FREQUENT)
    }

    /// A damaged stored record; `what` names it, `why` describes the damage.
    pub fn corrupt(what: impl fmt::Display, why: impl fmt::Display) -> Self {
        // Compiled once, not for each pair of types.
        fn told(what: &dyn fmt::Display, why: &dyn fmt::Display) -> Error {
            Error::new(Code::Corrupt, format!("{what} is damaged: {why}"))
        }
        told(&what, &why)
    }

    /// A broken invariant of this program.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::InternalServerError, message)
    }

    /// The error's code.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The action that a caller can take.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.0.code.kind()
    }

    /// The message. It names the table, key, column or limit.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// A hint for correcting the call; not all errors have one.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Whether the same call may succeed a moment later without a change.
    #[must_use]
    pub fn retryable(&self) -> bool {
        // A failed condition would fail again: only the caller knows what to do then.
        match self.code() {
            Code::RowOperationConflict | Code::SessionBusy => true,
            // The only quota that recovers by itself.
            Code::QuotaExhausted => self.message() == TOO_FREQUENT,
            _ => self.kind() == Kind::Unavailable,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code.as_str(), self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    /// W3: `TabStoreError.retryable` says the same as the kind.
    #[test]
    fn w3_what_is_unavailable_may_be_tried_again_and_a_conflict_over_a_row() {
        let retryable = |code: &Code| Error::new(*code, "").retryable();
        let codes = Code::ALL.iter().copied().filter(retryable).collect::<Vec<_>>();
        let unavailable =
            [Code::CapacityUnitExhausted, Code::ServerBusy, Code::Busy, Code::Unavailable, Code::ClockJumped];
        assert_eq!(codes, [&[Code::RowOperationConflict, Code::SessionBusy], &unavailable[..]].concat());
        let is_unavailable = |code: &Code| code.kind() == Kind::Unavailable;
        assert_eq!(Code::ALL.iter().copied().filter(is_unavailable).collect::<Vec<_>>(), unavailable);
    }

    #[test]
    fn a_hint_stays_beside_the_message_and_other_holders_of_the_error_do_not_see_it() {
        let plain = Error::parameter("no");
        assert_eq!((plain.hint(), plain.clone().in_table("t").hint()), (None, None));
        let hinted = plain.clone().with_hint("because").in_table("t");
        assert_eq!((hinted.message(), hinted.hint()), ("no", Some("Table 't': because")));
        let wrapped = hinted.with_message("row 1: no".into());
        assert_eq!((wrapped.message(), wrapped.hint()), ("row 1: no", Some("Table 't': because")));
        assert_eq!((plain.message(), plain.hint()), ("no", None));
    }

    #[test]
    fn c5_too_many_table_operations_may_be_tried_again_and_too_many_tables_not() {
        assert!(Error::too_frequent().retryable());
        assert!(!Error::new(Code::QuotaExhausted, "Number of tables exceeds the quota:64.").retryable());
    }

    /// T6: two minutes are too long for a retry. The service's SDKs do not retry either.
    #[test]
    fn t6_a_throughput_that_changes_too_often_is_not_tried_again() {
        let error = Error::new(Code::TooFrequentReservedThroughputAdjustment, "");
        assert_eq!((error.kind(), error.code().status(), error.retryable()), (Kind::Invalid, 403, false));
    }
}
