// Events: the timeline of restarts by supervisor, and the dead letters.

import { h, s } from "./dom.js";
import { get } from "./api.js";
import { clock, count, duration, idOf, many, moment } from "./format.js";
import { badge, empty, pager, processLink, quoted, table, typed } from "./widgets.js";

const LIMIT = 40;
const LANES = 12;
const MARKS = 360;
const WIDTH = 600;
const WINDOWS = [["60", "one minute"], ["600", "ten minutes"], ["3600", "one hour"], ["0", "everything kept"]];
const WORDS = {
  started: "started", ended: "ended", restarting: "is being restarted", in_place: "restarted in place", waiting: "waits before its restart",
  failed: "failed to start", stopped: "stopped", gave_up: "gave up", ended_in_order: "ended in order",
};
// One event follows another within a millisecond: each kind has its own height.
const HEIGHT = { ended: 8, failed: 8, gave_up: 8, started: 36 };
const KIND = { ended: "critical", failed: "critical", gave_up: "critical", restarting: "warning", in_place: "warning", waiting: "warning", started: "good" };

function sentence(event) {
  if (event.what === "gave_up") return `${event.by.name ?? event.by.pid} gave up${event.reason ? `: ${event.reason}` : ""}`;
  return `${event.child ?? event.pid ?? "a child"} ${WORDS[event.what] ?? event.what}${event.reason ? `: ${event.reason}` : ""}`;
}

// Shapes differ, so the kind is seen without its colour.
function mark(event, x) {
  const y = HEIGHT[event.what] ?? 22;
  const kind = KIND[event.what] ?? "plain";
  const title = s("title", null, `${clock(event.at, true)} ${sentence(event)}`);
  switch (event.what) {
    case "gave_up": return s("path", { class: `mark stroke ${kind}`, d: `M${x - 6} ${y - 6}L${x + 6} ${y + 6}M${x - 6} ${y + 6}L${x + 6} ${y - 6}` }, title);
    case "ended":
    case "failed": return s("circle", { class: `mark ${kind}`, cx: x, cy: y, r: 4.5 }, title);
    case "started": return s("path", { class: `mark ${kind}`, d: `M${x} ${y - 6}L${x + 5} ${y + 4}H${x - 5}z` }, title);
    default: return s("rect", { class: `mark ${kind}`, x: x - 4, y: y - 4, width: 8, height: 8 }, title);
  }
}

function lane(ctx, name, group, from, to, most, limits) {
  const { by, events } = group;
  const inside = events.filter((event) => Date.parse(event.at) >= from).slice(0, most);
  const restarts = inside.filter((event) => event.what === "restarting" || event.what === "in_place").length;
  const gave = inside.some((event) => event.what === "gave_up");
  const limit = limits.get(by.pid);
  return h("div", { class: "lane", key: by.pid },
    h("div", { class: "lane-name" }, processLink(by.pid, by.name), " ",
      gave ? badge("gave up", "critical") : null,
      h("p", { class: "quiet-text" }, `${many(restarts, "restart", "restarts")} in the window`,
        limit ? `; ${count(limit.count)} of at most ${count(limit.intensity)} in ${duration(limit.period_ms)} at the last` : "",
        `; last: ${clock(events[0].at)} `, quoted(sentence(events[0])))),
    s("svg", { class: "lane-line", viewBox: `0 0 ${WIDTH} 44`, role: "img", "aria-label": `${by.name ?? by.pid}: ${many(inside.length, "event", "events")}. The list below has them in words.` },
      s("line", { x1: 0, y1: 22, x2: WIDTH, y2: 22, class: "axis" }),
      inside.map((event) => mark(event, 8 + ((Date.parse(event.at) - from) / Math.max(1, to - from)) * (WIDTH - 16)))));
}

// How near a supervisor is to its limit stands in the report of a crash that it decided about.
function limitsOf(ctx, groups) {
  const limits = (ctx.state.limits ??= new Map());
  const asked = (ctx.state.asked ??= new Set());
  for (const { by, events } of groups.slice(0, LANES)) {
    const last = events.find((event) => event.crash !== null && event.crash !== undefined);
    if (!last || asked.has(last.crash)) continue;
    asked.add(last.crash);
    get(`crashes/${last.crash}`).then((crash) => {
      if (crash.decision?.intensity !== null && crash.decision?.intensity !== undefined) limits.set(by.pid, crash.decision);
      ctx.redraw();
    }, () => {});
  }
  return limits;
}

