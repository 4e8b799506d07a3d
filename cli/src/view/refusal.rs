//! Why a request gets no answer of the file: the codes are those of an observer. Pure.

use serde_json::json;

/// A refusal.
#[derive(Debug)]
pub(crate) struct ViewRefusal {
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) parameter: Option<String>,
}

impl ViewRefusal {
    pub(crate) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        ViewRefusal { status, code, message: message.into(), parameter: None }
    }

    /// A parameter of this name has a wrong value.
    pub(crate) fn parameter(name: &str, expected: &str) -> Self {
        let refusal = ViewRefusal::new(400, "bad_parameter", format!("{name} is not {expected}"));
        ViewRefusal { parameter: Some(name.to_owned()), ..refusal }
    }

    pub(crate) fn no_route() -> Self {
        ViewRefusal::new(404, "no_route", "there is no such route on a file")
    }

    /// The body of the answer.
    pub(crate) fn body(&self) -> String {
        let error =
            json!({ "code": self.code, "message": self.message, "parameter": self.parameter });
        json!({ "error": error }).to_string()
    }
}
