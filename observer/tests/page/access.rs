//! Keyboard, focus, themes, motion, and what axe-core finds.

use crate::page::{DESK, Look, PHONE, Page, element, page};
use crate::scenes::storm;
use crate::told::Told;

const AXE: &str = include_str!("axe.min.js");
const LIVE: &str = "document.querySelector('[data-testid=conn]')?.textContent === 'live'";

#[test]
fn v77_axe_finds_no_violation_in_either_theme() {
    let told = Told::start(storm());
    let Some(mut page) = page(DESK) else { return };
    for look in [DESK, Look { dark: true, ..DESK }, PHONE] {
        page.look(look);
        for (_, route) in crate::screenshots::PAGES {
            page.open(&told.url(&format!("#/{route}")));
            page.wait(&crate::screenshots::arrived(route));
            page.run(&format!("{AXE}; true"));
            let found = page.text(
                "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}).then((result) => result.violations.map((one) => \
                 one.id + ': ' + one.nodes.map((node) => node.html + ' ' + node.failureSummary).join('; ')).join('\\n'))",
            );
            assert_eq!(found, "", "#/{route} at {} px, dark: {}", look.width, look.dark);
        }
    }
}

// Presses Tab until the element with this test id has the focus, and sees the focus.
fn reach(page: &mut Page, id: &str) {
    for _ in 0..150 {
        page.press("Tab");
        let seen = page.holds(
            "(() => { const one = document.activeElement; if (!one || one === document.body) return true; \
             const style = getComputedStyle(one); return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2; })()",
        );
        assert!(
            seen,
            "no focus is seen at {}",
            page.text("document.activeElement.outerHTML.slice(0, 200)")
        );
        if page.holds(&format!("document.activeElement === {}", element(id))) {
            return;
        }
    }
    panic!("{id} is not reached by Tab");
}

#[test]
fn v77_everything_is_used_by_keyboard_alone_and_the_focus_is_seen() {
    let told = Told::start(storm());
    let Some(mut page) = page(DESK) else { return };
    page.open(&told.url(""));
    page.wait(LIVE);
    reach(&mut page, "pause");
    page.press("Enter");
    page.wait_for("paused");
    page.press("Enter");
    page.wait(&format!("{} === null", element("paused")));
    reach(&mut page, "nav-processes");
    page.press("Enter");
    page.wait_for("proc-row-10");
    reach(&mut page, "proc-filter");
    page.write("stock");
    page.wait("document.querySelectorAll('[data-testid=proc-table] tbody tr').length === 1");
    reach(&mut page, "sort-main");
    page.press("Enter");
    page.wait(&format!("{}.closest('th').ariaSort === 'descending'", element("sort-main")));
    page.press("Tab");
    page.wait("document.activeElement !== document.body");
    for _ in 0..20 {
        if page.holds("document.activeElement.dataset.open === '10'") {
            break;
        }
        page.press("Tab");
    }
    page.press("Enter");
    page.wait_for("panel-10");
    reach(&mut page, "tab-overview");
    page.press("ArrowRight");
    page.wait(&format!(
        "{}.ariaSelected === 'true' && document.activeElement === {}",
        element("tab-inspect"),
        element("tab-inspect")
    ));
    page.run("location.hash = '#/tree'");
    page.wait_for("tree-node-1");
    page.run("document.querySelector('[role=tree]').focus()");
    page.press("ArrowDown");
    page.press("ArrowDown");
    page.wait("document.getElementById(document.querySelector('[role=tree]').getAttribute('aria-activedescendant'))?.dataset.testid === 'tree-node-2'");
    page.press("Enter");
    page.wait_for("panel-2");
    page.run("location.hash = '#/crashes'");
    page.wait_for("crash-row-1");
    page.run(&format!("{}.querySelector('button').focus()", element("crash-row-1")));
    page.press("Enter");
    page.wait_for("crash-explanation");
}

#[test]
fn v77_the_theme_starts_as_the_system_says_and_toggles() {
    let told = Told::start(storm());
    let Some(mut page) = page(Look { dark: true, ..DESK }) else { return };
    let light = "(() => { const sum = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3) \
        .reduce((sum, part) => sum + Number(part), 0); return sum > 380; })()";
    page.open(&told.url(""));
    page.wait(LIVE);
    assert!(!page.holds(light));
    page.click("theme");
    page.wait(light);
    page.click("theme");
    page.wait(&format!("!{light}"));
    page.look(DESK);
    page.reload();
    page.wait(&format!("{LIVE} && {light}"));
}

#[test]
fn v77_reduced_motion_is_kept_and_graphs_have_a_table() {
    let told = Told::start(storm());
    let Some(mut page) = page(Look { calm: true, ..DESK }) else { return };
    for (_, route) in crate::screenshots::PAGES {
        page.open(&told.url(&format!("#/{route}")));
        page.wait(&format!("{LIVE} && document.querySelector('h1')"));
        assert!(page.holds(
            "[...document.querySelectorAll('*')].every((one) => { const style = getComputedStyle(one); \
             return style.animationName === 'none' && /^(0s(, )?)+$/.test(style.transitionDuration); })"
        ), "{route} moves");
    }
    page.open(&told.url("#/waits"));
    page.wait_for("waits-graph");
    page.wait_for("waits-table");
    for name in ["prices", "stock", "ledger"] {
        assert!(page.text_of("waits-table").contains(name));
    }
    page.open(&told.url("#/flow"));
    page.wait_for("flow-graph");
    page.wait_for("flow-table");
}
