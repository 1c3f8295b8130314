/** Making and finding elements. Text is always set as text, never as HTML. */

/**
 * @param {string} tag
 * @param {Record<string, unknown>} [properties] properties of the element; `class`, `data`, `aria`
 *   and `on` are what they look like
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElement}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name === "class") element.className = String(value);
    else if (name === "role" || name === "for" || name === "popover") element.setAttribute(name, String(value));
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "aria") for (const [key, each] of Object.entries(value)) element.setAttribute(`aria-${key}`, String(each));
    else if (name === "on") for (const [key, each] of Object.entries(value)) element.addEventListener(key, each);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** @param {string} id @returns {HTMLElement} */
export function find(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`there is no #${id}`);
  return element;
}

/** Takes what comes in a flood, and hands it on once per frame: the latest `limit`, the rest is dropped. */
export class Batch {
  /** @param {number} limit @param {(items: any[]) => void} take */
  constructor(limit, take) {
    this.limit = limit;
    this.take = take;
    this.items = [];
  }

  add(item) {
    if (this.items.length === 0) requestAnimationFrame(() => this.flush());
    this.items.push(item);
    // A hidden page has no frames.
    if (this.items.length > 2 * this.limit) this.items.splice(0, this.limit);
  }

  clear() {
    this.items.length = 0;
  }

  flush() {
    const items = this.items.splice(0).slice(-this.limit);
    if (items.length) this.take(items);
  }
}

/** A duration in seconds, for people. @param {number} seconds */
export function showDuration(seconds) {
  if (seconds < 0.0995) return `${(seconds * 1000).toFixed(1)} ms`;
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  return `${seconds.toFixed(1)} s`;
}

/** A size in bytes, for people. @param {number} bytes */
export function showSize(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1000).toFixed(1)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** A time of day with milliseconds. @param {number} seconds Unix time */
export function showTime(seconds) {
  const date = new Date(seconds * 1000);
  const two = (number) => String(number).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

/** Put a text on the clipboard, and say so on the button. */
export async function copy(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  } catch {
    button.textContent = "not allowed";
  }
  setTimeout(() => (button.textContent = before), 1200);
}
