// Now: what is wrong, what failed last, and how much the node has to do.

import { h } from "./dom.js";
import { get } from "./api.js";
import { amount, bytes, count, duration, fullness, growth, idOf, many, moment, rate, share } from "./format.js";
import { bar, called, empty, processLink, quoted, severity, sparkline, thinned } from "./widgets.js";

// Where to look further, by the code of a finding.
const WHERE = {
  mailbox_grows: ["#/processes?sort=growth", "all growing mailboxes"],
  mailbox_full: ["#/processes?sort=main", "all mailboxes by depth"],
  head_waits: ["#/processes?sort=head_wait_ms", "all by the age of their first message"],
  long_turn: ["#/turns", "who holds which worker"],
  workers_blocked: ["#/turns", "who holds which worker"],
  waits_long: ["#/waits", "who waits for whom"],
  deadlock: ["#/waits", "who waits for whom"],
  pool_full: ["#/pools", "the pools"],
  pool_short: ["#/pools", "the pools"],
  restart_storm: ["#/events", "the timeline of restarts"],
  gave_up: ["#/events", "the timeline of restarts"],
  init_slow: ["#/processes?state=init", "all that are starting"],
  suspended_long: ["#/processes?state=suspended", "all that are suspended"],
  dead_letter_flood: ["#/events?show=dead_letters", "the dead letters"],
  check_down: ["#/health", "the checks"],
  kept_node_missing: ["#/cluster", "the cluster"],
  connection_full: ["#/cluster", "the cluster"],
};

function findings(list) {
  if (list === undefined) return h("p", null, "Waiting for the first sample.");
  if (list.length === 0) {
    return empty("No findings.", "Here stands what is wrong, the worst first: growing mailboxes, full pools, deadlocks, blocked workers, restart storms. Findings that need a span of time appear when the page has watched for that long.");
  }
  // Several may be of the same and of no process.
  const seen = new Map();
  return h("ul", { class: "findings" }, list.map((finding) => {
    const id = idOf(finding.pid) ?? "node";
    const where = WHERE[finding.code];
    const name = `${finding.code}-${finding.pid}-${finding.name}`;
    const nth = seen.get(name) ?? 0;
    seen.set(name, nth + 1);
    return h("li", { key: `${name}-${nth}`, class: `finding ${finding.severity}${id === "node" ? "" : " opens"}`, "data-open": id === "node" ? null : id, "data-testid": `finding-${finding.code}-${id}` },
      severity(finding.severity),
      h("div", null,
        h("p", { class: "sentence" }, quoted(finding.text)),
        h("p", { class: "about" },
          finding.pid ? [processLink(finding.pid, finding.name), " · "] : null,
          finding.since_ms === null || finding.since_ms < 1 ? null : `for ${duration(finding.since_ms)} · `,
          where ? h("a", { href: where[0] }, where[1]) : h("span", null, finding.code))));
  }));
}

function headline(ctx) {
  const { node, bodies } = ctx.world;
  const list = bodies.findings?.findings;
  if (!node || !list) return null;
  const number = (word) => list.filter((finding) => finding.severity === word).length;
  const parts = [
    number("critical") ? many(number("critical"), "critical finding", "critical findings") : null,
    number("warning") ? many(number("warning"), "warning", "warnings") : null,
    number("info") ? many(number("info"), "remark", "remarks") : null,
  ].filter(Boolean);
  const kind = number("critical") ? "critical" : number("warning") ? "warning" : "good";
  return h("p", { class: `headline ${kind}` },
    parts.length ? `${parts.join(", ")} on ` : "Nothing is wrong that the observer can see on ",
    quoted(node.node), `, up for ${duration(Math.floor(node.uptime_ms / 1000) * 1000)}.`);
}

function tile(label, value, more, line) {
  return h("div", { class: "tile", key: label }, h("h3", null, label), h("p", { class: "value" }, value), more ? h("p", { class: "more" }, more) : null, line ?? null);
}

function tiles(ctx) {
  const { node, history } = ctx.world;
  if (!node) return null;
  const last = history.at(-1) ?? {};
  const recent = thinned(history, 120);
  const line = (field, words, most) => sparkline(recent.map((item) => item[field]), `${words}, of the time this page has watched`, most);
  const { processes, messages, os } = node;
  const workers = node.dispatchers.reduce((sum, dispatcher) => sum + dispatcher.workers, 0);
  const blocked = node.dispatchers.reduce((sum, dispatcher) => sum + dispatcher.blocked, 0);
  return h("div", { class: "tiles" },
    tile("Workers busy", share(last.busy), `of ${many(workers, "worker", "workers")}${blocked ? `, ${count(blocked)} blocked` : ""}`, line("busy", `Workers busy: ${share(last.busy)}`, 1)),
    tile("Messages handled", rate(last.handled), `${count(messages.handled)} in all`, line("handled", `Messages handled: ${rate(last.handled)}`)),
    tile("Messages waiting", count(messages.waiting), "in all mailboxes", line("waiting", `Messages waiting: ${count(messages.waiting)}`)),
    tile("Processes", count(processes.living), `${count(processes.user)} of the program, ${count(processes.system)} of the system; ${count(processes.by_state.running)} running, ${count(processes.by_state.waiting)} waiting for another, ${count(processes.by_state.suspended)} suspended`, line("living", `Processes: ${count(processes.living)}`)),
    tile("Memory of the program", bytes(os.resident_bytes), os.threads === null ? null : `${count(os.threads)} threads, ${count(os.open_files)} open files, ${amount(last.os_cpu)} cores in use`, line("resident", `Memory: ${bytes(os.resident_bytes)}`)),
    tile("Failures since the start", count(node.crashes), h("span", null,
      h("a", { href: "#/crashes" }, many(node.crashes, "crash", "crashes")), ", ",
      h("a", { href: "#/events" }, many(node.restarts, "restart", "restarts")), ", ",
      h("a", { href: "#/events?show=dead_letters" }, many(node.dead_letters, "dead letter", "dead letters")), ", ",
      h("a", { href: "#/waits" }, many(node.deadlocks, "deadlock", "deadlocks")), ", ",
      `${many(node.calls_timed_out, "call", "calls")} timed out`)));
}

