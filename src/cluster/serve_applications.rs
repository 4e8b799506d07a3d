//! Applications that other nodes start and stop.

use crate::Node;
use crate::application::{ApplicationState, StopApplicationError};
use krarup_dist::etf::{Atom, Term};
use krarup_dist::{Cluster, TermException};

/// What a function of OTP's module `application` returns.
type ApplicationAnswer = Result<Term, TermException>;

/// Lets other nodes start and stop the applications of a node.
pub trait ServeApplications {
    /// Serves `start/1`, `ensure_all_started/1`, `stop/1` and `which_applications/0` of OTP's module `application`, for
    /// `rpc` and `erpc`, with the applications of this node (rule Zcall16). Those that an application needs are started
    /// before it by both functions. Who may call them, [`Cluster::policy`] says.
    ///
    /// | | is |
    /// |---|---|
    /// | `start(shop)` | `ok`, `{error, {already_started, shop}}`, `{error, Text}` |
    /// | `ensure_all_started(shop)` | `{ok, Started}`, in the order of their start; `{error, {shop, Text}}` |
    /// | `stop(shop)` | `ok`, `{error, {not_started, shop}}`, `{error, Text}` |
    /// | `which_applications()` | `[{Name, [], []}]`: those that run, in the order in which the node got them |
    ///
    /// A text is a binary that says what [`StartApplicationError`](crate::application::StartApplicationError) or [`StopApplicationError`] says. The functions hold a
    /// handle on the node, which must be stopped explicitly then.
    ///
    /// ```no_run
    /// # use krarup::prelude::*;
    /// use krarup::cluster::etf::{Atom, Term};
    /// use krarup::cluster::{Cluster, ClusterCalls, ServeApplications, cookie_from_home};
    ///
    /// # async fn serve(node: Node) -> Result {
    /// let (cookie, of) = (cookie_from_home()?, node.clone());
    /// let cluster = node.spawn_system(move || Cluster::new(cookie).epmd().serve_applications(&of)).await?;
    /// // rpc:call('shop@10.0.0.7', application, ensure_all_started, [shop]), and from here on another node:
    /// let shop = (Atom::new("shop")?,);
    /// let started: Term = cluster.rpc("shop@10.0.0.8", "application", "ensure_all_started", shop).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    fn serve_applications(self, node: &Node) -> Self;
}

impl ServeApplications for Cluster {
    fn serve_applications(self, node: &Node) -> Self {
        let [start, all, stop, which] = std::array::from_fn(|_| node.clone());
        self.serve("application", "start", move |(name,): (Atom,)| {
            let node = start.clone();
            async move { started(&node, &name).await }
        })
        .serve("application", "ensure_all_started", move |(name,): (Atom,)| {
            let node = all.clone();
            async move { all_started(&node, &name).await }
        })
        .serve("application", "stop", move |(name,): (Atom,)| {
            let node = stop.clone();
            async move { stopped(&node, &name).await }
        })
        .serve("application", "which_applications", move |(): ()| {
            let running = running(&which);
            async move { running }
        })
    }
}

async fn started(node: &Node, name: &Atom) -> ApplicationAnswer {
    Ok(match node.start_application(name.as_str()).await {
        Ok(started) if started.is_empty() => error(pair("already_started", name)),
        Ok(_) => Term::atom("ok"),
        Err(failure) => error(text(&failure)),
    })
}

async fn all_started(node: &Node, name: &Atom) -> ApplicationAnswer {
    Ok(match node.start_application(name.as_str()).await {
        Ok(started) => {
            let names =
                started.iter().map(|name| atom(name.as_str())).collect::<Result<Vec<_>, _>>()?;
            Term::tuple([Term::atom("ok"), Term::list(names)])
        }
        Err(failure) => error(Term::tuple([Term::Atom(name.clone()), text(&failure)])),
    })
}

async fn stopped(node: &Node, name: &Atom) -> ApplicationAnswer {
    Ok(match node.stop_application(name.as_str()).await {
        Ok(()) => Term::atom("ok"),
        Err(StopApplicationError::NotRunning(_)) => error(pair("not_started", name)),
        Err(failure) => error(text(&failure)),
    })
}

fn running(node: &Node) -> ApplicationAnswer {
    let mut running = node.applications();
    running.retain(|application| application.state == ApplicationState::Running);
    let one = |name: &str| Ok(Term::tuple([atom(name)?, Term::nil(), Term::nil()]));
    let names = running.iter().map(|application| one(application.name.as_str()));
    Ok(Term::list(names.collect::<Result<Vec<_>, TermException>>()?))
}

/// The name of an application, which the program has fixed.
fn atom(name: &str) -> ApplicationAnswer {
    Atom::new(name).map(Term::Atom).map_err(|error| TermException::error(text(&error)))
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
