//! What a message of another node is wrapped in: a call, a cast, a `sys` request, nothing.

use crate::calls::caller::RemoteCaller;
use krarup_wire::etf::{Atom, Decoder};
use krarup_wire::peers::ConnectionId;

/// What a message is wrapped in.
pub(super) enum Envelope {
    Call(RemoteCaller),
    Cast,
    System(RemoteCaller),
    Plain,
}

/// Reads the envelope of a message; what follows is the message. After [`Envelope::Plain`] the
/// decoder must be begun anew. `node` is the one that has sent it, over `connection`.
pub(super) fn envelope(
    decoder: &mut Decoder<'_>,
    (node, connection): (&Atom, ConnectionId),
) -> Envelope {
    let Ok(Some(count)) = decoder.tuple() else { return Envelope::Plain };
    let caller = |from| RemoteCaller::from_term(&from).map(|it| it.over(node, connection));
    let mut is = |text| decoder.atom(text).unwrap_or_default();
    match count {
        2 if is("$gen_cast") => Envelope::Cast,
        3 if is("$gen_call") => match decoder.term().map(caller) {
            Ok(Some(caller)) => Envelope::Call(caller),
            _ => Envelope::Plain,
        },
        3 if is("system") => match decoder.term().map(caller) {
            Ok(Some(caller)) => Envelope::System(caller),
            _ => Envelope::Plain,
        },
        _ => Envelope::Plain,
    }
}
