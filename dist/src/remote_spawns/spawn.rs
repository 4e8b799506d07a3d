//! A process that is spawned on another node.

use crate::error::ClusterError;
use crate::one_shot::OneShotReceiver;
use crate::remote_spawns::error::RemoteSpawnError;
use crate::requests::pending_requests::{RequestEnd, RequestKind};
use crate::requests::sending::SentRequest;
use crate::requests::target::RequestTarget;
use crate::requests::under_way::RequestUnderWay;
use krarup_act::{DEFAULT_CALL_TIMEOUT, Pending, Recipient, current_pid, within};
use krarup_wire::etf::ExternalPid;
use serde::Serialize;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// A process of another node that has not been spawned yet; made by
/// [`ClusterCalls::remote_spawn`](crate::ClusterCalls::remote_spawn). Use `.await`, or `.wait()` on a plain thread.
#[must_use = "nothing is spawned until it is awaited or waited for"]
pub struct RemoteSpawn<M> {
    target: Result<RequestTarget, RemoteSpawnError>,
    link: bool,
    limit: Option<Duration>,
    message: PhantomData<fn(M)>,
}

impl<M> RemoteSpawn<M> {
    pub(crate) fn new(target: Result<RequestTarget, RemoteSpawnError>) -> Self {
        let limit = Some(DEFAULT_CALL_TIMEOUT);
        RemoteSpawn { target, link: false, limit, message: PhantomData }
    }

    /// Links the process with the one that spawns it, in one step: no end of either is missed (`spawn_link/4`). If the
    /// one that spawns it gives up before it has the answer, the process gets an exit signal with the reason `abandoned`.
    pub fn link(mut self) -> Self {
        self.link = true;
        self
    }

    /// Sets how long to wait for the answer, the dial included; 5 s by default.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Waits until there is an answer or the connection is lost (`infinity`).
    pub fn no_timeout(mut self) -> Self {
        self.limit = None;
        self
    }
}

impl<M: Serialize + Send + 'static> RemoteSpawn<M> {
    /// Spawns the process, and waits for the answer on a plain thread.
    ///
    /// # Errors
    /// Those of awaiting it, and [`RemoteSpawnError::CannotWait`].
    pub fn wait(self) -> Result<Recipient<M>, RemoteSpawnError> {
        let target = self.target?;
        let host = Arc::clone(&target.core.host);
        Pending::new(host, run(target, self.link, self.limit)).wait()
    }
}

impl<M: Serialize + Send + 'static> IntoFuture for RemoteSpawn<M> {
    type Output = Result<Recipient<M>, RemoteSpawnError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { run(self.target?, self.link, self.limit).await })
    }
}

impl<M> fmt::Debug for RemoteSpawn<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Ok(target) => write!(f, "RemoteSpawn({})", target.named),
            Err(error) => write!(f, "RemoteSpawn({error})"),
        }
    }
}

/// A spawn that is under way. Dropping it gives it up: a process that is linked and that nobody will know is to end.
struct SpawnUnderWay {
    request: RequestUnderWay,
    end: OneShotReceiver<RequestEnd>,
    /// The process that is to be linked.
    linked: Option<ExternalPid>,
}

impl Drop for SpawnUnderWay {
    fn drop(&mut self) {
        if self.request.give_up()
            && let (Some(RequestEnd::Made(process)), Some(from)) = (self.end.close(), &self.linked)
        {
            self.request.core.abandon_linked(from, &process);
        }
    }
}

async fn run<M: Serialize + Send + 'static>(
    target: RequestTarget,
    link: bool,
    limit: Option<Duration>,
) -> Result<Recipient<M>, RemoteSpawnError> {
    let RequestTarget { core, peer, function: what, named: function } = target;
    let caller = current_pid().filter(|pid| pid.node() == 0);
    if link && caller.is_none() {
        return Err(RemoteSpawnError::NotInProcess { function });
    }
    if peer.is_full() {
        return Err(RemoteSpawnError::Full { function });
    }
    let kind = RequestKind::Process { link };
    let SentRequest { number, end } = core.request(&peer, caller, kind, what);
    let request = RequestUnderWay { core: Arc::clone(&core), number };
    let linked = caller.filter(|_| link).map(|caller| core.named(caller));
    let mut spawn = SpawnUnderWay { request, end, linked };
    let in_time = match limit {
        None => Some((&mut spawn.end).await),
        Some(limit) => within(&core.host, limit, &mut spawn.end).await,
    };
    let end = match in_time {
        Some(end) => end,
        // The answer may have come meanwhile: then it is told in a moment.
        None if spawn.request.give_up() => (&mut spawn.end).await,
        None => {
            let limit = limit.unwrap_or_default();
            return Err(RemoteSpawnError::Timeout { function, limit });
        }
    };
    match end {
        Some(RequestEnd::Made(process)) => {
            let stand_in = core.stand_in(&process).ok_or(ClusterError::NotRunning)?;
            Ok(stand_in.recipient())
        }
        Some(RequestEnd::Refused(why)) => {
            Err(RemoteSpawnError::Refused { function, why: why.as_str().to_owned() })
        }
        Some(RequestEnd::NotSupported) => {
            Err(RemoteSpawnError::Refused { function, why: "notsup".to_owned() })
        }
        Some(RequestEnd::Lost | RequestEnd::Ended(_)) => {
            Err(RemoteSpawnError::NoConnection { function })
        }
        None => Err(ClusterError::NotRunning.into()),
    }
}
