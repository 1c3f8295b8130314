// The board on the page: columns and cards, each kept as one element for as long as it exists.
//
// A change touches only what it changes. Whoever is typing keeps focus, selection and text.

import { placesOf } from "./changes.js";
import { ColumnView } from "./column.js";
import { arrange, h, icon, motionIsReduced } from "./dom.js";

const FIRST_CARD = "Add the first card, or ask the agent to plan with you.";
const GLIDE_MS = 220;
const GLIDE_LIMIT = 300; // cards; above it, measuring all of them would be felt

export class BoardView {
  /**
   * @param {HTMLElement} root
   * @param {import("./kanban.js").Commands} commands
   */
  constructor(root, commands) {
    this.root = root;
    this.commands = commands;
    /** @type {Map<string, ColumnView>} */
    this.columns = new Map();
    /** @type {Map<string, import("./column.js").CardView>} */
    this.cards = new Map();
    this.places = new Map();
    this.nothing = h("p", { class: "nothing" }, "No columns yet. Add the first one.");
    this.addColumn = this.#buildAddColumn();
    this.columnList = h("div", { class: "columns" });
    this.frame = h("div", { class: "frame" }, this.columnList, this.addColumn);
  }

  /** Show this state. @param {import("./changes.js").Board} board */
  update(board) {
    if (!this.frame.isConnected) {
      this.root.replaceChildren(this.frame);
      this.root.removeAttribute("aria-busy");
    }
    const focus = this.#rememberFocus();
    const rects = this.#measure();
    this.places = placesOf(board);
    this.#updateColumns(board);
    board.columns.forEach((column, index) => {
      const view = this.columns.get(column.id);
      view.update(column, this.cards);
      view.setHint(index === 0 && this.places.size === 0 ? FIRST_CARD : "No cards");
    });
    for (const [id, card] of this.cards) {
      if (!this.places.has(id)) {
        card.element.remove();
        this.cards.delete(id);
      }
    }
    this.nothing.remove();
    if (board.columns.length === 0) this.frame.prepend(this.nothing);
    this.#keepOneTabStop();
    this.#restoreFocus(focus);
    if (this.addColumn.contains(document.activeElement)) show(this.addColumn);
    this.#glide(rects);
  }

