// The page: its route, its header, its open processes, and when it draws.
//
// A page module is `{ title, question, topics(route), params(route), enter(ctx), tick(ctx), view(ctx),
// after(ctx) }`. `topics` and `params` say what the stream shall carry; `enter` asks for what no
// stream has; `view` returns the elements of the page from what is known now.

import { h, render } from "./dom.js";
import { hasToken, setToken } from "./api.js";
import { clock, count, duration, many, moment, zone } from "./format.js";
import { age, connect, follow, newest, pause, resume, start, world } from "./live.js";
import { ask, processLink, quoted, say } from "./widgets.js";

// The page is on a file of a node or of a failing seed, or on a running node. A seed has its steps and
// nothing else: there is no node to follow.
const FILE = document.documentElement.dataset.file;
const REPLAY = FILE === "replay";
const PAGES = REPLAY ? [["replay", "Steps"]] : [
  ["now", "Now"],
  ["processes", "Processes"],
  ["tree", "Tree"],
  ["waits", "Waits"],
  ["pools", "Pools"],
  ["cluster", "Cluster"],
  ["crashes", "Crashes"],
  ["events", "Events"],
  ["turns", "Turns"],
  ["flow", "Flow"],
  ["logs", "Logs"],
  ["health", "Health"],
];
// Routes that are part of another page's module.
const PARTS = REPLAY ? {} : { process: "process", crash: "crashes" };
const HOME = PAGES[0][0];
const MOST_PANELS = 5;

const panels = new Map();
const closedDeadlocks = new Set();
let processes = null;
let current = null;
let drawing = false;
let dockOpen = false;

// ---- routes

function parse() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const [name, arg] = path.split("/", 2);
  return { name: name || HOME, arg: arg ?? null, query: new URLSearchParams(query ?? "") };
}

function address(route, changes) {
  const query = new URLSearchParams(route.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  const path = route.name === HOME ? "" : route.arg === null ? route.name : `${route.name}/${route.arg}`;
  return `#/${path}${text ? `?${text}` : ""}`;
}

async function go() {
  const route = parse();
  const known = PAGES.some(([name]) => name === route.name) || route.name in PARTS;
  if (!known) {
    location.replace("#/");
    return;
  }
  const moved = current === null || current.route.name !== route.name || current.route.arg !== route.arg;
  const first = current === null;
  if (moved) {
    const module = (await import(`./${PARTS[route.name] ?? route.name}.js`)).default;
    // The route may have changed while the module came.
    if (location.hash !== "" && parse().name !== route.name) return;
    current?.module.leave?.(current);
    current = { route, module, state: {}, world, redraw, go: change, address: (changes) => address(current.route, changes), openProcess, newest };
  } else {
    current.route = route;
  }
  if (!REPLAY) follow(current.module.topics?.(route) ?? [], current.module.params?.(route));
  const entered = current;
  Promise.resolve(current.module.enter?.(current)).catch((error) => {
    entered.state.error = error;
  }).finally(redraw);
  draw();
  if (moved && !first) {
    window.scrollTo(0, 0);
    document.querySelector("#main h1")?.focus({ preventScroll: true });
  }
}

// Changes parameters of the route; `replace` leaves no step in the history.
function change(changes, replace = false) {
  const next = address(current.route, changes);
  if (next === location.hash) return;
  if (replace) {
    history.replaceState(null, "", next);
    go();
  } else location.hash = next;
}

// ---- drawing

function redraw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    draw();
  });
}

function draw() {
  if (!current) return;
  document.documentElement.dataset.conn = world.paused ? "paused" : world.conn;
  document.title = `${current.module.title} · ${world.node?.node ?? "Krarup"}`;
  render(document.getElementById("top"), header());
  render(document.getElementById("nav"), navigation());
  render(document.getElementById("main"), notices(), page());
  drawDock();
  render(document.getElementById("foot"), footer());
  current.module.after?.(current);
}

