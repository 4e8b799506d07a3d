//! Tuples, lists and maps, whose elements are counted as they are written.

use super::ToTerm;
use crate::codec::error::WriteTermError;
use crate::etf::encode::{write_atom, write_list_head, write_map_head, write_tuple_head};
use crate::etf::{EncodeError, tag};
use serde::ser::{self, Serialize};

/// A tuple, list or map whose elements are being written.
pub(in crate::codec) struct Compound<'w, 'o> {
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
pub(super) enum CompoundKind {
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
    pub(super) fn begin(
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

    pub(super) fn element<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
    ) -> Result<(), WriteTermError> {
        let written = value.serialize(&mut *self.writer)?;
        self.count += usize::from(written);
        self.writer.check_elements(self.count)
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
        self.writer.check_elements(self.count)
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
    pub(super) fn finish(self) -> Result<bool, WriteTermError> {
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
