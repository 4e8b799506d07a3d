//! What a message of another node is wrapped in: a call, a cast, a `sys` request, nothing.

use crate::calls::caller::RemoteCaller;
use krarup_wire::etf::Decoder;

/// What a message is wrapped in.
pub(super) enum Envelope {
    Call(RemoteCaller),
    Cast,
    System(RemoteCaller),
    Plain,
}

/// Reads the envelope of a message; what follows is the message. After [`Envelope::Plain`] the
/// decoder must be begun anew.
pub(super) fn envelope(decoder: &mut Decoder<'_>) -> Envelope {
    let Ok(Some(count)) = decoder.tuple() else { return Envelope::Plain };
    let mut is = |text| decoder.atom(text).unwrap_or_default();
    match count {
        2 if is("$gen_cast") => Envelope::Cast,
        3 if is("$gen_call") => match decoder.term().as_ref().map(RemoteCaller::from_term) {
            Ok(Some(caller)) => Envelope::Call(caller),
            _ => Envelope::Plain,
        },
        3 if is("system") => match decoder.term().as_ref().map(RemoteCaller::from_term) {
            Ok(Some(caller)) => Envelope::System(caller),
            _ => Envelope::Plain,
        },
        _ => Envelope::Plain,
    }
}
