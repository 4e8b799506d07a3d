//! The page against a true node with the true observer.

use crate::page::{DESK, PHONE, element, in_time, page};
use crate::shop::{Shop, TOKEN, Task};
use std::time::Duration;

const LIVE: &str = "document.querySelector('[data-testid=conn]')?.textContent === 'live'";
const ROWS: &str = "document.querySelectorAll('[data-testid=proc-table] tbody tr')";

#[test]
fn v66_the_page_of_a_true_node_is_live_with_the_number_of_its_processes() {
    let shop = Shop::open();
    let Some(mut page) = page(DESK) else { return };
    let named = format!("/ \\d+ processes/.test({}.innerText)", element("node-summary"));
    let took = crate::frame::quickest(&mut page, &shop.url(""), &named);
    in_time("live", took, Duration::from_secs(2));
    assert!(page.requests.len() <= 12, "{:#?}", page.requests);
    let living = page.number("fetch('api/v1/node').then((answer) => answer.json()).then((node) => node.processes.living)");
    page.wait(&format!("{}.innerText.includes(' {living} processes')", element("node-summary")));
    for (_, route) in
        crate::screenshots::PAGES.iter().filter(|(name, _)| *name != "crash" && *name != "process")
    {
        page.run(&format!("location.hash = '#/{route}'"));
        page.wait(&format!("{LIVE} && document.querySelector('h1') && !/^(Asking|Waiting|Loading)/m.test(document.getElementById('main').innerText)"));
    }
    assert!(page.faults().is_empty(), "{:?}", page.errors);
}

#[test]
fn v68_a_true_node_sorts_the_deepest_mailbox_to_the_first_row() {
    let shop = Shop::open();
    shop.block_stock(20_000);
    let Some(mut page) = page(DESK) else { return };
    page.open(&shop.url("#/processes"));
    page.wait_for("proc-table");
    page.click("sort-main");
    let stock = shop.id("stock");
    page.wait(&format!("{ROWS}[0]?.dataset.testid === 'proc-row-{stock}' && {}.closest('th').ariaSort === 'descending'", element("sort-main")));
    assert!(page.text_of(&format!("proc-row-{stock}")).contains("20\u{202f}000"));
    page.click("proc-filter");
    page.write("billing");
    let took = page.wait_within(Duration::from_secs(20), &format!("{ROWS}.length === 1"));
    in_time("filtered", took, Duration::from_secs(1));
    page.reload();
    page.wait(&format!("{ROWS}.length === 1 && {ROWS}[0].innerText.includes('billing')"));
}

#[test]
fn v67_waits_pools_and_findings_of_a_true_node_are_named() {
    let shop = Shop::open();
    shop.block_stock(10);
    shop.fill_pool();
    let (stock, ledger, pool) = (shop.id("stock"), shop.id("ledger"), shop.id("workers"));
    let Some(mut page) = page(DESK) else { return };
    page.open(&shop.url(""));
    page.wait_for(&format!("finding-pool_full-{pool}"));
    page.screenshot("true-now-1280x800");
    page.click("nav-waits");
    page.wait(&format!(
        "{}?.innerText.includes('stock') && {}?.textContent.includes('ledger')",
        element("waits-table"),
        element("waits-graph")
    ));
    assert!(
        page.holds(&format!("document.querySelector('.headline a').dataset.open === '{ledger}'"))
    );
    page.screenshot("true-waits-1280x800");
    page.click("nav-pools");
    assert_eq!(page.text_of(&format!("pool-fill-{pool}")), "100 %");
    page.screenshot("true-pools-1280x800");
    page.click("nav-tree");
    page.wait_for(&format!("tree-node-{stock}"));
    page.screenshot("true-tree-1280x800");
    page.click("nav-processes");
    page.click(&format!("proc-row-{ledger}"));
    page.wait_for(&format!("panel-{ledger}"));
    page.click("tab-inspect");
    page.wait(&format!(
        "/answered in|No values/.test({}.innerText)",
        element(&format!("panel-{ledger}"))
    ));
    page.screenshot("true-panel-1280x800");
    page.look(PHONE);
    page.wait("innerWidth === 390");
    assert!(page.sideways() <= 0.0);
    assert!(page.faults().is_empty(), "{:?}", page.errors);
}

#[test]
fn v71_a_crash_of_a_true_node_is_told_in_its_panel_and_on_the_page() {
    let shop = Shop::open();
    let billing = shop.id("billing");
    let Some(mut page) = page(DESK) else { return };
    page.open(&shop.url("#/processes?q=billing"));
    page.click(&format!("proc-row-{billing}"));
    page.wait_for(&format!("panel-{billing}"));
    page.click("nav-crashes");
    page.wait_for("empty");
    shop.clerk("billing").send(Task::Fail).expect("billing takes it");
    let took =
        page.wait_within(Duration::from_secs(20), &format!("{} !== null", element("crash-row-1")));
    in_time("the crash is seen", took, Duration::from_secs(2));
    page.wait(&format!(
        "{}.innerText.includes('the printer has no paper')",
        element(&format!("panel-{billing}"))
    ));
    page.click("crash-row-1");
    let words = page.text_of("crash-explanation");
    assert!(words.contains("billing") && words.contains("the printer has no paper"), "{words}");
    assert!(page.text_of("crash-recipe").contains("Simulation"));
    page.screenshot("true-crash-1280x800");
    page.click("nav-events");
    page.wait(&format!("{}?.innerText.includes('billing')", element("timeline")));
    page.screenshot("true-events-1280x800");
}

#[test]
fn v72_a_deadlock_of_a_true_node_is_a_banner_with_both_names() {
    let shop = Shop::open();
    let Some(mut page) = page(DESK) else { return };
    page.open(&shop.url(""));
    page.wait(LIVE);
    shop.deadlock();
    page.wait(&format!(
        "{}?.innerText.includes('billing') && {}.innerText.includes('prices')",
        element("deadlock-banner"),
        element("deadlock-banner")
    ));
    page.screenshot("true-deadlock-1280x800");
}

#[test]
fn v73_an_action_on_a_true_node_is_done_and_told() {
    let shop = Shop::open();
    let prices = shop.id("prices");
    let Some(mut page) = page(DESK) else { return };
    page.open(&shop.url(&format!("#/process/{prices}")));
    page.wait_for(&format!("panel-{prices}"));
    page.click("token");
    page.wait_for("token-input");
    page.write(TOKEN);
    page.press("Enter");
    page.click("action-suspend");
    assert!(page.text_of("confirm").contains("prices"));
    page.click("confirm-yes");
    page.wait(&format!("{}?.innerText.startsWith('Done: suspend')", element("outcome")));
    page.wait(&format!("{}.innerText.includes('suspended')", element(&format!("panel-{prices}"))));
    page.click("action-kill");
    page.click("confirm-yes");
    page.wait(&format!(
        "{} === null && /It ended/.test({}.innerText)",
        element("action-kill"),
        element(&format!("panel-{prices}"))
    ));
    assert_ne!(shop.id("prices"), prices, "its supervisor started it again");
}

#[test]
fn v75_a_true_node_that_stops_is_offline() {
    let shop = Shop::open();
    let Some(mut page) = page(DESK) else { return };
    page.open(&shop.url(""));
    page.wait(LIVE);
    drop(shop);
    page.wait(&format!("{}.textContent === 'stale'", element("conn")));
    page.wait(&format!("{}.textContent === 'offline'", element("conn")));
}
