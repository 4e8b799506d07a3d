// Turns: who holds which worker now, which behaviours use the CPU, and a chart of the workers: by
// sampling, or exact for some seconds.

import { h } from "./dom.js";
import { ApiError, explain, get, hasToken, post } from "./api.js";
import { count, duration, many, share, short } from "./format.js";
import { ask, badge, bar, download, empty, processLink, say, table, typed } from "./widgets.js";

const SAMPLES = 120;
const LANE = 22;
const LABEL = 120;
const AXIS = 20;
const MOST_LANES = 64;

function colour(text, dark) {
  let sum = 7;
  for (const letter of text) sum = (sum * 31 + letter.codePointAt(0)) % 3600;
  return `hsl(${sum % 360} 60% ${dark ? 62 : 42}%)`;
}

// Where a process runs: its dispatcher, and the worker if that is known. A sample does not know it.
function place(worker) {
  return worker.worker === null ? worker.dispatcher : `${worker.dispatcher} ${worker.worker}`;
}

// Samples of who ran, as spans that last until the next sample. Of several at the same place each has a lane.
function sampled(ctx) {
  const spans = [];
  const { samples = [] } = ctx.state;
  const from = samples[0]?.at ?? 0;
  samples.forEach((sample, index) => {
    const until = samples[index + 1]?.at ?? sample.at + 1000;
    const lanes = new Map();
    for (const worker of sample.workers) {
      if (!worker.pid) continue;
      const at = place(worker);
      const nth = (lanes.get(at) ?? 0) + 1;
      lanes.set(at, nth);
      spans.push({ lane: nth === 1 ? at : `${at} (${nth})`, name: called(worker), from: sample.at - from, to: until - from });
    }
  });
  return { spans, length: Math.max(1000, (samples.at(-1)?.at ?? 0) - from + 1000) };
}

function called(worker) {
  return worker.name ?? short(worker.behavior) ?? worker.pid;
}

// Complete events (`X`) of a Chrome trace; names of threads come as `M`.
function recorded(body) {
  const names = new Map();
  const spans = [];
  for (const event of body.traceEvents) {
    if (event.ph === "M" && event.name === "thread_name") names.set(`${event.pid}/${event.tid}`, event.args?.name);
  }
  let first = Infinity;
  for (const event of body.traceEvents) if (event.ph === "X") first = Math.min(first, event.ts);
  let length = 1;
  for (const event of body.traceEvents) {
    if (event.ph !== "X") continue;
    const from = (event.ts - first) / 1000;
    const to = from + event.dur / 1000;
    length = Math.max(length, to);
    const lane = `${event.pid}/${event.tid}`;
    spans.push({ lane: names.get(lane) ?? `worker ${event.tid}`, name: event.name, from, to });
  }
  return { spans, length };
}

function chart(ctx) {
  const canvas = document.querySelector("[data-testid=turns-chart]");
  if (!canvas) return;
  const { state: own } = ctx;
  const { spans, length } = own.recording?.spans ? own.recording : sampled(ctx);
  const lanes = [...new Set(spans.map((span) => span.lane))].sort((a, b) => a.localeCompare(b, undefined, { numeric: true })).slice(0, MOST_LANES);
  const zoom = own.recording ? own.zoom ?? 1 : 1;
  const shown = length / zoom;
  const start = Math.min(Math.max(0, (own.at ?? 0) * length), length - shown);
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = Math.max(1, lanes.length) * LANE + AXIS;
  canvas.style.height = `${height}px`;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const style = getComputedStyle(canvas);
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const left = Math.min(LABEL, width / 3);
  const scale = (width - left) / shown;
  own.seen = [];
  lanes.forEach((lane, row) => {
    pen.fillStyle = style.color;
    pen.fillText(lane, 2, row * LANE + LANE / 2, left - 6);
    pen.globalAlpha = 0.15;
    pen.fillRect(left, row * LANE + LANE - 1, width - left, 1);
    pen.globalAlpha = 1;
  });
  const rows = new Map(lanes.map((lane, row) => [lane, row]));
  for (const span of spans) {
    const row = rows.get(span.lane);
    if (row === undefined || span.to < start || span.from > start + shown) continue;
    const x = left + (Math.max(span.from, start) - start) * scale;
    const wide = Math.max(0.75, (Math.min(span.to, start + shown) - Math.max(span.from, start)) * scale);
    pen.fillStyle = colour(span.name ?? "", dark);
    pen.fillRect(x, row * LANE + 2, wide, LANE - 5);
    if (wide > 40) {
      pen.fillStyle = dark ? "#000" : "#fff";
      pen.fillText(short(span.name), x + 4, row * LANE + LANE / 2, wide - 8);
    }
    own.seen.push({ x, wide, row, span });
  }
  pen.fillStyle = style.color;
  for (let part = 0; part <= 4; part += 1) {
    pen.textAlign = part === 4 ? "right" : part ? "center" : "left";
    pen.fillText(duration(Math.round((start + (shown * part) / 4) * 10) / 10), left + ((width - left) * part) / 4, lanes.length * LANE + AXIS / 2);
  }
  pen.textAlign = "left";
}

