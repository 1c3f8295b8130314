// Small tools for building and rearranging elements. Nothing here knows what a task is.

import { longestRun } from "./order.js";

/**
 * Create an element. Text becomes text nodes, never markup.
 *
 * @param {string} tag
 * @param {Record<string, any>} [properties] attributes; `onclick` and the like are listeners
 * @param {...(Node | string)} children
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean") element.toggleAttribute(name, value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const ICONS = {
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  check: "M6 12.5l4 4 8-9",
  cross: "M7 7l10 10M17 7L7 17",
  note: "M5 6h14M5 11h14M5 16h8",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM5 20a7 7 0 0 1 14 0",
  system: "M4 12h13M12 6l6 6-6 6",
  agent: "M12 3l1.9 5.6a2 2 0 0 0 1.5 1.5L21 12l-5.6 1.9a2 2 0 0 0-1.5 1.5L12 21l-1.9-5.6a2 2 0 0 0-1.5-1.5L3 12l5.6-1.9a2 2 0 0 0 1.5-1.5Z",
};

/** Draw one of the icons above; it is decoration, so name the button that holds it. */
export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** Write only what differs, so that selections and screen readers are left alone. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Put `wanted` in this order under `parent`, moving as few elements as possible.
 *
 * An element that is taken out and put back loses focus, selection and scroll position, so the one
 * that has the focus stays where it is and the others move around it.
 *
 * @param {Element} parent
 * @param {Element[]} wanted
 */
export function arrange(parent, wanted) {
  const present = wanted.filter((element) => element.parentNode === parent);
  const place = new Map([...parent.children].map((element, index) => [element, index]));
  const places = present.map((element) => place.get(element));
  const focused = present.findIndex((element) => element.contains(document.activeElement));
  const still = new Set(longestRun(places, focused).map((index) => present[index]));
  let next = null;
  for (const element of [...wanted].reverse()) {
    if (!still.has(element)) parent.insertBefore(element, next);
    next = element;
  }
}

/** Whether this person asked for less movement. */
export function motionIsReduced() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** The time of day of a stamp such as `2026-11-30T09:05:00+01:00`; nothing, if it is none. */
export function clockOf(at) {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(at) ? at.slice(11, 16) : "";
}

/** A day such as `2026-12-01` in words, as the feed and the recap say it. */
export function dayInWords(day) {
  const date = new Date(`${day}T12:00`);
  if (Number.isNaN(date.getTime())) return day;
  const say = (options) => date.toLocaleDateString("en", options);
  return `${say({ weekday: "long" })}, ${date.getDate()} ${say({ month: "long" })}`;
}

/** Enter sends, Shift + Enter begins a line. */
export function sendOnEnter(textarea, send) {
  textarea.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  });
}
