// The page: connects to the canvas and hands each state to the views.

import { connect } from "./canvas.js";
import { BoardView } from "./board.js";
import { CardDialog } from "./card-dialog.js";
import { compare, sentence } from "./changes.js";
import { h, setText } from "./dom.js";
import { enableDragging } from "./drag.js";
import { Marks } from "./marks.js";

const TOAST_MS = 8000;
const STATE_MS = 500; // how long to wait for the state that follows an action
const STATUS = {
  connecting: "Connecting",
  live: "Live",
  reconnecting: "Reconnecting",
  closed: "Closed",
};

const canvas = connect();
const find = (id) => document.getElementById(id);

/**
 * What the views can ask for.
 *
 * @typedef {typeof commands} Commands
 */
const commands = {
  /**
   * Call an action, and wait until the page shows what it did; say why when it is refused.
   *
   * @param {string} name
   * @param {object} input
   * @param {(message: string) => void} complain
   * @returns {Promise<boolean>} whether it was done
   */
  async act(name, input, complain = toast) {
    const before = canvas.revision;
    try {
      await canvas.actions[name](input);
    } catch (error) {
      complain(error.message);
      return false;
    }
    if (canvas.revision === before) await nextState();
    return true;
  },

  /** Delete a card if the person means it. */
  async remove(id) {
    const place = board.places.get(id);
    if (!place) return true;
    const sure = await commands.ask(`Delete “${place.card.title}”?`, "Delete");
    return sure && commands.act("delete_card", { cardId: id });
  },

  /** Ask a question that has a safe answer, which is the default. */
  ask(question, yes) {
    const dialog = find("confirm");
    setText(find("confirm-text"), question);
    setText(dialog.querySelector('[value="yes"]'), yes);
    dialog.returnValue = "no";
    dialog.showModal();
    return new Promise((resolve) => {
      dialog.onclose = () => resolve(dialog.returnValue === "yes");
    });
  },

  open: (id) => cardDialog.open(id),
  focusCard: (id) => board.cards.get(id)?.focus(),
  tell: toast,
};

const board = new BoardView(find("board"), commands);
const cardDialog = new CardDialog(commands);
const marks = new Marks(board);
enableDragging(board, commands);

/** @type {import("./changes.js").Board | null} */
let shown = null;

canvas.subscribe((state, { author }) => {
  const differences = shown ? compare(shown, state) : [];
  setText(find("project"), state.project);
  find("project").hidden = state.project === "default";
  board.update(state);
  cardDialog.update(state, board.places, author === "agent" ? "The agent" : "Somebody else");
  if (author === "agent") marks.show(differences);
  if (differences.length) setText(find("news"), sentence(differences, author));
  shown = structuredClone(state); // canvas.js changes its own in place
});

canvas.onStatus((status) => {
  find("status").dataset.status = status;
  setText(find("status-text"), STATUS[status]);
});

function nextState() {
  return new Promise((resolve) => {
    const done = () => {
      stop();
      resolve();
    };
    let isFirst = true; // subscribe reports the state of now as well
    const stop = canvas.subscribe(() => (isFirst ? (isFirst = false) : done()));
    setTimeout(done, STATE_MS);
  });
}

function toast(message) {
  const element = h("div", { class: "toast" }, h("span", {}, message),
    h("button", { class: "icon-button", type: "button", "aria-label": "Dismiss",
      onclick: () => element.remove() }, "✕"));
  find("toasts").append(element);
  setTimeout(() => element.remove(), TOAST_MS);
}

find("help-button").onclick = () => find("help").showModal();

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (document.querySelector("dialog[open]") || event.target.matches("input, textarea, select")) return;
  if (event.key === "?") find("help").showModal();
  if (event.key.toLowerCase() === "n") {
    const id = document.activeElement?.closest(".column")?.dataset.id ?? board.order[0];
    board.columns.get(id)?.composer.open();
    event.preventDefault();
  }
});
