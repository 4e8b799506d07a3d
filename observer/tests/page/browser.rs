//! Chromium without a window, driven through its `DevTools` port.
//!
//! One browser serves the tests that run at the same time. It ends with the last of them, and each page has a context
//! of its own, with its own storage and cache. Calls block.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tungstenite::{Message, WebSocket, client};

/// How long the browser may take to answer.
const PATIENCE: Duration = Duration::from_secs(40);
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// One page at a time: several on few cores would make each other slow.
static TURN: Mutex<()> = Mutex::new(());
/// The browser, while a test has it.
static RUNNING: Mutex<Weak<Browser>> = Mutex::new(Weak::new());
static PROFILES: AtomicU32 = AtomicU32::new(0);

/// A running Chromium.
pub(crate) struct Browser {
    process: Child,
    profile: PathBuf,
    /// Where its `DevTools` port listens.
    address: String,
}

/// A connection to the browser, and the turn to use it.
pub(crate) struct Connection {
    socket: WebSocket<TcpStream>,
    last: u64,
    pub(crate) events: VecDeque<Value>,
    // In this order: the next test may begin when the context of this one is gone.
    _turn: MutexGuard<'static, ()>,
    _browser: Arc<Browser>,
}

/// The program named by `CHROMIUM`, else the first of the usual names in `PATH`.
fn program() -> Option<PathBuf> {
    if let Some(named) = env::var_os("CHROMIUM").filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let folders = env::var_os("PATH")?;
    NAMES.iter().find_map(|name| {
        env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
    })
}

impl Browser {
    /// The browser that runs, or one that is started. `None` if there is no Chromium.
    fn running() -> Option<Arc<Self>> {
        let program = program()?;
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let browser = running.upgrade().unwrap_or_else(|| Arc::new(Browser::start(&program)));
        *running = Arc::downgrade(&browser);
        Some(browser)
    }

    fn start(program: &Path) -> Self {
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
        Browser { process, profile, address }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.profile);
    }
}

impl Connection {
    /// Waits for the turn of this test, and connects. `None` if there is no Chromium.
    pub(crate) fn open() -> Option<Self> {
        // A test that waits for its turn keeps the browser running.
        let browser = Browser::running()?;
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let host = browser.address.trim_start_matches("ws://").split('/').next().expect("a host");
        let stream = TcpStream::connect(host).expect("the DevTools port is open");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        let (socket, _) = client(browser.address.as_str(), stream).expect("a WebSocket");
        Some(Connection {
            socket,
            last: 0,
            events: VecDeque::new(),
            _turn: turn,
            _browser: browser,
        })
    }

    /// Sends a command; returns its number.
    pub(crate) fn send(&mut self, session: Option<&str>, method: &str, parameters: &Value) -> u64 {
        self.last += 1;
        let mut request = json!({"id": self.last, "method": method, "params": parameters});
        if let Some(session) = session {
            request["sessionId"] = json!(session);
        }
        self.socket.send(Message::text(request.to_string())).expect("the browser listens");
        self.last
    }

    /// The answer to the command with this number. Events that come before it are kept.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.socket.read().expect("the browser answers");
            let Message::Text(text) = message else { continue };
            let answer: Value = serde_json::from_str(&text).expect("JSON of the browser");
            if answer["id"] == json!(id) {
                return answer;
            }
            self.events.push_back(answer);
        }
    }

    /// Sends a command and returns its result.
    pub(crate) fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        parameters: &Value,
    ) -> Value {
        let id = self.send(session, method, parameters);
        let mut answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
        answer["result"].take()
    }
}
