//! Names: registering this process, and finding others by name and pid.

use super::context::Context;
use crate::addressing::address::Address;
use crate::addressing::dynamic::Dynamic;
use crate::addressing::lookup::{address_of, lookup, send_dynamic};
use crate::addressing::naming::{forget_name, release_name};
use crate::names::name_wait::LookupOrWait;
use crate::names::named_address::NamedAddress;
use krarup_gen::{
    Destination, LookupError, Name, NameError, Pid, ProcessInfo, RegisterError, SendError,
};
use std::sync::Arc;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Registers this process under a name (rule N2). Most processes get their name when they
    /// are spawned.
    ///
    /// # Errors
    /// The text is not a valid name, another process has the name, this one has a name
    /// already, or it has ended (a context can be moved out of its process). Nothing has
    /// changed then.
    pub fn register(&mut self, name: impl AsRef<str>) -> Result<(), RegisterError> {
        let name = Name::new(name)?;
        // The name is set in both places under one lock. Every operation that takes the name
        // away from this process, its end included, clears both.
        let mut relations = self.cell.locked_relations();
        if relations.is_retired() {
            return Err(RegisterError::NoProcess(self.cell.pid()));
        }
        if let Some(name) = relations.name() {
            let name = name.clone();
            return Err(RegisterError::AlreadyNamed { pid: self.cell.pid(), name });
        }
        match self.host().register(&name, self.process()) {
            Ok(()) => {
                relations.set_name(name.clone());
                drop(relations);
                // Wakers are user code: they are woken without the lock.
                self.host().name_waits().into_iter().for_each(|waits| waits.wake(&name));
                Ok(())
            }
            Err(by) => Err(RegisterError::NameTaken { name, by }),
        }
    }

    /// Gives this process a label of its own, 1 to 255 bytes, that says what it works on, for
    /// example a customer or an order (`proc_lib:set_label` of OTP 27). It replaces the label
    /// before. It is shown in [`ProcessInfo::label`] and in crash reports. A label is not a
    /// name: it need not be unique, and no process is found by it.
    ///
    /// # Errors
    /// The text is empty or too long. Nothing has changed then.
    pub fn set_label(&mut self, label: impl AsRef<str>) -> Result<(), NameError> {
        let label = Name::new(label)?;
        let mut relations = self.cell.locked_relations();
        if !relations.is_closed() {
            self.cell.inbox.lock().shown.forget_alone();
            relations.set_own_label(Some(label));
        }
        Ok(())
    }

    /// Removes the label of [`Context::set_label`].
    pub fn clear_label(&mut self) {
        let mut relations = self.cell.locked_relations();
        self.cell.inbox.lock().shown.forget_alone();
        relations.set_own_label(None);
    }

    /// The name of this process, for a line of the log.
    pub(crate) fn own_name(&self) -> Option<Name> {
        self.cell.locked_relations().name().cloned()
    }

    /// Takes a name away from the process that has it, which may be another one (as Erlang's
    /// `unregister`). Returns the pid of that process.
    pub fn unregister(&mut self, name: &str) -> Option<Pid> {
        let holder = self.host().unregister(name)?;
        forget_name(&*holder, name);
        Some(holder.pid())
    }

    /// See [`BehaviorContext::unregister_from`](crate::BehaviorContext::unregister_from).
    pub(crate) fn unregister_from(&mut self, name: &str, pid: Pid) -> bool {
        release_name(&**self.host(), name, pid)
    }

    /// Returns the living process with this name.
    #[must_use]
    pub fn whereis(&self, name: &str) -> Option<Pid> {
        self.host().whereis(name).map(|process| process.pid())
    }

    /// Returns the typed address of the process with this name, to send to it and to call it.
    /// The variable gives the type: `let counter: Address<Counter> = ctx.lookup("counter")?`.
    ///
    /// # Errors
    /// [`LookupError`] if no process has the name, or if the process has other message types.
    pub fn lookup<N, D>(&self, name: &str) -> Result<Address<N, D>, LookupError>
    where
        N: Send + 'static,
        D: Send + 'static,
    {
        lookup(&**self.host(), name)
    }

    /// Looks a name up as [`Context::lookup`] does, and waits until a process has it (rule H1).
    pub fn lookup_or_wait<N, D>(&self, name: impl AsRef<str>) -> LookupOrWait<N, D>
    where
        N: Send + 'static,
        D: Send + 'static,
    {
        LookupOrWait::new(Arc::clone(self.host()), name)
    }

    /// Returns the address of whichever process has this name, now or later (rules H2, H3): a handle
    /// for a service that its supervisor may replace.
    ///
    /// # Errors
    /// [`NameError`]: the text is no name.
    pub fn named_address<N, D>(
        &self,
        name: impl AsRef<str>,
    ) -> Result<NamedAddress<N, D>, NameError>
    where
        N: Send + 'static,
        D: Send + 'static,
    {
        NamedAddress::new(Arc::clone(self.host()), name)
    }

    /// Returns the typed address of the process with this pid.
    ///
    /// # Errors
    /// As [`Context::lookup`].
    pub fn address_of<N, D>(&self, pid: Pid) -> Result<Address<N, D>, LookupError>
    where
        N: Send + 'static,
        D: Send + 'static,
    {
        address_of(&**self.host(), pid)
    }

    /// Whether the process is alive.
    #[must_use]
    pub fn is_alive(&self, pid: Pid) -> bool {
        self.host().process(pid).is_some()
    }

    /// Returns a description of a process, without waiting for the process (rule X3).
    #[must_use]
    pub fn process_info(&self, pid: Pid) -> Option<ProcessInfo> {
        self.host().process(pid).map(|process| process.info())
    }

    /// Sends a value to a pid, a name (a `&str`) or an alias. The receiver's message type must
    /// be the value's, unless it accepts others.
    ///
    /// # Errors
    /// [`SendError::WrongType`], and those of [`Address::send`]; all return the value,
    /// as a [`Dynamic`]. A `Dynamic` cannot be shared between threads, so `?` needs
    /// `.map_err(SendError::without_message)` before it.
    pub fn send<'a, T: Send + 'static>(
        &self,
        to: impl Into<Destination<'a>>,
        message: T,
    ) -> Result<(), SendError<Dynamic>> {
        send_dynamic(&**self.host(), to.into(), message)
    }

    /// Accepts messages of other types than this process's own from now on, when they are sent
    /// by pid, name or alias. They arrive as [`Received::Other`](crate::Received::Other); an actor
    /// gets [`Actor::handle_other`](crate::Actor::handle_other). They count towards the bound. A
    /// full mailbox that diverts refuses them, because its fallback takes this process's own type.
    /// By default such a send returns [`SendError::WrongType`].
    pub fn take_others(&mut self) {
        self.cell.inbox.lock().marks.set_others(true);
    }

    /// Refuses messages of other types from now on, as by default: see
    /// [`Context::take_others`].
    pub fn refuse_others(&mut self) {
        self.cell.inbox.lock().marks.set_others(false);
    }
}
