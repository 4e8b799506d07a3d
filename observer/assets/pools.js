// Pools: how full each is, worker by worker, what it refused, and who pushes.

import { h } from "./dom.js";
import { get } from "./api.js";
import { count, duration, fullness, many, rate } from "./format.js";
import { badge, bar, empty, pager, processLink, quoted, table, typed } from "./widgets.js";

const LIMIT = 10;
const CELLS = 64;
const ROWS = 64;

function heat(value) {
  return value === null ? "none" : value >= 1 ? "critical" : value >= 0.8 ? "warning" : value > 0 ? "some" : "none";
}

// One square for each worker: its number of messages, and a colour for how full it is.
function map(pool) {
  if (!pool.members.length) return null;
  const shown = pool.members.slice(0, CELLS);
  const left = pool.members.length - shown.length + pool.members_more;
  // The bound of one worker; `null` if it has none.
  const bound = pool.capacity !== null && pool.places ? Math.round(pool.capacity / pool.places) : null;
  return [
    h("ul", { class: "cells", "aria-label": "Messages waiting at each worker" }, shown.map((member) => {
      const fill = bound ? member.main / bound : null;
      const words = `${member.pid}: ${count(member.main)}${bound === null ? "" : ` of ${count(bound)}`} waiting, ${member.state}`;
      return h("li", { key: member.id, class: `cell ${heat(fill)}`, title: words, "data-open": member.id }, h("span", { "aria-hidden": "true" }, count(member.main)), h("span", { class: "hidden" }, words));
    })),
    left > 0 ? h("p", { class: "quiet-text" }, `and ${many(left, "worker", "workers")} more`) : null,
  ];
}

function percentiles(word, q) {
  return q ? h("p", null, `${word}: half within ${duration(q.p50)}, 90 % within ${duration(q.p90)}, 99 % within ${duration(q.p99)}, at most ${duration(q.max)}.`) : null;
}

function pushers(ctx, pool) {
  const waiting = (ctx.world.bodies.waits?.edges ?? []).filter((edge) => edge.kind === "room" && edge.to === pool.pid);
  const flow = (ctx.state.flow?.edges ?? []).filter((edge) => edge.to === pool.pid);
  if (!waiting.length && !flow.length) return null;
  const seen = new Set();
  const list = [
    ...waiting.map((edge) => ({ pid: edge.from, name: edge.from_name, words: `waits for room for ${duration(edge.seen_ms)}` })),
    ...flow.map((edge) => ({ pid: edge.from, name: edge.from_name, words: `${count(edge.messages)} messages in ${duration(ctx.state.flow.window_ms)}` })),
  ].filter((one) => !seen.has(one.pid) && seen.add(one.pid));
  return h("div", null, h("h3", null, "Who pushes"), h("ul", { class: "plain-list" }, list.slice(0, 8).map((one) => h("li", { key: one.pid }, processLink(one.pid, one.name), `: ${one.words}`))),
    list.length > 8 ? h("p", { class: "quiet-text" }, `and ${count(list.length - 8)} more`) : null);
}

function members(pool) {
  const rows = pool.members.slice(0, ROWS);
  return [
    table({
      rows, key: (member) => member.id, opens: (member) => member.id, className: "members",
      columns: [
        { key: "pid", label: "Worker", cell: (member) => processLink(member.pid, null) },
        { key: "state", label: "State", cell: (member) => member.state },
        { key: "main", label: "Waiting", number: true, cell: (member) => count(member.main) },
        { key: "handled", label: "Handled", number: true, cell: (member) => count(member.handled) },
        { key: "cpu", label: "CPU", number: true, cell: (member) => (member.cpu === null ? "–" : `${Math.round(member.cpu * 100)} %`) },
      ],
    }),
    pool.members.length > rows.length || pool.members_more ? h("p", null, h("a", { href: `#/processes?parent=${pool.id}` }, "All workers in a list")) : null,
  ];
}

function refusals(pool) {
  return [
    ["refused, no room", pool.unhandled], ["rate limited", pool.rate_limited], ["diverted", pool.diverted], ["expired", pool.expired], ["lost", pool.lost],
    ["crashed workers", pool.crashed], ["restarts", pool.restarts], ["stuck workers", pool.stuck],
  ].filter(([, value]) => value > 0).map(([word, value]) => `${count(value)} ${word}`).join(", ");
}

