//! The frame of every page: what it loads, its connection, pause, token.

use crate::page::{DESK, Page, element, in_time, page};
use crate::scene::{healthy, process};
use crate::scenes::{crowd, storm};
use crate::told::{TOKEN, Told, assets};
use serde_json::json;
use std::fs;
use std::time::Duration;

const LIVE: &str = "document.querySelector('[data-testid=conn]')?.textContent === 'live'";

/// Opens an address until the page is live and a condition holds: how long the quickest of three
/// times took. The first load of a browser is not counted, because it also starts its processes.
pub(crate) fn quickest(page: &mut Page, address: &str, condition: &str) -> Duration {
    page.open(address);
    let mut quickest = Duration::MAX;
    for _ in 0..3 {
        page.open("about:blank");
        page.requests.clear();
        page.errors.clear();
        page.open(address);
        page.wait(&format!("{LIVE} && {condition} && (window.took ??= performance.now())"));
        quickest = quickest.min(Duration::from_secs_f64(page.number("window.took") / 1000.0));
    }
    quickest
}

#[test]
fn v66_the_page_is_live_within_two_seconds_and_asks_nobody_else() {
    let told = Told::start(crowd(41));
    let Some(mut page) = page(DESK) else { return };
    // The first load of a fresh browser also starts its processes.
    let named = format!("{}.innerText.includes('41 processes')", element("node-summary"));
    let took = quickest(&mut page, &told.url(""), &named);
    in_time("live", took, Duration::from_secs(2));
    let requests: Vec<String> = page.requests.clone();
    assert!(requests.len() <= 12, "{requests:#?}");
    assert!(requests.iter().all(|request| request.starts_with(&told.url(""))), "{requests:#?}");
    assert!(page.errors.is_empty(), "{:?}", page.errors);
}

#[test]
fn v66_the_files_of_the_page_are_small_and_break_no_policy() {
    let told = Told::start(storm());
    let Some(mut page) = page(DESK) else { return };
    page.open(&told.url(""));
    let (mut plain, mut packed) = (0.0, 0.0);
    for file in fs::read_dir(assets()).expect("the folder of the page") {
        let name = file.expect("a file").file_name().into_string().expect("a name");
        // The crate of the page is no part of it.
        if ["lib.rs", "Cargo.toml"].contains(&name.as_str()) {
            continue;
        }
        plain += page.number(&format!("fetch('assets/{name}').then((answer) => answer.arrayBuffer()).then((all) => all.byteLength)"));
        packed += page.number(&format!(
            "fetch('assets/{name}').then((answer) => new Response(answer.body.pipeThrough(new CompressionStream('gzip'))).arrayBuffer()).then((all) => all.byteLength)"
        ));
    }
    assert!(plain <= 250.0 * 1024.0, "{plain} bytes");
    assert!(packed <= 80.0 * 1024.0, "{packed} bytes compressed");
    for name in crate::screenshots::PAGES {
        page.run(&format!("location.hash = '#/{}'", name.1));
        page.wait(&format!("{LIVE} && document.querySelector('h1')"));
    }
    assert!(page.errors.is_empty(), "{:?}", page.errors);
    assert!(page.holds(
        "document.querySelectorAll('script:not([src]), style, [style*=\"url\"]').length === 0"
    ));
}

#[test]
fn v74_the_token_lives_in_memory_alone() {
    let told = Told::start(storm());
    let Some(mut page) = page(DESK) else { return };
    page.open(&told.url("#/process/10"));
    page.click("token");
    page.wait_for("token-input");
    page.write(TOKEN);
    page.press("Enter");
    page.wait_for("action-kill");
    let nowhere = format!(
        "![document.documentElement.outerHTML, location.href, document.cookie, JSON.stringify({{...localStorage}}), \
         JSON.stringify({{...sessionStorage}}), ...[...document.querySelectorAll('input')].map((one) => one.value)]\
         .some((text) => text.includes('{TOKEN}'))"
    );
    assert!(page.holds(&nowhere), "the token stands in the document");
    assert!(page.holds("indexedDB.databases().then((all) => all.length === 0)"));
    assert!(page.requests.iter().all(|request| !request.contains(TOKEN)));
    page.reload();
    page.wait(LIVE);
    page.wait_for("panel-10");
    assert!(!page.has("action-kill"), "the token outlived a reload");
}

