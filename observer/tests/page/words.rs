//! Times, numbers and texts.

use crate::page::{DESK, PHONE, element, page};
use crate::scenes::{ODD, storm};
use crate::told::Told;
use serde_json::json;

#[test]
fn v80_times_are_local_with_utc_as_title_and_large_numbers_are_grouped() {
    let told = Told::start(storm());
    let Some(mut page) = page(DESK) else { return };
    page.call("Emulation.setTimezoneOverride", &json!({"timezoneId": "Asia/Kolkata"}));
    page.open(&told.url("#/crashes"));
    page.wait_for("crash-row-1");
    let time = format!("{}.querySelector('time')", element("crash-row-1"));
    assert_eq!(page.text(&format!("{time}.title")), "2026-03-01 11:59:30.250 UTC");
    assert!(page.text(&format!("{time}.innerText")).ends_with("17:29:30.250"));
    assert!(page.text("document.getElementById('foot').innerText").contains("UTC+05:30"));
    page.open(&told.url("#/processes?sort=main"));
    page.wait_for("proc-row-10");
    assert!(page.text_of("proc-row-10").contains("12\u{202f}345 of 20\u{202f}000"));
}

#[test]
fn v80_no_text_is_cut_without_a_way_to_see_it_whole() {
    let told = Told::start(storm());
    let Some(mut page) = page(PHONE) else { return };
    for (_, route) in crate::screenshots::PAGES {
        page.open(&told.url(&format!("#/{route}")));
        page.wait("document.querySelector('[data-testid=conn]')?.textContent === 'live' && document.querySelector('h1')");
        let cut = page.text(
            "[...document.querySelectorAll('#main *')].filter((one) => getComputedStyle(one).textOverflow === 'ellipsis' \
             && one.scrollWidth > one.clientWidth && !one.closest('[title]')).map((one) => one.outerHTML).join('\\n')",
        );
        assert_eq!(cut, "", "{route}");
    }
}

#[test]
fn v80_text_of_the_node_is_shown_and_does_nothing() {
    let told = Told::start(storm());
    let Some(mut page) = page(DESK) else { return };
    page.open(&told.url("#/processes"));
    page.wait_for("proc-row-30");
    let shown = page.run(&format!("{}.querySelector('bdi').textContent", element("proc-row-30")));
    assert_eq!(shown, json!(ODD));
    page.click("proc-row-30");
    page.wait(&format!(
        "{}.querySelector('h2 bdi')?.textContent === {}",
        element("panel-30"),
        json!(ODD)
    ));
    assert!(page.holds("document.querySelectorAll('main script, aside script').length === 0"));
    assert!(page.errors.is_empty(), "{:?}", page.errors);
}
