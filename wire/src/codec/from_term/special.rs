//! Types that serde knows as newtype structs with a name of their own: terms, atoms, and the
//! types of an extension.

use super::FromTerm;
use crate::codec::error::{ReadCause, ReadError};
use crate::codec::extension::{ATOM, ExtensionValue, TERM};
use crate::etf::decode;
use crate::etf::token::TermToken;
use serde::de::{Deserializer, Error, IntoDeserializer, Visitor};

impl<'de> FromTerm<'_, 'de> {
    /// Reads an extension type, or one of this crate's own types.
    pub(super) fn special<V: Visitor<'de>>(
        &mut self,
        name: &'static str,
        visitor: V,
        has_term: bool,
    ) -> Result<V::Value, ReadError> {
        let offset = self.tokens.offset();
        let held = match name {
            // The visitor of a term takes bytes from this codec alone, after the limits have been
            // applied to them. In another format a term is a newtype struct.
            TERM if has_term => {
                self.tokens.skip_within_depth(self.depth)?;
                if !self.tokens.has_cached() {
                    return visitor.visit_borrowed_bytes(self.tokens.since(offset));
                }
                // A cached atom has no meaning outside this frame.
                let term = decode::read(&mut self.tokens.again_at(offset))?;
                let mut bytes = Vec::new();
                term.write(&mut bytes).map_err(ReadError::custom)?;
                return visitor.visit_byte_buf(bytes);
            }
            ATOM if has_term => match self.tokens.next()? {
                TermToken::Atom(text) => ExtensionValue::Text(text.as_str().to_owned()),
                _ => return Err(self.mismatch("an atom", offset)),
            },
            TERM | ATOM => return Err(missing()),
            name => {
                let why = |why| ReadError::new(ReadCause::Extension { name, why });
                let term = match self.extension.has_term(name) {
                    true if !has_term => return Err(missing()),
                    true => Some(decode::read(&mut self.tokens)?),
                    false => None,
                };
                self.extension.read(name, term).map_err(why)?
            }
        };
        match held {
            ExtensionValue::Text(text) => visitor.visit_newtype_struct(text.into_deserializer()),
            ExtensionValue::Number(number) => {
                visitor.visit_newtype_struct(number.into_deserializer())
            }
            ExtensionValue::Bytes(bytes) => visitor.visit_newtype_struct(OwnedBytes(bytes)),
        }
    }
}

fn missing() -> ReadError {
    let (expected, found) = ("one more element".to_owned(), "the end".to_owned());
    ReadError::new(ReadCause::Expected { expected, found })
}

/// Owned bytes.
struct OwnedBytes(Vec<u8>);

impl<'de> Deserializer<'de> for OwnedBytes {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_byte_buf(self.0)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
