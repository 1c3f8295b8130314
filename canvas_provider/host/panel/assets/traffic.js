/** The list of messages, and one of them in full. */

import { Batch, find, h, showDuration, showJSON, showSize, showTime } from "./dom.js";
import { readMessage } from "./host.js";

const LIMIT = 1000;

const ARROW = { in: "←", out: "→" };
const FROM = { in: "from the extension", out: "to the extension" };

export class Traffic {
  constructor() {
    this.entries = [];
    this.fresh = new Batch(LIMIT, (entries) => this.append(entries));
    this.rows = h("ol", { class: "rows", tabIndex: 0, role: "listbox", aria: { label: "Messages, the newest last" } });
    this.detail = h("div", { class: "detail" });
    this.selected = null;
    this.element = find("traffic");
    this.element.append(this.rows, this.detail);
    this.rows.addEventListener("keydown", (event) => this.step(event));
    this.rows.addEventListener("click", (event) => {
      const row = event.target.closest("li");
      if (row?.dataset.number) this.select(Number(row.dataset.number));
    });
    this.empty = h("p", { class: "faint pad" }, "Messages between Copilot's place and the extension appear here.");
    this.filter = { text: "", events: true };
    this.reset([]);
  }

  reset(entries) {
    this.fresh.clear();
    this.entries = entries.slice(-LIMIT);
    this.rows.replaceChildren(...this.entries.map((entry) => this.row(entry)));
    this.apply();
    this.rows.scrollTop = this.rows.scrollHeight;
    if (!this.entries.some((entry) => entry.number === this.selected)) this.showDetail(null);
  }

  add(entry) {
    this.fresh.add(entry);
  }

  append(entries) {
    const atEnd = this.rows.scrollHeight - this.rows.scrollTop - this.rows.clientHeight < 30;
    this.entries = [...this.entries, ...entries].slice(-LIMIT);
    for (const entry of entries) {
      const row = this.row(entry);
      row.hidden = !this.matches(entry);
      this.rows.append(row);
    }
    while (this.rows.childElementCount > LIMIT) this.rows.firstElementChild.remove();
    this.showCount();
    if (atEnd) this.rows.scrollTop = this.rows.scrollHeight;
  }

  setFilter(filter) {
    Object.assign(this.filter, filter);
    this.apply();
  }

  apply() {
    this.entries.forEach((entry, index) => (this.rows.children[index].hidden = !this.matches(entry)));
    this.showCount();
  }

  matches(entry) {
    if (!this.filter.events && entry.kind === "notification") return false;
    const text = `${entry.method} ${entry.summary} ${entry.id ?? ""} ${entry.kind}`.toLowerCase();
    return text.includes(this.filter.text.toLowerCase());
  }

  showCount() {
    find("traffic-count").textContent = String(this.entries.length);
    this.empty.remove();
    if (this.entries.length === 0) this.element.prepend(this.empty);
  }

  row(entry) {
    const isAnswer = entry.kind === "result" || entry.kind === "error";
    return h(
      "li",
      { class: `row ${entry.kind} ${entry.direction}`, role: "option", id: `message-${entry.number}`, data: { number: String(entry.number) }, aria: { selected: "false" } },
      h("span", { class: "time" }, showTime(entry.time)),
      h("span", { class: "arrow", title: FROM[entry.direction] }, ARROW[entry.direction]),
      h("span", { class: "kind" }, isAnswer ? entry.kind : entry.kind === "notification" ? "event" : entry.kind),
      h("span", { class: "id" }, entry.id === null ? "" : String(entry.id)),
      h("span", { class: "method" }, entry.method || "—"),
      h("span", { class: "summary" }, entry.summary),
      h("span", { class: "duration" }, entry.duration === null ? "" : showDuration(entry.duration)),
      h("span", { class: "size" }, showSize(entry.size)),
    );
  }

  step(event) {
    const visible = [...this.rows.children].filter((row) => !row.hidden);
    const at = visible.findIndex((row) => Number(row.dataset.number) === this.selected);
    const to = { ArrowDown: at + 1, ArrowUp: at < 0 ? visible.length - 1 : at - 1, Home: 0, End: visible.length - 1 }[event.key];
    if (event.key === "Escape") this.showDetail(null);
    if (to === undefined || !visible[to]) return;
    event.preventDefault();
    visible[to].scrollIntoView({ block: "nearest" });
    this.select(Number(visible[to].dataset.number));
  }

  async select(number) {
    const entry = this.entries.find((each) => each.number === number);
    this.showDetail(entry ?? null);
    if (!entry) return;
    const body = await readMessage(number);
    if (this.selected === number) this.detail.querySelector(".body").replaceChildren(showJSON(body));
  }

  showDetail(entry) {
    for (const row of this.rows.querySelectorAll('[aria-selected="true"]')) row.setAttribute("aria-selected", "false");
    this.selected = entry?.number ?? null;
    this.detail.hidden = entry === null;
    this.rows.removeAttribute("aria-activedescendant");
    if (entry === null) return;
    const row = find(`message-${entry.number}`);
    row.setAttribute("aria-selected", "true");
    this.rows.setAttribute("aria-activedescendant", row.id);
    this.detail.replaceChildren(
      h(
        "div",
        { class: "detail-head" },
        h("strong", {}, `${ARROW[entry.direction]} ${entry.method || entry.kind}`),
        h("span", { class: "faint" }, `${FROM[entry.direction]}, ${showSize(entry.size)}${entry.duration === null ? "" : `, after ${showDuration(entry.duration)}`}`),
        h("span", { class: "grow" }),
        h("button", { class: "quiet", aria: { label: "Close the message" }, on: { click: () => this.showDetail(null) } }, "×"),
      ),
      h("div", { class: "body" }, h("p", { class: "faint" }, "…")),
    );
  }
}
