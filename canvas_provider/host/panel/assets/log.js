/** The log: what the extension printed, what it told the session, and what the host and pages say. */

import { Batch, find, h, showTime } from "./dom.js";
import { model } from "./model.js";

const MAX_LINES = 2000;

/** Called when lines have come. @type {(() => void)[]} */
const watchers = [];

export const watchLog = (watcher) => watchers.push(watcher);

const filter = { text: "", errors: false };

const fresh = new Batch(MAX_LINES, (lines) => {
  model.log = [...model.log, ...lines].slice(-MAX_LINES);
  const log = find("log");
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 30;
  log.append(...lines.map(row));
  while (log.childElementCount > MAX_LINES) log.firstElementChild.remove();
  if (atEnd) log.scrollTop = log.scrollHeight;
  showCount();
  apply();
  for (const watcher of watchers) watcher();
});

/** Take a line that the host told. */
export const takeLine = (line) => fresh.add(line);

/** Add a line of the panel's own. */
export function addLine(source, level, text) {
  fresh.add({ source, level, text, time: Date.now() / 1000 });
}

/** Show these lines and no others. What pages have said is kept: the host does not know it. */
export function resetLog(lines) {
  const own = lines.length ? model.log.filter((line) => line.source === "page") : [];
  fresh.clear();
  model.log = [...lines, ...own].sort((one, other) => one.time - other.time);
  find("log").replaceChildren(...model.log.map(row));
  showCount();
  apply();
}

export function filterLog(given) {
  Object.assign(filter, given);
  apply();
}

function apply() {
  const text = filter.text.toLowerCase();
  for (const line of find("log").children) line.hidden = !line.textContent.toLowerCase().includes(text) || (filter.errors && !line.matches(".error, .warning"));
}

function row(line) {
  return h("div", { class: `log-line ${line.source} ${line.level}` }, h("span", { class: "time" }, showTime(line.time)), h("span", { class: "source" }, line.source), h("span", { class: "text" }, line.text || " "));
}

function showCount() {
  const count = find("log-count");
  count.textContent = String(model.log.length);
  count.classList.toggle("bad", model.log.some((line) => line.level === "error" || line.source === "page"));
}
