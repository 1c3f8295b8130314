// All tasks, in one list with headings in between: a task that changes its group stays the same
// element under the same parent, and whoever types in it keeps focus, selection and text.

import { arrange, h, motionIsReduced, setText } from "./dom.js";
import { TaskView } from "./task.js";

const GROUPS = [
  ["doing", "In progress"],
  ["todo", "To do"],
  ["done", "Done"],
  ["carried", "Carried over"],
];
const GLIDE_MS = 240;

/** @param {import("./focus.js").Task} task */
const groupOf = (task) => (task.carried_to ? "carried" : task.status);

export class TasksView {
  /** @param {HTMLElement} root @param {import("./focus.js").Commands} commands */
  constructor(root, commands) {
    this.root = root;
    this.commands = commands;
    /** @type {Map<string, TaskView>} */
    this.views = new Map();
    this.headings = new Map(GROUPS.map(([name, title]) => {
      const count = h("span", { class: "count" });
      return [name, { count, element: h("h2", { class: "group", "data-group": name }, title, " ", count) }];
    }));
    this.hasNextDay = false;
  }

  /** @param {import("./focus.js").Board} board */
  update(board) {
    this.hasNextDay = Boolean(board.date);
    const active = document.activeElement?.closest?.(".task")?.dataset.id;
    const at = this.order.indexOf(active);
    const places = this.#measure();
    const wanted = new Set(board.tasks.map((task) => task.id));
    for (const [id, view] of this.views) {
      if (wanted.has(id)) continue;
      this.views.delete(id);
      this.#rescueText(view);
      view.element.remove();
    }
    for (const task of board.tasks) {
      if (!this.views.has(task.id)) this.views.set(task.id, new TaskView(task.id, this.commands, this));
      this.views.get(task.id).update(task, task.id === board.focus);
    }
    arrange(this.root, this.#arranged(board));
    this.#keepOneTabStop();
    if (active && !document.activeElement?.closest?.(".task")) this.#focusAt(active, at);
    this.#glide(places);
  }

  /** The task in focus on top, then the groups; a group without tasks has no heading. */
  #arranged(board) {
    const elements = [];
    if (this.views.has(board.focus)) elements.push(this.views.get(board.focus).element);
    for (const [name, { element, count }] of this.headings) {
      const tasks = board.tasks.filter((task) => groupOf(task) === name && task.id !== board.focus);
      setText(count, String(tasks.length));
      if (tasks.length) elements.push(element, ...tasks.map((task) => this.views.get(task.id).element));
      else element.remove();
    }
    return elements;
  }

  /** The task is gone, but not what somebody was writing about it. */
  #rescueText(view) {
    if (!view.text) return;
    this.commands.keep(view.text);
    this.commands.tell(`“${view.task.title}” is gone. What you wrote is in the brain dump now.`);
  }

  #focusAt(id, at) {
    const order = this.order;
    const next = this.views.get(id) ?? this.views.get(order[Math.min(at, order.length - 1)]);
    if (next) next.focus();
    else this.commands.focusNew();
  }

  get order() {
    return [...this.root.querySelectorAll(":scope > .task")].map((element) => element.dataset.id);
  }

  /** @param {TaskView} view @param {1 | -1} step */
  neighbour(view, step) {
    const order = this.order;
    return this.views.get(order[order.indexOf(view.id) + step]);
  }

  #place(view) {
    const name = groupOf(view.task);
    const group = [...this.views.values()].filter((other) => groupOf(other.task) === name);
    const ids = this.order.filter((id) => group.includes(this.views.get(id)));
    return [ids.indexOf(view.id), ids.length];
  }

  canShift(view, step) {
    const [at, size] = this.#place(view);
    return !view.isFocused && !view.task.carried_to && at + step >= 0 && at + step < size;
  }

  shift(view, step) {
    return view.move(view.task.status, this.#place(view)[0] + step);
  }

  /** Make this task the one that Tab reaches; arrow keys reach the others. */
  setTabStop(view) {
    this.tabStop = view;
    for (const other of this.views.values()) other.setTabbable(other === view);
  }

  #keepOneTabStop() {
    if (this.views.get(this.tabStop?.id) !== this.tabStop) this.tabStop = undefined;
    const stop = this.tabStop ?? this.views.get(this.order[0]);
    if (stop) this.setTabStop(stop);
  }

  #measure() {
    const places = new Map();
    if (motionIsReduced() || document.hidden) return places;
    for (const [id, { element }] of this.views) places.set(id, element.getBoundingClientRect().top);
    return places;
  }

  /** Let each task glide from where it was, so that the eye can follow. */
  #glide(places) {
    for (const [id, before] of places) {
      const element = this.views.get(id)?.element;
      const by = element ? before - element.getBoundingClientRect().top : 0;
      if (Math.abs(by) < 1) continue;
      element.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], {
        duration: GLIDE_MS, easing: "cubic-bezier(.2, .8, .3, 1)",
      });
    }
  }
}
