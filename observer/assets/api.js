// Requests to the node, and the token. The token is kept in this module's memory and nowhere else.

let token = null;
// Reading needs the token only where the node said so.
let needed = false;

/** An answer that is an error. `status` 0: there was no answer. */
export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Keeps `text` as the token, or forgets the token if it is `null`. */
export function setToken(text) {
  token = text || null;
}

/** Whether there is a token. */
export function hasToken() {
  return token !== null;
}

/** Reading without a token was refused: from now on requests carry it. */
export function readingNeedsToken() {
  return needed;
}

/** The path of a route with its parameters; those that are null or empty are left out. */
export function path(route, params) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params ?? {})) {
    if (value !== null && value !== undefined && value !== "") query.set(name, value);
  }
  const text = query.toString();
  return `api/v1/${route}${text ? `?${text}` : ""}`;
}

/** The response of a route, its body not yet read. */
export async function open(route, params, signal) {
  const answer = await request(path(route, params), { signal });
  if (answer.status === 401 && !needed) {
    needed = true;
    if (token !== null) return open(route, params, signal);
  }
  if (!answer.ok) throw await failure(answer);
  return answer;
}

/** The JSON of a route. */
export async function get(route, params, signal) {
  return (await open(route, params, signal)).json();
}

/** The text of a route. */
export async function text(route, params) {
  return (await open(route, params)).text();
}

/** An action. It always carries the token. */
export async function post(route, body) {
  const answer = await request(path(route), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  }, true);
  if (!answer.ok) throw await failure(answer);
  return answer.json();
}

async function request(address, options, always = false) {
  const headers = new Headers(options.headers);
  if (token !== null && (always || needed)) headers.set("authorization", `Bearer ${token}`);
  try {
    return await fetch(address, { ...options, headers, cache: "no-store", credentials: "omit", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "no_answer", "the node does not answer");
  }
}

async function failure(answer) {
  let code = `http_${answer.status}`;
  let message = answer.statusText || `status ${answer.status}`;
  try {
    const body = await answer.json();
    code = body.error.code;
    message = body.error.message;
  } catch {
    // The body is no error of the API: its status says enough.
  }
  return new ApiError(answer.status, code, message);
}

/** What went wrong, as a sentence. */
export function explain(error) {
  switch (error.code) {
    case "no_answer": return "The node does not answer.";
    case "token_missing": return "The node wants a token (401). Enter it with the button “Token”.";
    case "token_wrong": return "The token is wrong (401). Nothing was done.";
    case "read_only": return "This observer is read-only (403). It was started without an action token.";
    case "no_process": return "There is no such process (404). It has ended, or it never was.";
    case "no_entry": return "There is no such entry (404). The ring has dropped it, or it never was.";
    case "not_offered": return "The process does not offer this (409).";
    case "not_suspended": return "The process is not suspended (409).";
    case "protected": return "The process belongs to the observer and is protected (409).";
    case "timeout": return "The process did not answer in time (504). It is busy, blocked or suspended.";
    case "too_many_streams": return "All streams of the observer are taken (503). Close another page.";
    case "busy": return "The observer is busy (503).";
    default: return error.status
      ? `${error.message} (${error.status} ${error.code}).`
      : String(error.message ?? error);
  }
}

/** The answer of `/health`; 503 is an answer too. */
export async function health() {
  const answer = await request("health", {});
  if (answer.status !== 503 && !answer.ok) throw await failure(answer);
  const body = await answer.json();
  if (body.error) throw new ApiError(answer.status, body.error.code, body.error.message);
  return body;
}
