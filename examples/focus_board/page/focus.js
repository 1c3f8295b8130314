// The page: connects to the canvas and hands each state to the views.

import { connect } from "./canvas.js";
import { CountersView } from "./counters.js";
import { dayInWords, h, icon, setText } from "./dom.js";
import { FeedView, newMoments } from "./feed.js";
import { mark } from "./marks.js";
import { TasksView } from "./tasks.js";
import { ThoughtsView } from "./thoughts.js";

/**
 * @typedef {{id: string, text: string, at: string, who: string}} Note
 * @typedef {{id: string, title: string, status: "todo" | "doing" | "done", notes: Note[],
 *   done_at: string, carried_to: string}} Task
 * @typedef {{id: string, name: string, value: number, target: number, step: number}} Counter
 * @typedef {{id: string, text: string}} Thought
 * @typedef {{id: string, at: string, who: string, kind: string, about: string, text: string}} Moment
 * @typedef {{date: string, name: string, focus: string, tasks: Task[], counters: Counter[],
 *   thoughts: Thought[], feed: Moment[]}} Board
 */

const TOAST_MS = 8000;
const LOOK_AT_CLOCK_MS = 30_000;
const STATUS = {
  connecting: "Connecting",
  live: "Live",
  reconnecting: "Reconnecting",
  closed: "Closed",
};
/** What the agent did to a task, as its mark says it. */
const DEEDS = {
  added: "added this",
  edited: "reworded this",
  todo: "set this back",
  doing: "started this",
  done: "finished this",
  noted: "left a note",
  focused: "put this in focus",
  counted: "counted",
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

  /** Ask a question that has a safe answer, which is the default. */
  ask(question, yes, no = "Keep") {
    const dialog = find("confirm");
    setText(find("confirm-text"), question);
    setText(dialog.querySelector('[value="yes"]'), yes);
    setText(dialog.querySelector('[value="no"]'), no);
    dialog.returnValue = "no";
    dialog.showModal();
    return new Promise((resolve) => {
      dialog.onclose = () => resolve(dialog.returnValue === "yes");
    });
  },

  tell: toast,
  keep: (text) => thoughts.keep(text),
  focusNew: () => find("add-title").focus(),
};

const tasks = new TasksView(find("tasks"), commands);
const counters = new CountersView(find("counters"), commands);
const thoughts = new ThoughtsView(find("thoughts"), commands);
const feed = new FeedView(find("feed"));

/** @type {Board | null} */
let shown = null;

canvas.subscribe((state, { author }) => {
  const board = complete(state);
  const moments = shown ? newMoments(shown.feed, board.feed) : [];
  find("sheet").removeAttribute("aria-busy");
  for (const view of [tasks, counters, thoughts, feed]) view.update(board);
  updateTop(board);
  find("nothing").hidden = board.tasks.length > 0;
  find("no-counters").hidden = board.counters.length > 0;
  find("no-feed").hidden = board.feed.length > 0;
  document.body.classList.toggle("calm", board.tasks.some((task) => task.id === board.focus));
  if (author === "system") setText(find("news"), "The board’s file was changed");
  for (const moment of moments) {
    setText(find("news"), moment.who === "agent" ? `Agent: ${moment.text}` : moment.text);
    const view = tasks.views.get(moment.about) ?? counters.views.get(moment.about);
    if (moment.who === "agent" && view) mark(view.element, `Agent ${DEEDS[moment.kind] ?? "changed this"}`);
  }
  shown = board;
});

/**
 * Copy the state, which canvas.js changes in place, and fill in what has a default: what was added
 * in an editor may lack it for a moment, until the extension has filled it in for good.
 *
 * @returns {Board}
 */
function complete(state) {
  const fill = (defaults, items = []) => items.map((item) => ({ ...defaults, ...item }));
  const { tasks, counters, thoughts, feed, ...rest } = structuredClone(state);
  return {
    date: "", name: "", focus: "", ...rest,
    tasks: fill({ status: "todo", notes: [], done_at: "", carried_to: "" }, tasks).map(
      (task) => ({ ...task, notes: fill({ at: "", who: "person" }, task.notes) }),
    ),
    counters: fill({ value: 0, target: 0, step: 1 }, counters),
    thoughts: fill({}, thoughts),
    feed: fill({}, feed),
  };
}

