// Drag and drop by pointer: mouse and pen at once, touch after a short press, so that a finger can
// still scroll the board.

import { h, motionIsReduced } from "./dom.js";

const START_PX = 5;
const PRESS_MS = 250;
const EDGE_PX = 48;
const SCROLL_PX = 12; // per frame, at the very edge

/**
 * @param {import("./board.js").BoardView} board
 * @param {import("./kanban.js").Commands} commands
 */
export function enableDragging(board, commands) {
  let press = null;

  const forget = () => {
    clearTimeout(press?.timer);
    press = null;
  };
  board.root.addEventListener("pointerdown", (event) => {
    const element = event.target.closest(".card");
    if (!element || event.button !== 0 || press) return;
    press = { element, x: event.clientX, y: event.clientY, pointer: event.pointerId, drag: null };
    if (event.pointerType === "touch") press.timer = setTimeout(() => start(press), PRESS_MS);
  });
  const start = (started) => {
    started.drag = new Drag(started.element, started.x, started.y, board, commands);
  };
  addEventListener("pointermove", (event) => {
    if (event.pointerId !== press?.pointer) return;
    if (!press.drag) {
      const distance = Math.hypot(event.clientX - press.x, event.clientY - press.y);
      if (distance < START_PX) return;
      if (event.pointerType === "touch") return forget(); // it scrolls
      start(press);
    }
    if (!press.drag.ended) press.drag.moveTo(event.clientX, event.clientY);
  });
  addEventListener("pointerup", (event) => {
    if (event.pointerId !== press?.pointer) return;
    const { drag } = press;
    forget();
    if (drag?.ended) swallowClick();
    else drag?.drop();
  });
  addEventListener("pointercancel", () => {
    press?.drag?.cancel();
    forget();
  });
  addEventListener("keydown", (event) => event.key === "Escape" && press?.drag?.cancel());
  // A finger that drags a card must not scroll the page, nor open the browser's menu.
  board.root.addEventListener("touchmove", (event) => press?.drag && event.preventDefault(), {
    passive: false,
  });
  board.root.addEventListener("contextmenu", (event) => press?.drag && event.preventDefault());
}

class Drag {
  constructor(element, x, y, board, commands) {
    this.element = element;
    this.board = board;
    this.commands = commands;
    this.ended = false;
    this.start = this.#placeNow();
    const rect = element.getBoundingClientRect();
    this.offset = [x - rect.left, y - rect.top];
    this.ghost = element.cloneNode(true);
    this.ghost.classList.add("ghost");
    this.ghost.removeAttribute("data-id"); // there is one card of that id, and this is not it
    this.ghost.inert = true;
    this.ghost.style.width = `${rect.width}px`;
    this.gap = h("li", { class: "gap", "aria-hidden": "true" });
    this.gap.style.height = `${rect.height}px`;
    document.body.append(this.ghost);
    document.body.classList.add("dragging");
    element.classList.add("dragged");
    this.moveTo(x, y);
    this.frame = requestAnimationFrame(() => this.#scroll());
  }

  /** Where the board has the card now; nothing, if somebody deleted it. */
  #placeNow() {
    const place = this.board.places.get(this.element.dataset.id);
    return place && { columnId: place.column.id, position: place.position, title: place.column.title };
  }

  moveTo(x, y) {
    this.point = [x, y];
    if (!this.#placeNow()) {
      this.cancel();
      this.commands.tell("The card in your hand was deleted. The history has it.");
      return;
    }
    this.ghost.style.transform = `translate(${x - this.offset[0]}px, ${y - this.offset[1]}px) rotate(2deg)`;
    const column = this.#columnAt(x, y);
    if (!column) return;
    const cards = [...column.list.querySelectorAll(":scope > .card:not(.dragged)")];
    const index = cards.findIndex((card) => {
      const rect = card.getBoundingClientRect();
      return y < rect.top + rect.height / 2;
    });
    this.place = { columnId: column.id, position: index < 0 ? cards.length : index };
    const next = cards[this.place.position] ?? null;
    if (this.gap.parentNode !== column.list || followingCard(this.gap) !== next) {
      column.list.insertBefore(this.gap, next);
    }
    for (const view of this.board.columns.values()) {
      view.element.classList.toggle("target", view === column);
    }
  }

  /** The column under the pointer, or the nearest one. */
  #columnAt(x, y) {
    let nearest;
    let least = Infinity;
    for (const view of this.board.columns.values()) {
      const rect = view.element.getBoundingClientRect();
      const distance = Math.hypot(
        Math.max(rect.left - x, 0, x - rect.right), Math.max(rect.top - y, 0, y - rect.bottom));
      if (distance < least) [nearest, least] = [view, distance];
    }
    return nearest;
  }

  async drop() {
    const id = this.element.dataset.id;
    const now = this.#placeNow();
    const wasMoved = now?.columnId !== this.start.columnId;
    // Put down where it was taken from, it is not moved, wherever others moved it meanwhile.
    const stays = isAt(now, this.place) || (wasMoved && isAt(this.start, this.place));
    this.#letGo();
    if (!stays) await this.commands.act("move_card", { cardId: id, ...this.place });
    this.#clear();
    if (now && wasMoved) {
      this.commands.tell(`Somebody else had just moved this card to ${now.title}.`
        + (stays ? " It is there now." : " It is where you put it."));
    }
    this.board.cards.get(id)?.focus();
  }

  cancel() {
    if (this.ended) return;
    this.#letGo();
    this.#clear();
  }

  /** The card in the hand glides to where it will be. */
  #letGo() {
    this.ended = true;
    cancelAnimationFrame(this.frame);
    document.body.classList.remove("dragging");
    for (const view of this.board.columns.values()) view.element.classList.remove("target");
    const rect = this.gap.getBoundingClientRect();
    const end = `translate(${rect.left}px, ${rect.top}px)`;
    const duration = motionIsReduced() ? 0 : 120;
    this.ghost.animate({ transform: end }, { duration, fill: "forwards" });
  }

  #clear() {
    this.ghost.remove();
    this.gap.remove();
    this.element.classList.remove("dragged");
  }

  /** Near an edge, scroll what is behind it. */
  #scroll() {
    const [x, y] = this.point;
    const list = this.gap.parentNode;
    if (list) {
      const rect = list.getBoundingClientRect();
      list.scrollTop += pull(y, rect.top, rect.bottom);
    }
    const frame = this.board.frame.getBoundingClientRect();
    this.board.frame.scrollLeft += pull(x, frame.left, frame.right);
    scrollBy(0, pull(y, 0, innerHeight));
    this.moveTo(x, y);
    if (!this.ended) this.frame = requestAnimationFrame(() => this.#scroll());
  }
}

function isAt(place, other) {
  return place?.columnId === other?.columnId && place?.position === other?.position;
}

function pull(at, start, end) {
  if (at < start + EDGE_PX) return -SCROLL_PX * Math.min(1, (start + EDGE_PX - at) / EDGE_PX);
  if (at > end - EDGE_PX) return SCROLL_PX * Math.min(1, (at - end + EDGE_PX) / EDGE_PX);
  return 0;
}

function followingCard(gap) {
  let next = gap.nextElementSibling;
  while (next?.classList.contains("dragged")) next = next.nextElementSibling;
  return next;
}

/** A drag that Escape ended is still a press and a release to the browser: no click, please. */
function swallowClick() {
  const swallow = (event) => {
    event.stopPropagation();
    event.preventDefault();
  };
  addEventListener("click", swallow, { capture: true, once: true });
  setTimeout(() => removeEventListener("click", swallow, { capture: true }));
}
