// Waits: who waits for whom, the longest chains, who is most waited for, and the deadlocks found.

import { h } from "./dom.js";
import { count, duration, idOf, many, moment } from "./format.js";
import { graph } from "./graph.js";
import { badge, empty, pager, processLink, table } from "./widgets.js";

const LIMIT = 50;
const CHAINS = 8;
const LEAVES = 6;

function namesOf(waits) {
  const names = new Map();
  for (const edge of waits.edges) {
    names.set(edge.from, edge.from_name);
    names.set(edge.to, edge.to_name);
  }
  for (const one of waits.most_waited_for) names.set(one.pid, one.name);
  return names;
}

function chain(pids, names) {
  const shown = pids.length > 14 ? [...pids.slice(0, 7), null, ...pids.slice(-6)] : pids;
  return shown.map((pid, at) => [
    at ? h("span", { class: "then" }, " → ") : null,
    pid === null ? h("span", { title: pids.join(" → ") }, `${count(pids.length - 13)} more`) : processLink(pid, names.get(pid)),
  ]);
}

function picture(waits, names) {
  // Chains and circles first: what is not drawn is the least important.
  const order = new Map();
  [...waits.cycles, ...waits.chains.map((one) => one.pids)].flat().forEach((pid, at) => { if (!order.has(pid)) order.set(pid, at); });
  const rank = (edge) => Math.max(order.get(edge.from) ?? 1e6, order.get(edge.to) ?? 1e6);
  const inCircle = new Set(waits.cycles.flat());
  const most = waits.most_waited_for[0];
  const nodes = new Map([...names].map(([pid, name]) => [pid, {
    title: name ?? pid, under: name ? pid : "", open: idOf(pid),
    kind: inCircle.has(pid) ? "critical" : most && most.by > 1 && most.pid === pid ? "warning" : "",
  }]));
  const edges = [...waits.edges].sort((a, b) => rank(a) - rank(b) || b.seen_ms - a.seen_ms).map((edge) => ({
    from: edge.from, to: edge.to, kind: edge.kind, label: edge.kind === "room" ? `room ${duration(edge.seen_ms)}` : duration(edge.seen_ms),
    title: `${edge.from_name ?? edge.from} waits for ${edge.to_name ?? edge.to} (${edge.kind}), seen for ${duration(edge.seen_ms)}`,
  }));
  gatherLeaves(nodes, edges);
  return graph({ nodes, edges, testid: "waits-graph", label: "Who waits for whom. The table below says the same." });
}

// Many that wait for one and for whom nobody waits are drawn as one box.
function gatherLeaves(nodes, edges) {
  const waitedFor = new Set(edges.map((edge) => edge.to));
  const leaves = new Map();
  for (const edge of edges) {
    if (waitedFor.has(edge.from)) continue;
    const key = `${edge.to} ${edge.kind}`;
    if (!leaves.has(key)) leaves.set(key, []);
    leaves.get(key).push(edge);
  }
  for (const [key, list] of leaves) {
    if (list.length <= LEAVES) continue;
    const rest = list.slice(LEAVES - 1);
    for (const edge of rest) {
      nodes.delete(edge.from);
      edges.splice(edges.indexOf(edge), 1);
    }
    nodes.set(key, { title: `${count(rest.length)} more`, under: "in the table", open: null });
    edges.push({ from: key, to: rest[0].to, kind: rest[0].kind, label: rest[0].kind, title: `${count(rest.length)} more wait` });
  }
}

function deadlocks(ctx) {
  const list = ctx.newest("deadlocks").slice(0, 20);
  return h("section", { key: "deadlocks" }, h("h2", null, "Deadlocks found"),
    list.length ? h("ul", { class: "plain-list" }, list.map((found) => h("li", { key: found.seq }, moment(found.at), ": ",
      found.pids.map((pid, at) => [processLink(pid, found.names[at]), " → "]), processLink(found.pids[0], found.names[0]))))
      : empty("No deadlocks.", "A circle of calls is found when it closes: the last call fails with an error, and the members stand here with the time."));
}

export default {
  title: "Waits",
  question: "Who waits for whom?",
  topics: () => ["waits"],

  view(ctx) {
    const { waits } = ctx.world.bodies;
    if (!waits) return h("p", null, "Waiting for the first sample.");
    const names = namesOf(waits);
    const offset = Number(ctx.route.query.get("offset") ?? 0);
    const edges = [...waits.edges].sort((a, b) => b.seen_ms - a.seen_ms);
    const top = waits.most_waited_for[0];
    return [
      top ? h("p", { key: "sentence", class: "headline warning" }, many(waits.edges.length + waits.more, "process waits", "processes wait"), " for another. Most waited for: ",
        processLink(top.pid, top.name), `, by ${count(top.by)}.`) : null,
      waits.edges.length === 0 ? empty("Nobody waits.", "Processes that wait for the answer to a call, or for room in a full mailbox, stand here with whom they wait for.") : [
        waits.cycles.length ? h("section", { key: "cycles" }, h("h2", null, "Circles now"), h("ul", { class: "plain-list" }, waits.cycles.map((pids) => h("li", { key: pids.join() }, badge("circle", "critical"), " ", chain([...pids, pids[0]], names))))) : null,
        waits.chains.length ? h("section", { key: "chains" }, h("h2", null, "Longest chains"), h("ul", { class: "plain-list" }, waits.chains.slice(0, CHAINS).map((one) => h("li", { key: one.pids.join() }, chain(one.pids, names), h("span", { class: "quiet-text" }, ` ${many(one.pids.length, "process", "processes")}, seen for ${duration(one.seen_ms)}`))))) : null,
        waits.most_waited_for.length ? h("section", { key: "most" }, h("h2", null, "Most waited for"), h("ul", { class: "plain-list" }, waits.most_waited_for.slice(0, 10).map((one) => h("li", { key: one.pid }, processLink(one.pid, one.name), ` by ${many(one.by, "process", "processes")}`)))) : null,
        h("section", { key: "graph" }, h("h2", null, "Graph"), h("p", { class: "quiet-text" }, "An arrow points at the one that is waited for. A dashed arrow waits for room in the mailbox."), picture(waits, names)),
        h("section", { key: "table" }, h("h2", null, "All waits"),
          pager({ offset, limit: LIMIT, shown: Math.max(0, Math.min(LIMIT, edges.length - offset)), matched: edges.length, noun: waits.more ? `waits (${count(waits.more)} more are not told)` : "waits", set: (to) => ctx.go({ offset: to || null }) }),
          table({
            testid: "waits-table", rows: edges.slice(offset, offset + LIMIT), key: (edge) => `${edge.from}${edge.to}${edge.kind}`,
            columns: [
              { key: "from", label: "Who waits", cell: (edge) => processLink(edge.from, edge.from_name) },
              { key: "to", label: "For whom", cell: (edge) => processLink(edge.to, edge.to_name) },
              { key: "kind", label: "For what", cell: (edge) => (edge.kind === "room" ? "room in the mailbox" : "the answer to a call") },
              { key: "seen", label: "Seen for", number: true, cell: (edge) => duration(edge.seen_ms) },
            ],
          })),
      ],
      deadlocks(ctx),
    ];
  },
};
