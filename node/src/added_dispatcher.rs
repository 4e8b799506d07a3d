//! Dispatchers that are added to a running node.

use crate::dispatcher::any::Dispatcher;
use crate::dispatchers::check_name;
use crate::error::NodeError;
use crate::node::Node;
use crate::options::{DEFAULT, DispatcherOptions};
use krarup_act::Host;

impl Node {
    /// Adds a dispatcher to the running node, as `NodeBuilder::dispatcher` does before its start
    /// (rule R5). Its threads start with its first process. It cannot be removed.
    ///
    /// This is for a part of a program that needs threads of its own and does not build the node.
    /// In a simulation the name stands for the one dispatcher that there is.
    ///
    /// ```
    /// # use krarup_act::{Context, behavior_fn};
    /// # use krarup_node::{DispatcherOptions, Node};
    /// # fn main() -> krarup_gen::Result {
    /// let node = Node::start("demo@localhost")?;
    /// node.add_dispatcher("reports", DispatcherOptions::new().workers(1))?;
    /// let ends = || behavior_fn(|_: Context<()>| async { Ok(()) });
    /// let report = node.spawn(ends).dispatcher("reports").wait()?;
    /// # drop(report);
    /// # node.stop().wait()
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`NodeError::DispatcherName`]: the name is empty, or longer than 255 bytes.
    /// [`NodeError::DispatcherTwice`]: the name is taken. [`NodeError::Stopping`]: the node is
    /// stopping or has stopped. Those of the options.
    #[allow(clippy::needless_pass_by_value, reason = "as the builder takes it")]
    pub fn add_dispatcher(
        &self,
        name: impl Into<String>,
        options: DispatcherOptions,
    ) -> Result<(), NodeError> {
        let name = name.into();
        check_name(&name)?;
        if name == DEFAULT {
            return Err(NodeError::DispatcherTwice(name));
        }
        options.check(&name)?;
        let host = self.dispatcher_host();
        if host.is_node_stopping() {
            return Err(NodeError::Stopping);
        }
        let plan = match &host.dispatcher {
            Dispatcher::Simulated(_) => {
                let dispatcher = host.dispatcher.clone();
                Box::new(move || Ok(dispatcher.clone()))
            }
            _ => options.plan(&name, &host.core, &host.core.around()),
        };
        if host.core.plan_new(&name, plan) { Ok(()) } else { Err(NodeError::DispatcherTwice(name)) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use krarup_act::{Context, behavior_fn};
    use krarup_gen::Reason;

    #[test]
    fn r5_a_dispatcher_is_added_to_a_running_node_once_and_runs_its_processes() {
        let node = Node::start("added").unwrap();
        let options = || DispatcherOptions::new().workers(1);
        node.add_dispatcher("reports", options()).unwrap();
        let twice = node.add_dispatcher("reports", options()).unwrap_err();
        assert!(matches!(twice, NodeError::DispatcherTwice(name) if name == "reports"));
        let default = node.add_dispatcher(DEFAULT, options());
        assert!(matches!(default, Err(NodeError::DispatcherTwice(_))));
        assert!(node.add_dispatcher("none", DispatcherOptions::new().workers(0)).is_err());
        assert!(node.stats().dispatcher("reports").is_none(), "it has no process yet");
        let thread = || {
            behavior_fn(|_: Context<()>| async {
                let name = std::thread::current().name().map(str::to_owned);
                Err::<(), _>(Reason::shutdown(name.unwrap_or_default()))
            })
        };
        let address = node.spawn(thread).dispatcher("reports").start().unwrap();
        let end = node.watch(address.pid()).wait().unwrap();
        assert!(end.reason.to_string().contains("reports-0"), "{}", end.reason);
        node.stop().wait().unwrap();
        let late = node.add_dispatcher("late", options());
        assert!(matches!(late, Err(NodeError::Stopping)), "{late:?}");
    }
}