function header() {
  const { node } = world;
  const conn = FILE && world.conn === "live" ? "file" : world.conn;
  const named = node
    ? h("span", { class: "node", "data-testid": "node-summary" }, quoted(node.node), ` · ${many(node.processes.living, "process", "processes")}`)
    : h("span", { class: "node" }, REPLAY ? "A simulation" : "…");
  return [
    h("button", { type: "button", class: "skip", onclick: () => document.getElementById("main").focus() }, "Skip to the page"),
    h("a", { class: "brand", href: "#/" }, "Krarup"),
    named,
    h("span", { class: "tools" },
      h("span", { class: `conn ${conn}`, "data-testid": "conn", role: "status" }, conn),
      REPLAY ? null : h("button", { type: "button", "data-testid": "pause", "aria-pressed": String(world.paused !== null), onclick: () => (world.paused ? resume() : pause()) }, world.paused ? "Resume" : "Pause"),
      h("button", { type: "button", "data-testid": "theme", title: "Dark or light", onclick: theme }, dark() ? "Light" : "Dark"),
      node?.access.actions || node?.access.read_token || hasToken() || world.trouble?.includes("401")
        ? h("button", { type: "button", "data-testid": "token", onclick: enterToken, title: "The token allows actions. This page forgets it when it is loaded again." }, hasToken() ? "Forget token" : "Token")
        : null),
  ];
}

function navigation() {
  const findings = world.bodies.findings?.findings ?? [];
  const urgent = findings.filter((finding) => finding.severity !== "info").length;
  const here = { process: "processes", crash: "crashes" }[current.route.name] ?? current.route.name;
  return h("ul", null, PAGES.map(([name, title]) => h("li", { key: name },
    h("a", { href: name === HOME ? "#/" : `#/${name}`, "data-testid": `nav-${name}`, "aria-current": here === name ? "page" : null },
      title,
      name === "now" && urgent ? h("span", { class: "badge warning" }, count(urgent), h("span", { class: "hidden" }, " findings")) : null,
      name === "crashes" && world.node?.crashes ? h("span", { class: "badge plain" }, count(world.node.crashes)) : null))));
}

function notices() {
  const list = [];
  const since = world.heard === null ? null : new Date(world.heard);
  if (world.paused) {
    list.push(h("p", { class: "notice info", key: "paused", "data-testid": "paused" }, "Paused since ", moment(world.paused), ". All values are of that moment, or of the first look at a page after it."));
  } else if (world.conn !== "live" && since) {
    list.push(h("p", { class: "notice warning", key: "old", "data-testid": "old" },
      `The node was last heard ${duration(Math.round(age() / 1000) * 1000)} ago, at `, moment(since), ". The values below are old.", world.trouble ? ` ${world.trouble}` : ""));
  } else if (world.trouble) {
    list.push(h("p", { class: "notice warning", key: "trouble" }, world.trouble));
  }
  if (world.node?.stopping) list.push(h("p", { class: "notice warning", key: "stopping" }, "The node is stopping."));
  const dead = newest("deadlocks").filter((found) => !closedDeadlocks.has(found.seq));
  if (dead.length) list.push(deadlock(dead));
  return h("div", { key: "notices", class: "notices" }, list);
}

function deadlock(found) {
  const last = found[0];
  const members = last.pids.flatMap((pid, at) => [at ? " → " : "", processLink(pid, last.names[at])]);
  return h("div", { class: "notice critical banner", key: "deadlock", role: "alert", "data-testid": "deadlock-banner" },
    h("p", null, h("strong", null, "Deadlock"), " at ", moment(last.at), ": ",
      members, " → ", processLink(last.pids[0], last.names[0]), ". The call that closed the circle failed with an error. ",
      found.length > 1 ? `${many(found.length - 1, "earlier deadlock is", "earlier deadlocks are")} on the page ` : "More on the page ", h("a", { href: "#/waits" }, "Waits"), "."),
    h("button", {
      type: "button", "aria-label": "Close the message of the deadlock",
      onclick: () => {
        for (const item of found) closedDeadlocks.add(item.seq);
        redraw();
      },
    }, "Close"));
}

function page() {
  const { module, route } = current;
  const inner = module.view(current);
  return h("div", { key: `${route.name}/${route.arg}`, class: `page page-${route.name}` },
    h("h1", { tabindex: "-1" }, typeof module.heading === "function" ? module.heading(current) : module.title),
    module.question && !module.heading ? h("p", { class: "question" }, module.question) : null,
    inner);
}

