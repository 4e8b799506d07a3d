//! Terms as Rust values: bytes decoded as serde requests them, without a [`Term`] in between.
//!
//! Each step compares the kind that the type requires with the kind of the term. If they
//! differ, the error contains both, and the path to the place (rule Zterm10). Decoding is
//! recursive, as types are, and limited to a depth of 256.

use super::error::{ReadCause, ReadError, ValueStep};
use super::extension::{ATOM, Extension, ExtensionValue, PREFIX, TERM};
use super::options::{Names, Structs};
use crate::etf::token::{AtomText, TermToken, Tokens};
use crate::etf::{BigInt, Limits, Term, decode, tag};
use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

/// Decodes values.
pub(super) struct FromTerm<'x, 'de> {
    pub(super) tokens: Tokens<'de>,
    pub(super) names: Names,
    pub(super) structs: Structs,
    pub(super) extension: &'x mut dyn Extension,
    /// The current depth of nesting.
    pub(super) depth: usize,
}

impl<'de> FromTerm<'_, 'de> {
    fn enter(&mut self) -> Result<(), ReadError> {
        let limit = self.tokens.limits().depth.min(Limits::TYPED_DEPTH);
        if self.depth >= limit {
            return Err(ReadError::new(ReadCause::Depth { limit }));
        }
        self.depth += 1;
        Ok(())
    }

    /// Runs `read` one level deeper.
    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        self.enter()?;
        let value = read(self);
        self.depth -= 1;
        value
    }

    /// Creates the error for a term of the wrong kind at this offset.
    fn mismatch(&self, expected: impl Into<String>, offset: usize) -> ReadError {
        let expected = expected.into();
        match decode::read(&mut self.tokens.again_at(offset)) {
            Ok(term) => ReadError::new(ReadCause::Expected { expected, found: describe(&term) }),
            Err(error) => error.into(),
        }
    }

    /// Whether the next term is an atom with one of these texts.
    fn next_is_atom(&self, texts: &[&str]) -> bool {
        let Ok(tag) = self.tokens.peek_tag() else { return false };
        if !is_atom(tag) {
            return false;
        }
        let atom = self.tokens.again_at(self.tokens.offset()).next();
        matches!(&atom, Ok(TermToken::Atom(text)) if texts.contains(&text.as_str()))
    }

    fn take_atom(&mut self, texts: &[&str]) -> Result<bool, ReadError> {
        let is = self.next_is_atom(texts);
        if is {
            self.tokens.next()?;
        }
        Ok(is)
    }

    fn integer(&mut self, expected: &str) -> Result<BigInt, ReadError> {
        let offset = self.tokens.offset();
        match self.tokens.next()? {
            TermToken::Int(number) => Ok(BigInt::from(number)),
            TermToken::Big(number) => Ok(number),
            _ => Err(self.mismatch(expected, offset)),
        }
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

    /// Reads elements, all of which the visitor must take. There are `left` elements, and
    /// the visitor requests at most `most`. The excess requests are for extension types
    /// without a term.
    fn elements<V: Visitor<'de>>(
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

    fn tuple<V: Visitor<'de>>(&mut self, len: usize, visitor: V) -> Result<V::Value, ReadError> {
        let expected = || format!("a tuple of {len}");
        let offset = self.tokens.offset();
        match self.tokens.next()? {
            TermToken::Tuple(found) => self.elements((found, len), visitor, &expected, offset),
            _ => Err(self.mismatch(expected(), offset)),
        }
    }

    fn list<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, ReadError> {
        let offset = self.tokens.offset();
        let source = match self.tokens.next()? {
            TermToken::Nil => MapSource::Bytes(&[]),
            TermToken::Text(bytes) | TermToken::Binary(bytes) => MapSource::Bytes(bytes),
            TermToken::List(left) => MapSource::Terms { left },
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

    fn map<V: Visitor<'de>>(
        &mut self,
        visitor: V,
        fields: Option<&'static [&'static str]>,
    ) -> Result<V::Value, ReadError> {
        let offset = self.tokens.offset();
        let TermToken::Map(left) = self.tokens.next()? else {
            return Err(self.mismatch("a map", offset));
        };
        self.nested(|this| {
            let is_struct = fields.is_some();
            let extra = fields.unwrap_or_default().iter().copied();
            let extra = { extra }.find(|field| this.extension.is_field_without_term(field));
            let mut pairs =
                PairsAccess { reader: this, left, is_struct, extra, key: LastKey::None };
            let value = visitor.visit_map(&mut pairs)?;
            match pairs.left {
                0 => Ok(value),
                _ => Err(pairs.reader.mismatch("a map with fewer keys", offset)),
            }
        })
    }

    /// Reads an extension type, or one of this crate's own types.
    fn special<V: Visitor<'de>>(
        &mut self,
        name: &'static str,
        visitor: V,
        has_term: bool,
    ) -> Result<V::Value, ReadError> {
        let offset = self.tokens.offset();
        let held = match name {
            TERM if has_term => {
                self.tokens.skip()?;
                let bytes = self.tokens.since(offset);
                if !self.tokens.has_cached() {
                    return visitor.visit_newtype_struct(BytesDeserializer(bytes));
                }
                // A cached atom has no meaning outside this frame.
                let term = decode::read(&mut self.tokens.again_at(offset))?;
                let mut bytes = Vec::new();
                term.write(&mut bytes).map_err(ReadError::custom)?;
                ExtensionValue::Bytes(bytes)
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

    /// Reads the name of a variant. This is a separate, non-generic method, so that its
    /// stack space is released before the contents of the variant are read.
    fn variant_head(
        &mut self,
        name: &'static str,
        variants: &'static [&'static str],
    ) -> Result<VariantHead<'de>, ReadError> {
        let offset = self.tokens.offset();
        let is_result = name == "Result" && *variants == ["Ok", "Err"];
        // `ok` alone is both the variant and its contents.
        if is_result && self.next_is_atom(&["ok"]) {
            let atom = AtomText::Text("ok".into());
            return Ok(VariantHead { left: 1, offset, atom, variant: Some("Ok") });
        }
        let mut token = self.tokens.next()?;
        let mut left = 0;
        if let TermToken::Tuple(count @ 1..) = token {
            left = count - 1;
            token = self.tokens.next()?;
        }
        let TermToken::Atom(text) = token else {
            return Err(self.mismatch(format!("a variant of {name}"), offset));
        };
        let atom = text.as_str();
        let variant = if is_result {
            let names = [("ok", "Ok"), ("error", "Err")];
            names.iter().find(|(name, _)| *name == atom).map(|(_, variant)| *variant)
        } else {
            variants.iter().copied().find(|variant| self.names.is(variant, atom))
        };
        Ok(VariantHead { left, offset, atom: text, variant })
    }
}

