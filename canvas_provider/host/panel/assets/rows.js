/** A long list of which only what can be seen is in the page: ten thousand rows are as fast as ten. */

import { h } from "./dom.js";

/** Rows above and below what can be seen. */
const MARGIN = 10;

export class Rows {
  /**
   * @param {{height: number, label: string, row: (item: any, index: number) => HTMLElement}} options
   *   `height` of a row in pixels
   */
  constructor({ height, label, row }) {
    this.height = height;
    this.row = row;
    /** @type {any[]} */
    this.items = [];
    this.isWaiting = false;
    this.list = h("div", { class: "rows-list", role: "presentation" });
    this.element = h("div", { class: "rows", tabIndex: 0, role: "listbox", aria: { label }, on: { scroll: () => this.schedule() } }, this.list);
    new ResizeObserver(() => this.schedule()).observe(this.element);
  }

  get isAtEnd() {
    return this.element.scrollHeight - this.element.scrollTop - this.element.clientHeight < 2 * this.height;
  }

  /** Show other items. @param {any[]} items */
  set(items) {
    this.items = items;
    this.list.style.height = `${items.length * this.height}px`;
    this.draw();
  }

  scrollToEnd() {
    this.element.scrollTop = this.items.length * this.height;
    this.draw();
  }

  reveal(index) {
    const top = index * this.height;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + this.height > scrollTop + clientHeight) this.element.scrollTop = top + this.height - clientHeight;
    this.draw();
  }

  schedule() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.draw();
    });
  }

  draw() {
    const first = Math.max(0, Math.floor(this.element.scrollTop / this.height) - MARGIN);
    const count = Math.ceil(this.element.clientHeight / this.height) + 2 * MARGIN;
    const rows = this.items.slice(first, first + count).map((item, index) => {
      const row = this.row(item, first + index);
      row.style.top = `${(first + index) * this.height}px`;
      row.setAttribute("aria-setsize", String(this.items.length));
      row.setAttribute("aria-posinset", String(first + index + 1));
      return row;
    });
    this.list.replaceChildren(...rows);
  }
}
