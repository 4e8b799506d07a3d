// Cluster: the other nodes, what goes over each connection, and which kept node is missing.

import { h } from "./dom.js";
import { bytes, count, duration, many, moment, rate } from "./format.js";
import { badge, bar, empty, pager, processLink, quoted, table } from "./widgets.js";

const LIMIT = 50;

// The counters of the cluster in words; one that is not here stands with its name.
const WORDS = {
  unreachable: "messages to names that are not exported, or to unknown processes",
  undecodable: "messages of another type than their receiver takes",
  refused: "messages refused by a full mailbox",
  late: "answers after the end of their call",
  dropped: "messages that could not be written",
  refused_spawns: "requests for too many processes",
  unasked_replies: "replies that nobody asked for",
  denied: "requests without the right to it",
  refused_members: "members of groups beyond the bound",
  missed_scope_messages: "messages of scopes missed",
  failed_handshakes: "connections that never came up",
};

function headline(cluster) {
  const missing = cluster.not_connected;
  return h("p", { key: "sentence", class: `headline ${missing ? "warning" : "good"}` }, `${many(cluster.connected, "node is", "nodes are")} connected`,
    missing ? `; ${many(missing, "kept node is", "kept nodes are")} not.` : ".");
}

function about(cluster) {
  return h("p", { key: "about" }, quoted(cluster.node), " listens ", cluster.address === null ? "nowhere yet" : ["at ", quoted(cluster.address)],
    cluster.encrypted ? ", encrypted" : ", not encrypted", ". Its process is ", processLink(cluster.pid, null),
    `. Messages to a node are refused while more than ${bytes(cluster.bound_bytes)} wait for it.`);
}

// Both directions of one number, with its rate if that is known.
function both(one, known) {
  const way = (word, total, often) => h("div", null, `${known(total)} ${word}`, often ? h("span", { class: "quiet-text" }, `, ${often}`) : null);
  return [way("in", one[0], one[2]), way("out", one[1], one[3])];
}

const perSecond = (value) => (value === null ? null : `${bytes(Math.round(value))}/s`);
const often = (value) => (value === null ? null : rate(value));

function waiting(cluster, one) {
  const fill = one.waiting_bytes / cluster.bound_bytes;
  const kind = fill > 1 ? "critical" : fill >= 0.8 ? "warning" : "plain";
  const refused = `${count(one.refusals)} refused`;
  return [bar(fill, bytes(one.waiting_bytes), kind), fill > 1 ? [" ", badge("full", "critical")] : null,
    one.refusals ? [" ", one.refusals_rate > 0 ? badge(`refuses now, ${refused}`, "critical") : badge(refused, "warning")] : null];
}

function bonds(one) {
  return [[one.links, "link", "links"], [one.monitors, "monitor", "monitors"], [one.foreign_monitors, "monitor of theirs", "monitors of theirs"], [one.functions, "function", "functions"], [one.spawned, "process", "processes"]]
    .filter(([value]) => value > 0).map(([value, word, more]) => many(value, word, more)).join(", ") || "–";
}

function losses(one) {
  return [[one.dead_letters, "dead letter", "dead letters"], [one.late_replies, "late reply", "late replies"]]
    .filter(([value]) => value > 0).map(([value, word, more]) => many(value, word, more)).join(", ") || "–";
}