function card(ctx, pool) {
  const open = ctx.route.query.get("show") === String(pool.id);
  const short = pool.workers < pool.places;
  const trouble = refusals(pool);
  return h("section", { key: pool.id, class: "pool", "data-testid": `pool-${pool.id}`, "aria-label": `Pool ${pool.name ?? pool.pid}` },
    h("h2", null, processLink(pool.pid, pool.name), " ", short ? badge(`${count(pool.places - pool.workers)} of ${count(pool.places)} workers missing`, "warning") : null, pool.draining ? badge("draining", "warning") : null),
    h("p", { class: "pool-line" },
      bar(pool.fill ?? 0, fullness(pool.fill), pool.fill >= 1 ? "critical" : pool.fill >= 0.8 ? "warning" : "plain", { "data-testid": `pool-fill-${pool.id}` }),
      h("span", null, pool.capacity === null ? `${count(pool.waiting)} waiting` : `${count(pool.waiting)} of ${count(pool.capacity)} places taken`),
      pool.fill >= 1 ? badge("no room", "critical") : null,
      pool.room_waiters ? badge(`${many(pool.room_waiters, "sender waits", "senders wait")} for room`, "warning") : null),
    h("p", null, `${many(pool.workers, "worker", "workers")} of `, typed(pool.worker_behavior), `. ${rate(pool.forwarded_rate)} forwarded, ${rate(pool.unhandled_rate)} refused now.`,
      trouble ? ` Since its start: ${trouble}.` : " Nothing was refused or lost."),
    map(pool),
    percentiles("Wait", pool.wait_ms), percentiles("Service", pool.service_ms),
    pushers(ctx, pool),
    pool.members.length ? h("button", { type: "button", "aria-expanded": String(open), onclick: () => ctx.go({ show: open ? null : pool.id }) }, open ? "Hide the workers" : "Show the workers") : null,
    open ? members(pool) : null);
}

export default {
  title: "Pools",
  question: "Which pool is full, what does it refuse, and who pushes?",
  topics: () => ["pools", "waits"],

  async tick(ctx) {
    ctx.state.ticks = (ctx.state.ticks ?? 0) + 1;
    if (ctx.state.ticks % 3 !== 1) return;
    try {
      ctx.state.flow = await get("flow", { limit: 200 });
    } catch {
      // Without it, those that wait for room are shown.
    }
  },

  view(ctx) {
    const body = ctx.world.bodies.pools;
    if (!body) return h("p", null, "Waiting for the first sample.");
    if (!body.pools.length) return empty("No pools.", "A pool that the program starts stands here with its workers, how full they are, and what was refused.");
    const show = ctx.route.query.get("show");
    const text = (ctx.route.query.get("q") ?? "").toLowerCase();
    const worst = (pool) => (pool.draining ? 0.5 : 0) + (pool.fill ?? 0) * 2 + (pool.workers < pool.places ? 1 : 0) + (pool.unhandled_rate > 0 ? 1 : 0);
    // In the order of their ids while equally bad, so they keep their places.
    const sorted = body.pools.filter((pool) => !text || `${pool.name ?? ""} ${pool.pid} ${pool.worker_behavior ?? ""}`.toLowerCase().includes(text))
      .sort((a, b) => (String(b.id) === show) - (String(a.id) === show) || Math.round(worst(b) * 5) - Math.round(worst(a) * 5) || a.id - b.id);
    const offset = Number(ctx.route.query.get("offset") ?? 0);
    const shown = sorted.slice(offset, offset + LIMIT);
    return [
      body.pools.length > LIMIT ? h("div", { key: "bar" },
        h("label", { class: "field" }, h("span", null, "Filter by name, pid or worker"), h("input", { type: "search", value: ctx.route.query.get("q") ?? "", oninput: (typing) => ctx.go({ q: typing.target.value, offset: null }, true) })),
        pager({ offset, limit: LIMIT, shown: shown.length, matched: sorted.length, noun: body.more ? `pools (${count(body.more)} more are not told)` : "pools, the worst first", set: (to) => ctx.go({ offset: to || null }) })) : null,
      shown.length ? shown.map((pool) => card(ctx, pool)) : empty("No pool matches.", quoted("Write less into the filter.")),
    ];
  },
};
