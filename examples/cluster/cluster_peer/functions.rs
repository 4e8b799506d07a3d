//! The functions and the factory that the driver expects, and no others.

use krarup::cluster::etf::Term;
use krarup::cluster::{
    ClusterAddress, ClusterCalls, HasCluster, ServeError, TermException, TermMessage,
    reason_from_term,
};
use krarup::prelude::*;

/// Serves them.
pub(crate) fn serve(
    cluster: &ClusterAddress,
    slow: Address<TermMessage>,
) -> std::result::Result<(), ServeError> {
    type Outcome = std::result::Result<Term, TermException>;
    let module = "reference";
    cluster.serve(module, "sum", |(numbers,): (Vec<i64>,)| async move {
        Ok(numbers.into_iter().sum::<i64>())
    })?;
    cluster.serve(module, "boom", |(reason,): (Term,)| async move {
        Outcome::Err(TermException::error(reason))
    })?;
    cluster.serve(module, "throw_it", |(value,): (Term,)| async move {
        Outcome::Err(TermException::throw(value))
    })?;
    cluster.serve(module, "exit_it", |(reason,): (Term,)| async move {
        Outcome::Err(TermException::exit(reason))
    })?;
    cluster.serve(module, "wait", move |(millis,): (i64,)| {
        let slow = slow.clone();
        async move {
            let parts = [Term::atom("sleep"), Term::Int(millis), Term::atom("waited")];
            let request = |reply| TermMessage::Call(Term::tuple(parts), reply);
            Ok::<_, TermException>(slow.call(request).no_timeout().await?)
        }
    })?;
    cluster.factory(module, "worker", |(to,): (Term,)| Worker { to })
}

/// Says hello, and ends when it is told to.
struct Worker {
    to: Term,
}

impl Actor for Worker {
    type Message = TermMessage;

    async fn init(&mut self, ctx: &mut Context<TermMessage>) -> Result {
        let cluster = ctx.cluster()?;
        let myself = cluster.pid_term(ctx.pid()).unwrap_or_else(Term::nil);
        let hello = Term::tuple([Term::atom("hello"), myself]);
        cluster.send_or_wait(&self.to, &hello).await.map_err(SendError::without_message)?;
        Ok(())
    }

    async fn handle_message(
        &mut self,
        _: &mut Context<TermMessage>,
        message: TermMessage,
    ) -> Result {
        if let TermMessage::Info(Term::Tuple(parts)) = message
            && let [Term::Atom(stop), reason] = &parts[..]
            && *stop == "stop"
        {
            return Err(reason_from_term(reason));
        }
        Ok(())
    }
}
