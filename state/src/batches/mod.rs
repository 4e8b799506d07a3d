//! Batches: items that are collected and handled together (rules U1 to U6).
//!
//! ```text
//!                 ┌──────────────────────── Batcher ───────────────────────┐
//!   item ──► mailbox ──► plan: a line of batches for each key              │
//!   (bound)    ▲  │       a: [■■■■][■■■■][■■  ]──┐ full, or its time has come, and the
//!              │  │       b: [■   ]              ├──► one before it is done ──► task, task, ..
//!              │  └─────────────────────────────┘                              │ at_once
//!              └── room: when the batch of the item is done ◄──────────────────┘
//! ```
//!
//! Every item holds its place in the mailbox until its batch is done. So the bound of the mailbox
//! is the bound of all that a batcher has, and a full one makes its senders wait.
//!
//! | module | subject |
//! |---|---|
//! | [`batcher`] | the behaviour and its settings |
//! | [`item`] | items, and what one does with the address |
//! | [`plan`] | the pure machine: which batch goes when |
//! | [`collecting`] | the loop around it |

mod batcher;
mod collecting;
mod item;
mod plan;

pub use batcher::{Batcher, BatcherError};
pub use item::{BatchItem, BatcherAddress, BatcherCalls, BatcherCommand};
