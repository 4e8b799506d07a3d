// One process: what it is, what it waits for, its values, its state, its messages, and what can be
// done with it. The same panel stands in the dock and on the page `#/process/ID`.

import { h } from "./dom.js";
import { ApiError, explain, get, hasToken, post } from "./api.js";
import { amount, bytes, count, duration, fullness, growth, moment, rate, share } from "./format.js";
import { newest, world } from "./live.js";
import { ask, bar, called, empty, processLink, quoted, say, state, table, typed } from "./widgets.js";

const TABS = [["overview", "Overview"], ["inspect", "Inspect"], ["state", "State"], ["trace", "Trace"], ["recorder", "Recorder"], ["links", "Links"]];
const MOST = 30;

/** What is known of one open process. */
export function panel(id, redraw) {
  const made = { id, redraw, tab: "overview", detail: null, error: null, dead: null, outcome: null, inspect: null, state: null, trace: null, asking: false };
  refresh(made);
  return made;
}

/** Asks for the process again. */
export async function refresh(open) {
  if (open.asking || open.dead) return;
  open.asking = true;
  try {
    open.detail = await get(`processes/${open.id}`);
    open.error = null;
  } catch (error) {
    if (error.code === "no_process") await bury(open);
    else open.error = error;
  }
  if (!open.dead) {
    if (open.tab === "inspect") await look(open, "inspect");
    if (open.trace && open.trace.state === "running") await readTrace(open);
  } else if (open.trace?.state === "running") await readTrace(open);
  open.asking = false;
  open.redraw();
}

// How it ended: from the crashes, else from the restarts.
async function bury(open) {
  const pid = open.detail?.pid ?? `<0.${open.id}.0>`;
  const find = async (topic) => newest(topic).find((item) => item.pid === pid && (topic === "crashes" || item.what === "ended"))
    ?? (await get(topic, { after: -1, limit: 500 })).items.reverse().find((item) => item.pid === pid && (topic === "crashes" || item.what === "ended"));
  open.dead = { pid, crash: null, end: null, seen: open.detail !== null, at: new Date() };
  try {
    open.dead.crash = await find("crashes") ?? null;
    if (!open.dead.crash) open.dead.end = await find("restarts") ?? null;
  } catch {
    // Without the rings the panel says that it ended, and no more.
  }
}

async function look(open, what) {
  try {
    open[what] = { body: await get(`processes/${open.id}/${what}`, { timeout_ms: 1000 }), at: new Date() };
  } catch (error) {
    open[what] = { error, at: new Date() };
  }
}

async function readTrace(open) {
  const { trace } = open;
  try {
    const body = await get(`traces/${trace.number}`, { after: trace.next });
    trace.items.push(...body.items);
    trace.items.splice(0, trace.items.length - 1000);
    trace.next = Math.max(trace.next, body.next_seq - 1);
    trace.state = body.state;
    trace.end = body.end;
    trace.lost = body.lost;
  } catch (error) {
    trace.state = "ended";
    trace.end = explain(error);
  }
}

async function show(open, tab) {
  open.tab = tab;
  open.redraw();
  if (!open.dead && (tab === "inspect" || tab === "state")) {
    await look(open, tab);
    open.redraw();
  }
}

// ---- the picture

