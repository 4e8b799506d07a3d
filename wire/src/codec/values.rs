//! Terms, atoms and identities as fields of types that implement serde's traits.
//!
//! This codec encodes them as themselves. In any other format a term, pid, port or
//! reference is its bytes, and an atom its text.

use super::extension::{ATOM, TERM};
use crate::etf::{Atom, Decoder, ExternalPid, Limits, Port, Reference, Term};
use crate::text::cut;
use serde::de::{Deserialize, Deserializer, Error as _, Unexpected, Visitor};
use serde::ser::{Error as _, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// The bytes of a term without a version byte.
struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the bytes of a term")
            }

            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }

            fn visit_byte_buf<E: serde::de::Error>(self, bytes: Vec<u8>) -> Result<Bytes, E> {
                Ok(Bytes(bytes))
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut bytes: A,
            ) -> Result<Bytes, A::Error> {
                let mut all = Vec::new();
                while let Some(byte) = bytes.next_element()? {
                    all.push(byte);
                }
                Ok(Bytes(all))
            }
        }

        deserializer.deserialize_byte_buf(Collect)
    }
}

impl Serialize for Term {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        self.write(&mut bytes).map_err(S::Error::custom)?;
        serializer.serialize_newtype_struct(TERM, &Bytes(bytes))
    }
}

impl<'de> Deserialize<'de> for Term {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TermVisitor;

        impl<'de> Visitor<'de> for TermVisitor {
            type Value = Term;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a term")
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                inner: D,
            ) -> Result<Term, D::Error> {
                let Bytes(bytes) = Bytes::deserialize(inner)?;
                Decoder::new(&bytes).last_term().map_err(D::Error::custom)
            }

            // Bytes come from this crate's codec, which has applied its limits to them.
            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Term, E> {
                Decoder::with_limits(bytes, Limits::NONE).last_term().map_err(E::custom)
            }
        }

        deserializer.deserialize_newtype_struct(TERM, TermVisitor)
    }
}

impl Serialize for Atom {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(ATOM, self.as_str())
    }
}

impl<'de> Deserialize<'de> for Atom {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AtomVisitor;

        impl<'de> Visitor<'de> for AtomVisitor {
            type Value = Atom;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an atom")
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                inner: D,
            ) -> Result<Atom, D::Error> {
                Atom::new(String::deserialize(inner)?).map_err(D::Error::custom)
            }
        }

        deserializer.deserialize_newtype_struct(ATOM, AtomVisitor)
    }
}

/// A type that corresponds to one kind of term.
trait TermType: Sized {
    const WHAT: &'static str;
    fn of(term: &Term) -> Option<Self>;
}

fn deserialize<'de, T: TermType, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct What<T>(PhantomData<T>);

    impl<T: TermType> serde::de::Expected for What<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(T::WHAT)
        }
    }

    let term = Term::deserialize(deserializer)?;
    let found =
        || D::Error::invalid_type(Unexpected::Other(&cut(&term, 60)), &What::<T>(PhantomData));
    T::of(&term).ok_or_else(found)
}

macro_rules! kinds {
    ($($kind:ident, $variant:ident, $what:literal;)*) => {
        $(impl TermType for $kind {
            const WHAT: &'static str = $what;

            fn of(term: &Term) -> Option<Self> {
                match term {
                    Term::$variant(held) => Some($kind::clone(held)),
                    _ => None,
                }
            }
        }

        impl Serialize for $kind {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                Term::from(self.clone()).serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $kind {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserialize(deserializer)
            }
        })*
    };
}

kinds! {
    ExternalPid, Pid, "a pid";
    Port, Port, "a port";
    Reference, Reference, "a reference";
}
