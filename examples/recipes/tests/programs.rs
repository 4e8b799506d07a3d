//! The programs of the recipes do what their pages say: a page has what its program prints, and its excerpts stand in
//! the program.

use std::path::Path;
use std::process::Command;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What a program prints that ends by itself.
fn output(program: &str) -> String {
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{program}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn shows(page: &str, program: &str) {
    let (page, printed) = (read(&format!("../../docs/recipes/{page}.md")), output(program));
    assert!(page.contains(&printed), "the page does not have what the program prints:\n{printed}");
}

#[test]
fn the_page_has_what_survives_which_restart() {
    shows("what_survives", env!("CARGO_BIN_EXE_what_survives"));
}

#[test]
fn the_page_has_how_a_service_stops() {
    shows("stopping_a_service", env!("CARGO_BIN_EXE_stopping"));
}

#[test]
fn the_page_has_what_a_crash_and_a_kill_do_to_a_transaction() {
    shows("persistence", env!("CARGO_BIN_EXE_persistence"));
}

#[test]
fn the_excerpts_of_each_page_stand_in_its_program() {
    let pages: [(_, &[_]); 4] = [
        ("http_service", &["http_service", "http_application"]),
        ("stopping_a_service", &["stopping"]),
        ("persistence", &["persistence"]),
        ("what_survives", &["what_survives"]),
    ];
    for (page, programs) in pages {
        let text = read(&format!("../../docs/recipes/{page}.md"));
        let sources: Vec<_> =
            programs.iter().map(|program| read(&format!("src/{program}.rs"))).collect();
        let excerpts: Vec<_> = text
            .split("```rust,ignore\n")
            .skip(1)
            .map(|rest| rest.split("```").next().unwrap_or_default())
            .collect();
        for excerpt in &excerpts {
            let is_there = sources.iter().any(|source| source.contains(*excerpt));
            assert!(is_there, "none of {programs:?} has\n{excerpt}");
        }
        assert!(!excerpts.is_empty() || page == "what_survives", "{page} has no excerpts");
    }
}
