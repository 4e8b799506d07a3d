//! Messages in a trace context: how a process begins the handling of one (`crate::traces`).

use super::context::Context;
use crate::host::host::Host;
use crate::observe::watched_job::InHand;
use crate::process::current::{self, CurrentContext};
use crate::process::untyped_cell::UntypedCell;
use crate::traces::aside::AsideTrace;
use crate::traces::carried::CarriedContext;
use crate::traces::open_span::{MessageFacts, OpenSpan};
use crate::traces::propagation::TraceSampler;
use crate::traces::trace_context::TraceContext;
use krarup_gen::{Lane, Pid};

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Sets where traces begin in this process, instead of the sampler of the node
    /// ([`Propagation`](crate::Propagation)). It is asked for each message that carries no context.
    pub fn set_sampler(&mut self, sampler: TraceSampler) {
        self.cold().sampler = Some(sampler);
        self.update_slow_path();
    }

    /// Takes the sampler of the node, unless the process has set its own. Runs once.
    #[inline]
    pub(super) fn take_sampler(&mut self) {
        if let Some(propagation) = self.cell.host.propagation()
            && !propagation.node_sampler().is_off()
            && self.cold.as_ref().is_none_or(|cold| cold.sampler.is_none())
        {
            let sampler = propagation.node_sampler().clone();
            self.set_sampler(sampler);
        }
    }

    /// Begins a trace at a message that carries no context, if the sampler says so.
    #[cold]
    pub(super) fn sample(&mut self, message: &'static str, lane: Lane) {
        if let Some(cold) = &self.cold
            && let Some(sampler) = &cold.sampler
            && let Some(carried) = sampled(&*self.cell.host, sampler, lane)
        {
            self.begin_traced(&carried, message);
        }
    }

    /// Begins the handling of a message in the context that it carries. It lasts until the
    /// process receives again, or ends.
    #[cold]
    pub(super) fn begin_traced(&mut self, carried: &CarriedContext, message: &'static str) {
        begin_span(self.cell.untyped(), self.sender(), carried, message);
        self.cold().job.get_or_insert(InHand::NOT_WATCHED);
        self.set_slow_path(true);
    }

    /// See [`BehaviorContext::keep_trace`](crate::BehaviorContext::keep_trace).
    #[inline]
    pub(crate) fn keep_trace(&self) -> Option<AsideTrace> {
        if !current::is_traced() {
            return None;
        }
        current::carry_aside(&*self.cell.host).map(AsideTrace)
    }

    /// See [`BehaviorContext::resume_trace`](crate::BehaviorContext::resume_trace).
    #[inline]
    pub(crate) fn resume_trace(&mut self, kept: Option<AsideTrace>, message: &'static str) {
        match kept {
            Some(AsideTrace(carried)) => self.begin_traced(&carried, message),
            None if current::is_traced() => current::end_handling(None),
            None => {}
        }
    }

    /// Begins the handling of a message that a timer has brought: a trace of its own, linked with
    /// the one in which the timer was set.
    #[cold]
    pub(super) fn begin_linked(&mut self, link: TraceContext, message: &'static str) {
        let carried = linked(&*self.cell.host, link);
        self.begin_traced(&carried, message);
    }
}

/// The context of a trace that begins at a message, if the sampler says so.
fn sampled(host: &dyn Host, sampler: &TraceSampler, lane: Lane) -> Option<CarriedContext> {
    let now = host.now();
    let random = || host.random();
    sampler.samples(random, now).then(|| {
        let ties = host.propagation().and_then(crate::Propagation::tied_to);
        CarriedContext { lane, ties, ..CarriedContext::root(now, &random) }
    })
}

/// The context of a trace that is linked with another one.
fn linked(host: &dyn Host, link: TraceContext) -> CarriedContext {
    let ties = host.propagation().and_then(crate::Propagation::tied_to);
    let carried = CarriedContext::below(link, true, host.now(), &|| host.random());
    CarriedContext { ties, ..carried }
}

/// Begins the span of a message, which has come from this process.
fn begin_span(
    cell: &dyn UntypedCell,
    from: Option<Pid>,
    carried: &CarriedContext,
    message: &'static str,
) {
    let destination = || {
        let name = cell.locked_relations().name().map(ToString::to_string);
        Some(name.unwrap_or_else(|| cell.label().to_string()))
    };
    let facts =
        MessageFacts { message, destination: &destination, to: Some(cell.cell_core().pid()), from };
    let (span, context) = OpenSpan::of_message(carried, &facts, cell.cell_core().host.now());
    current::begin_handling(CurrentContext::new(context, span));
}
