//! The settings of an application as a value of its type (rule A11).
//!
//! A deserializer over the items of a document: each error knows the line and the key where it
//! arose. Keys that a struct does not have are errors, also without `deny_unknown_fields`.

use super::error::{Origin, SettingsError, SettingsFault};
use super::keys::listed;
use super::placed::{are_alike, path};
use super::tree::{self, Given, SettingLine};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use std::fmt;

/// Reads a table as a `T`. `key` is the path of the table.
pub(crate) fn read<T: DeserializeOwned>(
    given: &Given,
    at: &Origin,
    key: &str,
) -> Result<T, SettingsError> {
    let value = TypedValue { given, at, key: key.to_owned() };
    let placed = value.clone();
    T::deserialize(value).map_err(|fault| fault.at(&placed)).map_err(|fault| match fault {
        TypedFault::Placed(error) => *error,
        // `at` places every fault.
        TypedFault::Other(message) => {
            at.error(SettingsFault::Invalid { key: key.to_owned(), message })
        }
        _ => at.error(SettingsFault::Invalid { key: key.to_owned(), message: String::new() }),
    })
}

/// A value with its place.
#[derive(Clone)]
struct TypedValue<'a> {
    given: &'a Given,
    at: &'a Origin,
    key: String,
}

/// A fault, at first without its place.
#[derive(Debug)]
enum TypedFault {
    Type { takes: String },
    Value { takes: String },
    Missing(&'static str),
    Unknown { key: String, known: String },
    Other(String),
    Placed(Box<SettingsError>),
}

impl TypedFault {
    /// Gives the fault this place, unless it has one.
    fn at(self, value: &TypedValue<'_>) -> Self {
        let key = value.key.clone();
        let fault = match self {
            TypedFault::Placed(error) => return TypedFault::Placed(error),
            TypedFault::Type { takes } => {
                SettingsFault::WrongType { key, found: value.given.found(), takes }
            }
            TypedFault::Value { takes } => {
                SettingsFault::BadValue { key, value: value.given.shown(), takes }
            }
            TypedFault::Missing(field) => SettingsFault::MissingKey { key: path(&key, field) },
            TypedFault::Unknown { key, known } => {
                SettingsFault::UnknownKey { key: path(&value.key, &key), known }
            }
            TypedFault::Other(message) => SettingsFault::Invalid { key, message },
        };
        // A variable that sets another key is not where this one is missing.
        let elsewhere = matches!(fault, SettingsFault::MissingKey { .. }) && value.at.is_implied;
        let at = if elsewhere { &Origin::default() } else { value.at };
        TypedFault::Placed(Box::new(at.error(fault)))
    }
}

impl fmt::Display for TypedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for TypedFault {}

impl Error for TypedFault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        TypedFault::Other(message.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, takes: &dyn Expected) -> Self {
        TypedFault::Type { takes: takes.to_string() }
    }

    fn invalid_value(_: Unexpected<'_>, takes: &dyn Expected) -> Self {
        TypedFault::Value { takes: takes.to_string() }
    }

    fn unknown_variant(_: &str, known: &'static [&'static str]) -> Self {
        TypedFault::Value { takes: format!("one of {}", listed(known.iter().copied())) }
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        TypedFault::Unknown { key: key.to_owned(), known: listed(known.iter().copied()) }
    }

    fn missing_field(field: &'static str) -> Self {
        TypedFault::Missing(field)
    }
}

