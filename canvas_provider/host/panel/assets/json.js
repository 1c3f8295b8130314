/** JSON as a tree that folds. What is large is rendered when it is opened. */

import { copy, h } from "./dom.js";

/** Members of one object or list that are shown at once. */
const PAGE = 200;

/** Characters of one text that are shown at once. */
const MAX_TEXT = 5000;

/**
 * @param {unknown} value
 * @param {{depth?: number, copyable?: boolean}} [options] how many levels are open
 * @returns {HTMLElement}
 */
export function showJSON(value, { depth = 3, copyable = true } = {}) {
  const element = h("div", { class: "json", tabIndex: 0 }, node(value, null, depth, false));
  if (!copyable) return element;
  const button = h("button", { type: "button", class: "quiet copy", title: "Copy as JSON", on: { click: () => copy(JSON.stringify(value, null, 2) ?? "", button) } }, "copy");
  return h("div", { class: "json-box" }, button, element);
}

function node(value, name, depth, more) {
  const key = name === null ? null : h("span", { class: "key" }, JSON.stringify(name));
  const colon = name === null ? null : ": ";
  const comma = more ? "," : "";
  if (typeof value !== "object" || value === null) return h("div", { class: "leaf" }, key, colon, leaf(value), comma);
  const isList = Array.isArray(value);
  const [open, close] = isList ? "[]" : "{}";
  const entries = isList ? value.map((each) => [null, each]) : Object.entries(value);
  if (entries.length === 0) return h("div", { class: "leaf" }, key, colon, open + close, comma);
  const inside = h("div", { class: "inside" });
  const count = h("span", { class: "summary-of" }, ` ${isList ? entries.length : Object.keys(value).slice(0, 4).join(", ") + (entries.length > 4 ? ", …" : "")} ${close}${comma}`);
  const details = h("details", {}, h("summary", {}, key, colon, open, count), inside, h("div", {}, close, comma));
  const fill = () => inside.childElementCount === 0 && addPage(inside, entries, 0, depth - 1);
  details.addEventListener("toggle", () => details.open && fill());
  if (depth > 0 && entries.length <= PAGE) {
    details.open = true;
    fill();
  }
  return details;
}

function addPage(inside, entries, from, depth) {
  const to = Math.min(entries.length, from + PAGE);
  inside.append(...entries.slice(from, to).map(([name, each], index) => node(each, name, depth, from + index < entries.length - 1)));
  if (to === entries.length) return;
  const more = h("button", { type: "button", class: "link", on: { click: () => (more.remove(), addPage(inside, entries, to, depth)) } }, `${entries.length - to} more`);
  inside.append(more);
}

function leaf(value) {
  if (typeof value !== "string") return h("span", { class: typeof value === "number" ? "number" : "word" }, String(JSON.stringify(value)));
  const text = JSON.stringify(value);
  if (text.length <= MAX_TEXT) return h("span", { class: "string" }, text);
  const span = h("span", { class: "string" }, `${text.slice(0, MAX_TEXT)}…`);
  const all = h("button", { type: "button", class: "link", on: { click: () => (span.textContent = text, all.remove()) } }, ` ${value.length} characters`);
  return h("span", {}, span, all);
}