/** The panel; `close` is `null` where it is the page. */
export function view(open, close) {
  const { detail, dead } = open;
  const name = detail ? called(detail) : dead?.crash?.name;
  const pid = detail?.pid ?? dead?.pid ?? `<0.${open.id}.0>`;
  return h("section", { class: `panel${dead ? " dead" : ""}`, "data-testid": `panel-${open.id}`, "aria-label": `Process ${name ?? pid}` },
    h("div", { class: "panel-head" },
      h("h2", { tabindex: "-1" }, name ? [quoted(name), " "] : null, h("span", { class: "pid" }, pid), " ", dead ? state("ended") : detail ? state(detail.state) : null),
      close ? h("span", { class: "buttons" },
        h("a", { href: `#/process/${open.id}`, title: "Show it as a page" }, "Page"),
        h("button", { type: "button", "data-testid": `panel-close-${open.id}`, "aria-label": `Close ${name ?? pid}`, onclick: close }, "Close")) : null),
    dead ? ended(open) : null,
    open.error ? h("p", { class: "notice warning" }, explain(open.error)) : null,
    open.outcome ? h("p", { class: `notice ${open.outcome.good ? "good" : "critical"}`, role: "status", "data-testid": "outcome" }, open.outcome.text) : null,
    detail ? [tabs(open), h("div", { class: "tab-body", role: "tabpanel", key: open.tab, "aria-label": open.tab }, body(open))] : dead ? null : h("p", null, "Asking."),
    detail && !dead ? actions(open) : null);
}

function ended(open) {
  const { crash, end, seen } = open.dead;
  if (crash) {
    return h("p", { class: "notice critical" }, "It ended at ", moment(crash.at), " with ", h("span", { class: "reason" }, quoted(crash.reason)), ". ",
      crash.replaced_by ? ["In its place: ", processLink(crash.replaced_by, null), ". "] : null,
      h("a", { href: `#/crash/${crash.seq}` }, "Why did it end?"));
  }
  if (end) return h("p", { class: "notice info" }, "It ended at ", moment(end.at), ": ", quoted(end.reason ?? "no reason is known"), ".");
  return h("p", { class: "notice info" }, seen
    ? ["It ended at about ", moment(open.dead.at), ". It left no crash report, so it ended normally or was stopped by order."]
    : "There is no such process. It ended and left no crash report, or it never was.");
}

function tabs(open) {
  const order = TABS.map(([tab]) => tab);
  return h("div", { class: "tabs", role: "tablist", "aria-label": "Views of the process" }, TABS.map(([tab, title]) => h("button", {
    type: "button", role: "tab", key: tab, "data-testid": `tab-${tab}`, "aria-selected": String(open.tab === tab), tabindex: open.tab === tab ? "0" : "-1",
    onclick: () => show(open, tab),
    onkeydown: (pressed) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[pressed.key];
      if (!step) return;
      pressed.preventDefault();
      const next = order[(order.indexOf(tab) + step + order.length) % order.length];
      const list = pressed.target.parentElement;
      show(open, next);
      requestAnimationFrame(() => list.querySelector(`[data-testid=tab-${next}]`)?.focus());
    },
  }, title)));
}

function body(open) {
  switch (open.tab) {
    case "inspect": return inspected(open);
    case "state": return stateText(open);
    case "trace": return traced(open);
    case "recorder": return recorded(open);
    case "links": return linked(open);
    default: return overview(open);
  }
}

function facts(list) {
  return h("dl", { class: "facts" }, list.filter(Boolean).map(([term, ...value]) => h("div", { key: term }, h("dt", null, term), h("dd", null, value))));
}

