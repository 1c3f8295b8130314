// One task: a line that opens to show its notes, or, in focus, the calm middle of the page.
//
// It is the same element all its life, in the list and in focus, so that a half-typed note stays
// with its caret whatever happens to the task.

import { arrange, clockOf, dayInWords, h, icon, sendOnEnter, setText } from "./dom.js";
import { openMenu } from "./menu.js";

const STATUSES = ["todo", "doing", "done"];

export class TaskView {
  /**
   * @param {string} id
   * @param {import("./focus.js").Commands} commands
   * @param {import("./tasks.js").TasksView} list
   */
  constructor(id, commands, list) {
    this.id = id;
    this.commands = commands;
    this.list = list;
    this.isOpen = false;
    /** @type {Map<string, Element>} */
    this.noteItems = new Map();
    const button = (name, press, properties = {}, ...children) =>
      h("button", { class: name, type: "button", onclick: press, ...properties }, ...children);
    this.check = button("check", () => this.toggleDone(), { role: "checkbox" }, icon("check"));
    this.title = button("task-title", () => this.toggle(), { "aria-describedby": "task-keys" });
    this.meta = h("span", { class: "meta" });
    this.quick = button("button quick", () => this.focusOrReturn());
    this.more = button("icon-button", () => this.#menu(), { "aria-haspopup": "menu" }, icon("more"));
    this.row = h("div", { class: "row" }, this.check, this.title, this.meta, this.quick, this.more);
    this.notes = h("ol", { class: "notes", role: "list" });
    this.input = h("textarea", { rows: "1", maxlength: "4000", placeholder: "How is it going?" });
    this.form = h("form", { class: "note-form" }, this.input,
      h("button", { class: "button", type: "submit" }, "Add note"));
    this.actions = h("div", { class: "focus-actions" },
      button("button primary", () => this.toggleDone(), {}, "Done"),
      button("button", () => commands.act("end_focus", {}), {}, "Step back"));
    this.details = h("div", { class: "details", id: `details-${id}`, hidden: true },
      this.notes, this.form, this.actions);
    this.kicker = h("p", { class: "kicker", hidden: true }, "In focus");
    this.element = h("article", { class: "task", "data-id": id },
      this.kicker, this.row, this.details);
    this.title.setAttribute("aria-controls", this.details.id);
    this.element.onfocusin = () => list.setTabStop(this);
    this.row.onkeydown = (event) => this.#press(event);
    this.form.onsubmit = (event) => {
      event.preventDefault();
      this.#addNote();
    };
    sendOnEnter(this.input, () => this.#addNote());
    this.input.onkeydown = (event) => {
      if (event.key === "Escape" && !event.isComposing) this.title.focus();
    };
  }

  /** @param {import("./focus.js").Task} task @param {boolean} isFocused */
  update(task, isFocused) {
    this.task = task;
    // Whoever is writing here goes on writing, when somebody else ends the focus.
    const isAtWork = this.text || this.details.contains(document.activeElement);
    if (this.isFocused && !isFocused && isAtWork) this.isOpen = true;
    this.isFocused = isFocused;
    const isDone = task.status === "done";
    const isCarried = Boolean(task.carried_to);
    const { element } = this;
    element.dataset.status = isCarried ? "carried" : task.status;
    element.classList.toggle("focused", isFocused);
    element.setAttribute("aria-label", task.title);
    setText(this.title, task.title);
    this.check.setAttribute("aria-checked", isDone ? "true" : task.status === "doing" ? "mixed" : "false");
    this.check.setAttribute("aria-label", `Done: ${task.title}`);
    this.check.hidden = isCarried;
    this.kicker.hidden = this.actions.hidden = !isFocused;
    this.quick.hidden = isDone || isFocused;
    setText(this.quick, isCarried ? "Bring back" : "Focus");
    this.quick.setAttribute("aria-label", `${this.quick.textContent}: ${task.title}`);
    this.more.setAttribute("aria-label", `More for ${task.title}`);
    this.#updateMeta(task, isDone, isCarried);
    this.form.hidden = isCarried;
    this.input.setAttribute("aria-label", `New note on ${task.title}`);
    this.#updateNotes(task);
    this.#show();
  }

  #updateMeta(task, isDone, isCarried) {
    const words = [];
    if (task.notes.length) words.push(task.notes.length === 1 ? "1 note" : `${task.notes.length} notes`);
    if (isDone) words.push(clockOf(task.done_at));
    if (isCarried) words.push(`waits on ${dayInWords(task.carried_to)}`);
    setText(this.meta, words.filter(Boolean).join(" · "));
  }

  #updateNotes(task) {
    const wanted = new Set(task.notes.map((note) => note.id));
    for (const [id, item] of this.noteItems) {
      if (wanted.has(id)) continue;
      item.remove();
      this.noteItems.delete(id);
    }
    arrange(this.notes, task.notes.map((note) => {
      if (!this.noteItems.has(note.id)) this.noteItems.set(note.id, this.#buildNote(note.id));
      const item = this.noteItems.get(note.id);
      setText(item.querySelector(".note-text"), note.text);
      setText(item.querySelector(".note-who"), [note.who === "system" ? "" : note.who, clockOf(note.at)].filter(Boolean).join(" · "));
      item.dataset.who = note.who;
      item.querySelector("button").hidden = Boolean(task.carried_to);
      return item;
    }));
    this.notes.hidden = task.notes.length === 0;
  }

  #buildNote(id) {
    return h("li", { class: "note" },
      h("span", { class: "note-text" }), h("span", { class: "note-who" }),
      h("button", {
        class: "icon-button", type: "button", "aria-label": "Remove this note",
        onclick: async () => {
          const text = this.task.notes.find((note) => note.id === id)?.text;
          if (!(await this.commands.act("remove_note", { task_id: this.id, note_id: id }))) return;
          this.title.focus();
          this.commands.tell("The note is gone.", "Undo", () =>
            this.commands.act("add_note", { task_id: this.id, text }));
        },
      }, icon("cross")));
  }

