// The momentum feed: what happened, by whom, newest first.

import { arrange, clockOf, h, icon, setText } from "./dom.js";

const WHO = { agent: "Agent", person: "You", system: "Board" };

export class FeedView {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.items = new Map();
  }

  /** @param {import("./focus.js").Board} board */
  update({ feed }) {
    const wanted = new Set(feed.map((moment) => moment.id));
    for (const [id, item] of this.items) {
      if (wanted.has(id)) continue;
      this.items.delete(id);
      item.remove();
    }
    arrange(this.root, feed.map((moment) => {
      if (!this.items.has(moment.id)) this.items.set(moment.id, this.#build(moment));
      const item = this.items.get(moment.id);
      setText(item.querySelector(".moment-text"), moment.text);
      setText(item.querySelector("time"), clockOf(moment.at));
      return item;
    }));
    this.root.hidden = feed.length === 0;
  }

  #build({ who, kind }) {
    return h("li", { class: "moment", "data-who": who, "data-kind": kind },
      icon(who in WHO ? who : "system"),
      h("span", { class: "moment-what" },
        h("span", { class: "moment-who" }, WHO[who] ?? who), " ",
        h("span", { class: "moment-text" })),
      h("time"));
  }
}

/**
 * Which moments are new, or say something else than before; oldest first.
 *
 * @param {import("./focus.js").Moment[]} before
 * @param {import("./focus.js").Moment[]} after
 */
export function newMoments(before, after) {
  const known = new Map(before.map((moment) => [moment.id, moment.text]));
  return after.filter(({ id, text }) => known.get(id) !== text).reverse();
}
