// Processes: which one eats the CPU, and whose mailbox grows. The server sorts, filters and pages.

import { h } from "./dom.js";
import { bytes, count, duration, growth, rate, share } from "./format.js";
import { called, empty, pager, quoted, state, table, typed } from "./widgets.js";

const LIMIT = 50;
const STATES = ["init", "idle", "scheduled", "running", "waiting", "suspended"];
const KINDS = ["process", "actor", "supervisor", "pool", "stateful", "step", "grains", "connection"];
const FILTERS = ["q", "state", "kind", "behavior", "dispatcher", "root", "parent", "min_main"];
const TEXTS = ["id", "name", "kind", "behavior", "state"];

function name(process) {
  return [
    h("a", { class: "process", href: `#/process/${process.id}`, "data-open": process.id, title: called(process) ?? process.pid },
      called(process) ? quoted(called(process)) : h("span", { class: "pid" }, process.pid)),
    called(process) ? h("span", { class: "pid under" }, process.pid) : null,
  ];
}

const COLUMNS = [
  { key: "name", label: "Process", sort: "name", cell: name },
  { key: "state", label: "State", sort: "state", cell: (p) => state(p.state) },
  { key: "main", label: "Mailbox", sort: "main", number: true, title: "Messages that wait in the main lane", cell: (p) => mailbox(p) },
  { key: "growth", label: "Growth", sort: "growth", number: true, title: "Change of the mailbox per second", cell: (p) => h("span", { class: p.growth > 0.5 ? "warning-text" : null }, growth(p.growth)), rank: 1 },
  { key: "cpu", label: "CPU", sort: "cpu", number: true, title: "Share of one core since the sample before", cell: (p) => share(p.cpu), rank: 1 },
  { key: "handled_rate", label: "Handled", sort: "handled_rate", number: true, title: "Messages handled per second", cell: (p) => rate(p.handled_rate), rank: 1 },
  { key: "in_rate", label: "Received", sort: "in_rate", number: true, title: "Messages received per second", cell: (p) => rate(p.in_rate), rank: 2 },
  { key: "head", label: "First waits", sort: "head_wait_ms", number: true, title: "How long the same message was seen first in line", cell: (p) => duration(p.head_wait_ms), rank: 2 },
  { key: "behavior", label: "Behaviour", sort: "behavior", wide: true, cell: (p) => typed(p.behavior), rank: 2 },
  { key: "kind", label: "Kind", sort: "kind", cell: (p) => h("span", { class: "kind" }, p.kind), rank: 3 },
  { key: "running", label: "Ran", sort: "running_ms", number: true, title: "Running time in all", cell: (p) => duration(p.running_ms), rank: 3 },
  { key: "uptime", label: "Age", sort: "uptime_ms", number: true, cell: (p) => duration(p.uptime_ms), rank: 3 },
  { key: "bytes", label: "Memory", sort: "shallow_bytes", number: true, title: "Cell, future and queue; what they point at is not counted", cell: (p) => bytes(p.shallow_bytes), rank: 3 },
];
const SORTS = [...COLUMNS.map((column) => [column.sort, column.label]), ["id", "Pid"], ["handled", "Handled in all"], ["in", "Received in all"], ["out", "Sent in all"], ["urgent", "Urgent lane"], ["system", "System lane"]];

function mailbox(p) {
  const full = p.bound !== null && p.main >= p.bound;
  return [
    count(p.main),
    p.bound === null ? null : h("span", { class: "of" }, ` of ${count(p.bound)}`),
    full ? h("span", { class: "badge critical" }, "full") : null,
  ];
}

function asked(route) {
  const params = {};
  for (const field of FILTERS) if (route.query.get(field)) params[field] = route.query.get(field);
  params.sort = route.query.get("sort") ?? "cpu";
  if (route.query.get("order")) params.order = route.query.get("order");
  if (route.query.get("offset")) params.offset = route.query.get("offset");
  params.limit = LIMIT;
  return params;
}

