//! A network between the nodes of a simulation, in place of sockets.
//!
//! ```text
//!  node a@sim                        SimNetwork                         node b@sim
//!  connection process ─ WireEnd ══ flight │ arrived ══ WireEnd ─ connection process
//!                                    ▲
//!                                    └ events of the simulation: the seed says when and how much
//! ```
//!
//! A [`WireEnd`](wires::WireEnd) is a [`Transport`](krarup_io::Transport) of `io`: from the first
//! byte on, the code of a connection is that of one over sockets (rule Zsim2). What TCP promises
//! holds here, and no more: the bytes of a direction arrive in order and once, in pieces that the
//! seed chooses; an end of the stream comes behind them; a reset loses what was on its way,
//! from a point on that the seed chooses.
//!
//! Every arrival is an event of the simulation. So it may come before or after any turn that
//! could run at the same time, and each is a step of the trace. While two nodes are cut off from
//! each other nothing arrives between them, neither bytes nor dials nor resets; when they are
//! not any more, what was held up goes on, as TCP's repetitions would.
//!
//! | file | what |
//! |---|---|
//! | `pipe` | one direction of one connection; decides nothing by itself |
//! | `cuts` | which nodes are cut off from each other |
//! | `wires`, `wire_events` | the connections, and what happens to them |
//! | `stream` | the end of a connection as a transport |
//! | `listener` | the process that accepts connections |
//! | `network` | what a test does with all that |

mod cuts;
pub(crate) mod listener;
pub(crate) mod network;
mod pipe;
mod stream;
mod wire_events;
pub(crate) mod wires;
