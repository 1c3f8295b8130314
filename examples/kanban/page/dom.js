// Small tools for building and rearranging elements. Nothing here knows what a card is.

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
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4 21a8 8 0 0 1 16 0",
  more: "M5 12h.01M12 12h.01M19 12h.01",
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
