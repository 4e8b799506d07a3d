//! Encoding of terms, as by OTP 26 and later, without recursion.
//!
//! Integers have their shortest form. Atoms are in UTF-8, with a length of one byte if that
//! suffices. Lists of at most 65 535 bytes are strings. Ports below 2^28 have 32 bits.

use super::identity::{ExternalPid, Port, Reference};
use super::integer::BigInt;
use super::tag;
use super::term::{Fun, Term};
use std::slice::Iter;

/// A term cannot be encoded: a length in it does not fit into its field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} of length {length} cannot be written")]
pub struct EncodeError {
    /// The part that is too long.
    pub what: &'static str,
    /// Its length.
    pub length: usize,
}

impl Term {
    /// Returns the bytes that `term_to_binary` produces: the version 131 and the term.
    ///
    /// # Errors
    /// [`EncodeError`] if a length does not fit into 32 bits.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        // Enough for most messages; a longer one makes it grow.
        let mut out = Vec::with_capacity(128);
        out.push(tag::VERSION);
        self.write(&mut out)?;
        Ok(out)
    }

    /// Appends the term without a version byte, as it appears in frames and in other terms.
    ///
    /// # Errors
    /// [`EncodeError`] if a length does not fit into 32 bits. The bytes appended so far
    /// are not a term.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut tasks = Vec::new();
        head(self, out, &mut tasks)?;
        while let Some(task) = tasks.last_mut() {
            match task {
                EncodeTask::Each(terms) => match leaves(terms, out) {
                    Some(term) => head(term, out, &mut tasks)?,
                    None => drop(tasks.pop()),
                },
                EncodeTask::Nil => {
                    out.push(tag::NIL);
                    tasks.pop();
                }
                EncodeTask::FunSize { at } => {
                    let at = *at;
                    let size = length("a fun", out.len() - at)?;
                    out[at..at + 4].copy_from_slice(&size);
                    tasks.pop();
                }
            }
        }
        Ok(())
    }
}

/// Pending work; the next item is the last.
enum EncodeTask<'a> {
    Each(Iter<'a, Term>),
    /// The end of a proper list.
    Nil,
    /// Fills in the size of a fun at its end.
    FunSize {
        at: usize,
    },
}

/// Writes terms of the most frequent kinds. Returns the first of another kind.
fn leaves<'a>(terms: &mut Iter<'a, Term>, out: &mut Vec<u8>) -> Option<&'a Term> {
    loop {
        match terms.next()? {
            Term::Int(number) => write_int(*number, out),
            Term::Atom(atom) => write_atom_bytes(atom.as_bytes(), out),
            term => return Some(term),
        }
    }
}

/// Writes the head of a term, and adds its nested terms to the tasks.
fn head<'a>(
    term: &'a Term,
    out: &mut Vec<u8>,
    tasks: &mut Vec<EncodeTask<'a>>,
) -> Result<(), EncodeError> {
    match term {
        Term::Int(number) => write_int(*number, out),
        Term::Big(number) => write_big(number, out)?,
        Term::Float(float) => write_float(float.value(), out),
        Term::Atom(atom) => write_atom_bytes(atom.as_bytes(), out),
        Term::Binary(bytes) => write_binary(bytes, out)?,
        Term::Bits(bits) => {
            out.push(tag::BIT_BINARY);
            out.extend(length("a bit string", bits.bytes().len())?);
            out.push(bits.last_bits());
            out.extend(bits.bytes());
        }
        Term::Tuple(elements) => {
            write_tuple_head(elements.len(), out)?;
            tasks.push(EncodeTask::Each(elements.iter()));
        }
        Term::List(elements) if elements.is_empty() => out.push(tag::NIL),
        Term::List(elements) => match string_length(elements) {
            Some(count) => {
                out.push(tag::STRING);
                out.extend(count.to_be_bytes());
                out.extend(elements.iter().filter_map(byte));
            }
            None => {
                write_list_head(elements.len(), out)?;
                tasks.push(EncodeTask::Nil);
                tasks.push(EncodeTask::Each(elements.iter()));
            }
        },
        Term::Improper(list) => {
            write_list_head(list.elements().len(), out)?;
            // The tail is the last element.
            tasks.push(EncodeTask::Each(list.0.iter()));
        }
        Term::Map(map) => {
            write_map_head(map.len(), out)?;
            tasks.push(EncodeTask::Each(map.0.pairs.iter()));
        }
        Term::Pid(pid) => write_pid(pid, out),
        Term::Port(port) => write_port(port, out),
        Term::Reference(reference) => write_reference(reference, out),
        Term::Export(export) => {
            out.push(tag::EXPORT);
            write_atom(export.module.as_str(), out);
            write_atom(export.function.as_str(), out);
            out.extend([tag::SMALL_INTEGER, export.arity]);
        }
        Term::Fun(fun) => {
            tasks.push(EncodeTask::FunSize { at: out.len() + 1 });
            write_fun_head(fun, out)?;
            tasks.push(EncodeTask::Each(fun.free.iter()));
        }
        Term::Record(record) => {
            out.push(tag::NATIVE_RECORD);
            out.extend(length("a record", record.values().len())?);
            out.push(record.flags());
            let names = [record.module(), record.name()].into_iter().chain(record.fields());
            names.for_each(|name| write_atom(name.as_str(), out));
            tasks.push(EncodeTask::Each(record.values.iter()));
        }
    }
    Ok(())
}

