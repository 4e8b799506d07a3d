//! How types of Rust and terms correspond, where there is a choice.

/// How names of variants and of unit structs become atoms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// `FetchAll` is `fetch_all`. A name that does not begin with an upper-case letter, as by `#[serde(rename)]`, stays as
    /// it is.
    #[default]
    Snake,
    /// As they are written: `FetchAll` is `'FetchAll'`.
    AsWritten,
}

/// What structs are, and the fields of variants that have names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Structs {
    /// `#{x => 1, y => 2}`, and `{move, #{x => 1}}`.
    #[default]
    Map,
    /// `{1, 2}`, and `{move, 1}`.
    Tuple,
    /// `{point, 1, 2}`, and `{move, 1}`.
    Record,
}

/// What `None` is written as. Both are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Absent {
    /// `undefined`, as in Erlang.
    #[default]
    Undefined,
    /// `nil`, as in Elixir.
    Nil,
}

impl Absent {
    pub(super) fn atom(self) -> &'static str {
        match self {
            Absent::Undefined => "undefined",
            Absent::Nil => "nil",
        }
    }
}
