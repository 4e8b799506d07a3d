//! What a request is refused with: a status, a code, and a text for people.

use hyper::StatusCode;
use serde::Serialize;

/// The codes of errors. Each has one status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Busy,
    BadRequest,
    UriTooLong,
    BadHost,
    BadOrigin,
    NoRoute,
    BadMethod,
    ReadOnly,
    TokenMissing,
    TokenWrong,
    BadMediaType,
    TooLarge,
    TooSlow,
    UnknownParameter,
    BadParameter,
    BadBody,
    TooManyStreams,
    TooManyTraces,
    Stopping,
    NoProcess,
    NoEntry,
    NotOffered,
    NotSuspended,
    Protected,
    Timeout,
}

impl Code {
    /// The code as clients read it.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Code::Busy => "busy",
            Code::BadRequest => "bad_request",
            Code::UriTooLong => "uri_too_long",
            Code::BadHost => "bad_host",
            Code::BadOrigin => "bad_origin",
            Code::NoRoute => "no_route",
            Code::BadMethod => "bad_method",
            Code::ReadOnly => "read_only",
            Code::TokenMissing => "token_missing",
            Code::TokenWrong => "token_wrong",
            Code::BadMediaType => "bad_media_type",
            Code::TooLarge => "too_large",
            Code::TooSlow => "too_slow",
            Code::UnknownParameter => "unknown_parameter",
            Code::BadParameter => "bad_parameter",
            Code::BadBody => "bad_body",
            Code::TooManyStreams => "too_many_streams",
            Code::TooManyTraces => "too_many_traces",
            Code::Stopping => "stopping",
            Code::NoProcess => "no_process",
            Code::NoEntry => "no_entry",
            Code::NotOffered => "not_offered",
            Code::NotSuspended => "not_suspended",
            Code::Protected => "protected",
            Code::Timeout => "timeout",
        }
    }

    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Code::Busy | Code::TooManyStreams | Code::TooManyTraces | Code::Stopping => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Code::BadRequest | Code::UnknownParameter | Code::BadParameter | Code::BadBody => {
                StatusCode::BAD_REQUEST
            }
            Code::UriTooLong => StatusCode::URI_TOO_LONG,
            Code::BadHost | Code::BadOrigin | Code::ReadOnly => StatusCode::FORBIDDEN,
            Code::NoRoute | Code::NoProcess | Code::NoEntry => StatusCode::NOT_FOUND,
            Code::BadMethod => StatusCode::METHOD_NOT_ALLOWED,
            Code::TokenMissing | Code::TokenWrong => StatusCode::UNAUTHORIZED,
            Code::BadMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Code::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Code::NotOffered | Code::NotSuspended | Code::Protected => StatusCode::CONFLICT,
            Code::Timeout => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// Whether the connection is closed after the answer.
    pub(crate) const fn closes(self) -> bool {
        matches!(
            self,
            Code::Busy | Code::BadRequest | Code::UriTooLong | Code::TooLarge | Code::TooSlow
        )
    }
}

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) parameter: Option<String>,
    /// The methods that the route has, if the method is the matter.
    pub(crate) allow: Option<&'static str>,
}

impl Refusal {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Refusal { code, message: message.into(), parameter: None, allow: None }
    }

    /// A refusal because of a parameter of the query.
    pub(crate) fn parameter(code: Code, name: &str, message: impl Into<String>) -> Self {
        Refusal { parameter: Some(name.to_owned()), ..Refusal::new(code, message) }
    }

    /// The body of the answer.
    pub(crate) fn body(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct ErrorBody<'a> {
            error: Error<'a>,
        }
        #[derive(Serialize)]
        struct Error<'a> {
            code: &'static str,
            message: &'a str,
            parameter: Option<&'a str>,
        }
        let error = Error {
            code: self.code.text(),
            message: &self.message,
            parameter: self.parameter.as_deref(),
        };
        serde_json::to_vec(&ErrorBody { error }).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v39_a_refusal_prints_as_the_error_body() {
        let refusal = Refusal::parameter(
            Code::BadParameter,
            "limit",
            "limit=0 is not a whole number from 1 to 500",
        );
        let body = String::from_utf8(refusal.body()).unwrap();
        assert_eq!(
            body,
            "{\"error\":{\"code\":\"bad_parameter\",\"message\":\"limit=0 is not a whole number \
             from 1 to 500\",\"parameter\":\"limit\"}}"
        );
        let without = String::from_utf8(Refusal::new(Code::Busy, "no").body()).unwrap();
        assert!(without.ends_with("\"parameter\":null}}"), "{without}");
    }
}
