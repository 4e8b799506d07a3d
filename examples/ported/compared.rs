//! What a port has printed beside what its original has printed.

/// The lines that differ: their numbers, the original's, and the port's.
pub(crate) fn differences<'a>(original: &'a str, port: &'a str) -> Vec<(usize, &'a str, &'a str)> {
    assert_eq!(port.lines().count(), original.lines().count());
    let both = (1..).zip(original.lines().zip(port.lines()));
    both.map(|(line, (original, port))| (line, original, port))
        .filter(|(_, original, port)| original != port)
        .collect()
}
