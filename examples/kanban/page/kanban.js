// The page: connects to the canvas and hands each state to the views.

import { connect } from "./canvas.js";
import { BoardView } from "./board.js";
import { CardDialog } from "./card-dialog.js";
import { compare, sentence, shorten } from "./changes.js";
import { h, setText } from "./dom.js";
import { enableDragging } from "./drag.js";
import { HistoryPanel } from "./history.js";
import { Marks } from "./marks.js";

const TOAST_MS = 8000;
const DELETIONS = 50;
const STATUS = {
  connecting: "Connecting",
  live: "Live",
  offline: "Offline",
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
    try {
      await canvas.actions[name](input);
    } catch (error) {
      complain(error.message);
      return false;
    }
    return true;
  },

  /**
   * Call an action for the board as this page shows it. If somebody else was faster, nothing is
   * done; what they did is on the page then.
   *
   * @returns {Promise<"done" | "refused" | "changed">}
   */
  async actOn(name, input, complain) {
    try {
      await canvas.call(name, input, { ifMatch: canvas.revision });
    } catch (error) {
      if (error.code === "revision_conflict") return "changed";
      complain(error.message);
      return "refused";
    }
    return "done";
  },

  /** Delete a card. No question first: it can be undone. */
  async remove(id) {
    const place = board.places.get(id);
    if (!place) return true;
    if (!(await commands.act("delete_card", { cardId: id }))) return false;
    const revision = deletions.get(id);
    toast(`Deleted “${shorten(place.card.title)}”.`,
      revision && { text: "Undo", run: () => commands.undo({ revision }) });
    return true;
  },

  /** Take back the latest change that a person made, or that of a revision; say what it was. */
  undo: (input = {}) => commands.takeBack("undo", input),

  redo: () => commands.takeBack("redo", {}),

  async takeBack(name, input) {
    try {
      const { text } = await canvas.actions[name](input);
      toast(text);
    } catch (error) {
      toast(error.message);
    }
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

/** The revisions that deleted cards, for an offer to undo: the last few, by the card's id. */
const deletions = new Map();

const board = new BoardView(find("board"), commands);
const history = new HistoryPanel(canvas, commands);
const cardDialog = new CardDialog(commands);
const marks = new Marks(board);
enableDragging(board, commands);

/** @type {import("./changes.js").Board | null} */
let shown = null;

canvas.subscribe((state, { author, revision }) => {
  const differences = shown ? compare(shown, state) : [];
  for (const { kind, what, id } of differences) {
    if (kind === "deleted" && what === "card") deletions.set(id, revision);
  }
  if (deletions.size > DELETIONS) deletions.delete(deletions.keys().next().value);
  setText(find("project"), state.project);
  find("project").hidden = state.project === "default";
  board.update(state);
  cardDialog.update(state, board.places, author === "agent" ? "The agent" : "Somebody else");
  if (author === "agent") marks.show(differences);
  if (differences.length) setText(find("news"), sentence(differences, author));
  shown = structuredClone(state); // canvas.js changes its own in place
  history.update();
});

canvas.onStatus((status) => {
  find("status").dataset.status = status;
  setText(find("status-text"), STATUS[status]);
});

canvas.onPresence(({ count, names }) => {
  const element = find("people-here");
  element.hidden = count < 2;
  element.title = names.join(", ");
  setText(element, `${count} panels`);
});

/**
 * @param {string} message
 * @param {{text: string, run: () => void}} [offer] what a person may want to do about it
 */
function toast(message, offer) {
  const dismiss = () => element.remove();
  const element = h("div", { class: "toast" }, h("span", {}, message));
  if (offer) {
    const accept = () => {
      dismiss();
      offer.run();
    };
    element.append(h("button", { class: "offer", type: "button", onclick: accept }, offer.text));
  }
  element.append(h("button", {
    class: "icon-button", type: "button", "aria-label": "Dismiss", onclick: dismiss,
  }, "✕"));
  find("toasts").append(element);
  setTimeout(dismiss, TOAST_MS);
}

find("help-button").onclick = () => find("help").showModal();
find("undo-button").onclick = () => commands.undo();
find("redo-button").onclick = () => commands.redo();

addEventListener("keydown", (event) => {
  if (event.altKey || event.isComposing) return;
  // In a field, the browser's own undo is meant.
  if (document.querySelector("dialog[open]") || event.target.matches("input, textarea, select")) return;
  const key = event.key.toLowerCase();
  if (event.ctrlKey || event.metaKey) {
    const isRedo = key === "y" || (key === "z" && event.shiftKey);
    if (key !== "z" && !isRedo) return;
    event.preventDefault();
    return isRedo ? commands.redo() : commands.undo();
  }
  if (event.key === "?") find("help").showModal();
  if (key === "h") history.toggle();
  if (key === "n") {
    const id = document.activeElement?.closest(".column")?.dataset.id ?? board.order[0];
    board.columns.get(id)?.composer.open();
    event.preventDefault();
  }
});
