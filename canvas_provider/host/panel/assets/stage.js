/** The middle: a tab for each open canvas, its frame, and what to do with it. */

import { find, h } from "./dom.js";
import { Frame } from "./frame.js";
import { command } from "./commands.js";
import { can, changed, model, on, select, selectedInstance } from "./model.js";
import { openDialog } from "./open.js";

/** @type {Map<string, Frame>} */
const frames = new Map();

const WIDTHS = { 380: 380, 800: 800, 1200: 1200, full: null };

const THEMES = { none: "no theme", light: "app, light", dark: "app, dark" };

export function startStage() {
  on(["canvases", "selection"], showTabs);
  on(["canvases", "selection", "status"], showFrames);
  on(["canvases", "selection", "status"], showBlank);
  find("tabs").addEventListener("keydown", moveBetweenTabs);
}

/** Load pages again. @param {string[]} ids */
export function reloadPages(ids) {
  for (const id of ids) frames.get(id)?.reload();
}

export const closeInstance = (id) => command("close", { instanceId: id });

function showTabs() {
  const tabs = model.instances.map((instance) => {
    const isSelected = instance.instanceId === model.selected;
    const name = h(
      "button",
      {
        role: "tab",
        class: "tab-name",
        tabIndex: isSelected ? 0 : -1,
        title: `${instance.title ?? ""} (${instance.instanceId})`,
        aria: { selected: String(isSelected) },
        on: { click: () => select(instance.instanceId) },
      },
      instance.title || instance.instanceId,
      instance.status ? h("small", {}, instance.status) : null,
    );
    const close = h("button", { class: "quiet", title: "Close this canvas (W)", aria: { label: `Close ${instance.instanceId}` }, on: { click: () => closeInstance(instance.instanceId) } }, "×");
    return h("div", { class: `tab ${instance.isReady ? "" : "away"}`, data: { instance: instance.instanceId } }, name, close);
  });
  find("tabs").replaceChildren(...tabs);
  find("tabs").hidden = tabs.length === 0;
}

function moveBetweenTabs(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step === undefined) return;
  const at = model.instances.findIndex((each) => each.instanceId === model.selected);
  const next = model.instances[(at + step + model.instances.length) % model.instances.length];
  select(next.instanceId);
  find("tabs").querySelector('[aria-selected="true"]').focus();
}

function showFrames() {
  const known = new Set(model.instances.map((each) => each.instanceId));
  for (const [id, frame] of frames) {
    if (known.has(id)) continue;
    frame.element.remove();
    frames.delete(id);
  }
  for (const instance of model.instances) {
    let frame = frames.get(instance.instanceId);
    if (!frame) {
      frame = new Frame(instance.instanceId, showTools);
      frames.set(instance.instanceId, frame);
      find("frames").append(frame.element);
    }
    frame.element.hidden = instance.instanceId !== model.selected;
    frame.show(instance);
  }
  showTools();
}

/** Widths, themes, and what can be done to the canvas in front. */
function showTools() {
  const instance = selectedInstance();
  const frame = instance && frames.get(instance.instanceId);
  const tools = find("tools");
  tools.hidden = !frame;
  if (!frame) return;
  const focused = tools.contains(document.activeElement) ? document.activeElement.dataset.tool : undefined;
  const tool = (name, text, title, act, more = {}) => h("button", { class: "quiet", title, data: { tool: name }, on: { click: act }, ...more }, text);
  const isLink = instance.url && /^https?:/i.test(instance.url);
  const id = { instanceId: instance.instanceId };
  const widths = Object.entries(WIDTHS).map(([name, width]) => tool(`width-${name}`, name, width ? `${width} pixels wide` : "As wide as there is room", () => (frame.setWidth(width), showTools()), { aria: { pressed: String(frame.width === width) } }));
  const themes = Object.entries(THEMES).map(([name, text]) => h("option", { value: name, selected: frame.theme === name }, text));
  const parts = [
    h("span", { class: "segments", role: "group", aria: { label: "Width" } }, ...widths),
    h("select", { aria: { label: "Theme of the host" }, data: { tool: "theme" }, title: "What the host puts on the page after its first paint", on: { change: (event) => frame.setTheme(event.target.value) } }, ...themes),
    frame.isDeaf ? h("span", { class: "faint deaf", title: "The panel cannot look into a page of another origin: canvas.js takes the theme there, and tells what was blocked." }, "no canvas.js: not themed") : null,
    h("span", { class: "grow" }),
    tool("reload-page", "Reload page", "Load the page again; the extension notices nothing else", () => frame.reload()),
    (instance.panels ?? 1) > 1 ? tool("remove-panel", "− panel", "Show it in one panel less", () => command("remove-panel", id)) : null,
    tool("add-panel", "+ panel", "Show it in a second panel, which opens it again", () => command("add-panel", id)),
    can("drop-streams") && tool("drop", "Drop stream", "Cut the event stream of its pages, as a bad line would", () => command("drop-streams", id)),
    isLink ? h("a", { class: "button quiet", href: instance.url, target: "_blank", rel: "noreferrer" }, "New tab ↗") : null,
  ];
  tools.replaceChildren(...parts.filter(Boolean));
  if (focused) tools.querySelector(`[data-tool="${focused}"]`)?.focus();
}

/** What stands in the middle when nothing is open, and above it when something is wrong. */
function showBlank() {
  const blank = find("blank");
  const { phase } = model.status;
  const isFailed = phase === "failed";
  blank.hidden = model.instances.length > 0 && !isFailed;
  blank.classList.toggle("over", model.instances.length > 0);
  if (blank.hidden) return;
  if (isFailed) {
    blank.replaceChildren(...failure());
    // What to do about it stands at the end.
    for (const words of blank.querySelectorAll(".last-words")) words.scrollTop = words.scrollHeight;
  } else if (phase !== "ready") blank.replaceChildren(h("div", { class: "spinner" }), h("p", {}, "Starting the extension…"));
  else if (model.canvases.length === 0) blank.replaceChildren(h("h2", {}, "No canvas yet"), h("p", {}, "The extension has joined, but it declares no canvas. Pass what create_canvas() returns to run()."));
  else blank.replaceChildren(...invitation());
}

function failure() {
  const { detail, traceback } = model.status;
  const run = model.log.slice(model.log.indexOf(model.lastLineBefore) + 1);
  const stderr = run.filter((line) => line.source === "stderr").slice(-60);
  const words = traceback || stderr.map((line) => line.text).join("\n");
  return [
    h("h2", { class: "bad" }, "The extension is not running"),
    h("p", {}, detail),
    words ? h("pre", { class: "last-words", tabIndex: 0, aria: { label: traceback ? "The traceback" : "Its last output" } }, words) : h("p", { class: "faint" }, "It wrote nothing to stderr."),
    h("div", { class: "row-buttons" }, h("button", { class: "primary", on: { click: () => command("reload") } }, "Reload extension"), h("code", { class: "faint" }, model.extension.script)),
  ];
}

function invitation() {
  const last = model.log.findLast((line) => line.source === "host");
  const buttons = model.canvases.map((canvas) => h("button", { class: "primary", on: { click: () => openDialog(canvas) } }, canvas.displayName));
  return [
    h("h2", {}, "Nothing is open"),
    last?.level === "error" ? h("p", { class: "refusal" }, last.text) : "",
    h("p", {}, "Open a canvas, as an agent would:"),
    h("div", { class: "row-buttons centre" }, ...buttons),
  ];
}

/** Say that the log has more to tell: a failure shows the end of it. */
export const noteLog = () => model.status.phase === "failed" && changed("status");
