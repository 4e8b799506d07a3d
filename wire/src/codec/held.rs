//! What a type of the extension gives to serde, caught: a text, a number or bytes, and nothing else.

use super::error::WriteError;
use super::extension::Held;
use serde::ser::{Error, Impossible, Serialize, Serializer};

/// Catches what is serialized.
pub(super) struct HeldSerializer;

type No = Impossible<Held, WriteError>;

fn refuse<T>() -> Result<T, WriteError> {
    Err(WriteError::custom("such a type holds a text, a number or bytes"))
}

macro_rules! refuse {
    ($($method:ident($($argument:ty),*) -> $result:ty;)*) => {
        $(fn $method(self, $(_: $argument),*) -> Result<$result, WriteError> {
            refuse()
        })*
    };
}

impl Serializer for HeldSerializer {
    type Ok = Held;
    type Error = WriteError;
    type SerializeSeq = No;
    type SerializeTuple = No;
    type SerializeTupleStruct = No;
    type SerializeTupleVariant = No;
    type SerializeMap = No;
    type SerializeStruct = No;
    type SerializeStructVariant = No;

    fn serialize_str(self, text: &str) -> Result<Held, WriteError> {
        Ok(Held::Text(text.to_owned()))
    }

    fn serialize_u64(self, number: u64) -> Result<Held, WriteError> {
        Ok(Held::Number(number))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Held, WriteError> {
        Ok(Held::Bytes(bytes.to_vec()))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<Held, WriteError> {
        refuse()
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Held, WriteError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Held, WriteError> {
        refuse()
    }

    refuse! {
        serialize_bool(bool) -> Held;
        serialize_i8(i8) -> Held;
        serialize_i16(i16) -> Held;
        serialize_i32(i32) -> Held;
        serialize_i64(i64) -> Held;
        serialize_u8(u8) -> Held;
        serialize_u16(u16) -> Held;
        serialize_u32(u32) -> Held;
        serialize_f32(f32) -> Held;
        serialize_f64(f64) -> Held;
        serialize_char(char) -> Held;
        serialize_none() -> Held;
        serialize_unit() -> Held;
        serialize_unit_struct(&'static str) -> Held;
        serialize_unit_variant(&'static str, u32, &'static str) -> Held;
        serialize_seq(Option<usize>) -> No;
        serialize_tuple(usize) -> No;
        serialize_tuple_struct(&'static str, usize) -> No;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> No;
        serialize_map(Option<usize>) -> No;
        serialize_struct(&'static str, usize) -> No;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> No;
    }
}
