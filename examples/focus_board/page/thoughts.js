// The brain dump: lines that were put down, each to become a task or to go.

import { arrange, h, icon, sendOnEnter, setText } from "./dom.js";

export class ThoughtsView {
  /** @param {HTMLElement} root @param {import("./focus.js").Commands} commands */
  constructor(root, commands) {
    this.root = root;
    this.commands = commands;
    this.items = new Map();
    this.form = document.getElementById("dump");
    this.input = document.getElementById("dump-text");
    this.form.onsubmit = (event) => {
      event.preventDefault();
      this.#submit();
    };
    sendOnEnter(this.input, () => this.#submit());
  }

  /** @param {import("./focus.js").Board} board */
  update({ thoughts }) {
    const wanted = new Set(thoughts.map((thought) => thought.id));
    const hadFocus = this.root.contains(document.activeElement);
    for (const [id, item] of this.items) {
      if (wanted.has(id)) continue;
      this.items.delete(id);
      item.remove();
    }
    arrange(this.root, thoughts.map(({ id, text }) => {
      if (!this.items.has(id)) this.items.set(id, this.#build(id));
      const item = this.items.get(id);
      setText(item.querySelector(".thought-text"), text);
      item.querySelector(".button").setAttribute("aria-label", `Make “${text}” a task`);
      item.querySelector(".icon-button").setAttribute("aria-label", `Let “${text}” go`);
      return item;
    }));
    this.root.hidden = thoughts.length === 0;
    if (hadFocus && !this.root.contains(document.activeElement)) {
      (this.root.querySelector("button") ?? this.input).focus();
    }
  }

  /** Put text where a person finds it, after what is there. */
  keep(text) {
    this.input.value = [this.input.value.trim(), text].filter(Boolean).join("\n");
  }

  #build(id) {
    return h("li", { class: "thought", "data-id": id },
      h("span", { class: "thought-text" }),
      h("button", {
        class: "button", type: "button",
        onclick: () => this.commands.act("promote", { thought_id: id }),
      }, "Task"),
      h("button", { class: "icon-button", type: "button", onclick: () => this.#letGo(id) }, icon("cross")));
  }

  async #letGo(id) {
    const text = this.items.get(id).querySelector(".thought-text").textContent;
    if (!(await this.commands.act("let_go", { thought_id: id }))) return;
    this.commands.tell("Let go.", "Undo", () => this.commands.act("capture", { text }));
  }

  async #submit() {
    const text = this.input.value.trim();
    this.input.focus();
    if (!text) return;
    this.input.value = "";
    if (await this.commands.act("capture", { text })) return;
    this.input.value = [text, this.input.value.trim()].filter(Boolean).join("\n");
  }
}
