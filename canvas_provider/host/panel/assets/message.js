/** One message in full, and the way to the one it belongs to. */

import { h, showDuration, showSize } from "./dom.js";
import { readMessage } from "./host.js";
import { showJSON } from "./json.js";

export const ARROW = { in: "←", out: "→" };
export const FROM = { in: "from the extension", out: "to the extension" };

export class MessageView {
  /** @param {(number: number | null) => void} select */
  constructor(select) {
    this.select = select;
    this.number = null;
    this.body = h("div", { class: "body" });
    this.head = h("div", { class: "detail-head" });
    this.element = h("div", { class: "detail", hidden: true }, this.head, this.body);
  }

  /** @param {any} entry or undefined @param {any} other its answer or its request, if there is one */
  async show(entry, other) {
    this.element.hidden = entry === undefined;
    const number = (this.number = entry?.number ?? null);
    if (number === null) return;
    const took = entry.duration ?? other?.duration ?? null;
    const wait = took === null ? (entry.kind === "request" ? ", not answered yet" : "") : `, ${entry.kind === "request" ? "answered after" : "after"} ${showDuration(took)}`;
    this.head.replaceChildren(
      h("strong", {}, `${ARROW[entry.direction]} ${entry.method || entry.kind}`),
      h("span", { class: "faint" }, `${FROM[entry.direction]}, ${showSize(entry.size)}${wait}`),
      h("span", { class: "grow" }),
      ...(other ? [h("button", { class: "quiet", on: { click: () => this.select(other.number) } }, entry.kind === "request" ? "answer" : "request")] : []),
      h("button", { class: "quiet", aria: { label: "Close the message" }, on: { click: () => this.select(null) } }, "×"),
    );
    this.body.replaceChildren(h("p", { class: "faint" }, "…"));
    const body = await readMessage(number);
    if (this.number === number) this.body.replaceChildren(showJSON(body, { depth: 4 }));
  }
}
