//! Terms that are written whatever they are: whoever is bound or waits is to be told something.

use krarup_wire::etf::{Term, WriteLimits};

/// Writes a term. One that the peer could not read is replaced by what `other` makes of the cause, which is small
/// (rule Zterm11).
pub(crate) fn written_or(term: &Term, other: impl FnOnce(Term) -> Term) -> Vec<u8> {
    let mut bytes = Vec::new();
    let written = term.write(&mut bytes).map_err(|error| error.to_string());
    let why = match written {
        Ok(()) => WriteLimits::DEFAULT.check(&bytes).map_err(|error| error.to_string()),
        error => error,
    };
    if let Err(why) = why {
        bytes.clear();
        let why = Term::binary(format!("the reason cannot be written: {why}"));
        // A text and what is around it are within every limit.
        let _ = other(Term::tuple([Term::atom("error"), why])).write(&mut bytes);
    }
    bytes
}
