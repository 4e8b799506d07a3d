//! How a spawn becomes a process: its options are checked, the cell is made and admitted, links and
//! monitors are set, and the process is scheduled.

use super::options::{ChosenOptions, SpawnPlace};
use super::{AddressOf, LinkUrgency, Spawn, UntypedOptions};
use crate::addressing::address::Address;
use crate::addressing::naming::release_name;
use crate::behavior::Behavior;
use crate::calls::deadline::within;
use crate::calls::pending::wait;
use crate::calls::slot::{SlotReceiver, SlotSender, slot};
use crate::context::Context;
use crate::host::host::Host;
use crate::mailbox::order::Order;
use crate::mailbox::overflow::Overflow;
use crate::observe::watch::watch;
use crate::process::cell::{Cell, NewProcess};
use crate::process::crash::contain;
use crate::process::facts::BehaviorFacts;
use crate::process::process::Process;
use crate::process::progress::{ContextMark, ProcessMark};
use crate::process::relations::Watching;
use crate::process::turn::Life;
use crate::process::untyped_cell::UntypedCell;
use crate::process::waker::WakingHandle;
use crate::process::{bonds, current};
use krarup_gen::{CannotWait, Name, OrderError, SpawnError, Target};
use std::any::Any;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

impl<B, F, P> Spawn<B, F, P>
where
    B: Behavior,
    F: FnOnce() -> B + Send + 'static,
{
    /// Spawns the process and does not wait for `init`.
    ///
    /// # Errors
    /// Those of [`SpawnError`] that are known at once: all but those of `init`.
    pub fn start(self) -> Result<AddressOf<B>, SpawnError> {
        self.launch(None)
    }

    /// Spawns the process, and waits on a plain thread until `init` has returned.
    ///
    /// # Errors
    /// Those of awaiting it, and [`SpawnError::CannotWait`].
    pub fn wait(self) -> Result<AddressOf<B>, SpawnError> {
        if current::pid().is_some() {
            return Err(CannotWait::InProcess.into());
        }
        let host = Arc::clone(&self.options.shared.host);
        wait(&*host, self.run())?
    }

    /// Spawns the process, and returns its address at once with a future of its `init`. For
    /// callers that have other work to do meanwhile.
    ///
    /// # Errors
    /// Those of [`SpawnError`] that are known at once; the future returns the others.
    pub fn begin(
        self,
    ) -> Result<
        (AddressOf<B>, impl Future<Output = Result<(), SpawnError>> + Send + use<B, F, P>),
        SpawnError,
    > {
        let options = &self.options;
        let limits = InitLimits {
            host: Arc::clone(&options.shared.host),
            timeout: options.init_timeout,
            kill_grace: options.kill_grace,
            // Kept to release the name if the process cannot be ended.
            name: options
                .init_timeout
                .and(options.name.as_ref())
                .and_then(|name| name.as_ref().ok().cloned()),
        };
        let (sender, started) = slot();
        let address = self.launch(Some(sender))?;
        let init = started_within(limits, address.process(), started);
        Ok((address, init))
    }

    async fn run(self) -> Result<AddressOf<B>, SpawnError> {
        let (address, init) = self.begin()?;
        init.await?;
        Ok(address)
    }

    fn launch(
        self,
        starter: Option<SlotSender<Result<(), SpawnError>>>,
    ) -> Result<AddressOf<B>, SpawnError> {
        let Spawn { factory, overflow, order, options, .. } = self;
        let run = |ctx| factory().run_in_turn(ctx);
        let AdmittedProcess { own, ctx } =
            options.make(overflow, order, facts::<B, _, _>(&run), starter)?;
        let cell = Arc::clone(&ctx.cell);
        cell.host.schedule(Life::ready(own, move || run(ctx)));
        Ok(Address::new(cell))
    }
}

