//! The message of all workloads that only send.

/// What the actors of the fire-and-forget workloads send each other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BenchMessage {
    /// Begin, or go on after an own turn.
    Start,
    /// A number, and the place of its sender among the workload's actors.
    Value { from: u32, number: u64 },
}

const _: () = assert!(size_of::<BenchMessage>() == 16, "the workloads' messages have 16 bytes");
