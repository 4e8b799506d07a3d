//! The message of all workloads that only send messages.

/// The message between actors of the fire-and-forget workloads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BenchMessage {
    /// Begin, or continue after an own turn.
    Start,
    /// A number, and the index of its sender among the actors of the workload.
    Value { from: u32, number: u64 },
}

const _: () =
    assert!(size_of::<BenchMessage>() == 16, "the messages of the workloads have 16 bytes");
