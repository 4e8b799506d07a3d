//! Deadlines of requests, in virtual time, asked by a client of tonic (rule Q10).

mod support;

use krarup::prelude::*;
use krarup::{NamedAddress, NamedCallError, NodeClock, Timestamp};
use krarup_tonic::{CallStatus, DeadlineLayer, MalformedTimeout, RequestDeadline};
use std::error::Error;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;
use support::{Answer, answering, asking, asking_for};
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::{Code, Request, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tower_layer::Layer;

type Ask = Request<HealthCheckRequest>;

/// What a client gets from a service that answers with this function, and how long it takes.
fn ask(
    sim: &Simulation,
    request: Ask,
    answer: impl Fn(Ask) -> Answer + Send + Sync + 'static,
) -> (Result<(), Status>, Duration) {
    let layer = DeadlineLayer::new(sim.node().clock());
    let mut client = HealthClient::new(answering(answer).into_axum_router().layer(layer));
    let start = sim.now();
    let answer = sim.block_on(client.check(request)).unwrap();
    (answer.map(drop), sim.now() - start)
}

/// Sends when it is dropped.
struct Dropped(Sender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[test]
fn q10_a_handler_ends_with_the_deadline_of_its_request() {
    let sim = Simulation::new(1);
    let (dropped, drops) = channel();
    let (answer, took) = ask(&sim, asking_for("any", "50m"), move |_| {
        let dropped = Dropped(dropped.clone());
        Box::pin(async move {
            let _dropped = dropped;
            std::future::pending().await
        })
    });
    let status = answer.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(status.message(), Code::DeadlineExceeded.description());
    assert_eq!(took, Duration::from_millis(50));
    drops.try_recv().unwrap();
}

/// Waits before it polls a response: a layer that queues requests.
#[derive(Clone)]
struct Queued<S>(S, NodeClock);

impl<S: Service<http::Request<Body>, Future: Send + 'static>> Service<http::Request<Body>>
    for Queued<S>
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let (response, waits) = (self.0.call(request), self.1.sleep(Duration::from_millis(30)));
        Box::pin(async move {
            waits.await;
            response.await
        })
    }
}

#[test]
fn q10_the_time_in_which_a_request_waits_counts() {
    let sim = Simulation::new(1);
    let clock = sim.node().clock();
    for (timeout, ends) in [("50m", 50), ("20m", 30)] {
        let routes = answering(|_| Box::pin(std::future::pending())).into_axum_router();
        let service = DeadlineLayer::new(clock.clone()).layer(routes);
        let mut client = HealthClient::new(Queued(service, clock.clone()));
        let start = sim.now();
        let answer = sim.block_on(client.check(asking_for("any", timeout))).unwrap();
        assert_eq!(answer.unwrap_err().code(), Code::DeadlineExceeded);
        assert_eq!(sim.now() - start, Duration::from_millis(ends));
    }
}

#[test]
fn q10_a_request_that_says_no_deadline_has_none() {
    let sim = Simulation::new(1);
    let clock = sim.node().clock();
    let hour = Duration::from_secs(3600);
    let (answer, took) = ask(&sim, asking("any"), move |request| {
        assert_eq!(request.deadline(), None);
        let sleep = clock.sleep(hour);
        Box::pin(async move {
            sleep.await;
            Ok(())
        })
    });
    answer.unwrap();
    assert_eq!(took, hour);
}

#[test]
fn q10_a_handler_that_responds_in_time_is_not_late() {
    let sim = Simulation::new(1);
    let clock = sim.node().clock();
    let (answer, took) = ask(&sim, asking_for("any", "2S"), move |_| {
        let sleep = clock.sleep(Duration::from_secs(1));
        Box::pin(async move {
            sleep.await;
            Err(Status::already_exists("its own"))
        })
    });
    assert_eq!(answer.unwrap_err().code(), Code::AlreadyExists);
    assert_eq!(took, Duration::from_secs(1));
}

#[test]
fn q10_a_timeout_that_is_malformed_is_an_invalid_argument_and_begins_nothing() {
    let sim = Simulation::new(1);
    for value in ["12x", "S", "123456789S", "-1S"] {
        let (answer, _) = ask(&sim, asking_for("any", value), |_| unreachable!("it is begun"));
        let status = answer.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        assert!(status.message().contains(&format!("{value:?}")), "{status}");
    }
}

