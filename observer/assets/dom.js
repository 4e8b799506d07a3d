// Elements, and how a drawn picture becomes the next one.
//
// A page draws itself anew as a tree of elements, and `morph` changes the tree on the screen until it
// is the same. So focus, selection, scroll positions and typed text survive. Text of the node enters
// by text nodes and attributes only; nothing here parses HTML.

const SVG = "http://www.w3.org/2000/svg";
const HANDLERS = ["onclick", "oninput", "onchange", "onkeydown", "onsubmit", "onclose", "ontoggle", "onscroll"];

/**
 * An element. `props` are attributes, except: functions are handlers (`onclick`), `key` names the
 * element among its siblings, `css` are style properties, `value` is the value of a field, and `keep`
 * leaves the children to the code that made them.
 */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** An SVG element, with the same props. */
export function s(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node[name] = value;
    else if (name === "key") node.__key = String(value);
    else if (name === "keep") node.__keep = true;
    else if (name === "css") style(node, value);
    else if (name === "value" && "value" in node && node.tagName !== "LI") node.__value = String(value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  append(node, children);
  // A select has a value only when its options are there.
  if (node.__value !== undefined) node.value = node.__value;
  return node;
}

function append(node, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(node, child);
    else node.append(child instanceof Node ? child : String(child));
  }
}

// The content security policy forbids style attributes, but not properties.
function style(node, css) {
  node.__css = css;
  for (const [name, value] of Object.entries(css)) node.style.setProperty(name, value);
}

/** Makes the children of `parent` what `children` are. Keeps the focus where it was. */
export function render(parent, ...children) {
  const next = document.createDocumentFragment();
  append(next, children);
  const focused = document.activeElement;
  patch(parent, next);
  if (focused && focused !== document.activeElement && focused.isConnected) {
    focused.focus({ preventScroll: true });
  }
}

function patch(parent, next) {
  let keyed = null;
  for (const child of parent.childNodes) {
    if (child.__key !== undefined) (keyed ??= new Map()).set(child.__key, child);
  }
  let cursor = parent.firstChild;
  for (const child of [...next.childNodes]) {
    let match = child.__key === undefined ? cursor : keyed?.get(child.__key);
    if (match && (match.nodeName !== child.nodeName || match.__key !== child.__key)) match = null;
    if (!match) {
      parent.insertBefore(child, cursor);
      continue;
    }
    if (match === cursor) cursor = cursor.nextSibling;
    else parent.insertBefore(match, cursor);
    morph(match, child);
  }
  while (cursor) {
    const after = cursor.nextSibling;
    cursor.remove();
    cursor = after;
  }
}

function morph(old, next) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue;
    return;
  }
  for (const { name, value } of next.attributes) {
    if (name !== "style" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    // A user opens and closes `details` and dialogs, not the page.
    if (name !== "style" && name !== "open" && !next.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const name of HANDLERS) if (old[name] !== next[name]) old[name] = next[name];
  if (next.__css) {
    style(old, next.__css);
  }
  if (!next.__keep) patch(old, next);
  if (next.__value !== undefined && old !== document.activeElement && old.value !== next.__value) {
    old.value = next.__value;
  }
}
