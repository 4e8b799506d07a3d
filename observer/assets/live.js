// What the page knows of the node: one stream of events, and whether it is live, stale or offline.
//
// The stream is read with `fetch`, so the token can go in a header. It is closed while the page is
// hidden or paused, and opened again after that. A node that came back under another creation makes
// the page start anew.

import { get, open, explain } from "./api.js";

const PERIOD = 1000;
const HISTORY = 600;
const RING = 500;
/** How long a page may be hidden before its stream is closed. */
const HIDDEN = 2000;
/** How long after it became stale a page without a connection says that the node is offline. */
const PATIENCE = 4000;
const ALWAYS = ["node", "findings", "crashes", "deadlocks"];
const RINGS = ["crashes", "restarts", "dead_letters", "deadlocks", "logs"];

/** The last body of each topic; `history` is what was seen of the node in the last ten minutes. */
export const world = {
  node: null,
  bodies: {},
  rings: {},
  history: [],
  conn: "stale",
  /** The moment of the last event. */
  heard: null,
  /** Since when the page is paused, or `null`. */
  paused: null,
  /** Why there is no stream, as a sentence. */
  trouble: null,
  /** The text of the parameters that `bodies.processes` answers. */
  shown: null,
};

let changed = () => {};
let ticked = () => {};
let restarted = () => {};
let wanted = { topics: ALWAYS, params: {} };
let reader = null;
let attempt = 0;
let retry = null;
let watch = null;
let hiding = null;
let period = PERIOD;
let identity = null;

/** Calls `change` when something is new, `tick` once a period, `restart` when the node is another one. */
export function start({ change, tick, restart }) {
  changed = change;
  ticked = tick;
  restarted = restart;
  document.addEventListener("visibilitychange", visibility);
  watch = setInterval(judge, 500);
}

/** Follows these topics beside those of every page; `params` are of the topic `processes`. */
export function follow(topics, params) {
  const next = { topics: [...new Set([...ALWAYS, ...topics])].slice(0, 8), params: params ?? {} };
  const same = reader !== null && JSON.stringify(next) === JSON.stringify(wanted);
  wanted = next;
  for (const topic of wanted.topics) if (RINGS.includes(topic)) fillRing(topic);
  if (!same) connect();
  if (world.paused) picture();
}

// A paused page that was not shown before has nothing to freeze: it gets one picture.
function picture() {
  for (const topic of wanted.topics) {
    const params = topic === "processes" ? wanted.params : {};
    const text = JSON.stringify(params);
    if (RINGS.includes(topic) ? world.rings[topic] : world.bodies[topic] && (topic !== "processes" || world.shown === text)) continue;
    get(topic, RINGS.includes(topic) ? { after: -1, limit: 200 } : params)
      .then((body) => {
        if (RINGS.includes(topic)) gather(topic, body);
        else world.bodies[topic] = body;
        if (topic === "processes") world.shown = text;
        changed();
      })
      .catch(() => {});
  }
}

/** Freezes what is shown. */
export function pause() {
  world.paused = new Date();
  close();
  changed();
}

/** Goes on after `pause`. */
export function resume() {
  world.paused = null;
  connect();
  refill();
  changed();
}

/** Opens the stream anew, for example with a token. */
export function connect() {
  close();
  if (world.paused || document.hidden) return;
  const mine = new AbortController();
  reader = mine;
  read(mine).catch((error) => {
    if (reader !== mine) return;
    world.trouble = error.name === "AbortError" ? null : explain(error);
    reader = null;
    const wait = Math.min(5000, 250 * 2 ** attempt) * (0.75 + Math.random() / 2);
    attempt = Math.min(attempt + 1, 5);
    retry = setTimeout(connect, error.status === 401 ? 5000 : wait);
    judge();
    changed();
  });
}

function close() {
  clearTimeout(retry);
  reader?.abort();
  reader = null;
}

function visibility() {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(close, HIDDEN);
  else if (reader === null && !world.paused) {
    connect();
    refill();
  }
}

async function read(mine) {
  const asked = wanted;
  const params = asked.topics.includes("processes") ? asked.params : {};
  const answer = await open("stream", { topics: asked.topics.join(","), period_ms: PERIOD, ...params }, mine.signal);
  const source = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await source.read();
    if (reader !== mine) return;
    if (done) throw new Error("The node closed the stream.");
    rest += value;
    for (;;) {
      const end = /\r?\n\r?\n/.exec(rest);
      if (!end) break;
      const block = rest.slice(0, end.index);
      rest = rest.slice(end.index + end[0].length);
      event(block, asked);
    }
  }
}

function event(block, asked) {
  let name = "message";
  const data = [];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
  }
  if (data.length === 0) return;
  const body = JSON.parse(data.join("\n"));
  world.heard = Date.now();
  world.trouble = null;
  attempt = 0;
  if (name === "hello") {
    period = body.period_ms;
    if (world.node) refill();
  } else if (name === "bye") world.trouble = bye(body.reason);
  else if (RINGS.includes(name)) gather(name, body);
  else {
    world.bodies[name] = body;
    if (name === "processes") world.shown = JSON.stringify(asked.params);
    if (name === "node") meet(body);
  }
  judge();
  changed();
}

