//! Cleaners: functions that run at the end of a process (rule O9).

use super::context::Context;
use crate::lifecycle::cleaners::Ended;
use krarup_gen::Reason;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Has `cleaner` run exactly once after the state of this process was dropped, however the
    /// process ends: by a returned reason, a panic, a kill, an exit signal, or the stop of the
    /// node (Otavia's `AutoCleanable`). It runs in the process's last turn, before the name is
    /// released and before any notice of the end. So a successor never meets a resource that
    /// is not yet cleaned up. Cleaners run in reverse order of registration. A cleaner that
    /// panics does no harm.
    ///
    /// A cleaner cannot keep the process alive. It is `'static`, so it borrows nothing of the
    /// state; to share a resource with it, share only that (an `Arc` of the resource). An
    /// address in a cleaner does not keep a process alive either, and is dropped with the
    /// cleaner. For a resource that belongs to a state rather than to the process, `Drop` is
    /// simpler: a state that is replaced in place is dropped, whereas cleaners wait for the
    /// end of the process. If the process has ended already (a context can be moved out of it)
    /// the cleaner runs at once, with [`Reason::NoProcess`].
    ///
    /// ```
    /// # use krarup_act::{Actor, Context};
    /// # use krarup_gen::Result;
    /// # use std::path::PathBuf;
    /// struct Journal {
    ///     lock_file: PathBuf,
    /// }
    ///
    /// impl Actor for Journal {
    ///     type Message = String;
    ///
    ///     async fn init(&mut self, ctx: &mut Context<String>) -> Result {
    ///         let lock_file = self.lock_file.clone();
    ///         ctx.on_end(move |ended| {
    ///             eprintln!("{} ended: {}", ended.pid, ended.reason);
    ///             let _ = std::fs::remove_file(lock_file);
    ///         });
    ///         Ok(())
    ///     }
    ///
    ///     async fn handle_message(&mut self, _: &mut Context<String>, _: String) -> Result {
    ///         Ok(())
    ///     }
    /// }
    /// ```
    pub fn on_end(&mut self, cleaner: impl FnOnce(&Ended<'_>) + Send + 'static) {
        if let Err(cleaner) = self.cell.untyped().add_cleaner(Box::new(cleaner)) {
            // A context can be moved out of its process, and outlive it.
            cleaner(&Ended { pid: self.pid(), reason: &Reason::NoProcess });
        }
    }
}