/// A process that its node knows, and that has not run.
struct AdmittedProcess<M: Send + 'static, C: Send + 'static> {
    own: WakingHandle<Cell<M, C>>,
    ctx: Context<M, C>,
}

impl UntypedOptions {
    /// Makes the process. What depends on its factory comes after that.
    #[allow(clippy::inline_always, reason = "options that were not set cost nothing")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn make<M: Send + 'static, C: Send + 'static>(
        self,
        overflow: Overflow<M>,
        order: Option<Order<M>>,
        behavior: &'static BehaviorFacts,
        starter: Option<SlotSender<Result<(), SpawnError>>>,
    ) -> Result<AdmittedProcess<M, C>, SpawnError> {
        let (one_by_one, record) = (self.one_by_one, self.record);
        if order.is_some() {
            hands_on_nothing(behavior)?;
        }
        let checked = self.check(
            order.is_some(),
            matches!(overflow, Overflow::Refuse),
            matches!(overflow, Overflow::DropOldest),
        )?;
        if behavior.one_thread {
            keeps_to_one_thread(&*checked.shared.host)?;
        }
        let own = WakingHandle::first(Cell::new(NewProcess {
            pid: checked.pid,
            parent: checked.place.parent,
            behavior,
            bound: checked.chosen.bound,
            overflow,
            shared: checked.shared,
        }));
        let cell = Arc::clone(&own);
        if let Some(starter) = starter {
            cell.inbox.lock().cold().starter = Some(starter);
            cell.progress.note(ContextMark::HasStarter, true);
        }
        if current::is_traced()
            && let Some(context) = current::context_of_child()
        {
            cell.untyped().begin_in_context(context);
        }
        if one_by_one {
            cell.inbox.lock().take_one_by_one();
        }
        let process = Arc::clone(&cell) as Arc<dyn Process>;
        checked.place.admit(checked.chosen, cell.untyped(), process)?;
        let mut ctx = Context::new(cell);
        if let Some(order) = order {
            ctx.set_order(order)?;
        }
        if record > 0 {
            ctx.record(record)?;
        }
        Ok(AdmittedProcess { own, ctx })
    }
}

impl SpawnPlace {
    /// Admits the process to its node. Its links and monitors are set before it runs (rule L1).
    #[allow(clippy::inline_always, reason = "options that were not set cost nothing")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn admit(
        self,
        chosen: ChosenOptions,
        cell: &dyn UntypedCell,
        process: Arc<dyn Process>,
    ) -> Result<(), SpawnError> {
        if chosen.name.is_none()
            && chosen.label.is_none()
            && self.link.is_none()
            && self.monitor.is_none()
        {
            cell.cell_core().host.admit(process, None)?;
        } else {
            self.admit_bound(chosen, cell, process)?;
        }
        // Charged to the turn: a process that spawns many lets them run before it continues.
        current::charge(1, 0);
        Ok(())
    }

    /// Admits a process that has a name, a label, a link or a monitor. Compiled once.
    #[inline(never)]
    fn admit_bound(
        self,
        ChosenOptions { name, label, .. }: ChosenOptions,
        cell: &dyn UntypedCell,
        process: Arc<dyn Process>,
    ) -> Result<(), SpawnError> {
        let core = cell.cell_core();
        if let Some(name) = &name {
            cell.locked_relations().set_name(name.clone());
        }
        if let Some(label) = label {
            cell.locked_relations().set_label(label);
        }
        let host = &*core.host;
        let child = self.link.map(|urgency| (Arc::clone(&process), urgency));
        if child.is_some() {
            core.progress.set(ProcessMark::LinkedAtSpawn, true);
        }
        let target = || Target::Pid(core.pid());
        let watcher = self.parent.filter(|_| self.monitor.is_some());
        let watcher = watcher.and_then(|parent| host.process(parent)).zip(self.monitor);
        if let Some((parent, (monitor, urgency))) = &watcher {
            let urgent = *urgency == LinkUrgency::Urgent;
            bonds::take_reference(&**parent, *monitor, Watching { target: target(), urgent })?;
        }
        if let Err(error) = host.admit(process, name.as_ref()) {
            if let Some((parent, (monitor, _))) = &watcher {
                bonds::free_reference(&**parent, *monitor);
            }
            return Err(error);
        }
        let Some(parent) = self.parent else { return Ok(()) };
        if let Some((child, urgency)) = child {
            bonds::link_child(host, parent, &child, urgency == LinkUrgency::Urgent);
        }
        if let Some((parent, (monitor, urgency))) = watcher {
            bonds::monitor(host, &parent, monitor, target(), urgency == LinkUrgency::Urgent);
            bonds::mark_of_spawn(&mut cell.locked_relations(), monitor);
        }
        Ok(())
    }
}

