//! The elements of lists, and of the bytes that stand for a list.

use super::FromTerm;
use crate::codec::error::{ReadError, ValueStep};
use crate::etf::tag;
use crate::etf::token::TermToken;
use crate::etf::tokens::Tokens;
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};

impl<'de> FromTerm<'_, 'de> {
    /// Reads a list, or the bytes of a string or a binary as a list.
    pub(super) fn list<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, ReadError> {
        let offset = self.tokens.offset();
        let source = match self.tokens.next()? {
            TermToken::Nil => ListSource::Bytes(&[]),
            TermToken::Text(bytes) | TermToken::Binary(bytes) => ListSource::Bytes(bytes),
            TermToken::List(left) => ListSource::Terms { left },
            _ => return Err(self.mismatch("a list", offset)),
        };
        self.nested(|this| {
            let mut list = List { reader: this, source, at: 0, offset };
            let value = visitor.visit_seq(&mut list)?;
            if list.advance()? {
                return Err(list.reader.mismatch("a shorter list", offset));
            }
            Ok(value)
        })
    }
}

/// The elements of a list.
struct List<'r, 'x, 'de> {
    reader: &'r mut FromTerm<'x, 'de>,
    source: ListSource<'de>,
    at: usize,
    offset: usize,
}

enum ListSource<'de> {
    Terms {
        left: usize,
    },
    /// Elements without tags, each of which is an integer.
    Bytes(&'de [u8]),
}

impl List<'_, '_, '_> {
    /// Whether there is a next element. Tails that are lists are further elements.
    fn advance(&mut self) -> Result<bool, ReadError> {
        while let ListSource::Terms { left: 0 } = self.source {
            self.source = match self.reader.tokens.next()? {
                TermToken::Nil => ListSource::Bytes(&[]),
                TermToken::Text(bytes) => ListSource::Bytes(bytes),
                TermToken::List(left) => ListSource::Terms { left },
                _ => return Err(self.reader.mismatch("a list that ends with []", self.offset)),
            };
        }
        Ok(!matches!(self.source, ListSource::Bytes([])))
    }
}

impl<'de> SeqAccess<'de> for &mut List<'_, '_, 'de> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ReadError> {
        if !self.advance()? {
            return Ok(None);
        }
        self.at += 1;
        let step = ValueStep::Element(self.at);
        let value = match &mut self.source {
            ListSource::Terms { left } => {
                *left -= 1;
                seed.deserialize(&mut *self.reader)
            }
            ListSource::Bytes(bytes) => match bytes.split_first() {
                Some((byte, rest)) => {
                    *bytes = rest;
                    seed.deserialize(ByteElement { reader: &mut *self.reader, byte: *byte })
                }
                None => return Ok(None),
            },
        };
        value.map(Some).map_err(|error| error.within(step))
    }

    fn size_hint(&self) -> Option<usize> {
        // The announced number, which is at most the number of bytes left.
        match self.source {
            ListSource::Terms { left } => Some(left),
            ListSource::Bytes(bytes) => Some(bytes.len()),
        }
    }
}

/// An element of a string. It is read as the integer that it stands for, so that each type reads
/// a string as it reads a list.
struct ByteElement<'r, 'x, 'de> {
    reader: &'r mut FromTerm<'x, 'de>,
    byte: u8,
}

/// Every byte as a term.
static BYTE_TERMS: [[u8; 2]; 256] = {
    let mut terms = [[tag::SMALL_INTEGER, 0]; 256];
    let mut byte: u8 = 255;
    while byte > 0 {
        terms[byte as usize][1] = byte;
        byte -= 1;
    }
    terms
};

impl<'de> ByteElement<'_, '_, 'de> {
    /// Returns a reader of the term. Offsets in it are not those of the input, but no error of an
    /// integer contains one.
    fn as_term(&mut self) -> FromTerm<'_, 'de> {
        let FromTerm { tokens, names, structs, extension, depth } = &mut *self.reader;
        FromTerm {
            tokens: Tokens::new(&BYTE_TERMS[usize::from(self.byte)], tokens.limits()),
            names: *names,
            structs: *structs,
            extension: &mut **extension,
            depth: *depth,
        }
    }
}

macro_rules! read_as_term {
    ($($method:ident($($argument:ident: $type:ty),*);)*) => {
        $(fn $method<V: Visitor<'de>>(mut self, $($argument: $type,)* visitor: V) -> Result<V::Value, ReadError> {
            self.as_term().$method($($argument,)* visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for ByteElement<'_, '_, 'de> {
    type Error = ReadError;

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_u8(self.byte)
    }

    read_as_term! {
        deserialize_any();
        deserialize_bool();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_i128();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
        deserialize_u128();
        deserialize_f32();
        deserialize_f64();
        deserialize_char();
        deserialize_str();
        deserialize_string();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_option();
        deserialize_unit();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_seq();
        deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize);
        deserialize_map();
        deserialize_struct(name: &'static str, fields: &'static [&'static str]);
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
        deserialize_identifier();
        deserialize_ignored_any();
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}
