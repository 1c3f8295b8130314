/** The document of one instance as it changes, who changed what and when, and undo. */

import { command } from "./commands.js";
import { h, showTime } from "./dom.js";
import { Refused, readState } from "./host.js";
import { showJSON } from "./json.js";
import { changesOf, steps } from "./patch.js";

export class StateView {
  /** @param {string} id the instance */
  constructor(id) {
    this.id = id;
    this.version = null;
    this.isWanted = false;
    this.isReady = true;
    /** @type {AbortController | null} */
    this.reading = null;
    this.head = h("div", { class: "row-buttons" });
    this.document = h("div", { class: "document" });
    this.revisions = h("ol", { class: "revisions" });
    this.message = h("p", { class: "faint pad", role: "status" });
    this.body = h("div", { class: "state-body", hidden: true }, this.head, this.document, h("h2", {}, "History"), this.revisions);
    this.element = h("div", { class: "state", role: "tabpanel", aria: { label: "State" }, hidden: true }, this.message, this.body);
    /** Revisions that somebody has opened. */
    this.opened = new Set();
  }

  /** Follow it, or do not. @param {boolean} isWanted */
  follow(isWanted) {
    this.isWanted = isWanted;
    if (!isWanted) {
      this.reading?.abort();
      this.reading = null;
    } else if (this.reading === null) this.read();
  }

  /** The extension is there again, or is away. */
  retry(isReady) {
    const isBack = isReady && !this.isReady;
    this.isReady = isReady;
    if (!isReady) this.stop("The extension is not running. The state comes back with it.");
    else if (isBack || (this.isWanted && this.reading === null)) this.follow(this.isWanted);
  }

  stop(text) {
    this.reading?.abort();
    this.reading = null;
    this.message.textContent = text;
    this.message.hidden = false;
  }

  async read() {
    const reading = (this.reading = new AbortController());
    let after = null;
    try {
      while (this.reading === reading) {
        const told = await readState(this.id, after, reading.signal);
        if (this.reading !== reading) return;
        if (told?.version == null) return this.stop("This canvas has no state.");
        if (told.version !== after) this.show(told);
        after = told.version;
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!(error instanceof Refused)) throw error;
      if (this.reading === reading) this.stop(error.message);
    }
  }

  show({ revision, state, revisions }) {
    this.message.hidden = true;
    this.body.hidden = false;
    const undone = new Set(revisions.map((each) => each.reverts).filter((number) => number !== null));
    const button = (text, title, name, body = {}) => h("button", { title, on: { click: () => command(name, { instanceId: this.id, ...body }) } }, text);
    this.head.replaceChildren(
      h("span", { class: "faint" }, `revision ${revision}`),
      h("span", { class: "grow" }),
      button("Undo", "Take the newest edit back", "undo"),
      button("Redo", "Take the newest undo back", "redo"),
    );
    this.document.replaceChildren(showJSON(state, { depth: 2 }));
    const rows = [...revisions].reverse().map((each) => this.row(each, state, revisions, undone.has(each.number)));
    this.revisions.replaceChildren(...(rows.length ? rows : [h("li", { class: "faint pad" }, "Nothing has changed yet.")]));
  }

  row(revision, state, revisions, isUndone) {
    const { number, author, action, time, reverts } = revision;
    const what = reverts === null ? (action ?? "") : `takes ${reverts} back`;
    const undo = h("button", { class: "quiet", title: `Take revision ${number} back`, on: { click: (event) => (event.preventDefault(), command("undo", { instanceId: this.id, revision: number })) } }, "undo");
    const changes = h("ul", { class: "changes" });
    const details = h(
      "details",
      { class: isUndone ? "undone" : "", open: this.opened.has(number), data: { revision: String(number) } },
      h("summary", {}, h("span", { class: "number" }, String(number)), h("span", { class: `author ${author}` }, author), h("code", { class: "clip" }, what), h("span", { class: "grow" }), h("span", { class: "time" }, showTime(time)), isUndone ? h("span", { class: "faint" }, "undone") : undo),
      changes,
    );
    const fill = () => {
      if (details.open) this.opened.add(number);
      else this.opened.delete(number);
      if (details.open && changes.childElementCount === 0) changes.append(...changesOf(state, revisions, number).map(showStep));
    };
    details.addEventListener("toggle", fill);
    if (details.open) fill();
    return h("li", {}, details);
  }
}

const SIGNS = { add: "+", remove: "−", replace: "~", move: "→" };

function showStep({ kind, path, from, before, after }) {
  const place = steps(path).join(" › ") || "everything";
  return h(
    "li",
    { class: `change ${kind}` },
    h("span", { class: "sign", title: kind }, SIGNS[kind]),
    h("code", { class: "place", title: path }, place),
    from === undefined ? null : h("span", { class: "faint" }, `from ${steps(from).join(" › ")}`),
    before === undefined ? null : h("div", { class: "old" }, showJSON(before, { depth: 1, copyable: false })),
    after === undefined || kind === "move" ? null : h("div", { class: "new" }, showJSON(after, { depth: 1, copyable: false })),
  );
}
