//! Terms as text: the format of Erlang on one line, with Unicode as the printable range.
//!
//! The text is that of `io_lib:format("~0tp", [Term])` under `erl +pc unicode`, except for
//! identities. Erlang prints the node of a pid as a number of its own table, which a term does
//! not contain. Here the node is printed by name: `<shop@host.66.0>`, `#Ref<shop@host.1.2.3>`
//! (words in Erlang's order, the most significant first), `#Port<shop@host.5>`.

use super::atom::Atom;
use super::float::Float;
use super::identity::{ExternalPid, Port, Reference};
use super::term::{Export, Fun, Map, Record, Term};
use std::fmt::{self, Display, Formatter, Write};
use std::slice::Iter;

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut tasks = vec![PrintTask::Term(self)];
        while let Some(task) = tasks.pop() {
            match task {
                PrintTask::Term(term) => head(term, f, &mut tasks)?,
                PrintTask::Text(text) => f.write_str(text)?,
                PrintTask::Each(mut terms, between) => {
                    if let Some(term) = terms.next() {
                        f.write_str(between)?;
                        tasks.push(PrintTask::Each(terms, ","));
                        tasks.push(PrintTask::Term(term));
                    }
                }
                PrintTask::Pairs(map, at) => {
                    if let Some((key, value)) = map.sorted_pair(at) {
                        let between = if at == 0 { "" } else { "," };
                        f.write_str(between)?;
                        tasks.push(PrintTask::Pairs(map, at + 1));
                        tasks.extend([
                            PrintTask::Term(value),
                            PrintTask::Text(" => "),
                            PrintTask::Term(key),
                        ]);
                    }
                }
                PrintTask::Fields(record, at) => {
                    if let (Some(name), Some(value)) =
                        (record.fields().get(at), record.values().get(at))
                    {
                        let between = if at == 0 { "" } else { "," };
                        write!(f, "{between}{name} = ")?;
                        tasks.push(PrintTask::Fields(record, at + 1));
                        tasks.push(PrintTask::Term(value));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Pending work; the next item is the last.
enum PrintTask<'a> {
    Term(&'a Term),
    Text(&'static str),
    /// Terms, and the separator before the next one.
    Each(Iter<'a, Term>, &'static str),
    Pairs(&'a Map, usize),
    Fields(&'a Record, usize),
}

fn head<'a>(term: &'a Term, f: &mut Formatter<'_>, tasks: &mut Vec<PrintTask<'a>>) -> fmt::Result {
    match term {
        Term::Int(number) => write!(f, "{number}"),
        Term::Big(number) => write!(f, "{number}"),
        Term::Float(float) => write!(f, "{float}"),
        Term::Atom(atom) => write!(f, "{atom}"),
        Term::Binary(bytes) => binary(bytes, f),
        Term::Bits(bits) => {
            let (last, bytes) = bits.bytes().split_last().unwrap_or((&0, &[]));
            f.write_str("<<")?;
            bytes.iter().try_for_each(|byte| write!(f, "{byte},"))?;
            let count = bits.last_bits();
            write!(f, "{}:{count}>>", last >> (8 - count))
        }
        Term::Tuple(elements) => {
            tasks.extend([PrintTask::Text("}"), PrintTask::Each(elements.iter(), "")]);
            f.write_str("{")
        }
        Term::List(elements) if is_text(elements) => {
            quoted(elements.iter().filter_map(character), '"', f)
        }
        Term::List(elements) => {
            tasks.extend([PrintTask::Text("]"), PrintTask::Each(elements.iter(), "")]);
            f.write_str("[")
        }
        Term::Improper(list) => {
            tasks.extend([
                PrintTask::Text("]"),
                PrintTask::Term(list.tail()),
                PrintTask::Text("|"),
            ]);
            tasks.push(PrintTask::Each(list.elements().iter(), ""));
            f.write_str("[")
        }
        Term::Map(map) => {
            tasks.extend([PrintTask::Text("}"), PrintTask::Pairs(map, 0)]);
            f.write_str("#{")
        }
        Term::Pid(pid) => write!(f, "{pid}"),
        Term::Port(port) => write!(f, "{port}"),
        Term::Reference(reference) => write!(f, "{reference}"),
        Term::Export(export) => write!(f, "{export}"),
        Term::Fun(fun) => write!(f, "{fun}"),
        Term::Record(record) => {
            tasks.extend([PrintTask::Text("}"), PrintTask::Fields(record, 0)]);
            write!(f, "#{}:{}{{", record.module(), record.name())
        }
    }
}

impl fmt::Debug for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

/// Quoted if Erlang requires quotes.
impl Display for Atom {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if is_bare(self.as_str()) {
            f.write_str(self.as_str())
        } else {
            quoted(self.as_str().chars(), '\'', f)
        }
    }
}

/// The shortest text that is parsed as the same float, with an exponent if that is
/// shorter, and always from 2^53 on.
impl Display for Float {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let value = self.value();
        let (decimal, mut scientific) = (format!("{value:?}"), format!("{value:e}"));
        if !scientific.contains('.') {
            scientific = scientific.replace('e', ".0e");
        }
        // `{:?}` itself uses an exponent for very large and very small values, for which
        // it is shorter anyway.
        let is_decimal = !decimal.contains('e') && decimal.len() <= scientific.len();
        let text = if is_decimal && value.abs() < EXACT { decimal } else { scientific };
        f.write_str(if value == 0.0 {
            if value.is_sign_negative() { "-0.0" } else { "0.0" }
        } else {
            &text
        })
    }
}

/// `<node.id.serial>`
impl Display for ExternalPid {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("<")?;
        escaped(&self.node, f)?;
        write!(f, ".{}.{}>", self.id, self.serial)
    }
}

/// `#Port<node.id>`
impl Display for Port {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("#Port<")?;
        escaped(&self.node, f)?;
        write!(f, ".{}>", self.id)
    }
}

/// `#Ref<node.words>`
impl Display for Reference {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("#Ref<")?;
        escaped(self.node(), f)?;
        self.words().iter().rev().try_for_each(|word| write!(f, ".{word}"))?;
        f.write_str(">")
    }
}

/// `fun module:function/arity`
impl Display for Export {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "fun {}:{}/{}", self.module, self.function, self.arity)
    }
}

