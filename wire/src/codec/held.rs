//! A serializer that captures the contents of an extension type: a text, a number or
//! bytes, and nothing else.

use super::error::WriteTermError;
use super::extension::ExtensionValue;
use serde::ser::{Error, Impossible, Serialize, Serializer};

/// Captures the serialized value.
pub(super) struct HeldSerializer;

type No = Impossible<ExtensionValue, WriteTermError>;

fn refuse<T>() -> Result<T, WriteTermError> {
    Err(WriteTermError::custom("such a type holds a text, a number or bytes"))
}

macro_rules! refuse {
    ($($method:ident($($argument:ty),*) -> $result:ty;)*) => {
        $(fn $method(self, $(_: $argument),*) -> Result<$result, WriteTermError> {
            refuse()
        })*
    };
}

impl Serializer for HeldSerializer {
    type Ok = ExtensionValue;
    type Error = WriteTermError;
    type SerializeSeq = No;
    type SerializeTuple = No;
    type SerializeTupleStruct = No;
    type SerializeTupleVariant = No;
    type SerializeMap = No;
    type SerializeStruct = No;
    type SerializeStructVariant = No;

    fn serialize_str(self, text: &str) -> Result<ExtensionValue, WriteTermError> {
        Ok(ExtensionValue::Text(text.to_owned()))
    }

    fn serialize_u64(self, number: u64) -> Result<ExtensionValue, WriteTermError> {
        Ok(ExtensionValue::Number(number))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<ExtensionValue, WriteTermError> {
        Ok(ExtensionValue::Bytes(bytes.to_vec()))
    }

    fn serialize_some<T: Serialize + ?Sized>(
        self,
        _: &T,
    ) -> Result<ExtensionValue, WriteTermError> {
        refuse()
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<ExtensionValue, WriteTermError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<ExtensionValue, WriteTermError> {
        refuse()
    }

    refuse! {
        serialize_bool(bool) -> ExtensionValue;
        serialize_i8(i8) -> ExtensionValue;
        serialize_i16(i16) -> ExtensionValue;
        serialize_i32(i32) -> ExtensionValue;
        serialize_i64(i64) -> ExtensionValue;
        serialize_u8(u8) -> ExtensionValue;
        serialize_u16(u16) -> ExtensionValue;
        serialize_u32(u32) -> ExtensionValue;
        serialize_f32(f32) -> ExtensionValue;
        serialize_f64(f64) -> ExtensionValue;
        serialize_char(char) -> ExtensionValue;
        serialize_none() -> ExtensionValue;
        serialize_unit() -> ExtensionValue;
        serialize_unit_struct(&'static str) -> ExtensionValue;
        serialize_unit_variant(&'static str, u32, &'static str) -> ExtensionValue;
        serialize_seq(Option<usize>) -> No;
        serialize_tuple(usize) -> No;
        serialize_tuple_struct(&'static str, usize) -> No;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> No;
        serialize_map(Option<usize>) -> No;
        serialize_struct(&'static str, usize) -> No;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> No;
    }
}
