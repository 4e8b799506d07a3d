//! Nodes that are set up by a file: rule X7.

use crate::support::journal::Journal;
use crate::support::{Does, Log, Puppet};
use krarup::behavior::behavior_fn;
use krarup::dispatcher::{Class, DispatcherOptions};
use krarup::prelude::*;
use krarup::{NodeBuilder, NodeError};
use krarup_node::{Settings, SettingsFault};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

const EVERYTHING: &str = r#"
[node]
name = "shop@localhost"
blocking-threads = 64
stop-timeout = "3 s"
mailbox-alarm = 20000
spans = true

[blocking-pool]
disk = 3

[dispatcher.default]
kind = "shared"
workers = 3
spare-workers = 1
throughput = 32
throughput-deadline = "2ms"
long-turn = "off"
stack-size = 131072
classes = false

[dispatcher.own]
kind = "pinned"
throughput = 7
long-turn = "1 s"
stack-size = "1 MiB"

[dispatcher.close]
like = "own"
kind = "calling-thread"

[dispatcher]
other = "own"
"#;

fn page(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// What a builder says of a dispatcher, as it prints it.
fn has(builder: &NodeBuilder, options: &DispatcherOptions) -> bool {
    format!("{builder:?}").contains(&format!("{options:?}"))
}

/// The one dispatcher beside the default one.
fn only(text: &str) -> String {
    let printed = format!("{:?}", NodeBuilder::from_toml(text).unwrap());
    let (_, below) = printed.split_once("below: ").unwrap();
    below.to_owned()
}

#[test]
fn x7_the_page_lists_exactly_the_keys_and_their_values() {
    let page = fs::read_to_string(page("docs/settings.md")).unwrap();
    let rows: BTreeMap<String, String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
        .filter_map(|(key, rest)| Some((key.to_owned(), rest.split_once(" | ")?.0.to_owned())))
        .collect();
    let keys: BTreeMap<String, String> = Settings::keys().collect();
    assert!(keys.len() > 10);
    assert_eq!(rows, keys);
}

#[test]
fn x7_every_key_is_accepted_and_has_its_effect() {
    // Every key is in the text, or is the id itself.
    for (key, _) in Settings::keys() {
        let key = key.rsplit_once('.').unwrap().1;
        assert!(key == "<id>" || EVERYTHING.contains(&format!("{key} = ")), "{key}");
    }
    let builder = NodeBuilder::from_toml(EVERYTHING).unwrap();
    let (ms, second) = (Duration::from_millis(2), Duration::from_secs(1));
    let default = DispatcherOptions::new()
        .workers(3)
        .spare_workers(1)
        .throughput(32)
        .throughput_deadline(ms)
        .no_long_turn()
        .stack_size(131_072)
        .no_classes();
    assert!(has(&builder, &default), "{builder:?}");
    // What they do not say is as of the default one, if it means something to them.
    let own = DispatcherOptions::pinned()
        .throughput(7)
        .throughput_deadline(ms)
        .long_turn(second)
        .stack_size(1 << 20);
    assert!(has(&builder, &own), "{builder:?}");
    let close = DispatcherOptions::calling_thread().throughput(7).throughput_deadline(ms);
    assert!(has(&builder, &close), "{builder:?}");
    let printed = format!("{builder:?}");
    assert!(printed.contains("blocking_threads: 64") && printed.contains("shop@localhost"));
    for says in ["mailbox_alarm: Some(20000)", "spans: true", "[(\"disk\", 3)]"] {
        assert!(printed.contains(says), "{says}: {printed}");
    }
    let node = builder.start().unwrap();
    assert_eq!(format!("{:?}", node.stop()), "NodeStop(shop@localhost, 3s)");
    node.stop().wait().unwrap();
}

#[test]
fn x7_range_ends_are_accepted_and_values_beyond_are_refused() {
    let cases = [
        ("node", "blocking-threads", ["1", "16384"], ["0", "16385"]),
        ("node", "stop-timeout", ["\"0ns\"", "\"24h\""], ["\"-1ns\"", "\"86400001ms\""]),
        ("node", "mailbox-alarm", ["10000", "\"off\""], ["9999", "4294967296"]),
        ("node", "spans", ["true", "false"], ["1", "\"true\""]),
        ("blocking-pool", "disk", ["1", "16384"], ["0", "16385"]),
        ("dispatcher.a", "workers", ["1", "1024"], ["0", "1025"]),
        ("dispatcher.a", "spare-workers", ["0", "1024"], ["-1", "1025"]),
        ("dispatcher.a", "throughput", ["1", "4294967295"], ["0", "4294967296"]),
        ("dispatcher.a", "throughput-deadline", ["\"1ns\"", "\"24h\""], ["\"0ns\"", "\"25h\""]),
        ("dispatcher.a", "long-turn", ["\"1ns\"", "\"24h\""], ["\"0ns\"", "\"25h\""]),
        ("dispatcher.a", "stack-size", ["\"64KiB\"", "\"1GiB\""], ["65535", "1073741825"]),
    ];
    for (table, key, within, beyond) in cases {
        let set = |value: &str| NodeBuilder::from_toml(&format!("[{table}]\n{key} = {value}\n"));
        for value in within {
            assert!(set(value).is_ok(), "{key} = {value}: {:?}", set(value).err());
        }
        for value in beyond {
            let error = set(value).unwrap_err().to_string();
            assert!(error.contains(key), "{key} = {value}: {error}");
        }
    }
}

#[test]
fn x7_missing_settings_are_the_defaults() {
    let builder = NodeBuilder::from_toml("").unwrap();
    assert!(has(&builder, &DispatcherOptions::new()));
    assert!(matches!(builder.start(), Err(NodeError::NoName)));
    let node = NodeBuilder::from_toml("[node]\n[dispatcher.a]\n").unwrap().name("a").start();
    node.unwrap().stop().wait().unwrap();
}

/// A text, the line of its fault, and the beginning of what the error says.
const FAULTS: &[(&str, usize, &str)] = &[
    ("[nodes]", 1, "unknown key nodes (known keys: node, blocking-pool, dispatcher, application)"),
    (
        "name = 'a'",
        1,
        "unknown key name (known keys: node, blocking-pool, dispatcher, application)",
    ),
    ("node = 1", 1, "node cannot be the number 1 (expected a table)"),
    ("\n[[node]]\nname = 'a'", 2, "node cannot be a list (expected a table)"),
    (
        "[node]\n\nnmae = 'a'",
        3,
        "unknown key node.nmae (known keys: name, blocking-threads, stop-timeout, mailbox-alarm, spans)",
    ),
    ("[node]\nname = ''", 2, "node.name cannot be \"\" (expected text of 1 to 255 bytes)"),
    ("[node]\nname = 1979-05-27", 2, "node.name cannot be a date, 1979-05-27 (expected text of"),
    ("node.blocking-threads = 16385", 1, "node.blocking-threads cannot be 16385 (expected a whole"),
    ("node.blocking-threads = 1.0", 1, "node.blocking-threads cannot be a floating-point number"),
    ("dispatcher = 'a'", 1, "dispatcher cannot be the text \"a\" (expected a table)"),
    (
        "[dispatcher]\ndefault = 'a'",
        2,
        "dispatcher.default cannot be the text \"a\" (expected a table)",
    ),
    (
        "[dispatcher]\na = 5",
        2,
        "dispatcher.a cannot be the number 5 (expected a table, or the id of",
    ),
    (
        "[dispatcher]\n'' = 'b'",
        2,
        "the id of a dispatcher cannot be \"\" (expected text of 1 to 255",
    ),
    ("[dispatcher.'a b']\nx = 1", 2, "unknown key dispatcher.\"a b\".x (known keys: kind, like,"),
    (
        "[dispatcher.a]\nworkers = -1",
        2,
        "dispatcher.a.workers cannot be -1 (expected a whole number,",
    ),
    (
        "dispatcher.a.workers = 0x401",
        1,
        "dispatcher.a.workers cannot be 0x401 (expected a whole number",
    ),
    (
        "dispatcher.a.throughput = 99999999999999999999999999999999999999999999",
        1,
        "dispatcher.a.throughput cannot be 99999999999999999999999999999999999999999999 (expected a whole",
    ),
    (
        "dispatcher.a.throughput = 0",
        1,
        "dispatcher.a.throughput cannot be 0 (expected a whole number, 1",
    ),
    ("dispatcher.a.throughput = true", 1, "dispatcher.a.throughput cannot be the boolean true"),
    (
        "dispatcher.a.kind = 'executor'",
        1,
        "dispatcher.a.kind cannot be \"executor\" (expected one of",
    ),
    (
        "dispatcher.a.long-turn = 5",
        1,
        "dispatcher.a.long-turn cannot be the number 5 (expected text: a",
    ),
    (
        "dispatcher.a.long-turn = '0ms'",
        1,
        "dispatcher.a.long-turn cannot be \"0ms\" (expected text: a",
    ),
    (
        "dispatcher.a.long-turn = 'on'",
        1,
        "dispatcher.a.long-turn cannot be \"on\" (expected text: a",
    ),
    (
        "dispatcher.a.stack-size = '1KiB'",
        1,
        "dispatcher.a.stack-size cannot be \"1KiB\" (expected a",
    ),
    (
        "[dispatcher.a]\nkind = 'pinned'\nworkers = 2",
        3,
        "dispatcher.a.workers is not a setting of dispatchers of kind \"pinned\" (only of shared)",
    ),
    (
        "dispatcher.default.kind = 'calling-thread'\n[dispatcher.a]\nstack-size = '1MiB'",
        3,
        "dispatcher.a.stack-size is not a setting of dispatchers of kind \"calling-thread\" \
             (only of shared, pinned)",
    ),
    (
        "[dispatcher.a]\nlike = 'b'",
        2,
        "dispatcher.a.like names the dispatcher \"b\", which is not in the settings",
    ),
    (
        "dispatcher.a.like = 'b'\ndispatcher.b.like = 'a'",
        2,
        "dispatcher.b.like forms a cycle: a -> b -> a",
    ),
    ("dispatcher.a.like = 'a'", 1, "dispatcher.a.like forms a cycle: a -> a"),
    (
        "dispatcher.a.like = 'b'\ndispatcher.b = 'a'",
        1,
        "dispatcher.a.like forms a cycle: a -> b -> a",
    ),
    (
        "dispatcher.a.like = 'b'\ndispatcher.b = 'c'\ndispatcher.c = 'b'",
        1,
        "dispatcher.a.like forms a cycle: a -> b -> c -> b",
    ),
    (
        "dispatcher.a.like = 'b'\ndispatcher.b = 'c'",
        1,
        "dispatcher.a.like names the dispatcher \"c\", which is not in the settings",
    ),
    ("[node]\nname = 'a'\nname = 'b'", 3, "\"name = 'b'\" is not TOML: duplicate key"),
    // The first in the text, not in the alphabet.
    ("dispatcher.z.workers = 0\ndispatcher.a.workers = 0", 1, "dispatcher.z.workers cannot be 0"),
    ("[node\nname = 'a'", 1, "\"[node\" is not TOML: "),
    ("[node]\nname = ", 2, "\"name = \" is not TOML: "),
];

#[test]
fn x7_errors_name_the_line_and_the_allowed_values() {
    for (text, line, says) in FAULTS {
        let error = NodeBuilder::from_toml(text).unwrap_err();
        let said = error.to_string();
        let expected = format!("line {line}: {says}");
        assert!(said.starts_with(&expected), "{text:?}\n{said}\n{expected}");
        assert_eq!(error.line(), Some(*line));
        assert!(error.file().is_none() && said.lines().count() == 1);
    }
}

/// What no key takes, and what only some do.
#[test]
fn x7_each_key_refuses_wrong_values_with_key_and_line() {
    let nothing_takes = [
        "nan",
        "+inf",
        "-inf",
        "1.5",
        "0.0",
        "[]",
        "['a']",
        "1979-05-27",
        "07:32:00",
        "''",
        "-1",
        "-9223372036854775808",
        "99999999999999999999",
        "0xffffffffffffffffff",
        "'-1 s'",
        "' '",
        "'1 S'",
        "'NaN'",
        "'1e3'",
        "'1.5 s'",
        "'1 day'",
        "'\t'",
    ];
    // What a kind of key may take, though others do not.
    let takes = |takes: &str, value: &str| match value {
        // A name may be any text that is not empty.
        _ if takes.starts_with("text of") => value.starts_with('\'') && value != "''",
        "0" => takes.contains("number, 0 to"),
        "true" => takes == "true or false",
        "'off'" => takes.contains("or \"off\""),
        "'0 s'" => takes.contains(", 0 ns to"),
        _ => false,
    };
    let some_take = ["0", "true", "'off'", "'0 s'", "'0'", "'25 h'", "'Shared'", "'1'", "'True'"];
    let mut tried = 0;
    for (key, what) in Settings::keys() {
        let key = key.replace("<id>", "a");
        let values = nothing_takes.iter().chain(&some_take).filter(|value| !takes(&what, value));
        for value in values {
            let text = format!("# one\n\n{key} = {value}\n");
            let error = NodeBuilder::from_toml(&text).unwrap_err();
            let said = error.to_string();
            assert!(said.starts_with(&format!("line 3: {key} cannot be ")), "{text}: {said}");
            assert!(said.contains(&what), "{text}: {said}");
            tried += 1;
        }
        for value in ["{}", "{ x = 1 }"] {
            let text = format!("{key} = {value}");
            let fails = NodeBuilder::from_toml(&text).is_err();
            assert_eq!(fails, !(key == "dispatcher.a" && value == "{}"), "{text}");
        }
        // Keys are written as they are.
        let (table, last) = key.rsplit_once('.').unwrap();
        for wrong in
            [last.to_uppercase(), format!("{last}s"), format!(" {last}"), last.replace('-', "_")]
        {
            if wrong == last || table == "dispatcher" || table == "blocking-pool" {
                continue;
            }
            let text = format!("[{table}]\n\"{wrong}\" = 1");
            let said = NodeBuilder::from_toml(&text).unwrap_err().to_string();
            let named = [format!("{table}.{wrong} "), format!("{table}.{wrong:?} ")];
            assert!(said.starts_with("line 2: unknown key "), "{text}: {said}");
            assert!(named.iter().any(|named| said.contains(named.as_str())), "{text}: {said}");
        }
        // Twice is once too often.
        let said = NodeBuilder::from_toml(&format!("{key} = 1\n{key} = 1")).unwrap_err();
        assert!(matches!(said.fault(), SettingsFault::NoToml { .. }), "{said}");
        assert_eq!(said.line(), Some(2));
    }
    assert!(tried > 300, "{tried}");
}

#[test]
fn x7_ids_and_names_have_bounds_and_are_there_once() {
    let long = "x".repeat(256);
    for (text, line, says) in [
        (format!("[dispatcher.{long}]\nworkers = 1"), 1, "the id of a dispatcher cannot be \"x"),
        (format!("dispatcher.a = '{long}'"), 1, "dispatcher.a cannot be \"x"),
        (format!("[node]\nname = '{long}'"), 2, "node.name cannot be \"x"),
        ("[dispatcher.a]\n[dispatcher.a]".to_owned(), 2, "\"[dispatcher.a]\" is not TOML: "),
        ("[dispatcher]\na = 'b'\n[dispatcher.a]".to_owned(), 3, "\"[dispatcher.a]\" is not TOML: "),
        ("[node]\n[node]".to_owned(), 2, "\"[node]\" is not TOML: "),
        (
            "[Node]\nname = 'a'".to_owned(),
            1,
            "unknown key Node (known keys: node, blocking-pool, dispatcher, application)",
        ),
        ("[dispatcher.'']\nworkers = 1".to_owned(), 1, "the id of a dispatcher cannot be \"\""),
        ("[blocking-pool]\n'' = 1".to_owned(), 2, "the id of a pool cannot be \"\""),
        ("[blocking-pool]\na = 'b'".to_owned(), 2, "blocking-pool.a cannot be the text \"b\""),
        ("blocking-pool = 1".to_owned(), 1, "blocking-pool cannot be the number 1"),
    ] {
        let said = NodeBuilder::from_toml(&text).unwrap_err().to_string();
        assert!(said.starts_with(&format!("line {line}: {says}")), "{text}: {said}");
    }
    // What is long is shown by its beginning, and a circle by its way.
    let said = NodeBuilder::from_toml(&format!("node.name = '{long}'")).unwrap_err().to_string();
    assert!(said.contains(&format!("cannot be \"{}..\" (", "x".repeat(60))), "{said}");
    let circle = NodeBuilder::from_toml("dispatcher.a.like = 'b'\ndispatcher.b = 'a'").unwrap_err();
    assert!(circle.to_string().ends_with("forms a cycle: a -> b -> a"), "{circle}");
    // Ids are told apart by their case: this one is no default.
    let said = NodeBuilder::from_toml("[dispatcher.Default]\nlike = 'Shared'").unwrap_err();
    assert!(said.to_string().contains("names the dispatcher \"Shared\", which is not in"));
}

#[test]
fn x7_no_setting_takes_effect_before_the_whole_file_is_valid() {
    let right = format!("{EVERYTHING}\n[dispatcher.last]\n");
    let settings = Settings::from_toml(&right).unwrap();
    let before = format!("{:?}", NodeBuilder::from_settings(&settings).unwrap());
    // The last line is wrong: of what stood before it nothing is seen.
    let error = Settings::from_toml(&format!("{right}workers = 0")).unwrap_err();
    assert!(error.to_string().contains("dispatcher.last.workers cannot be 0"), "{error}");
    // Wrong only in what the two come to.
    let pinned = Settings::from_toml("dispatcher.default.kind = 'pinned'").unwrap();
    let both = pinned.over(settings.clone());
    assert!(NodeBuilder::from_settings(&both).is_err());
    assert_eq!(format!("{:?}", NodeBuilder::from_settings(&settings).unwrap()), before);
}

/// Whether a high one goes before a normal one that was ready before it, where both wait for the
/// one worker.
fn high_goes_first(settings: &str) -> bool {
    let text = format!("node.name = 'n'\n[dispatcher.default]\nworkers = 1\n{settings}");
    let node = NodeBuilder::from_toml(&text).unwrap().start().unwrap();
    let spawn = |class| {
        let puppet = Puppet::new("p", &Log::new());
        node.spawn(move || puppet).class(class).wait().unwrap()
    };
    let busy = spawn(Class::Normal);
    let (normal, high) = (spawn(Class::Normal), spawn(Class::High));
    let (tell, told) = std::sync::mpsc::channel();
    let tells = |high: bool| {
        let tell = tell.clone();
        move |_: &mut Context<crate::support::Act>| tell.send(high).unwrap()
    };
    let (first, second) = (tells(false), tells(true));
    // Both are made ready in one turn of a third, and nobody else has any to do with them.
    assert!(busy.tells(move |_| assert!(normal.tells(first) && high.tells(second))));
    let order = [told.recv().unwrap(), told.recv().unwrap()];
    node.stop().wait().unwrap();
    order == [true, false]
}

#[test]
fn x7_classes_can_be_switched_off() {
    assert!(high_goes_first(""));
    assert!(high_goes_first("classes = true"));
    assert!(!high_goes_first("classes = false"));
}

#[test]
fn x7_the_stop_timeout_counts_for_every_stop() {
    let settings = "node.name = 'n'\nnode.stop-timeout = '1 ms'";
    let log = Log::new();
    let noted = log.clone();
    let late = Journal::new(
        |event| event.fields().field("timeout").is_some(),
        move |fields| {
            let timeout = fields.iter().find(|(name, _)| *name == "timeout");
            noted.note(timeout.map_or("", |(_, time)| time));
        },
    );
    // A node stops on a thread of its own. No other test here has processes that do not end.
    tracing::subscriber::set_global_default(late).unwrap();
    for how in ["stop", "with", "drop"] {
        let node = NodeBuilder::from_toml(settings).unwrap().start().unwrap();
        let (told, ended) = std::sync::mpsc::channel::<()>();
        let endless = node
            .spawn(move || {
                krarup::behavior::behavior_fn(move |mut ctx: Context<()>| async move {
                    // It is asked to stop in order, and never does: only a kill ends it.
                    ctx.stop_in_order();
                    ctx.initialised();
                    let _told = told;
                    std::future::pending::<()>().await;
                    Ok(())
                })
            })
            .wait()
            .unwrap();
        match how {
            "stop" => node.stop().wait().unwrap(),
            "with" => {
                let mortal = node.spawn(|| Puppet::new("p", &Log::new())).wait().unwrap();
                node.stop_with(mortal.pid()).unwrap();
                node.kill(mortal.pid());
                assert!(ended.recv().is_err());
                node.stop().wait().unwrap();
            }
            _ => drop(node),
        }
        assert!(ended.recv().is_err());
        assert_eq!(log.take(), ["1ms"], "{how}");
        drop(endless);
    }
    // The program counts more than the file, and the stop more than both.
    let node = NodeBuilder::from_toml(settings).unwrap().stop_timeout(Duration::ZERO).start();
    let node = node.unwrap();
    assert_eq!(format!("{:?}", node.stop()), "NodeStop(n, 0ns)");
    node.stop().timeout(Duration::from_secs(5)).wait().unwrap();
}

#[test]
fn x7_the_settings_are_reported_when_the_node_starts() {
    let log = Log::new();
    let noted = log.clone();
    let told = Journal::new(
        |event| *event.level() == tracing::Level::DEBUG,
        move |fields| {
            let line = fields.iter().map(|(name, value)| format!("{name}={value} "));
            noted.note(line.collect::<String>());
        },
    );
    let builder = NodeBuilder::from_toml(EVERYTHING).unwrap();
    let node = tracing::subscriber::with_default(told, || builder.start().unwrap());
    node.stop().wait().unwrap();
    let lines = log.take();
    let starts: Vec<_> = lines.iter().filter(|line| line.contains("the node starts")).collect();
    assert_eq!(starts.len(), 1, "{lines:?}");
    let own = format!("{:?}", Duration::from_secs(3));
    let limits = ["blocking_threads=64", "blocking_pools=[(\"disk\", 3)]"];
    let watch = ["mailbox_alarm=Some(20000)", "spans=true"];
    let parts = ["name=shop@localhost", &own, "131072", "\"close\""];
    for part in parts.into_iter().chain(limits).chain(watch) {
        assert!(starts[0].contains(part), "{part} in {starts:?}");
    }
}

#[test]
fn x7_a_file_is_named_that_cannot_be_read_or_is_wrong() {
    let folder = std::env::temp_dir().join(format!("krarup-settings-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("node.toml");
    let fails = |path: &Path| NodeBuilder::settings_from(path).unwrap_err();

    let missing = fails(&file);
    assert!(matches!(missing.fault(), SettingsFault::Unreadable(_)));
    assert!(missing.source().is_some() && missing.file() == Some(&file));
    assert!(missing.to_string().contains("node.toml: the file cannot be read: "), "{missing}");
    assert!(matches!(fails(&folder).fault(), SettingsFault::Unreadable(_)));

    fs::write(&file, b"[node]\nname = \"\xff\"").unwrap();
    assert!(matches!(fails(&file).fault(), SettingsFault::Unreadable(_)));
    // A mebibyte is read, and a byte more is refused: of a file, and of a text.
    let limit = 1 << 20;
    let comment = format!("#{}", "x".repeat(limit - 1));
    fs::write(&file, &comment).unwrap();
    assert!(Settings::read(&file).is_ok() && Settings::from_toml(&comment).is_ok());
    fs::write(&file, format!("{comment}\n")).unwrap();
    let long = fails(&file);
    assert!(matches!(long.fault(), SettingsFault::TooLong { limit: 1_048_576 }));
    assert_eq!((long.file(), long.line(), long.source().is_none()), (Some(&*file), None, true));
    let says = "node.toml: the settings have more than 1048576 bytes";
    assert!(long.to_string().ends_with(says), "{long}");
    let text = Settings::from_toml(&format!("{comment}\n")).unwrap_err();
    assert_eq!(text.to_string(), "settings: the settings have more than 1048576 bytes");
    fs::write(&file, "# much\n".repeat(200_000)).unwrap();
    assert!(matches!(fails(&file).fault(), SettingsFault::TooLong { .. }));
    fs::write(&file, "[node]\nname = 1").unwrap();
    assert!(fails(&file).to_string().contains("node.toml:2: node.name cannot be the number 1"));

    fs::write(&file, EVERYTHING.replace('\n', "\r\n")).unwrap();
    let node = NodeBuilder::settings_from(&file).unwrap().start().unwrap();
    assert_eq!(node.name(), "shop@localhost");
    node.stop().wait().unwrap();
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn x7_missing_settings_come_from_like_and_then_from_default() {
    let text = "
        [dispatcher.default]
        throughput = 1
        long-turn = '1s'
        workers = 9
        [dispatcher.c]
        throughput-deadline = '3ms'
        throughput = 3
        [dispatcher.b]
        like = 'name-of-c'
        throughput = 2
        [dispatcher]
        name-of-c = 'c'
        ";
    let says = |more: &str| {
        let builder = NodeBuilder::from_toml(&format!("{text}\n[dispatcher.a]\n{more}")).unwrap();
        move |options: DispatcherOptions| {
            assert!(has(&builder, &options), "{builder:?}\n{options:?}");
        }
    };
    let (second, ms) = (Duration::from_secs(1), Duration::from_millis(3));
    let below = || DispatcherOptions::new().workers(9).long_turn(second);
    says("")(below().throughput(1));
    says("like = 'c'")(below().throughput(3).throughput_deadline(ms));
    says("like = 'b'")(below().throughput(2).throughput_deadline(ms));
    says("like = 'b'\nthroughput-deadline = 'off'\nworkers = 4")(below().throughput(2).workers(4));
    says("like = 'default'\nlong-turn = 'off'")(below().throughput(1).no_long_turn());
    // Workers mean nothing to a pinned one, and are none of its own.
    says("like = 'b'\nkind = 'pinned'")(
        DispatcherOptions::pinned().throughput(2).throughput_deadline(ms).long_turn(second),
    );
    // The default one may be like another, and all others are then.
    let chain = "
        dispatcher.default.like = 'base'
        dispatcher.base.throughput = 5
        dispatcher.base.like = 'deep'
        dispatcher.deep.workers = 7
        dispatcher.deep.throughput = 6
        [dispatcher.a]
        ";
    let builder = NodeBuilder::from_toml(chain).unwrap();
    let printed = format!("{builder:?}");
    let a = format!("(\"a\", Own({:?}))", DispatcherOptions::new().workers(7).throughput(5));
    assert!(printed.contains(&a), "{printed}");
    // Without a default table it is like, there is nothing to be like.
    assert!(
        only("dispatcher.a.like = 'default'").contains(&format!("{:?}", DispatcherOptions::new()))
    );
    // Also by another name.
    assert!(
        only("dispatcher.a.like = 'z'\ndispatcher.z = 'default'")
            .contains(&format!("{:?}", DispatcherOptions::new()))
    );
}

#[test]
fn x7_like_follows_aliases() {
    let chain = "
        dispatcher.name-of-b = 'b'
        dispatcher.b.throughput = 2
        dispatcher.b.like = 'name-of-c'
        dispatcher.name-of-c = 'another'
        dispatcher.another = 'c'
        dispatcher.c.like = 'd'
        dispatcher.d.throughput = 4
        dispatcher.d.workers = 4
        dispatcher.a.like = 'name-of-b'
        ";
    let builder = NodeBuilder::from_toml(chain).unwrap();
    let printed = format!("{builder:?}");
    let a = format!("(\"a\", Own({:?}))", DispatcherOptions::new().throughput(2).workers(4));
    assert!(printed.contains(&a), "{printed}");
}

/// The way is told to where it closes, and no further.
#[test]
fn x7_a_cycle_is_found_also_through_aliases_and_the_default() {
    let cases = [
        ("a.like = 'b'\nb = 'a'", 1, "a.like", "a -> b -> a"),
        ("a.like = 'b'\nb.like = 'c'\nc = 'a'", 2, "b.like", "a -> b -> c -> a"),
        ("a.like = 'b'\nb = 'c'\nc.like = 'a'", 3, "c.like", "a -> b -> c -> a"),
        ("a.like = 'b'\nb = 'c'\nc.like = 'b'", 3, "c.like", "a -> b -> c -> b"),
        ("a.like = 'default'\ndefault.like = 'a'", 2, "default.like", "a -> default -> a"),
        ("default.like = 'z'\nz = 'default'", 1, "default.like", "default -> z -> default"),
    ];
    for (text, line, key, way) in cases {
        let error =
            NodeBuilder::from_toml(&format!("dispatcher.{}", text.replace('\n', "\ndispatcher.")));
        let says = format!("line {line}: dispatcher.{key} forms a cycle: {way}");
        assert_eq!(error.unwrap_err().to_string(), says, "{text}");
    }
}

#[test]
fn x7_one_file_lies_over_another_key_by_key() {
    let settings = |text| Settings::from_toml(text).unwrap();
    let base = "
        [node]
        name = 'base'
        blocking-threads = 7
        [dispatcher]
        x = 'a'
        y = 'a'
        a = { workers = 2, throughput = 2 }
        ";
    let over = "
        node.name = 'over'
        [dispatcher]
        x = { workers = 5 }
        y = 'x'
        a = { workers = 3 }
        ";
    let both = settings(over).over(settings(base));
    assert_eq!(both.dispatchers().collect::<Vec<_>>(), ["a", "x", "y"]);
    assert_eq!((both.alias("x"), both.alias("y"), both.alias("z")), (None, Some("x"), None));
    let builder = NodeBuilder::from_settings(&both).unwrap();
    assert!(has(&builder, &DispatcherOptions::new().workers(3).throughput(2)), "{builder:?}");
    assert!(has(&builder, &DispatcherOptions::new().workers(5)));
    let printed = format!("{builder:?}");
    assert!(printed.contains("\"over\"") && printed.contains("blocking_threads: 7"), "{printed}");
    // What only one of them has is there, whichever that is.
    let [one, other] =
        ["[dispatcher.a]\nworkers = 2", "node.name = 'b'\n[dispatcher.b]\nworkers = 4"];
    for both in [settings(one).over(settings(other)), settings(other).over(settings(one))] {
        assert_eq!(both.dispatchers().collect::<Vec<_>>(), ["a", "b"]);
        let builder = NodeBuilder::from_settings(&both).unwrap();
        assert!([2, 4].iter().all(|n| has(&builder, &DispatcherOptions::new().workers(*n))));
        assert!(format!("{builder:?}").contains("\"b\""));
    }
    // What is wrong only in both together has the line of the file that says it.
    let pinned = settings("\n\n[dispatcher.a]\nkind = 'pinned'").over(settings(base));
    let error = NodeBuilder::from_settings(&pinned).unwrap_err();
    assert_eq!(error.line(), Some(8), "{error}");
}

#[test]
fn x7_the_program_overrides_the_file() {
    let builder = || NodeBuilder::from_toml(EVERYTHING).unwrap();
    // Of the default dispatcher one option alone.
    let default = DispatcherOptions::new().spare_workers(1).throughput(32).no_long_turn();
    let default = default.throughput_deadline(Duration::from_millis(2)).stack_size(131_072);
    assert!(has(&builder().workers(1), &default.no_classes().workers(1)));
    let node = builder()
        .name("mine")
        .workers(1)
        .dispatcher("own", DispatcherOptions::new().workers(1))
        .dispatcher("special", DispatcherOptions::calling_thread())
        .dispatcher_alias("close", "special")
        .start()
        .unwrap();
    assert_eq!(node.name(), "mine");
    let told = |dispatcher: &str| {
        let puppet = Puppet::new("p", &Log::new());
        node.spawn(move || puppet).dispatcher(dispatcher).wait().unwrap().info().dispatcher
    };
    // The other name in the file follows.
    assert_eq!(["own", "other", "close"].map(told), ["own", "own", "special"]);
    let workers = |name| node.stats().dispatcher(name).map(|stats| stats.workers);
    assert_eq!((workers("own"), workers("default")), (Some(1), Some(1)));
    node.stop().wait().unwrap();
    let twice = builder()
        .dispatcher("own", DispatcherOptions::new())
        .dispatcher_alias("own", "default")
        .start();
    assert!(matches!(twice, Err(NodeError::DispatcherTwice(name)) if name == "own"));
}

/// The names of the threads on which work of a pool runs.
fn thread_of(node: &Node, pool: &'static str) -> Result<String, Reason> {
    let (told, tells) = channel();
    let asks = behavior_fn(move |ctx: Context<()>| async move {
        let name = || std::thread::current().name().map(ToOwned::to_owned);
        let _ = told.send(ctx.block_in(pool, name).await);
        Ok(())
    });
    node.spawn(move || asks).start().unwrap();
    tells.recv().unwrap().map(Option::unwrap_or_default)
}

#[test]
fn x7_the_pools_of_side_threads_can_be_set_and_the_program_overrides_each() {
    let settings = |text| Settings::from_toml(text).unwrap();
    let base = settings("node.name = 'pools'\n[blocking-pool]\ndisk = 2\nmail = 3");
    let both = settings("blocking-pool.disk = 5\nblocking-pool.log = 1").over(base);
    assert_eq!(both.blocking_pools().collect::<Vec<_>>(), ["disk", "log", "mail"]);
    let builder = || NodeBuilder::from_settings(&both).unwrap();
    let printed = format!("{:?}", builder());
    assert!(printed.contains("[(\"disk\", 5), (\"log\", 1), (\"mail\", 3)]"), "{printed}");
    // The program's own has another size, and those of the file are there beside it.
    let node = builder().blocking_pool("disk", 1).blocking_pool("own", 1).start().unwrap();
    for pool in ["disk", "log", "mail", "own"] {
        assert_eq!(thread_of(&node, pool).unwrap(), format!("pools-block-{pool}-0"));
    }
    assert!(thread_of(&node, "tape").is_err());
    node.stop().wait().unwrap();
    let twice = builder().blocking_pool("disk", 1).blocking_pool("disk", 2).start();
    assert!(matches!(twice, Err(NodeError::BlockingPoolTwice(pool)) if pool == "disk"));
    let sim = Simulation::new(1);
    both.blocking_pools().for_each(|pool| sim.add_blocking_pool(pool).unwrap());
}

#[test]
fn x7_an_alias_is_the_same_dispatcher_and_one_without_a_target_is_an_error() {
    let node = Node::builder("names")
        .dispatcher("own", DispatcherOptions::new().workers(1))
        .dispatcher_alias("first", "second")
        .dispatcher_alias("second", "own")
        .dispatcher_alias("third", "default")
        .start()
        .unwrap();
    let processes = ["first", "second", "own", "third"].map(|dispatcher| {
        let puppet = Puppet::new("p", &Log::new());
        node.spawn(move || puppet).dispatcher(dispatcher).wait().unwrap()
    });
    let told = processes.map(|process| process.info().dispatcher);
    assert_eq!(told, ["own", "own", "own", "default"]);
    let mut names: Vec<_> = node.stats().dispatchers.into_iter().map(|stats| stats.name).collect();
    names.sort();
    assert_eq!(names, ["default", "own"]);
    node.stop().wait().unwrap();

    // An executor, say, that only the program has.
    let file = || NodeBuilder::from_toml("node.name = 'n'\n[dispatcher]\na = 'special'").unwrap();
    let error = file().start().unwrap_err();
    assert_eq!(
        error.to_string(),
        "dispatcher alias \"a\" stands for \"special\", which is not a dispatcher (line 3)"
    );
    let special = file().dispatcher("special", DispatcherOptions::calling_thread()).start();
    special.unwrap().stop().wait().unwrap();
    let default = Node::builder("n").dispatcher_alias("default", "b").start();
    let error = default.unwrap_err();
    assert!(matches!(error, NodeError::DispatcherTwice(_)));
    let said = "dispatcher \"default\" is configured twice (each node has one named \"default\")";
    assert_eq!(error.to_string(), said);
}

#[test]
fn x7_aliases_that_stand_for_each_other_are_named_as_a_cycle() {
    let error = |aliases: &[(&str, &str)]| {
        let builder = aliases
            .iter()
            .fold(Node::builder("n"), |builder, (alias, of)| builder.dispatcher_alias(*alias, *of));
        builder.start().unwrap_err().to_string()
    };
    assert_eq!(
        error(&[("p", "q"), ("q", "p")]),
        "dispatcher alias \"p\" leads into a cycle of aliases: \"p\" -> \"q\" -> \"p\""
    );
    assert_eq!(
        error(&[("own", "own")]),
        "dispatcher alias \"own\" leads into a cycle of aliases: \"own\" -> \"own\""
    );
    // One that is not in the cycle.
    assert_eq!(
        error(&[("a", "r"), ("r", "q"), ("q", "p"), ("p", "r")]),
        "dispatcher alias \"a\" leads into a cycle of aliases: \"p\" -> \"r\" -> \"q\" -> \"p\""
    );
    let file = "node.name = 'n'\n[dispatcher]\nb = 'c'\nc = 'b'";
    let circle = NodeBuilder::from_toml(file).unwrap().start().unwrap_err();
    assert!(matches!(&circle, NodeError::AliasCycle { alias, .. } if alias == "b"), "{circle}");
    assert!(circle.to_string().ends_with("\"c\" -> \"b\" (line 3)"), "{circle}");
}

#[test]
fn x7_settings_can_be_a_part_of_others_in_any_format() {
    let text = r#"{ "node": { "name": "json" }, "dispatcher": { "a": { "workers": 2 } } }"#;
    let settings: Settings = serde_json::from_str(text).unwrap();
    let builder = NodeBuilder::from_settings(&settings).unwrap();
    assert!(has(&builder, &DispatcherOptions::new().workers(2)));
    let text = r#"{ "dispatcher": { "a": { "workers": 0 } } }"#;
    let error = serde_json::from_str::<Settings>(text).unwrap_err().to_string();
    assert!(
        error.contains("dispatcher.a.workers cannot be 0 (expected a whole number, 1 to"),
        "{error}"
    );
    for text in
        ["[]", "null", "1", "{\"node\": null}", "{\"node\": {\"name\": [{}]}}", "{\"x\":{}}"]
    {
        assert!(serde_json::from_str::<Settings>(text).is_err(), "{text}");
    }
}

#[test]
fn x7_the_file_of_the_example_can_be_simulated_too() {
    let settings = Settings::read(page("examples/15_settings.toml")).unwrap();
    let _ = NodeBuilder::from_settings(&settings).unwrap();
    let sim = Simulation::new(1);
    settings.dispatchers().for_each(|name| sim.add_dispatcher(name));
    for name in ["reports", "shop.files", "default"] {
        let puppet = Puppet::new("p", &Log::new());
        sim.spawn(move || puppet).dispatcher(name).wait().unwrap();
    }
}

/// A change that somebody may make by mistake, or to do harm.
#[derive(Clone, Debug)]
enum Change {
    Remove(prop::sample::Index, usize),
    Insert(prop::sample::Index, String),
    Double(prop::sample::Index, usize),
    SwapLines(prop::sample::Index, prop::sample::Index),
    Number(prop::sample::Index, i128),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    let tokens = prop::sample::select(vec![
        "[",
        "]",
        "[[",
        "]]",
        "=",
        ".",
        "\"",
        "'",
        "'''",
        "{",
        "}",
        ",",
        "\n",
        "\r",
        "\0",
        "#",
        "-",
        "nan",
        "inf",
        "true",
        "1e9",
        "0x",
        "\u{feff}",
        "å",
        "💥",
        "like = 'own'",
        "[dispatcher.",
        "kind = 'pinned'",
        "1979-05-27",
        "\\u0000",
        "\"\\uD800\"",
    ]);
    prop_oneof![
        (at(), 0..20_usize).prop_map(|(at, count)| Change::Remove(at, count)),
        (at(), tokens.prop_map(str::to_owned)).prop_map(|(at, text)| Change::Insert(at, text)),
        (at(), ".{0,8}").prop_map(|(at, text)| Change::Insert(at, text)),
        (at(), 0..60_usize).prop_map(|(at, count)| Change::Double(at, count)),
        (at(), at()).prop_map(|(one, other)| Change::SwapLines(one, other)),
        (at(), any::<i128>()).prop_map(|(at, number)| Change::Number(at, number)),
    ]
}

fn changed(text: &str, change: &Change) -> String {
    let letters: Vec<char> = text.chars().collect();
    let begin = |at: &prop::sample::Index| at.index(letters.len() + 1);
    match change {
        Change::Remove(at, count) => {
            let at = begin(at);
            letters[..at].iter().chain(letters[at..].iter().skip(*count)).collect()
        }
        Change::Insert(at, new) => {
            let at = begin(at);
            letters[..at]
                .iter()
                .copied()
                .chain(new.chars())
                .chain(letters[at..].iter().copied())
                .collect()
        }
        Change::Double(at, count) => {
            let at = begin(at);
            let again = letters[at..].iter().take(*count);
            letters[..at].iter().chain(again).chain(&letters[at..]).collect()
        }
        Change::SwapLines(one, other) => {
            let mut lines: Vec<&str> = text.lines().collect();
            if !lines.is_empty() {
                let (one, other) = (one.index(lines.len()), other.index(lines.len()));
                lines.swap(one, other);
            }
            lines.join("\n")
        }
        Change::Number(at, number) => {
            let ends: Vec<usize> = text.match_indices("= ").map(|(at, _)| at + 2).collect();
            if ends.is_empty() {
                return number.to_string();
            }
            let at = ends[at.index(ends.len())];
            let rest = text[at..].find('\n').map_or("", |end| &text[at + end..]);
            format!("{}{number}{rest}", &text[..at])
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn x7_no_mutation_of_a_file_panics_and_errors_are_named(
        changes in prop::collection::vec(change(), 1..6),
    ) {
        let text = changes.iter().fold(EVERYTHING.to_owned(), |text, one| changed(&text, one));
        match NodeBuilder::from_toml(&text) {
            // Whatever is accepted was within its bounds; it is not started, for the threads are many.
            Ok(builder) => drop(format!("{builder:?}")),
            Err(error) => {
                let said = error.to_string();
                let lines = text.split('\n').count();
                prop_assert!(error.line().is_some_and(|line| (1..=lines).contains(&line)), "{}", said);
                let named = match error.fault() {
                    SettingsFault::NoToml { text: line, message } => {
                        !message.is_empty() && text.contains(line.trim_end_matches(".."))
                    }
                    SettingsFault::UnknownKey { key, .. }
                    | SettingsFault::WrongType { key, .. }
                    | SettingsFault::BadValue { key, .. }
                    | SettingsFault::NotForKind { key, .. }
                    | SettingsFault::UnknownDispatcher { key, .. }
                    | SettingsFault::Circle { key, .. } => !key.is_empty() && said.contains(key.as_str()),
                    _ => false,
                };
                prop_assert!(named, "{}", said);
            }
        }
    }

    #[test]
    fn x7_any_text_is_read_without_a_panic(text in "(\\PC|[\\[\\]=.\"'\n{},#]){0,200}") {
        if let Err(error) = NodeBuilder::from_toml(&text) {
            prop_assert!(error.line().is_some());
        }
    }
}
