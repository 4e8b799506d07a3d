//! A call of a function of another node.

use crate::error::ClusterError;
use crate::functions::exception::TermException;
use crate::requests::pending_requests::{RequestEnd, RequestKind};
use crate::requests::sending::SentRequest;
use crate::requests::target::RequestTarget;
use crate::requests::under_way::RequestUnderWay;
use crate::rpc::arguments::execution;
use crate::rpc::error::RpcError;
use crate::terms::reason::reason_from_term;
use krarup_act::{DEFAULT_CALL_TIMEOUT, Pending, current_pid, within};
use krarup_wire::etf::Term;
use serde::de::DeserializeOwned;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// A call of a function of another node that has not been made yet; made by
/// [`ClusterCalls::rpc`](crate::ClusterCalls::rpc). Use `.await`, or `.wait()` on a plain thread.
#[must_use = "a call does nothing until it is awaited or waited for"]
pub struct RpcCall<R> {
    request: Result<RequestTarget, RpcError>,
    limit: Option<Duration>,
    value: PhantomData<fn() -> R>,
}

impl<R> RpcCall<R> {
    pub(crate) fn new(request: Result<RequestTarget, RpcError>) -> Self {
        RpcCall { request, limit: Some(DEFAULT_CALL_TIMEOUT), value: PhantomData }
    }

    /// Sets how long to wait for the outcome, the dial included; 5 s by default. A function that
    /// is given up may still run on a node of OTP.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Waits until there is an outcome or the connection is lost (`infinity`).
    pub fn no_timeout(mut self) -> Self {
        self.limit = None;
        self
    }
}

impl<R: DeserializeOwned + Send + 'static> RpcCall<R> {
    /// Makes the call, and waits for its outcome on a plain thread.
    ///
    /// # Errors
    /// Those of awaiting it, and [`RpcError::CannotWait`].
    pub fn wait(self) -> Result<R, RpcError> {
        let request = self.request?;
        let host = Arc::clone(&request.core.host);
        Pending::new(host, run(request, self.limit)).wait()
    }
}

impl<R: DeserializeOwned + Send + 'static> IntoFuture for RpcCall<R> {
    type Output = Result<R, RpcError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<R, RpcError>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { run(self.request?, self.limit).await })
    }
}

impl<R> fmt::Debug for RpcCall<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.request {
            Ok(request) => write!(f, "RpcCall({})", request.named),
            Err(error) => write!(f, "RpcCall({error})"),
        }
    }
}

async fn run<R: DeserializeOwned>(
    request: RequestTarget,
    limit: Option<Duration>,
) -> Result<R, RpcError> {
    let RequestTarget { core, peer, function, named } = request;
    if peer.is_full() {
        return Err(RpcError::Full { function: named });
    }
    let caller = current_pid().filter(|pid| pid.node() == 0);
    let mark = Term::from(core.reference(core.host.next_ref()));
    let what = execution(&mark, function);
    let SentRequest { number, mut end } = core.request(&peer, caller, RequestKind::Function, what);
    let under_way = RequestUnderWay { core: Arc::clone(&core), number };
    let end = match limit {
        None => end.await,
        Some(limit) => match within(&core.host, limit, &mut end).await {
            Some(end) => end,
            None => return Err(RpcError::Timeout { function: named, limit }),
        },
    };
    drop(under_way);
    match end {
        None => Err(ClusterError::NotRunning.into()),
        Some(RequestEnd::Lost | RequestEnd::Made(_)) => {
            Err(RpcError::NoConnection { function: named })
        }
        Some(RequestEnd::NotSupported) => {
            Err(RpcError::Refused { function: named, why: "notsup".to_owned() })
        }
        Some(RequestEnd::Refused(why)) => {
            Err(RpcError::Refused { function: named, why: why.as_str().to_owned() })
        }
        Some(RequestEnd::Ended(reason)) => {
            let value = outcome(&mark, &reason, &named)?;
            core.from_term(&value).map_err(|why| RpcError::Value { function: named, why })
        }
    }
}

/// What `erpc:result/4` makes of the reason of the process.
fn outcome(mark: &Term, reason: &Term, named: &str) -> Result<Term, RpcError> {
    let function = named.to_owned();
    if let Term::Tuple(parts) = reason
        && let [found, Term::Atom(class), what @ ..] = &parts[..]
        && found == mark
    {
        let exception = match (class.as_str(), what) {
            ("return", [value]) => return Ok(value.clone()),
            ("throw", [value]) => Some(TermException::throw(value.clone())),
            ("exit", [reason]) => Some(TermException::exit(reason.clone())),
            ("error", [reason]) => Some(TermException::error(reason.clone())),
            ("error", [reason, stack]) => {
                Some(TermException::error(reason.clone()).at(stack.clone()))
            }
            _ => None,
        };
        if let Some(exception) = exception {
            return Err(RpcError::Raised { function, exception });
        }
    }
    match reason {
        Term::Atom(lost) if *lost == "noconnection" => Err(RpcError::NoConnection { function }),
        reason => Err(RpcError::Ended { function, reason: reason_from_term(reason) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zcall10_the_reason_of_the_process_is_read_as_erpc_reads_it() {
        let mark = || Term::Int(9);
        let oops = || Term::atom("oops");
        let class = Term::atom;
        let function = || "m:f/1 on b@sim".to_owned();
        let raised = |exception| Err(RpcError::Raised { function: function(), exception });
        let ended = |reason: &Term| {
            Err(RpcError::Ended { function: function(), reason: reason_from_term(reason) })
        };
        let read = |parts: &[Term]| outcome(&mark(), &Term::tuple(parts.to_vec()), &function());
        assert_eq!(read(&[mark(), class("return"), Term::Int(1)]), Ok(Term::Int(1)));
        assert_eq!(read(&[mark(), class("throw"), oops()]), raised(TermException::throw(oops())));
        assert_eq!(read(&[mark(), class("exit"), oops()]), raised(TermException::exit(oops())));
        assert_eq!(read(&[mark(), class("error"), oops()]), raised(TermException::error(oops())));
        let error = TermException::error(oops()).at(Term::list([oops()]));
        let written = [mark(), class("error"), oops(), Term::list([oops()])];
        assert_eq!(read(&written), raised(error));
        // The mark of another call, and what is no outcome.
        for odd in [
            Term::tuple([Term::Int(8), class("return"), Term::Int(1)]),
            Term::tuple([mark(), class("return")]),
            Term::tuple([mark(), class("other"), Term::Int(1)]),
            Term::atom("killed"),
        ] {
            assert_eq!(outcome(&mark(), &odd, &function()), ended(&odd));
        }
        let lost = Err(RpcError::NoConnection { function: function() });
        assert_eq!(outcome(&mark(), &Term::atom("noconnection"), &function()), lost);
    }
}
