//! The ten questions of those who look, each answered within three clicks from `#/`.

use crate::page::{DESK, Page, element, page};
use crate::scenes::storm;
use crate::told::{TOKEN, Told};

// Begins at `#/`, clicks, and waits until the answer is seen.
fn answered(page: &mut Page, question: &str, clicks: &[&str], answer: &str) {
    assert!(clicks.len() <= 3, "{question} takes {} clicks", clicks.len());
    page.run("location.hash = '#/'");
    page.wait(&format!("location.hash === '#/' && {}", element("nav-now")));
    for click in clicks {
        page.click(click);
    }
    page.wait(answer);
}

fn shows(id: &str, words: &str) -> String {
    format!("{}?.innerText.includes({})", element(id), serde_json::json!(words))
}

#[test]
fn v67_each_question_is_answered_within_three_clicks() {
    let told = Told::start(storm());
    let Some(mut page) = page(DESK) else { return };
    page.open(&told.url(""));
    page.wait_for("conn");
    let first = |id: u64| {
        format!(
            "document.querySelector('[data-testid=proc-table] tbody tr')?.dataset.testid === 'proc-row-{id}'"
        )
    };
    answered(&mut page, "Q1", &["nav-processes", "sort-cpu", "sort-cpu"], &first(20));
    answered(
        &mut page,
        "Q1, workers",
        &["nav-turns"],
        "document.getElementById('main').innerText.includes('1.2 s')",
    );
    answered(&mut page, "Q2", &[], &shows("finding-mailbox_grows-10", "grows by 41.5"));
    answered(&mut page, "Q2, all", &["nav-processes", "sort-growth"], &first(10));
    answered(
        &mut page,
        "Q3",
        &["nav-crashes", "crash-row-1"],
        &shows("crash-explanation", "restart 2 of at most 5"),
    );
    answered(&mut page, "Q3, when", &["nav-events"], &shows("timeline", "worker-2"));
    answered(&mut page, "Q4", &["nav-waits"], &shows("waits-table", "ledger"));
    assert!(page.has("waits-graph"));
    answered(&mut page, "Q5", &["nav-crashes"], &shows("crash-row-1", "index out of bounds"));
    answered(
        &mut page,
        "Q5, letters",
        &["nav-events", "tab-dead_letters"],
        "document.getElementById('main').innerText.includes('the process is gone')",
    );
    answered(&mut page, "Q6", &["nav-health"], &shows("checks", "4 of 5 children are active"));
    answered(
        &mut page,
        "Q7",
        &["nav-processes", "proc-row-10", "tab-inspect"],
        &shows("panel-10", "shelves"),
    );
    answered(&mut page, "Q7, state", &["tab-state"], &shows("panel-10", "Stock { shelves: 12 }"));
    answered(&mut page, "Q9", &["nav-tree"], &shows("tree-node-10", "stock"));
    answered(&mut page, "Q9, flow", &["nav-flow"], &shows("flow-table", "prices"));
    answered(&mut page, "Q10", &["nav-crashes"], "true");
    page.wait_for("crash-row-1");
    page.click("crash-row-1");
    page.wait(&shows("crash-row-1", "Job { order: 4711 }"));
    answered(
        &mut page,
        "Q10, logs",
        &["nav-logs"],
        "document.getElementById('main').innerText.includes('a shelf was empty')",
    );

    page.click("token");
    page.wait_for("token-input");
    page.write(TOKEN);
    page.press("Enter");
    page.wait_for("action-trace");
    answered(
        &mut page,
        "Q8",
        &["action-trace", "confirm-yes"],
        &shows("panel-10", "Take { shelf: 7 }"),
    );
}
