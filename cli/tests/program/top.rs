//! `krarup top`.

use crate::observed::{HOSTILE, Observed, PROGRAM, TOKEN, errors, nowhere, out, run};
use crate::pty::Pty;
use std::process::{Command, Stdio};
use std::{env, fs, process};

/// The first process of the table, by the line below the names of the columns.
fn first_row(text: &str) -> String {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("PID"));
    lines.nth(1).unwrap_or_default().to_owned()
}

#[test]
fn v81_once_prints_a_frame_with_rates_and_ends() {
    let observed = Observed::start("once@localhost", |it| it);
    observed.stuck("shallow", 2);
    observed.stuck("deep", 40);
    let url = observed.url();
    let once = run(&["top", "--once", "--sort", "main", "--period-ms", "200", &url]);
    assert_eq!(once.status.code(), Some(0), "{}", errors(&once));
    let text = out(&once);
    assert!(text.lines().count() <= 24 && text.lines().all(|line| line.chars().count() <= 80));
    assert!(text.starts_with("krarup  once@localhost  up "), "{text}");
    assert!(text.lines().next().unwrap().ends_with(" live"), "{text}");
    assert!(text.contains("dispatcher default"), "{text}");
    let first = first_row(&text);
    assert!(first.contains(" deep ") && first.contains(" 40 "), "{text}");
    assert!(first.ends_with("0/s") && first.contains("0 %"), "there are rates: {text}");
    assert!(once.stderr.is_empty());
    observed.stop();
}

#[test]
fn v81_wrong_usage_is_2_and_no_node_is_1() {
    let url = nowhere();
    for wrong in [
        &["top"][..],
        &["top", "--no"],
        &["bottom"],
        &["top", "https://h"],
        &["top", &url, "--token-file", "/no/file"],
    ] {
        let failed = run(wrong);
        assert_eq!(failed.status.code(), Some(2), "{wrong:?}");
        assert!(failed.stdout.is_empty() && errors(&failed).starts_with("krarup: "));
    }
    for gone in [&["top", "--once", &url][..], &["tree", &url]] {
        assert_eq!(run(gone).status.code(), Some(1), "{gone:?}");
    }
    // Without a terminal there is no live view.
    let observed = Observed::start("usage@localhost", |it| it);
    let failed = run(&["top", &observed.url()]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(errors(&failed).contains("--once"));
    assert_eq!(run(&["--version"]).status.code(), Some(0));
    assert!(out(&run(&["--help"])).contains("    top URL "));
    observed.stop();
}

#[test]
fn v81_a_token_opens_an_observer_that_wants_one_and_is_never_shown() {
    let observed = Observed::guarded("guarded@localhost");
    let url = observed.url();
    let refused = run(&["top", "--once", &url]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(errors(&refused).contains("--token-file"), "{}", errors(&refused));
    let file = env::temp_dir().join(format!("krarup-token-{}", process::id()));
    fs::write(&file, format!("{TOKEN}\n")).unwrap();
    let once =
        run(&["top", "--once", "--period-ms", "200", "--token-file", file.to_str().unwrap(), &url]);
    assert_eq!(once.status.code(), Some(0), "{}", errors(&once));
    fs::write(&file, TOKEN.replace('r', "w")).unwrap();
    let wrong = run(&["tree", "--token-file", file.to_str().unwrap(), &url]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(errors(&wrong).contains("(401 token_wrong)"), "{}", errors(&wrong));
    fs::remove_file(&file).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["tree", &url]).env("KRARUP_OBSERVER_TOKEN", TOKEN).stdin(Stdio::null());
    let tree = command.output().unwrap();
    assert_eq!(tree.status.code(), Some(0), "{}", errors(&tree));
    for output in [&refused, &once, &wrong, &tree] {
        assert!(!out(output).contains(TOKEN) && !errors(output).contains(TOKEN));
    }
    observed.stop();
}

#[test]
fn v81_a_terminal_shows_the_node_sorts_by_keys_and_is_as_it_was_after_q() {
    let observed = Observed::start("keys@localhost", |it| it);
    observed.stuck("zebra", 5);
    observed.stuck("aardvark", 50);
    let mut pty = Pty::run(&format!("{PROGRAM} top --period-ms 200 {}", observed.url()));
    pty.sees("keys@localhost");
    pty.sees("findings");
    assert!(pty.screen().alternate_screen() && pty.screen().hide_cursor());
    pty.press("m");
    pty.until(|screen| {
        let text = screen.contents();
        text.contains("processes by mailbox, descending") && first_row(&text).contains("aardvark")
    });
    pty.press("r");
    pty.until(|screen| {
        let text = screen.contents();
        text.contains("mailbox, ascending") && !first_row(&text).contains("aardvark")
    });
    pty.press("/zeb");
    pty.sees("filter: zeb_");
    pty.press("\r");
    pty.until(|screen| {
        let text = screen.contents();
        text.contains("1 to 1 of 1  with \"zeb\"") && first_row(&text).contains("zebra")
    });
    pty.press("q");
    pty.is_as_before(0);
    observed.stop();
}

#[test]
fn v81_a_connection_that_is_lost_is_found_again() {
    let observed = Observed::start("first@localhost", |it| it);
    observed.stuck("walnut", 1);
    let address = observed.observer.address();
    let mut pty =
        Pty::run(&format!("{PROGRAM} top --period-ms 200 --sort name {}", observed.url()));
    pty.sees("walnut");
    observed.stop();
    pty.sees("offline for");
    assert!(pty.text().contains("first@localhost"), "{}", pty.text());
    let second = Observed::start("second@localhost", |it| it.listen(address.to_string()));
    second.stuck("hazel", 1);
    pty.until(|screen| {
        let text = screen.contents();
        text.contains("second@localhost") && text.contains("hazel") && !text.contains("offline")
    });
    pty.sees(" live");
    // Control and C are as q.
    pty.press("\u{3}");
    pty.is_as_before(0);
    second.stop();
}

#[test]
fn v81_a_signal_to_end_gives_the_terminal_back() {
    let observed = Observed::start("signal@localhost", |it| it);
    // The shell's child tells its number, so that no other process is meant.
    let line = format!("sh -c 'echo $$ >&3; exec {PROGRAM} top {}' 3>/dev/stdout", observed.url());
    let mut pty = Pty::run(&line);
    pty.sees("signal@localhost");
    let written = String::from_utf8_lossy(&pty.written).into_owned();
    let number = written.split("what was there").nth(1).unwrap().trim_start();
    let number: String = number.chars().take_while(char::is_ascii_digit).collect();
    let killed = Command::new("kill").args(["-TERM", &number]).status().unwrap();
    assert!(killed.success());
    pty.is_as_before(0);
    observed.stop();
}

#[test]
fn v24_names_of_a_node_do_nothing_to_the_terminal() {
    let observed = Observed::start("names@localhost", |it| it);
    observed.stuck(HOSTILE, 9);
    let mut pty =
        Pty::run(&format!("{PROGRAM} top --period-ms 200 --sort main {}", observed.url()));
    pty.until(|screen| first_row(&screen.contents()).contains("\\u{1b}[2J"));
    pty.press("q");
    pty.is_as_before(0);
    let written = String::from_utf8_lossy(&pty.written).into_owned();
    for active in ["\u{1b}]", "\u{9b}", "\u{202e}", "\u{7}"] {
        assert!(!written.contains(active), "{active:?}");
    }
    let once =
        out(&run(&["top", "--once", "--sort", "main", "--period-ms", "200", &observed.url()]));
    assert!(once.chars().all(|letter| letter == '\n' || !letter.is_control()), "{once:?}");
    observed.stop();
}
