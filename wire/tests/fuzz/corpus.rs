//! The recordings of OTP, and bytes of what OTP 25 does not write.

/// All short recordings: terms, frames, messages of handshakes and of epmd.
pub(crate) fn recorded() -> Vec<Vec<u8>> {
    let recordings = [
        include_str!("../golden/terms.txt"),
        include_str!("../golden/order.txt"),
        include_str!("../golden/frames.txt"),
        include_str!("../golden/handshake.txt"),
        include_str!("../golden/epmd.txt"),
        include_str!("../golden/controls.txt"),
    ];
    let mut corpus = Vec::new();
    for line in recordings.into_iter().flat_map(str::lines).filter(|line| !line.starts_with('#')) {
        let line = line.trim_start_matches(['<', '>', '=', ' ']);
        let digits: String = line.chars().take_while(char::is_ascii_hexdigit).collect();
        if digits.len().is_multiple_of(2) && digits.len() < 2_000 {
            let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
            corpus.push((0..digits.len()).step_by(2).map(byte).collect());
        }
    }
    // Native records, cached atoms, and atoms in Latin-1.
    corpus.push(vec![131, 67, 0, 0, 0, 1, 1, 119, 1, b'm', 119, 1, b'r', 119, 1, b'x', 97, 5]);
    corpus.push(vec![131, 104, 3, 82, 0, 82, 1, 115, 2, 0xe5, b'x']);
    corpus
}