#[test]
fn q10_a_layer_of_the_server_finds_what_was_malformed() {
    let sim = Simulation::new(1);
    let layer = DeadlineLayer::new(sim.node().clock());
    let routes = answering(|_| unreachable!("it is begun")).into_axum_router();
    let request = http::Request::post("/grpc.health.v1.Health/Check");
    let request = request.header("grpc-timeout", "12x").body(Body::empty()).unwrap();
    let response = sim.block_on(routes.layer(layer).call(request)).unwrap().unwrap();
    let status = response.extensions().get::<Status>().unwrap();
    let source = status.source().and_then(|source| source.downcast_ref::<MalformedTimeout>());
    assert_eq!(source.unwrap().value(), "12x");
}

/// Calls the next process with the deadline of its own caller, and says how that ended and when.
struct Front {
    back: NamedAddress<Reply<()>, Reply<()>>,
    ended: Sender<(bool, Timestamp)>,
}

impl Actor for Front {
    type Message = Reply<()>;

    async fn handle_message(&mut self, ctx: &mut Context<Reply<()>>, reply: Reply<()>) -> Result {
        let answer = self.back.call(|reply| reply).until(reply.deadline()).await;
        let _ = self.ended.send((answer.is_ok(), ctx.now()));
        match answer {
            Ok(()) => reply.send(()),
            Err(NamedCallError::Call { error, .. }) => reply.fail(error),
            Err(_) => {}
        }
        Ok(())
    }
}

/// Says until when it is waited for, and keeps the tokens of its callers.
struct Back {
    told: Sender<Option<Timestamp>>,
    answers: bool,
    kept: Vec<Reply<()>>,
}

impl Actor for Back {
    type Message = Reply<()>;

    async fn handle_message(&mut self, _: &mut Context<Reply<()>>, reply: Reply<()>) -> Result {
        let _ = self.told.send(reply.deadline());
        if self.answers {
            reply.send(());
        } else {
            self.kept.push(reply);
        }
        Ok(())
    }
}

/// Both processes: what the second was told, and how the calls of the first ended.
type Events = (Receiver<Option<Timestamp>>, Receiver<(bool, Timestamp)>);

fn front_and_back(sim: &Simulation, answers: bool) -> Events {
    let (told, tells) = channel();
    let (ended, ends) = channel();
    let back = sim.node().named_address("back").unwrap();
    sim.spawn(move || Back { told, answers, kept: Vec::new() }).name("back").wait().unwrap();
    sim.spawn(move || Front { back, ended }).name("front").wait().unwrap();
    (tells, ends)
}

fn calls_front(sim: &Simulation) -> impl Fn(Ask) -> Answer + Send + Sync + 'static {
    let front: NamedAddress<Reply<()>, Reply<()>> = sim.node().named_address("front").unwrap();
    move |request| {
        let call = front.call(|reply| reply).until(request.deadline()).into_future();
        Box::pin(async move { Ok(call.await.map_err(CallStatus::from)?) })
    }
}

#[test]
fn q10_a_deadline_travels_with_nested_calls() {
    let sim = Simulation::new(1);
    let (tells, ends) = front_and_back(&sim, true);
    let start = sim.now();
    let (answer, _) = ask(&sim, asking_for("any", "2S"), calls_front(&sim));
    answer.unwrap();
    assert_eq!(tells.try_recv().unwrap(), Some(start + Duration::from_secs(2)));
    assert!(ends.try_recv().unwrap().0);
}

#[test]
fn q10_nested_calls_end_by_the_deadline() {
    let sim = Simulation::new(1);
    let (tells, ends) = front_and_back(&sim, false);
    let start = sim.now();
    let (answer, took) = ask(&sim, asking_for("any", "2S"), calls_front(&sim));
    assert_eq!(answer.unwrap_err().code(), Code::DeadlineExceeded);
    assert_eq!(took, Duration::from_secs(2));
    sim.run_until_idle();
    let deadline = start + Duration::from_secs(2);
    assert_eq!(tells.try_recv().unwrap(), Some(deadline));
    assert_eq!(ends.try_recv().unwrap(), (false, deadline));
}