function select(ctx, field, label, values) {
  return h("label", { class: "field" }, h("span", null, label),
    h("select", { value: ctx.route.query.get(field) ?? "", onchange: (changed) => ctx.go({ [field]: changed.target.value, offset: null }) },
      h("option", { value: "" }, "any"), values.map((value) => h("option", { value }, value))));
}

// What stands in the route without a field of its own can be taken away again.
function kept(ctx) {
  const words = { behavior: "behaviour", dispatcher: "dispatcher", parent: "children of" };
  return Object.keys(words).filter((field) => ctx.route.query.get(field)).map((field) => h("button", {
    type: "button", class: "chip", key: field, onclick: () => ctx.go({ [field]: null, offset: null }),
    "aria-label": `Remove the filter ${words[field]} ${ctx.route.query.get(field)}`,
  }, `${words[field]} ${ctx.route.query.get(field)} `, h("span", { "aria-hidden": "true" }, "×")));
}

export default {
  title: "Processes",
  question: "Which process eats the CPU, and whose mailbox grows?",
  topics: () => ["processes"],
  params: asked,

  view(ctx) {
    const params = asked(ctx.route);
    const body = ctx.world.bodies.processes;
    const fits = ctx.world.shown === JSON.stringify(params);
    const by = params.sort;
    const order = params.order ?? (TEXTS.includes(by) ? "asc" : "desc");
    const set = (column) => {
      if (column !== by) ctx.go({ sort: column, order: null, offset: null });
      else ctx.go({ sort: column, order: order === "asc" ? "desc" : "asc", offset: null });
    };
    const filter = h("form", { class: "filters", key: "filters", role: "search", onsubmit: (submitted) => submitted.preventDefault() },
      h("label", { class: "field grow" }, h("span", null, "Filter by name, label, behaviour or pid"),
        h("input", {
          type: "search", maxlength: 64, value: ctx.route.query.get("q") ?? "", "data-testid": "proc-filter", spellcheck: "false",
          oninput: (typed) => {
            clearTimeout(ctx.state.typing);
            const text = typed.target.value;
            ctx.state.typing = setTimeout(() => ctx.go({ q: text, offset: null }, true), 200);
          },
        })),
      select(ctx, "state", "State", STATES),
      select(ctx, "kind", "Kind", KINDS),
      select(ctx, "root", "Root", ["user", "system"]),
      h("label", { class: "field" }, h("span", null, "At least waiting"),
        h("input", { type: "number", min: 0, class: "narrow", value: ctx.route.query.get("min_main") ?? "", onchange: (changed) => ctx.go({ min_main: changed.target.value, offset: null }) })),
      h("label", { class: "field only-narrow" }, h("span", null, "Sort by"),
        h("select", { value: by, onchange: (changed) => ctx.go({ sort: changed.target.value, order: null, offset: null }) },
          SORTS.map(([value, label]) => h("option", { value }, label)))),
      kept(ctx));
    if (!body) return [filter, h("p", { key: "wait" }, "Waiting for the first sample.")];
    const filtered = FILTERS.some((field) => params[field]);
    const rows = body.processes;
    return [
      filter,
      h("div", { key: "list", class: fits ? null : "stale-list", "aria-busy": String(!fits) },
        pager({ offset: body.offset, limit: LIMIT, shown: rows.length, matched: body.matched, noun: filtered ? `matching processes (${count(body.total)} in all)` : "processes", set: (offset) => ctx.go({ offset: offset || null }) }),
        rows.length ? table({
          columns: COLUMNS, rows, key: (p) => p.id, testid: "proc-table", className: "processes",
          rowid: (p) => `proc-row-${p.id}`, opens: (p) => p.id, sorting: { by, order, set },
        }) : empty("No process matches.", "Processes that satisfy all filters stand here. Remove a filter, or write less into the first field.")),
    ];
  },
};
