//! Variants of enums.

use super::FromTerm;
use super::tuple::Element;
use crate::codec::error::{ReadError, ValueStep};
use crate::codec::options::Structs;
use crate::etf::token::{AtomText, TermToken};
use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, EnumAccess, VariantAccess, Visitor};

impl<'de> FromTerm<'_, 'de> {
    /// Reads the name of a variant. This is a separate, non-generic method, so that its
    /// stack space is released before the contents of the variant are read.
    pub(super) fn variant_head(
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

/// The head of a variant, before its contents are read.
pub(super) struct VariantHead<'de> {
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
pub(super) struct Variant<'r, 'x, 'de> {
    pub(super) reader: &'r mut FromTerm<'x, 'de>,
    pub(super) head: &'r VariantHead<'de>,
}

impl<'de> Variant<'_, '_, 'de> {
    pub(super) fn read<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
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
