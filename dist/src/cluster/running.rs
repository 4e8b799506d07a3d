//! What a cluster has while it runs, and its end.

use super::scope_restarts::ScopeRestarts;
use crate::core::ClusterCore;
use crate::discovery::discovered::DiscoveredNodes;
use crate::epmd::Registration;
use crate::groups::shared::SharedScope;
use crate::messages::ClusterMessage;
use krarup_act::Context;
use krarup_gen::{Pid, Reason};
use krarup_wire::etf::Atom;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The longest time of a dial, as OTP's `net_setuptime`.
pub(super) const DIAL_LIMIT: Duration = Duration::from_secs(7);

/// What the cluster has when it runs.
pub(super) struct RunningCluster {
    pub(super) core: Arc<ClusterCore>,
    pub(super) listener: Option<Pid>,
    pub(super) scopes: BTreeMap<Pid, Arc<SharedScope>>,
    /// The processes that have dialled a peer, until they end.
    pub(super) dialling: BTreeMap<Pid, Atom>,
    /// When they were started again.
    pub(super) restarts: ScopeRestarts,
    /// Those that have ended and could not be started again yet.
    pub(super) unstarted: Vec<Arc<SharedScope>>,
    pub(super) port: u16,
    pub(super) registration: Option<Registration>,
    pub(super) is_registering: bool,
    /// Why the last attempt to register again has failed.
    pub(super) unregistered: Option<String>,
    pub(super) discovered: DiscoveredNodes,
    /// When the timer for the kept nodes is due.
    pub(super) keeps_at: Option<Duration>,
}

impl RunningCluster {
    /// Ends in order what was started for the cluster, and waits for it: connections when what waits has been written (rule
    /// Zlive6), then what still dials, what listens, and the scopes of groups.
    pub(super) async fn finish(&mut self, ctx: &mut Context<ClusterMessage>) {
        let connections = self.core.finish_connections();
        for end in connections {
            end.await;
        }
        let dialling = std::mem::take(&mut self.dialling).into_keys();
        let scopes = std::mem::take(&mut self.scopes).into_keys();
        for pid in dialling.chain(self.listener.take()).chain(scopes) {
            let end = ctx.watch(pid);
            ctx.exit(pid, Reason::Shutdown);
            end.await;
        }
    }

    /// The node is registered at the port mapper again.
    pub(super) fn registered_again(&mut self, registration: Registration) {
        self.registration = Some(registration);
        self.unregistered = None;
        self.core.log_registration(None);
    }

    /// It is not. The same reason is logged once.
    pub(super) fn registration_failed(&mut self, why: String) {
        if self.unregistered.as_ref() != Some(&why) {
            self.core.log_registration(Some(&why));
        }
        self.unregistered = Some(why);
    }
}

/// The cluster has ended: everybody bound to another node is told.
impl Drop for RunningCluster {
    fn drop(&mut self) {
        let core = Arc::clone(&self.core);
        krarup_act::from_outside(|| core.shut_down());
    }
}
