//! Until when the client of a request waits.

use krarup::Timestamp;

/// The extension of a request that has a deadline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitsUntil(pub(crate) Timestamp);

/// The deadline of a request, for the calls that its handler makes (rule Q10).
///
/// A deadline travels by the token of a call and not by the thread (rule H7), so a handler passes it on as a
/// process passes on that of its token, `reply.deadline()`. What is called knows it by its token, and passes
/// it on in turn.
///
/// ```
/// use krarup::{NamedAddress, Reply};
/// use krarup_tonic::{CallStatus, RequestDeadline};
/// use tonic::{Request, Response, Status};
///
/// async fn total(
///     till: &NamedAddress<Reply<u64>, Reply<u64>>,
///     request: Request<()>,
/// ) -> Result<Response<u64>, Status> {
///     let call = till.call(|reply| reply).until(request.deadline());
///     Ok(Response::new(call.await.map_err(CallStatus::from)?))
/// }
/// # let _ = total;
/// ```
///
/// A call by address ends with its handler, and tells its callee if it is said so:
/// `till.call(|reply| Total(reply.until(deadline)))`.
pub trait RequestDeadline {
    /// Until when the client waits, on the clock of the node, if it has said so and a
    /// [`DeadlineLayer`](crate::DeadlineLayer) has read it.
    fn deadline(&self) -> Option<Timestamp>;
}

impl<T> RequestDeadline for tonic::Request<T> {
    fn deadline(&self) -> Option<Timestamp> {
        self.extensions().get::<WaitsUntil>().map(|WaitsUntil(deadline)| *deadline)
    }
}