function restarts(ctx) {
  const all = ctx.newest("restarts");
  if (!all.length) return empty("No events.", "Each start, end and restart that a supervisor or a pool decides about stands here on a timeline, against the limit of its restarts.");
  const groups = new Map();
  for (const event of all) {
    if (!groups.has(event.by.pid)) groups.set(event.by.pid, { by: event.by, events: [] });
    groups.get(event.by.pid).events.push(event);
  }
  const seconds = Number(ctx.route.query.get("window") ?? 600);
  const chosen = ctx.route.query.get("by");
  const to = Date.parse(ctx.world.node?.now_at ?? new Date().toISOString());
  const from = seconds ? to - seconds * 1000 : Math.min(to - 1000, ...all.map((event) => Date.parse(event.at)));
  const weight = (group) => group.events.reduce((sum, event) => sum + ({ gave_up: 1000, restarting: 10, in_place: 10, ended: 5 }[event.what] ?? 0), 0);
  const sorted = [...groups.values()].sort((a, b) => weight(b) - weight(a));
  const shown = sorted.slice(0, LANES);
  const limits = limitsOf(ctx, shown);
  const most = Math.floor(MARKS / Math.max(1, shown.length));
  const listed = chosen ? all.filter((event) => event.by.pid === `<0.${chosen}.0>`) : all;
  const offset = Number(ctx.route.query.get("offset") ?? 0);
  const rows = listed.slice(offset, offset + LIMIT);
  const lost = ctx.world.rings.restarts?.lost ?? 0;
  return [
    h("section", { key: "timeline", class: "timeline", "data-testid": "timeline", "aria-label": "Timeline of restarts" },
      h("div", { class: "filters" }, h("label", { class: "field" }, h("span", null, "Window"), h("select", { value: String(seconds), onchange: (changed) => ctx.go({ window: changed.target.value }) }, WINDOWS.map(([value, label]) => h("option", { value }, label)))),
        h("p", { class: "legend" }, "Above ● ended, ✕ gave up; middle ■ restarting; below ▲ started. From ", moment(new Date(from)), " to ", moment(new Date(to)), ".")),
      shown.map((group) => lane(ctx, group.by.name, group, from, to, most, limits)),
      sorted.length > shown.length ? h("p", { class: "quiet-text" }, `and ${many(sorted.length - shown.length, "supervisor", "supervisors")} more in the list`) : null),
    h("section", { key: "list" }, h("h2", null, "In words, the newest first"),
      h("label", { class: "field" }, h("span", null, "Supervisor or pool"), h("select", { value: chosen ?? "", onchange: (changed) => ctx.go({ by: changed.target.value, offset: null }) },
        h("option", { value: "" }, "any"), sorted.slice(0, 100).map(({ by }) => h("option", { value: idOf(by.pid) }, `${by.name ?? ""} ${by.pid}`)))),
      pager({ offset, limit: LIMIT, shown: rows.length, matched: listed.length, noun: `events${lost ? ` (${count(lost)} older ones were dropped)` : ""}`, set: (next) => ctx.go({ offset: next || null }) }),
      table({
        rows, key: (event) => event.seq, className: "events",
        columns: [
          { key: "at", label: "When", cell: (event) => moment(event.at, true) },
          { key: "by", label: "Who decided", rank: 1, cell: (event) => processLink(event.by.pid, event.by.name) },
          { key: "what", label: "What", cell: (event) => badge((WORDS[event.what] ?? event.what).replace(/^is being /, ""), KIND[event.what] ?? "plain") },
          { key: "child", label: "Child", cell: (event) => [event.child ? quoted(event.child) : null, " ", event.pid ? processLink(event.pid, null) : null] },
          { key: "reason", label: "Reason", cell: (event) => [event.reason ? quoted(event.reason) : "–", event.crash ? [" ", h("a", { href: `#/crash/${event.crash}`, "aria-label": `Why: crash ${event.crash}` }, "Why?")] : null] },
        ],
      })),
  ];
}

const CAUSES = { no_process: "the process is gone", unhandled: "nobody handled it", overflow: "the mailbox was full", revoked: "it was revoked", expired: "its time was over", no_connection: "no connection to its node", late_result: "a result of its own work came after its end" };

function letters(ctx) {
  const all = ctx.newest("dead_letters");
  if (!all.length) return empty("No dead letters.", "A message that nobody will handle stands here, with its cause: its process is gone, the mailbox was full, its time was over.");
  const cause = ctx.route.query.get("cause") ?? "";
  const list = cause ? all.filter((letter) => letter.cause === cause) : all;
  const offset = Number(ctx.route.query.get("offset") ?? 0);
  const rows = list.slice(offset, offset + LIMIT);
  const lost = ctx.world.rings.dead_letters?.lost ?? 0;
  return [
    h("label", { class: "field", key: "cause" }, h("span", null, "Cause"), h("select", { value: cause, onchange: (changed) => ctx.go({ cause: changed.target.value, offset: null }) },
      h("option", { value: "" }, "any"), Object.entries(CAUSES).map(([value, label]) => h("option", { value }, label)))),
    pager({ offset, limit: LIMIT, shown: rows.length, matched: list.length, noun: `dead letters, the newest first${lost ? ` (${count(lost)} older ones were dropped)` : ""}`, set: (next) => ctx.go({ offset: next || null }) }),
    table({
      rows, key: (letter) => letter.seq,
      columns: [
        { key: "at", label: "When", cell: (letter) => moment(letter.at, true) },
        { key: "message", label: "Message", cell: (letter) => typed(letter.message) },
        { key: "to", label: "To", cell: (letter) => processLink(letter.to, null) },
        { key: "from", label: "From", cell: (letter) => (letter.node ? [letter.from ? [processLink(letter.from, null), " of "] : null, quoted(letter.node)] : processLink(letter.from, null)) },
        { key: "cause", label: "Cause", cell: (letter) => CAUSES[letter.cause] ?? letter.cause },
      ],
    }),
  ];
}

export default {
  title: "Events",
  question: "What was started, ended and restarted, and which messages nobody handled?",
  topics: () => ["restarts", "dead_letters"],

  view(ctx) {
    const show = ctx.route.query.get("show") ?? "restarts";
    const { node } = ctx.world;
    const tab = (name, label) => h("a", { key: name, href: ctx.address({ show: name === "restarts" ? null : name, offset: null, by: null, cause: null }), "data-testid": `tab-${name}`, "aria-current": show === name ? "true" : null }, label);
    return [
      h("p", { class: "subnav", key: "tabs" }, tab("restarts", `Restarts${node ? ` (${count(node.restarts)})` : ""}`), tab("dead_letters", `Dead letters${node ? ` (${count(node.dead_letters)})` : ""}`)),
      show === "dead_letters" ? letters(ctx) : restarts(ctx),
    ];
  },
};
