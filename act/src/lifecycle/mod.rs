//! The life of a process from spawn to end, and the work that it starts outside its turns.

pub(crate) mod block;
pub(crate) mod cleaners;
pub(crate) mod in_place;
pub(crate) mod next_turn;
pub(crate) mod owned_tasks;
pub(crate) mod pipe;
pub(crate) mod pipe_outcome;
pub(crate) mod restartable;
pub(crate) mod spawn;
pub(crate) mod stop;