/// `#Fun<module.old_index.old_uniq>`
impl Display for Fun {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("#Fun<")?;
        escaped(&self.module, f)?;
        write!(f, ".{}.{}>", self.old_index, self.old_uniq)
    }
}

macro_rules! debug_as_display {
    ($($named:ty),*) => {
        $(impl fmt::Debug for $named {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                Display::fmt(self, f)
            }
        })*
    };
}

debug_as_display!(ExternalPid, Port, Reference, Export, Fun);

/// Whether an atom is printed without quotes.
fn is_bare(text: &str) -> bool {
    // The letters of Latin-1. Erlang's scanner accepts no other letters.
    let lower = |c: char| c.is_ascii_lowercase() || ('ß'..='ÿ').contains(&c) && c != '÷';
    let upper = |c: char| c.is_ascii_uppercase() || ('À'..='Þ').contains(&c) && c != '×';
    let inner = |c: char| lower(c) || upper(c) || c.is_ascii_digit() || c == '_' || c == '@';
    text.starts_with(lower) && text.chars().all(inner) && !RESERVED.contains(&text)
}

const RESERVED: [&str; 26] = [
    "after", "and", "andalso", "band", "begin", "bnot", "bor", "bsl", "bsr", "bxor", "case",
    "catch", "div", "end", "fun", "if", "not", "of", "or", "orelse", "receive", "rem", "try",
    "when", "xor", "cond",
];

/// Whether this is a list of printable characters. `[]` is not one.
fn is_text(elements: &[Term]) -> bool {
    !elements.is_empty() && elements.iter().all(|term| character(term).is_some_and(is_printable))
}

fn character(term: &Term) -> Option<char> {
    match term {
        Term::Int(number) => char::from_u32(u32::try_from(*number).ok()?),
        _ => None,
    }
}

fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
        || matches!(c, '\n' | '\r' | '\t' | '\u{b}' | '\u{8}' | '\u{c}' | '\u{1b}')
}

