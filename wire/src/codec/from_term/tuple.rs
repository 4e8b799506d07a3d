//! The elements of tuples, of tuple structs and of variants.

use super::FromTerm;
use crate::codec::error::{ReadError, ValueStep};
use crate::codec::extension::{ATOM, PREFIX, TERM};
use crate::etf::token::TermToken;
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};

impl<'de> FromTerm<'_, 'de> {
    /// Reads elements, all of which the visitor must take. There are `left` elements, and
    /// the visitor requests at most `most`. The excess requests are for extension types
    /// without a term.
    pub(super) fn elements<V: Visitor<'de>>(
        &mut self,
        (left, most): (usize, usize),
        visitor: V,
        expected: &dyn Fn() -> String,
        offset: usize,
    ) -> Result<V::Value, ReadError> {
        if left > most {
            return Err(self.mismatch(expected(), offset));
        }
        self.nested(|this| {
            let mut elements = TupleElements { reader: this, left, most, at: 0, offset };
            let value = visitor.visit_seq(&mut elements)?;
            match elements.left {
                0 => Ok(value),
                _ => Err(elements.reader.mismatch(expected(), offset)),
            }
        })
    }

    pub(super) fn tuple<V: Visitor<'de>>(
        &mut self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let expected = || format!("a tuple of {len}");
        let offset = self.tokens.offset();
        match self.tokens.next()? {
            TermToken::Tuple(found) => self.elements((found, len), visitor, &expected, offset),
            _ => Err(self.mismatch(expected(), offset)),
        }
    }
}

/// The elements of a tuple.
struct TupleElements<'r, 'x, 'de> {
    reader: &'r mut FromTerm<'x, 'de>,
    /// The number of remaining elements.
    left: usize,
    /// The number of fields of the type.
    most: usize,
    /// The number of fields read.
    at: usize,
    /// The offset of the tuple.
    offset: usize,
}

impl<'de> SeqAccess<'de> for &mut TupleElements<'_, '_, 'de> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ReadError> {
        if self.at == self.most {
            return Ok(None);
        }
        self.at += 1;
        let step = ValueStep::Element(self.at);
        let (most, offset) = (self.most, self.offset);
        let element = Element { reader: self.reader, left: &mut self.left, most, offset };
        seed.deserialize(element).map(Some).map_err(|error| error.within(step))
    }
}

/// An element of a tuple. An extension type without a term does not take it.
pub(super) struct Element<'r, 'x, 'de> {
    pub(super) reader: &'r mut FromTerm<'x, 'de>,
    /// The number of remaining elements.
    pub(super) left: &'r mut usize,
    /// The number of fields of the type.
    pub(super) most: usize,
    /// The offset of the tuple.
    pub(super) offset: usize,
}

impl<'r, 'x, 'de> Element<'r, 'x, 'de> {
    /// Takes the element.
    fn take(self) -> Result<&'r mut FromTerm<'x, 'de>, ReadError> {
        if *self.left == 0 {
            return Err(self
                .reader
                .mismatch(format!("a tuple with {} values", self.most), self.offset));
        }
        *self.left -= 1;
        Ok(self.reader)
    }
}

macro_rules! forward {
    ($($method:ident($($argument:ident: $type:ty),*);)*) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, ReadError> {
            self.take()?.$method($($argument,)* visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Element<'_, '_, 'de> {
    type Error = ReadError;

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let has_term = !name.starts_with(PREFIX)
            || matches!(name, TERM | ATOM)
            || self.reader.extension.has_term(name);
        if has_term {
            self.take()?.deserialize_newtype_struct(name, visitor)
        } else {
            self.reader.special(name, visitor, false)
        }
    }

    forward! {
        deserialize_any();
        deserialize_bool();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_i128();
        deserialize_u8();
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
