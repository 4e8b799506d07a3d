//! Rust types as terms: `#[derive(Serialize, Deserialize)]` suffices.
//!
//! | Rust | term | accepted when reading |
//! |---|---|---|
//! | `bool`, `()`, unit struct `Foo` | `true` `false`, `ok`, `foo` | the same; `()` also from `undefined`, `nil`, `[]` |
//! | integers to 128 bits, `char` | integer | integer in range |
//! | `f32`, `f64`, finite | float | float; an integer that is exact |
//! | `String`, `&str` | binary | binary in UTF-8; list of characters; atom |
//! | serde's byte types | binary | binary; list of bytes |
//! | `Vec<T>`, slices, sets | list | list; a binary for bytes |
//! | tuples, tuple structs, arrays | tuple | tuple of that arity |
//! | newtype struct | the inner value | the same |
//! | `HashMap<K, V>`, `BTreeMap` | map | map with any keys; atom keys are strings |
//! | struct | map with atoms as keys | map; unknown keys are skipped |
//! | `Option<T>` | `undefined` or the value | `undefined`, `nil` or the value |
//! | `Result<T, E>` | `{ok, V}`, or `ok` where `V` is `ok`; `{error, E}` | the same |
//! | enum: `Reset`; `Note(5)`; `Add(2, 3)`; `Move { x: 1 }` | `reset`; `{note, 5}`; `{add, 2, 3}`; `{move, #{x => 1}}` | the same |
//! | [`Term`], [`Atom`](crate::etf::Atom), [`ExternalPid`](crate::etf::ExternalPid), [`Port`](crate::etf::Port), [`Reference`](crate::etf::Reference) | itself | any term; a term of that kind |
//!
//! [`TermCodec`] holds the options. An [`Extension`] encodes and decodes types that exist
//! only within a cluster.
//!
//! A struct with `#[serde(flatten)]` is a map with binaries as keys, because serde
//! presents it as such.
//!
//! ```
//! use krarup_wire::codec::TermCodec;
//! use krarup_wire::etf::{Decoder, Term};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Debug, PartialEq)]
//! enum Calc {
//!     Add(i64, i64),
//!     Total,
//! }
//!
//! let codec = TermCodec::default();
//! let mut bytes = Vec::new();
//! codec.write(&Calc::Add(2, 3), &mut bytes)?;
//! assert_eq!(Decoder::new(&bytes).last_term()?.to_string(), "{add,2,3}");
//! assert_eq!(codec.read::<Calc>(Decoder::new(&bytes))?, Calc::Add(2, 3));
//!
//! let wrong = Term::tuple([Term::atom("add"), Term::atom("foo"), Term::Int(3)]);
//! let error = codec.from_term::<Calc>(&wrong).unwrap_err();
//! assert_eq!(error.to_string(), "add, element 1: expected i64, found atom foo");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod extension;
mod from_term;
mod held;
mod names;
mod options;
mod to_term;
mod values;

pub use error::{ReadCause, ReadError, ValueStep, WriteTermError};
pub use extension::{Extension, ExtensionValue, NoExtension};
pub use options::{Absent, Names, Structs};

use crate::etf::{Decoder, Term, WriteLimits};
use from_term::FromTerm;
use serde::de::{Deserialize, DeserializeOwned, DeserializeSeed};
use serde::ser::Serialize;
use std::marker::PhantomData;
use to_term::ToTerm;

/// The codec: the options of the correspondence between Rust types and terms, and the
/// methods to encode and decode values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TermCodec {
    /// How names of variants and unit structs become atoms.
    pub names: Names,
    /// How structs are encoded.
    pub structs: Structs,
    /// How `None` is encoded.
    pub absent: Absent,
}

impl TermCodec {
    /// The default options: maps with lower-case atoms, and `undefined`.
    pub const DEFAULT: TermCodec =
        TermCodec { names: Names::Snake, structs: Structs::Map, absent: Absent::Undefined };

