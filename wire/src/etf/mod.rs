//! External terms: Erlang values, their encoding and their text.
//!
//! | item | where |
//! |---|---|
//! | a value | [`Term`] and its parts: [`Atom`], [`BigInt`], [`Float`], [`Bits`], [`Elements`], [`Improper`], [`Map`], [`ExternalPid`], [`Port`], [`Reference`], [`Fun`], [`Export`], [`Record`] |
//! | bytes to a value | [`Term::decode`], [`Decoder`] within [`Limits`] |
//! | a value to bytes | [`Term::encode`], [`Term::write`]; what can be read again: [`WriteLimits`] |
//! | a value to text | `Display` |
//! | Erlang's order | [`Term::compare`]; `==` is `=:=` |
//!
//! ```
//! # use krarup_wire::etf::Term;
//! let term = Term::tuple([Term::atom("note"), Term::Int(5), Term::binary("text")]);
//! let bytes = term.encode()?;
//! assert_eq!(Term::decode(&bytes)?, term);
//! assert_eq!(term.to_string(), r#"{note,5,<<"text">>}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod atom;
mod bits;
pub(crate) mod decode;
mod decode_error;
pub(crate) mod encode;
mod float;
mod identity;
mod integer;
mod limits;
mod map;
mod order;
mod print;
mod skip;
pub(crate) mod tag;
mod term;
pub(crate) mod token;
pub(crate) mod tokens;
mod write_limits;

pub use atom::{Atom, AtomError, Atoms};
pub use bits::Bits;
pub use decode::Decoder;
pub use decode_error::DecodeError;
pub use encode::EncodeError;
pub use float::Float;
pub use identity::{ExternalPid, Port, Reference, ReferenceError};
pub use integer::BigInt;
pub use limits::Limits;
pub use map::EqualKeys;
pub use term::{Elements, Export, Fun, Improper, Map, Record, Term};
pub use write_limits::{WriteLimitError, WriteLimits};