function crashes(ctx) {
  const list = ctx.newest("crashes").slice(0, 5);
  if (list.length === 0) return empty("No crashes.", "The last abnormal ends of processes stand here, each with its reason and its successor.");
  return h("ul", { class: "plain-list" }, list.map((crash) => h("li", { key: crash.seq },
    moment(crash.at), " ", processLink(crash.pid, crash.name ?? crash.label), " ended with ", h("span", { class: "reason" }, quoted(crash.reason)), ". ",
    crash.replaced_by ? ["In its place: ", processLink(crash.replaced_by, null), ". "] : null,
    h("a", { href: `#/crash/${crash.seq}`, "aria-label": `Why did ${crash.name ?? crash.pid} end?` }, "Why?"))));
}

function top(ctx, list, title, value, more) {
  const shown = (list ?? []).slice(0, 5);
  return h("section", { class: "half", key: title },
    h("h2", null, title),
    shown.length ? h("ul", { class: "ranking" }, shown.map((process) => h("li", { key: process.id },
      h("span", null, processLink(process.pid, called(process))), value(process))))
      : h("p", { class: "quiet-text" }, list ? "None." : "Waiting for the first sample."),
    more);
}

export default {
  title: "Now",
  question: "What is wrong, and what does the node do?",
  topics: () => ["processes", "pools"],
  params: () => ({ sort: "main", limit: 8 }),

  async tick(ctx) {
    // The first picture needs no more than the stream.
    ctx.state.ticks = (ctx.state.ticks ?? 0) + 1;
    if (ctx.state.ticks < 2 || ctx.state.asking) return;
    ctx.state.asking = true;
    try {
      ctx.state.busiest = (await get("processes", { sort: "cpu", limit: 5 })).processes;
    } catch {
      // The connection says so.
    }
    ctx.state.asking = false;
    ctx.redraw();
  },

  view(ctx) {
    const { bodies, shown } = ctx.world;
    const deepest = shown === JSON.stringify(this.params()) ? bodies.processes?.processes : null;
    const pools = bodies.pools?.pools.filter((pool) => pool.fill !== null).sort((a, b) => b.fill - a.fill).slice(0, 5);
    const most = Math.max(1, ...(deepest ?? []).map((process) => process.main));
    return [
      headline(ctx),
      h("section", { key: "findings" }, h("h2", null, "Findings"), findings(bodies.findings?.findings)),
      h("section", { key: "crashes" }, h("h2", null, "Last crashes"), crashes(ctx), h("p", { class: "quiet-text" }, h("a", { href: "#/crashes" }, "All crashes"), " · ", h("a", { href: "#/events" }, "Timeline of restarts"))),
      h("section", { key: "load" }, h("h2", null, "Load"), tiles(ctx)),
      h("div", { class: "halves", key: "tops" },
        top(ctx, deepest?.filter((process) => process.main > 0), "Deepest mailboxes",
          (process) => bar(process.main / most, `${count(process.main)} waiting, ${growth(process.growth)}`, process.growth > 0 ? "warning" : "plain"),
          h("p", null, h("a", { href: "#/processes?sort=main" }, "All by mailbox"))),
        top(ctx, ctx.state.busiest?.filter((process) => process.cpu > 0.0005), "Most CPU",
          (process) => bar(process.cpu, `${share(process.cpu)} of a core`),
          h("p", null, h("a", { href: "#/processes?sort=cpu" }, "All by CPU"))),
        h("section", { class: "half", key: "pools" }, h("h2", null, "Fullest pools"),
          pools?.length ? h("ul", { class: "ranking" }, pools.map((pool) => h("li", { key: pool.id },
            h("span", null, processLink(pool.pid, pool.name)), bar(pool.fill, `${fullness(pool.fill)} full, ${count(pool.waiting)} of ${count(pool.capacity)}`, pool.fill >= 1 ? "critical" : pool.fill >= 0.8 ? "warning" : "plain"))))
            : h("p", { class: "quiet-text" }, "No pools with a bound."),
          h("p", null, h("a", { href: "#/pools" }, "All pools")))),
    ];
  },
};
