// Numbers, durations, moments and names as text.

import { h } from "./dom.js";

/** Stands for a value that is not there. */
export const NONE = "–";

const SPACE = "\u202f";

/** A whole number; over 9999 in groups of three. */
export function count(value) {
  if (value === null || value === undefined) return NONE;
  return group(Math.round(value));
}

/** A number with as many decimals as its size deserves. */
export function amount(value) {
  if (value === null || value === undefined) return NONE;
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return group(Math.round(value));
  return size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function group(value) {
  const text = String(Math.abs(value));
  const grouped = text.length > 4 ? text.replace(/\B(?=(\d{3})+$)/g, SPACE) : text;
  return (value < 0 ? "−" : "") + grouped;
}

/** A rate per second. */
export function rate(value) {
  if (value === null || value === undefined) return NONE;
  return `${Math.abs(value) < 10 ? trim(value, 1) : group(Math.round(value))}/s`;
}

/** A rate with its sign: the growth of a mailbox. */
export function growth(value) {
  if (value === null || value === undefined) return NONE;
  return (value > 0.05 ? "+" : "") + rate(value).replace("-", "−");
}

/** A share as a percentage. */
export function share(value) {
  if (value === null || value === undefined) return NONE;
  const percent = value * 100;
  if (percent > 0 && percent < 0.1) return `<${SPACE}0.1${SPACE}%`;
  return `${percent < 10 ? trim(percent, 1) : group(Math.round(percent))}${SPACE}%`;
}

/** How full a pool is. It is `100 %` only when there is no room. */
export function fullness(value) {
  if (value === null || value === undefined) return "no bound";
  const percent = value >= 1 ? Math.round(value * 100) : Math.min(99, Math.floor(value * 100));
  return `${percent} %`;
}

function trim(value, digits) {
  return value.toFixed(digits).replace(/\.0+$/, "").replace(/^-0$/, "0");
}

/** A duration of so many milliseconds. */
export function duration(ms) {
  if (ms === null || ms === undefined) return NONE;
  if (ms === 0) return "0 s";
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${trim(ms, ms < 10 ? 1 : 0)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${trim(seconds, seconds < 10 ? 1 : 0)} s`;
  const whole = Math.floor(seconds);
  if (whole < 3600) return pair(Math.floor(whole / 60), "min", whole % 60, "s");
  if (whole < 86400) return pair(Math.floor(whole / 3600), "h", Math.floor((whole % 3600) / 60), "min");
  return pair(Math.floor(whole / 86400), "d", Math.floor((whole % 86400) / 3600), "h");
}

function pair(large, unit, small, smaller) {
  return small === 0 ? `${group(large)} ${unit}` : `${group(large)} ${unit} ${small} ${smaller}`;
}

/** So many bytes. */
export function bytes(value) {
  if (value === null || value === undefined) return NONE;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let size = value;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 || size >= 100 ? group(Math.round(size)) : size.toFixed(1)} ${units[unit]}`;
}

/** `1 process`, `2 processes`. */
export function many(value, one, more) {
  return `${count(value)} ${value === 1 ? one : more}`;
}

const two = (value) => String(value).padStart(2, "0");

/** A moment in the local zone as text. It has the date unless it is of today. */
export function clock(at, millis) {
  const date = at instanceof Date ? at : new Date(at);
  if (Number.isNaN(date.getTime())) return String(at);
  let text = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  if (millis) text += `.${String(date.getMilliseconds()).padStart(3, "0")}`;
  if (date.toDateString() !== new Date().toDateString()) {
    text = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${text}`;
  }
  return text;
}

/** A moment in the local zone, with the moment in UTC as its title. */
export function moment(at, millis = false) {
  if (at === null || at === undefined) return NONE;
  const date = at instanceof Date ? at : new Date(at);
  if (Number.isNaN(date.getTime())) return String(at);
  const utc = date.toISOString();
  return h("time", { datetime: utc, title: utc.replace("T", " ").replace("Z", " UTC") }, clock(date, millis));
}

/** The local zone with its distance from UTC. */
export function zone() {
  const minutes = -new Date().getTimezoneOffset();
  const size = Math.abs(minutes);
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "local";
  return `${name}, UTC${minutes < 0 ? "−" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** The number of a pid as text: `<0.42.0>` is 42. */
export function idOf(pid) {
  const found = /^<\d+\.(\d+)\.\d+>$/.exec(pid ?? "");
  return found ? Number(found[1]) : null;
}

/** Whether a pid is one of this node. */
export function local(pid) {
  return /^<0\.\d+\.\d+>$/.test(pid ?? "");
}

/** The part of a type's path that says most: `app::stock::Stock` is `Stock`. */
export function short(type) {
  return (type ?? "").replace(/\b(?:[A-Za-z_]\w*::)+(?=[A-Za-z_{<(])/g, "");
}