function overview({ detail: p }) {
  const full = p.bound ? p.main / p.bound : null;
  return [
    p.ancestors.length ? h("p", { class: "trail" }, "Below ", p.ancestors.slice().reverse().flatMap((one, at) => [at ? " › " : "", processLink(one.pid, one.name ?? null)])) : null,
    facts([
      ["Mailbox", full === null ? `${count(p.main)} waiting, no bound` : bar(full, `${count(p.main)} of ${count(p.bound)}`, full >= 1 ? "critical" : full >= 0.8 ? "warning" : "plain")],
      ["Growth", growth(p.growth)],
      p.urgent || p.system ? ["Other lanes", `${count(p.urgent)} urgent, ${count(p.system)} system`] : null,
      p.stashed ? ["Stashed", `${count(p.stashed)} set aside`] : null,
      ["First message waits", p.head_wait_ms === null ? "–" : duration(p.head_wait_ms)],
      p.room_waiters ? ["Wait for room in it", count(p.room_waiters)] : null,
      ["Waits for", waitsFor(p)],
      ["CPU", `${share(p.cpu)} of a core`],
      ["Messages", `${rate(p.in_rate)} received, ${rate(p.handled_rate)} handled`],
      ["In all", `${count(p.in)} received, ${count(p.handled)} handled, ${count(p.out)} sent`],
      ["Ran", `${duration(p.running_ms)} in ${duration(p.uptime_ms)}`],
      ["Kind", p.kind],
      ["Behaviour", typed(p.behavior)],
      p.label ? ["Label", quoted(p.label)] : null,
      p.message_type ? ["Takes", typed(p.message_type)] : null,
      p.command_type && p.command_type !== p.message_type ? ["Commands", typed(p.command_type)] : null,
      ["Supervised by", p.supervised_by ? [processLink(p.supervised_by.pid, p.supervised_by.name), ` as ${p.supervised_by.child ?? "child"}, restarted ${count(p.supervised_by.restarts)} times`] : "nobody"],
      ["Children", p.children ? h("a", { href: `#/processes?parent=${p.id}` }, count(p.children)) : "0"],
      ["Dispatcher", `${p.dispatcher}${p.class ? `, class ${p.class}` : ""}`],
      p.suspensions ? ["Suspended", `${count(p.suspensions)} times`] : null,
      p.aliases.length ? ["Aliases", quoted(p.aliases.join(", "))] : null,
      ["Memory", h("span", { title: "Cell, future and queue; what they point at is not counted" }, bytes(p.shallow_bytes))],
    ]),
    p.pool ? h("p", null, `It is a pool: ${count(p.pool.workers)} of ${count(p.pool.places)} workers, ${fullness(p.pool.fill)}${p.pool.fill === null ? "" : " full"}, ${count(p.pool.unhandled)} refused. `, h("a", { href: `#/pools?show=${p.id}` }, "The pool worker by worker")) : null,
  ];
}

// `waits_for` may be a pid, or an object with the pid and the kind.
function waitsFor(p) {
  const on = p.waits_for;
  if (on === null || on === undefined) return "nobody";
  if (typeof on === "string") return processLink(on, null);
  return [processLink(on.pid ?? on.on, on.name ?? null), on.kind ? (on.kind === "room" ? " (room in its mailbox)" : " (an answer)") : null];
}

/** Values of an inspection: nested records and lists as nested lists. */
export function values(value) {
  if (value === null) return h("span", { class: "none" }, "none");
  if (typeof value === "number") return Number.isInteger(value) ? count(value) : amount(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) return value.length ? h("ol", { class: "values" }, value.slice(0, MOST).map((one) => h("li", null, values(one))), value.length > MOST ? h("li", null, `and ${count(value.length - MOST)} more`) : null) : "empty list";
  const entries = Object.entries(value);
  if (entries.length === 1 && entries[0][0] === "ms") return duration(value.ms);
  return facts(entries.slice(0, 60).map(([name, one]) => [name, values(one)]));
}

function again(open, what) {
  return h("p", { class: "quiet-text" }, `Asked at `, moment(open[what].at), open[what].body ? `, answered in ${duration(open[what].body.took_ms)}. ` : ". ",
    h("button", { type: "button", onclick: () => show(open, what) }, "Ask again"));
}

function inspected(open) {
  const { inspect } = open;
  if (!inspect) return h("p", null, "Asking the process.");
  if (inspect.error) return [h("p", { class: "notice warning" }, explain(inspect.error)), again(open, "inspect")];
  const items = inspect.body.items;
  return [Object.keys(items).length ? values(items) : empty("No values.", "An actor offers its values by its method inspect. This one offers none."), again(open, "inspect")];
}

function stateText(open) {
  const { state: told } = open;
  if (!told) return h("p", null, "Asking the process.");
  if (told.error?.code === "not_offered") return empty("This process does not show its state.", "State as text needs the consent of the actor: Dynamic::shown. Its values may be on the tab Inspect.");
  if (told.error) return [h("p", { class: "notice warning" }, explain(told.error)), again(open, "state")];
  return [h("p", null, typed(told.body.type)), h("pre", { tabindex: "0", "aria-label": "State" }, told.body.text), again(open, "state")];
}

