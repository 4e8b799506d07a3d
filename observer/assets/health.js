// Health: the checks, the dispatchers, and what was done through the observer.

import { h } from "./dom.js";
import { explain, get, health, text } from "./api.js";
import { count, duration, many, moment, share } from "./format.js";
import { badge, bar, download, empty, processLink, quoted, say, table } from "./widgets.js";

const KIND = { ok: "good", degraded: "warning", down: "critical" };

async function load(ctx) {
  const { state: own } = ctx;
  if (own.asking) return;
  own.asking = true;
  try {
    own.body = await health();
    own.error = null;
  } catch (error) {
    own.error = error;
  }
  try {
    own.actions = (await get("actions", { after: -1, limit: 30 })).items.reverse();
    own.noActions = null;
  } catch (error) {
    // The list of actions stays as it was.
    own.noActions = error;
  }
  own.asking = false;
  ctx.redraw();
}

async function save() {
  try {
    const body = await text("snapshot");
    download(`krarup-snapshot-${new Date().toISOString().replace(/[:.]/g, "-")}.json`, body);
    say("The snapshot is saved.");
  } catch (error) {
    say(`No snapshot: ${explain(error)}`);
  }
}

function checks(body) {
  const bad = body.checks.filter((check) => check.status !== "ok");
  const sorted = [...bad.sort((a, b) => (a.status === "down" ? 0 : 1) - (b.status === "down" ? 0 : 1)), ...body.checks.filter((check) => check.status === "ok")];
  return table({
    rows: sorted.slice(0, 100), key: (check) => check.name, testid: "checks",
    columns: [
      { key: "name", label: "Check", cell: (check) => quoted(check.name) },
      { key: "status", label: "Status", cell: (check) => badge(check.status, KIND[check.status]) },
      { key: "message", label: "Why", cell: (check) => (check.message === null ? "–" : quoted(check.message)) },
      { key: "for", label: "Counts for", cell: (check) => [check.live ? "live" : null, check.ready ? "ready" : null].filter(Boolean).join(", ") || "nothing", rank: 2 },
      { key: "took", label: "Took", number: true, cell: (check) => duration(check.took_ms), rank: 2 },
      { key: "age", label: "Asked", number: true, cell: (check) => `${duration(check.age_ms)} ago`, rank: 2 },
    ],
  });
}

export default {
  title: "Health",
  question: "Is the node healthy?",
  enter: load,
  tick(ctx) {
    ctx.state.ticks = (ctx.state.ticks ?? 0) + 1;
    if (ctx.state.ticks % 2 === 0) return load(ctx);
  },

  view(ctx) {
    const { body, error, actions, noActions } = ctx.state;
    const { node } = ctx.world;
    return [
      error ? h("p", { key: "error", class: "notice warning" }, explain(error)) : null,
      body ? [
        h("p", { key: "sentence", class: `headline ${KIND[body.status]}` }, `The node is ${body.status}: ${body.live ? "live" : "not live, a restart would help"}, ${body.ready ? "ready" : "not ready"}${body.stopping ? ", and stopping" : ""}.`),
        h("section", { key: "checks" }, h("h2", null, "Checks"), body.checks.length ? checks(body) : empty("No checks.", "Checks of dispatchers and of named processes of the program stand here; the program adds its own with Observer::check.")),
      ] : error ? null : h("p", { key: "wait" }, "Asking the checks."),
      node ? h("section", { key: "dispatchers" }, h("h2", null, "Dispatchers"), table({
        rows: node.dispatchers, key: (one) => one.name,
        columns: [
          { key: "name", label: "Dispatcher", cell: (one) => quoted(one.name) },
          { key: "busy", label: "Busy", cell: (one) => bar(one.busy, share(one.busy)) },
          { key: "workers", label: "Workers", cell: (one) => `${count(one.workers)}, ${count(one.parked)} parked${one.blocked ? `, ${count(one.blocked)} blocked` : ""}${one.spares ? `, ${count(one.spares)} spare` : ""}` },
          { key: "queued", label: "Queued", number: true, cell: (one) => count(one.queued), title: "Processes that wait for a worker" },
          { key: "turns", label: "Turns", number: true, cell: (one) => count(one.turns), rank: 2 },
          { key: "long", label: "Long turns", number: true, cell: (one) => count(one.long_turns), rank: 2 },
          { key: "longest", label: "Longest", number: true, cell: (one) => duration(one.longest_turn_ms), rank: 2 },
        ],
      })) : null,
      h("section", { key: "actions" }, h("h2", null, "Actions through the observer"),
        actions?.length ? table({
          rows: actions, key: (one) => one.seq,
          columns: [
            { key: "at", label: "When", cell: (one) => moment(one.at) },
            { key: "action", label: "Action", cell: (one) => one.action },
            { key: "pid", label: "Process", cell: (one) => processLink(one.pid, null) },
            { key: "outcome", label: "Outcome", cell: (one) => badge(one.outcome + (one.code ? `, ${one.code}` : ""), one.outcome === "done" ? "good" : "warning") },
            { key: "peer", label: "From", cell: (one) => one.peer, rank: 2 },
          ],
        }) : actions ? empty("No actions.", "Each action that was tried through the observer stands here, refused ones too.")
          : h("p", { class: "quiet-text" }, noActions ? `The list was not read: ${explain(noActions)}` : "Asking for the list.")),
      h("section", { key: "snapshot" }, h("h2", null, "For a report"), h("p", null, "One file with all that the observer knows. ", h("button", { type: "button", onclick: save }, "Save a snapshot")),
        node ? h("p", { class: "quiet-text" }, `${many(node.names, "name", "names")}, ${many(node.aliases, "alias", "aliases")}, ${many(node.timers, "timer", "timers")}, ${count(node.blocking.threads)} blocking threads.`) : null),
    ];
  },
};
