//! The options of a spawn that know no type of message, checked before anything is changed.

use super::{LinkUrgency, UntypedOptions};
use crate::host::host::{CheckedName, Host};
use crate::host::shared_host::SharedHost;
use crate::mailbox::inbox_core::{MAX_BOUND, UNBOUNDED};
use krarup_gen::{Class, Name, NoBound, OrderError, Pid, Ref, SpawnError, TooManyRecorded};
use std::sync::Arc;

impl UntypedOptions {
    /// Checks all options before anything is changed.
    #[allow(clippy::inline_always, reason = "options that were not set cost nothing")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn check(
        self,
        is_ordered: bool,
        refuses: bool,
        drops_oldest: bool,
    ) -> Result<CheckedOptions, SpawnError> {
        let choices = Choices {
            name: self.name,
            label: self.label,
            mailbox: self.mailbox,
            dispatcher: self.dispatcher,
            class: self.class,
            record: self.record,
            refuses,
            has_two_orders: is_ordered && (self.one_by_one || drops_oldest),
        };
        let (shared, chosen) = if choices.are_none() {
            (self.shared, ChosenOptions { name: None, label: None, bound: UNBOUNDED })
        } else {
            choices.check(self.shared)?
        };
        let host = &*shared.host;
        let pid = self.pid.and_then(|pid| pid.on(host)).unwrap_or_else(|| host.next_pid());
        let place = SpawnPlace { parent: self.parent, link: self.link, monitor: self.monitor };
        Ok(CheckedOptions { shared, pid, chosen, place })
    }
}

/// The options that can be wrong.
struct Choices {
    name: Option<CheckedName>,
    label: Option<CheckedName>,
    mailbox: Option<usize>,
    dispatcher: Option<String>,
    class: Option<Class>,
    record: usize,
    /// Whether a full mailbox refuses messages.
    refuses: bool,
    /// Whether messages are to be taken in an order, and as they arrived.
    has_two_orders: bool,
}

impl Choices {
    #[inline]
    fn are_none(&self) -> bool {
        self.name.is_none()
            && self.label.is_none()
            && self.mailbox.is_none()
            && self.dispatcher.is_none()
            && self.class.is_none()
            && self.record == 0
            && self.refuses
            && !self.has_two_orders
    }

    /// Checks them, and returns the host that was chosen with the rest. Compiled once.
    #[inline(never)]
    fn check(
        self,
        shared: Arc<SharedHost>,
    ) -> Result<(Arc<SharedHost>, ChosenOptions), SpawnError> {
        let name = self.name.transpose()?;
        let label = self.label.transpose().map_err(SpawnError::InvalidLabel)?;
        if self.has_two_orders {
            return Err(OrderError::DropsOldest.into());
        }
        TooManyRecorded::check(self.record)?;
        let bound = match self.mailbox {
            Some(0) => return Err(SpawnError::ZeroMailbox),
            Some(messages) => {
                u32::try_from(messages).map_or(MAX_BOUND, |bound| bound.min(MAX_BOUND))
            }
            None if !self.refuses => return Err(NoBound.into()),
            None => UNBOUNDED,
        };
        let chosen = ChosenOptions { name, label, bound };
        if self.dispatcher.is_none() && self.class.is_none() {
            return Ok((shared, chosen));
        }
        let host = Arc::clone(&shared.host);
        let host = match self.dispatcher {
            None => host,
            Some(name) => {
                // Another dispatcher does not change the class.
                let class = host.class();
                of_class(host.with_dispatcher(&name)?, Some(class))?
            }
        };
        Ok((SharedHost::of(of_class(host, self.class)?), chosen))
    }
}

/// What was made of options that are valid.
pub(super) struct CheckedOptions {
    pub(super) shared: Arc<SharedHost>,
    pub(super) pid: Pid,
    pub(super) chosen: ChosenOptions,
    pub(super) place: SpawnPlace,
}

/// The options that could have been wrong.
pub(super) struct ChosenOptions {
    pub(super) name: Option<Name>,
    pub(super) label: Option<Name>,
    pub(super) bound: u32,
}

/// The place of a new process among the others.
pub(super) struct SpawnPlace {
    /// The parent, which is only shown if there is neither a link nor a monitor.
    pub(super) parent: Option<Pid>,
    pub(super) link: Option<LinkUrgency>,
    pub(super) monitor: Option<(Ref, LinkUrgency)>,
}

/// Returns the host for a process of this class.
fn of_class(host: Arc<dyn Host>, class: Option<Class>) -> Result<Arc<dyn Host>, SpawnError> {
    match class {
        Some(class) if class != host.class() => Ok(host.of_class(class)?.unwrap_or(host)),
        _ => Ok(host),
    }
}
