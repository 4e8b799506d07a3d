//! The parameters of a request: known ones, once each, within their bounds. Pure.

use crate::view::refusal::ViewRefusal;

/// The parameters of a request.
#[derive(Debug)]
pub(crate) struct ViewParameters(Vec<(String, String)>);

impl ViewParameters {
    /// Reads a query; every name must be among those that the route knows.
    pub(crate) fn read(query: &str, known: &[&str]) -> Result<Self, ViewRefusal> {
        let mut all: Vec<(String, String)> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decoded(name).unwrap_or_default();
            if !known.contains(&name.as_str()) {
                let there_are = if known.is_empty() {
                    "there are none".to_owned()
                } else {
                    format!("there are: {}", known.join(" "))
                };
                let message = format!("there is no parameter {name:?}; {there_are}");
                let refusal = ViewRefusal::new(400, "unknown_parameter", message);
                return Err(ViewRefusal { parameter: Some(name), ..refusal });
            }
            let value = decoded(value);
            let Some(value) = value.filter(|_| all.iter().all(|(other, _)| *other != name)) else {
                return Err(ViewRefusal::parameter(&name, "one text of UTF-8"));
            };
            all.push((name, value));
        }
        Ok(ViewParameters(all))
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A whole number within bounds.
    pub(crate) fn number(
        &self,
        name: &str,
        least: u64,
        most: u64,
    ) -> Result<Option<u64>, ViewRefusal> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|it| digits && (least..=most).contains(it));
        let wrong =
            || ViewRefusal::parameter(name, &format!("a whole number from {least} to {most}"));
        number.map(Some).ok_or_else(wrong)
    }

    /// The number of a length or a place; the default if it is not given.
    pub(crate) fn size(
        &self,
        name: &str,
        least: u64,
        most: u64,
        default: usize,
    ) -> Result<usize, ViewRefusal> {
        let number = self.number(name, least, most)?;
        Ok(number.map_or(default, |it| usize::try_from(it).unwrap_or(usize::MAX)))
    }

    /// One of these words.
    pub(crate) fn one_of(&self, name: &str, words: &[&str]) -> Result<Option<&str>, ViewRefusal> {
        match self.text(name) {
            Some(text) if !words.contains(&text) => {
                Err(ViewRefusal::parameter(name, &format!("one of: {}", words.join(" "))))
            }
            text => Ok(text),
        }
    }
}

/// `%` with two digits is a byte, `+` a space.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                u8::try_from(high * 16 + low).ok()?
            }
            b'+' => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v26_parameters_are_as_strict_as_an_observers() {
        let known = ["limit", "q"];
        let all = ViewParameters::read("limit=5&q=a%20b+%C3%BC", &known).unwrap();
        assert_eq!((all.text("q"), all.number("limit", 1, 5).unwrap()), (Some("a b ü"), Some(5)));
        for (query, code) in [
            ("x=1", "unknown_parameter"),
            ("%zz=1", "unknown_parameter"),
            ("q=1&q=2", "bad_parameter"),
            ("q=%ff", "bad_parameter"),
            ("q=%4", "bad_parameter"),
        ] {
            assert_eq!(ViewParameters::read(query, &known).unwrap_err().code, code, "{query}");
        }
        let message = |known: &[&str]| ViewParameters::read("x=1", known).unwrap_err().message;
        assert_eq!(message(&known), "there is no parameter \"x\"; there are: limit q");
        assert_eq!(message(&[]), "there is no parameter \"x\"; there are none");
        for wrong in ["limit=0", "limit=6", "limit=+1", "limit=", "limit=1.0"] {
            let all = ViewParameters::read(wrong, &known).unwrap();
            assert_eq!(all.number("limit", 1, 5).unwrap_err().parameter.as_deref(), Some("limit"));
        }
        assert!(all.one_of("q", &["x"]).is_err());
    }
}
