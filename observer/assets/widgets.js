// What several pages draw with: names of processes, tables, bars, lines, empty places, and the dialog
// that asks before something is done.

import { h, s, render } from "./dom.js";
import { NONE, count, idOf, local, short } from "./format.js";

/** A text of the node. It is isolated, so marks of direction in it do not reach its neighbours. */
export function quoted(text) {
  return h("bdi", { class: "text" }, text);
}

/** The address of a process in the page. */
export function processHref(id) {
  return `#/process/${id}`;
}

/** A process as a link: its name, else its label or behaviour, and its pid. */
export function processLink(pid, name, more) {
  if (pid === null || pid === undefined) return NONE;
  const id = idOf(pid);
  const inside = name ? [quoted(name), " ", h("span", { class: "pid" }, pid)] : [h("span", { class: "pid" }, pid)];
  if (id === null || !local(pid)) return h("span", { class: "process", ...more }, inside);
  return h("a", { class: "process", href: processHref(id), "data-open": id, ...more }, inside);
}

/** The name by which people know a process: name, label, behaviour, else the pid alone. */
export function called(process) {
  return process.name ?? process.label ?? (process.behavior ? short(process.behavior) : null);
}

/** A type or behaviour: its short form, the whole path as title. */
export function typed(type) {
  if (!type) return NONE;
  return h("bdi", { class: "type", title: type }, short(type));
}

const SEVERITY = { critical: "critical", warning: "warning", info: "info" };

/** A word with a colour that never stands alone. */
export function badge(word, kind = "plain") {
  return h("span", { class: `badge ${kind}` }, word);
}

/** The severity of a finding. */
export function severity(word) {
  return badge(word, SEVERITY[word] ?? "plain");
}

/** The state of a process. */
export function state(word) {
  const kind = { running: "good", suspended: "warning", waiting: "info", init: "info", ended: "critical" }[word] ?? "plain";
  return h("span", { class: `state ${kind}` }, word);
}

/** What stands where nothing is: what would be here, and how it comes here. */
export function empty(what, how) {
  return h("div", { class: "empty", "data-testid": "empty" }, h("p", { class: "what" }, what), how ? h("p", null, how) : null);
}

/** A share from 0 to 1 as a bar with its words beside it. */
export function bar(value, words, kind = "plain", more) {
  const width = `${Math.max(0, Math.min(1, value ?? 0)) * 100}%`;
  return h("span", { class: `bar ${kind}` },
    h("span", { class: "track", "aria-hidden": "true" }, h("span", { class: "level", css: { width } })),
    h("span", { class: "words", ...more }, words));
}

