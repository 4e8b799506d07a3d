//! Rust values as terms: serde's data model encoded directly, without a
//! [`Term`](crate::etf::Term) in between.
//!
//! Each method appends one term and returns whether it did: an extension type may have no
//! term. Lengths that are not known in advance are filled in at the end.

use super::error::WriteTermError;
use super::extension::{ATOM, Extension, ExtensionValue, PREFIX, TERM};
use super::held::HeldSerializer;
use super::options::{Absent, Names, Structs};
use crate::etf::encode::{
    write_atom, write_big, write_binary, write_float, write_int, write_list_head, write_map_head,
    write_tuple_head, write_u64,
};
use crate::etf::{Atom, BigInt, EncodeError, Limits, tag};
use serde::ser::{self, Serialize, Serializer};

/// Encodes values.
pub(super) struct ToTerm<'o> {
    pub(super) out: &'o mut Vec<u8>,
    pub(super) names: Names,
    pub(super) structs: Structs,
    pub(super) absent: Absent,
    pub(super) extension: &'o mut dyn Extension,
    /// The current depth of nesting.
    pub(super) depth: usize,
}

impl ToTerm<'_> {
    fn enter(&mut self) -> Result<(), WriteTermError> {
        let limit = Limits::TYPED_DEPTH;
        if self.depth >= limit {
            return Err(WriteTermError::Depth { limit });
        }
        self.depth += 1;
        Ok(())
    }

    /// Runs `write` one level deeper. Levels are those that [`FromTerm`](super::from_term::FromTerm)
    /// counts, so that whatever is written can be read.
    fn nested<T>(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<T, WriteTermError>,
    ) -> Result<T, WriteTermError> {
        self.enter()?;
        let written = write(self);
        self.depth -= 1;
        written
    }

    /// Writes the name of a variant or a unit struct.
    fn name(&mut self, name: &str) -> Result<(), WriteTermError> {
        let mut text = String::with_capacity(name.len());
        self.names.write(name, &mut text);
        self.atom(&text)
    }

    fn atom(&mut self, text: &str) -> Result<(), WriteTermError> {
        Atom::check(text)?;
        write_atom(text, self.out);
        Ok(())
    }

    fn float(&mut self, value: f64) -> Result<bool, WriteTermError> {
        if !value.is_finite() {
            return Err(WriteTermError::Float { value: value.to_string() });
        }
        write_float(value, self.out);
        Ok(true)
    }

    /// Writes a `Result`: `{ok, V}`, or `ok` if `V` is `ok`; `{error, E}`, or `error` if `E` has
    /// no term.
    fn result<T: Serialize + ?Sized>(
        &mut self,
        is_ok: bool,
        value: &T,
    ) -> Result<bool, WriteTermError> {
        let start = self.out.len();
        write_tuple_head(2, self.out)?;
        write_atom(if is_ok { "ok" } else { "error" }, self.out);
        let value_start = self.out.len();
        let has_term = value.serialize(&mut *self)?;
        let mut ok = Vec::new();
        write_atom("ok", &mut ok);
        // A variant whose value has no term is its name alone.
        if !has_term || is_ok && self.out[value_start..] == ok {
            self.out.truncate(start);
            write_atom(if is_ok { "ok" } else { "error" }, self.out);
        }
        Ok(true)
    }
}

/// A tuple, list or map whose elements are being written.
pub(super) struct Compound<'w, 'o> {
    writer: &'w mut ToTerm<'o>,
    kind: CompoundKind,
    /// The offset of the compound, including its tag.
    start: usize,
    /// The offset of its elements.
    elements: usize,
    count: usize,
    /// The offsets of the keys of a map.
    keys: Vec<(usize, usize)>,
}

#[derive(Clone, Copy, PartialEq)]
enum CompoundKind {
    List,
    Tuple,
    /// The name, then elements; only the name if there are none.
    Variant,
    Map,
    /// A map as the second element of a tuple with the name.
    VariantMap,
    /// A struct as a tuple: a skipped field keeps its position.
    Positional,
}

