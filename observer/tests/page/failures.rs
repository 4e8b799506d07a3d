//! Crashes, full pools and deadlocks as the page shows them.

use crate::page::{DESK, element, in_time, page};
use crate::scenes::{crash_item, storm};
use crate::told::Told;
use serde_json::json;
use std::time::Duration;

#[test]
fn v71_a_crash_appears_at_the_top_and_opens_to_its_explanation() {
    let told = Told::start(storm());
    let Some(mut page) = page(DESK) else { return };
    page.open(&told.url("#/crashes"));
    page.wait_for("crash-row-1");
    told.change(|scene| {
        let mut next = crash_item(2);
        next["reason"] = json!("the second");
        next["replaced_by"] = json!(null);
        let mut report = scene.bodies["crashes/1"].clone();
        report["seq"] = json!(2);
        scene.bodies.insert("crashes/2".to_owned(), report);
        scene.rings.get_mut("crashes").expect("the ring").push(next);
        scene.node["crashes"] = json!(2);
    });
    let first =
        "document.querySelector('[data-testid^=crash-row-]')?.dataset.testid === 'crash-row-2'";
    let took = page.wait_within(Duration::from_secs(20), first);
    in_time("at the top", took, Duration::from_secs(2));
    assert!(page.text_of("crash-row-2").contains("not replaced"));
    told.change(|scene| {
        scene.rings.get_mut("crashes").expect("the ring")[1]["replaced_by"] = json!("<0.77.0>");
    });
    page.wait(&format!("{}.innerText.includes('replaced by <0.77.0>')", element("crash-row-2")));
    page.click("crash-row-2");
    let words = page.text_of("crash-explanation");
    assert!(words.contains("restart 2 of at most 5"), "{words}");
    let row = page.text_of("crash-row-2");
    assert!(row.contains("Job { order: 4711 }"), "the recorded messages: {row}");
    assert!(page.text_of("crash-recipe").contains("fn the_crash_of_renderer"));
    page.allow_clipboard();
    page.click_at("document.querySelector('[data-testid=crash-row-2] .copy')");
    page.wait("document.getElementById('say').innerText.startsWith('Copied.')");
}

#[test]
fn v72_a_full_pool_says_so_in_words() {
    let told = Told::start(storm());
    let Some(mut page) = page(DESK) else { return };
    page.open(&told.url("#/pools"));
    assert_eq!(page.text_of("pool-fill-13"), "100 %");
    assert!(page.text_of("pool-13").contains("no room"));
    let square = "document.querySelector('.cell .hidden').textContent";
    assert_eq!(page.text(square), "<0.14.0>: 20 of 20 waiting, running");
    told.change(|scene| {
        let pool = &mut scene.bodies.get_mut("pools").expect("pools")["pools"][0];
        pool["fill"] = json!(0.9999);
        pool["waiting"] = json!(79);
    });
    page.wait(&format!("{}.innerText === '99 %'", element("pool-fill-13")));
    told.change(|scene| {
        let pool = &mut scene.bodies.get_mut("pools").expect("pools")["pools"][0];
        pool["capacity"] = json!(null);
        pool["fill"] = json!(null);
    });
    page.wait(&format!("{square} === '<0.14.0>: 20 waiting, running'"));
}

#[test]
fn v72_a_deadlock_stands_on_every_page_with_both_names_until_it_is_closed() {
    let told = Told::start(storm());
    let Some(mut page) = page(DESK) else { return };
    page.open(&told.url("#/tree"));
    let banner = page.text_of("deadlock-banner");
    assert!(banner.contains("billing") && banner.contains("ledger"), "{banner}");
    page.click("nav-pools");
    page.wait_for("pool-13");
    assert!(page.has("deadlock-banner"));
    page.click_at(&format!("{}.querySelector('button')", element("deadlock-banner")));
    page.wait(&format!("{} === null", element("deadlock-banner")));
    told.change(|scene| {
        let next = json!({"seq": 2, "at": "2026-03-01T12:00:00.000Z", "pids": ["<0.20.0>", "<0.10.0>"],
            "names": ["prices", "stock"]});
        scene.rings.get_mut("deadlocks").expect("the ring").push(next);
    });
    page.wait(&format!("{}?.innerText.includes('prices')", element("deadlock-banner")));
}