#[test]
fn v75_a_node_that_is_gone_is_stale_then_offline_and_a_new_one_starts_the_page_anew() {
    let told = Told::start(crowd(5));
    let address = told.address;
    let Some(mut page) = page(DESK) else { return };
    page.open(&told.url("#/processes"));
    page.wait(LIVE);
    page.click("proc-row-3");
    page.wait_for("panel-3");
    drop(told);
    let stale = page.wait_within(
        Duration::from_secs(20),
        &format!("{}.textContent === 'stale'", element("conn")),
    );
    assert!(
        stale > Duration::from_millis(1500),
        "stale after {stale:?}, that is before three periods"
    );
    page.wait_for("old");
    page.wait(&format!("{}.textContent === 'offline'", element("conn")));
    assert!(page.text_of("old").contains("old"), "values are marked");
    let mut scene = crowd(7);
    scene.node["started_at"] = json!("2026-03-01T12:30:00.000Z");
    let _told = Told::at(address, scene);
    page.wait(&format!("{LIVE} && {}.innerText.includes('7 processes')", element("node-summary")));
    page.wait(&format!("{} === null && {} === null", element("old"), element("panel-3")));
    page.wait(&format!("{}.rows.length === 8", element("proc-table")));
}

#[test]
fn v75_pause_freezes_all_pages_and_says_since_when() {
    let told = Told::start(storm());
    let Some(mut page) = page(DESK) else { return };
    page.open(&told.url("#/pools"));
    page.wait_for("pool-fill-13");
    page.click("pause");
    page.wait_for("paused");
    let since = page.text_of("paused");
    assert!(since.starts_with("Paused since "), "{since}");
    told.wait("the stream is closed", |scene| scene.streams == 0);
    told.change(|scene| {
        scene.bodies.get_mut("pools").expect("pools")["pools"][0]["fill"] = json!(0.5);
        scene.node["processes"]["living"] = json!(4711);
    });
    page.click("nav-waits");
    page.wait_for("waits-table");
    page.click("nav-pools");
    assert_eq!(page.text_of("pool-fill-13"), "100 %");
    assert!(!page.text_of("node-summary").contains("4711"));
    page.click("pause");
    page.wait(&format!(
        "{}.innerText === '50 %' && {}.innerText.includes('4711')",
        element("pool-fill-13"),
        element("node-summary")
    ));
    assert!(!page.has("paused"));
}

#[test]
fn v76_a_hidden_tab_closes_its_stream_and_opens_it_when_seen() {
    let told = Told::start(crowd(3));
    let Some(mut page) = page(DESK) else { return };
    page.open(&told.url(""));
    page.wait(LIVE);
    told.wait("the stream is open", |scene| scene.streams == 1);
    page.hide();
    told.wait("the stream is closed", |scene| scene.streams == 0);
    page.show();
    told.wait("the stream is open again", |scene| scene.streams == 1);
    page.wait(LIVE);
}

#[test]
fn v79_an_empty_page_says_what_would_stand_there() {
    let told = Told::start(healthy(vec![process(1, "system")]));
    let Some(mut page) = page(DESK) else { return };
    page.open(&told.url(""));
    for route in [
        "",
        "waits",
        "pools",
        "cluster",
        "crashes",
        "events",
        "events?show=dead_letters",
        "turns",
        "flow",
        "logs",
        "health",
        "processes?q=nobody",
    ] {
        page.run(&format!("location.hash = '#/{route}'"));
        let name = route.split('?').next().filter(|name| !name.is_empty()).unwrap_or("now");
        page.wait(&format!(
            "(window.words = document.querySelector('.page-{name} [data-testid=empty]').innerText).length > 60"
        ));
        let words = page.text("window.words");
        assert!(words.contains("stand"), "{route}: {words}");
    }
}

#[test]
fn v79_a_list_that_has_not_come_is_not_called_empty() {
    let told = Told::start(storm());
    // Without an answer to `/actions`.
    told.change(|scene| {
        scene.rings.remove("actions");
    });
    let Some(mut page) = page(DESK) else { return };
    page.open(&told.url("#/health"));
    page.wait("document.getElementById('main').innerText.includes('The list was not read')");
    assert!(!page.has("empty"));
    told.change(|scene| {
        scene.rings.insert("actions", Vec::new());
    });
    page.wait_for("empty");
}

#[test]
fn v67_the_page_of_turns_counts_the_workers_of_the_node_and_names_no_worker_that_it_does_not_know()
{
    let mut scene = storm();
    scene.bodies.insert(
        "turns".to_owned(),
        json!({"workers": [
            {"dispatcher": "default", "worker": null, "pid": "<0.10.0>", "name": "stock",
                "behavior": "shop::Stock", "held_ms": null},
            {"dispatcher": "default", "worker": null, "pid": "<0.20.0>", "name": "prices",
                "behavior": "shop::Prices", "held_ms": null}],
        "behaviors": []}),
    );
    scene.node["dispatchers"][0]["workers"] = json!(4);
    let told = Told::start(scene);
    let Some(mut page) = page(DESK) else { return };
    page.open(&told.url("#/turns"));
    let table = page.text_of("turns-now");
    assert!(table.contains("stock") && table.contains("prices"), "{table}");
    assert!(table.contains("default") && !table.contains("null"), "{table}");
    let said = "document.querySelector('.page-turns .headline').innerText";
    assert!(page.text(said).starts_with("2 of 4 workers are at work now."));
}
