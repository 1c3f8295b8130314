// The form of one card. The board may change while it is open: what somebody has typed or has the
// cursor in stays, and a line below says what the board has now.

import { h } from "./dom.js";

const FIELDS = ["title", "notes", "assignee", "columnId"];

export class CardDialog {
  /** @param {import("./kanban.js").Commands} commands */
  constructor(commands) {
    this.commands = commands;
    this.dialog = document.getElementById("card-dialog");
    this.form = this.dialog.querySelector("form");
    this.notice = document.getElementById("card-notice");
    this.error = document.getElementById("card-error");
    this.id = null;
    this.places = new Map();
    this.form.onsubmit = (event) => {
      event.preventDefault();
      this.#save();
    };
    this.form.onkeydown = (event) => {
      if (event.key !== "Enter" || event.isComposing || event.target.tagName !== "TEXTAREA") return;
      if (event.target.name === "notes" && !event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.#save();
    };
    this.dialog.onclick = (event) => {
      const what = event.target.closest("[data-do]")?.dataset.do;
      if (what === "cancel") this.#leave();
      if (what === "delete") this.#delete();
    };
    this.dialog.oncancel = (event) => {
      event.preventDefault();
      this.#leave();
    };
    this.dialog.onclose = () => {
      const id = this.id;
      this.id = null;
      this.commands.focusCard(id);
    };
  }

  /** @param {string} id */
  open(id) {
    const place = this.places.get(id);
    if (!place || this.dialog.open) return;
    this.id = id;
    this.base = valuesOf(place);
    this.board = { ...this.base };
    for (const name of FIELDS) {
      this.form.elements[name].value = this.base[name];
      this.#hint(name, "");
    }
    document.getElementById("card-id").textContent = id;
    this.#say(this.notice, "");
    this.#say(this.error, "");
    this.dialog.showModal();
    this.form.elements.title.focus();
    this.form.elements.title.setSelectionRange(this.base.title.length, this.base.title.length);
  }

  /**
   * Take in a new state of the board.
   *
   * @param {import("./changes.js").Board} board
   * @param {Map<string, import("./changes.js").Place>} places
   * @param {string} who made it, as the start of a sentence
   */
  update(board, places, who) {
    this.places = places;
    this.#updateChoices(board);
    if (this.id === null) return;
    const place = places.get(this.id);
    if (!place) {
      this.#say(this.notice, `${who} deleted this card. Save puts it back as a new one.`);
      return;
    }
    this.#say(this.notice, "");
    const now = valuesOf(place);
    for (const name of FIELDS) {
      if (now[name] !== this.board[name]) this.#take(name, now[name], who);
    }
    this.board = now;
  }

  #take(name, value, who) {
    const field = this.form.elements[name];
    const isTouched = field.value !== this.base[name] || field === document.activeElement;
    if (!isTouched) this.#accept(name, value);
    const option = name === "columnId" && [...field.options].find((one) => one.value === value);
    const shown = option ? option.text : shorten(value);
    if (field.value === value) this.#hint(name, isTouched ? "" : `${who} changed this just now.`);
    else this.#hint(name, `${who} changed this to “${shown}”`, value);
  }

  #accept(name, value) {
    this.form.elements[name].value = value;
    this.base[name] = value;
  }

  #hint(name, text, value) {
    const hint = this.form.querySelector(`[data-for="${name}"]`);
    hint.hidden = !text;
    hint.replaceChildren(text);
    if (value === undefined) return;
    const use = () => {
      this.#accept(name, value);
      this.#hint(name, "");
      this.form.elements[name].focus();
    };
    hint.append(" ", h("button", { class: "link", type: "button", onclick: use }, "Use that"));
  }

  #say(element, text) {
    element.hidden = !text;
    element.textContent = text;
  }

  /** Rebuild the lists to choose from, only when they differ: an open list must not jump. */
  #updateChoices(board) {
    const select = this.form.elements.columnId;
    const columns = board.columns.map(({ id, title }) => [id, title]);
    if (JSON.stringify(columns) !== this.choices) {
      this.choices = JSON.stringify(columns);
      const chosen = select.value;
      select.replaceChildren(...columns.map(([id, title]) => h("option", { value: id }, title)));
      if (columns.some(([id]) => id === chosen)) select.value = chosen;
    }
    const names = [...new Set([...this.places.values()].map(({ card }) => card.assignee))];
    const people = names.filter(Boolean).sort().map((name) => h("option", { value: name }));
    document.getElementById("people").replaceChildren(...people);
  }

  get #isDirty() {
    return FIELDS.some((name) => this.form.elements[name].value !== this.base[name]);
  }

  async #leave() {
    if (this.#isDirty && !(await this.commands.ask("Discard what you changed?", "Discard"))) return;
    this.dialog.close();
  }

  async #delete() {
    if (await this.commands.remove(this.id)) this.dialog.close();
  }

  /** Send only what was changed here, so that what the agent changed meanwhile stays. */
  async #save() {
    const typed = Object.fromEntries(FIELDS.map((name) => [name, this.form.elements[name].value]));
    const { columnId, ...text } = typed;
    const id = this.id;
    const complain = (message) => this.#say(this.error, message);
    this.#say(this.error, "");
    if (!this.places.has(id)) {
      if (await this.commands.act("add_card", typed, complain)) this.dialog.close();
      return;
    }
    const isNew = (name) => typed[name] !== this.base[name] && typed[name] !== this.board[name];
    const edits = Object.entries(text).filter(([name]) => isNew(name));
    const edit = { cardId: id, ...Object.fromEntries(edits) };
    if (edits.length && !(await this.commands.act("edit_card", edit, complain))) return;
    const move = { cardId: id, columnId };
    if (isNew("columnId") && !(await this.commands.act("move_card", move, complain))) return;
    this.dialog.close();
  }
}

function shorten(text) {
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}

function valuesOf({ card, column }) {
  return { title: card.title, notes: card.notes, assignee: card.assignee, columnId: column.id };
}