/** @param {Board} board */
function updateTop(board) {
  const title = board.date ? dayInWords(board.date) : board.name;
  setText(find("day"), title);
  document.title = `${title} · Daily Focus Board`;
  const here = board.tasks.filter((task) => !task.carried_to);
  const done = here.filter((task) => task.status === "done").length;
  const open = here.length - done;
  const words = here.length === 0 ? "A free day so far" : open === 0 ? "All done. Enjoy it" : `${done} of ${here.length} done`;
  setText(find("progress"), words);
  find("track").firstElementChild.style.width = `${here.length ? (100 * done) / here.length : 0}%`;
  find("carry").hidden = !board.date || open === 0;
  updateNewDay(board);
}

/** The board keeps its day when midnight passes: say where the new one is. */
function updateNewDay(board) {
  const now = new Date();
  const two = (number) => String(number).padStart(2, "0");
  const today = `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
  const isOver = Boolean(board?.date) && board.date < today;
  find("new-day").hidden = !isOver;
  if (isOver) {
    setText(find("new-day"), "This day is over, and it was enough. The board of today opens from the chat; what is not finished comes along by itself.");
  }
}

setInterval(() => updateNewDay(shown), LOOK_AT_CLOCK_MS);
document.addEventListener("visibilitychange", () => updateNewDay(shown));

canvas.onStatus((status) => {
  find("status").dataset.status = status;
  setText(find("status-text"), STATUS[status]);
});

/** @param {string} message @param {string} [label] @param {() => void} [run] */
function toast(message, label, run) {
  const element = h("div", { class: "toast" }, h("span", {}, message));
  if (label) {
    const press = () => {
      element.remove();
      run();
    };
    element.append(h("button", { class: "link", type: "button", onclick: press }, label));
  }
  element.append(h("button", {
    class: "icon-button", type: "button", "aria-label": "Dismiss", onclick: () => element.remove(),
  }, "✕"));
  find("toasts").append(element);
  setTimeout(() => element.remove(), TOAST_MS);
}

// The top and the forms ---------------------------------------------------------------------------

find("add").lastElementChild.append(icon("plus"));
find("add").onsubmit = async (event) => {
  event.preventDefault();
  const input = find("add-title");
  const title = input.value.trim();
  input.focus();
  if (!title) return;
  input.value = "";
  if (await commands.act("add_task", { title })) return;
  input.value = [title, input.value.trim()].filter(Boolean).join(" ");
};

find("add-counter").append(icon("plus"));
find("add-counter").onclick = () => counters.form.open(null);

find("carry").onclick = async () => {
  const open = shown.tasks.filter((task) => task.status !== "done" && !task.carried_to);
  const what = open.length === 1 ? "one task" : `${open.length} tasks`;
  const question = `Leave ${what} for the next day? ${open.length === 1 ? "It" : "They"} will be there, and nothing is late.`;
  if (!(await commands.ask(question, "Carry over", "Not yet"))) return;
  if (await commands.act("carry_over", {})) toast("Enough for today. Rest well.");
};

find("recap").onclick = async () => {
  let text;
  try {
    text = await canvas.actions.recap();
  } catch (error) {
    return toast(error.message);
  }
  const show = () => {
    const area = find("recap-text");
    area.value = text;
    find("recap-dialog").showModal();
    area.select();
  };
  try {
    await navigator.clipboard.writeText(text);
    toast("The recap is copied, as Markdown.", "Show it", show);
  } catch {
    show(); // some frames may not write to the clipboard: there it is, selected
  }
};

find("help-button").onclick = () => find("help").showModal();

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
  if (document.querySelector("dialog[open], [role=menu]") || event.target.matches("input, textarea")) return;
  const key = event.key.toLowerCase();
  if (key === "?") find("help").showModal();
  else if (key === "n") find("add-title").focus();
  else if (key === "b") find("dump-text").focus();
  else if (key === "escape" && shown?.focus) commands.act("end_focus", {});
  else return;
  event.preventDefault();
});
