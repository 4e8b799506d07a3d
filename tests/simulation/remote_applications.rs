//! Applications that are started and stopped from another node: rule Zcall16.

use krarup::application::Application;
use krarup::behavior::behavior_fn;
use krarup::cluster::etf::{Atom, Term};
use krarup::cluster::{Cluster, ClusterCalls, Cookie, ServeApplications, SimNetwork};
use krarup::prelude::*;

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
        for application in [app("db"), app("shop").needs("db"), failing()] {
            there.add_application(application)?;
        }
        let (node, cookie, on) = (there.clone(), Cookie::new("secret")?, net.clone());
        let cluster = move || Cluster::new(cookie).network(&on).serve_applications(&node);
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
        let unknown = "<<\"there is no application \\\"web\\\"\">>";
        assert_eq!(ask("start", "web")?, format!("{{error,{unknown}}}"));
        assert_eq!(ask("stop", "web")?, format!("{{error,{unknown}}}"));
        assert_eq!(ask("ensure_all_started", "web")?, format!("{{error,{{web,{unknown}}}}}"));
        let full = ask("start", "full")?;
        assert!(
            full.contains("application full did not start") && full.contains("no room"),
            "{full}"
        );
        // The handle that the functions hold keeps the node until it is stopped.
        there.stop().wait()
    });
}
