//! How a process finds others by name and pid, and can be found itself.

use super::context::Context;
use crate::addressing::address::Address;
use crate::addressing::dynamic::Dynamic;
use crate::addressing::lookup::{address_of, lookup, send_dynamic};
use crate::addressing::naming::{forget_name, release_name};
use krarup_gen::{Destination, LookupError, Name, Pid, ProcessInfo, RegisterError, SendError};

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Registers this process under a name (rule N2). Most processes get theirs when they
    /// are spawned.
    ///
    /// # Errors
    /// The text cannot be a name, another process has it, this one has a name already, or has
    /// ended (a context can be moved out of its process);
    /// then nothing has changed.
    pub fn register(&mut self, name: impl AsRef<str>) -> Result<(), RegisterError> {
        let name = Name::new(name)?;
        // In both places under one lock: whoever takes the name away from this process, its end
        // too, takes it in both.
        let mut relations = self.cell.locked_relations();
        if relations.retired {
            return Err(RegisterError::NoProcess);
        }
        if let Some(name) = relations.name() {
            return Err(RegisterError::AlreadyNamed { name: name.clone() });
        }
        match self.host().register(&name, self.process()) {
            Ok(()) => {
                relations.set_name(name);
                Ok(())
            }
            Err(by) => Err(RegisterError::NameTaken { name, by }),
        }
    }

    /// Takes a name away from the process that has it, which need not be this one (as
    /// Erlang's `unregister`); whose it was.
    pub fn unregister(&mut self, name: &str) -> Option<Pid> {
        let holder = self.host().unregister(name)?;
        forget_name(&*holder, name);
        Some(holder.pid())
    }

    /// Takes a name away from this process, and from no other; whether it had it. For a process
    /// that is left behind because it cannot be ended: another may have taken the name meanwhile.
    pub fn unregister_from(&mut self, name: &str, pid: Pid) -> bool {
        release_name(&**self.host(), name, pid)
    }

    /// The living process with this name.
    #[must_use]
    pub fn whereis(&self, name: &str) -> Option<Pid> {
        self.host().whereis(name).map(|process| process.pid())
    }

    /// The typed address of the process with this name: to send to it and call it. Say the
    /// type where it goes: `let counter: Address<Counter> = ctx.lookup("counter")?`.
    ///
    /// # Errors
    /// [`LookupError`]: nobody has the name, or the process takes other messages.
    pub fn lookup<N, D>(&self, name: &str) -> Result<Address<N, D>, LookupError>
    where
        N: Send + 'static,
        D: Send + 'static,
    {
        lookup(&**self.host(), name)
    }

    /// The typed address of the process with this pid.
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

    /// Whether the process is alive now.
    #[must_use]
    pub fn is_alive(&self, pid: Pid) -> bool {
        self.host().process(pid).is_some()
    }

    /// A picture of a process, at once and without its help (rule X3).
    #[must_use]
    pub fn process_info(&self, pid: Pid) -> Option<ProcessInfo> {
        self.host().process(pid).map(|process| process.info())
    }

    /// Sends a value to a pid, a name (a `&str`) or an alias; the receiver's message type must
    /// be the value's, unless it takes others.
    ///
    /// # Errors
    /// [`SendError::WrongType`], and those of [`crate::Address::send`]; all give the value back,
    /// as a [`Dynamic`]. That cannot be shared between threads, so before a `?` goes
    /// `.map_err(SendError::without_message)`.
    pub fn send<'a, T: Send + 'static>(
        &self,
        to: impl Into<Destination<'a>>,
        message: T,
    ) -> Result<(), SendError<Dynamic>> {
        send_dynamic(&**self.host(), to.into(), message)
    }

    /// Whether messages of other types than this process's own are taken too, when they are
    /// sent by pid, name or alias: they come as [`crate::Received::Other`], to an actor's
    /// [`crate::Actor::handle_other`]. They count towards the bound; a full mailbox that
    /// diverts refuses them, for its fallback takes this process's own type. Off, such a send
    /// is [`SendError::WrongType`].
    pub fn take_others(&mut self, take: bool) {
        self.cell.inbox.lock().others = take;
    }
}