/** Messages as they were handled. */
export function messages(items, most = MOST) {
  const shown = items.slice(-most);
  return [
    items.length > most ? h("p", { class: "quiet-text" }, `The last ${most} of ${count(items.length)}.`) : null,
    table({
      className: "messages", rows: shown, key: (item) => item.seq,
      columns: [
        { key: "seq", label: "No.", number: true, cell: (item) => count(item.seq) },
        { key: "at", label: "After", number: true, title: "Since the first", cell: (item) => duration(item.at_ms - (items[0]?.at_ms ?? 0)) },
        { key: "type", label: "Message", cell: (item) => [typed(item.type), item.text === null || item.text === undefined ? null : h("div", { class: "shown" }, quoted(item.text))] },
        { key: "sender", label: "From", cell: (item) => processLink(item.sender, null) },
        { key: "lane", label: "Lane", cell: (item) => `${item.lane}${item.kind && item.kind !== "message" ? `, ${item.kind}` : ""}` },
      ],
    }),
    shown.some((item) => item.text) ? null : h("p", { class: "quiet-text" }, "The texts of messages are private unless the actor offers them (show_message)."),
  ];
}

const ENDS = { items: "it had its number of messages", time: "its time was over", overload: "it cost too much", untraced: "it was ended by hand", ended: "the process ended" };

function traced(open) {
  const { trace, detail } = open;
  const words = may()
    ? "A trace shows the next messages of the process, and ends by itself."
    : "A trace shows the next messages of the process. To start one, enter the action token with the button “Token”.";
  if (!trace) return empty("No trace.", detail.traced ? "The process is traced by somebody else. " + words : words);
  return [
    h("p", null, trace.state === "running" ? `The trace runs: ${count(trace.items.length)} of at most ${count(trace.most)} messages.` : `The trace ended because ${ENDS[trace.end] ?? trace.end}. It has ${count(trace.items.length)} messages.`,
      trace.lost ? ` ${count(trace.lost)} were lost.` : ""),
    trace.items.length ? messages(trace.items, 60) : h("p", { class: "quiet-text" }, "No message yet."),
  ];
}

function recorded({ detail }) {
  const items = detail.recorded_items ?? [];
  if (items.length) return messages(items);
  return empty("Nothing is recorded.", detail.recorded
    ? "The recorder is on; the messages that the process takes will stand here, and after a crash in its report."
    : `The flight recorder keeps the last messages of a process for the report of its crash. ${may() ? "Turn it on below with Record." : "Spawn the process with record(n), or turn it on with the action token."}`);
}

function linked({ detail: p }) {
  return [
    facts([["Links", p.links.length ? h("ul", { class: "plain-list" }, p.links.slice(0, MOST).map((one) => h("li", { key: one.pid }, processLink(one.pid, one.name)))) : "none", p.links_more || p.links.length > MOST ? h("p", null, `and ${count(p.links_more + Math.max(0, p.links.length - MOST))} more`) : null],
      ["Monitors", count(p.monitors)], ["Monitored by", count(p.monitored_by)], ["Traps exits", p.trapping ? "yes" : "no"]]),
    h("p", null, h("a", { href: `#/tree?from=${p.id}` }, "Its place in the tree"), " · ", h("a", { href: `#/logs?pid=${p.id}` }, "Its logs")),
  ];
}

// ---- actions

function may() {
  return hasToken() && world.node?.access.actions === true;
}