/// Returns the byte that an element of a string represents.
fn byte(term: &Term) -> Option<u8> {
    match term {
        Term::Int(number) => u8::try_from(*number).ok(),
        _ => None,
    }
}

/// Returns the length of a list of bytes that is encoded as a string.
fn string_length(elements: &[Term]) -> Option<u16> {
    let count = u16::try_from(elements.len()).ok()?;
    elements.iter().all(|element| byte(element).is_some()).then_some(count)
}

/// Returns the length as four bytes.
fn length(what: &'static str, length: usize) -> Result<[u8; 4], EncodeError> {
    u32::try_from(length).map(u32::to_be_bytes).map_err(|_| EncodeError { what, length })
}

pub(crate) fn write_int(number: i64, out: &mut Vec<u8>) {
    if let Ok(byte) = u8::try_from(number) {
        out.extend([tag::SMALL_INTEGER, byte]);
    } else if let Ok(number) = i32::try_from(number) {
        let [a, b, c, d] = number.to_be_bytes();
        out.extend([tag::INTEGER, a, b, c, d]);
    } else {
        write_magnitude(number < 0, &number.unsigned_abs().to_le_bytes(), out);
    }
}

pub(crate) fn write_u64(number: u64, out: &mut Vec<u8>) {
    match i64::try_from(number) {
        Ok(number) => write_int(number, out),
        Err(_) => write_magnitude(false, &number.to_le_bytes(), out),
    }
}

/// Writes an integer beyond 32 bits, of at most 16 bytes, without leading zeros.
fn write_magnitude(negative: bool, magnitude: &[u8], out: &mut Vec<u8>) {
    let count = magnitude.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    out.extend([tag::SMALL_BIG, u8::try_from(count).unwrap_or(u8::MAX), u8::from(negative)]);
    out.extend(&magnitude[..count]);
}

pub(crate) fn write_big(number: &BigInt, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    if let Some(number) = number.to_i64() {
        write_int(number, out);
        return Ok(());
    }
    let magnitude = number.magnitude();
    match u8::try_from(magnitude.len()) {
        Ok(count) => out.extend([tag::SMALL_BIG, count]),
        Err(_) => {
            out.push(tag::LARGE_BIG);
            out.extend(length("an integer", magnitude.len())?);
        }
    }
    out.push(u8::from(number.is_negative()));
    out.extend(magnitude);
    Ok(())
}

/// Writes a finite float.
pub(crate) fn write_float(float: f64, out: &mut Vec<u8>) {
    out.push(tag::NEW_FLOAT);
    out.extend(float.to_be_bytes());
}

/// Writes the text of an atom: at most 255 characters, so at most 1 020 bytes.
pub(crate) fn write_atom(text: &str, out: &mut Vec<u8>) {
    write_atom_bytes(text.as_bytes(), out);
}

