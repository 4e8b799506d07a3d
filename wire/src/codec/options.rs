//! The options of the correspondence between Rust types and terms.

/// How names of variants and unit structs become atoms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// `FetchAll` is `fetch_all`. A name that does not begin with an upper-case letter, as
    /// from `#[serde(rename)]`, is unchanged.
    #[default]
    Snake,
    /// Unchanged: `FetchAll` is `'FetchAll'`.
    AsWritten,
}

/// How structs, and variants with named fields, are encoded.
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

/// How `None` is encoded. Both atoms are accepted when reading.
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
