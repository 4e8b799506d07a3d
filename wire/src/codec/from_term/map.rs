//! The pairs of maps and of structs.

use super::tuple::Element;
use super::{FromTerm, is_atom};
use crate::codec::error::{ReadError, ValueStep};
use crate::etf::token::TermToken;
use crate::etf::{DecodeError, Map, Term, decode, tag};
use crate::text::cut;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, MapAccess, Visitor};

impl<'de> FromTerm<'_, 'de> {
    /// Reads a map, or a struct with these fields.
    pub(super) fn map<V: Visitor<'de>>(
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
            let key = LastKey::None;
            let checks_keys = !is_struct && left > 1;
            let keys = Vec::new();
            let mut pairs =
                PairsAccess { reader: this, left, is_struct, extra, key, checks_keys, keys };
            let value = visitor.visit_map(&mut pairs)?;
            if pairs.left > 0 {
                return Err(pairs.reader.mismatch("a map with fewer keys", offset));
            }
            let PairsAccess { reader, keys, .. } = pairs;
            if reader.has_equal(&keys)? {
                return Err(DecodeError::EqualKeys { offset: reader.tokens.offset() }.into());
            }
            Ok(value)
        })
    }

    /// Whether two of the keys at these places are equal.
    fn has_equal(&self, keys: &[(usize, usize)]) -> Result<bool, ReadError> {
        let bytes_of = |&(start, end): &(usize, usize)| self.tokens.between(start, end);
        if keys.iter().map(bytes_of).all(is_shortest) {
            let mut keys: Vec<&[u8]> = keys.iter().map(bytes_of).collect();
            keys.sort_unstable();
            return Ok(keys.windows(2).any(|two| two[0] == two[1]));
        }
        let read = |&(start, _): &(usize, usize)| {
            decode::read(&mut self.tokens.again_at(start)).map(|key| (key, Term::nil()))
        };
        let pairs = keys.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        Ok(Map::new(pairs).is_err())
    }

    /// Whether the next term can be the name of a field.
    fn next_is_name(&self) -> Result<bool, ReadError> {
        Ok(match self.tokens.peek_tag()? {
            tag::BINARY => match self.tokens.again_at(self.tokens.offset()).next()? {
                TermToken::Binary(bytes) => str::from_utf8(bytes).is_ok(),
                _ => false,
            },
            tag => is_atom(tag),
        })
    }
}

/// Whether equal terms of this kind have equal bytes: it is a binary, an atom or an integer of
/// 32 bits, in the shortest encoding.
fn is_shortest(term: &[u8]) -> bool {
    match *term {
        [tag::BINARY | tag::SMALL_INTEGER | tag::SMALL_ATOM_UTF8, ..] => true,
        [tag::INTEGER, a, b, c, d] => u8::try_from(i32::from_be_bytes([a, b, c, d])).is_err(),
        _ => false,
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
    /// Whether the keys are compared with each other. The fields of a struct are not: serde
    /// refuses a field that comes twice.
    checks_keys: bool,
    /// The places of the keys that are compared.
    keys: Vec<(usize, usize)>,
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
            if !self.is_struct || self.reader.next_is_name()? {
                break;
            }
            self.reader.tokens.skip()?;
            self.reader.tokens.skip()?;
        }
        let start = self.reader.tokens.offset();
        self.key = LastKey::At(start);
        if self.extra.is_some_and(|field| self.reader.next_is_atom(&[field])) {
            self.extra = None;
        }
        let key = seed.deserialize(&mut *self.reader);
        let key = key.map_err(|error| error.within(ValueStep::Key))?;
        if self.checks_keys {
            self.keys.push((start, self.reader.tokens.offset()));
        }
        Ok(Some(key))
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
                Ok(term) => cut(term, 60),
                Err(_) => return error,
            };
            error.within(ValueStep::Field(key))
        })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}
