//! Applications that are started and stopped from another node: rule Zcall16.

use krarup::application::Application;
use krarup::behavior::behavior_fn;
use krarup::cluster::etf::{Atom, Term};
use krarup::cluster::{
    Cluster, ClusterAddress, ClusterCalls, Cookie, NodeRights, Reach, ServeApplications, SimNetwork,
};
use krarup::prelude::*;
use std::sync::mpsc::channel;
use std::time::Duration;

fn app(name: &str) -> Application {
    let tree = || {
        behavior_fn(|mut ctx: Context<()>| async move {
            ctx.initialised();
            ctx.receive().await;
            Ok(())
        })
    };
    Application::new(name, tree).on_request()
}

fn failing() -> Application {
    let tree =
        || behavior_fn(|_: Context<()>| async move { Result::Err(Reason::error("no room")) });
    Application::new("full", tree).on_request()
}

#[test]
fn zcall16_applications_are_started_listed_and_stopped_from_another_node() {
    Simulation::explore(0..20, |sim| {
        let (net, there) = (SimNetwork::new(), sim.beside("shop@sim")?);
        for application in [app("db"), app("shop").needs("db"), app("own").needs("db"), failing()] {
            there.add_application(application)?;
        }
        let (node, cookie, on) = (there.clone(), Cookie::new("secret")?, net.clone());
        let cluster = move || {
            Cluster::new(cookie).network(&on).serve_applications(&node, ["db", "shop", "full"])
        };
        there.spawn_system(cluster).wait()?;
        let (cookie, on) = (Cookie::new("secret")?, net.clone());
        let here = sim.beside("desk@sim")?;
        let here = here.spawn_system(move || Cluster::new(cookie).network(&on)).wait()?;
        let ask = |function: &str, name: &str| -> Result<String> {
            let name = (Atom::new(name)?,);
            let answer = here.rpc::<Term>("shop@sim", "application", function, name).wait()?;
            Ok(answer.to_string())
        };
        let which = || -> Result<String> {
            let which = here.rpc::<Term>("shop@sim", "application", "which_applications", ());
            Ok(which.wait()?.to_string())
        };
        assert_eq!(which()?, "[]");
        assert_eq!(ask("ensure_all_started", "shop")?, "{ok,[db,shop]}");
        assert_eq!(ask("ensure_all_started", "shop")?, "{ok,[]}");
        assert_eq!(ask("start", "shop")?, "{error,{already_started,shop}}");
        assert_eq!(which()?, "[{db,[],[]},{shop,[],[]}]");
        let needed = "{error,<<\"application db is needed by shop\">>}";
        assert_eq!(ask("stop", "db")?, needed);
        assert_eq!(ask("stop", "shop")?, "ok");
        assert_eq!(ask("stop", "shop")?, "{error,{not_started,shop}}");
        assert_eq!(which()?, "[{db,[],[]}]");
        assert_eq!(ask("start", "shop")?, "ok");
        // What is not there, and what was not named, which runs.
        there.start_application("own").wait()?;
        for name in ["web", "own"] {
            let unknown = format!("<<\"there is no application \\\"{name}\\\"\">>");
            assert_eq!(ask("start", name)?, format!("{{error,{unknown}}}"));
            assert_eq!(ask("stop", name)?, format!("{{error,{{not_started,{name}}}}}"));
            let all = ask("ensure_all_started", name)?;
            assert_eq!(all, format!("{{error,{{{name},{unknown}}}}}"));
        }
        assert_eq!(which()?, "[{db,[],[]},{shop,[],[]}]");
        let full = ask("start", "full")?;
        assert!(
            full.contains("application full did not start") && full.contains("no room"),
            "{full}"
        );
        // The handle that the functions hold keeps the node until it is stopped.
        there.stop().wait()
    });
}

#[test]
fn zcall16_two_that_start_it_at_once_both_get_ok_and_a_policy_leaves_nothing() {
    Simulation::explore(0..20, |sim| {
        let (net, there) = (SimNetwork::new(), sim.beside("shop@sim")?);
        let slow = || {
            behavior_fn(|mut ctx: Context<()>| async move {
                ctx.sleep(Duration::from_secs(3)).await;
                ctx.initialised();
                ctx.receive().await;
                Ok(())
            })
        };
        there.add_application(Application::new("shop", slow).on_request())?;
        let (node, cookie, on) = (there.clone(), Cookie::new("secret")?, net.clone());
        let cluster = move || {
            let none = NodeRights::none().call(Reach::only(["calc"]));
            Cluster::new(cookie)
                .network(&on)
                .serve_applications(&node, ["shop"])
                .policy("thief@*", none)
        };
        there.spawn_system(cluster).wait()?;
        let join = |name: &str| -> Result<(Node, ClusterAddress)> {
            let (node, cookie, on) = (sim.beside(name)?, Cookie::new("secret")?, net.clone());
            let cluster = node.spawn_system(move || Cluster::new(cookie).network(&on)).wait()?;
            Ok((node, cluster))
        };
        let ((_desk, desk), (_thief, thief)) = (join("desk@sim")?, join("thief@sim")?);
        let start = |from: &ClusterAddress| {
            let shop = (Atom::new("shop").unwrap(),);
            from.rpc::<Term>("shop@sim", "application", "start", shop)
        };
        let refused = start(&thief).wait().unwrap_err().to_string();
        assert!(refused.ends_with("raised error: undef"), "{refused}");
        let (told, answers) = channel();
        for _ in 0..2 {
            let (told, call) = (told.clone(), start(&desk));
            let asking = behavior_fn(move |_: Context<()>| async move {
                told.send(call.await.unwrap().to_string()).unwrap();
                Ok(())
            });
            sim.spawn(move || asking).start()?;
        }
        sim.advance(Duration::from_secs(10));
        assert_eq!(answers.try_iter().collect::<Vec<_>>(), ["ok", "ok"]);
        assert_eq!(start(&desk).wait()?.to_string(), "{error,{already_started,shop}}");
        there.stop().wait()
    });
}