  #updateColumns(board) {
    const wanted = new Set(board.columns.map((column) => column.id));
    for (const [id, view] of this.columns) {
      if (wanted.has(id)) continue;
      this.columns.delete(id);
      this.#rescueText(view);
      view.element.remove();
    }
    for (const column of board.columns) {
      if (!this.columns.has(column.id)) {
        this.columns.set(column.id, new ColumnView(column.id, this.commands, this));
      }
    }
    const scrolled = [...this.columns.values()].map((view) => [view, view.list.scrollTop]);
    arrange(this.columnList, board.columns.map((column) => this.columns.get(column.id).element));
    for (const [view, top] of scrolled) if (view.list.scrollTop !== top) view.list.scrollTop = top;
  }

  /** The column is gone, but not what somebody was typing there. */
  #rescueText(view) {
    const text = view.composer.text;
    const shelter = [...this.columns.values()][0];
    if (!text || !shelter) return;
    shelter.composer.open(text);
    this.commands.tell(`“${view.title}” was removed. Your text is in “${shelter.title}” now.`);
  }

  // Focus -------------------------------------------------------------------------------------

  #rememberFocus() {
    const card = document.activeElement?.closest?.(".card");
    if (!card) return null;
    const place = this.places.get(card.dataset.id);
    return place && { id: card.dataset.id, columnId: place.column.id, position: place.position };
  }

  /** A focused card that moved keeps the focus; one that is gone gives it to its neighbour. */
  #restoreFocus(focus) {
    if (!focus || document.activeElement?.closest?.(".card")) return;
    const column = this.columns.get(focus.columnId);
    const next = this.cards.get(focus.id) ?? column?.cardAt(focus.position) ?? column;
    next?.focus();
  }

  #keepOneTabStop() {
    if (this.root.querySelector('.card-title[tabindex="0"]')) return;
    this.root.querySelector(".card-title")?.setAttribute("tabindex", "0");
  }

  /** Make this card the one that Tab reaches; arrow keys reach the others. */
  setTabStop(title) {
    for (const other of this.root.querySelectorAll('.card-title[tabindex="0"]')) other.tabIndex = -1;
    title.tabIndex = 0;
  }

  /**
   * Answer which card is one step from this one, if any.
   *
   * @param {string} id
   * @param {"ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight"} key
   */
  neighbour(id, key) {
    const { column, position } = this.places.get(id);
    if (key === "ArrowUp" || key === "ArrowDown") {
      return this.columns.get(column.id).cardAt(position + (key === "ArrowUp" ? -1 : 1), false);
    }
    const order = this.order;
    const step = key === "ArrowLeft" ? -1 : 1;
    for (let at = order.indexOf(column.id) + step; order[at] !== undefined; at += step) {
      const card = this.columns.get(order[at]).cardAt(position);
      if (card) return card;
    }
    return undefined;
  }

  /** Answer where Shift and this key would take the card, or nothing at an edge. */
  destination(id, key) {
    const { column, position } = this.places.get(id);
    if (key === "ArrowUp") return position > 0 && { columnId: column.id, position: position - 1 };
    if (key === "ArrowDown") {
      const last = column.cards.length - 1;
      return position < last && { columnId: column.id, position: position + 1 };
    }
    const columnId = this.order[this.order.indexOf(column.id) + (key === "ArrowLeft" ? -1 : 1)];
    return columnId !== undefined && { columnId, position: Math.min(position, this.#size(columnId)) };
  }

  #size(columnId) {
    return this.columns.get(columnId).size;
  }

  /** The ids of the columns, from left to right. */
  get order() {
    return [...this.columnList.children].map((element) => element.dataset.id);
  }

  // Movement ----------------------------------------------------------------------------------

  #measure() {
    const rects = new Map();
    if (motionIsReduced() || this.cards.size > GLIDE_LIMIT || document.hidden) return rects;
    for (const [id, card] of this.cards) rects.set(id, card.element.getBoundingClientRect());
    return rects;
  }

  /** Let each card glide from where it was, so that the eye can follow what another one moved. */
  #glide(rects) {
    for (const [id, before] of rects) {
      const element = this.cards.get(id)?.element;
      if (!element || element.classList.contains("dragged")) continue;
      const after = element.getBoundingClientRect();
      const [x, y] = [before.left - after.left, before.top - after.top];
      if (Math.abs(x) < 1 && Math.abs(y) < 1) continue;
      element.animate(
        [{ transform: `translate(${x}px, ${y}px)`, zIndex: 1 }, { transform: "none", zIndex: 1 }],
        { duration: GLIDE_MS, easing: "cubic-bezier(.2, .8, .3, 1)" },
      );
    }
  }

  // Columns are added at the end of the board ---------------------------------------------------

  #buildAddColumn() {
    const input = h("input", { "aria-label": "Title of the new column", maxlength: "200" });
    const button = h("button", { class: "add", type: "button" }, icon("plus"), "Add column");
    const form = h(
      "form",
      { class: "column-form", hidden: true },
      input,
      h("div", { class: "form-row" },
        h("button", { class: "button primary", type: "submit" }, "Add"),
        h("button", { class: "button", type: "button", onclick: () => close() }, "Cancel"),
      ),
    );
    const close = () => {
      form.hidden = true;
      button.hidden = false;
      button.focus();
    };
    button.onclick = () => {
      button.hidden = true;
      form.hidden = false;
      input.focus();
    };
    form.onkeydown = (event) => {
      if (event.key === "Escape") close();
    };
    form.onsubmit = async (event) => {
      event.preventDefault();
      const title = input.value.trim();
      if (!title) return input.focus();
      if (!(await this.commands.act("add_column", { title }))) return;
      if (input.value.trim() === title) input.value = "";
      close();
    };
    return h("div", { class: "add-column" }, button, form);
  }
}

function show(element) {
  element.scrollIntoView({ block: "nearest", inline: "nearest" });
}
