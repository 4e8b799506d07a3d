//! Applications that other nodes start and stop.

use crate::application::{ApplicationState, StopApplicationError};
use crate::{Name, Node};
use krarup_dist::etf::{Atom, Term};
use krarup_dist::{Cluster, TermException};
use std::sync::Arc;

/// What a function of OTP's module `application` returns.
type ApplicationAnswer = Result<Term, TermException>;

/// Lets other nodes start and stop applications of a node.
pub trait ServeApplications {
    /// Serves `start/1`, `ensure_all_started/1`, `stop/1` and `which_applications/0` of OTP's module `application`, for
    /// `rpc` and `erpc`, with these applications of the node (rule Zcall16). Of others, which may also be added later
    /// ([`Node::add_application`]), nothing is told, except that those which one of these needs are started before it.
    ///
    /// Every node of the cluster may call them, unless [`Cluster::policy`] says otherwise:
    /// `.policy("*", NodeRights::none().call(Reach::only(["calc"])))` leaves it the functions of `calc`, for one.
    /// Starting one whose [mode](crate::application::Mode) is not `Temporary` can end the node, if the start fails.
    ///
    /// | | is |
    /// |---|---|
    /// | `start(shop)` | `ok`; `{error, {already_started, shop}}` if it ran; `{error, Text}` |
    /// | `ensure_all_started(shop)` | `{ok, Started}`, in the order of their start; `{error, {shop, Text}}` |
    /// | `stop(shop)` | `ok`; `{error, {not_started, shop}}`; `{error, Text}`, also while others that run need it |
    /// | `which_applications()` | `[{Name, [], []}]` of those that run, in the order in which the node got them |
    ///
    /// A text is a binary with what the error of [`Node::start_application`] or [`Node::stop_application`] says. The
    /// functions hold a handle on the node, so it does not stop when all others are dropped: stop it.
    ///
    /// ```no_run
    /// # use krarup::prelude::*;
    /// use krarup::cluster::etf::{Atom, Term};
    /// use krarup::cluster::{Cluster, ClusterCalls, ServeApplications, cookie_from_home};
    ///
    /// # async fn serve(node: Node) -> Result {
    /// let (cookie, of) = (cookie_from_home()?, node.clone());
    /// let cluster = move || Cluster::new(cookie).epmd().serve_applications(&of, ["shop", "reports"]);
    /// let cluster = node.spawn_system(cluster).await?;
    /// // rpc:call('shop@10.0.0.7', application, ensure_all_started, [shop]), and from here on another node:
    /// let shop = (Atom::new("shop")?,);
    /// let started: Term = cluster.rpc("shop@10.0.0.8", "application", "ensure_all_started", shop).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    fn serve_applications<N: Into<String>>(
        self,
        node: &Node,
        applications: impl IntoIterator<Item = N>,
    ) -> Self;
}

impl ServeApplications for Cluster {
    fn serve_applications<N: Into<String>>(
        self,
        node: &Node,
        applications: impl IntoIterator<Item = N>,
    ) -> Self {
        let names = applications.into_iter().map(Into::into).collect();
        let served = Arc::new(ServedApplications { node: node.clone(), names });
        let [start, all, stop, which] = std::array::from_fn(|_| Arc::clone(&served));
        self.serve("application", "start", move |(name,): (Atom,)| {
            let served = Arc::clone(&start);
            async move { served.start(&name).await }
        })
        .serve("application", "ensure_all_started", move |(name,): (Atom,)| {
            let served = Arc::clone(&all);
            async move { served.start_all(&name).await }
        })
        .serve("application", "stop", move |(name,): (Atom,)| {
            let served = Arc::clone(&stop);
            async move { served.stop(&name).await }
        })
        .serve("application", "which_applications", move |(): ()| {
            let running = which.running();
            async move { running }
        })
    }
}

/// The applications of a node that others may start.
struct ServedApplications {
    node: Node,
    names: Vec<String>,
}

impl ServedApplications {
    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|served| served == name)
    }

    async fn start(&self, name: &Atom) -> ApplicationAnswer {
        let infos = self.node.applications();
        let info = infos.iter().find(|info| info.name.as_str() == name.as_str());
        if self.has(name.as_str())
            && info.is_some_and(|info| info.state == ApplicationState::Running)
        {
            return Ok(error(pair("already_started", name)));
        }
        Ok(match self.started(name).await {
            Ok(_) => Term::atom("ok"),
            Err(text) => error(text),
        })
    }

    async fn start_all(&self, name: &Atom) -> ApplicationAnswer {
        Ok(match self.started(name).await {
            Ok(started) => {
                let names = started.iter().map(atom).collect::<Result<Vec<_>, _>>()?;
                Term::tuple([Term::atom("ok"), Term::list(names)])
            }
            Err(text) => error(Term::tuple([Term::Atom(name.clone()), text])),
        })
    }

    /// Starts it, and returns what was started, or the text of the error.
    async fn started(&self, name: &Atom) -> Result<Vec<Name>, Term> {
        if !self.has(name.as_str()) {
            return Err(Term::binary(format!("there is no application {:?}", name.as_str())));
        }
        self.node.start_application(name.as_str()).await.map_err(|failure| text(&failure))
    }

    async fn stop(&self, name: &Atom) -> ApplicationAnswer {
        if !self.has(name.as_str()) {
            return Ok(error(pair("not_started", name)));
        }
        Ok(match self.node.stop_application(name.as_str()).await {
            Ok(()) => Term::atom("ok"),
            Err(StopApplicationError::NotRunning(_) | StopApplicationError::Unknown(_)) => {
                error(pair("not_started", name))
            }
            Err(failure) => error(text(&failure)),
        })
    }

    fn running(&self) -> ApplicationAnswer {
        let mut running = self.node.applications();
        running
            .retain(|info| info.state == ApplicationState::Running && self.has(info.name.as_str()));
        let one = |name| Ok(Term::tuple([atom(name)?, Term::nil(), Term::nil()]));
        let all = running.iter().map(|info| one(&info.name));
        Ok(Term::list(all.collect::<Result<Vec<_>, TermException>>()?))
    }
}

/// The name of an application, which the program has fixed.
fn atom(name: &Name) -> ApplicationAnswer {
    Atom::new(name.as_str()).map(Term::Atom).map_err(|error| TermException::error(text(&error)))
}

fn error(what: Term) -> Term {
    Term::tuple([Term::atom("error"), what])
}

fn pair(tag: &'static str, name: &Atom) -> Term {
    Term::tuple([Term::atom(tag), Term::Atom(name.clone())])
}

fn text(error: &impl ToString) -> Term {
    Term::binary(error.to_string())
}
