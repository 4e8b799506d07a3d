//! The pages of the guide: `docs/guide/*.md`.

#[doc = page!("docs/guide/applications.md")]
pub mod applications {}

#[doc = page!("docs/guide/batches.md")]
pub mod batches {}

#[doc = page!("docs/guide/calendars.md")]
pub mod calendars {}

#[doc = page!("docs/guide/calls.md")]
pub mod calls {}

#[doc = page!("docs/guide/cluster_simulation.md")]
pub mod cluster_simulation {}

#[doc = page!("docs/guide/clusters.md")]
pub mod clusters {}

#[doc = page!("docs/guide/dispatchers.md")]
pub mod dispatchers {}

#[doc = page!("docs/guide/failure.md")]
pub mod failure {}

#[doc = page!("docs/guide/functions.md")]
pub mod functions {}

#[doc = page!("docs/guide/grains.md")]
pub mod grains {}

#[doc = page!("docs/guide/groups.md")]
pub mod groups {}

#[doc = page!("docs/guide/looking_inside.md")]
pub mod looking_inside {}

#[doc = page!("docs/guide/mailbox_order.md")]
pub mod mailbox_order {}

#[doc = page!("docs/guide/messages.md")]
pub mod messages {}

#[doc = page!("docs/guide/named_services.md")]
pub mod named_services {}

#[doc = page!("docs/guide/pools.md")]
pub mod pools {}

#[doc = page!("docs/guide/restarts.md")]
pub mod restarts {}

#[doc = page!("docs/guide/sending.md")]
pub mod sending {}

#[doc = page!("docs/guide/sockets.md")]
pub mod sockets {}

#[doc = page!("docs/guide/state_actors.md")]
pub mod state_actors {}

#[doc = page!("docs/guide/state_machines.md")]
pub mod state_machines {}

#[doc = page!("docs/guide/step_processes.md")]
pub mod step_processes {}

#[doc = page!("docs/guide/stopping.md")]
pub mod stopping {}

#[doc = page!("docs/guide/tasks.md")]
pub mod tasks {}

#[doc = page!("docs/guide/testing.md")]
pub mod testing {}

#[doc = page!("docs/guide/time.md")]
pub mod time {}

#[doc = page!("docs/guide/topics.md")]
pub mod topics {}

#[doc = page!("docs/guide/watching.md")]
pub mod watching {}
