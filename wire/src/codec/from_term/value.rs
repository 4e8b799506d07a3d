//! The kinds of values that serde requests, each read from the terms that stand for it.

use super::variant::Variant;
use super::{FromTerm, is_atom};
use crate::codec::error::ReadError;
use crate::codec::extension::PREFIX;
use crate::codec::options::Structs;
use crate::etf::token::TermToken;
use crate::etf::{BigInt, tag};
use serde::de::{Deserializer, Visitor};

impl FromTerm<'_, '_> {
    /// Reads an integer that may exceed 64 bits.
    fn wide<T: TryFrom<i64>>(
        &mut self,
        expected: &str,
        from_big: impl FnOnce(&BigInt) -> Option<T>,
    ) -> Result<T, ReadError> {
        let offset = self.tokens.offset();
        let number = match self.tokens.next()? {
            TermToken::Int(number) => T::try_from(number).ok(),
            TermToken::Big(number) => from_big(&number),
            _ => None,
        };
        number.ok_or_else(|| self.mismatch(expected, offset))
    }

    fn small(&mut self, expected: &str, fits: impl FnOnce(i64) -> bool) -> Result<i64, ReadError> {
        let offset = self.tokens.offset();
        match self.tokens.next()? {
            TermToken::Int(number) if fits(number) => Ok(number),
            _ => Err(self.mismatch(expected, offset)),
        }
    }

    fn float(&mut self, expected: &str, fits: impl FnOnce(f64) -> bool) -> Result<f64, ReadError> {
        const EXACT: i64 = 1 << 53;
        let offset = self.tokens.offset();
        let value = match self.tokens.next()? {
            TermToken::Float(float) => Some(float.value()),
            #[expect(clippy::cast_precision_loss, reason = "exact within these bounds")]
            TermToken::Int(number) if (-EXACT..=EXACT).contains(&number) => Some(number as f64),
            _ => None,
        };
        value.filter(|value| fits(*value)).ok_or_else(|| self.mismatch(expected, offset))
    }

    /// Reads the characters of a list, after its head.
    fn characters(&mut self, count: usize) -> Result<Option<String>, ReadError> {
        let mut text = String::new();
        for _ in 0..count {
            let TermToken::Int(number) = self.tokens.next()? else { return Ok(None) };
            let character = u32::try_from(number).ok().and_then(char::from_u32);
            let Some(character) = character else { return Ok(None) };
            text.push(character);
        }
        Ok(matches!(self.tokens.next()?, TermToken::Nil).then_some(text))
    }

    fn bytes(&mut self, count: usize) -> Result<Option<Vec<u8>>, ReadError> {
        let mut bytes = Vec::new();
        for _ in 0..count {
            let TermToken::Int(number) = self.tokens.next()? else { return Ok(None) };
            let Ok(byte) = u8::try_from(number) else { return Ok(None) };
            bytes.push(byte);
        }
        Ok(matches!(self.tokens.next()?, TermToken::Nil).then_some(bytes))
    }
}

macro_rules! small_integers {
    ($($method:ident $number:ty;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            let number = self.small(stringify!($number), |number| <$number>::try_from(number).is_ok())?;
            visitor.visit_i64(number)
        })*
    };
}