function keys(ctx) {
  return (pressed) => {
    const { state: own } = ctx;
    const zoom = own.zoom ?? 1;
    const step = 0.2 / zoom;
    switch (pressed.key) {
      case "+": case "=": own.zoom = Math.min(5000, zoom * 2); break;
      case "-": own.zoom = Math.max(1, zoom / 2); break;
      case "ArrowRight": own.at = Math.min(1, (own.at ?? 0) + step); break;
      case "ArrowLeft": own.at = Math.max(0, (own.at ?? 0) - step); break;
      default: return;
    }
    pressed.preventDefault();
    ctx.redraw();
  };
}

function pointed(ctx, event) {
  const box = event.target.getBoundingClientRect();
  const x = event.clientX - box.left;
  const row = Math.floor((event.clientY - box.top) / LANE);
  const found = (ctx.state.seen ?? []).find((one) => one.row === row && x >= one.x && x <= one.x + one.wide);
  ctx.state.pointed = found ? `${found.span.lane}: ${found.span.name}, ${duration(found.span.to - found.span.from)}` : null;
  ctx.redraw();
}

async function record(ctx) {
  const given = await ask({
    title: "Record the turns of all workers?",
    text: "Every turn is noted with its begin and end, at most 200 000. The node does this for the time that you give, and then stops.",
    yes: "Record", danger: false,
    fields: [{ name: "ms", label: "Milliseconds, 100 to 10 000", type: "number", min: 100, max: 10000, value: 2000 }],
  });
  if (!given) return;
  try {
    const ms = Number(given.ms);
    const { recording } = await post("turns", { ms });
    ctx.state.recording = { number: recording, until: Date.now() + ms };
    say("The recording runs.");
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    say(`Nothing was recorded: ${explain(error)}`);
  }
  ctx.redraw();
}

async function fetchRecording(ctx) {
  const { recording } = ctx.state;
  if (!recording || recording.spans || recording.asking || Date.now() < recording.until) return;
  recording.asking = true;
  try {
    const body = await get(`turns/${recording.number}`);
    Object.assign(recording, recorded(body), { text: JSON.stringify(body) });
    ctx.state.zoom = 1;
    ctx.state.at = 0;
  } catch (error) {
    recording.error = error;
  }
  recording.asking = false;
  ctx.redraw();
}

