//! A page in a browser: opened, looked at, used.
//!
//! Calls block. A condition is waited for inside the page, so no test sleeps.

use crate::browser::Connection;
use crate::picture::{base64, screenshots};
use serde_json::{Value, json};
use std::env;
use std::fs;
use std::time::{Duration, Instant};

/// How long a condition may take to come true.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether something happened within the limit of a rule. A machine that also builds says little about
/// a limit of seconds, so it is held only with `PAGE_TIMES=1` (`.ci/run page`).
pub(crate) fn in_time(what: &str, took: Duration, limit: Duration) {
    let held = env::var_os("PAGE_TIMES").is_some();
    assert!(!held || took < limit, "{what} after {took:?}, not within {limit:?}");
}

/// A page in a context of its own.
pub(crate) struct Page {
    connection: Connection,
    context: Value,
    session: String,
    /// Addresses that were requested.
    pub(crate) requests: Vec<String>,
    /// Errors of the console, exceptions, violations of the content security policy.
    pub(crate) errors: Vec<String>,
}

/// How the page is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) dark: bool,
    pub(crate) calm: bool,
}

pub(crate) const DESK: Look = Look { width: 1280, height: 800, dark: false, calm: false };
pub(crate) const PHONE: Look = Look { width: 390, height: 844, dark: false, calm: false };

/// Opens a page, or says aloud that the test is left out.
pub(crate) fn page(look: Look) -> Option<Page> {
    let Some(connection) = Connection::open() else {
        eprintln!("no Chromium in PATH and none in CHROMIUM: this test of the page is LEFT OUT");
        return None;
    };
    Some(Page::new(connection, look))
}

impl Drop for Page {
    fn drop(&mut self) {
        // The test may have failed because the browser does not answer.
        if !std::thread::panicking() {
            let context = json!({"browserContextId": self.context});
            self.connection.call(None, "Target.disposeBrowserContext", &context);
        }
    }
}

