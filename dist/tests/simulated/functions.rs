//! Functions that are called from other nodes, over many seeds of a simulation.

use crate::sim_support::{Choices, Member, members, some_turns};
use krarup_act::{Actor, Context};
use krarup_dist::etf::Term;
use krarup_dist::{ClusterCalls, FunctionCall, RpcError, ServeError, SimNetwork, TermException};
use krarup_gen::Result;
use krarup_node::Simulation;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Counts the functions that run.
#[derive(Clone, Default)]
struct Running(Arc<AtomicUsize>);

struct Place(Running);

impl Running {
    fn enter(&self) -> Place {
        self.0.fetch_add(1, Ordering::SeqCst);
        Place(self.clone())
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn serve(on: &Member) -> Running {
    let running = Running::default();
    on.cluster
        .serve("calc", "divide", |(a, b): (i64, i64)| async move {
            a.checked_div(b).ok_or_else(|| TermException::error(Term::atom("badarith")))
        })
        .unwrap();
    on.cluster
        .serve("calc", "throw", |(ball,): (Term,)| async move {
            Err::<(), _>(TermException::throw(ball))
        })
        .unwrap();
    let inside = running.clone();
    on.cluster
        .serve("calc", "hang", move |(): ()| {
            let place = inside.enter();
            async move {
                std::future::pending::<()>().await;
                drop(place);
                Ok::<(), TermException>(())
            }
        })
        .unwrap();
    on.cluster
        .serve("calc", "panic", |(): ()| async move {
            assert!(std::hint::black_box(false), "boom");
            Ok::<(), TermException>(())
        })
        .unwrap();
    running
}

#[test]
fn zcall8_zcall10_a_served_function_is_called_from_another_node() {
    Simulation::explore(0..50, |sim| {
        let net = SimNetwork::new();
        let [a, b] = members(sim, &net)?;
        serve(&a);
        let call = |function: &str, x: i64, y: i64| {
            b.cluster.rpc::<i64>("a@sim", "calc", function, (x, y)).wait()
        };
        assert_eq!(call("divide", 7, 2), Ok(3));
        let reason = |error: RpcError| match error {
            RpcError::Raised { exception, .. } => exception.to_string(),
            other => other.to_string(),
        };
        assert_eq!(reason(call("divide", 7, 0).unwrap_err()), "error: badarith");
        assert_eq!(reason(call("other", 7, 0).unwrap_err()), "error: undef");
        let thrown = b.cluster.rpc::<()>("a@sim", "calc", "throw", (7,)).wait();
        assert_eq!(reason(thrown.unwrap_err()), "throw: 7");
        let wrong = b.cluster.rpc::<i64>("a@sim", "calc", "divide", ("x", 1)).wait();
        assert_eq!(reason(wrong.unwrap_err()), "error: function_clause");
        let panicked = b.cluster.rpc::<()>("a@sim", "calc", "panic", ()).wait().unwrap_err();
        assert!(reason(panicked.clone()).starts_with("error: {panic,<<\"boom"), "{panicked}");
        let nobody = b.cluster.rpc::<()>("nobody@sim", "calc", "panic", ()).wait();
        assert!(matches!(nobody, Err(RpcError::NoConnection { .. })), "{nobody:?}");
        sim.run_until_idle();
        a.check_clean();
        b.check_clean();
        let [connection] = &a.cluster.connections()?[..] else { panic!() };
        assert_eq!((connection.functions, connection.spawned), (0, 0));
        Ok(())
    });
}

/// Calls a function that does not end.
struct Caller(krarup_dist::ClusterAddress, Duration);

impl Actor for Caller {
    type Message = ();

    async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
        let call = self.0.rpc::<()>("a@sim", "calc", "hang", ());
        let outcome = call.timeout(self.1).await;
        assert!(outcome.is_err());
        ctx.stop();
        Ok(())
    }
}

#[test]
fn zcall8_a_caller_that_gives_up_or_is_lost_ends_the_function() {
    Simulation::explore(0..200, |sim| {
        let (net, choices) = (SimNetwork::new(), Choices(sim));
        let [a, b] = members(sim, &net)?;
        let running = serve(&a);
        let limit = choices.millis(20);
        net.delay(choices.millis(5));
        let (cluster, lost) = (b.cluster.clone(), choices.below(2) == 0);
        let caller = b.node.spawn(move || Caller(cluster, limit)).wait()?;
        caller.send(()).unwrap();
        some_turns(sim, choices.below(200));
        match (lost, choices.below(2)) {
            (true, _) => drop(net.reset("a@sim", "b@sim")),
            (false, 0) => b.node.kill(caller.pid()),
            _ => {}
        }
        sim.advance(Duration::from_secs(30));
        sim.run_until_idle();
        assert_eq!(running.count(), 0);
        for connection in a.cluster.connections()? {
            assert_eq!((connection.functions, connection.spawned), (0, 0));
        }
        let inspection = b.node.inspect(b.cluster.pid()).wait()?;
        assert_eq!(inspection.number("rpcs"), Some(0));
        Ok(())
    });
}

#[test]
fn zcall8_a_function_may_use_the_process_that_runs_it() {
    Simulation::explore(0..100, |sim| {
        let (net, running) = (SimNetwork::new(), Running::default());
        let [a, b] = members(sim, &net)?;
        serve(&b);
        // It asks its caller's node, in a second of the node's time, and has a linked process.
        let inside = running.clone();
        let ask = move |call: FunctionCall, (x,): (i64,)| {
            let place = inside.enter();
            async move {
                let below = call.ctx.spawn(|| Waits(place)).link().await?;
                call.ctx.sleep(Duration::from_secs(1)).await;
                let node = call.node.to_string();
                let back = call.ctx.rpc::<i64>(&node, "calc", "divide", (x, 2)).await?;
                assert!(call.ctx.is_alive(below.pid()));
                Ok::<_, TermException>((node, back))
            }
        };
        a.cluster.serve_with("calc", "ask", ask)?;
        let call = || b.cluster.rpc::<(String, i64)>("a@sim", "calc", "ask", (7,));
        let began = sim.now();
        assert_eq!(call().wait(), Ok(("b@sim".to_owned(), 3)));
        assert!(sim.now().since(began) >= Duration::from_secs(1));
        sim.run_until_idle();
        // The end of a function that returns is a normal one.
        assert_eq!(running.count(), 1);
        // One that is given up ends with what is linked to it.
        let limit = Duration::from_millis(1_500);
        let late = b.cluster.rpc::<(String, i64)>("a@sim", "calc", "ask", (0,)).timeout(limit / 3);
        assert!(matches!(late.wait(), Err(RpcError::Timeout { .. })));
        sim.run_until_idle();
        assert_eq!(running.count(), 1);
        Ok(())
    });
}

struct Waits(#[expect(dead_code, reason = "it is counted until it is dropped")] Place);

impl Actor for Waits {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
}

#[test]
fn zcall7_names_are_served_once_and_can_be_taken_back() {
    Simulation::explore(0..3, |sim| {
        let net = SimNetwork::new();
        let [a] = members(sim, &net)?;
        serve(&a);
        let again = a.cluster.serve("calc", "hang", |(): ()| async { Ok::<_, TermException>(()) });
        assert!(matches!(again, Err(ServeError::Taken { arity: 0, .. })), "{again:?}");
        assert_eq!(a.cluster.unserve("calc", "hang", 0), Ok(true));
        assert_eq!(a.cluster.unserve("calc", "hang", 0), Ok(false));
        let long = "x".repeat(256);
        assert!(matches!(a.cluster.unserve(&long, "hang", 0), Err(ServeError::Name(_))));
        Ok(())
    });
}