    /// Appends a value as a term, without a version byte.
    ///
    /// # Errors
    /// [`WriteTermError`] for a value that has no term, or a larger one than can be read
    /// ([`WriteLimits`]); nothing was appended then.
    pub fn write<T: Serialize + ?Sized>(
        &self,
        value: &T,
        out: &mut Vec<u8>,
    ) -> Result<(), WriteTermError> {
        self.write_with(value, out, &mut NoExtension)
    }

    /// Writes as [`TermCodec::write`] does, with types that the extension encodes.
    ///
    /// # Errors
    /// [`WriteTermError`] for a value that has no term; nothing was appended then.
    pub fn write_with<T: Serialize + ?Sized>(
        &self,
        value: &T,
        out: &mut Vec<u8>,
        extension: &mut dyn Extension,
    ) -> Result<(), WriteTermError> {
        self.write_within(&WriteLimits::DEFAULT, value, out, extension)
    }

    fn write_within<T: Serialize + ?Sized>(
        self,
        limits: &WriteLimits,
        value: &T,
        out: &mut Vec<u8>,
        extension: &mut dyn Extension,
    ) -> Result<(), WriteTermError> {
        let start = out.len();
        let mut writer = ToTerm::new(self, limits, out, extension);
        match value.serialize(&mut writer).and_then(|has_term| writer.end().map(|()| has_term)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(serde::ser::Error::custom("the value has no term")),
            Err(error) => {
                out.truncate(start);
                Err(error)
            }
        }
    }

    /// Decodes the next term, which must be the last, as a value. The value may borrow
    /// texts and bytes from the input.
    ///
    /// # Errors
    /// [`ReadError`], with the path to the place.
    pub fn read<'de, T: Deserialize<'de>>(&self, decoder: Decoder<'de>) -> Result<T, ReadError> {
        self.read_with(decoder, &mut NoExtension)
    }

    /// Reads as [`TermCodec::read`] does, with types that the extension decodes.
    ///
    /// # Errors
    /// [`ReadError`], with the path to the place.
    pub fn read_with<'de, T: Deserialize<'de>>(
        &self,
        decoder: Decoder<'de>,
        extension: &mut dyn Extension,
    ) -> Result<T, ReadError> {
        self.read_seed(decoder, extension, PhantomData)
    }

    /// Reads as [`TermCodec::read_with`] does, with a seed.
    ///
    /// # Errors
    /// [`ReadError`], with the path to the place.
    pub fn read_seed<'de, S: DeserializeSeed<'de>>(
        &self,
        decoder: Decoder<'de>,
        extension: &mut dyn Extension,
        seed: S,
    ) -> Result<S::Value, ReadError> {
        let TermCodec { names, structs, .. } = *self;
        let mut reader = FromTerm { tokens: decoder.tokens, names, structs, extension, depth: 0 };
        let value = seed.deserialize(&mut reader)?;
        reader.tokens.end()?;
        Ok(value)
    }

    /// Converts a value to a term, by its encoding.
    ///
    /// # Errors
    /// [`WriteTermError`] for a value that has no term.
    pub fn to_term<T: Serialize + ?Sized>(&self, value: &T) -> Result<Term, WriteTermError> {
        let mut bytes = Vec::new();
        self.write(value, &mut bytes)?;
        Decoder::new(&bytes).last_term().map_err(<WriteTermError as serde::ser::Error>::custom)
    }

    /// Converts a term to a value, by its encoding.
    ///
    /// # Errors
    /// [`ReadError`], with the path to the place.
    pub fn from_term<T: DeserializeOwned>(&self, term: &Term) -> Result<T, ReadError> {
        let mut bytes = Vec::new();
        term.write(&mut bytes).map_err(<ReadError as serde::de::Error>::custom)?;
        self.read(Decoder::new(&bytes))
    }
}
