// Tree: the supervision tree. It is folded, and a branch is asked for when it is opened; only the
// rows that are seen are elements, so a tree of any size has few.

import { h } from "./dom.js";
import { get } from "./api.js";
import { count, many, short } from "./format.js";
import { empty, quoted, state } from "./widgets.js";

const CHILDREN = 200;
const ROW = 32;
const SPARE = 8;
const BRANCHES = 12;

function asked(ctx) {
  return { from: ctx.route.query.get("from"), depth: 4, children: CHILDREN, max: 2000 };
}

async function load(ctx) {
  const { state: own } = ctx;
  if (own.asking) return;
  own.asking = true;
  try {
    own.body = await get("tree", asked(ctx));
    own.error = null;
    // Branches beyond the depth that was asked for, as long as they are open.
    for (const id of [...(own.branches?.keys() ?? [])].slice(-BRANCHES)) await branch(ctx, id);
  } catch (error) {
    own.error = error;
  }
  own.asking = false;
  ctx.redraw();
}

async function branch(ctx, id) {
  try {
    const body = await get("tree", { from: id, depth: 2, children: CHILDREN, max: 2000 });
    (ctx.state.branches ??= new Map()).set(id, body.roots[0] ?? null);
  } catch {
    ctx.state.branches?.delete(id);
  }
}

function flat(ctx) {
  const rows = [];
  const { branches, toggled } = ctx.state;
  const visit = (given, level, at, of) => {
    const kept = given.children.length === 0 && given.more > 0 ? branches?.get(given.id) : null;
    const node = kept ?? given;
    const has = node.children.length > 0 || node.more > 0;
    const wide = node.children.length > 40;
    const open = has && (toggled?.get(node.id) ?? (level < 3 && !wide && node.children.length > 0));
    rows.push({ node, level, at, of, has, open });
    if (!open) return;
    const all = node.children.length + (node.more > 0 && node.children.length > 0 ? 1 : 0);
    node.children.forEach((child, index) => visit(child, level + 1, index + 1, all));
    if (node.more > 0) rows.push({ more: node.more, of: all, at: all, level: level + 1, node, loading: node.children.length === 0 });
  };
  const { roots } = ctx.state.body;
  roots.forEach((root, index) => visit(root, 0, index + 1, roots.length));
  return rows;
}

function toggle(ctx, row) {
  const open = !row.open;
  (ctx.state.toggled ??= new Map()).set(row.node.id, open);
  if (open && row.node.children.length === 0) branch(ctx, row.node.id).then(ctx.redraw);
  ctx.redraw();
}

function line(ctx, row, index) {
  const active = ctx.state.active === index;
  const common = {
    role: "treeitem", id: `tree-row-${index}`, class: `tree-row${active ? " active" : ""}`, "aria-level": row.level + 1,
    "aria-setsize": row.of, "aria-posinset": row.at, css: { "--level": String(Math.min(row.level, 12)) },
  };
  if (row.more) {
    const href = `#/processes?parent=${row.node.id}&sort=id`;
    return h("div", { ...common, key: `more-${row.node.id}` }, h("a", { href, tabindex: "-1" },
      row.loading ? "Asking." : `and ${count(row.more)} more: all children in a list`));
  }
  const { node } = row;
  const name = node.name ?? null;
  const title = `${name ?? ""} ${node.pid}, ${node.behavior ?? node.kind}`.trim();
  return h("div", { ...common, key: node.id, "data-testid": `tree-node-${node.id}`, "aria-expanded": row.has ? String(row.open) : null, "data-open": node.id, title },
    row.has
      ? h("button", { type: "button", class: "twist", tabindex: "-1", "data-testid": `tree-toggle-${node.id}`, "aria-label": row.open ? "Fold" : "Unfold", onclick: () => toggle(ctx, row) }, row.open ? "▾" : "▸")
      : h("span", { class: "twist", "aria-hidden": "true" }, "·"),
    h("a", { class: "process", href: `#/process/${node.id}`, "data-open": node.id, tabindex: "-1" },
      name ? quoted(name) : h("span", { class: "tree-type" }, short(node.behavior) || node.kind), " ", h("span", { class: "pid" }, node.pid)),
    h("span", { class: "tree-kind" }, node.kind),
    node.restarts ? h("span", { class: "badge warning" }, many(node.restarts, "restart", "restarts")) : null,
    node.main ? h("span", { class: "badge info" }, `${count(node.main)} waiting`) : null,
    node.state === "idle" ? null : state(node.state),
    row.has && !row.open ? h("span", { class: "tree-kind" }, many(node.children.length + node.more, "child", "children")) : null);
}