/// How long a spawn waits for `init`, and what it does then.
struct InitLimits {
    host: Arc<dyn Host>,
    timeout: Option<Duration>,
    kill_grace: Duration,
    name: Option<Name>,
}

/// Waits until `init` has returned, and ends a process that takes longer than it may.
async fn started_within(
    InitLimits { host, timeout, kill_grace, name }: InitLimits,
    process: Arc<dyn Process>,
    mut started: SlotReceiver<Result<(), SpawnError>>,
) -> Result<(), SpawnError> {
    let outcome = match timeout {
        None => started.await,
        Some(limit) => match within(&host, limit, &mut started).await {
            Some(outcome) => outcome,
            None => {
                // The name is free again before the error is returned (rule N3).
                let pid = process.pid();
                let end = watch(Arc::clone(&host), Target::Pid(pid));
                process.kill();
                if within(&host, kill_grace, end).await.is_none()
                    && let Some(name) = name
                {
                    release_name(&*host, name.as_str(), pid);
                }
                Some(Err(SpawnError::Timeout(limit)))
            }
        },
    };
    // A starter that is dropped without a value means that the node has stopped.
    outcome.unwrap_or(Err(SpawnError::NodeStopping))
}

impl<B, F, P> IntoFuture for Spawn<B, F, P>
where
    B: Behavior,
    F: FnOnce() -> B + Send + 'static,
    P: 'static,
{
    type Output = Result<AddressOf<B>, SpawnError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// Checks that a process that is to have an order takes its messages itself. Compiled once.
#[cold]
fn hands_on_nothing(behavior: &BehaviorFacts) -> Result<(), SpawnError> {
    if contain(behavior.routes_main).unwrap_or(false) {
        return Err(OrderError::HandsOn.into());
    }
    Ok(())
}

/// Checks that a process is to run where all its turns are on one thread. Compiled once.
#[cold]
fn keeps_to_one_thread(host: &dyn Host) -> Result<(), SpawnError> {
    if host.keeps_to_one_thread() {
        return Ok(());
    }
    Err(SpawnError::ManyThreads(host.dispatcher_name().into()))
}

/// The facts of a behaviour whose future is the result of `run`.
fn facts<B: Behavior, T, F>(run: &impl FnOnce(T) -> F) -> &'static BehaviorFacts {
    let _ = run;
    const { &FactsOf::<B, F>::FACTS }
}

struct FactsOf<B, F>(PhantomData<(B, F)>);

impl<B: Behavior, F> FactsOf<B, F> {
    const FACTS: BehaviorFacts = BehaviorFacts {
        label: B::label,
        kind: B::kind,
        show_message: Self::show_message,
        show_command: Self::show_command,
        routes_main: B::routes_main,
        one_thread: B::ONE_THREAD,
        future: size_of::<F>(),
    };

    fn show_message(message: &dyn Any) -> Option<String> {
        message.downcast_ref().and_then(B::show_message)
    }

    fn show_command(command: &dyn Any) -> Option<String> {
        command.downcast_ref().and_then(B::show_command)
    }
}
