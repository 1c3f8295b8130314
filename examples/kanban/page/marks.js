// Marks on what the agent changed. They fade, but not before somebody could have seen them.

import { h, icon } from "./dom.js";

const STAY_MS = 8000;

export class Marks {
  /** @param {import("./board.js").BoardView} board */
  constructor(board) {
    this.board = board;
    this.timers = new Map();
    document.addEventListener("visibilitychange", () => document.hidden || this.#startTimers());
  }

  /** @param {import("./changes.js").Difference[]} differences made by the agent */
  show(differences) {
    this.#forgetTheGone();
    for (const { kind, what, id } of differences) {
      const view = (what === "card" ? this.board.cards : this.board.columns).get(id);
      if (!view) continue;
      view.element.querySelector(":scope > .mark")?.remove();
      view.element.prepend(h("span", { class: "mark" }, icon("agent"), `Agent ${kind} this`));
      clearTimeout(this.timers.get(view.element));
      this.timers.set(view.element, undefined);
    }
    if (!document.hidden) this.#startTimers();
  }

  /** A panel in the background may be left for days; what is off the board is not kept for it. */
  #forgetTheGone() {
    for (const [element, timer] of this.timers) {
      if (element.isConnected) continue;
      clearTimeout(timer);
      this.timers.delete(element);
    }
  }

  #startTimers() {
    for (const [element, timer] of this.timers) {
      if (timer !== undefined) continue;
      element.classList.remove("marked");
      void element.offsetWidth; // so that the animation of an earlier mark starts over
      element.classList.add("marked");
      this.timers.set(element, setTimeout(() => this.#remove(element), STAY_MS));
    }
  }

  #remove(element) {
    this.timers.delete(element);
    element.classList.remove("marked");
    element.querySelector(":scope > .mark")?.remove();
  }
}
