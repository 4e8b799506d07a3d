//! What a remote function prints: the texts in requests of Erlang's I/O protocol.

use krarup_wire::etf::{Elements, Term};
use std::fmt;

/// The most characters of one text.
const MOST_CHARACTERS: usize = 4_096;

/// The answer to a request, and the text that it prints.
pub(crate) fn request(request: &Term) -> (Term, String) {
    let mut text = String::new();
    let answer = one(request, &mut text);
    (answer, text)
}

fn one(request: &Term, text: &mut String) -> Term {
    let ok = || Term::atom("ok");
    let error = |why| Term::tuple([Term::atom("error"), Term::atom(why)]);
    let Term::Tuple(parts) = request else {
        return match request {
            Term::Atom(name) if *name == "getopts" => Term::nil(),
            _ => error("request"),
        };
    };
    let Some((Term::Atom(name), rest)) = parts.split_first() else { return error("request") };
    match (name.as_str(), rest) {
        ("put_chars", [Term::Atom(encoding), chars]) => {
            put(text, chars, *encoding == "latin1");
            ok()
        }
        ("put_chars", [chars]) => {
            put(text, chars, true);
            ok()
        }
        (
            "put_chars",
            [_, Term::Atom(module), Term::Atom(function), Term::List(arguments)]
            | [Term::Atom(module), Term::Atom(function), Term::List(arguments)],
        ) => {
            called(text, module.as_str(), function.as_str(), arguments);
            ok()
        }
        ("requests", [Term::List(requests)]) => {
            // As OTP's, which stops at the first error.
            let mut answer = ok();
            for request in requests {
                // What is not logged is not made.
                if is_full(text) {
                    break;
                }
                let is_nested = matches!(request, Term::Tuple(parts)
                    if matches!(parts.first(), Some(Term::Atom(name)) if *name == "requests"));
                answer = if is_nested { error("request") } else { one(request, text) };
                let is_error = matches!(&answer, Term::Tuple(parts)
                    if matches!(parts.first(), Some(Term::Atom(name)) if *name == "error"));
                if is_error {
                    break;
                }
            }
            answer
        }
        ("setopts", [_]) => ok(),
        // There is nothing to read.
        ("get_chars" | "get_line" | "get_until" | "get_password", _) => Term::atom("eof"),
        ("get_geometry", _) => error("enotsup"),
        _ => error("request"),
    }
}

fn is_full(text: &str) -> bool {
    text.len() >= 4 * MOST_CHARACTERS
}

/// Appends characters: a list of characters, binaries and lists.
fn put(text: &mut String, chars: &Term, latin1: bool) {
    let mut open = vec![chars];
    while let Some(next) = open.pop() {
        if is_full(text) {
            return;
        }
        match next {
            Term::Int(number) => {
                let character = u32::try_from(*number).ok().and_then(char::from_u32);
                text.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            Term::Binary(bytes) if latin1 => {
                text.extend(bytes.iter().take(MOST_CHARACTERS).map(|byte| char::from(*byte)));
            }
            Term::Binary(bytes) => {
                let start = bytes.get(..4 * MOST_CHARACTERS).unwrap_or(bytes);
                text.push_str(&String::from_utf8_lossy(start));
            }
            Term::List(elements) => open.extend(elements.iter().rev()),
            Term::Improper(list) => {
                open.push(list.tail());
                open.extend(list.elements().iter().rev());
            }
            other => shown(text, other),
        }
    }
}

/// Appends a term, as far as there is room.
fn shown(text: &mut String, term: &Term) {
    struct Bounded<'a>(&'a mut String);

    impl fmt::Write for Bounded<'_> {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            if is_full(self.0) {
                return Err(fmt::Error);
            }
            let mut end = part.len().min(4 * MOST_CHARACTERS);
            while !part.is_char_boundary(end) {
                end -= 1;
            }
            self.0.push_str(&part[..end]);
            Ok(())
        }
    }

    // An error is the end of the room.
    let _ = fmt::Write::write_fmt(&mut Bounded(text), format_args!("{term}"));
}

fn shown_alone(term: &Term) -> String {
    let mut text = String::new();
    shown(&mut text, term);
    text
}

/// Appends what a function of `io_lib` would make.
fn called(text: &mut String, module: &str, function: &str, arguments: &Elements) {
    if is_full(text) {
        return;
    }
    match (module, function, &arguments[..]) {
        ("io_lib", "format" | "fwrite", [format, Term::List(values)]) => {
            let mut pattern = String::new();
            put(&mut pattern, format, false);
            match formatted(&pattern, values) {
                Some(made) => text.push_str(&made),
                None => {
                    text.push_str(&pattern);
                    shown(text, &Term::List(values.clone()));
                }
            }
        }
        ("io_lib", "write" | "print", [term, ..]) => shown(text, term),
        _ => {
            text.push_str(function);
            shown(text, &Term::List(arguments.clone()));
        }
    }
}

