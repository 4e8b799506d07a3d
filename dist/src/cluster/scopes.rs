//! The scopes of groups that a cluster carries.

use super::Cluster;
use super::running::RunningCluster;
use crate::groups::group_names::GroupNames;
use crate::groups::scope::GroupScope;
use crate::groups::shared::SharedScope;
use crate::messages::ClusterMessage;
use krarup_act::{Context, contain};
use krarup_gen::{Result, one_line};
use std::sync::Arc;

impl Cluster {
    /// Carries the groups of the node to other nodes, in this scope: `ctx.join("stock")` makes the
    /// process a member on all nodes that have the scope, and `ctx.groups()` has the members of all
    /// of them (rules Zpg1 to Zpg7). Erlang nodes take part with OTP's `pg`, whose default scope is
    /// `pg`. Without it no groups are carried, and nothing that nodes say of theirs is heard.
    ///
    /// The pid of a member is told to other nodes, which can send to it, link to it and end it.
    /// To be sent messages it takes a type that is carried ([`Cluster::carries`]).
    ///
    /// ```no_run
    /// # use krarup_dist::{Cluster, Cookie};
    /// # fn cluster(cookie: Cookie) -> Cluster {
    /// Cluster::new(cookie).epmd().carries::<String>().groups("pg")
    /// # }
    /// ```
    #[must_use]
    pub fn groups(mut self, scope: impl Into<String>) -> Self {
        self.settings.scopes.own = Some(scope.into());
        self
    }

    /// Carries groups of a further scope, which have nothing to do with those of the node. They are
    /// found by [`ClusterCalls::groups`](crate::ClusterCalls::groups).
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.settings.scopes.further.insert(scope.into());
        self
    }

    /// Sets how the names of this node's groups are written for other nodes. The default is
    /// [`GroupNames::Binaries`].
    #[must_use]
    pub fn group_names(mut self, names: GroupNames) -> Self {
        self.settings.scopes.names = names;
        self
    }

    /// Sets how much one other node may announce in a scope: each membership counts 1, each group 1
    /// and 1 more for each 64 bytes of its name. Members beyond are refused, and counted
    /// ([`ClusterStats::refused_members`](crate::ClusterStats)). The default is 262 144. Zero fails
    /// the spawn with [`StartError::MemberLimit`](crate::StartError::MemberLimit).
    #[must_use]
    pub fn member_limit(mut self, members: usize) -> Self {
        self.settings.scopes.limit = members;
        self
    }
}

impl RunningCluster {
    /// Starts a scope that has ended. If that cannot be, because its name was taken meanwhile, or it
    /// ends again and again, it is tried again at the next look; the cluster goes on.
    pub(super) async fn start_again(
        &mut self,
        ctx: &mut Context<ClusterMessage>,
        scope: Arc<SharedScope>,
    ) {
        if !self.restarts.allow(&scope.name, ctx.now()) {
            let name = &scope.name;
            let _ = contain(|| {
                tracing::warn!(target: "krarup::cluster", scope = %name, "scope ends again and again");
            });
            self.unstarted.push(scope);
            return;
        }
        if let Err(error) = self.start_scope(ctx, Arc::clone(&scope)).await {
            let (name, why) = (&scope.name, &error);
            let _ = contain(|| {
                tracing::warn!(target: "krarup::cluster", scope = %name, why = %one_line(why), "scope cannot be started");
            });
            self.unstarted.push(scope);
        }
    }

    /// Starts the process of a scope, under the name of the scope.
    pub(super) async fn start_scope(
        &mut self,
        ctx: &mut Context<ClusterMessage>,
        scope: Arc<SharedScope>,
    ) -> Result {
        let (core, shared) = (Arc::clone(&self.core), Arc::clone(&scope));
        let process = ctx
            .spawn(move || GroupScope::new(core, shared))
            .name(scope.name.as_str())
            .label("group scope")
            .link()
            .await?;
        self.scopes.insert(process.pid(), scope);
        Ok(())
    }
}