function keys(ctx, rows) {
  return (pressed) => {
    const { state: own } = ctx;
    let at = Math.min(own.active ?? -1, rows.length - 1);
    const row = rows[at];
    switch (pressed.key) {
      case "ArrowDown": at = Math.min(rows.length - 1, at + 1); break;
      case "ArrowUp": at = Math.max(0, at - 1); break;
      case "PageDown": at = Math.min(rows.length - 1, at + 15); break;
      case "PageUp": at = Math.max(0, at - 15); break;
      case "Home": at = 0; break;
      case "End": at = rows.length - 1; break;
      case "ArrowRight":
        if (row?.has && !row.open) toggle(ctx, row);
        else if (row?.open) at += 1;
        break;
      case "ArrowLeft":
        if (row?.open) toggle(ctx, row);
        else if (row) while (at > 0 && rows[at].level >= row.level) at -= 1;
        break;
      case "Enter":
      case " ":
        if (row?.more) location.hash = `#/processes?parent=${row.node.id}&sort=id`;
        else if (row) ctx.openProcess(row.node.id);
        break;
      default: return;
    }
    pressed.preventDefault();
    own.active = at;
    const view = pressed.currentTarget;
    if (at * ROW < view.scrollTop) view.scrollTop = at * ROW;
    else if ((at + 1) * ROW > view.scrollTop + view.clientHeight) view.scrollTop = (at + 1) * ROW - view.clientHeight;
    own.top = view.scrollTop;
    ctx.redraw();
  };
}

export default {
  title: "Tree",
  question: "Who supervises whom, and what was restarted?",
  enter: load,
  tick(ctx) {
    ctx.state.ticks = (ctx.state.ticks ?? 0) + 1;
    if (ctx.state.ticks % 2 === 0) return load(ctx);
  },

  view(ctx) {
    const { body, error, top = 0 } = ctx.state;
    const from = ctx.route.query.get("from");
    const above = from ? h("p", { key: "from" }, `The part below <0.${from}.0>. `, h("a", { href: "#/tree" }, "The whole tree")) : null;
    if (error && !body) return [above, empty("The tree cannot be shown.", error.code === "no_process" ? "The process that it should begin with has ended." : error.message)];
    if (!body) return h("p", null, "Asking for the tree.");
    const rows = flat(ctx);
    ctx.state.rows = rows;
    const height = Math.max(320, Math.min(rows.length * ROW + 4, window.innerHeight - 210));
    const first = Math.max(0, Math.floor(top / ROW) - SPARE);
    const last = Math.min(rows.length, Math.ceil((top + height) / ROW) + SPARE);
    const active = ctx.state.active;
    return [
      above,
      h("p", { key: "count", class: "quiet-text" }, `${many(body.total, "living process", "living processes")}. Arrow keys move and fold, Enter opens a process.`),
      rows.length ? h("div", {
        key: "tree", class: "tree", role: "tree", tabindex: "0", "aria-label": "Supervision tree", css: { height: `${height}px` },
        "aria-activedescendant": active !== undefined && active >= first && active < last ? `tree-row-${active}` : null,
        onscroll: (scrolled) => { ctx.state.top = scrolled.target.scrollTop; ctx.redraw(); },
        onkeydown: keys(ctx, rows),
      },
      h("div", { key: "before", role: "none", css: { height: `${first * ROW}px` } }),
      rows.slice(first, last).map((row, index) => line(ctx, row, first + index)),
      h("div", { key: "after", role: "none", css: { height: `${(rows.length - last) * ROW}px` } }))
        : empty("No processes.", "Every living process stands here below its parent."),
    ];
  },
};