impl<'w, 'o> Compound<'w, 'o> {
    /// Starts a compound of at most `most` elements, not counting the name of a variant.
    fn begin(
        writer: &'w mut ToTerm<'o>,
        kind: CompoundKind,
        most: usize,
        name: Option<&str>,
    ) -> Result<Self, WriteTermError> {
        writer.enter()?;
        let start = writer.out.len();
        match kind {
            CompoundKind::List => write_list_head(0, writer.out)?,
            CompoundKind::Map => write_map_head(0, writer.out)?,
            CompoundKind::VariantMap => {
                write_tuple_head(2, writer.out)?;
                name.map(|name| writer.name(name)).transpose()?;
                write_map_head(0, writer.out)?;
            }
            CompoundKind::Tuple | CompoundKind::Variant | CompoundKind::Positional => {
                // The size of the head depends on the greatest possible count.
                let most = most + usize::from(name.is_some());
                write_tuple_head(most, writer.out)?;
                name.map(|name| writer.name(name)).transpose()?;
            }
        }
        let elements = writer.out.len();
        let count = match kind {
            CompoundKind::Tuple | CompoundKind::Variant | CompoundKind::Positional => {
                usize::from(name.is_some())
            }
            CompoundKind::List | CompoundKind::Map | CompoundKind::VariantMap => 0,
        };
        Ok(Compound { writer, kind, start, elements, count, keys: Vec::new() })
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WriteTermError> {
        let written = value.serialize(&mut *self.writer)?;
        self.count += usize::from(written);
        Ok(())
    }

    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), WriteTermError> {
        let start = self.writer.out.len();
        if !key.serialize(&mut *self.writer)? {
            return Err(ser::Error::custom("a key of a map has no term"));
        }
        self.keys.push((start, self.writer.out.len()));
        Ok(())
    }

    /// Writes the value of the last key. If the value has no term, its key is removed.
    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WriteTermError> {
        if value.serialize(&mut *self.writer)? {
            self.count += 1;
        } else if let Some((start, _)) = self.keys.pop() {
            self.writer.out.truncate(start);
        }
        Ok(())
    }

    fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), WriteTermError> {
        if self.kind == CompoundKind::Positional {
            return self.element(value);
        }
        let start = self.writer.out.len();
        self.writer.atom(name)?;
        self.keys.push((start, self.writer.out.len()));
        self.value(value)
    }

    fn skip_field(&mut self) {
        if self.kind == CompoundKind::Positional {
            write_atom(self.writer.absent.atom(), self.writer.out);
            self.count += 1;
        }
    }

    /// Fills in the count.
    fn finish(self) -> Result<bool, WriteTermError> {
        let Compound { writer, kind, start, elements, count, keys } = self;
        writer.depth -= 1;
        match kind {
            CompoundKind::List if count == 0 => {
                writer.out.truncate(start);
                writer.out.push(tag::NIL);
            }
            CompoundKind::List => finish_list(writer.out, start, elements, count)?,
            CompoundKind::Variant if count == 1 => {
                // Only the name remains: remove the head, whose count has one byte or four.
                let head = if writer.out[start] == tag::SMALL_TUPLE { 2 } else { 5 };
                writer.out.drain(start..start + head);
            }
            CompoundKind::Tuple | CompoundKind::Variant | CompoundKind::Positional => {
                match writer.out[start] {
                    tag::SMALL_TUPLE => {
                        let error = EncodeError { what: "a tuple", length: count };
                        writer.out[start + 1] = u8::try_from(count).map_err(|_| error)?;
                    }
                    _ => fill_in(writer.out, start + 1, "a tuple", count)?,
                }
            }
            CompoundKind::Map | CompoundKind::VariantMap => {
                check_keys(writer.out, keys)?;
                fill_in(writer.out, elements - 4, "a map", count)?;
            }
        }
        Ok(true)
    }
}