function bye(reason) {
  switch (reason) {
    case "stopping": return "The node is stopping.";
    case "slow": return "The node closed the stream because this page read too slowly.";
    default: return "The node closed the stream.";
  }
}

function meet(node) {
  const now = `${node.node} ${node.started_at}`;
  const version = world.node?.version;
  if (identity !== null && identity !== now) {
    // Other code may have other pages.
    if (version !== node.version) location.reload();
    for (const field of ["bodies", "rings"]) world[field] = {};
    world.history = [];
    looked.clear();
    restarted();
    for (const topic of wanted.topics) if (RINGS.includes(topic)) fillRing(topic, node);
  }
  identity = now;
  const before = world.node;
  world.node = node;
  period = Math.max(PERIOD, node.sample?.period_ms ?? 0);
  remember(node);
  if (before === null) for (const topic of wanted.topics) if (RINGS.includes(topic)) fillRing(topic);
  complete();
  ticked();
}

// Rates of the node from its totals, and its load, for ten minutes.
function remember(node) {
  const last = world.history.at(-1);
  const at = node.uptime_ms;
  if (last && at - last.at < 100) return;
  const over = last && at - last.at < 10000 ? (at - last.at) / 1000 : null;
  const per = (now, before) => (over === null ? null : (now - before) / over);
  const workers = node.dispatchers.reduce((sum, d) => sum + d.workers, 0);
  const known = node.dispatchers.filter((d) => d.busy !== null && d.busy !== undefined);
  world.history.push({
    at,
    handled_total: node.messages.handled,
    os_cpu_ms: node.os.cpu_ms,
    busy: known.length && workers ? known.reduce((sum, d) => sum + d.busy * d.workers, 0) / workers : null,
    handled: last ? per(node.messages.handled, last.handled_total) : null,
    os_cpu: last && node.os.cpu_ms !== null ? per(node.os.cpu_ms / 1000, last.os_cpu_ms / 1000) : null,
    waiting: node.messages.waiting,
    living: node.processes.living,
    resident: node.os.resident_bytes,
  });
  const oldest = at - HISTORY * 1000;
  while (world.history.length > HISTORY || world.history[0].at < oldest) world.history.shift();
}

/** The items of a ring, the newest first. */
export function newest(topic) {
  return world.rings[topic]?.items ?? [];
}

function gather(topic, body) {
  const ring = (world.rings[topic] ??= { items: [], lost: 0, next: 1, asked: true });
  // An item may come again: a crash knows its successor a moment after it.
  const told = new Set(body.items.map((item) => item.seq));
  ring.items = [...body.items, ...ring.items.filter((item) => !told.has(item.seq))].sort((a, b) => b.seq - a.seq).slice(0, RING);
  ring.lost = Math.max(ring.lost, body.lost ?? 0);
  ring.next = Math.max(ring.next, body.next_seq ?? 1);
}

// A stream tells of a ring what comes from then on; what was there is asked for once.
const TOTALS = { crashes: "crashes", restarts: "restarts", dead_letters: "dead_letters", deadlocks: "deadlocks" };

function fillRing(topic, node = world.node) {
  if (world.rings[topic]?.asked || world.paused) return;
  // The counts of the node are known a moment later, and there may be nothing to ask for.
  if (!node) return;
  const total = TOTALS[topic];
  const ring = (world.rings[topic] ??= { items: [], lost: 0, next: 1 });
  ring.asked = true;
  if (total && node[total] === 0) return;
  get(topic, { after: -1, limit: topic === "deadlocks" ? 20 : 200 })
    .then((body) => {
      gather(topic, body);
      changed();
    })
    .catch(() => {
      ring.asked = false;
    });
}

// What came while there was no stream.
function refill() {
  for (const [topic, ring] of Object.entries(world.rings)) {
    if (wanted.topics.includes(topic)) {
      get(topic, { after: Math.max(0, ring.next - 1), limit: 500 })
        .then((body) => {
          gather(topic, body);
          changed();
        })
        .catch(() => {});
    } else delete world.rings[topic];
  }
}

// Asks again for crashes of supervised processes that had no successor yet when they were told.
const looked = new Map();

function complete() {
  const open = newest("crashes").slice(0, 20).filter((crash) => crash.watched_by && !crash.replaced_by && (looked.get(crash.seq) ?? 0) < 3);
  if (!open.length) return;
  for (const { seq } of open) looked.set(seq, (looked.get(seq) ?? 0) + 1);
  while (looked.size > 100) looked.delete(looked.keys().next().value);
  get("crashes", { after: open.at(-1).seq - 1, limit: 50 }).then((body) => {
    gather("crashes", body);
    changed();
  }, () => {});
}

/** How long ago the node was heard, in milliseconds. */
export function age() {
  return world.heard === null ? null : Date.now() - world.heard;
}

function judge() {
  if (world.paused || document.hidden) return;
  const silent = age();
  const most = 3 * period;
  let conn = "live";
  if (silent === null || silent > most) conn = "stale";
  if (silent === null ? attempt > 2 : silent > most + (reader === null || attempt > 0 ? PATIENCE : 5 * PATIENCE)) {
    conn = "offline";
  }
  if (conn !== world.conn) {
    world.conn = conn;
    changed();
  }
}
