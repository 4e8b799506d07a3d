//! The parts of a target as text: `%` and two hexadecimal digits are a byte. Pure.

/// Decodes a part of a target. The error says what it has that no text has.
pub(crate) fn text_of(part: &str, query: bool) -> Result<String, &'static str> {
    let bytes = decoded(part.as_bytes(), query);
    let bytes = bytes.ok_or("has a % without two hexadecimal digits behind it")?;
    String::from_utf8(bytes).map_err(|_| "is no UTF-8 when it is decoded")
}

/// Decodes `%` and two digits, in a query also `+`. `None`: a `%` without two digits.
pub(crate) fn decoded(text: &[u8], query: bool) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter().copied();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                u8::try_from(high * 16 + low).ok()?
            }
            b'+' if query => b' ',
            byte => byte,
        });
    }
    Some(bytes)
}