function connections(ctx, cluster) {
  if (!cluster.connections.length) return empty("No connections.", "Each node that this one has dialled, or that has dialled it, stands here. A node is dialled by the first message to it, or when it is kept.");
  // Nodes may have left since the page was turned.
  const asked = Math.floor((Number(ctx.route.query.get("offset")) || 0) / LIMIT) * LIMIT;
  const offset = Math.min(Math.max(asked, 0), Math.floor((cluster.connections.length - 1) / LIMIT) * LIMIT);
  const shown = cluster.connections.slice(offset, offset + LIMIT);
  return [
    cluster.connected > LIMIT ? pager({ offset, limit: LIMIT, shown: shown.length, matched: cluster.connections.length, noun: cluster.more ? `connections (${count(cluster.more)} more are not told)` : "connections", set: (to) => ctx.go({ offset: to || null }) }) : null,
    table({
      rows: shown, key: (one) => one.node, testid: "connections-table", opens: (one) => one.id, rowid: (one) => `connection-${one.node}`,
      columns: [
        { key: "node", label: "Node", cell: (one) => (one.pid === null ? quoted(one.node) : processLink(one.pid, one.node)) },
        { key: "waiting", label: "Waiting", cell: (one) => waiting(cluster, one), title: "Bytes that wait to be sent" },
        { key: "bytes", label: "Bytes", cell: (one) => both([one.bytes_in, one.bytes_out, perSecond(one.bytes_in_rate), perSecond(one.bytes_out_rate)], bytes), rank: 2 },
        { key: "messages", label: "Messages", cell: (one) => both([one.messages_in, one.messages_out, often(one.messages_in_rate), often(one.messages_out_rate)], count) },
        { key: "bonds", label: "Bonds", cell: bonds, rank: 2, title: "Links, monitors, and what runs here for that node" },
        { key: "losses", label: "Lost", cell: losses, rank: 2, title: "Messages from there that no process handled" },
        { key: "most", label: "Most waiting", number: true, cell: (one) => bytes(one.most_waiting_bytes), rank: 3 },
        { key: "since", label: "Since", cell: (one) => moment(one.since_at), rank: 2 },
        { key: "by", label: "Dialled by", cell: (one) => (one.dialled ? "this node" : "that node"), rank: 3 },
        { key: "creation", label: "Creation", number: true, cell: (one) => String(one.creation), rank: 3 },
      ],
    }),
  ];
}

function kept(cluster) {
  if (!cluster.kept.length) return empty("No kept nodes.", "Nodes that the program keeps connected, by Cluster::keep or by a discovery, stand here, those first that are not connected.");
  const next = (one) => (one.connected ? "–" : one.dialled_in_ms === null ? "now" : `in ${duration(one.dialled_in_ms)}`);
  const rows = cluster.kept.slice(0, LIMIT);
  const left = cluster.kept.length - rows.length + cluster.kept_more;
  return [
    table({
      rows, key: (one) => one.node, testid: "kept-table", rowid: (one) => `kept-${one.node}`,
      columns: [
        { key: "node", label: "Node", cell: (one) => quoted(one.node) },
        { key: "state", label: "State", cell: (one) => (one.connected ? badge("connected", "good") : badge("not connected", "critical")) },
        { key: "failures", label: "Failures", number: true, cell: (one) => count(one.failures), title: "Dials and short connections that failed in succession" },
        { key: "next", label: "Dialled", cell: next },
      ],
    }),
    left ? h("p", { class: "quiet-text" }, `and ${many(left, "node", "nodes")} more`) : null,
  ];
}

function counters(cluster) {
  const list = Object.entries(cluster.counters).filter(([, value]) => value > 0);
  if (!list.length) return h("p", null, "Everything arrived since the cluster started.");
  return h("ul", { class: "plain-list", "data-testid": "cluster-counters" }, list.map(([name, value]) => h("li", { key: name }, `${count(value)} ${WORDS[name] ?? name}`)));
}

export default {
  title: "Cluster",
  question: "Which nodes are connected, what waits for them, and who is missing?",
  topics: () => ["cluster"],

  view(ctx) {
    const { cluster } = ctx.world.bodies;
    if (!cluster) return h("p", null, "Waiting for the first sample.");
    if (!cluster.running) return empty("No cluster.", "A program that starts a Cluster has its connections to other nodes stand here, with what goes over each and what waits.");
    const sections = [
      ["connections", "Connections", connections(ctx, cluster)],
      ["kept", "Kept nodes", kept(cluster)],
    ];
    // What is missing comes first.
    if (cluster.not_connected) sections.reverse();
    return [
      headline(cluster),
      about(cluster),
      sections.map(([key, title, inner]) => h("section", { key }, h("h2", null, title), inner)),
      h("section", { key: "counters" }, h("h2", null, "What did not arrive"), counters(cluster)),
    ];
  },
};
