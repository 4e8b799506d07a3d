// Crashes: what ended abnormally, why, and what was done about it. `#/crash/SEQ` shows one.

import { h } from "./dom.js";
import { explain, get } from "./api.js";
import { count, duration, idOf, many, moment } from "./format.js";
import { messages } from "./process.js";
import { badge, copyButton, empty, pager, processLink, quoted, typed } from "./widgets.js";

const LIMIT = 40;
const KINDS = ["panic", "error", "killed", "kill", "noproc", "noconnection"];
const CAUSES = {
  own: "its own handler", link: "a link to a process that ended", signal: "an exit signal", parent: "the end of its parent", kill: "an order to kill it",
};

async function load(ctx, seq) {
  const known = (ctx.state.known ??= new Map());
  if (known.get(seq)?.crash) return;
  try {
    known.set(seq, { crash: await get(`crashes/${seq}`) });
  } catch (error) {
    known.set(seq, { error });
  }
  ctx.redraw();
}

function opened(ctx) {
  return new Set((ctx.route.query.get("open") ?? "").split(".").filter(Boolean).map(Number));
}

function toggle(ctx, seq) {
  const open = opened(ctx);
  if (!open.delete(seq)) open.add(seq);
  // The address would grow with each; the oldest close.
  ctx.go({ open: [...open].slice(-4).join(".") }, true);
}

function row(ctx, crash, open) {
  const name = crash.name ?? crash.label;
  return h("article", { key: crash.seq, class: "crash", "data-testid": `crash-row-${crash.seq}`, "aria-label": `Crash ${crash.seq} of ${name ?? crash.pid}` },
    h("div", {
      class: "crash-head",
      onclick: (clicked) => { if (!clicked.target.closest("button") && String(getSelection()).length === 0) toggle(ctx, crash.seq); },
    },
    h("button", { type: "button", class: "twist", "aria-expanded": String(open), "aria-label": `${open ? "Hide" : "Show"} why ${name ?? crash.pid} ended`, onclick: () => toggle(ctx, crash.seq) }, open ? "▾" : "▸"),
    h("span", { class: "when" }, moment(crash.at, true)),
    badge(crash.kind, crash.kind === "panic" || crash.kind === "error" ? "critical" : "warning"),
    h("span", { class: "who" }, name ? [quoted(name), " "] : null, h("span", { class: "pid" }, crash.pid), " ", h("span", { class: "quiet-text" }, typed(crash.behavior))),
    h("span", { class: "reason" }, quoted(crash.reason)),
    h("span", { class: "then" }, crash.watched_by ? ["watched by ", quoted(crash.watched_by.name ?? crash.watched_by.pid)] : "watched by nobody",
      crash.replaced_by ? [", replaced by ", h("span", { class: "pid" }, crash.replaced_by)] : ", not replaced")),
    open ? h("div", { class: "crash-body" }, detail(ctx, crash.seq, false)) : null);
}

function detail(ctx, seq, page) {
  const known = ctx.state.known?.get(seq);
  if (!known) return h("p", null, "Asking for the report.");
  if (known.error) return h("p", { class: "notice warning" }, explain(known.error));
  const { crash } = known;
  const { cause, decision, in_hand: hand } = crash;
  return [
    h("p", { class: "explanation", "data-testid": "crash-explanation" }, quoted(crash.explanation)),
    page ? null : h("p", null, h("a", { href: `#/crash/${seq}` }, "This crash as a page"), " · ", logs(crash), " · Ended: ", processLink(crash.pid, crash.name ?? crash.label)),
    h("div", { class: "crash-parts" },
      h("section", null, h("h3", null, "Cause"),
        h("p", null, `It was ended by ${CAUSES[cause.kind] ?? cause.kind}`, cause.by && cause.by !== crash.pid ? [", ", processLink(cause.by, null)] : null, "."),
        cause.chain.length ? h("ol", { class: "chain" }, cause.chain.map((one) => h("li", { key: one.pid }, processLink(one.pid, one.name), ": ", h("span", { class: "reason" }, quoted(one.reason))))) : null,
        crash.panic ? h("p", null, "Panic: ", quoted(crash.panic.message), crash.panic.location ? [" at ", h("code", null, crash.panic.location)] : null) : null),
      h("section", null, h("h3", null, "In hand at the end"),
        hand ? h("p", null, typed(hand.type), hand.sender ? [" from ", processLink(hand.sender, null)] : null, hand.text ? [": ", quoted(hand.text)] : ". Its text is private: the actor does not offer it (show_message).") : h("p", null, "No message.")),
      h("section", null, h("h3", null, "Decision"),
        decision ? h("p", null, crash.watched_by ? [processLink(crash.watched_by.pid, crash.watched_by.name), ": "] : null, `${decision.what}${decision.strategy ? `, ${decision.strategy}` : ""}. `,
          decision.intensity === null || decision.intensity === undefined ? null : h("strong", null, `${count(decision.count)} of at most ${many(decision.intensity, "restart", "restarts")} in ${duration(decision.period_ms)}.`))
          : h("p", null, "Nobody decided: it had no supervisor."),
        crash.replaced_by ? h("p", null, "In its place: ", processLink(crash.replaced_by, null)) : null),
      h("section", null, h("h3", null, "At its end"),
        h("p", null, `${count(crash.lanes.main)} waiting, ${count(crash.lanes.urgent)} urgent, ${count(crash.lanes.system)} system; ${many(crash.letters_lost, "message", "messages")} lost with it. It had handled ${count(crash.handled)}, lived ${duration(crash.uptime_ms)} and run ${duration(crash.running_ms)} on ${crash.dispatcher}.`),
        crash.ancestors.length ? h("p", null, "Ancestors: ", crash.ancestors.map((one, at) => [at ? ", " : "", processLink(one.pid ?? one, one.name ?? null)])) : null,
        crash.links.length ? h("p", null, "Links: ", crash.links.slice(0, 20).map((one, at) => [at ? ", " : "", processLink(one.pid ?? one, one.name ?? null)]), crash.links.length > 20 ? ` and ${count(crash.links.length - 20)} more` : null) : null)),
    h("h3", null, "Last messages"),
    crash.recorded.length ? messages(crash.recorded, page ? 100 : 30) : h("p", { class: "quiet-text" }, "The flight recorder was off for it. Spawn it with record(n), or turn the recorder on with the action Record, to see here what came before."),
    crash.recipe ? [
      h("h3", null, "Recipe of a test"),
      h("p", null, "A simulation that plays the recorded messages again. ", copyButton("Copy the recipe", crash.recipe)),
      h("pre", { "data-testid": "crash-recipe", tabindex: "0", "aria-label": "Recipe of a test" }, crash.recipe),
    ] : null,
  ];
}

