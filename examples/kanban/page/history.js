// Who changed what, newest first, in a panel beside the board. Each change can be undone from here,
// as long as nothing was built on it.

import { arrange, h, icon, setText } from "./dom.js";

const LIMIT = 60;
const TICK_MS = 30_000;
const WHO = { agent: "Agent", person: "Person", system: "File or program" };

/**
 * @typedef {{revision: number, text: string, who: "agent" | "person" | "system", at: string,
 *   undoable: boolean}} Entry
 */

export class HistoryPanel {
  /**
   * @param {import("./canvas.js").Canvas} canvas
   * @param {import("./kanban.js").Commands} commands
   */
  constructor(canvas, commands) {
    this.canvas = canvas;
    this.commands = commands;
    this.panel = document.getElementById("history");
    this.list = document.getElementById("history-list");
    this.note = document.getElementById("history-note");
    this.button = document.getElementById("history-button");
    this.button.onclick = () => this.toggle();
    document.getElementById("history-close").onclick = () => this.toggle();
    this.panel.onkeydown = (event) => {
      if (event.key === "Escape") this.toggle();
    };
    /** @type {Map<number, EntryView>} */
    this.entries = new Map();
    this.isAsking = false;
    this.isStale = false;
    setInterval(() => this.panel.hidden || this.#tick(), TICK_MS);
  }

  toggle() {
    const opens = this.panel.hidden;
    this.panel.hidden = !opens;
    this.button.setAttribute("aria-expanded", String(opens));
    if (opens) {
      this.update();
      document.getElementById("history-heading").focus();
    } else {
      this.button.focus();
    }
  }

  /** The board changed. However fast it does, one question at a time is asked about it. */
  async update() {
    if (this.panel.hidden) return;
    this.isStale = true;
    if (this.isAsking) return;
    this.isAsking = true;
    while (this.isStale) {
      this.isStale = false;
      try {
        this.#show(await this.canvas.actions.history({ limit: LIMIT }));
      } catch (error) {
        setText(this.note, error.message);
      }
    }
    this.isAsking = false;
  }

  /** @param {Entry[]} entries */
  #show(entries) {
    const known = new Set(entries.map((entry) => entry.revision));
    for (const [revision, view] of this.entries) {
      if (known.has(revision)) continue;
      view.element.remove();
      this.entries.delete(revision);
    }
    for (const entry of entries) {
      if (!this.entries.has(entry.revision)) {
        this.entries.set(entry.revision, new EntryView(entry, this.commands));
      }
      this.entries.get(entry.revision).update(entry);
    }
    arrange(this.list, entries.map((entry) => this.entries.get(entry.revision).element));
    setText(this.note, entries.length ? "" : "Nothing has changed since the board was opened.");
    this.#tick();
  }

  #tick() {
    for (const view of this.entries.values()) view.tick();
  }
}

class EntryView {
  /** @param {Entry} entry @param {import("./kanban.js").Commands} commands */
  constructor({ revision, text, who, at }, commands) {
    this.at = new Date(at);
    this.time = h("time", { datetime: at, title: this.at.toLocaleString() });
    this.undo = h("button", {
      class: "button small", type: "button", "aria-label": `Undo: ${text}`,
      onclick: () => commands.undo({ revision }),
    }, "Undo");
    this.element = h("li", { class: "entry", "data-revision": String(revision), "data-who": who },
      icon(who === "agent" ? "agent" : "person"),
      h("div", { class: "entry-what" },
        h("span", { class: "entry-text" }, text),
        h("span", { class: "entry-when" }, `${WHO[who]} · `, this.time)),
      this.undo);
  }

  /** @param {Entry} entry */
  update({ undoable }) {
    const hadFocus = document.activeElement === this.undo;
    this.undo.hidden = !undoable;
    if (hadFocus && !undoable) document.getElementById("history-heading").focus();
  }

  tick() {
    setText(this.time, ago(this.at));
  }
}

/** @param {Date} time */
function ago(time) {
  const minutes = Math.floor((Date.now() - time.getTime()) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  return time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}