impl<'de> Deserializer<'de> for &mut FromTerm<'_, 'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let offset = self.tokens.offset();
        match self.tokens.peek_tag()? {
            tag if is_atom(tag) => {
                if self.next_is_atom(&["true", "false"]) {
                    self.deserialize_bool(visitor)
                } else if self.take_atom(&["undefined", "nil"])? {
                    visitor.visit_unit()
                } else {
                    self.deserialize_identifier(visitor)
                }
            }
            tag::SMALL_INTEGER | tag::INTEGER => {
                visitor.visit_i64(self.small("an integer", |_| true)?)
            }
            tag::SMALL_BIG | tag::LARGE_BIG => match self.tokens.next()? {
                TermToken::Int(number) => visitor.visit_i64(number),
                TermToken::Big(number) => match (number.to_u128(), number.to_i128()) {
                    (Some(number), _) => match u64::try_from(number) {
                        Ok(number) => visitor.visit_u64(number),
                        Err(_) => visitor.visit_u128(number),
                    },
                    (_, Some(number)) => visitor.visit_i128(number),
                    _ => Err(self.mismatch("an integer of 128 bits", offset)),
                },
                _ => Err(self.mismatch("an integer", offset)),
            },
            tag::NEW_FLOAT => self.deserialize_f64(visitor),
            tag::BINARY => match self.tokens.next()? {
                TermToken::Binary(bytes) => match str::from_utf8(bytes) {
                    Ok(text) => visitor.visit_borrowed_str(text),
                    Err(_) => visitor.visit_borrowed_bytes(bytes),
                },
                _ => Err(self.mismatch("a binary", offset)),
            },
            tag::NIL | tag::STRING | tag::LIST => self.list(visitor),
            tag::SMALL_TUPLE | tag::LARGE_TUPLE => match self.tokens.next()? {
                TermToken::Tuple(count) => {
                    self.elements((count, count), visitor, &|| "a shorter tuple".to_owned(), offset)
                }
                _ => Err(self.mismatch("a tuple", offset)),
            },
            tag::MAP => self.map(visitor, None),
            _ => Err(self.mismatch("a value", offset)),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if self.take_atom(&["true"])? {
            visitor.visit_bool(true)
        } else if self.take_atom(&["false"])? {
            visitor.visit_bool(false)
        } else {
            Err(self.mismatch("bool", self.tokens.offset()))
        }
    }

    small_integers! {
        deserialize_i8 i8;
        deserialize_i16 i16;
        deserialize_i32 i32;
        deserialize_i64 i64;
        deserialize_u8 u8;
        deserialize_u16 u16;
        deserialize_u32 u32;
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let from_big = |number: &BigInt| number.to_u128().and_then(|number| number.try_into().ok());
        visitor.visit_u64(self.wide("u64", from_big)?)
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_i128(self.wide("i128", BigInt::to_i128)?)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_u128(self.wide("u128", BigInt::to_u128)?)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        #[expect(clippy::cast_possible_truncation, reason = "f32 rounds")]
        let value = self.float("f32", |value| (value as f32).is_finite())? as f32;
        visitor.visit_f32(value)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_f64(self.float("f64", |_| true)?)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let to_char = |number| u32::try_from(number).ok().and_then(char::from_u32);
        let number = self.small("a character", |number| to_char(number).is_some())?;
        visitor.visit_char(to_char(number).unwrap_or_default())
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let offset = self.tokens.offset();
        let text = match self.tokens.next()? {
            TermToken::Binary(bytes) => match str::from_utf8(bytes) {
                Ok(text) => return visitor.visit_borrowed_str(text),
                Err(_) => None,
            },
            TermToken::Atom(text) => return visitor.visit_str(text.as_str()),
            TermToken::Text(bytes) => Some(bytes.iter().map(|&byte| char::from(byte)).collect()),
            TermToken::Nil => Some(String::new()),
            TermToken::List(count) => self.characters(count)?,
            _ => None,
        };
        visitor.visit_string(text.ok_or_else(|| self.mismatch("a text", offset))?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let offset = self.tokens.offset();
        let bytes = match self.tokens.next()? {
            TermToken::Binary(bytes) | TermToken::Text(bytes) => {
                return visitor.visit_borrowed_bytes(bytes);
            }
            TermToken::Nil => return visitor.visit_borrowed_bytes(&[]),
            TermToken::List(count) => self.bytes(count)?,
            _ => None,
        };
        visitor.visit_byte_buf(bytes.ok_or_else(|| self.mismatch("a binary", offset))?)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if self.take_atom(&["undefined", "nil"])? {
            visitor.visit_none()
        } else {
            self.nested(|this| visitor.visit_some(this))
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let offset = self.tokens.offset();
        if self.take_atom(&["ok", "undefined", "nil"])?
            || matches!(self.tokens.next()?, TermToken::Nil)
        {
            visitor.visit_unit()
        } else {
            Err(self.mismatch("ok", offset))
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let offset = self.tokens.offset();
        match self.tokens.next()? {
            TermToken::Atom(text) if self.names.is(name, text.as_str()) => visitor.visit_unit(),
            _ => {
                let mut expected = "atom ".to_owned();
                self.names.write(name, &mut expected);
                Err(self.mismatch(expected, offset))
            }
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        if name.starts_with(PREFIX) {
            return self.special(name, visitor, true);
        }
        self.nested(|this| visitor.visit_newtype_struct(this))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.list(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.tuple(len, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.tuple(len, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.map(visitor, None)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.structs {
            Structs::Map => self.map(visitor, Some(fields)),
            Structs::Tuple => self.tuple(fields.len(), visitor),
            Structs::Record => {
                let expected = || format!("a record {name} of {}", fields.len());
                let offset = self.tokens.offset();
                let TermToken::Tuple(count @ 1..) = self.tokens.next()? else {
                    return Err(self.mismatch(expected(), offset));
                };
                match self.tokens.next()? {
                    TermToken::Atom(text) if self.names.is(name, text.as_str()) => {}
                    _ => return Err(self.mismatch(expected(), offset)),
                }
                self.elements((count - 1, fields.len()), visitor, &expected, offset)
            }
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let head = self.variant_head(name, variants)?;
        self.enter()?;
        Variant { reader: self, head: &head }.read(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.tokens.skip()?;
        visitor.visit_unit()
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}