const ACTIONS = [
  { name: "kill", label: "Kill", text: "It ends at once, without cleaning up; its supervisor may start it again." },
  { name: "exit", label: "Exit", text: "It gets an exit signal with this reason.", fields: [{ name: "reason", label: "Reason", value: "shutdown", maxlength: 200 }] },
  { name: "suspend", label: "Suspend", text: "It handles nothing until the time is over; its mailbox grows meanwhile.", fields: [{ name: "seconds", label: "Seconds, 1 to 3600", type: "number", min: 1, max: 3600, value: 30 }] },
  { name: "resume", label: "Resume", text: "It takes back one suspension.", danger: false, when: (p) => p.suspensions > 0 },
  { name: "trace", label: "Trace", text: "Its next messages are shown; the trace ends by itself.", danger: false, fields: [{ name: "items", label: "Messages, 1 to 1000", type: "number", min: 1, max: 1000, value: 100 }, { name: "seconds", label: "Seconds, 1 to 60", type: "number", min: 1, max: 60, value: 10 }] },
  { name: "untrace", label: "End trace", text: "The trace of it ends.", danger: false, when: (p) => p.traced },
  { name: "record", label: "Record", text: "Its last messages are kept for the report of a crash; 0 turns this off.", danger: false, fields: [{ name: "items", label: "Messages, 0 to 256", type: "number", min: 0, max: 256, value: 32 }] },
  { name: "resize", label: "Resize", text: "The pool gets this many workers.", when: (p) => p.kind === "pool", fields: [{ name: "workers", label: "Workers, 0 to 1024", type: "number", min: 0, max: 1024, value: 4 }] },
  { name: "drain", label: "Drain", text: "The pool takes nothing new until it is reopened.", when: (p) => p.kind === "pool" },
  { name: "reopen", label: "Reopen", text: "The pool takes messages again.", danger: false, when: (p) => p.kind === "pool" },
  { name: "terminate_child", label: "Stop a child", text: "The supervisor stops this child and leaves it stopped.", when: (p) => p.kind === "supervisor", fields: [{ name: "child", label: "Id of the child" }] },
  { name: "restart_child", label: "Start a child", text: "The supervisor starts a child that was stopped.", danger: false, when: (p) => p.kind === "supervisor", fields: [{ name: "child", label: "Id of the child" }] },
];

function actions(open) {
  if (!may()) return null;
  const { detail } = open;
  return h("div", { class: "actions", role: "group", "aria-label": "Actions" }, ACTIONS.filter((action) => !action.when || action.when(detail)).map((action) => h("button", {
    type: "button", key: action.name, class: action.danger === false ? null : "danger", "data-testid": `action-${action.name}`, onclick: () => act(open, action),
  }, action.label)));
}

async function act(open, action) {
  const { detail } = open;
  const name = called(detail);
  const whole = name ? `${detail.pid} “${name}”` : detail.pid;
  const given = await ask({ title: `${action.label}: ${whole}?`, text: action.text, yes: `${action.label} ${detail.pid}`, fields: action.fields ?? [], danger: action.danger !== false });
  if (given === null) return;
  const body = Object.fromEntries((action.fields ?? []).map((field) => [field.name, field.type === "number" ? Number(given[field.name]) : given[field.name]]));
  try {
    const answer = await post(`processes/${open.id}/${action.name}`, body);
    open.outcome = { good: true, text: `Done: ${action.label.toLowerCase()} ${whole}.` };
    if (action.name === "trace") {
      open.trace = { number: answer.trace, items: [], next: 0, state: "running", end: null, lost: 0, most: body.items };
      open.tab = "trace";
    }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    open.outcome = { good: false, text: `${action.label} ${whole} was not done: ${explain(error)}` };
  }
  say(open.outcome.text);
  open.redraw();
  refresh(open);
}

export default {
  title: "Process",
  heading: (ctx) => `Process <0.${ctx.route.arg}.0>`,
  enter(ctx) {
    const id = Number(ctx.route.arg);
    if (!Number.isSafeInteger(id) || id < 0) return;
    ctx.state.panel = panel(id, ctx.redraw);
  },
  tick(ctx) {
    if (ctx.state.panel) refresh(ctx.state.panel);
  },
  view(ctx) {
    if (!ctx.state.panel) return empty("This is no number of a process.", "The address ends in the number of a pid: #/process/42 is <0.42.0>.");
    return h("div", { class: "as-page" }, view(ctx.state.panel, null));
  },
};
