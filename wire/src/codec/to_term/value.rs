//! The kinds of values that serde presents, each written as the term that stands for it.

use super::ToTerm;
use super::compound::{Compound, CompoundKind};
use crate::codec::error::WriteTermError;
use crate::codec::extension::{ATOM, ExtensionValue, PREFIX, TERM};
use crate::codec::held::HeldSerializer;
use crate::codec::options::Structs;
use crate::etf::BigInt;
use crate::etf::encode::{write_atom, write_big, write_binary, write_int, write_u64};
use serde::ser::{Serialize, Serializer};

macro_rules! integers {
    ($($method:ident($number:ty);)*) => {
        $(fn $method(self, number: $number) -> Result<bool, WriteTermError> {
            write_int(number.into(), self.out);
            Ok(true)
        })*
    };
}

impl<'w, 'o> Serializer for &'w mut ToTerm<'o> {
    type Ok = bool;
    type Error = WriteTermError;
    type SerializeSeq = Compound<'w, 'o>;
    type SerializeTuple = Compound<'w, 'o>;
    type SerializeTupleStruct = Compound<'w, 'o>;
    type SerializeTupleVariant = Compound<'w, 'o>;
    type SerializeMap = Compound<'w, 'o>;
    type SerializeStruct = Compound<'w, 'o>;
    type SerializeStructVariant = Compound<'w, 'o>;

    integers! {
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
    }

    fn serialize_u64(self, number: u64) -> Result<bool, WriteTermError> {
        write_u64(number, self.out);
        Ok(true)
    }

    fn serialize_i128(self, number: i128) -> Result<bool, WriteTermError> {
        write_big(&BigInt::from(number), self.out)?;
        Ok(true)
    }

    fn serialize_u128(self, number: u128) -> Result<bool, WriteTermError> {
        write_big(&BigInt::from(number), self.out)?;
        Ok(true)
    }

    fn serialize_bool(self, value: bool) -> Result<bool, WriteTermError> {
        write_atom(if value { "true" } else { "false" }, self.out);
        Ok(true)
    }

    fn serialize_f32(self, value: f32) -> Result<bool, WriteTermError> {
        self.float(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<bool, WriteTermError> {
        self.float(value)
    }

    fn serialize_char(self, value: char) -> Result<bool, WriteTermError> {
        self.serialize_u32(value.into())
    }

    fn serialize_str(self, text: &str) -> Result<bool, WriteTermError> {
        self.serialize_bytes(text.as_bytes())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<bool, WriteTermError> {
        self.check_room(bytes.len())?;
        write_binary(bytes, self.out)?;
        Ok(true)
    }

    fn serialize_none(self) -> Result<bool, WriteTermError> {
        write_atom(self.absent.atom(), self.out);
        Ok(true)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<bool, WriteTermError> {
        self.nested(|this| value.serialize(this))
    }

    fn serialize_unit(self) -> Result<bool, WriteTermError> {
        write_atom("ok", self.out);
        Ok(true)
    }

    fn serialize_unit_struct(self, name: &'static str) -> Result<bool, WriteTermError> {
        self.name(name)?;
        Ok(true)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<bool, WriteTermError> {
        self.nested(|this| this.name(variant))?;
        Ok(true)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<bool, WriteTermError> {
        if !name.starts_with(PREFIX) {
            // A newtype counts as a level, so that a type that contains itself in a box is
            // limited too.
            return self.nested(|this| value.serialize(this));
        }
        match (name, value.serialize(HeldSerializer)?) {
            (TERM, ExtensionValue::Bytes(term)) => self.term(&term),
            (ATOM, ExtensionValue::Text(text)) => self.atom(&text).map(|()| true),
            (name, held) => {
                let why = |why| WriteTermError::Extension { name, why };
                let start = self.out.len();
                let has_term = self.extension.write(name, &held, self.out).map_err(why)?;
                if !has_term {
                    self.out.truncate(start);
                }
                Ok(has_term)
            }
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<bool, WriteTermError> {
        match (name, index, variant) {
            ("Result", 0, "Ok") => self.nested(|this| this.result(true, value)),
            ("Result", 1, "Err") => self.nested(|this| this.result(false, value)),
            _ => {
                let mut compound = Compound::begin(self, CompoundKind::Variant, 1, Some(variant))?;
                compound.element(value)?;
                compound.finish()
            }
        }
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Compound<'w, 'o>, WriteTermError> {
        Compound::begin(self, CompoundKind::List, 0, None)
    }

    fn serialize_tuple(self, len: usize) -> Result<Compound<'w, 'o>, WriteTermError> {
        Compound::begin(self, CompoundKind::Tuple, len, None)
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        len: usize,
    ) -> Result<Compound<'w, 'o>, WriteTermError> {
        Compound::begin(self, CompoundKind::Tuple, len, None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Compound<'w, 'o>, WriteTermError> {
        Compound::begin(self, CompoundKind::Variant, len, Some(variant))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Compound<'w, 'o>, WriteTermError> {
        Compound::begin(self, CompoundKind::Map, 0, None)
    }

    fn serialize_struct(
        self,
        name: &'static str,
        len: usize,
    ) -> Result<Compound<'w, 'o>, WriteTermError> {
        match self.structs {
            Structs::Map => Compound::begin(self, CompoundKind::Map, 0, None),
            Structs::Tuple => Compound::begin(self, CompoundKind::Positional, len, None),
            Structs::Record => Compound::begin(self, CompoundKind::Positional, len, Some(name)),
        }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Compound<'w, 'o>, WriteTermError> {
        match self.structs {
            Structs::Map => Compound::begin(self, CompoundKind::VariantMap, 0, Some(variant)),
            Structs::Tuple | Structs::Record => {
                Compound::begin(self, CompoundKind::Positional, len, Some(variant))
            }
        }
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}
