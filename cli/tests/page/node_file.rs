//! The page on a snapshot of a true node.

use crate::observed::{Failing, HOSTILE, Observed, get, until};
use crate::page::{DESK, PHONE, element, page};
use crate::viewed::Viewed;
use serde_json::Value;

/// The page has what it shows, and does not say that it is live.
const SHOWN: &str = "document.querySelector('[data-testid=conn]')?.textContent === 'file'";

/// The snapshot of a node with a crash and a full mailbox.
fn snapshot() -> String {
    let observed = Observed::start("seen@localhost", |it| it);
    observed.stuck("oak", 30);
    observed.stuck(HOSTILE, 3);
    let failing = observed.node.spawn(|| Failing).name("elm").wait().unwrap();
    failing.send(()).unwrap();
    let text = until(|| {
        let (_, text) = get(observed.observer.address(), "/api/v1/snapshot");
        let all: Value = serde_json::from_str(&text).unwrap();
        let rows = all["processes"]["processes"].as_array().unwrap();
        let full = rows.iter().any(|row| row["main"] == 30);
        (full && all["crashes"]["items"].as_array().is_some_and(|it| it.len() == 1)).then_some(text)
    });
    observed.stop();
    text
}

#[test]
fn v26_the_page_of_a_file_shows_the_node_as_it_was() {
    let Some(mut page) = page(DESK) else { return };
    let viewed = Viewed::start("page-of-a-node", &snapshot());
    let url = |route: &str| format!("http://{}/{route}", viewed.address);
    page.open(&url(""));
    page.wait(&format!("{SHOWN} && /seen@localhost/.test({}.innerText)", element("node-summary")));
    let notice = page.text("document.getElementById('file').innerText");
    assert!(notice.starts_with("A file, not a running node: "), "{notice}");
    assert!(notice.contains("of seen@localhost at "), "{notice}");
    page.screenshot("file-now-1280x800");

    page.click("nav-processes");
    page.wait_for("proc-table");
    page.click("sort-main");
    let first = "document.querySelector('[data-testid=proc-table] tbody tr')";
    page.wait(&format!("{first}.innerText.includes('oak')"));
    page.screenshot("file-processes-1280x800");
    let id = page.text(&format!("{first}.dataset.open"));
    page.click(&format!("proc-row-{id}"));
    page.wait(&format!("/Stuck/.test({}?.innerText)", element(&format!("panel-{id}"))));

    page.click("nav-crashes");
    page.click("crash-row-1");
    let told = page.text_of("crash-explanation");
    assert!(told.contains("elm") && told.contains("the stock is gone"), "{told}");
    for name in ["tree", "waits", "pools", "cluster", "events", "turns", "flow", "logs", "health"] {
        page.click(&format!("nav-{name}"));
        page.wait(&format!(
            "document.querySelector('.page-{name} h1') && !/^(Asking|Waiting|Loading)/m.test(document.getElementById('main').innerText)"
        ));
    }
    // Nothing was asked of anybody else, and nothing was asked that the file cannot answer.
    let own = url("");
    assert!(page.requests.iter().all(|request| request.starts_with(&own)), "{:?}", page.requests);
    assert!(page.faults().is_empty(), "{:?}", page.errors);
    page.look(PHONE);
    page.open(&url(""));
    page.wait(SHOWN);
    assert!(page.sideways() <= 0.0);
    page.screenshot("file-now-390x844");
}