impl Page {
    fn new(mut connection: Connection, look: Look) -> Self {
        let mut made = connection.call(None, "Target.createBrowserContext", &json!({}));
        let context = made["browserContextId"].take();
        let target = connection.call(
            None,
            "Target.createTarget",
            &json!({"url": "about:blank", "browserContextId": context}),
        );
        let attached = connection.call(
            None,
            "Target.attachToTarget",
            &json!({"targetId": target["targetId"], "flatten": true}),
        );
        let session = attached["sessionId"].as_str().expect("a session").to_owned();
        let mut page =
            Page { connection, context, session, requests: Vec::new(), errors: Vec::new() };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), &json!({}));
        }
        page.look(look);
        page
    }

    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        let result = self.connection.call(Some(&self.session), method, parameters);
        self.note_events();
        result
    }

    fn note_events(&mut self) {
        while let Some(event) = self.connection.events.pop_front() {
            self.note(&event);
        }
    }

    fn note(&mut self, event: &Value) {
        let told = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                self.requests.push(told["request"]["url"].as_str().unwrap_or_default().to_owned());
            }
            "Runtime.exceptionThrown" => self.errors.push(told["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" if told["type"] == "error" || told["type"] == "warning" => {
                self.errors.push(told["args"].to_string());
            }
            "Log.entryAdded" if told["entry"]["level"] == "error" => {
                self.errors.push(told["entry"].to_string());
            }
            _ => {}
        }
    }

    /// Changes the size of the window, the colour scheme and the wish for little motion.
    pub(crate) fn look(&mut self, look: Look) {
        let phone = look.width < 600;
        self.call(
            "Emulation.setDeviceMetricsOverride",
            &json!({"width": look.width, "height": look.height, "deviceScaleFactor": 1, "mobile": phone}),
        );
        self.call(
            "Emulation.setEmulatedMedia",
            &json!({"features": [
                {"name": "prefers-color-scheme", "value": if look.dark { "dark" } else { "light" }},
                {"name": "prefers-reduced-motion", "value": if look.calm { "reduce" } else { "" }},
            ]}),
        );
    }

    /// Opens an address, and waits until the document is there.
    pub(crate) fn open(&mut self, address: &str) {
        self.call("Page.navigate", &json!({"url": address}));
        self.wait("document.readyState === 'complete'");
    }

    pub(crate) fn reload(&mut self) {
        self.run("window.before = true");
        self.call("Page.reload", &json!({}));
        self.wait("!window.before && document.readyState === 'complete'");
    }

    /// The value of an expression; a promise is awaited.
    pub(crate) fn run(&mut self, expression: &str) -> Value {
        let mut answer = self.call(
            "Runtime.evaluate",
            &json!({"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true}),
        );
        if let Some(thrown) = answer.get("exceptionDetails") {
            panic!("{expression}: {thrown}");
        }
        answer["result"]["value"].take()
    }

    pub(crate) fn text(&mut self, expression: &str) -> String {
        self.run(expression).as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn number(&mut self, expression: &str) -> f64 {
        let value = self.run(expression);
        value.as_f64().unwrap_or_else(|| panic!("{expression} is {value}"))
    }

    pub(crate) fn holds(&mut self, expression: &str) -> bool {
        self.run(expression) == json!(true)
    }

    /// Waits until an expression is true.
    pub(crate) fn wait(&mut self, condition: &str) {
        self.wait_within(PATIENCE, condition);
    }

    /// The errors of the console. An observer that says by 503 that a check is down is none: on a busy
    /// machine a process may not answer within the second of its check.
    pub(crate) fn faults(&self) -> Vec<&String> {
        let down = |error: &&String| error.contains("status of 503") && error.contains("/health\"");
        self.errors.iter().filter(|error| !down(error)).collect()
    }

    /// Waits until an expression is true, and returns how long that took.
    pub(crate) fn wait_within(&mut self, limit: Duration, condition: &str) -> Duration {
        let began = Instant::now();
        loop {
            // A navigation ends the script that waits; then it is begun anew.
            let script = format!(
                "new Promise((resolve) => {{ const end = Date.now() + 2000; const look = () => {{ \
                 let holds = false; try {{ holds = Boolean({condition}); }} catch {{ holds = false; }} \
                 if (holds || Date.now() > end) resolve(holds); else setTimeout(look, 20); }}; look(); }})"
            );
            let id = json!({"expression": script, "awaitPromise": true, "returnByValue": true});
            if self.evaluate_lightly(&id) {
                return began.elapsed();
            }
            if began.elapsed() > limit {
                let body = self.text("document.body ? document.body.innerText : ''");
                panic!("not within {limit:?}: {condition}\nerrors: {:?}\n{body}", self.errors);
            }
        }
    }

    // Like `run`, but a context that went away by a navigation is a `false`.
    fn evaluate_lightly(&mut self, parameters: &Value) -> bool {
        let id = self.connection.send(Some(&self.session), "Runtime.evaluate", parameters);
        let answer = self.connection.answer(id);
        self.note_events();
        answer["result"]["result"]["value"] == json!(true)
    }

    /// Waits until an element with this test id is seen.
    pub(crate) fn wait_for(&mut self, id: &str) {
        self.wait(&format!("{}?.getClientRects().length > 0", element(id)));
    }

    /// The text of the element with this test id.
    pub(crate) fn text_of(&mut self, id: &str) -> String {
        self.wait_for(id);
        self.text(&format!("{}.innerText", element(id)))
    }

    pub(crate) fn has(&mut self, id: &str) -> bool {
        self.holds(&format!("{} !== null", element(id)))
    }

    /// Clicks with the mouse into the middle of the element with this test id.
    pub(crate) fn click(&mut self, id: &str) {
        self.click_at(&element(id));
    }

    /// Clicks into the middle of the element that an expression gives.
    pub(crate) fn click_at(&mut self, element: &str) {
        self.wait(&format!("{element}?.getClientRects().length > 0"));
        // The page may still move: the place is taken when it was the same for some frames.
        let place = self.run(&format!(
            "new Promise((resolve) => {{ let last = ''; let same = 0; const end = Date.now() + 10000; \
             const look = () => {{ const found = {element}; \
             found?.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
             const box = found?.getClientRects()[0]; \
             const place = box && [box.left + box.width / 2, box.top + Math.min(box.height / 2, 20)]; \
             same = String(place) === last ? same + 1 : 0; last = String(place); \
             if ((place && same > 3) || Date.now() > end) resolve(place); else requestAnimationFrame(look); }}; look(); }})"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            self.call(
                "Input.dispatchMouseEvent",
                &json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1}),
            );
        }
    }

    /// Writes into the field that has the focus.
    pub(crate) fn write(&mut self, text: &str) {
        self.call("Input.insertText", &json!({"text": text}));
    }

    /// Presses a key: `Tab`, `Enter`, `Escape`, `ArrowDown` and such.
    pub(crate) fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            " " => (32, " "),
            "ArrowLeft" => (37, ""),
            "ArrowUp" => (38, ""),
            "ArrowRight" => (39, ""),
            "ArrowDown" => (40, ""),
            other => panic!("no such key: {other}"),
        };
        let kind = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        self.call(
            "Input.dispatchKeyEvent",
            &json!({"type": kind, "key": key, "code": key, "text": text,
                "windowsVirtualKeyCode": code, "nativeVirtualKeyCode": code}),
        );
        self.call(
            "Input.dispatchKeyEvent",
            &json!({"type": "keyUp", "key": key, "code": key,
                "windowsVirtualKeyCode": code, "nativeVirtualKeyCode": code}),
        );
    }

    /// Writes what is seen into `target/observer-screenshots/NAME.png`.
    pub(crate) fn screenshot(&mut self, name: &str) {
        let taken = self.call("Page.captureScreenshot", &json!({"format": "png"}));
        let folder = screenshots();
        fs::create_dir_all(&folder).expect("a folder for screenshots");
        let bytes = base64(taken["data"].as_str().expect("a picture"));
        fs::write(folder.join(format!("{name}.png")), bytes).expect("a file");
    }

    /// Allows it to use the clipboard.
    pub(crate) fn allow_clipboard(&mut self) {
        let permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"];
        let granted = json!({"permissions": permissions, "browserContextId": self.context});
        self.connection.call(None, "Browser.grantPermissions", &granted);
    }

    /// Brings another tab before this one.
    pub(crate) fn hide(&mut self) {
        let other = self.connection.call(
            None,
            "Target.createTarget",
            &json!({"url": "about:blank", "browserContextId": self.context}),
        );
        let shown = json!({"targetId": other["targetId"]});
        self.connection.call(None, "Target.activateTarget", &shown);
        self.wait("document.visibilityState === 'hidden'");
    }

    /// Brings this tab to the front.
    pub(crate) fn show(&mut self) {
        self.call("Page.bringToFront", &json!({}));
        self.wait("document.visibilityState === 'visible'");
    }

    /// How far the page can be scrolled sideways, in pixels.
    pub(crate) fn sideways(&mut self) -> f64 {
        self.number("document.scrollingElement.scrollWidth - document.documentElement.clientWidth")
    }

    /// The number of elements of the document.
    pub(crate) fn elements(&mut self) -> f64 {
        self.number("document.querySelectorAll('*').length")
    }
}

/// An expression for the element with this test id.
pub(crate) fn element(id: &str) -> String {
    format!("document.querySelector('[data-testid=\"{id}\"]')")
}
