//! Settings from variables of the environment: rule X17.

use krarup::application::Application;
use krarup::behavior::behavior_fn;
use krarup::prelude::*;
use krarup::settings::{Settings, SettingsError};
use krarup::{NodeBuilder, NodeError};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::Command;
use std::sync::mpsc::channel;

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Way {
    Fast,
    Within { seconds: u32 },
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
struct Shop {
    port: u16,
    api_key: String,
    #[serde(default)]
    is_open: bool,
    #[serde(default)]
    seed: u64,
    rate: Option<f64>,
    way: Option<Way>,
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    hours: BTreeMap<String, Hours>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
struct Hours {
    from: u8,
    to: u8,
}

const FILE: &str = "
node.name = 'a@b'
[dispatcher.'disk.Slow']
workers = 2
[blocking-pool]
disk-1 = 3
[application.Shop.settings]
port = 1
api-key = 'none'
hours.Monday = { from = 8, to = 18 }
";

fn laid(file: &str, variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    Settings::from_toml(file).unwrap().with_variables("SHOP", variables.iter().copied())
}

/// What the application `Shop` gets, or the error of the node.
fn read(file: &str, variables: &[(&str, &str)]) -> Result<Shop, String> {
    let settings = laid(file, variables).map_err(|error| error.to_string())?;
    let (told, seen) = channel();
    let shop = Application::configured("Shop", move |settings: Shop| {
        told.send(settings).unwrap();
        behavior_fn(|mut ctx: Context<()>| async move {
            ctx.initialised();
            ctx.receive().await;
            Ok(())
        })
    });
    let builder = NodeBuilder::from_settings(&settings).map_err(|error| error.to_string())?;
    let node = builder.application(shop).start();
    let node = node.map_err(|error| match error {
        NodeError::Settings(error) => error.to_string(),
        other => format!("{other:?}"),
    })?;
    node.stop().wait().unwrap();
    Ok(seen.recv().unwrap())
}

#[test]
fn x17_variables_lie_over_the_file_and_are_spelled_as_its_keys() {
    let read = read(
        FILE,
        &[
            ("SHOP__APPLICATION__SHOP__SETTINGS__PORT", "8080"),
            // A text that looks like a number.
            ("SHOP__APPLICATION__SHOP__SETTINGS__API_KEY", "123"),
            ("SHOP__APPLICATION__SHOP__SETTINGS__IS_OPEN", "true"),
            ("SHOP__APPLICATION__SHOP__SETTINGS__RATE", "2"),
            ("SHOP__APPLICATION__SHOP__SETTINGS__WAY", "{ within = { seconds = 3 } }"),
            ("SHOP__APPLICATION__SHOP__SETTINGS__NAMES", "['a', 'b']"),
            ("SHOP__APPLICATION__SHOP__SETTINGS__HOURS__MONDAY__TO", "20"),
            ("SHOP__APPLICATION__SHOP__SETTINGS__HOURS__SUNDAY", "{from = 10, to = 12}"),
            // None of ours.
            ("SHOPS__NODE__NAME", "c@d"),
            ("SHOP_NODE", "c@d"),
            ("PATH", "/bin"),
        ],
    );
    let hours = [("Monday", 8, 20), ("sunday", 10, 12)];
    let hours = hours.map(|(day, from, to)| (day.to_owned(), Hours { from, to })).into();
    // What is secret is not printed with the settings.
    let secret = [("SHOP__APPLICATION__SHOP__SETTINGS__API_KEY", "0123")];
    assert!(!format!("{:?}", laid(FILE, &secret).unwrap()).contains("0123"));
    let expected = Shop {
        port: 8080,
        api_key: "123".to_owned(),
        is_open: true,
        seed: 0,
        rate: Some(2.0),
        way: Some(Way::Within { seconds: 3 }),
        names: vec!["a".to_owned(), "b".to_owned()],
        hours,
    };
    assert_eq!(read, Ok(expected));
}

#[test]
fn x17_the_node_and_its_dispatchers_can_be_set_by_variables() {
    let settings = laid(
        FILE,
        &[
            ("SHOP__NODE__NAME", "7@8"),
            ("SHOP__NODE__STOP_TIMEOUT", "3s"),
            ("SHOP__NODE__BLOCKING_THREADS", "64"),
            ("SHOP__NODE__MAILBOX_ALARM", "off"),
            ("SHOP__NODE__SPANS", "true"),
            ("SHOP__BLOCKING_POOL__DISK_1", "5"),
            ("SHOP__DISPATCHER__DISK_SLOW__THROUGHPUT", "7"),
            ("SHOP__DISPATCHER__DISK_SLOW__STACK_SIZE", "131072"),
            ("SHOP__DISPATCHER__FILES", "disk.Slow"),
            ("SHOP__dispatcher__Own__kind", "pinned"),
        ],
    );
    let written = Settings::from_toml(
        "
        node = { name = '7@8', stop-timeout = '3s', blocking-threads = 64, mailbox-alarm = 'off', spans = true }
        blocking-pool.disk-1 = 5
        dispatcher.'disk.Slow' = { workers = 2, throughput = 7, stack-size = 131072 }
        dispatcher.files = 'disk.Slow'
        dispatcher.own.kind = 'pinned'
        application.Shop.settings = {}
        ",
    );
    let printed = |settings: &Settings| {
        let builder = NodeBuilder::from_settings(settings).unwrap();
        // An alias knows where it was set.
        format!("{builder:?}").replace("the variable SHOP__DISPATCHER__FILES", "line 5")
    };
    assert_eq!(printed(&settings.unwrap()), printed(&written.unwrap()));
}

#[test]
fn x17_keys_that_the_file_does_not_have_are_those_of_the_type() {
    let read = read(
        "node.name = 'a@b'\napplication.Shop.settings = {}",
        &[
            ("SHOP__APPLICATION__SHOP__SETTINGS__PORT", "1"),
            ("SHOP__APPLICATION__SHOP__SETTINGS__API_KEY", ""),
            ("SHOP__APPLICATION__SHOP__SETTINGS__WAY", "fast"),
        ],
    );
    let read = read.unwrap();
    assert_eq!((read.port, read.api_key.as_str(), read.way), (1, "", Some(Way::Fast)));
}

#[test]
fn x17_a_table_in_a_variable_sets_the_keys_that_it_has() {
    let read = read(
        FILE,
        &[
            ("SHOP__NODE", "{ name = 'c@d', stop-timeout = '3s' }"),
            ("SHOP__DISPATCHER__REPORTS", "{ workers = 1 }"),
            ("SHOP__DISPATCHER__REPORTS__SPARE_WORKERS", "0"),
            (
                "SHOP__APPLICATION__SHOP__SETTINGS",
                "{ is-open = true, Seed = 18446744073709551615 }",
            ),
            // Its other key stays as the file has it.
            ("SHOP__APPLICATION__SHOP__SETTINGS__HOURS__MONDAY", "{ to = 20 }"),
            ("SHOP__APPLICATION__SHOP__SETTINGS__HOURS", "{ Sunday = { from = 10, to = 12 } }"),
        ],
    );
    let read = read.unwrap();
    let hours = [("Monday", 8, 20), ("Sunday", 10, 12)];
    let hours = hours.map(|(day, from, to)| (day.to_owned(), Hours { from, to })).into();
    assert_eq!((read.port, read.is_open, read.seed, read.hours), (1, true, u64::MAX, hours));
    let twice = [
        ("SHOP__APPLICATION__SHOP__SETTINGS", "{ port = 1 }"),
        ("SHOP__APPLICATION__SHOP__SETTINGS__PORT", "2"),
    ];
    assert_eq!(
        laid(FILE, &twice).unwrap_err().to_string(),
        "the variable SHOP__APPLICATION__SHOP__SETTINGS__PORT: application.Shop.settings.port is set by the variable \
         SHOP__APPLICATION__SHOP__SETTINGS too"
    );
    assert!(laid(FILE, &[("SHOP__NODE", "{ name = 'c@d'")]).is_err(), "it is no table");
}

#[test]
fn x17_a_line_break_in_a_variable_adds_no_keys() {
    let port = ("SHOP__APPLICATION__SHOP__SETTINGS__PORT", "1\nrate = 2");
    let said = "the variable SHOP__APPLICATION__SHOP__SETTINGS__PORT: application.Shop.settings.port cannot be the text \
                \"1\\nrate = 2\" (expected u16)";
    assert_eq!(read(FILE, &[port]), Err(said.to_owned()));
}

#[test]
fn x17_errors_name_the_variable() {
    let of_node: &[(&[(&str, &str)], &str)] = &[
        (
            &[("SHOP__NODE__BLOCKING_THREADS", "0")],
            "the variable SHOP__NODE__BLOCKING_THREADS: node.blocking-threads cannot be \"0\" (expected a whole \
             number, 1 to 16384)",
        ),
        (
            &[("SHOP__NODE__WORKRES", "1")],
            "the variable SHOP__NODE__WORKRES: unknown key node.workres (known keys: name, blocking-threads, \
             stop-timeout, mailbox-alarm, spans)",
        ),
        (
            &[("SHOP__NODES__X", "1")],
            "the variable SHOP__NODES__X: unknown key nodes (known keys: node, blocking-pool, dispatcher, application)",
        ),
        (
            &[("SHOP__NODE", "x")],
            "the variable SHOP__NODE: node cannot be the text \"x\" (expected a table)",
        ),
        (
            &[("SHOP__NODE", "x"), ("SHOP__NODE__NAME", "y")],
            "the variable SHOP__NODE: node cannot be the text \"x\" (expected a table)",
        ),
        (
            &[("SHOP__NODE__SPANS", "true"), ("SHOP__node__spans", "false")],
            "the variable SHOP__node__spans: node.spans is set by the variable SHOP__NODE__SPANS too",
        ),
        (
            &[("SHOP__BLOCKING_POOL__DISK_1__X", "3")],
            "the variable SHOP__BLOCKING_POOL__DISK_1__X: blocking-pool.disk-1 cannot be a table (expected a whole \
             number, 1 to 16384)",
        ),
        (
            &[("SHOP__", "3")],
            "the variable SHOP__: unknown key  (known keys: node, blocking-pool, dispatcher, application)",
        ),
    ];
    for (variables, said) in of_node {
        let error = laid(FILE, variables).unwrap_err();
        assert_eq!(error.to_string(), *said);
        assert!(variables.iter().any(|(name, _)| error.variable() == Some(name)), "{said}");
        assert_eq!((error.file(), error.line()), (None, None));
    }
}

#[test]
fn x17_errors_of_an_application_name_the_variable() {
    let of_type = [
        (
            "SHOP__APPLICATION__SHOP__SETTINGS__PORT",
            "http",
            "the variable SHOP__APPLICATION__SHOP__SETTINGS__PORT: application.Shop.settings.port cannot be the text \
             \"http\" (expected u16)",
        ),
        (
            "SHOP__APPLICATION__SHOP__SETTINGS__HOURS__MONDAY__FROM",
            "300",
            "the variable SHOP__APPLICATION__SHOP__SETTINGS__HOURS__MONDAY__FROM: \
             application.Shop.settings.hours.Monday.from cannot be 300 (expected u8)",
        ),
        (
            "SHOP__APPLICATION__SHOP__SETTINGS__PROT",
            "1",
            "the variable SHOP__APPLICATION__SHOP__SETTINGS__PROT: unknown key application.Shop.settings.prot (known \
             keys: port, api-key, is-open, seed, rate, way, names, hours)",
        ),
        (
            "SHOP__APPLICATION__SHOP__SETTINGS",
            "port = 1",
            "the variable SHOP__APPLICATION__SHOP__SETTINGS: application.Shop.settings cannot be the text \"port = \
             1\" (expected a table)",
        ),
        // What is wrong inside a value is said of the variable too.
        (
            "SHOP__APPLICATION__SHOP__SETTINGS__HOURS__SUNDAY",
            "{from = 10, to = 12, tooo = 1}",
            "the variable SHOP__APPLICATION__SHOP__SETTINGS__HOURS__SUNDAY: unknown key \
             application.Shop.settings.hours.sunday.tooo (known keys: from, to)",
        ),
        (
            "SHOP__APPLICATION__SHOP__SETTINGS__HOURS__SUNDAY",
            "{from = 300, to = 12}",
            "the variable SHOP__APPLICATION__SHOP__SETTINGS__HOURS__SUNDAY: \
             application.Shop.settings.hours.sunday.from cannot be 300 (expected u8)",
        ),
        (
            "SHOP__APPLICATION__SHOP__SETTINGS__HOURS__SUNDAY",
            "{from = 10}",
            "the variable SHOP__APPLICATION__SHOP__SETTINGS__HOURS__SUNDAY: \
             application.Shop.settings.hours.sunday.to is not set, and has no default",
        ),
        (
            "SHOP__APPLICATION__SHOP__SETTINGS__HOURS__SUNDAY__FROM",
            "10",
            "settings: application.Shop.settings.hours.sunday.to is not set, and has no default",
        ),
        (
            "SHOP__APPLICATION__SHOP__SETTINGS__NAMES",
            "['a', 3]",
            "the variable SHOP__APPLICATION__SHOP__SETTINGS__NAMES: application.Shop.settings.names[1] cannot be the \
             number 3 (expected a string)",
        ),
        (
            "SHOP__APPLICATION__SHOP__SETTINGS__WAY",
            "{ within = { seconds = -3 } }",
            "the variable SHOP__APPLICATION__SHOP__SETTINGS__WAY: application.Shop.settings.way.within.seconds cannot \
             be -3 (expected u32)",
        ),
        (
            "SHOP__APPLICATION__WEB__SETTINGS__PORT",
            "1",
            "the variable SHOP__APPLICATION__WEB__SETTINGS__PORT: application.web.settings belongs to no application \
             with settings (known applications: Shop)",
        ),
    ];
    for (name, value, said) in of_type {
        assert_eq!(read(FILE, &[(name, value)]), Err(said.to_owned()));
    }
}

#[test]
fn x17_a_missing_key_is_missing_in_the_file_and_not_at_a_variable() {
    let port = ("SHOP__APPLICATION__SHOP__SETTINGS__PORT", "1");
    let missing = "application.Shop.settings.api-key is not set, and has no default";
    let none = read("node.name = 'a@b'\napplication.Shop.settings.rate = 1", &[port]);
    assert_eq!(none, Err(format!("line 2: {missing}")));
    // With no table in the file its name is not known either.
    let port = ("SHOP__APPLICATION__Shop__SETTINGS__PORT", "1");
    let none = read("node.name = 'a@b'\napplication.Shop = {}", &[port]);
    assert_eq!(none, Err(format!("line 2: {missing}")));
}

#[test]
fn x17_a_name_that_fits_several_keys_is_an_error_unless_it_is_one_of_them() {
    let file = "dispatcher.disk-a.workers = 1\ndispatcher.'disk.a'.workers = 1\ndispatcher.'x.y'.workers = 1\n\
                dispatcher.x_y.workers = 1";
    let error = laid(file, &[("SHOP__DISPATCHER__DISK_A__WORKERS", "2")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the variable SHOP__DISPATCHER__DISK_A__WORKERS: dispatcher.disk_a can be each of disk-a, disk.a: write the \
         one that is meant exactly as it is"
    );
    for name in ["SHOP__DISPATCHER__disk-a__WORKERS", "SHOP__DISPATCHER__X_Y__WORKERS"] {
        assert!(laid(file, &[(name, "2")]).is_ok(), "{name}");
    }
}

#[test]
fn x17_variables_have_together_the_size_of_a_file() {
    let laid = |size: usize| {
        let many = (0..1024)
            .map(|number| (format!("SHOP__APPLICATION__A__SETTINGS__K{number}"), "x".repeat(size)));
        Settings::default().with_variables("SHOP", many)
    };
    assert!(laid(900).is_ok());
    let error = laid(1024).unwrap_err();
    assert_eq!(error.fault().to_string(), "the settings have more than 1048576 bytes");
}

#[test]
fn x17_a_path_of_many_keys_is_an_error() {
    let name = |keys: usize| format!("SHOP__APPLICATION__SHOP__SETTINGS{}", "__A".repeat(keys - 3));
    let of = |keys| Settings::default().with_variables("SHOP", [(name(keys), "1")]);
    assert!(of(64).is_ok());
    for keys in [65_usize, 100_000] {
        assert_eq!(
            of(keys).unwrap_err().fault().to_string(),
            format!("its name cannot be one of {keys} keys (expected a path of at most 64 keys)")
        );
    }
}

#[cfg(unix)]
#[test]
fn x17_a_value_that_is_not_unicode_is_an_error_and_other_variables_may_be_anything() {
    use std::os::unix::ffi::OsStringExt;

    let bytes = || OsString::from_vec(b"a\xff".to_vec());
    let settings = |name: OsString| Settings::default().with_variables("SHOP", [(name, bytes())]);
    assert!(settings("OTHER".into()).is_ok());
    assert!(settings(bytes()).is_ok());
    let name = OsString::from_vec(b"SHOP__NODE__NAM\xff".to_vec());
    let of_name = Settings::default().with_variables("SHOP", [(name, "a@b")]).unwrap_err();
    assert_eq!(
        of_name.to_string(),
        "the variable SHOP__NODE__NAM\u{fffd}: its name cannot be \"SHOP__NODE__NAM\u{fffd}\" (expected Unicode text)"
    );
    assert_eq!(
        settings("SHOP__NODE__NAME".into()).unwrap_err().to_string(),
        "the variable SHOP__NODE__NAME: NODE__NAME cannot be \"a\u{fffd}\" (expected Unicode text)"
    );
}

/// Set for this program, started anew.
const OF_THE_PROGRAM: &str = "KRARUP_X17__NODE__NAME";

#[test]
fn x17_the_variables_of_the_program_itself_are_read() {
    if std::env::var_os(OF_THE_PROGRAM).is_some() {
        let settings = Settings::default().with_env("KRARUP_X17").unwrap();
        let node = NodeBuilder::from_settings(&settings).unwrap().start().unwrap();
        assert_eq!(node.name(), "seven@eight");
        node.stop().wait().unwrap();
        return;
    }
    let test = "settings_variables::x17_the_variables_of_the_program_itself_are_read";
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args([test, "--exact"]).env(OF_THE_PROGRAM, "seven@eight");
    let ended = program.output().unwrap();
    assert!(ended.status.success() && String::from_utf8_lossy(&ended.stdout).contains("1 passed"));
}