fn missing() -> ReadError {
    let (expected, found) = ("one more element".to_owned(), "the end".to_owned());
    ReadError::new(ReadCause::Expected { expected, found })
}

fn is_atom(tag: u8) -> bool {
    matches!(
        tag,
        tag::ATOM | tag::SMALL_ATOM | tag::ATOM_UTF8 | tag::SMALL_ATOM_UTF8 | tag::ATOM_CACHE_REF
    )
}

/// Returns the kind of a term and its text, cut at a limit.
fn describe(term: &Term) -> String {
    const CHARACTERS: usize = 60;
    let kind = match term {
        Term::Int(_) | Term::Big(_) => "integer",
        Term::Float(_) => "float",
        Term::Atom(_) => "atom",
        Term::Binary(_) => "binary",
        Term::Bits(_) => "bit string",
        Term::Tuple(_) => "tuple",
        Term::List(_) | Term::Improper(_) => "list",
        Term::Map(_) => "map",
        Term::Pid(_) => "pid",
        Term::Port(_) => "port",
        Term::Reference(_) => "reference",
        Term::Fun(_) | Term::Export(_) => "fun",
        Term::Record(_) => "record",
    };
    let text = term.to_string();
    match text.char_indices().nth(CHARACTERS) {
        None => format!("{kind} {text}"),
        Some((end, _)) => format!("{kind} {}..", &text[..end]),
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
            tag::SMALL_BIG | tag::LARGE_BIG => {
                let number = self.integer("an integer")?;
                match (number.to_i64(), number.to_u128(), number.to_i128()) {
                    (Some(number), ..) => visitor.visit_i64(number),
                    (_, Some(number), _) => match u64::try_from(number) {
                        Ok(number) => visitor.visit_u64(number),
                        Err(_) => visitor.visit_u128(number),
                    },
                    (_, _, Some(number)) => visitor.visit_i128(number),
                    _ => Err(self.mismatch("an integer of 128 bits", offset)),
                }
            }
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
        let offset = self.tokens.offset();
        let number = self.integer("u64")?.to_u128().and_then(|number| u64::try_from(number).ok());
        visitor.visit_u64(number.ok_or_else(|| self.mismatch("u64", offset))?)
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let offset = self.tokens.offset();
        let number = self.integer("i128")?.to_i128();
        visitor.visit_i128(number.ok_or_else(|| self.mismatch("i128", offset))?)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let offset = self.tokens.offset();
        let number = self.integer("u128")?.to_u128();
        visitor.visit_u128(number.ok_or_else(|| self.mismatch("u128", offset))?)
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
struct Element<'r, 'x, 'de> {
    reader: &'r mut FromTerm<'x, 'de>,
    left: &'r mut usize,
    most: usize,
    offset: usize,
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

/// The elements of a list.
struct List<'r, 'x, 'de> {
    reader: &'r mut FromTerm<'x, 'de>,
    source: MapSource<'de>,
    at: usize,
    offset: usize,
}

enum MapSource<'de> {
    Terms { left: usize },
    Bytes(&'de [u8]),
}

impl List<'_, '_, '_> {
    /// Whether there is a next element. Tails that are lists are further elements.
    fn advance(&mut self) -> Result<bool, ReadError> {
        while let MapSource::Terms { left: 0 } = self.source {
            self.source = match self.reader.tokens.next()? {
                TermToken::Nil => MapSource::Bytes(&[]),
                TermToken::Text(bytes) => MapSource::Bytes(bytes),
                TermToken::List(left) => MapSource::Terms { left },
                _ => return Err(self.reader.mismatch("a list that ends with []", self.offset)),
            };
        }
        Ok(!matches!(self.source, MapSource::Bytes([])))
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
            MapSource::Terms { left } => {
                *left -= 1;
                seed.deserialize(&mut *self.reader)
            }
            MapSource::Bytes(bytes) => match bytes.split_first() {
                Some((byte, rest)) => {
                    *bytes = rest;
                    seed.deserialize(byte.into_deserializer())
                }
                None => return Ok(None),
            },
        };
        value.map(Some).map_err(|error: ReadError| error.within(step))
    }

    fn size_hint(&self) -> Option<usize> {
        // The announced number, which is at most the number of bytes left.
        match self.source {
            MapSource::Terms { left } => Some(left),
            MapSource::Bytes(bytes) => Some(bytes.len()),
        }
    }
}

