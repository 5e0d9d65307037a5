//! Why a request gets no answer of its operation, in the words of the service.

use crate::error::{Code, Error, Kind};
use crate::format::wire::Damage;
use crate::modules::Module;
use crate::tablestore::Failure;

/// What ends a request early.
#[derive(Debug)]
pub(super) enum Stop {
    /// The service refuses it.
    Refused(Refusal),
    /// Nothing was done: this module has to be loaded first.
    Needs(Module),
    /// It is no answer to the request: the engine has a word for the client itself.
    Ended(Error),
}

/// A refusal, as the service's clients get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: &'static str,
    pub(super) status: u16,
    pub(super) message: String,
}

/// What a part of the door has found.
pub(super) type Answer<T> = Result<T, Stop>;

/// The refusal of a wrong parameter.
#[inline(never)]
pub(super) fn parameter<T>(message: impl Into<String>) -> Answer<T> {
    refuse(Code::ParameterInvalid.as_str(), Code::ParameterInvalid.status(), message)
}

/// The refusal of a request that is not authenticated.
pub(super) fn unauthenticated<T>(message: impl Into<String>) -> Answer<T> {
    refuse(Code::AuthFailed.as_str(), Code::AuthFailed.status(), message)
}

/// A refusal with a code that only doors have.
pub(super) fn refuse<T>(code: &'static str, status: u16, message: impl Into<String>) -> Answer<T> {
    Err(Stop::Refused(Refusal { code, status, message: message.into() }))
}

impl Refusal {
    /// What the engine says, in the words of the service. `None` if the service has none for it.
    pub(super) fn of(error: &Error) -> Option<Self> {
        let code = match (error.code(), error.kind()) {
            // Whoever has the engine passes the request to the next one.
            (Code::Closed | Code::Fenced, _) => return None,
            (Code::QuotaExceeded, _) => Code::QuotaExhausted,
            (Code::ReadOnly, _) => Code::NoPermissionAccess,
            (_, Kind::Corrupt) => Code::InternalServerError,
            (Code::Busy | Code::Unavailable | Code::ClockJumped, _) => {
                let (code, message) = ("OTSServerUnavailable", error.message().to_owned());
                return Some(Self { code, status: 503, message });
            }
            (code, _) => code,
        };
        Some(Self { code: code.as_str(), status: code.status(), message: error.message().to_owned() })
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Refusal::of(&error).map_or(Self::Ended(error), Self::Refused)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        failure.error.into()
    }
}

/// A message that is none.
impl From<Damage> for Stop {
    fn from(_: Damage) -> Self {
        Error::parameter("Parse PBMessage from RawString failed.").into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i6_codes_that_the_service_does_not_know_become_some_that_it_does() {
        let of = |code| Refusal::of(&Error::new(code, "why")).map(|refusal| (refusal.code, refusal.status));
        assert_eq!((of(Code::Closed), of(Code::Fenced)), (None, None));
        for &code in Code::ALL {
            let Some((name, status)) = of(code) else { continue };
            assert!(name.starts_with("OTS") && (400..=599).contains(&status), "{name} {status}");
        }
        assert_eq!(of(Code::QuotaExceeded), Some(("OTSQuotaExhausted", 403)));
        assert_eq!(of(Code::Corrupt), Some(("OTSInternalServerError", 500)));
        assert_eq!(of(Code::Busy), Some(("OTSServerUnavailable", 503)));
        assert_eq!(of(Code::ConditionCheckFail), Some(("OTSConditionCheckFail", 403)));
    }
}
