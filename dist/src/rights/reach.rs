//! Which of the exported things a node may use.

use std::collections::BTreeSet;

/// Which of the things that are exported or served: all of them, none, or those with these names.
///
/// A process has its registered name, a function and a factory have `module:function`, and a
/// `module` alone stands for all its functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reach {
    /// All of them.
    #[default]
    Everything,
    /// None of them.
    Nothing,
    /// Those with these names.
    Only(BTreeSet<String>),
}

impl Reach {
    /// Those with these names.
    pub fn only(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Reach::Only(names.into_iter().map(Into::into).collect())
    }

    /// Whether this name is in reach. It is asked for only if that matters.
    pub(crate) fn has<N: AsRef<str>>(&self, name: impl FnOnce() -> Option<N>) -> bool {
        match self {
            Reach::Everything => true,
            Reach::Nothing => false,
            Reach::Only(names) => name().is_some_and(|name| names.contains(name.as_ref())),
        }
    }

    /// Whether this function is in reach.
    pub(crate) fn has_function(&self, module: &str, function: &str) -> bool {
        self.has(|| Some(module)) || self.has(|| Some(format!("{module}:{function}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zsec4_a_reach_is_everything_nothing_or_the_names_that_it_has() {
        let only = Reach::only(["stock", "calc:add", "math"]);
        let has = |reach: &Reach, name: &str| reach.has(|| Some(name.to_owned()));
        assert!(has(&Reach::Everything, "x") && !has(&Reach::Nothing, "x"));
        assert!(has(&only, "stock") && !has(&only, "stocks") && !has(&only, ""));
        assert!(Reach::Everything.has(|| None::<&str>) && !only.has(|| None::<&str>));
        assert!(only.has_function("calc", "add") && !only.has_function("calc", "sub"));
        assert!(only.has_function("math", "sum") && !only.has_function("maths", "sum"));
        assert!(!Reach::Nothing.has_function("math", "sum"));
        assert!(!Reach::only([""; 0]).has_function("", ""));
    }
}