fn fill_in(out: &mut [u8], at: usize, what: &'static str, count: usize) -> Result<(), EncodeError> {
    let error = EncodeError { what, length: count };
    let count = u32::try_from(count).map_err(|_| error)?.to_be_bytes();
    out[at..at + 4].copy_from_slice(&count);
    Ok(())
}

/// Converts a list of bytes to a string, as OTP does, which takes half the space.
fn finish_list(
    out: &mut Vec<u8>,
    start: usize,
    elements: usize,
    count: usize,
) -> Result<(), EncodeError> {
    let bytes = &out[elements..];
    let is_string = bytes.len() == count * 2
        && bytes.chunks_exact(2).all(|element| element[0] == tag::SMALL_INTEGER);
    match u16::try_from(count) {
        Ok(count) if is_string => {
            let bytes: Vec<u8> = bytes.iter().skip(1).step_by(2).copied().collect();
            out.truncate(start);
            out.push(tag::STRING);
            out.extend(count.to_be_bytes());
            out.extend(bytes);
        }
        _ => {
            fill_in(out, start + 1, "a list", count)?;
            out.push(tag::NIL);
        }
    }
    Ok(())
}

/// Equal terms have equal bytes, except for the order of pairs of maps within keys.
fn check_keys(out: &[u8], keys: Vec<(usize, usize)>) -> Result<(), WriteTermError> {
    if keys.len() < 2 {
        return Ok(());
    }
    let mut keys: Vec<_> = keys.into_iter().map(|(start, end)| &out[start..end]).collect();
    keys.sort_unstable();
    if keys.windows(2).any(|two| two[0] == two[1]) {
        return Err(WriteTermError::EqualKeys);
    }
    Ok(())
}

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
            (TERM, ExtensionValue::Bytes(term)) => {
                self.out.extend(term);
                Ok(true)
            }
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

impl ser::SerializeSeq for Compound<'_, '_> {
    type Ok = bool;
    type Error = WriteTermError;

    fn serialize_element<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
    ) -> Result<(), WriteTermError> {
        self.element(value)
    }

    fn end(self) -> Result<bool, WriteTermError> {
        self.finish()
    }
}

impl ser::SerializeTuple for Compound<'_, '_> {
    type Ok = bool;
    type Error = WriteTermError;

    fn serialize_element<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
    ) -> Result<(), WriteTermError> {
        self.element(value)
    }

    fn end(self) -> Result<bool, WriteTermError> {
        self.finish()
    }
}

impl ser::SerializeTupleStruct for Compound<'_, '_> {
    type Ok = bool;
    type Error = WriteTermError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WriteTermError> {
        self.element(value)
    }

    fn end(self) -> Result<bool, WriteTermError> {
        self.finish()
    }
}

impl ser::SerializeTupleVariant for Compound<'_, '_> {
    type Ok = bool;
    type Error = WriteTermError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WriteTermError> {
        self.element(value)
    }

    fn end(self) -> Result<bool, WriteTermError> {
        self.finish()
    }
}

impl ser::SerializeMap for Compound<'_, '_> {
    type Ok = bool;
    type Error = WriteTermError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), WriteTermError> {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WriteTermError> {
        self.value(value)
    }

    fn end(self) -> Result<bool, WriteTermError> {
        self.finish()
    }
}

impl ser::SerializeStruct for Compound<'_, '_> {
    type Ok = bool;
    type Error = WriteTermError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), WriteTermError> {
        self.field(name, value)
    }

    fn skip_field(&mut self, _: &'static str) -> Result<(), WriteTermError> {
        Compound::skip_field(self);
        Ok(())
    }

    fn end(self) -> Result<bool, WriteTermError> {
        self.finish()
    }
}

impl ser::SerializeStructVariant for Compound<'_, '_> {
    type Ok = bool;
    type Error = WriteTermError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), WriteTermError> {
        self.field(name, value)
    }

    fn skip_field(&mut self, _: &'static str) -> Result<(), WriteTermError> {
        Compound::skip_field(self);
        Ok(())
    }

    fn end(self) -> Result<bool, WriteTermError> {
        self.finish()
    }
}
