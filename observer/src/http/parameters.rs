//! The parameters of a query: known ones, once each, within their bounds. Pure.

use crate::http::percent_encoding::text_of;
use crate::http::refusal::{Code, Refusal};
use std::ops::RangeInclusive;

/// The parameters of a query, checked against the names that its route knows.
#[derive(Debug)]
pub(crate) struct Parameters {
    all: Vec<(String, String)>,
}

impl Parameters {
    /// Reads a query. All its names must be among `known`, each at most once.
    pub(crate) fn read(query: Option<&str>, known: &[&str]) -> Result<Self, Refusal> {
        let mut all: Vec<(String, String)> = Vec::new();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = text_of(name, true).map_err(|flaw| {
                let message = format!("the name of a parameter {flaw}");
                Refusal::new(Code::UnknownParameter, message)
            })?;
            if !known.contains(&name.as_str()) {
                let message = format!("there is no parameter {name:?}; {}", there_are(known));
                return Err(Refusal::parameter(Code::UnknownParameter, &name, message));
            }
            let value = text_of(value, true).map_err(|flaw| {
                let message = format!("{name}={value} {flaw}");
                Refusal::parameter(Code::BadParameter, &name, message)
            })?;
            if all.iter().any(|(other, _)| *other == name) {
                let message = format!("{name} is given twice");
                return Err(Refusal::parameter(Code::BadParameter, &name, message));
            }
            all.push((name, value));
        }
        Ok(Parameters { all })
    }

    /// The value of a parameter.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.all.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A refusal of the value of a parameter.
    pub(crate) fn bad(&self, name: &str, expected: &str) -> Refusal {
        let value = self.text(name).unwrap_or_default();
        let message = format!("{name}={value} is not {expected}");
        Refusal::parameter(Code::BadParameter, name, message)
    }

    /// A whole number within a range.
    pub(crate) fn number(
        &self,
        name: &str,
        range: RangeInclusive<u64>,
        default: u64,
    ) -> Result<u64, Refusal> {
        Ok(self.some_number(name, range)?.unwrap_or(default))
    }

    /// As [`Parameters::number`], without a default.
    pub(crate) fn some_number(
        &self,
        name: &str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, Refusal> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| digits && range.contains(number));
        number.map(Some).ok_or_else(|| {
            let expected = format!("a whole number from {} to {}", range.start(), range.end());
            self.bad(name, &expected)
        })
    }

    /// A text of at most this many bytes, and at least one.
    pub(crate) fn short(&self, name: &str, most: usize) -> Result<Option<&str>, Refusal> {
        let text = self.text(name);
        match text {
            Some(text) if text.is_empty() || text.len() > most => {
                Err(self.bad(name, &format!("a text of 1 to {most} bytes")))
            }
            text => Ok(text),
        }
    }

    /// One of these words.
    pub(crate) fn one_of<'a>(
        &self,
        name: &str,
        words: &[&'a str],
    ) -> Result<Option<&'a str>, Refusal> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let word = words.iter().find(|word| **word == text).copied();
        word.map(Some).ok_or_else(|| self.bad(name, &format!("one of: {}", words.join(" "))))
    }

    /// A flag: 1 or 0. The name alone is a 1, as in `?verbose` of Kubernetes.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Refusal> {
        let alone = self.text(name) == Some("");
        Ok(alone || self.one_of(name, &["0", "1"])? == Some("1"))
    }
}

/// The names that are known, as the end of a sentence.
pub(crate) fn there_are(known: &[&str]) -> String {
    if known.is_empty() {
        return "there are none".to_owned();
    }
    format!("there are: {}", known.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code<T: std::fmt::Debug>(result: Result<T, Refusal>) -> (&'static str, Option<String>) {
        let refusal = result.unwrap_err();
        (refusal.code.text(), refusal.parameter)
    }

    #[test]
    fn v39_a_parameter_that_is_unknown_twice_given_or_out_of_bounds_is_named() {
        let known = ["limit", "q"];
        let of = |query: &str| Parameters::read(Some(query), &known);
        assert_eq!(code(of("limt=1")), ("unknown_parameter", Some("limt".into())));
        assert_eq!(code(of("limit=1&limit=1")), ("bad_parameter", Some("limit".into())));
        assert_eq!(code(of("%ff=1")), ("unknown_parameter", None));
        assert_eq!(code(of("q=%ff")), ("bad_parameter", Some("q".into())));
        for bad in ["0", "501", "-1", "+1", "1.0", "", "x", "99999999999999999999", "0x1", " 1"] {
            let query = format!("limit={bad}");
            let number = of(&query).and_then(|all| all.number("limit", 1..=500, 50));
            assert_eq!(code(number), ("bad_parameter", Some("limit".into())), "{bad}");
        }
        let message =
            |query: &str, known: &[&str]| Parameters::read(Some(query), known).unwrap_err().message;
        assert_eq!(message("x=1", &known), "there is no parameter \"x\"; there are: limit q");
        assert_eq!(message("x=1", &[]), "there is no parameter \"x\"; there are none");
        let escape = "has a % without two hexadecimal digits behind it";
        for bad in ["%zz", "%4", "a%"] {
            assert_eq!(message(&format!("q={bad}"), &known), format!("q={bad} {escape}"));
        }
        assert_eq!(message("%zz=1", &known), format!("the name of a parameter {escape}"));
        assert_eq!(message("q=%ff", &known), "q=%ff is no UTF-8 when it is decoded");
        let all = of("q=a%20b+c&limit=500").unwrap();
        assert_eq!(all.number("limit", 1..=500, 50), Ok(500));
        assert_eq!(all.short("q", 64), Ok(Some("a b c")));
        assert!(all.short("q", 4).is_err());
        assert_eq!(of("").unwrap().number("limit", 1..=500, 50), Ok(50));
    }

    #[test]
    fn v29_a_flag_is_set_by_its_name_alone() {
        for (query, set) in [
            ("", false),
            ("verbose", true),
            ("verbose=", true),
            ("verbose=1", true),
            ("verbose=0", false),
        ] {
            let all = Parameters::read(Some(query), &["verbose"]).unwrap();
            assert_eq!(all.flag("verbose"), Ok(set), "{query}");
        }
        let all = Parameters::read(Some("verbose=yes"), &["verbose"]).unwrap();
        assert_eq!(code(all.flag("verbose")), ("bad_parameter", Some("verbose".into())));
    }
}
