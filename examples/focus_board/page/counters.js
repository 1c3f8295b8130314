// Counters: a name, where it stands, a target, + and -. A form changes all of it.

import { arrange, h, icon, setText } from "./dom.js";

const NUMBERS = ["value", "target", "step"];

export class CountersView {
  /** @param {HTMLElement} root @param {import("./focus.js").Commands} commands */
  constructor(root, commands) {
    this.root = root;
    this.commands = commands;
    /** @type {Map<string, CounterView>} */
    this.views = new Map();
    this.form = new CounterForm(commands);
  }

  /** @param {import("./focus.js").Board} board */
  update({ counters }) {
    const wanted = new Set(counters.map((counter) => counter.id));
    for (const [id, view] of this.views) {
      if (wanted.has(id)) continue;
      this.views.delete(id);
      view.element.remove();
    }
    arrange(this.root, counters.map((counter) => {
      if (!this.views.has(counter.id)) {
        this.views.set(counter.id, new CounterView(counter.id, this.commands, this.form));
      }
      const view = this.views.get(counter.id);
      view.update(counter);
      return view.element;
    }));
    this.form.update(counters);
  }
}

class CounterView {
  constructor(id, commands, form) {
    const count = (by) => commands.act("count", { counter_id: id, by: by * this.counter.step });
    const button = (name, by) =>
      h("button", { class: "icon-button round", type: "button", onclick: () => count(by) }, icon(name));
    this.name = h("button", { class: "counter-name", type: "button", onclick: () => form.open(id) });
    this.value = h("span", { class: "counter-value" });
    this.goal = h("span", { class: "counter-goal" });
    this.minus = button("minus", -1);
    this.plus = button("plus", 1);
    this.bar = h("i");
    this.track = h("div", { class: "track", "aria-hidden": "true" }, this.bar);
    this.element = h("div", { class: "counter", role: "group", "data-id": id },
      this.name,
      h("span", { class: "counter-standing" }, this.value, this.goal),
      this.minus, this.plus, this.track);
  }

  /** @param {import("./focus.js").Counter} counter */
  update(counter) {
    this.counter = counter;
    const { name, value, target, step } = counter;
    this.element.setAttribute("aria-label", name);
    this.element.classList.toggle("reached", target > 0 && value >= target);
    setText(this.name, name);
    this.name.title = `Change ${name}`;
    setText(this.value, value.toLocaleString());
    setText(this.goal, target ? ` of ${target.toLocaleString()}` : "");
    this.minus.setAttribute("aria-label", `Take ${step} from ${name}`);
    this.plus.setAttribute("aria-label", `Add ${step} to ${name}`);
    this.minus.disabled = value === 0 && document.activeElement !== this.minus;
    this.track.hidden = target === 0;
    this.bar.style.width = `${target ? Math.min(100, (100 * value) / target) : 0}%`;
  }
}

/** The form of one counter, or of a new one. Only what was changed here is sent. */
class CounterForm {
  constructor(commands) {
    this.commands = commands;
    this.dialog = document.getElementById("counter-dialog");
    this.form = this.dialog.querySelector("form");
    this.error = document.getElementById("counter-error");
    this.remove = this.dialog.querySelector('[data-do="remove"]');
    this.counters = [];
    this.form.onsubmit = (event) => {
      event.preventDefault();
      this.#save();
    };
    this.dialog.onclick = async (event) => {
      const what = event.target.closest("[data-do]")?.dataset.do;
      if (what === "cancel") this.dialog.close();
      if (what !== "remove") return;
      if (await commands.act("remove_counter", { counter_id: this.id }, this.#complain)) this.dialog.close();
    };
  }

  /** @param {string | null} id null: a new one */
  open(id) {
    this.id = id;
    this.base = this.counters.find((counter) => counter.id === id) ?? { name: "", value: 0, target: 0, step: 1 };
    this.base = { ...this.base };
    for (const name of ["name", ...NUMBERS]) this.form.elements[name].value = String(this.base[name]);
    this.form.elements.value.disabled = id === null;
    this.remove.hidden = id === null;
    this.#complain("");
    this.dialog.showModal();
    this.form.elements.name.focus();
  }

  /** What is not touched here follows what others change. */
  update(counters) {
    this.counters = counters;
    const now = this.dialog.open && counters.find((counter) => counter.id === this.id);
    if (!now) return;
    for (const name of ["name", ...NUMBERS]) {
      const field = this.form.elements[name];
      if (field.value !== String(this.base[name]) || field === document.activeElement) continue;
      field.value = String(now[name]);
      this.base[name] = now[name];
    }
  }

  #complain = (message) => {
    this.error.hidden = !message;
    this.error.textContent = message;
  };

  async #save() {
    this.#complain("");
    const typed = { name: this.form.elements.name.value };
    for (const name of NUMBERS) typed[name] = this.form.elements[name].valueAsNumber;
    const odd = NUMBERS.find((name) => !Number.isInteger(typed[name]));
    if (odd) return this.#complain(`${odd === "value" ? "Now" : odd} is a whole number.`);
    const changed = Object.entries(typed).filter(([name, value]) => value !== this.base[name]);
    const input = Object.fromEntries(changed);
    const { name, target, step } = typed;
    const done = this.id === null
      ? await this.commands.act("add_counter", { name, target, step }, this.#complain)
      : changed.length === 0 ||
        (await this.commands.act("edit_counter", { counter_id: this.id, ...input }, this.#complain));
    if (done) this.dialog.close();
  }
}
