//! What a process leaves behind for its end (rule O9).

use super::context::Context;
use crate::lifecycle::cleaners::Ended;
use crate::sync::Ordering;
use krarup_gen::Reason;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Has `cleaner` run exactly once when the state of this process is gone, however it ends: by
    /// a returned reason, a panic, a kill, an exit signal, a node that stops (Otavia's
    /// `AutoCleanable`). It runs in the process's last turn, after the state was dropped and
    /// before the name is free and anyone is told: so a successor finds what it cleans up
    /// clean. Of several the last one runs first. One that panics does no harm.
    ///
    /// A cleaner cannot hold the process alive. It is `'static`, so it borrows nothing of the
    /// state; to share something with it, share that alone (an `Arc` of the resource). An
    /// address does not keep a process alive in any case, and one in a cleaner goes with it.
    /// For a resource that belongs to a state rather than to the process, `Drop` is simpler: a
    /// state that is replaced in place is dropped, and cleaners wait for the end of the process.
    /// Where the process has ended already (a context can be moved out of it) it runs at once,
    /// with [`Reason::NoProcess`].
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
        let mut relations = self.cell.locked_relations();
        if relations.cleaned {
            // A context can be moved out of its process, and outlast it.
            drop(relations);
            cleaner(&Ended { pid: self.pid(), reason: &Reason::NoProcess });
        } else {
            relations.add_cleaner(Box::new(cleaner));
            self.cell.progress.has_cleaners.store(true, Ordering::Relaxed);
        }
    }
}