fn binary(bytes: &[u8], f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str("<<")?;
    let printable = |text: &str| text.chars().all(is_printable);
    let latin1 = || bytes.iter().map(|&byte| char::from(byte));
    match str::from_utf8(bytes) {
        Ok("") => {}
        Ok(text) if printable(text) => {
            quoted(text.chars(), '"', f)?;
            f.write_str(if text.is_ascii() { "" } else { "/utf8" })?;
        }
        _ if latin1().all(is_printable) => quoted(latin1(), '"', f)?,
        _ => {
            for (at, byte) in bytes.iter().enumerate() {
                write!(f, "{}{byte}", if at == 0 { "" } else { "," })?;
            }
        }
    }
    f.write_str(">>")
}

fn quoted(text: impl Iterator<Item = char>, quote: char, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_char(quote)?;
    for c in text {
        if c == quote {
            f.write_char('\\')?;
            f.write_char(c)?;
        } else {
            character_escaped(c, f)?;
        }
    }
    f.write_char(quote)
}

/// Writes the name of a node or a module without quotes. A peer chooses it, so it is escaped as
/// in quotes: no text of a term contains a control character.
fn escaped(name: &Atom, f: &mut Formatter<'_>) -> fmt::Result {
    name.as_str().chars().try_for_each(|c| character_escaped(c, f))
}

fn character_escaped(c: char, f: &mut Formatter<'_>) -> fmt::Result {
    match c {
        '\\' => f.write_str("\\\\")?,
        '\n' => f.write_str("\\n")?,
        '\r' => f.write_str("\\r")?,
        '\t' => f.write_str("\\t")?,
        '\u{b}' => f.write_str("\\v")?,
        '\u{8}' => f.write_str("\\b")?,
        '\u{c}' => f.write_str("\\f")?,
        '\u{1b}' => f.write_str("\\e")?,
        '\u{7f}' => f.write_str("\\d")?,
        '\0'..='\u{1f}' | '\u{80}'..='\u{9f}' => write!(f, "\\{:03o}", u32::from(c))?,
        c => f.write_char(c)?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_print_the_name_of_their_node() {
        let node = Atom::fixed("shop@host");
        let pid = ExternalPid { node: node.clone(), id: 66, serial: 1, creation: 4 };
        assert_eq!(Term::from(pid).to_string(), "<shop@host.66.1>");
        let reference = Reference::new(node.clone(), 4, &[1, 2, 3]).unwrap();
        assert_eq!(Term::from(reference).to_string(), "#Ref<shop@host.3.2.1>");
        assert_eq!(Term::from(Port { node, creation: 4, id: 5 }).to_string(), "#Port<shop@host.5>");
    }

    #[test]
    fn no_name_that_a_peer_chooses_prints_control_characters() {
        let node = Atom::fixed("a\n\u{1b}[2J@b\u{7f}\u{85}\0");
        let text = "a\\n\\e[2J@b\\d\\205\\000";
        let pid = ExternalPid { node: node.clone(), id: 1, serial: 2, creation: 4 };
        assert_eq!(pid.to_string(), format!("<{text}.1.2>"));
        let reference = Reference::new(node.clone(), 4, &[1]).unwrap();
        assert_eq!(reference.to_string(), format!("#Ref<{text}.1>"));
        let port = Port { node: node.clone(), creation: 4, id: 5 };
        assert_eq!(port.to_string(), format!("#Port<{text}.5>"));
        let (module, free) = (node, super::super::term::Elements::default());
        let (arity, uniq, index, old_index, old_uniq) = (0, [0; 16], 0, 1, 2);
        let fun = Fun { arity, uniq, index, module, old_index, old_uniq, pid, free };
        assert_eq!(fun.to_string(), format!("#Fun<{text}.1.2>"));
    }

    #[test]
    fn a_native_record_prints_its_fields() {
        let (module, name) = (Atom::fixed("shop"), Atom::fixed("Item"));
        let fields = [Atom::fixed("id"), Atom::fixed("price")];
        let values = vec![Term::Int(1), Term::nil()];
        let record = Record::new(0, module, name, fields, values).unwrap();
        let term = Term::Record(std::sync::Arc::new(record));
        assert_eq!(term.to_string(), "#shop:'Item'{id = 1,price = []}");
    }
}
