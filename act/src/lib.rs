//! The actor model of the Krarup node.
//!
//! A process is one future with a mailbox. [`Behavior`] is the bare process: an async function
//! over a [`Context`] from which it receives. [`Actor`] and [`Pool`] are behaviours that use
//! nothing but the public interface. Processes are reached through typed [`Address`]es. They
//! request answers from each other with [`Call`]s, which are answered with [`Reply`] tokens.
//! Links and monitors notify a process of the end of another.
//!
//! This crate knows the node it runs in only as a [`Host`].

// Only `process/turn/locked_life.rs` allows it.
#![deny(unsafe_code)]
// docs.rs marks what needs a feature.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod actor;
mod addressing;
mod agent;
mod behavior;
mod calls;
mod cold_box;
mod context;
mod groups;
mod host;
mod in_transit;
mod lifecycle;
mod local_behavior;
mod lock;
mod made_by;
mod mailbox;
mod memberships;
#[cfg(test)]
mod models;
mod names;
mod observe;
mod polling;
mod pool;
mod process;
mod received;
mod registry;
mod same_type;
mod serving;
mod settle_lock;
mod slots;
mod sync;
mod tasks;
mod topics;
mod traces;

pub use actor::{Actor, ActorEnd};
pub use addressing::address::Address;
pub use addressing::dynamic::Dynamic;
pub use addressing::lookup::{address_of, lookup, send_dynamic};
pub use addressing::recipient::Recipient;
pub use addressing::recipient_wait::RecipientSendOrWait;
pub use addressing::reserve_or_wait::ReserveOrWait;
pub use addressing::route::{RoomFuture, Route};
pub use addressing::send_or_wait::SendOrWait;
pub use agent::{Agent, AgentAddress, AgentMessage};
pub use behavior::{Behavior, BehaviorFn, behavior_fn};
pub use calls::call::{Call, CallFuture};
#[cfg(feature = "serde")]
pub use calls::carried::{Answerer, CarriedTokens, LentReply, MessageKind, NoMessage, claim, lend};
pub use calls::deadline::{DEFAULT_CALL_TIMEOUT, Sleep, within};
pub use calls::dropped_calls::DroppedCalls;
pub use calls::node_clock::NodeClock;
pub use calls::pending::{Pending, current_pid, is_in_process};
pub use calls::permit_call::PermitCall;
pub use calls::recipient_call::RecipientCall;
pub use calls::reply::Reply;
pub use context::{
    BehaviorContext, Context, ExpiredMessage, HeldMessage, NextMessage, OwnProcess, Receive,
    ReceiveWhere,
};
pub use groups::group_watch::GroupWatch;
pub use groups::groups::Groups;
pub use groups::remote_member::{MakeRecipient, RecipientMaker};
pub use groups::table_topics::GroupMembers;
pub use groups::table_watch::GroupsWatch;
pub use host::delegate::{Delegate, UnusedPid};
pub use host::host::{
    Alarm, Host, Poke, ProcessEnd, Sending, SimulatedLink, Stalled, TableCursor, TimerKey,
    TimerProcess,
};
pub use host::network::Network;
pub use host::ready::{Ready, TurnLimits};
pub use host::shared_host_slot::SharedHostSlot;
pub use host::simulated_network::{NetworkEvent, NetworkFault, SimulatedEvents, SimulatedNetwork};
pub use host::worker_slot::WorkerSlot;
pub use lifecycle::block::Block;
pub use lifecycle::cleaners::Ended;
pub use lifecycle::in_place::{
    DefaultIntensity, InPlace, InPlaceError, RestartPolicy, StateFailure, yield_now,
};
pub use lifecycle::next_turn::next_turn;
pub use lifecycle::restartable::Restartable;
pub use lifecycle::spawn::{AddressOf, Inside, KILL_GRACE, Outside, Spawn};
pub use lifecycle::stop::Stop;
pub use local_behavior::{LocalBehaviorFn, local_behavior_fn};
#[cfg(not(all(test, loom)))]
pub use lock::{Lock, LockGuard};
pub use made_by::{MadeBy, made_by};
pub use mailbox::muted_senders::MutedSender;
pub use mailbox::order::Order;
pub use mailbox::overflow::{Divert, Diverted, Overflow};
pub use mailbox::permit::Permit;
pub use memberships::records::{Membership, Memberships};
pub use names::name_scope::{InNameScope, NameScope};
pub use names::name_wait::LookupOrWait;
pub use names::name_waits::NameWaits;
pub use names::named_address::NamedAddress;
pub use names::named_call::NamedCall;
pub use names::retry::Retry;
pub use observe::debug::{ShownState, state, state_text, suspend};
pub use observe::inspect::{inspect, inspect_items};
pub use observe::inspect_request::InspectRequest;
pub use observe::manage::manage;
pub use observe::manage_request::ManageRequest;
pub use observe::records::{NodeRecords, RecordRing};
pub use observe::report_log::{ReportListener, ReportLog};
pub use observe::report_rate::ReportRate;
pub use observe::state_labels::StateLabels;
pub use observe::subscription::{EventTopic, Subscription, Tell};
pub use observe::supervision_log::SupervisionLog;
pub use observe::trace::Traced;
pub use observe::trace_reader::{TraceReader, trace_process};
pub use observe::trace_ring::TraceRing;
pub use observe::turn_recorder::{TurnRecorder, TurnRecording};
pub use observe::view::NodeView;
pub use observe::walk::Walk;
pub use observe::watch::{Watch, watch};
pub use observe::watched_job::Discarded;
pub use polling::poller::{Poller, install_poller, poller, remove_poller, wake_polled};
pub use polling::shared_wait::{Selection, SharedWait};
pub use pool::behavior::{Plain, PoolBehavior, PoolContext};
pub use pool::command::PoolCommand;
pub use pool::drain::Drain;
pub use pool::elastic::Elastic;
pub use pool::pool::Pool;
pub use pool::rate::Rate;
pub use pool::resize::{PoolState, ResizeError, Resized};
pub use pool::routing::{
    Broadcast, ByKey, Choice, LeastLoaded, RoundRobin, Routing, TwoChoices, Workers,
};
pub use pool::settings::PoolError;
pub use pool::statistics::PoolStatistics;
pub use process::contained::{Contained, contain_inline};
pub use process::crash::{contain, contain_quietly, drop_one_by_one, first_failure};
pub use process::current::note_receiver;
pub use process::deferred::{holding, when_free};
pub use process::locked_relations::LockedRelations;
pub use process::outside::{drop_refused, from_outside};
pub use process::panics::note_panic_locations;
pub use process::process::{Guarded, Process, Put, Via};
#[cfg(feature = "serde")]
pub use process::remote::{MessageRoom, RemoteRoom, WrittenMessage};
pub use process::remote::{NotWritten, Remote};
pub use process::remote_bonds::{
    demonitor_from, down_from, exit_from, is_bound, link_from, lose, monitor_from, unlink_from,
};
pub use received::{Delivery, Received};
pub use registry::key_call::KeyCall;
pub use registry::registry::Registry;
pub use tasks::many::SpawnTasks;
pub use tasks::results::{AllResults, TaskResults};
pub use tasks::spawn_task::{SpawnTask, TaskFuture};
pub use tasks::task::Task;
pub use topics::audience::Audience;
pub use topics::node_topic::NodeTopic;
pub use topics::open::OpenTopic;
pub use topics::publish_or_wait::{PublishOrWait, Publishing};
pub use topics::publisher::{Published, Publisher};
pub use topics::settling::Settling;
pub use topics::subscribe::{Numbered, Subscribe, SubscriptionState};
pub use topics::subscription_options::WhenFull;
pub use topics::table::{TopicInfo, TopicTable};
pub use topics::topic::{Topic, TopicSubscriber};
pub use traces::aside::AsideTrace;
pub use traces::enter::outside_traces;
pub use traces::held::HeldTrace;
pub use traces::propagation::{Propagation, SpanTies, TraceSampler, TraceSamplerError};
pub use traces::trace_context::{TraceContext, TraceParentError};
