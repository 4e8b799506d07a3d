//! Messages in a trace context: how a process begins the handling of one (`crate::traces`).

use super::context::Context;
use crate::observe::watched_job::InHand;
use crate::process::current::{self, CurrentContext};
use crate::traces::aside::AsideTrace;
use crate::traces::carried::CarriedContext;
use crate::traces::open_span::{MessageFacts, OpenSpan};
use crate::traces::propagation::TraceSampler;
use crate::traces::trace_context::TraceContext;
use krarup_gen::Lane;

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
        if let Some(propagation) = self.cell.host.propagation() {
            let sampler = propagation.node_sampler();
            let is_set = self.cold.as_ref().is_some_and(|cold| cold.sampler.is_some());
            if !sampler.is_off() && !is_set {
                let sampler = sampler.clone();
                self.set_sampler(sampler);
            }
        }
    }

    /// Begins a trace at a message that carries no context, if the sampler says so.
    #[cold]
    pub(super) fn sample(&mut self, message: &'static str, lane: Lane) {
        let Some(sampler) = self.cold.as_ref().and_then(|cold| cold.sampler.as_ref()) else {
            return;
        };
        let (host, now) = (&self.cell.host, self.now());
        let random = || host.random();
        if sampler.samples(random, now) {
            let ties = host.propagation().and_then(crate::Propagation::tied_to);
            let carried = CarriedContext { lane, ties, ..CarriedContext::root(now, &random) };
            self.begin_traced(&carried, message);
        }
    }

    /// Begins the handling of a message in the context that it carries. It lasts until the
    /// process receives again, or ends.
    #[cold]
    pub(super) fn begin_traced(&mut self, carried: &CarriedContext, message: &'static str) {
        let cell = &self.cell;
        let destination = || {
            let name = cell.locked_relations().name().map(ToString::to_string);
            Some(name.unwrap_or_else(|| cell.label().to_string()))
        };
        let (to, from) = (Some(self.pid()), self.sender());
        let facts = MessageFacts { message, destination: &destination, to, from };
        let (span, context) = OpenSpan::of_message(carried, &facts, self.now());
        current::begin_handling(CurrentContext::new(context, span));
        let cold = self.cold();
        cold.job.get_or_insert(InHand::NOT_WATCHED);
        self.slow_path = true;
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
        let host = &self.cell.host;
        let ties = host.propagation().and_then(crate::Propagation::tied_to);
        let carried = CarriedContext::below(link, true, self.now(), &|| host.random());
        self.begin_traced(&CarriedContext { ties, ..carried }, message);
    }
}
