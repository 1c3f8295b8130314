// Marks on what the agent changed. They fade, but not before somebody could have seen them.

import { h, icon } from "./dom.js";

const STAY_MS = 8000;

/** @type {Map<Element, number | undefined>} */
const timers = new Map();

/**
 * @param {Element} element
 * @param {string} text such as `Agent started this`
 */
export function mark(element, text) {
  forgetTheGone();
  element.querySelector(":scope > .mark")?.remove();
  element.prepend(h("span", { class: "mark" }, icon("agent"), text));
  clearTimeout(timers.get(element));
  timers.set(element, undefined);
  if (!document.hidden) startTimers();
}

/** A panel in the background may be left for days; what is off the board is not kept for it. */
function forgetTheGone() {
  for (const [element, timer] of timers) {
    if (element.isConnected) continue;
    clearTimeout(timer);
    timers.delete(element);
  }
}

function startTimers() {
  for (const [element, timer] of timers) {
    if (timer !== undefined) continue;
    element.classList.remove("marked");
    void element.offsetWidth; // so that the animation of an earlier mark starts over
    element.classList.add("marked");
    timers.set(element, setTimeout(() => remove(element), STAY_MS));
  }
}

function remove(element) {
  timers.delete(element);
  element.classList.remove("marked");
  element.querySelector(":scope > .mark")?.remove();
}

document.addEventListener("visibilitychange", () => document.hidden || startTimers());
