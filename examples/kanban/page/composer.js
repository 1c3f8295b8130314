// The line at the foot of a column where one types the titles of new cards.

import { h, icon } from "./dom.js";

export class Composer {
  /** @param {(title: string) => Promise<boolean>} add */
  constructor(add) {
    this.add = add;
    this.input = h("textarea", { rows: "2", maxlength: "200", placeholder: "What is to be done?" });
    this.button = h("button", { class: "add", type: "button" }, icon("plus"), "Add card");
    this.form = h(
      "form",
      { class: "composer-form", hidden: true },
      this.input,
      h("div", { class: "form-row" },
        h("button", { class: "button primary", type: "submit" }, "Add card"),
        h("button", { class: "button", type: "button", onclick: () => this.close() }, "Done"),
      ),
    );
    this.element = h("div", { class: "composer" }, this.button, this.form);
    this.button.onclick = () => this.open();
    this.form.onsubmit = (event) => {
      event.preventDefault();
      this.#submit();
    };
    this.input.onkeydown = (event) => {
      if (event.isComposing) return;
      if (event.key === "Escape") this.close();
      if (event.key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        this.#submit();
      }
    };
  }

  /** What was typed and not added yet. */
  get text() {
    return this.input.value.trim();
  }

  setLabel(title) {
    this.input.setAttribute("aria-label", `Title of a new card in ${title}`);
    this.button.setAttribute("aria-label", `Add card to ${title}`);
  }

  open(text = "") {
    if (text) this.input.value = [this.text, text].filter(Boolean).join(" ");
    this.form.hidden = false;
    this.button.hidden = true;
    this.input.focus();
  }

  /** Half a title stays for the next time. */
  close() {
    const hadFocus = this.form.contains(document.activeElement);
    this.form.hidden = true;
    this.button.hidden = false;
    if (hadFocus) this.button.focus();
  }

  focus() {
    (this.form.hidden ? this.button : this.input).focus();
  }

  /** The form stays open: cards seldom come alone. */
  async #submit() {
    const title = this.text;
    this.input.focus();
    if (!title) return;
    this.input.value = "";
    if (await this.add(title)) return;
    this.input.value = [title, this.text].filter(Boolean).join(" ");
  }
}
