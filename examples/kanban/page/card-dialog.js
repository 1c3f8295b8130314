// The form of one card. The board may change while it is open: what somebody has typed or has the
// cursor in stays, and a line below says who changed it to what. Of two texts for one field, a person
// chooses; until then nothing is saved.

import { h } from "./dom.js";

const FIELDS = ["title", "notes", "assignee", "columnId"];
const ATTEMPTS = 8; // on a board that others change all the time

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
    /** What each field is an edit of: what the board had, or what a person decided to replace. */
    this.base = valuesOf(place);
    /** What the board has now. */
    this.board = { ...this.base };
    this.isGone = false;
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
      if (this.isGone) return;
      this.isGone = true;
      this.#say(this.notice, `${who} deleted this card. Save puts it back as a new one.`);
      return;
    }
    this.isGone = false;
    this.#say(this.notice, "");
    const now = valuesOf(place);
    for (const name of FIELDS) {
      if (now[name] !== this.board[name]) this.#take(name, now[name], who);
    }
    this.board = now;
  }

  /** Take in what somebody else made of a field. */
  #take(name, value, who) {
    const field = this.form.elements[name];
    const wasEdited = field.value !== this.base[name];
    if (!wasEdited && field !== document.activeElement) {
      field.value = this.base[name] = value;
      this.#hint(name, `${who} changed this just now.`);
    } else if (isSame(field.value, value) || value === this.base[name]) {
      // Both say the same, or it is what it was when the edit began: nothing to choose from.
      this.#settle(name, value);
    } else {
      const option = name === "columnId" && [...field.options].find((one) => one.value === value);
      const shown = option ? option.text : shorten(value);
      this.#hint(name, shown ? `${who} changed this to “${shown}”` : `${who} emptied this`, value);
    }
  }

  /** Go on from what the board has: what the field says now is an edit of that. */
  #settle(name, value) {
    this.base[name] = value;
    this.#hint(name, "");
  }

  #hint(name, text, theirs) {
    const hint = this.form.querySelector(`[data-for="${name}"]`);
    const field = this.form.elements[name];
    hint.hidden = !text;
    hint.replaceChildren(text);
    hint.classList.toggle("conflict", theirs !== undefined);
    if (theirs === undefined) return;
    const choose = (label, value) =>
      h("button", {
        class: "button small", type: "button",
        onclick: () => {
          field.value = value();
          this.#settle(name, theirs);
          this.#say(this.error, "");
          field.focus();
        },
      }, label);
    const row = h("span", { class: "form-row" },
      choose("Take theirs", () => theirs), choose("Keep mine", () => field.value));
    if (name === "notes") row.append(choose("Keep both", () => joined(field.value, theirs)));
    hint.append(row);
  }

  /** The fields that were edited here, and changed to something else there. */
  get #conflicts() {
    return FIELDS.filter((name) => {
      const value = this.form.elements[name].value;
      const isOurs = value !== this.base[name] && value !== this.board[name];
      return isOurs && this.board[name] !== this.base[name];
    });
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

  /** Save, one action after the other, each for the board that the form has shown. */
  async #save() {
    const complain = (message) => this.#say(this.error, message);
    complain("");
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const [conflict] = this.#conflicts;
      if (conflict && this.places.has(this.id)) {
        complain("Somebody else changed this, too. Choose below the field what is to stay.");
        return this.form.elements[conflict].focus();
      }
      const next = this.#nextAction();
      if (!next) return this.dialog.close();
      const outcome = await this.commands.actOn(...next, complain);
      if (outcome === "refused") return;
      // What the form says is on the board now; typing may have gone on meanwhile.
      if (outcome === "done") Object.assign(this.base, pick(next[1]));
      if (outcome === "done" && next[0] === "add_card") return this.dialog.close();
    }
    complain("The board keeps changing. Nothing is lost: press Save again.");
  }

  /** The next action that brings the board to what the form says: only what was changed here. */
  #nextAction() {
    const typed = Object.fromEntries(FIELDS.map((name) => [name, this.form.elements[name].value]));
    if (!this.places.has(this.id)) return ["add_card", typed];
    const isNew = (name) => typed[name] !== this.base[name] && typed[name] !== this.board[name];
    const edits = ["title", "notes", "assignee"].filter(isNew).map((name) => [name, typed[name]]);
    if (edits.length) return ["edit_card", { cardId: this.id, ...Object.fromEntries(edits) }];
    if (isNew("columnId")) return ["move_card", { cardId: this.id, columnId: typed.columnId }];
    return null;
  }
}

/** Whether the board says what was typed, but for the spaces, which it tidies. */
function isSame(typed, value) {
  return typed.trim().replace(/\s+/g, " ") === value.replace(/\s+/g, " ");
}

/** Both texts, without saying anything twice. */
function joined(mine, theirs) {
  if (mine.includes(theirs)) return mine;
  return theirs.includes(mine) ? theirs : `${mine}\n\n${theirs}`;
}

function pick(input) {
  return Object.fromEntries(FIELDS.filter((name) => name in input).map((name) => [name, input[name]]));
}

function shorten(text) {
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}

function valuesOf({ card, column }) {
  return { title: card.title, notes: card.notes, assignee: card.assignee, columnId: column.id };
}
