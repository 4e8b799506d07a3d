// Flow: which process sends to which.

import { h } from "./dom.js";
import { explain, get } from "./api.js";
import { count, duration, idOf, many, rate } from "./format.js";
import { graph } from "./graph.js";
import { empty, pager, processLink, table } from "./widgets.js";

const LIMIT = 50;
const DRAWN = 40;

async function load(ctx) {
  if (ctx.state.asking) return;
  ctx.state.asking = true;
  try {
    ctx.state.body = await get("flow", { limit: 500 });
    ctx.state.error = null;
  } catch (error) {
    ctx.state.error = error;
  }
  ctx.state.asking = false;
  ctx.redraw();
}

export default {
  title: "Flow",
  question: "Which process sends to which, and how much?",
  enter: load,
  tick(ctx) {
    ctx.state.ticks = (ctx.state.ticks ?? 0) + 1;
    if (ctx.state.ticks % 2 === 0) return load(ctx);
  },

  view(ctx) {
    const { body, error } = ctx.state;
    if (error && !body) return empty("The flow cannot be shown.", explain(error));
    if (!body) return h("p", null, "Asking for the flow.");
    if (!body.edges.length) return empty("No flow.", "A sender and a receiver stand here when a sample has seen messages between them.");
    const edges = [...body.edges].sort((a, b) => (b.messages ?? 0) - (a.messages ?? 0) || (b.waiting ?? 0) - (a.waiting ?? 0));
    const nodes = new Map();
    for (const edge of edges) {
      nodes.set(edge.from, { title: edge.from_name ?? edge.from, under: edge.from_name ? edge.from : "", open: idOf(edge.from) });
      nodes.set(edge.to, { title: edge.to_name ?? edge.to, under: edge.to_name ? edge.to : "", open: idOf(edge.to) });
    }
    const offset = Number(ctx.route.query.get("offset") ?? 0);
    const per = (edge) => (edge.messages === null || !body.window_ms ? null : edge.messages / (body.window_ms / 1000));
    return [
      h("p", { key: "sentence" }, `${many(edges.length, "pair", "pairs")} of sender and receiver were seen in ${duration(body.window_ms)}${body.more ? `; ${count(body.more)} more are not told` : ""}. The messages are counted where samples saw them, so rare ones may be missing.`),
      h("section", { key: "graph" }, h("h2", null, "Graph"), graph({
        nodes, testid: "flow-graph", label: "Which process sends to which. The table below says the same.",
        edges: edges.slice(0, DRAWN).map((edge) => ({ from: edge.from, to: edge.to, label: rate(per(edge)), kind: edge.waiting > 0 ? "room" : "", title: `${count(edge.messages)} messages, ${count(edge.waiting)} waiting` })),
      })),
      h("section", { key: "table" }, h("h2", null, "All pairs"),
        pager({ offset, limit: LIMIT, shown: Math.max(0, Math.min(LIMIT, edges.length - offset)), matched: edges.length, noun: "pairs, the busiest first", set: (to) => ctx.go({ offset: to || null }) }),
        table({
          testid: "flow-table", rows: edges.slice(offset, offset + LIMIT), key: (edge) => `${edge.from}${edge.to}`,
          columns: [
            { key: "from", label: "Sender", cell: (edge) => processLink(edge.from, edge.from_name) },
            { key: "to", label: "Receiver", cell: (edge) => processLink(edge.to, edge.to_name) },
            { key: "messages", label: "Messages", number: true, cell: (edge) => count(edge.messages) },
            { key: "rate", label: "Rate", number: true, cell: (edge) => rate(per(edge)) },
            { key: "waiting", label: "Waiting", number: true, cell: (edge) => count(edge.waiting) },
          ],
        })),
    ];
  },
};