function logs(crash) {
  return h("a", { href: `#/logs?pid=${idOf(crash.pid)}` }, "Its logs");
}

export default {
  title: "Crashes",
  question: "What ended abnormally, why, and who came in its place?",
  heading: (ctx) => (ctx.route.name === "crash" ? `Crash ${ctx.route.arg}` : "Crashes"),

  enter(ctx) {
    if (ctx.route.name === "crash") return load(ctx, Number(ctx.route.arg));
    return Promise.all([...opened(ctx)].map((seq) => load(ctx, seq)));
  },

  tick(ctx) {
    // A report is complete when somebody came in place of the dead, or a little later.
    for (const [seq, known] of ctx.state.known ?? []) {
      if (known.crash && !known.crash.replaced_by && (known.looks = (known.looks ?? 0) + 1) < 4) {
        get(`crashes/${seq}`).then((crash) => { known.crash = crash; }, () => {});
      }
    }
  },

  view(ctx) {
    if (ctx.route.name === "crash") {
      const seq = Number(ctx.route.arg);
      const crash = ctx.state.known?.get(seq)?.crash;
      return [
        crash ? h("p", { key: "head" }, processLink(crash.pid, crash.name ?? crash.label), " (", typed(crash.behavior), ") ended at ", moment(crash.at, true), ": ", badge(crash.kind, "critical"), " ", h("span", { class: "reason" }, quoted(crash.reason)), ". ",
          logs(crash), " · ", h("a", { href: "#/crashes" }, "All crashes")) : null,
        h("div", { key: "detail" }, detail(ctx, seq, true)),
      ];
    }
    const kind = ctx.route.query.get("kind") ?? "";
    const text = (ctx.route.query.get("q") ?? "").toLowerCase();
    const all = ctx.newest("crashes");
    const list = all.filter((crash) => (!kind || crash.kind === kind) && (!text || `${crash.name ?? ""} ${crash.label ?? ""} ${crash.pid} ${crash.behavior ?? ""} ${crash.reason}`.toLowerCase().includes(text)));
    const offset = Number(ctx.route.query.get("offset") ?? 0);
    const shown = list.slice(offset, offset + LIMIT);
    const open = opened(ctx);
    const lost = ctx.world.rings.crashes?.lost ?? 0;
    return [
      h("p", { key: "question", class: "question" }, this.question),
      h("form", { key: "filters", class: "filters", role: "search", onsubmit: (submitted) => submitted.preventDefault() },
        h("label", { class: "field grow" }, h("span", null, "Filter by process, behaviour or reason"), h("input", { type: "search", value: ctx.route.query.get("q") ?? "", oninput: (typing) => ctx.go({ q: typing.target.value, offset: null }, true) })),
        h("label", { class: "field" }, h("span", null, "Kind"), h("select", { value: kind, onchange: (changed) => ctx.go({ kind: changed.target.value, offset: null }) }, h("option", { value: "" }, "any"), KINDS.map((one) => h("option", { value: one }, one))))),
      list.length === 0 ? empty(all.length ? "No crash matches." : "No crashes.", all.length ? "Remove a filter." : "A process that ends abnormally (a panic, an error, a kill) stands here at once, with the reason, the message it had in hand, and what its supervisor did.") : [
        pager({ offset, limit: LIMIT, shown: shown.length, matched: list.length, noun: `crashes, the newest first${lost ? ` (${count(lost)} older ones were dropped)` : ""}`, set: (to) => ctx.go({ offset: to || null }) }),
        h("div", { key: "list", class: "crash-list" }, shown.map((crash) => row(ctx, crash, open.has(crash.seq)))),
      ],
    ];
  },
};