function footer() {
  const { node } = world;
  const sample = node?.sample;
  return [
    h("span", null, `Times are local (${zone()}); each has its UTC time as title.`),
    sample ? h("span", null, `Sampled every ${duration(sample.period_ms)}; one sample costs ${duration(sample.cost_ms)}; ${many(sample.watchers, "watcher", "watchers")}.`) : null,
    node ? h("span", null, `Krarup ${node.version}`) : null,
  ];
}

// ---- theme and token

function dark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function theme() {
  document.documentElement.dataset.theme = dark() ? "light" : "dark";
  redraw();
}

async function enterToken() {
  if (hasToken()) {
    setToken(null);
    say("The token is forgotten.");
    redraw();
    return;
  }
  const given = await ask({
    title: "Token",
    text: "With the action token this page can act on processes. The token stays in the memory of this page and is forgotten when the page is loaded again.",
    yes: "Use it",
    danger: false,
    testid: "token-form",
    fields: [{ name: "token", label: "Token", type: "password", testid: "token-input" }],
  });
  if (!given) return;
  setToken(given.token);
  if (world.conn !== "live") connect();
  redraw();
}

// ---- open processes

async function openProcess(id) {
  processes ??= await import("./process.js");
  if (!panels.has(id)) {
    while (panels.size >= MOST_PANELS) {
      const [oldest] = panels.keys();
      panels.delete(oldest);
      say(`At most ${MOST_PANELS} processes are open; the one that was opened first is closed.`);
    }
    panels.set(id, processes.panel(id, redraw));
  }
  dockOpen = true;
  draw();
  const opened = document.querySelector(`[data-testid="panel-${id}"]`);
  opened?.scrollIntoView({ block: "nearest" });
  opened?.querySelector("h2")?.focus({ preventScroll: true });
}

function closePanel(id) {
  panels.delete(id);
  draw();
  document.querySelector("#dock h2, #main h1")?.focus({ preventScroll: true });
}

function drawDock() {
  const dock = document.getElementById("dock");
  const inMain = current.route.name === "process" ? Number(current.route.arg) : null;
  const list = [...panels.values()].filter((panel) => panel.id !== inMain).reverse();
  dock.hidden = list.length === 0;
  document.documentElement.dataset.dock = list.length ? (dockOpen ? "open" : "folded") : "none";
  render(dock,
    list.length ? h("div", { class: "dock-bar", key: "bar" },
      h("span", null, many(list.length, "open process", "open processes")),
      h("button", { type: "button", class: "fold", "aria-expanded": String(dockOpen), onclick: () => { dockOpen = !dockOpen; draw(); } }, dockOpen ? "Fold" : "Show")) : null,
    list.map((panel) => h("div", { key: panel.id }, processes.view(panel, () => closePanel(panel.id)))));
}

document.addEventListener("click", (clicked) => {
  if (clicked.defaultPrevented || clicked.button !== 0 || clicked.metaKey || clicked.ctrlKey || clicked.shiftKey || clicked.altKey) return;
  const target = clicked.target.closest("[data-open]");
  if (!target) return;
  // In a row that opens, other links and buttons do what they say.
  const inner = clicked.target.closest("a, button, input, select");
  if (inner && inner !== target) return;
  if (target.tagName !== "A" && String(getSelection()).length > 0) return;
  clicked.preventDefault();
  openProcess(Number(target.dataset.open));
});

// ---- start

if (REPLAY) world.conn = "file";
else start({
  change: redraw,
  tick() {
    if (!current) return;
    current.module.tick?.(current);
    for (const panel of panels.values()) processes.refresh(panel);
  },
  restart() {
    panels.clear();
    closedDeadlocks.clear();
    say(`The node was started again at ${clock(world.node?.now_at ?? new Date())}. The page begins anew.`);
    if (current.route.name === "process" || current.route.name === "crash") location.hash = "#/";
    else {
      current.state = {};
      go();
    }
  },
});
window.addEventListener("hashchange", go);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
setInterval(() => {
  // How old the values are grows while nothing comes.
  if (world.conn !== "live" && !world.paused && !REPLAY) redraw();
}, 1000);
go();

