//! Topics: publishing to any number of subscribers (rules E1 to E14).
//!
//! ```text
//!   publishers, on any thread               TopicCore, one lock                 subscribers
//!
//!   publish(event) ────────────►  ┌────────────────────────────────┐
//!                                 │ hearers, by pid ───────────────┼──► its queue: 9 8 7
//!   publish_or_wait(event) ──┐    │   (one entry for each process) │    its mailbox: a ticket for
//!                            │    │                                │    each event that waits
//!        line of waiting ◄───┘    │ kept:  9 8 7 6 5               │
//!                                 │ audience: tells the opener     │──► the same, at another
//!                                 │ ended?                         │
//!                                 └────────────────────────────────┘
//!                                       ▲                  ▲
//!           the table of the node ──────┘                  └────── the opener's OwnTopics: its end
//!           (by name, by reference)                                ends the topic
//! ```
//!
//! - **One step.** A publication, a subscription, a departure and the end of the topic each happen
//!   under the lock of the topic. So every subscriber hears the events in one order, a subscription
//!   lies between two events (E2), and the notice of the end lies behind all of them (E6).
//! - **No user code under a lock.** An event is shared as an `Arc`. It is cloned and made a message
//!   when its subscriber takes it (E8). What is left to do after an operation, with executors,
//!   wakers and destructors, is carried out when the topic is unlocked ([`hearer`]).
//! - **Untaken events** wait in a queue of the subscription, and its mailbox holds a ticket for each
//!   ([`subscription`], [`event_ticket`]). So they count exactly, for this subscription and not for
//!   the bound of the mailbox (E7).
//! - **Ends.** A cleaner of each process that uses topics runs in its last turn, before anybody is
//!   told of the end ([`own_topics`]). It leaves all topics (E4) and ends the topics that the
//!   process has opened (E6).
//! - **Other nodes.** A topic knows its subscribers as [`hearer::Hearer`]s. One for all subscribers
//!   of another node can stand among them (E14).

pub(crate) mod audience;
pub(crate) mod direct;
pub(crate) mod event_ticket;
pub(crate) mod hearer;
pub(crate) mod missed_log;
pub(crate) mod node_topic;
pub(crate) mod open;
pub(crate) mod own_topics;
pub(crate) mod publish_or_wait;
pub(crate) mod publisher;
pub(crate) mod settling;
pub(crate) mod subscribe;
pub(crate) mod subscription;
pub(crate) mod table;
pub(crate) mod topic;
pub(crate) mod topic_core;
pub(crate) mod waiting_publishers;