/// `io_lib:format`; `None` if the pattern is not one, or has other arguments.
fn formatted(pattern: &str, values: &Elements) -> Option<String> {
    let (mut text, mut values) = (String::new(), values.iter());
    let mut rest = pattern.chars();
    while let Some(character) = rest.next() {
        if is_full(&text) {
            return Some(text);
        }
        if character != '~' {
            text.push(character);
            continue;
        }
        // ~F.P.PadModC
        let (mut width, mut precision, mut pad, mut field) = (None, None, ' ', 0);
        let mut is_left = false;
        let control = loop {
            match rest.next()? {
                '-' if field == 0 => is_left = true,
                '.' if field < 2 => {
                    field += 1;
                    if field == 2 {
                        pad = rest.next()?;
                    }
                }
                '*' => {
                    let Term::Int(number) = values.next()? else { return None };
                    let number = usize::try_from(*number).ok()?;
                    *(if field == 0 { &mut width } else { &mut precision }) = Some(number);
                }
                digit @ '0'..='9' => {
                    let number = if field == 0 { &mut width } else { &mut precision };
                    let digit = usize::try_from(digit.to_digit(10)?).ok()?;
                    *number = Some((number.unwrap_or(0) * 10 + digit).min(MOST_CHARACTERS));
                }
                't' | 'l' | 'k' | 'K' => {}
                control => break control,
            }
        };
        let made = match control {
            '~' => "~".to_owned(),
            'n' => "\n".repeat(width.unwrap_or(1).min(MOST_CHARACTERS)),
            'i' => {
                values.next()?;
                continue;
            }
            's' => {
                let mut made = String::new();
                match values.next()? {
                    Term::Atom(atom) => made.push_str(atom.as_str()),
                    chars => put(&mut made, chars, false),
                }
                made.chars().take(precision.unwrap_or(MOST_CHARACTERS)).collect()
            }
            'c' => {
                let mut made = String::new();
                put(&mut made, values.next()?, false);
                made
            }
            'P' | 'W' | 'x' | 'X' => {
                let made = shown_alone(values.next()?);
                values.next()?;
                made
            }
            'f' => match (values.next()?, precision) {
                (Term::Float(float), precision) => {
                    format!("{:.*}", precision.unwrap_or(6).min(250), float.value())
                }
                (other, _) => shown_alone(other),
            },
            'p' | 'w' | 'b' | 'B' | '#' | '+' | 'e' | 'g' => shown_alone(values.next()?),
            _ => return None,
        };
        let missing = width.filter(|_| control != 'n').unwrap_or(0).min(MOST_CHARACTERS);
        let missing = missing.saturating_sub(made.chars().count());
        let padding: String = std::iter::repeat_n(pad, missing).collect();
        if is_left {
            text.push_str(&made);
            text.push_str(&padding);
        } else {
            text.push_str(&padding);
            text.push_str(&made);
        }
    }
    values.next().is_none().then_some(text)
}

/// A text for a log: cut, and without characters that control a terminal.
pub(crate) fn logged(text: &str) -> String {
    let mut logged = String::new();
    for character in text.strip_suffix('\n').unwrap_or(text).chars().take(MOST_CHARACTERS) {
        if character.is_control() {
            logged.extend(character.escape_default());
        } else {
            logged.push(character);
        }
    }
    logged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zcall10_what_a_remote_function_prints_is_read_and_every_request_answered() {
        let chars = |text: &str| Term::list(text.bytes().map(|byte| Term::Int(byte.into())));
        let put = |name, rest: Vec<Term>| Term::tuple([Term::atom(name)].into_iter().chain(rest));
        let format = |pattern: &str, values: Vec<Term>| {
            let called = [Term::atom("unicode"), Term::atom("io_lib"), Term::atom("format")];
            let values = Term::list([chars(pattern), Term::list(values)]);
            put("put_chars", called.into_iter().chain([values]).collect())
        };
        let text = |request: &Term| super::request(request);
        let ok = |text: &str| (Term::atom("ok"), text.to_owned());
        assert_eq!(text(&put("put_chars", vec![Term::atom("unicode"), chars("hi")])), ok("hi"));
        assert_eq!(text(&format("~p is ~s~n", vec![Term::Int(7), chars("odd")])), ok("7 is odd\n"));
        assert_eq!(text(&format("~5w|~-3w|", vec![Term::Int(7), Term::Int(8)])), ok("    7|8  |"));
        assert_eq!(text(&format("~p", vec![])), ok("~p[]"));
        assert_eq!(text(&put("get_line", vec![chars(">")])).0, Term::atom("eof"));
        assert_eq!(text(&Term::Int(1)).0.to_string(), "{error,request}");
        assert_eq!(logged("a\u{1b}[2J\n"), "a\\u{1b}[2J");
    }
}
