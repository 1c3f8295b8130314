// One column and its cards.

import { Composer } from "./composer.js";
import { arrange, h, icon, setText } from "./dom.js";
import { openMenu } from "./menu.js";

const ARROWS = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"];

export class ColumnView {
  /**
   * @param {string} id
   * @param {import("./kanban.js").Commands} commands
   * @param {import("./board.js").BoardView} board
   */
  constructor(id, commands, board) {
    this.id = id;
    this.commands = commands;
    this.board = board;
    this.title = "";
    this.size = 0;
    this.heading = h("h2", { id: `column-${id}` });
    this.count = h("span", { class: "count" });
    this.menuButton = h(
      "button",
      { class: "icon-button", type: "button", "aria-haspopup": "menu", onclick: () => this.#menu() },
      icon("more"),
    );
    this.head = h("header", { class: "column-head" },
      h("span", { class: "dot" }), this.heading, this.count, this.menuButton);
    this.list = h("ol", { class: "cards", role: "list", "aria-labelledby": this.heading.id });
    this.empty = h("p", { class: "empty" });
    this.composer = new Composer((title) => commands.act("add_card", { title, columnId: id }));
    this.element = h(
      "section",
      { class: "column", "data-id": id, "aria-labelledby": this.heading.id },
      this.head, this.list, this.empty, this.composer.element,
    );
  }

  /** @param {import("./changes.js").Column} column @param {Map<string, CardView>} cards of the board */
  update(column, cards) {
    this.title = column.title;
    this.size = column.cards.length;
    setText(this.heading, column.title);
    setText(this.count, String(this.size));
    this.count.setAttribute("aria-label", this.size === 1 ? "1 card" : `${this.size} cards`);
    this.menuButton.setAttribute("aria-label", `Column ${column.title}: rename, move, remove`);
    this.composer.setLabel(column.title);
    this.empty.hidden = this.size > 0;
    const elements = column.cards.map((card) => {
      if (!cards.has(card.id)) cards.set(card.id, new CardView(card.id, this.commands, this.board));
      const view = cards.get(card.id);
      view.update(card);
      return view.element;
    });
    arrange(this.list, elements);
  }

  /** The card at this position, or the last one above it. */
  cardAt(position, orLast = true) {
    const cards = this.list.querySelectorAll(":scope > .card");
    const element = cards[orLast ? Math.min(position, cards.length - 1) : position];
    return element && this.board.cards.get(element.dataset.id);
  }

  /** Say what an empty column has to say. */
  setHint(text) {
    setText(this.empty, text);
  }

  focus() {
    this.composer.focus();
  }

  #menu() {
    const order = this.board.order;
    const at = order.indexOf(this.id);
    const move = (position) => this.commands.act("move_column", { columnId: this.id, position });
    openMenu(this.menuButton, [
      { text: "Rename", run: () => this.#rename() },
      { text: "Move left", run: () => move(at - 1), disabled: at === 0 },
      { text: "Move right", run: () => move(at + 1), disabled: at === order.length - 1 },
      { text: "Remove", run: () => this.commands.act("remove_column", { columnId: this.id }) },
    ]);
  }

  /** Type the new title in the place of the old one; the heading goes on underneath. */
  #rename() {
    const input = h("input", { class: "rename", "aria-label": "Column title", maxlength: "200" });
    input.value = this.title;
    this.heading.hidden = true;
    this.heading.after(input);
    input.select();
    let ended = false;
    const end = async (save) => {
      const title = input.value.trim();
      if (ended) return;
      ended = true;
      const changed = save && title && title !== this.title;
      if (changed && !(await this.commands.act("rename_column", { columnId: this.id, title }))) {
        ended = false;
        input.focus();
        return;
      }
      const hadFocus = document.activeElement === input;
      input.remove();
      this.heading.hidden = false;
      if (hadFocus) this.menuButton.focus();
    };
    input.onkeydown = (event) => {
      if (event.isComposing) return;
      if (event.key === "Enter") end(true);
      if (event.key === "Escape") end(false);
    };
    input.onblur = () => end(true);
  }
}

export class CardView {
  /**
   * @param {string} id
   * @param {import("./kanban.js").Commands} commands
   * @param {import("./board.js").BoardView} board
   */
  constructor(id, commands, board) {
    this.id = id;
    this.commands = commands;
    this.board = board;
    this.title = h("button", {
      class: "card-title", type: "button", tabindex: "-1", "aria-describedby": "card-keys",
      onclick: () => commands.open(id),
      onfocus: () => board.setTabStop(this.title),
      onkeydown: (event) => this.#press(event),
    });
    this.notes = h("span", { class: "card-notes" });
    this.avatar = h("span", { class: "avatar", "aria-hidden": "true" });
    this.assignee = h("span", { class: "assignee" });
    this.foot = h("span", { class: "card-foot" },
      this.avatar, this.assignee, h("code", { class: "card-id" }, id));
    this.element = h("li", { class: "card", "data-id": id }, this.title, this.notes, this.foot);
  }

  /** @param {import("./changes.js").Card} card */
  update(card) {
    setText(this.title, card.title);
    setText(this.notes, card.notes);
    setText(this.assignee, card.assignee);
    setText(this.avatar, initials(card.assignee));
    this.notes.hidden = !card.notes;
    this.avatar.hidden = this.assignee.hidden = !card.assignee;
    this.avatar.style.setProperty("--hue", String(hue(card.assignee)));
  }

  focus() {
    this.title.focus({ preventScroll: true });
    this.element.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  async #press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (ARROWS.includes(event.key)) {
      event.preventDefault();
      if (!event.shiftKey) return this.board.neighbour(this.id, event.key)?.focus();
      const place = this.board.destination(this.id, event.key);
      if (place) await this.commands.act("move_card", { cardId: this.id, ...place });
      this.board.cards.get(this.id)?.focus();
    } else if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      this.commands.remove(this.id);
    }
  }
}

function initials(name) {
  const words = name.split(/\s+/).filter(Boolean);
  const letters = words.length > 1 ? [words[0], words.at(-1)] : words;
  return letters.map((word) => [...word][0].toUpperCase()).join("");
}

/** The same name has the same colour everywhere. */
function hue(name) {
  let sum = 0;
  for (const letter of name.toLowerCase()) sum = (sum * 31 + letter.codePointAt(0)) % 360;
  return sum;
}
