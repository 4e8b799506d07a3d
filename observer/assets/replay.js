// Steps: the run of a simulation at a failing seed, from a file, forwards and backwards.

import { h } from "./dom.js";
import { explain, get } from "./api.js";
import { count, many } from "./format.js";
import { badge, copyButton, empty, pager, quoted, table } from "./widgets.js";
import { concerns, kindOf, processName, processesAfter, readSteps, stepTime, stepWords } from "./steps.js";

// How many steps are seen before and after the one that is looked at.
const AROUND = 8;
const LIMIT = 50;
// The address follows the place when it has not changed for so long: a browser allows few changes a second.
const SETTLED = 150;

async function load(ctx) {
  const own = ctx.state;
  if (!own.file && !own.asking) {
    own.asking = true;
    own.file = readSteps(await get("replay"));
    own.asking = false;
  }
  if (own.file && !own.settling) own.place = placed(own.file, ctx.route.query.get("step"));
  own.only = numbered(ctx.route.query.get("process"));
}

// The last step is where the failure is seen, so the page begins there.
function placed(file, text) {
  const place = numbered(text) ?? file.steps.length;
  return Math.min(place, file.steps.length);
}

function numbered(text) {
  return /^\d{1,9}$/.test(text ?? "") ? Number(text) : null;
}

function move(ctx, place) {
  const own = ctx.state;
  own.place = Math.max(0, Math.min(own.file.steps.length, place));
  clearTimeout(own.settling);
  own.settling = setTimeout(() => {
    own.settling = null;
    ctx.go({ step: own.place }, true);
  }, SETTLED);
  ctx.redraw();
}

const shown = (own, step) => own.only === null || concerns(step, own.only);

// The next place in a direction at which a shown step is the last that is over.
function next(own, direction) {
  const { steps } = own.file;
  for (let place = own.place + direction; place > 0 && place <= steps.length; place += direction) {
    if (shown(own, steps[place - 1])) return place;
  }
  return direction < 0 ? 0 : own.place;
}

function failure(file) {
  return h("section", { key: "failure" },
    file.reason ? [h("h2", null, "It fails"), h("pre", { "data-testid": "replay-reason", tabindex: "0" }, quoted(file.reason))] : null,
    h("h2", null, "This makes the run again"),
    h("pre", { "data-testid": "replay-expression", tabindex: "0" }, file.expression),
    copyButton("Copy", file.expression));
}

function controls(ctx) {
  const own = ctx.state;
  const { steps } = own.file;
  const { place } = own;
  const button = (name, label, to, none) => h("button", {
    type: "button", "data-testid": `replay-${name}`, "aria-disabled": String(none), onclick: () => move(ctx, to()),
  }, label);
  return h("div", { class: "filters", key: "controls" },
    button("first", "To the start", () => 0, place === 0),
    button("back", "One step back", () => next(own, -1), place === 0),
    button("forward", "One step on", () => next(own, 1), next(own, 1) === place),
    button("last", "To the end", () => steps.length, place === steps.length),
    h("label", { class: "field grow" }, h("span", null, "Steps that are over"),
      h("input", {
        type: "range", min: 0, max: steps.length, value: place, "data-testid": "replay-place",
        oninput: (moved) => move(ctx, Number(moved.target.value)),
      })));
}

function sentence(own) {
  const { steps, omitted } = own.file;
  const step = steps[own.place - 1];
  const before = omitted ? ` ${many(omitted, "earlier step is", "earlier steps are")} not in the file.` : "";
  return h("p", { key: "sentence", "data-testid": "replay-step", role: "status" },
    step ? `Step ${count(own.place)} of ${count(steps.length)}, at ${stepTime(step)} of virtual time.` : `Before the first of ${many(steps.length, "step", "steps")}.`, before);
}

// The steps around the place, of the shown ones alone.
function around(own) {
  const { steps } = own.file;
  const gather = (from, direction, most) => {
    const list = [];
    for (let at = from; at >= 0 && at < steps.length && list.length < most; at += direction) if (shown(own, steps[at])) list.push(at);
    return list;
  };
  return [...gather(own.place - 1, -1, AROUND + 1).reverse(), ...gather(own.place, 1, AROUND)];
}

