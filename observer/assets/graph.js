// A directed graph in layers, from left to right, as SVG of at most a few hundred elements.
//
// Layers are longest paths without the edges that close a circle; those are drawn against the
// direction. A graph always has a table beside it, so this is a picture and nothing else.

import { h, s } from "./dom.js";
import { many } from "./format.js";

const WIDE = 138;
const HIGH = 40;
const BETWEEN = 58;
const GAP = 14;
const MOST_NODES = 40;
const MOST_EDGES = 90;

/**
 * `nodes` is a map from key to `{title, under, open, kind}`; `edges` are `{from, to, label, kind}`, the
 * most important first.
 */
export function graph({ nodes, edges, label, testid }) {
  const { drawn, keys } = chosen(nodes, edges);
  const layers = layered(keys, drawn);
  const place = new Map();
  layers.forEach((layer, x) => layer.forEach((key, y) => place.set(key, { x: x * (WIDE + BETWEEN) + 4, y: y * (HIGH + GAP) + 4 })));
  const width = Math.max(1, layers.length) * (WIDE + BETWEEN) - BETWEEN + 8;
  const height = Math.max(1, ...layers.map((layer) => layer.length)) * (HIGH + GAP) - GAP + 34;
  const left = nodes.size - keys.length;
  return h("figure", { class: "graph", tabindex: "0", "aria-label": label },
    s("svg", { "data-testid": testid, role: "img", "aria-label": label, css: { "min-width": `${Math.round(width * 0.8)}px` }, width, height, viewBox: `0 0 ${width} ${height}` },
      s("defs", null, s("marker", { id: "arrow", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, s("path", { d: "M0 0L10 5L0 10z", class: "head" }))),
      drawn.map((edge) => line(edge, place, height)),
      keys.map((key) => box(nodes.get(key), place.get(key)))),
    left > 0 ? h("figcaption", null, `${many(left, "process is", "processes are")} not drawn; the table has all.`) : null);
}

function chosen(nodes, edges) {
  const keys = new Set();
  const drawn = [];
  for (const edge of edges) {
    if (drawn.length >= MOST_EDGES) break;
    const more = (keys.has(edge.from) ? 0 : 1) + (keys.has(edge.to) ? 0 : 1);
    if (keys.size + more > MOST_NODES || !nodes.has(edge.from) || !nodes.has(edge.to)) continue;
    keys.add(edge.from).add(edge.to);
    drawn.push(edge);
  }
  return { drawn, keys: [...keys] };
}

function layered(keys, edges) {
  const next = new Map(keys.map((key) => [key, []]));
  for (const edge of edges) if (edge.from !== edge.to) next.get(edge.from).push(edge.to);
  const layer = new Map();
  const onPath = new Set();
  // The length of the longest path from here on; what is on the path already closes a circle.
  const depth = (key) => {
    if (layer.has(key)) return layer.get(key);
    onPath.add(key);
    let most = 0;
    for (const to of next.get(key)) if (!onPath.has(to)) most = Math.max(most, depth(to) + 1);
    onPath.delete(key);
    layer.set(key, most);
    return most;
  };
  for (const key of keys) depth(key);
  const deepest = Math.max(0, ...layer.values());
  const layers = Array.from({ length: deepest + 1 }, () => []);
  for (const key of keys) layers[deepest - layer.get(key)].push(key);
  // Each layer in the order of what it points at, so that lines cross less.
  for (let at = layers.length - 2; at >= 0; at -= 1) {
    const right = new Map(layers[at + 1].map((key, index) => [key, index]));
    const middle = (key) => {
      const rows = next.get(key).map((to) => right.get(to)).filter((row) => row !== undefined);
      return rows.length ? rows.reduce((sum, row) => sum + row, 0) / rows.length : 0;
    };
    layers[at].sort((a, b) => middle(a) - middle(b));
  }
  return layers;
}

function line(edge, place, height) {
  const from = place.get(edge.from);
  const to = place.get(edge.to);
  const x1 = from.x + WIDE;
  const y1 = from.y + HIGH / 2;
  const x2 = to.x;
  const y2 = to.y + HIGH / 2;
  // An edge back goes below all boxes.
  const path = x2 > x1
    ? `M${x1} ${y1}C${x1 + BETWEEN / 2} ${y1} ${x2 - BETWEEN / 2} ${y2} ${x2} ${y2}`
    : `M${from.x + WIDE / 2} ${from.y + HIGH}C${from.x + WIDE / 2} ${height + 6} ${to.x + WIDE / 2} ${height + 6} ${to.x + WIDE / 2} ${to.y + HIGH}`;
  return s("g", { class: `edge ${edge.kind ?? ""}` },
    s("path", { d: path, "marker-end": "url(#arrow)" }, s("title", null, edge.title ?? edge.label ?? "")),
    edge.label ? s("text", { x: x2 > x1 ? x1 + 5 : (x1 + x2) / 2, y: x2 > x1 ? y1 - 5 : height - 4 }, edge.label) : null);
}

function box(node, at) {
  return s("g", { class: `node ${node.kind ?? ""}`, "data-open": node.open },
    s("title", null, `${node.title} ${node.under ?? ""}`),
    s("rect", { x: at.x, y: at.y, width: WIDE, height: HIGH, rx: 6 }),
    s("text", { x: at.x + 9, y: at.y + 17, class: "title" }, cut(node.title, 17)),
    s("text", { x: at.x + 9, y: at.y + 32, class: "pid" }, cut(node.under ?? "", 18)));
}

// The whole is in the title of the box, and in the table.
function cut(text, most) {
  const letters = [...text];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
}
