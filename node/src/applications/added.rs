//! Applications that are added to a running node.

use crate::applications::application::Application;
#[cfg(feature = "settings")]
use crate::applications::configured::configure;
use crate::error::NodeError;
use crate::node::Node;
#[cfg(feature = "settings")]
use crate::settings::ApplicationSettings;
use krarup_act::Host;

impl Node {
    /// Adds an application to the running node, as `NodeBuilder::application` does before its start, and starts
    /// nothing: [`Node::start_application`] does (rule A4; Ergo's `ApplicationLoad`). It cannot be removed.
    ///
    /// This is for an application whose parts are made with the node, such as named addresses in the
    /// routes of an HTTP server. It may need those that the node has. Settings of a configured one are those that
    /// the program gives: no file is read here.
    ///
    /// ```
    /// # use krarup_act::{behavior_fn, Context, NamedAddress};
    /// # use krarup_node::{Application, Node};
    /// # fn main() -> krarup_gen::Result {
    /// let node = Node::start("shop@localhost")?;
    /// let stock: NamedAddress<u32> = node.named_address("stock")?;
    /// let front = move || {
    ///     let stock = stock.clone();
    ///     behavior_fn(move |mut ctx: Context<u32>| async move {
    ///         ctx.receive().await;
    ///         Ok(drop(stock))
    ///     })
    /// };
    /// node.add_application(Application::new("front", front))?;
    /// node.start_application("front").wait()?;
    /// node.stop().wait()
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`NodeError::Application`] with the error of rule A1: the name is not valid or taken, also by one that has
    /// ended, or it needs one that the node does not have. [`NodeError::Stopping`]: the node is stopping or has
    /// stopped. Those of its settings. Nothing was added.
    pub fn add_application(&self, application: Application) -> Result<(), NodeError> {
        let host = self.dispatcher_host();
        if host.is_node_stopping() {
            return Err(NodeError::Stopping);
        }
        #[cfg(feature = "settings")]
        let application = {
            let mut added = [application];
            configure(&mut added, &ApplicationSettings::default())?;
            let [application] = added;
            application
        };
        Ok(host.core.applications.add(application, host.now())?)
    }
}