/** A line of values over time. `label` says in words what it shows. */
export function sparkline(values, label, most = null) {
  const width = 160;
  const height = 36;
  const known = values.filter((value) => value !== null && value !== undefined);
  const top = Math.max(most ?? 0, ...known, 1e-9);
  const step = values.length > 1 ? width / (values.length - 1) : width;
  let path = "";
  let pen = false;
  values.forEach((value, at) => {
    if (value === null || value === undefined) {
      pen = false;
      return;
    }
    const y = height - 2 - (value / top) * (height - 4);
    path += `${pen ? "L" : "M"}${(at * step).toFixed(1)} ${y.toFixed(1)}`;
    pen = true;
  });
  return s("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    s("path", { d: path || "M0 34", "vector-effect": "non-scaling-stroke" }));
}

/** At most so many of the values, evenly taken. */
export function thinned(values, most) {
  if (values.length <= most) return values;
  const step = values.length / most;
  return Array.from({ length: most }, (_, at) => values[Math.min(values.length - 1, Math.floor((at + 1) * step) - 1)]);
}

/**
 * A table. A column is `{key, label, title, sort, number, rank, cell(row)}`; `rank` 2 and 3 are left
 * out where there is little width. `sort` is what the server calls it; `sorting` is `{by, order, set}`.
 */
export function table({ columns, rows, caption, key, sorting, testid, rowid, className, opens }) {
  const classOf = (column) => `${column.number ? "number " : ""}${column.rank ? `rank${column.rank} ` : ""}${column.wide ? "wide" : ""}`.trim() || null;
  const head = columns.map((column) => {
    const on = sorting && column.sort && sorting.by === column.sort;
    const label = column.sort && sorting
      ? h("button", {
        type: "button", class: "sort", "data-testid": `sort-${column.sort}`, title: column.title,
        onclick: () => sorting.set(column.sort, column),
      }, column.label, h("span", { class: "arrow", "aria-hidden": "true" }, on ? (sorting.order === "asc" ? "▲" : "▼") : ""))
      : column.label;
    return h("th", {
      scope: "col", key: column.key, class: classOf(column), title: column.sort ? null : column.title,
      "aria-sort": on ? (sorting.order === "asc" ? "ascending" : "descending") : null,
    }, label);
  });
  const body = rows.map((row) => h("tr", {
    key: key(row),
    "data-testid": rowid ? rowid(row) : null,
    "data-open": opens ? opens(row) : null,
    class: opens ? "opens" : null,
  }, columns.map((column, at) => h(at === 0 ? "th" : "td", {
    scope: at === 0 ? "row" : null, key: column.key, class: classOf(column),
  }, column.cell(row)))));
  return h("div", { class: "scroller" }, h("table", { class: className ?? null, "data-testid": testid ?? null },
    caption ? h("caption", null, caption) : null,
    h("thead", null, h("tr", null, head)),
    h("tbody", null, body)));
}

/** Where a list goes on. `set(offset)` shows another part. */
export function pager({ offset, limit, shown, matched, noun, set }) {
  const last = offset + shown;
  const words = matched === 0 ? `no ${noun}` : `${count(offset + 1)} to ${count(last)} of ${count(matched)} ${noun}`;
  return h("div", { class: "pager" },
    h("span", { class: "words" }, words),
    h("button", { type: "button", "data-testid": "page-prev", disabled: offset === 0, onclick: () => set(Math.max(0, offset - limit)) }, "Previous"),
    h("button", { type: "button", "data-testid": "page-next", disabled: last >= matched, onclick: () => set(offset + limit) }, "Next"));
}

/** Says something to those who do not see the place where it happened, too. */
export function say(text) {
  const place = document.getElementById("say");
  place.textContent = "";
  if (!text) return;
  render(place, h("p", { key: `${Date.now()}` }, text,
    h("button", { type: "button", class: "quiet", "aria-label": "Close the message", onclick: () => render(place) }, "×")));
}

/**
 * Asks with the words in `text` whether to do it; `yes` is the label of the button that does it. `fields` are inputs.
 * Resolves to the fields' values by their names, or to `null`.
 */
export function ask({ title, text, yes, fields = [], testid = "confirm", danger = true }) {
  const dialog = document.getElementById("dialog");
  return new Promise((resolve) => {
    let done = null;
    const finish = (value) => {
      done = value;
      dialog.close();
    };
    const form = h("form", {
      method: "dialog", key: `${title}${Date.now()}`, "data-testid": testid, autocomplete: "off",
      onsubmit: (submitted) => {
        submitted.preventDefault();
        finish(Object.fromEntries(fields.map((field) => [field.name, submitted.target.elements[field.name].value])));
      },
    },
    h("h2", { id: "dialog-title" }, title),
    text ? h("p", null, text) : null,
    fields.map((field) => h("label", { class: "field" }, h("span", null, field.label), h("input", {
      name: field.name, type: field.type ?? "text", value: field.value ?? "", required: field.required ?? true,
      min: field.min, max: field.max, maxlength: field.maxlength, minlength: field.minlength,
      autocomplete: "off", spellcheck: "false", "data-testid": field.testid,
    }))),
    h("div", { class: "buttons" },
      h("button", { type: "button", "data-testid": "confirm-no", onclick: () => finish(null) }, "Cancel"),
      h("button", { type: "submit", class: danger ? "danger" : "primary", "data-testid": "confirm-yes" }, yes)));
    const closed = () => {
      dialog.removeEventListener("close", closed);
      // Nothing that was typed stays in the document.
      render(dialog);
      resolve(done);
    };
    dialog.addEventListener("close", closed);
    render(dialog, form);
    dialog.showModal();
    (form.querySelector("input") ?? form.querySelector("[data-testid=confirm-no]")).focus();
  });
}

/** A button that copies a text, and says that it did. */
export function copyButton(label, text) {
  return h("button", {
    type: "button", class: "copy",
    onclick: async () => {
      try {
        await navigator.clipboard.writeText(text);
        say("Copied.");
      } catch {
        say("The browser does not allow copying. Select the text and copy it by hand.");
      }
    },
  }, label);
}

/** Gives a text to the browser as a file. */
export function download(name, text, type = "application/json") {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
