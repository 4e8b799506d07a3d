// Logs: the last events of the program's log, by process and level.

import { h } from "./dom.js";
import { explain, get } from "./api.js";
import { count, moment } from "./format.js";
import { badge, empty, processLink, quoted } from "./widgets.js";

const MOST = 200;
const LEVELS = ["error", "warn", "info", "debug", "trace"];
const KIND = { error: "critical", warn: "warning", info: "info" };

function asked(ctx) {
  return { pid: ctx.route.query.get("pid"), level: ctx.route.query.get("level") };
}

async function load(ctx) {
  const { state: own } = ctx;
  const params = asked(ctx);
  const text = JSON.stringify(params);
  if (own.text !== text) Object.assign(own, { text, items: null, next: -1, asking: false });
  if (own.asking) return;
  own.asking = true;
  try {
    const body = await get("logs", { ...params, after: own.next, limit: MOST });
    if (own.text !== text) return;
    const last = own.items?.[0]?.seq ?? 0;
    own.items = [...body.items.filter((item) => item.seq > last).reverse(), ...(own.items ?? [])].slice(0, MOST);
    own.next = Math.max(0, body.next_seq - 1);
    own.lost = body.lost;
    own.error = null;
  } catch (error) {
    own.error = error;
  }
  own.asking = false;
  ctx.redraw();
}

export default {
  title: "Logs",
  question: "What did the program log, and in whose turn?",
  enter: load,
  tick: load,

  view(ctx) {
    const { items, error, lost } = ctx.state;
    const params = asked(ctx);
    const filter = h("form", { key: "filters", class: "filters", onsubmit: (submitted) => submitted.preventDefault() },
      h("label", { class: "field" }, h("span", null, "Level, and above"), h("select", { value: params.level ?? "", onchange: (changed) => ctx.go({ level: changed.target.value }) }, h("option", { value: "" }, "any"), LEVELS.map((one) => h("option", { value: one }, one)))),
      h("label", { class: "field" }, h("span", null, "Number of the process"), h("input", { type: "number", min: 1, class: "narrow", value: params.pid ?? "", onchange: (changed) => ctx.go({ pid: changed.target.value }) })),
      params.pid ? h("p", null, "Only of ", processLink(`<0.${params.pid}.0>`, null)) : null);
    if (error && !items) return [filter, empty("The logs cannot be shown.", explain(error))];
    if (!items) return [filter, h("p", { key: "wait" }, "Asking for the logs.")];
    if (!items.length) return [filter, empty("No logs.", params.pid || params.level ? "No event matches. Remove a filter." : "Events of the program's log stand here when it has the layer observer::recent_logs(1000) in its tracing subscriber.")];
    return [
      filter,
      lost ? h("p", { class: "quiet-text", key: "lost" }, `${count(lost)} older events were dropped.`) : null,
      h("ul", { class: "log-list", key: "list" }, items.map((item) => h("li", { key: item.seq },
        moment(item.at, true), h("span", null, badge(item.level, KIND[item.level] ?? "plain")), h("span", null, processLink(item.pid, null)),
        h("div", { class: "message" }, quoted(item.message), fields(item.fields), h("span", { class: "quiet-text" }, " ", item.target))))),
    ];
  },
};

function fields(values) {
  const list = Object.entries(values ?? {});
  if (!list.length) return null;
  return h("div", { class: "shown" }, quoted(list.map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`).join(" ")));
}
