//! `krarup tree`.

use crate::observed::{HOSTILE, Observed, errors, get, nowhere, out, run, until};

#[test]
fn v82_the_tree_is_printed_as_the_route_has_it() {
    let observed = Observed::start("tree@localhost", |it| it);
    observed.stuck("oak", 3);
    observed.stuck(HOSTILE, 0);
    let settled = |text: &str| text.contains("oak") && text.contains("waiting main=3");
    // The observer's own processes run while they answer: their lines differ.
    let own = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.contains("Stuck")).map(str::to_owned).collect()
    };
    let printed = until(|| {
        let printed = run(&["tree", &observed.url()]);
        assert_eq!(printed.status.code(), Some(0), "{}", errors(&printed));
        Some(out(&printed)).filter(|printed| settled(printed))
    });
    let route = get(observed.observer.address(), "/tree?format=text").1;
    assert_eq!(own(&printed), own(&route));
    assert_eq!(own(&printed).len(), 2);
    assert_eq!(printed.lines().count(), route.lines().count());
    assert!(printed.chars().all(|letter| letter == '\n' || !letter.is_control()), "{printed}");
    assert!(!printed.contains('\u{202e}'));
    let shallow = out(&run(&["tree", "--depth", "1", &observed.url()]));
    assert!(shallow.lines().all(|line| line.starts_with('<')), "{shallow}");
    let missing = run(&["tree", "--from", "999999999", &observed.url()]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(errors(&missing).contains("(404 no_process)"), "{}", errors(&missing));
    observed.stop();
}

#[test]
fn v82_where_nothing_answers_the_tree_fails_and_says_so() {
    let url = nowhere();
    let failed = run(&["tree", &url]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(errors(&failed).starts_with(&format!("krarup: no observer answers at {url}: ")));
    assert!(failed.stdout.is_empty());
}