/// The pairs of a map.
struct PairsAccess<'r, 'x, 'de> {
    reader: &'r mut FromTerm<'x, 'de>,
    left: usize,
    /// Whether keys are names of fields. Other keys are skipped.
    is_struct: bool,
    /// The field of an extension type without a term, which is missing in the map.
    extra: Option<&'static str>,
    key: LastKey,
}

/// The last key.
#[derive(Clone, Copy)]
enum LastKey {
    None,
    /// The key at this offset.
    At(usize),
    /// The field without a term.
    Extra(&'static str),
}

impl<'de> MapAccess<'de> for &mut PairsAccess<'_, '_, 'de> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ReadError> {
        loop {
            if self.left == 0 {
                let Some(field) = self.extra.take() else { return Ok(None) };
                self.key = LastKey::Extra(field);
                let key = BorrowedStrDeserializer::<ReadError>::new(field);
                return seed.deserialize(key).map(Some);
            }
            self.left -= 1;
            let tag = self.reader.tokens.peek_tag()?;
            if !self.is_struct || is_atom(tag) || tag == tag::BINARY {
                break;
            }
            self.reader.tokens.skip()?;
            self.reader.tokens.skip()?;
        }
        self.key = LastKey::At(self.reader.tokens.offset());
        if self.extra.is_some_and(|field| self.reader.next_is_atom(&[field])) {
            self.extra = None;
        }
        let key = seed.deserialize(&mut *self.reader);
        key.map(Some).map_err(|error| error.within(ValueStep::Key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        if let LastKey::Extra(field) = self.key {
            let (mut left, offset) = (0, self.reader.tokens.offset());
            let value = Element { reader: &mut *self.reader, left: &mut left, most: 1, offset };
            return seed
                .deserialize(value)
                .map_err(|error| error.within(ValueStep::Field(field.to_owned())));
        }
        seed.deserialize(&mut *self.reader).map_err(|error| {
            let LastKey::At(key) = self.key else { return error };
            let key = match decode::read(&mut self.reader.tokens.again_at(key)) {
                Ok(Term::Atom(atom)) => atom.as_str().to_owned(),
                Ok(term) => term.to_string().chars().take(60).collect(),
                Err(_) => return error,
            };
            error.within(ValueStep::Field(key))
        })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// The head of a variant, before its contents are read.
struct VariantHead<'de> {
    /// The number of elements after the name.
    left: usize,
    /// The offset of the term.
    offset: usize,
    /// The name, as received.
    atom: AtomText<'de>,
    /// The variant with this name, if there is one.
    variant: Option<&'static str>,
}

/// A variant of an enum.
struct Variant<'r, 'x, 'de> {
    reader: &'r mut FromTerm<'x, 'de>,
    head: &'r VariantHead<'de>,
}

impl<'de> Variant<'_, '_, 'de> {
    fn read<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let head = self.head;
        visitor
            .visit_enum(self)
            .map_err(|error| error.within(ValueStep::Variant(head.atom.as_str().to_owned())))
    }
}