fn write_atom_bytes(text: &[u8], out: &mut Vec<u8>) {
    match u8::try_from(text.len()) {
        Ok(count) => out.extend([tag::SMALL_ATOM_UTF8, count]),
        Err(_) => {
            out.push(tag::ATOM_UTF8);
            out.extend(u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
        }
    }
    out.extend(text);
}

pub(crate) fn write_binary(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    out.push(tag::BINARY);
    out.extend(length("a binary", bytes.len())?);
    out.extend(bytes);
    Ok(())
}

pub(crate) fn write_tuple_head(count: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match u8::try_from(count) {
        Ok(count) => out.extend([tag::SMALL_TUPLE, count]),
        Err(_) => {
            out.push(tag::LARGE_TUPLE);
            out.extend(length("a tuple", count)?);
        }
    }
    Ok(())
}

pub(crate) fn write_list_head(count: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    out.push(tag::LIST);
    out.extend(length("a list", count)?);
    Ok(())
}

pub(crate) fn write_map_head(count: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    out.push(tag::MAP);
    out.extend(length("a map", count)?);
    Ok(())
}

pub(crate) fn write_pid(pid: &ExternalPid, out: &mut Vec<u8>) {
    out.push(tag::NEW_PID);
    write_atom(pid.node.as_str(), out);
    [pid.id, pid.serial, pid.creation].iter().for_each(|word| out.extend(word.to_be_bytes()));
}

fn write_port(port: &Port, out: &mut Vec<u8>) {
    /// Ports from here on exceed the range of nodes before OTP 24.
    const LARGE: u64 = 1 << 28;
    let small = u32::try_from(port.id).ok().filter(|_| port.id < LARGE);
    out.push(if small.is_some() { tag::NEW_PORT } else { tag::V4_PORT });
    write_atom(port.node.as_str(), out);
    match small {
        Some(id) => out.extend(id.to_be_bytes()),
        None => out.extend(port.id.to_be_bytes()),
    }
    out.extend(port.creation.to_be_bytes());
}

pub(crate) fn write_reference(reference: &Reference, out: &mut Vec<u8>) {
    out.push(tag::NEWER_REFERENCE);
    let words = reference.words();
    out.extend(u16::try_from(words.len()).unwrap_or_default().to_be_bytes());
    write_atom(reference.node().as_str(), out);
    out.extend(reference.creation().to_be_bytes());
    words.iter().for_each(|word| out.extend(word.to_be_bytes()));
}

fn write_fun_head(fun: &Fun, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    out.push(tag::NEW_FUN);
    // The size is filled in at the end.
    out.extend([0; 4]);
    out.push(fun.arity);
    out.extend(fun.uniq);
    out.extend(fun.index.to_be_bytes());
    out.extend(length("the free variables of a fun", fun.free.len())?);
    write_atom(fun.module.as_str(), out);
    write_int(fun.old_index, out);
    write_int(fun.old_uniq, out);
    write_pid(&fun.pid, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(term: &Term) -> Vec<u8> {
        let mut out = Vec::new();
        term.write(&mut out).unwrap();
        out
    }

    #[test]
    fn zterm8_only_proper_lists_of_at_most_65535_bytes_are_strings() {
        let list = |numbers: &[i64]| Term::list(numbers.iter().copied().map(Term::Int));
        assert_eq!(written(&list(&[-1, -2]))[0], tag::LIST);
        assert_eq!(written(&list(&[255, 256]))[0], tag::LIST);
        assert_eq!(written(&list(&[0, 255])), [107, 0, 2, 0, 255]);
        assert_eq!(written(&list(&vec![7; 65_535]))[0], tag::STRING);
        assert_eq!(written(&list(&vec![7; 65_536]))[0], tag::LIST);
        let improper = Term::list_with_tail([Term::Int(1)], Term::Int(2));
        assert_eq!(written(&improper), [108, 0, 0, 0, 1, 97, 1, 97, 2]);
    }

    #[test]
    fn integers_have_their_shortest_form() {
        assert_eq!(written(&Term::Int(255)), [97, 255]);
        assert_eq!(written(&Term::Int(-1)), [98, 255, 255, 255, 255]);
        assert_eq!(written(&Term::Int(1 << 31)), [110, 4, 0, 0, 0, 0, 128]);
        assert_eq!(written(&Term::Int(i64::MIN)), [110, 8, 1, 0, 0, 0, 0, 0, 0, 0, 128]);
        let mut out = Vec::new();
        write_u64(u64::MAX, &mut out);
        assert_eq!(out, [&[110, 8, 0][..], &[255; 8]].concat());
    }
}
