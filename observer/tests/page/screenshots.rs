//! A picture of each page at both sizes, kept by CI.

use crate::page::{DESK, Look, PHONE, page};
use crate::scenes::storm;
use crate::told::Told;

/// The pages: the name of the picture, and the route.
pub(crate) const PAGES: [(&str, &str); 15] = [
    ("now", ""),
    ("processes", "processes"),
    ("process", "process/10"),
    ("tree", "tree"),
    ("waits", "waits"),
    ("pools", "pools"),
    ("cluster", "cluster"),
    ("crashes", "crashes"),
    ("crash", "crash/1"),
    ("events", "events"),
    ("dead-letters", "events?show=dead_letters"),
    ("turns", "turns"),
    ("flow", "flow"),
    ("logs", "logs"),
    ("health", "health"),
];

/// The condition that the page of a route is live and has come: the one before stays until then.
pub(crate) fn arrived(route: &str) -> String {
    let name = route.split(['/', '?']).next().filter(|name| !name.is_empty()).unwrap_or("now");
    format!(
        "document.querySelector('[data-testid=conn]')?.textContent === 'live' && document.querySelector('.page-{name}') \
         && !/^(Asking|Waiting|Loading)/m.test(document.getElementById('main').innerText)"
    )
}

#[test]
fn v78_each_page_is_photographed_at_both_sizes() {
    let told = Told::start(storm());
    let Some(mut page) = page(DESK) else { return };
    for look in [DESK, PHONE, Look { dark: true, ..DESK }] {
        page.look(look);
        for (name, route) in PAGES {
            page.open(&told.url(&format!("#/{route}")));
            page.wait(&arrived(route));
            let theme = if look.dark { "dark-" } else { "" };
            page.screenshot(&format!("{name}-{theme}{}x{}", look.width, look.height));
        }
    }
}
