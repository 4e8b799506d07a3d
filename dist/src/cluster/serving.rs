//! What a cluster serves from its start: functions and factories.

use super::Cluster;
use crate::error::ServeError;
use crate::functions::arguments::FunctionArguments;
use crate::functions::call::FunctionCall;
use crate::functions::exception::TermException;
use crate::functions::serving;
use krarup_act::Behavior;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Functions and factories of a cluster, which it has also when a supervisor starts it again.
impl Cluster {
    /// Serves a function from the start, as [`ClusterCalls::serve`](crate::ClusterCalls::serve) does (rule Zcall7).
    ///
    /// ```
    /// # use krarup_dist::etf::Term;
    /// # use krarup_dist::{Cluster, Cookie, TermException};
    /// # fn cluster(cookie: Cookie) -> Cluster {
    /// // erpc:call('calc@host', calc, divide, [7, 2]) is 3.
    /// Cluster::new(cookie).serve("calc", "divide", |(a, b): (i64, i64)| async move {
    ///     a.checked_div(b).ok_or_else(|| TermException::error(Term::atom("badarith")))
    /// })
    /// # }
    /// ```
    ///
    /// A name that is not valid, or is served twice, fails the spawn with [`StartError::Serve`](crate::StartError::Serve).
    #[must_use]
    pub fn serve<A, R, F, U>(self, module: &str, function: &str, run: F) -> Self
    where
        A: FunctionArguments + DeserializeOwned + Send + 'static,
        R: Serialize,
        F: Fn(A) -> U + Send + Sync + 'static,
        U: Future<Output = Result<R, TermException>> + Send + 'static,
    {
        let added = serving::add_plain_function(&self.settings.functions, (module, function), run);
        self.with_served(added)
    }

    /// As [`Cluster::serve`], for a function that uses the process that runs it, as
    /// [`ClusterCalls::serve_with`](crate::ClusterCalls::serve_with).
    #[must_use]
    pub fn serve_with<A, R, F, U>(self, module: &str, function: &str, run: F) -> Self
    where
        A: FunctionArguments + DeserializeOwned + Send + 'static,
        R: Serialize,
        F: Fn(FunctionCall, A) -> U + Send + Sync + 'static,
        U: Future<Output = Result<R, TermException>> + Send + 'static,
    {
        let added = serving::add_function(&self.settings.functions, (module, function), run);
        self.with_served(added)
    }

    /// Lets other nodes spawn processes here from the start, as
    /// [`ClusterCalls::factory`](crate::ClusterCalls::factory) does (rule Zcall9).
    ///
    /// A name that is not valid, or is taken, fails the spawn with [`StartError::Serve`](crate::StartError::Serve).
    #[must_use]
    pub fn factory<A, B, F>(self, module: &str, function: &str, make: F) -> Self
    where
        A: FunctionArguments + DeserializeOwned + Send + 'static,
        B: Behavior,
        F: Fn(A) -> B + Send + Sync + 'static,
    {
        let added = serving::add_factory(&self.settings.factories, (module, function), make);
        self.with_served(added)
    }

    fn with_served(mut self, added: Result<(), ServeError>) -> Self {
        self.settings.mistakes.extend(added.err().map(Into::into));
        self
    }
}
