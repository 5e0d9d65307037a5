//! The errors of the Azure Table service, with its codes, statuses and texts.

use crate::error::{Code, Error};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

macro_rules! codes {
    ($($name:ident = $status:literal, $text:literal;)*) => {
        /// The code of an error of the service: its name, its HTTP status and its usual text.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AzureCode { $(#[doc = $text] $name,)* }

        impl AzureCode {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its name, its status and its text. One table is smaller than three.
            #[inline(never)]
            const fn row(self) -> (&'static str, u16, &'static str) {
                match self { $(Self::$name => (stringify!($name), $status, $text),)* }
            }

            /// Its name, as in an error body.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                self.row().0
            }

            /// The HTTP status that goes with it.
            #[must_use]
            pub const fn status(self) -> u16 {
                self.row().1
            }

            /// Its usual text.
            #[must_use]
            pub const fn text(self) -> &'static str {
                self.row().2
            }
        }
    };
}

codes! {
    DuplicatePropertiesSpecified = 400, "A property is specified more than one time.";
    EntityTooLarge = 400, "The entity is larger than the maximum allowed size (1MB).";
    InvalidDuplicateRow = 400, "The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.";
    CommandsInBatchActOnDifferentPartitions = 400, "All commands in a batch must operate on same entity group.";
    HostInformationNotPresent = 400, "The required host information is not present in the request. You must send a non-empty Host header or include the absolute URI in the request line.";
    InvalidInput = 400, "One of the request inputs is not valid.";
    InvalidResourceName = 400, "The specifed resource name contains invalid characters.";
    OutOfRangeInput = 400, "One of the request inputs is out of range.";
    PropertiesNeedValue = 400, "The values are not specified for all properties in the entity.";
    PropertyNameInvalid = 400, "The property name is invalid.";
    PropertyNameTooLong = 400, "The property name exceeds the maximum allowed length (255).";
    PropertyValueTooLarge = 400, "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.";
    TooManyProperties = 400, "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. Each entity also has 3 system properties.";
    XMethodIncorrectCount = 400, "More than one X-HTTP-Method is specified.";
    XMethodIncorrectValue = 400, "The specified X-HTTP-Method is invalid.";
    XMethodNotUsingPost = 400, "The request uses X-HTTP-Method with an HTTP verb other than POST.";
    InvalidHeaderValue = 400, "The value for one of the HTTP headers is not in the correct format.";
    InvalidQueryParameterValue = 400, "Value for one of the query parameters specified in the request URI is invalid.";
    InvalidXmlDocument = 400, "XML specified is not syntactically valid.";
    MissingRequiredHeader = 400, "A required HTTP header was not specified.";
    AuthenticationFailed = 403, "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.";
    AuthorizationFailure = 403, "This request is not authorized to perform this operation.";
    AuthorizationPermissionMismatch = 403, "This request is not authorized to perform this operation using this permission.";
    AuthorizationServiceMismatch = 403, "This request is not authorized to perform this operation using this service.";
    AuthorizationResourceTypeMismatch = 403, "This request is not authorized to perform this operation using this resource type.";
    AuthorizationProtocolMismatch = 403, "This request is not authorized to perform this operation using this protocol.";
    AuthorizationSourceIPMismatch = 403, "This request is not authorized to perform this operation using this source IP.";
    CorsPreflightFailure = 403, "CORS not enabled or no matching rule found for this request.";
    ResourceNotFound = 404, "The specified resource does not exist.";
    TableNotFound = 404, "The table specified does not exist.";
    MethodNotAllowed = 405, "The requested method is not allowed on the specified resource.";
    EntityAlreadyExists = 409, "The specified entity already exists.";
    TableAlreadyExists = 409, "The table specified already exists.";
    UpdateConditionNotSatisfied = 412, "The update condition specified in the request was not satisfied.";
    RequestBodyTooLarge = 413, "The request body is too large and exceeds the maximum permissible limit.";
    JsonFormatNotSupported = 415, "JSON format is not supported.";
    AtomFormatNotSupported = 415, "Atom format is not supported.";
    NotImplemented = 501, "The requested operation is not implemented on the specified resource.";
    InternalError = 500, "Server encountered an internal error. Please try again after some time.";
    ServerBusy = 503, "The server is currently unable to receive requests. Please retry your request.";
    InsufficientStorage = 507, "The storage of the browser is full.";
}

/// Why a request was refused. It lies in a box: most results are results without an error, and are handed on many times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AzureError(Box<Told>);

/// What an error tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its code.
    pub code: AzureCode,
    /// Its text: one line, without request id and time.
    pub message: Cow<'static, str>,
    /// The error of the engine that it comes from, if it does. A client of this origin gets that one, and not an answer, if it is no
    /// fault of the request: the instance is closed, another tab leads, a record is damaged.
    pub engine: Option<Error>,
}

impl Deref for AzureError {
    type Target = Told;

    fn deref(&self) -> &Told {
        &self.0
    }
}

impl AzureError {
    #[inline(never)]
    fn told(code: AzureCode, message: Cow<'static, str>, engine: Option<Error>) -> Self {
        Self(Box::new(Told { code, message, engine }))
    }

    /// An error with a text of its own.
    pub fn new(code: AzureCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self::told(code, message.into(), None)
    }

    /// `InvalidInput` with its usual text.
    #[must_use]
    #[inline(never)]
    pub fn invalid_input() -> Self {
        AzureCode::InvalidInput.into()
    }

    /// `OutOfRangeInput` for a parameter or property and its value.
    #[must_use]
    pub fn out_of_range(name: &str, value: &str) -> Self {
        let message = ["The '", name, "' parameter of value '", value, "' is out of range."].concat();
        Self::new(AzureCode::OutOfRangeInput, message)
    }

    /// The error of the engine, if no answer to a request can tell it.
    #[must_use]
    pub fn unanswered(&self) -> Option<&Error> {
        self.engine.as_ref().filter(|_| self.code == AzureCode::InternalError)
    }
}

/// The error with the code's usual text.
impl From<AzureCode> for AzureError {
    #[inline(never)]
    fn from(code: AzureCode) -> Self {
        Self::told(code, Cow::Borrowed(code.text()), None)
    }
}

/// What the engine says, in the words of the service.
impl From<Error> for AzureError {
    #[inline(never)]
    fn from(error: Error) -> Self {
        let known = AzureCode::ALL.iter().find(|code| code.as_str() == error.message());
        let code = match (error.code(), known) {
            // A refusal that was decided in the engine.
            (Code::ConditionCheckFail, Some(code)) => return (*code).into(),
            (Code::ObjectNotExist, _) => return AzureCode::TableNotFound.into(),
            (Code::CapacityUnitExhausted | Code::ServerBusy, _) => AzureCode::ServerBusy,
            // Too many operations on tables in a second.
            (Code::QuotaExhausted, _) if error.retryable() => AzureCode::ServerBusy,
            // Too many old values for a stream.
            (Code::OutOfTransactionDataSizeLimit, _) => AzureCode::RequestBodyTooLarge,
            (Code::QuotaExceeded, _) => AzureCode::InsufficientStorage,
            _ => AzureCode::InternalError,
        };
        Self::told(code, Cow::Borrowed(code.text()), Some(error))
    }
}

impl fmt::Display for AzureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)
    }
}

impl std::error::Error for AzureError {}
