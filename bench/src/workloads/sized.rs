//! `sized`: how the size of a message changes its cost.

use super::{WorkloadResult, share};
use crate::failure::WorkloadFailure;
use crate::latch::Latch;
use crate::measurement::Measurement;
use krarup::{Actor, Address, Context, Node, Result};

/// So many words, of which the first counts down.
struct Parcel<const WORDS: usize>([u64; WORDS]);

/// Returns each message to the other one.
struct ParcelActor<const WORDS: usize> {
    partner: Option<Address<ParcelMessage<WORDS>>>,
    done: Latch,
}

enum ParcelMessage<const WORDS: usize> {
    Partner(Address<ParcelMessage<WORDS>>),
    Parcel(Parcel<WORDS>),
}

impl<const WORDS: usize> Actor for ParcelActor<WORDS> {
    type Message = ParcelMessage<WORDS>;

    async fn handle_message(
        &mut self,
        _: &mut Context<ParcelMessage<WORDS>>,
        message: ParcelMessage<WORDS>,
    ) -> Result {
        match message {
            ParcelMessage::Partner(partner) => self.partner = Some(partner),
            ParcelMessage::Parcel(Parcel(mut words)) => {
                words[0] -= 1;
                match &self.partner {
                    Some(partner) if words[0] > 0 => {
                        partner.send(ParcelMessage::Parcel(Parcel(words)))?;
                    }
                    _ => self.done.count_down(),
                }
            }
        }
        Ok(())
    }
}

/// Two actors hand one message of `bytes` bytes back and forth.
pub(super) fn run(node: &Node, messages: u64, bytes: usize) -> WorkloadResult {
    match bytes {
        8 => carry::<1>(node, messages),
        16 => carry::<2>(node, messages),
        32 => carry::<4>(node, messages),
        64 => carry::<8>(node, messages),
        128 => carry::<16>(node, messages),
        256 => carry::<32>(node, messages),
        512 => carry::<64>(node, messages),
        1024 => carry::<128>(node, messages),
        other => Err(WorkloadFailure::Unsupported(format!("sized with {other} bytes"))),
    }
}

fn carry<const WORDS: usize>(node: &Node, messages: u64) -> WorkloadResult {
    share(messages, 1)?;
    let done = Latch::new(1);
    let spawn = || {
        let carrier = ParcelActor::<WORDS> { partner: None, done: done.clone() };
        node.spawn(move || carrier).start()
    };
    let (one, other) = (spawn()?, spawn()?);
    let send = |to: &Address<_>, message| to.send(message).map_err(|_| WorkloadFailure::Ended);
    send(&one, ParcelMessage::Partner(other.clone()))?;
    send(&other, ParcelMessage::Partner(one.clone()))?;
    let mut words = [0; WORDS];
    words[0] = messages;
    let took = done.time(|| send(&one, ParcelMessage::Parcel(Parcel(words))))?;
    Ok(Measurement::of("sized", messages, took))
}