export default {
  title: "Turns",
  question: "Who holds which worker, and which behaviour uses the CPU?",
  topics: () => ["turns"],

  tick(ctx) {
    const { turns } = ctx.world.bodies;
    if (turns && turns !== ctx.state.last) {
      ctx.state.last = turns;
      (ctx.state.samples ??= []).push({ at: ctx.world.node.uptime_ms, workers: turns.workers });
      if (ctx.state.samples.length > SAMPLES) ctx.state.samples.shift();
    }
    fetchRecording(ctx);
  },

  after: chart,

  view(ctx) {
    const { turns, node } = ctx.world.bodies;
    const known = ctx.world.node ?? node;
    if (!turns) return h("p", null, "Waiting for the first sample.");
    const { recording } = ctx.state;
    const held = turns.workers.filter((worker) => worker.pid).sort((a, b) => b.held_ms - a.held_ms);
    const behaviors = [...turns.behaviors].sort((a, b) => b.cpu - a.cpu).filter((one) => one.cpu > 0).slice(0, 20);
    const blocked = known?.dispatchers.filter((one) => one.blocked > 0) ?? [];
    const label = recording?.spans ? "Exact turns of each worker" : "Who was seen in a turn, sample by sample. The table says who is in one now.";
    const workers = known?.dispatchers.reduce((sum, one) => sum + one.workers + one.spares, 0);
    const sentence = workers ? `${count(held.length)} of ${many(workers, "worker is", "workers are")} at work now.` : `${many(held.length, "process is", "processes are")} at work now.`;
    return [
      h("p", { key: "sentence", class: `headline ${blocked.length ? "critical" : "good"}` }, sentence,
        blocked.length ? ` Blocked: ${blocked.map((one) => `${count(one.blocked)} of ${one.name}`).join(", ")}.` : ""),
      h("section", { key: "now" }, h("h2", null, "Who holds a worker now"),
        held.length ? table({
          rows: held.slice(0, 60), key: (worker) => worker.pid, testid: "turns-now",
          columns: [
            { key: "worker", label: "Dispatcher", cell: place },
            { key: "who", label: "Process", cell: (worker) => processLink(worker.pid, worker.name) },
            { key: "behavior", label: "Behaviour", rank: 2, cell: (worker) => typed(worker.behavior) },
            { key: "held", label: "For", number: true, cell: (worker) => [duration(worker.held_ms), worker.held_ms > 1000 ? [" ", badge("long", "warning")] : null] },
          ],
        }) : empty("All workers are free.", "A process that is in a turn when the node is sampled stands here. The one that takes the samples is left out.")),
      h("section", { key: "behaviors" }, h("h2", null, "CPU by behaviour"),
        behaviors.length ? h("ul", { class: "ranking" }, behaviors.map((one) => h("li", { key: one.behavior }, h("a", { href: `#/processes?behavior=${encodeURIComponent(one.behavior)}&sort=cpu` }, typed(one.behavior)), bar(one.cpu, `${share(one.cpu)} of a core`))))
          : h("p", { class: "quiet-text" }, "Nothing used the CPU since the sample before.")),
      h("section", { key: "chart" }, h("h2", null, recording?.spans ? "Exact recording" : "By sampling"),
        h("p", null,
          recording?.spans ? `${many(recording.spans.length, "turn", "turns")} in ${duration(recording.length)}. Keys + and − zoom, arrows move. ` : "Each square is what one sample saw. ",
          recording && !recording.spans ? (recording.error ? explain(recording.error) : "The recording runs.") : null),
        h("div", { class: "buttons" },
          hasToken() && known?.access.actions ? h("button", { type: "button", "data-testid": "action-turns", onclick: () => record(ctx) }, "Record exactly") : null,
          recording?.spans ? [
            h("button", { type: "button", onclick: () => { ctx.state.zoom = Math.min(5000, (ctx.state.zoom ?? 1) * 2); ctx.redraw(); } }, "Zoom in"),
            h("button", { type: "button", onclick: () => { ctx.state.zoom = Math.max(1, (ctx.state.zoom ?? 1) / 2); ctx.redraw(); } }, "Zoom out"),
            h("button", { type: "button", onclick: () => download(`turns-${recording.number}.json`, recording.text) }, "Save for Perfetto"),
            h("button", { type: "button", onclick: () => { ctx.state.recording = null; ctx.redraw(); } }, "Back to sampling"),
          ] : null),
        h("canvas", { "data-testid": "turns-chart", keep: true, tabindex: "0", role: "img", "aria-label": label, onkeydown: keys(ctx), onclick: (clicked) => pointed(ctx, clicked) }),
        h("p", { class: "quiet-text", role: "status" }, ctx.state.pointed ?? "Click a square to read it.")),
    ];
  },
};
