//! The label of a behaviour.

use crate::Name;
use crate::one_line::OneLine;
use std::fmt;

/// The label of the behaviour of a process: the name of its type, or a text that was chosen
/// when it was spawned.
///
/// It prints short, without the modules of types: `Pool<Worker>` for
/// `krarup_act::pool::Pool<shop::stock::Worker>`, and `main::{{closure}}` for a closure. Two
/// labels are equal if their full texts are ([`Label::full`]).
///
/// ```
/// # mod krarup { pub use {krarup_gen as observe, krarup_gen::*}; }
/// use krarup::Name;
/// use krarup::observe::Label;
///
/// let label = Label::of_type("shop::desk::Desk<shop::Order, alloc::vec::Vec<u8>>");
/// assert_eq!(label.to_string(), "Desk<Order, Vec<u8>>");
/// assert_eq!(Label::given(Name::new("saga").unwrap()).to_string(), "saga");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Label(LabelKind);

#[derive(Clone, PartialEq, Eq, Hash)]
enum LabelKind {
    Type(&'static str),
    Given(Name),
}

impl Label {
    /// Creates a label from the name of a type, as [`std::any::type_name`] returns it.
    #[must_use]
    pub const fn of_type(path: &'static str) -> Self {
        Label(LabelKind::Type(path))
    }

    /// Creates a label from a chosen text.
    #[must_use]
    pub const fn given(label: Name) -> Self {
        Label(LabelKind::Given(label))
    }

    /// Returns the full text, with the modules.
    #[must_use]
    pub fn full(&self) -> &str {
        match &self.0 {
            LabelKind::Type(path) => path,
            LabelKind::Given(label) => label.as_str(),
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = match &self.0 {
            LabelKind::Given(label) => return write!(f, "{}", OneLine(label.as_str())),
            LabelKind::Type(path) => *path,
        };
        let between = |sign: char| "<>()[],;&*+= ".contains(sign);
        while let Some(sign) = rest.chars().next() {
            let end =
                if between(sign) { rest.find(|sign| !between(sign)) } else { rest.find(between) };
            let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
            f.write_str(if between(sign) { part } else { last_of(part) })?;
            rest = behind;
        }
        Ok(())
    }
}

/// The last part of a path; for a closure, with the function that contains it.
fn last_of(path: &str) -> &str {
    let named = path.trim_end_matches("::{{closure}}");
    match named.rfind("::") {
        // A path that begins with a type in angle brackets is kept whole.
        Some(0) | None => path,
        Some(place) => &path[place + 2..],
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x3_a_label_omits_the_modules_of_any_type() {
        for (path, short) in [
            ("Worker", "Worker"),
            ("shop::stock::Worker", "Worker"),
            ("a::Pool<b::c::Worker>", "Pool<Worker>"),
            ("a::Two<b::One<c::D>, &'static str>", "Two<One<D>, &'static str>"),
            ("(a::B, [c::D; 3])", "(B, [D; 3])"),
            ("dyn a::B + core::marker::Send", "dyn B + Send"),
            ("fn(a::B) -> c::D", "fn(B) -> D"),
            ("shop::main::{{closure}}", "main::{{closure}}"),
            ("main::{{closure}}", "main::{{closure}}"),
            ("shop::main::{{closure}}::{{closure}}", "main::{{closure}}::{{closure}}"),
            ("<a::B as c::D>::E", "<B as D>::E"),
            ("", ""),
        ] {
            let label = Label::of_type(path);
            assert_eq!((label.to_string().as_str(), label.full()), (short, path));
        }
        let given = Label::given(Name::new("a::b").unwrap());
        assert_eq!(given.to_string(), "a::b");
        assert_ne!(Label::of_type("a::B"), Label::of_type("c::B"));
    }
}