impl<'a> TypedValue<'a> {
    fn child(&self, line: &'a SettingLine) -> TypedValue<'a> {
        TypedValue { given: &line.given, at: &line.at, key: path(&self.key, &line.key) }
    }

    fn items(&self, items: &'a [SettingLine], fields: &'static [&'static str]) -> TypedItems<'a> {
        TypedItems { table: self.clone(), fields, left: items.iter(), next: None }
    }

    fn table<'de, V: Visitor<'de>>(
        &self,
        items: &'a [SettingLine],
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypedFault> {
        visitor.visit_map(self.items(items, fields)).map_err(|fault| fault.at(self))
    }
}

/// The field that this key stands for.
fn field(item: &SettingLine, fields: &[&'static str]) -> Option<&'static str> {
    let exact = fields.iter().find(|field| **field == item.key);
    let alike =
        || fields.iter().find(|field| item.at.variable.is_some() && are_alike(field, &item.key));
    exact.or_else(alike).copied()
}

impl<'de> Deserializer<'de> for TypedValue<'_> {
    type Error = TypedFault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedFault> {
        let found = match self.given {
            Given::Table(items) => visitor.visit_map(self.items(items, &[])),
            Given::Variable(text) => {
                let given = &tree::other_than_text(text, self.at);
                return TypedValue { given, ..self }.deserialize_any(visitor);
            }
            Given::List(values) => {
                visitor.visit_seq(TypedList { list: self.clone(), left: values.iter().enumerate() })
            }
            Given::Text(text) => visitor.visit_str(text),
            Given::Switch(on) => visitor.visit_bool(*on),
            Given::Float(number, _) => visitor.visit_f64(*number),
            Given::Whole(Some(number), _) => match (i64::try_from(*number), u64::try_from(*number))
            {
                (Ok(number), _) => visitor.visit_i64(number),
                (_, Ok(number)) => visitor.visit_u64(number),
                _ => visitor.visit_i128(*number),
            },
            Given::Whole(None, _) => Err(TypedFault::Value { takes: "a number".to_owned() }),
            Given::Other { shown, .. } => visitor.visit_str(shown),
        };
        found.map_err(|fault| fault.at(&self))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedFault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, TypedFault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypedFault> {
        if let Given::Table(items) = self.given {
            let unknown = items.iter().find(|item| field(item, fields).is_none());
            if let Some(item) = unknown {
                let known = listed(fields.iter().copied());
                let place = TypedValue { at: &item.at, ..self.clone() };
                return Err(TypedFault::Unknown { key: item.key.clone(), known }.at(&place));
            }
            return self.table(items, fields, visitor);
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypedFault> {
        let place = self.clone();
        let found = match self.given {
            Given::Text(text) | Given::Variable(text) => visitor.visit_enum(identifier(text)),
            Given::Table(items) if items.len() == 1 => {
                visitor.visit_enum(MapAccessDeserializer::new(self.items(items, &[])))
            }
            _ => Err(TypedFault::Type { takes: "text, or a table with one key".to_owned() }),
        };
        found.map_err(|fault| fault.at(&place))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedFault> {
        match self.given {
            Given::Variable(text) => {
                visitor.visit_str(text).map_err(|fault: TypedFault| fault.at(&self))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedFault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedFault> {
        self.deserialize_str(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

/// A name: that of a variant, or of a field.
fn identifier(name: &str) -> StrDeserializer<'_, TypedFault> {
    name.into_deserializer()
}

/// The items of a table.
struct TypedItems<'a> {
    table: TypedValue<'a>,
    /// Those of a struct. The keys of a map are as they are.
    fields: &'static [&'static str],
    left: std::slice::Iter<'a, SettingLine>,
    next: Option<&'a SettingLine>,
}

impl<'de> MapAccess<'de> for TypedItems<'_> {
    type Error = TypedFault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, TypedFault> {
        self.next = self.left.next();
        let Some(item) = self.next else { return Ok(None) };
        let key = identifier(field(item, self.fields).unwrap_or(&item.key));
        let place = TypedValue { at: &item.at, ..self.table.clone() };
        seed.deserialize(key).map(Some).map_err(|fault| fault.at(&place))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<T::Value, TypedFault> {
        let Some(item) = self.next.take() else {
            return Err(TypedFault::Other("a value without a key".to_owned()));
        };
        let value = self.table.child(item);
        let place = value.clone();
        seed.deserialize(value).map_err(|fault| fault.at(&place))
    }
}

/// The values of a list.
struct TypedList<'a> {
    list: TypedValue<'a>,
    left: std::iter::Enumerate<std::slice::Iter<'a, (Origin, Given)>>,
}

impl<'de> SeqAccess<'de> for TypedList<'_> {
    type Error = TypedFault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, TypedFault> {
        let Some((index, (at, given))) = self.left.next() else { return Ok(None) };
        let value = TypedValue { given, at, key: format!("{}[{index}]", self.list.key) };
        let place = value.clone();
        seed.deserialize(value).map(Some).map_err(|fault| fault.at(&place))
    }
}
