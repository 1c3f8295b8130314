/** The list of messages, what of it is shown, and which one is selected. */

import { Batch, find, h, showDuration, showSize, showTime } from "./dom.js";
import { ARROW, FROM, MessageView } from "./message.js";
import { Rows } from "./rows.js";

/** As many as the host remembers. */
const LIMIT = 10_000;

const ROW_HEIGHT = 22;

const isAnswer = (entry) => entry.kind === "result" || entry.kind === "error";

class Traffic {
  start() {
    /** @type {any[]} */
    this.entries = [];
    /** By number: the answer of a request, and the other way round. */
    this.answers = new Map();
    this.shown = [];
    this.selected = null;
    this.filter = { text: "", events: true, errors: false, direction: "", method: "", instance: "" };
    this.isPaused = false;
    /** What came while it was paused. */
    this.held = [];
    this.fresh = new Batch(LIMIT, (entries) => this.append(entries));
    this.rows = new Rows({ height: ROW_HEIGHT, label: "Messages, the newest last", row: (entry) => this.row(entry) });
    this.message = new MessageView((number) => this.select(number));
    this.empty = h("p", { class: "faint pad" }, "Messages between Copilot's place and the extension appear here.");
    this.element = find("traffic");
    this.element.append(this.empty, this.rows.element, this.message.element);
    this.rows.element.addEventListener("keydown", (event) => this.step(event));
    this.rows.element.addEventListener("click", (event) => {
      const row = event.target.closest("[data-number]");
      if (row) this.select(Number(row.dataset.number));
    });
  }

  reset(entries) {
    this.fresh.clear();
    this.held = [];
    this.entries = [];
    this.answers.clear();
    this.take(entries);
    this.apply();
    this.rows.scrollToEnd();
    if (!this.find(this.selected)) this.select(null);
  }

  add(entry) {
    if (this.isPaused) this.held = [...this.held.slice(1 - LIMIT), entry];
    else this.fresh.add(entry);
    if (this.isPaused) this.showCount();
  }

  append(entries) {
    const atEnd = this.rows.isAtEnd;
    this.take(entries);
    this.apply();
    if (atEnd) this.rows.scrollToEnd();
  }

  take(entries) {
    const all = [...this.entries, ...entries];
    this.entries = all.slice(-LIMIT);
    for (const gone of all.slice(0, -LIMIT)) this.answers.delete(gone.number);
    for (const entry of entries) if (entry.pair !== null) this.answers.set(entry.pair, entry);
  }

  setPaused(isPaused) {
    this.isPaused = isPaused;
    if (!isPaused) this.append(this.held.splice(0));
    this.showCount();
  }

  setFilter(filter) {
    Object.assign(this.filter, filter);
    this.apply();
    this.rows.scrollToEnd();
  }

  apply() {
    this.shown = this.entries.filter((entry) => this.matches(entry));
    this.rows.set(this.shown);
    this.empty.hidden = this.entries.length > 0;
    this.rows.element.hidden = this.entries.length === 0;
    this.showCount();
    this.showChoices();
  }

  matches(entry) {
    const { text, events, errors, direction, method, instance } = this.filter;
    if (!events && entry.kind === "notification") return false;
    if (errors && !this.isTrouble(entry)) return false;
    if (direction && entry.direction !== direction) return false;
    if (method && entry.method !== method) return false;
    if (instance && entry.instanceId !== instance) return false;
    return text === "" || `${entry.method} ${entry.summary} ${entry.id ?? ""} ${entry.kind} ${entry.instanceId}`.toLowerCase().includes(text.toLowerCase());
  }

  /** An error, or the request that it answers. */
  isTrouble(entry) {
    return entry.kind === "error" || entry.kind === "invalid" || this.answers.get(entry.number)?.kind === "error";
  }

  find(number) {
    return number === null ? undefined : this.entries.find((each) => each.number === number);
  }

  showCount() {
    const hidden = this.entries.length - this.shown.length;
    find("traffic-count").textContent = hidden ? `${this.shown.length} of ${this.entries.length}` : String(this.entries.length);
    find("traffic-limit").textContent = this.isPaused ? `paused, ${this.held.length} waiting` : this.entries.length >= LIMIT ? `the last ${LIMIT.toLocaleString("en")}` : "";
  }

  /** Methods and instances that there are to choose from. */
  showChoices() {
    offer(find("filter-method"), "all methods", this.entries.map((entry) => entry.method));
    offer(find("filter-instance"), "all instances", this.entries.map((entry) => entry.instanceId));
  }

  row(entry) {
    const answer = this.answers.get(entry.number);
    const duration = entry.duration ?? answer?.duration ?? null;
    const isOpen = entry.kind === "request" && !answer;
    const isSelected = entry.number === this.selected;
    const isPair = this.selected !== null && (entry.pair === this.selected || answer?.number === this.selected);
    return h(
      "div",
      { class: `row ${entry.kind} ${entry.direction} ${isPair ? "pair" : ""}`, role: "option", id: `message-${entry.number}`, data: { number: String(entry.number) }, aria: { selected: String(isSelected) } },
      h("span", { class: "time" }, showTime(entry.time)),
      h("span", { class: "arrow", title: FROM[entry.direction] }, ARROW[entry.direction]),
      h("span", { class: "kind" }, isAnswer(entry) ? entry.kind : entry.kind === "notification" ? "event" : entry.kind),
      h("span", { class: "id" }, entry.id === null ? "" : String(entry.id)),
      h("span", { class: "method" }, entry.method || "—"),
      h("span", { class: "summary" }, entry.summary || entry.instanceId),
      h("span", { class: "duration" }, isOpen ? "…" : duration === null ? "" : showDuration(duration)),
      h("span", { class: "size" }, showSize(entry.size)),
    );
  }

  step(event) {
    if (event.key === "Escape") return this.select(null);
    const at = this.shown.findIndex((entry) => entry.number === this.selected);
    const last = this.shown.length - 1;
    const to = { ArrowDown: at + 1, ArrowUp: at < 0 ? last : at - 1, Home: 0, End: last, PageDown: Math.min(last, at + 15), PageUp: Math.max(0, at - 15) }[event.key];
    if (to === undefined || !this.shown[to]) return undefined;
    event.preventDefault();
    this.select(this.shown[to].number);
    return undefined;
  }

  select(number) {
    const entry = this.find(number);
    this.selected = entry?.number ?? null;
    const index = entry ? this.shown.indexOf(entry) : -1;
    if (index >= 0) this.rows.reveal(index);
    else this.rows.draw();
    this.rows.element.removeAttribute("aria-activedescendant");
    if (index >= 0) this.rows.element.setAttribute("aria-activedescendant", `message-${number}`);
    this.message.show(entry, entry && (entry.pair === null ? this.answers.get(entry.number) : this.find(entry.pair)));
  }
}

export const traffic = new Traffic();

/** Offer what occurs, and keep what is chosen. */
function offer(select, all, values) {
  const known = [...new Set(values)].filter(Boolean).sort();
  const chosen = select.value;
  if (select.dataset.known === JSON.stringify(known)) return;
  select.dataset.known = JSON.stringify(known);
  if (chosen && !known.includes(chosen)) known.push(chosen);
  select.replaceChildren(h("option", { value: "" }, all), ...known.map((value) => h("option", { value }, value)));
  select.value = chosen;
}