function list(ctx, link) {
  const own = ctx.state;
  const { steps } = own.file;
  return h("ol", { class: "steps", "data-testid": "replay-steps" }, around(own).map((at) => {
    const step = steps[at];
    const now = at + 1 === own.place;
    return h("li", { key: at, class: now ? "now" : at < own.place ? "over" : "ahead", "aria-current": now ? "step" : null, "data-testid": now ? "replay-now" : null },
      h("button", { type: "button", class: "quiet", onclick: () => move(ctx, at + 1), "aria-label": `Go to step ${at + 1}` }, count(at + 1)),
      h("span", { class: "quiet-text" }, stepTime(step)),
      h("span", null, badge(step.kind ?? "", kindOf(step))),
      h("span", { class: "message" }, stepWords(step, link), step.node ? h("span", { class: "quiet-text" }, " at ", quoted(step.node)) : null));
  }));
}

function processes(ctx, link) {
  const own = ctx.state;
  const all = processesAfter(own.file, own.place);
  const step = own.file.steps[own.place - 1] ?? {};
  const offset = numbered(ctx.route.query.get("offset")) ?? 0;
  const rows = all.slice(offset, offset + LIMIT);
  const part = (one) => (one.number === step.process ? badge(step.kind, kindOf(step)) : one.number === step.by ? badge("by", "info") : null);
  return h("section", { key: "processes" }, h("h2", null, "Processes then"),
    pager({ offset, limit: LIMIT, shown: rows.length, matched: all.length, noun: "processes in these steps", set: (to) => ctx.go({ offset: to || null, step: own.place }) }),
    rows.length ? table({
      rows, key: (one) => one.number, testid: "replay-processes", rowid: (one) => `replay-process-${one.number}`,
      columns: [
        { key: "process", label: "Process", cell: (one) => [link(one.number), " ", part(one)] },
        { key: "state", label: "State", cell: (one) => (one.ended === null ? "lives" : [badge("ended", "critical"), " ", quoted(one.ended)]) },
        { key: "parent", label: "Parent", rank: 3, cell: (one) => (one.parent === null ? "–" : link(one.parent)) },
        { key: "received", label: "Sent to it", number: true, rank: 2, cell: (one) => count(one.received) },
        { key: "handled", label: "Handled", number: true, cell: (one) => count(one.handled) },
        { key: "turns", label: "Turns", number: true, rank: 2, cell: (one) => count(one.turns) },
        { key: "sent", label: "Sent by it", number: true, rank: 3, cell: (one) => count(one.sent) },
      ],
    }) : empty("No processes.", "Processes stand here from the step in which they are spawned."));
}

export default {
  title: "Steps",
  question: "What ran, in which order, until it failed?",
  enter: load,
  leave: (ctx) => clearTimeout(ctx.state.settling),

  view(ctx) {
    const own = ctx.state;
    if (own.error) return empty("The steps cannot be shown.", explain(own.error));
    if (!own.file) return h("p", null, "Asking for the steps.");
    const { file } = own;
    const link = (number) => h("a", { href: ctx.address({ process: number, step: own.place, offset: null }), title: "Only the steps of this process" }, processName(file, number));
    const keys = (pressed) => {
      if (["INPUT", "SELECT"].includes(pressed.target.tagName)) return;
      const direction = { ArrowLeft: -1, ArrowRight: 1 }[pressed.key];
      if (direction) move(ctx, next(own, direction));
    };
    return [
      failure(file),
      file.steps.length ? h("section", { key: "steps", onkeydown: keys }, h("h2", null, "Steps"),
        sentence(own), controls(ctx),
        own.only === null ? null : h("p", null, h("button", { type: "button", class: "chip", "data-testid": "replay-all", onclick: () => ctx.go({ process: null, step: own.place }) }, "only steps of ", processName(file, own.only), " ", h("span", { "aria-hidden": "true" }, "×"), h("span", { class: "hidden" }, ": show all"))),
        list(ctx, link)) : empty("No steps.", "Each turn, message, birth and end of the simulation stands here."),
      processes(ctx, link),
    ];
  },
};
