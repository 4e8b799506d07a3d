//! Mailboxes.
//!
//! | module | subject |
//! |---|---|
//! | [`inbox`], [`inbox_core`] | the parts of a mailbox; those that know no type of message |
//! | [`entry`], [`control_entry`] | the entries of Main; those of the control lanes |
//! | [`cold`] | the parts that most mailboxes never need |
//! | [`push`], [`take`] | entries are put in, and taken out |
//! | [`parking`], [`park_marks`] | the process is parked, and taken out to be scheduled; what others have asked of it before |
//! | [`control_lanes`] | what goes before the next message |
//! | [`order`], [`overtake`] | another order of the messages; late messages of a simulation |
//! | [`capacity`], [`permit`] | how room is granted, and how it is kept |
//! | [`waiting_senders`] | the senders that wait for room |
//! | [`overflow`] | what a full mailbox does |
//! | [`muted_senders`] | the senders that wait until the receiver has caught up |
//! | [`drain`] | what is left when the process ends |

pub(crate) mod capacity;
pub(crate) mod cold;
pub(crate) mod control_entry;
mod control_lanes;
pub(crate) mod drain;
pub(crate) mod entry;
pub(crate) mod inbox;
pub(crate) mod inbox_core;
pub(crate) mod muted_senders;
pub(crate) mod order;
pub(crate) mod overflow;
mod overtake;
pub(crate) mod park_marks;
mod parking;
pub(crate) mod permit;
pub(crate) mod push;
pub(crate) mod take;
pub(crate) mod waiting_senders;
