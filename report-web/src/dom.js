// Elements. Text becomes text nodes, never markup, so that any text is shown as it is.

const SVG = "http://www.w3.org/2000/svg";

/** Return an HTML element: h("p", {class: "note", onclick: f}, "text", child, ...). */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Return an SVG element. */
export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") setStyle(element, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Set properties of the style: the page's policy allows this, but no attribute `style`. */
export function setStyle(element, properties) {
  for (const [name, value] of Object.entries(properties)) element.style.setProperty(name, value);
}

/** Replace what an element holds. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

// Controls, marks of direction, and what else acts on a line of text instead of showing.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Return text of the user on one line, with controls as signs. */
export function visible(text) {
  return visibleLines(String(text).replace(/[\n\t]/g, " "));
}

/** Return text of the user with its lines, and other controls as signs. */
export function visibleLines(text) {
  return text.replace(HIDDEN, (character) => {
    const code = character.charCodeAt(0);
    if (character === "\n" || character === "\t") return character;
    return code < 32 ? String.fromCharCode(0x2400 + code) : `\u27e8U+${code.toString(16).padStart(4, "0").toUpperCase()}\u27e9`;
  });
}

/** Return text of the user as an element of its own direction; a long one is cut where it is shown. */
export function user(text, attributes = {}) {
  return h("bdi", { dir: "auto", ...attributes }, visible(text));
}

/** Return a function that calls `work` once, soon after its last call. */
export function debounced(work, milliseconds = 120) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...values), milliseconds);
  };
}
