// The steps of a simulation: what the processes were like after so many of them, and what a step says.
//
// A place is the number of steps that are over: 0 is before the first one. Going back computes the
// picture anew from the start, which for the most steps that a file has takes some milliseconds.

import { h } from "./dom.js";
import { duration, many, short } from "./format.js";
import { quoted, typed } from "./widgets.js";

/** The file as the page uses it: what is no step or process is left out. */
export function readSteps(body) {
  const is = (one) => typeof one === "object" && one !== null;
  return { ...body, processes: body.processes.map((one) => (is(one) ? one : {})), steps: body.steps.filter(is) };
}

/** The processes that were seen in the first `place` steps, with their counts, by their number. */
export function processesAfter(file, place) {
  const seen = new Map();
  const at = (number) => {
    if (!Number.isInteger(number)) return null;
    if (!seen.has(number)) seen.set(number, { number, parent: null, spawned: false, ended: null, turns: 0, handled: 0, received: 0, sent: 0 });
    return seen.get(number);
  };
  for (const step of file.steps.slice(0, place)) {
    const one = at(step.process);
    const by = at(step.by);
    if (step.kind === "sent" && by) by.sent += 1;
    if (!one) continue;
    switch (step.kind) {
      case "spawned":
        one.spawned = true;
        one.parent = by ? by.number : null;
        break;
      case "turn":
        one.turns += 1;
        one.handled += step.handled ?? 0;
        break;
      case "sent": one.received += 1; break;
      case "ended": one.ended = step.text ?? ""; break;
    }
  }
  return [...seen.values()].sort((a, b) => a.number - b.number);
}

/** Whether a step is about the process of this number. */
export function concerns(step, number) {
  return step.process === number || step.by === number;
}

/** The name of a process: its name, else its behaviour; its pid, and its node if there are several. */
export function processName(file, number) {
  const process = file.processes[number];
  if (!process) return "a process that is not known";
  const name = process.name ?? short(process.behavior ?? "");
  return [name ? [quoted(name), " "] : null, h("span", { class: "pid" }, process.pid ?? ""), process.node ? [" ", quoted(process.node)] : null];
}

const LANES = { urgent: ", on Urgent", system: ", on System" };

/** What happened in a step. `link(number)` shows a process. */
export function stepWords(step, link) {
  const who = (number, none) => (Number.isInteger(number) ? link(number) : none);
  switch (step.kind) {
    case "spawned": return [who(step.process, "a process"), " is spawned", Number.isInteger(step.by) ? [" by ", link(step.by)] : null];
    case "turn": return [who(step.process, "a process"), ` has turn ${step.turn}: ${many(step.handled ?? 0, "message", "messages")}`];
    case "sent": return [who(step.by, "Code outside the processes"), " sends ", typed(step.message), " to ", who(step.process, "a process"), LANES[step.lane] ?? ""];
    case "timer": return ["A timer fires", Number.isInteger(step.process) ? [" that ", link(step.process), " set"] : " that was set from outside"];
    case "ended": return [who(step.process, "a process"), " ends: ", quoted(step.text ?? "")];
    case "codec": return ["The codec of ", typed(step.message), " fails: ", quoted(step.text ?? "")];
    default: return quoted(step.text ?? "");
  }
}

/** The virtual time of a step. */
export function stepTime(step) {
  return duration(Number(step.at_ms) || 0);
}

const KINDS = { ended: "critical", codec: "critical", fault: "warning", network: "warning", spawned: "good", sent: "info" };

/** The colour of a kind of step. */
export function kindOf(step) {
  return KINDS[step.kind] ?? "plain";
}
