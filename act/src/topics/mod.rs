//! Topics: publishing to any number of subscribers (rules E1 to E14).
//!
//! ```text
//!   publishers, on any thread               TopicCore, one lock                 subscribers
//!
//!   publish(event) ────────────►  ┌────────────────────────────────┐
//!         │                       │ hearers, by pid ───────────────┼──► with a limit, or numbered:
//!         │                       │   (one entry for each process) │    its queue: 9 8 7
//!   publish_or_wait(event) ──┐    │                                │    its mailbox: a ticket for
//!         │  line of waiting ◄    │ kept:  9 8 7 6 5               │    each event that waits
//!         │                       │ audience: tells the opener     │
//!         │                       │ in flight, ended?              │
//!         │                       └────────────────────────────────┘
//!         └───────── unlocked ────────────────────────────────────────► without: its mailbox,
//!                                                                       as messages
//!                                       ▲                  ▲
//!           the table of the node ──────┘                  └────── the opener's OwnTopics: its end
//!           (by name, by reference)                                ends the topic
//! ```
//!
//! - **One step.** A publication, a subscription and a departure each have their place under the
//!   lock of the topic. So a subscription lies between two events (E2). An end is marked there, and
//!   takes place when no publication is in flight: its notice lies behind all events (E6).
//! - **No user code under a lock.** For a queue an event is shared as an `Arc`, and is cloned and
//!   made a message when its subscriber takes it. For a mailbox its publisher clones it, when the
//!   topic is unlocked (E8, [`direct`], [`publishing`]). What is left to do after an operation, with
//!   executors, wakers and destructors, is carried out when the topic is unlocked ([`hearer`]).
//! - **Untaken events** with a limit wait in a queue of the subscription, and its mailbox holds a
//!   ticket for each ([`subscription`], [`event_ticket`]). Others wait in the mailbox. Both count
//!   exactly, for this subscription and not for the bound of the mailbox (E7).
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
pub(crate) mod publishing;
pub(crate) mod settling;
pub(crate) mod subscribe;
pub(crate) mod subscription;
pub(crate) mod subscription_options;
pub(crate) mod table;
pub(crate) mod topic;
pub(crate) mod topic_core;
pub(crate) mod waiting_publishers;
