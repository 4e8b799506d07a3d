//! Unique references.

use std::fmt;
use std::str::FromStr;

/// A reference, unique over 2^64 allocations within a node's life (rule N1).
///
/// It identifies one monitor, one timer or one link. It prints as `#Ref<0.N>` and parses back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ref(u64);

impl Ref {
    /// Creates the reference with the given number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Ref(number)
    }

    /// Returns the number `N` in `#Ref<0.N>`.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Ref {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#Ref<0.{}>", self.0)
    }
}

impl fmt::Debug for Ref {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error of a text that is not a reference such as `#Ref<0.4>`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a reference: {text:?} (expected a form like #Ref<0.4>)")]
pub struct ParseRefError {
    text: String,
}

impl FromStr for Ref {
    type Err = ParseRefError;

    fn from_str(text: &str) -> Result<Self, ParseRefError> {
        text.strip_prefix("#Ref<0.")
            .and_then(|rest| rest.strip_suffix('>'))
            .and_then(|digits| digits.parse().ok().filter(|n: &u64| n.to_string() == digits))
            .map(Ref)
            .ok_or_else(|| ParseRefError { text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n1_a_reference_prints_and_parses_back() {
        let reference = Ref::new(u64::MAX);
        assert_eq!(reference.to_string().parse(), Ok(reference));
        for text in ["", "#Ref<>", "#Ref<0.>", "#Ref<0.+1>", "#Ref<0.01>", "#Ref<1.1>"] {
            assert!(text.parse::<Ref>().is_err(), "{text}");
        }
    }
}
