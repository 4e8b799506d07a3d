//! The settings of applications: rule A11.

use crate::support::Log;
use krarup::NodeError;
use krarup::application::Application;
use krarup::behavior::{Behavior, behavior_fn};
use krarup::prelude::*;
use krarup::settings::Settings;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Way {
    Fast,
    Within { seconds: u32 },
}

fn two() -> u8 {
    2
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
struct Shop {
    port: u16,
    #[serde(default = "two")]
    doors: u8,
    #[serde(default)]
    names: Vec<String>,
    rate: Option<f64>,
    way: Option<Way>,
    #[serde(default)]
    hours: BTreeMap<String, Hours>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
struct Hours {
    open: bool,
    from: Option<i64>,
}

fn tree(log: &Log, settings: &Shop) -> impl Behavior + use<> {
    log.note(format!("{settings:?}"));
    behavior_fn(|mut ctx: Context<()>| async move {
        ctx.initialised();
        ctx.receive().await;
        Ok(())
    })
}

fn shop(log: &Log) -> Application {
    let log = log.clone();
    Application::configured("shop", move |settings: Shop| tree(&log, &settings))
}

fn error(text: &str) -> String {
    let log = Log::new();
    let settings = match Settings::from_toml(text) {
        Ok(settings) => settings,
        Err(error) => return error.to_string(),
    };
    // Also those that are not started with the node.
    let outcome = Simulation::new(1).declare_configured(&settings, [shop(&log).on_request()]);
    assert!(log.lines().is_empty());
    outcome.unwrap_err().to_string()
}

#[test]
fn a11_an_application_takes_what_the_file_says_below_its_name() {
    let text = "
        node.name = 'a@b'
        [application.shop.settings]
        port = 8_080
        names = ['a', 'b']
        rate = 1_0.5
        way = { within = { seconds = 3 } }
        hours.monday = { open = true, from = -1 }
    ";
    let log = Log::new();
    let node = krarup::Node::builder("x");
    drop(node);
    let node =
        krarup::NodeBuilder::from_toml(text).unwrap().application(shop(&log)).start().unwrap();
    let monday = Hours { open: true, from: Some(-1) };
    let read = Shop {
        port: 8080,
        doors: 2,
        names: vec!["a".into(), "b".into()],
        rate: Some(10.5),
        way: Some(Way::Within { seconds: 3 }),
        hours: [("monday".to_owned(), monday)].into(),
    };
    assert_eq!(log.take(), [format!("{read:?}")]);
    // Rule A10: the same settings at each start.
    node.stop_application("shop").wait().unwrap();
    node.start_application("shop").wait().unwrap();
    assert_eq!(log.take(), [format!("{read:?}")]);
    node.stop().wait().unwrap();
}

#[test]
fn a11_errors_name_line_key_and_what_is_allowed() {
    for (text, said) in [
        (
            "[application.shop.settings]\nport = 'x'",
            "line 2: application.shop.settings.port cannot be the text \"x\" (expected u16)",
        ),
        (
            "[application.shop.settings]\nport = 70000",
            "line 2: application.shop.settings.port cannot be 70000 (expected u16)",
        ),
        (
            "[application.shop.settings]\ndoors = 1",
            "line 1: application.shop.settings.port is not set, and has no default",
        ),
        ("", "settings: application.shop.settings.port is not set, and has no default"),
        (
            "[application.shop.settings]\nport = 1\nprot = 2",
            "line 3: unknown key application.shop.settings.prot (known keys: port, doors, names, rate, way, hours)",
        ),
        (
            "[application.shop.settings]\nport = 1\nnames = ['a',\n 2]",
            "line 4: application.shop.settings.names[1] cannot be the number 2 (expected a string)",
        ),
        (
            "[application.shop.settings]\nport = 1\nway = 'slow'",
            "line 3: application.shop.settings.way cannot be \"slow\" (expected one of fast, within)",
        ),
        (
            "[application.shop.settings]\nport = 1\n[application.shop.settings.hours.monday]\nfrom = 1",
            "line 3: application.shop.settings.hours.monday.open is not set, and has no default",
        ),
        (
            "[application.shop]\nport = 1",
            "line 2: unknown key application.shop.port (known keys: settings)",
        ),
        (
            "[application]\nshop = 1",
            "line 2: application.shop cannot be the number 1 (expected a table)",
        ),
        ("application = 1", "line 1: application cannot be the number 1 (expected a table)"),
        (
            "[application.shop]\nsettings = 1",
            "line 2: application.shop.settings cannot be the number 1 (expected a table)",
        ),
        (
            "[application.shop.settings]\nport = 1\n[application.web.settings]\nport = 1",
            "line 3: application.web.settings belongs to no application with settings (known applications: shop)",
        ),
        (
            "[application.shop.settings]\nport = 1\n[application.web]",
            "line 3: application.web.settings belongs to no application with settings (known applications: shop)",
        ),
        (
            "[application.shop]",
            "line 1: application.shop.settings.port is not set, and has no default",
        ),
    ] {
        assert_eq!(error(text), said, "{text}");
    }
}

#[test]
fn a11_one_file_lies_over_another_key_by_key() {
    let base = "[application.shop.settings]\nport = 1\ndoors = 4\nhours.monday.open = true";
    let here = "[application.shop.settings]\nport = 2\nhours.monday.from = 9";
    let settings = Settings::from_toml(here).unwrap().over(Settings::from_toml(base).unwrap());
    let log = Log::new();
    let sim = Simulation::new(1);
    sim.declare_configured(&settings, [shop(&log)]).unwrap();
    sim.start_applications().unwrap();
    assert_eq!(log.count("port: 2, doors: 4"), 1);
    assert_eq!(log.count("Hours { open: true, from: Some(9) }"), 1);
}

#[test]
fn a11_what_the_program_gives_replaces_the_file() {
    let settings = Settings::from_toml("[application.shop.settings]\nport = 'x'").unwrap();
    let given = Shop { port: 3, doors: 1, names: vec![], rate: None, way: None, hours: [].into() };
    let log = Log::new();
    let sim = Simulation::new(1);
    sim.declare_configured(&settings, [shop(&log).settings(given.clone())]).unwrap();
    sim.start_applications().unwrap();
    assert_eq!(log.take(), [format!("{given:?}")]);
    let wrong = Simulation::with_applications(1, [shop(&log).settings(3)]).unwrap_err();
    assert!(matches!(wrong, NodeError::Application(_)));
    let said = "application shop was given settings that are no ";
    assert!(wrong.to_string().starts_with(said), "{wrong}");
    let takes_none = Application::new("shop", || behavior_fn(|_: Context<()>| async { Ok(()) }));
    let error = Simulation::with_applications(1, [takes_none.settings(3)]).unwrap_err();
    assert!(error.to_string().starts_with("application shop takes no settings"), "{error}");
}