  #show() {
    const isShown = this.isFocused || this.isOpen;
    this.details.hidden = !isShown;
    this.title.setAttribute("aria-expanded", String(isShown));
  }

  toggle() {
    if (this.isFocused) return this.input.focus();
    this.isOpen = !this.isOpen;
    this.#show();
  }

  /** What was typed and not added yet. */
  get text() {
    return this.input.value.trim();
  }

  focus() {
    this.title.focus({ preventScroll: true });
    this.element.scrollIntoView({ block: "nearest" });
  }

  /** The answer took its time: whoever types somewhere else by now must not be interrupted. */
  #focusAgain() {
    const active = document.activeElement;
    if (active === document.body || this.element.contains(active)) this.focus();
  }

  setTabbable(isTabbable) {
    for (const control of this.row.querySelectorAll("button")) control.tabIndex = isTabbable ? 0 : -1;
  }

  async #addNote() {
    const text = this.text;
    this.input.focus();
    if (!text) return;
    this.input.value = "";
    if (await this.commands.act("add_note", { task_id: this.id, text })) return;
    this.input.value = [text, this.text].filter(Boolean).join("\n");
  }

  move(status, position) {
    const place = position === undefined ? {} : { position };
    return this.commands.act("move_task", { task_id: this.id, status, ...place });
  }

  toggleDone() {
    return this.move(this.task.status === "done" ? "todo" : "done");
  }

  focusOrReturn() {
    const action = this.task.carried_to ? "bring_back" : "focus_on";
    return this.commands.act(action, { task_id: this.id });
  }

  async letGo() {
    const { task } = this;
    if (!(await this.commands.ask(`Let “${task.title}” go? It is fine not to do things.`, "Let go"))) return;
    await this.commands.act("remove_task", { task_id: this.id });
  }

  /** Type the new words in the place of the old ones; the title goes on underneath. */
  reword() {
    if (this.row.querySelector(".reword")) return;
    const before = this.task.title;
    const input = h("input", { class: "reword", "aria-label": "What the task is", maxlength: "200" });
    input.value = before;
    this.title.hidden = true;
    this.title.after(input);
    input.select();
    let ended = false;
    const end = async (save) => {
      if (ended) return;
      ended = true;
      const title = input.value.trim();
      const changed = save && title && title !== before;
      if (changed && !(await this.commands.act("edit_task", { task_id: this.id, title }))) {
        ended = false;
        return input.focus();
      }
      const hadFocus = document.activeElement === input;
      input.remove();
      this.title.hidden = false;
      if (hadFocus) this.title.focus();
    };
    input.onkeydown = (event) => {
      event.stopPropagation();
      if (event.isComposing) return;
      if (event.key === "Enter") end(true);
      if (event.key === "Escape") end(false);
    };
    input.onblur = () => end(true);
  }

  #menu() {
    const { status, carried_to: carriedTo } = this.task;
    const letGo = { text: "Let go…", run: () => this.letGo() };
    if (carriedTo) {
      openMenu(this.more, [{ text: "Bring back", run: () => this.focusOrReturn() }, letGo]);
      return;
    }
    const items = [
      { text: "Focus", run: () => this.focusOrReturn(), disabled: status === "done" || this.isFocused },
      { text: "Start", run: () => this.move("doing"), disabled: status === "doing" },
      { text: "Done", run: () => this.move("done"), disabled: status === "done" },
      { text: "Back to to do", run: () => this.move("todo"), disabled: status === "todo" },
      { text: "Move up", run: () => this.list.shift(this, -1), disabled: !this.list.canShift(this, -1) },
      { text: "Move down", run: () => this.list.shift(this, 1), disabled: !this.list.canShift(this, 1) },
      { text: "Reword", run: () => this.reword() },
    ];
    if (this.list.hasNextDay && status !== "done") {
      items.push({ text: "Carry over", run: () => this.commands.act("carry_over", { task_ids: [this.id] }) });
    }
    openMenu(this.more, [...items, letGo]);
  }

  async #press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input")) return;
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const turn = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const key = event.key.toLowerCase();
    if (step) {
      event.preventDefault();
      if (!event.shiftKey) return this.list.neighbour(this, step)?.focus();
      if (this.list.canShift(this, step)) await this.list.shift(this, step);
      this.#focusAgain();
    } else if (turn && event.shiftKey) {
      event.preventDefault();
      const status = STATUSES[STATUSES.indexOf(this.task.status) + turn];
      if (status && !this.task.carried_to) await this.move(status);
      this.#focusAgain();
    } else if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      this.letGo();
    } else if (!event.shiftKey && !this.task.carried_to && ["d", "f", "r"].includes(key)) {
      event.preventDefault();
      if (key === "d") await this.toggleDone();
      if (key === "f" && this.task.status !== "done") await this.focusOrReturn();
      if (key === "r") return this.reword();
      this.#focusAgain();
    }
  }
}
