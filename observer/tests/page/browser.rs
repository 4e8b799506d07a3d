//! Chromium without a window, driven through its `DevTools` port.
//!
//! Each browser is a process of its own with a profile of its own, and ends with its value. Calls
//! block. A condition is waited for inside the page, so no test sleeps.

use crate::picture::{base64, screenshots};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tungstenite::{Message, WebSocket, client};

/// How long a condition may take to come true, and an answer of the browser to arrive.
const PATIENCE: Duration = Duration::from_secs(20);
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// One browser at a time: several on few cores would make each other slow.
static TURN: Mutex<()> = Mutex::new(());
static PROFILES: AtomicU32 = AtomicU32::new(0);

/// Whether something happened within the limit of a rule. A machine that also builds says little about
/// a limit of seconds, so it is held only with `PAGE_TIMES=1` (`.ci/run page`).
pub(crate) fn in_time(what: &str, took: Duration, limit: Duration) {
    let held = env::var_os("PAGE_TIMES").is_some();
    assert!(!held || took < limit, "{what} after {took:?}, not within {limit:?}");
}

/// A running Chromium.
pub(crate) struct Browser {
    process: Child,
    profile: PathBuf,
    socket: WebSocket<TcpStream>,
    last: u64,
    events: VecDeque<Value>,
    _turn: MutexGuard<'static, ()>,
}

/// A page in a browser of its own.
pub(crate) struct Page {
    browser: Browser,
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

/// The program named by `CHROMIUM`, else the first of the usual names in `PATH`.
pub(crate) fn program() -> Option<PathBuf> {
    if let Some(named) = env::var_os("CHROMIUM").filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let folders = env::var_os("PATH")?;
    NAMES.iter().find_map(|name| {
        env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
    })
}

/// Opens a page, or says aloud that the test is left out.
pub(crate) fn page(look: Look) -> Option<Page> {
    let Some(program) = program() else {
        eprintln!("no Chromium in PATH and none in CHROMIUM: this test of the page is LEFT OUT");
        return None;
    };
    Some(Browser::start(&program).page(look))
}

impl Browser {
    fn start(program: &Path) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let number = PROFILES.fetch_add(1, Ordering::Relaxed);
        let profile = env::temp_dir().join(format!("krarup-page-{}-{number}", std::process::id()));
        fs::create_dir_all(&profile).expect("a folder for the profile");
        let mut process = Command::new(program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--disable-background-networking", "--disable-sync"])
            .args(["--hide-scrollbars", "--remote-debugging-port=0", "about:blank"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("Chromium starts");
        let mut lines = BufReader::new(process.stderr.take().expect("stderr is piped")).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("DevTools listening on ").map(str::to_owned))
            .expect("Chromium says where it listens");
        // A full pipe would stop the browser.
        std::thread::spawn(move || lines.for_each(drop));
        let host = address.trim_start_matches("ws://").split('/').next().expect("a host");
        let stream = TcpStream::connect(host).expect("the DevTools port is open");
        stream.set_read_timeout(Some(PATIENCE * 2)).expect("a time limit");
        let (socket, _) = client(address.as_str(), stream).expect("a WebSocket");
        Browser { process, profile, socket, last: 0, events: VecDeque::new(), _turn: turn }
    }

    fn page(mut self, look: Look) -> Page {
        let target = self.call(None, "Target.createTarget", &json!({"url": "about:blank"}));
        let attached = self.call(
            None,
            "Target.attachToTarget",
            &json!({"targetId": target["targetId"], "flatten": true}),
        );
        let session = attached["sessionId"].as_str().expect("a session").to_owned();
        let mut page = Page { browser: self, session, requests: Vec::new(), errors: Vec::new() };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), &json!({}));
        }
        page.look(look);
        page
    }

    fn call(&mut self, session: Option<&str>, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut request = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = session {
            request["sessionId"] = json!(session);
        }
        self.socket.send(Message::text(request.to_string())).expect("the browser listens");
        loop {
            let message = self.socket.read().unwrap_or_else(|error| panic!("{method}: {error}"));
            let Message::Text(text) = message else { continue };
            let mut answer: Value = serde_json::from_str(&text).expect("JSON of the browser");
            if answer["id"] == json!(id) {
                assert!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
                return answer["result"].take();
            }
            self.events.push_back(answer);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.profile);
    }
}

impl Page {
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        let session = self.session.clone();
        let result = self.browser.call(Some(&session), method, parameters);
        while let Some(event) = self.browser.events.pop_front() {
            self.note(&event);
        }
        result
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
        let session = self.session.clone();
        self.browser.last += 1;
        let id = self.browser.last;
        let request = json!({"id": id, "method": "Runtime.evaluate", "params": parameters, "sessionId": session});
        self.browser.socket.send(Message::text(request.to_string())).expect("the browser listens");
        loop {
            let message = self.browser.socket.read().expect("the browser answers");
            let Message::Text(text) = message else { continue };
            let answer: Value = serde_json::from_str(&text).expect("JSON of the browser");
            if answer["id"] == json!(id) {
                return answer["result"]["result"]["value"] == json!(true);
            }
            self.note(&answer);
        }
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

    /// Brings another tab before this one.
    pub(crate) fn hide(&mut self) {
        let other = self.browser.call(None, "Target.createTarget", &json!({"url": "about:blank"}));
        self.browser.call(None, "Target.activateTarget", &json!({"targetId": other["targetId"]}));
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