impl<'de> EnumAccess<'de> for Variant<'_, '_, 'de> {
    type Error = ReadError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), ReadError> {
        let value = match self.head.variant {
            Some(variant) => {
                seed.deserialize(BorrowedStrDeserializer::<ReadError>::new(variant))?
            }
            // Unknown, unless the enum has a catch-all variant.
            None => seed.deserialize(StrDeserializer::<ReadError>::new(self.head.atom.as_str()))?,
        };
        Ok((value, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, '_, 'de> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        self.reader.depth -= 1;
        match self.head.left {
            0 => Ok(()),
            _ => Err(self.reader.mismatch("an atom", self.head.offset)),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        let (mut left, offset) = (self.head.left, self.head.offset);
        if left > 1 {
            return Err(self.reader.mismatch("a variant with 1 value", offset));
        }
        let element = Element { reader: &mut *self.reader, left: &mut left, most: 1, offset };
        let value = seed.deserialize(element)?;
        self.reader.depth -= 1;
        match left {
            0 => Ok(value),
            _ => Err(self.reader.mismatch("a variant without a value", offset)),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, ReadError> {
        let expected = || format!("a variant with {len} values");
        self.reader.depth -= 1;
        self.reader.elements((self.head.left, len), visitor, &expected, self.head.offset)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let (left, offset) = (self.head.left, self.head.offset);
        self.reader.depth -= 1;
        match (self.reader.structs, left) {
            (Structs::Map, 1) => self.reader.map(visitor, Some(fields)),
            (Structs::Map, _) => Err(self.reader.mismatch("a variant with a map", offset)),
            (Structs::Tuple | Structs::Record, left) => {
                let expected = || format!("a variant with {} values", fields.len());
                self.reader.elements((left, fields.len()), visitor, &expected, offset)
            }
        }
    }
}

/// Bytes borrowed from the input.
struct BytesDeserializer<'de>(&'de [u8]);

/// Owned bytes.
struct OwnedBytes(Vec<u8>);

impl<'de> Deserializer<'de> for BytesDeserializer<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_borrowed_bytes(self.0)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

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
