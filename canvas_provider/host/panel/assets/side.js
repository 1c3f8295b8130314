/** The left side: what the extension declares, with its schemas. */

import { find, h } from "./dom.js";
import { showJSON } from "./json.js";
import { model, on } from "./model.js";
import { commandDialog, openDialog, toolDialog } from "./open.js";

export function startSide() {
  on(["canvases", "status"], showCanvases);
  on(["contributions"], showContributions);
}

/** What was opened by a person stays open while the list is made anew. */
let shown = "";

function showCanvases() {
  const said = JSON.stringify([model.canvases, model.status.phase]);
  if (said === shown) return;
  shown = said;
  const none = h("li", { class: "faint pad" }, model.status.phase === "ready" ? "The extension declares none." : "Known when the extension runs.");
  find("canvases").replaceChildren(...(model.canvases.length ? model.canvases.map(canvasCard) : [none]));
}

function canvasCard(canvas) {
  const schemas = { input: canvas.inputSchema ?? null, actions: Object.fromEntries((canvas.actions ?? []).map((action) => [action.name, action.inputSchema ?? null])) };
  return h(
    "li",
    { class: "card" },
    h("strong", {}, canvas.displayName),
    h("code", { class: "faint" }, canvas.canvasId),
    // Of two with one id, and often one name, only this tells which is which.
    isAlone(canvas) ? null : h("p", { class: "faint" }, "of ", h("code", {}, canvas.extensionId)),
    h("p", {}, canvas.description),
    h("div", { class: "row-buttons" }, h("button", { on: { click: () => openDialog(canvas) } }, "Open…"), h("span", { class: "faint" }, countOf(canvas.actions?.length ?? 0, "action"))),
    folded("Schemas", () => showJSON(schemas, { depth: 2 })),
  );
}

const isAlone = ({ canvasId }) => model.canvases.filter((each) => each.canvasId === canvasId).length === 1;

function showContributions() {
  const { tools, commands, hooks } = model.contributions;
  const part = (title, cards) => (cards.length ? [h("h2", {}, title), h("ul", { class: "cards" }, ...cards)] : []);
  find("contributions").replaceChildren(
    ...part("Tools", tools.map((tool) => card(tool.name, tool.description, "Call…", () => toolDialog(tool), tool.parameters))),
    ...part("Commands", commands.map((command) => card(`/${command.name}`, command.description, "Run…", () => commandDialog(command)))),
    ...(hooks.length ? [h("h2", {}, "Hooks"), h("p", { class: "faint pad" }, "It has hooks. There is no agent here that would call them.")] : []),
  );
}

function card(name, description, verb, act, schema) {
  return h(
    "li",
    { class: "card" },
    h("code", {}, h("strong", {}, name)),
    h("p", {}, description ?? ""),
    h("div", { class: "row-buttons" }, h("button", { on: { click: act } }, verb)),
    schema ? folded("Schema", () => showJSON(schema, { depth: 2 })) : null,
  );
}

function folded(title, make) {
  const details = h("details", { class: "schemas" }, h("summary", { class: "faint" }, title));
  details.addEventListener("toggle", () => details.open && details.childElementCount === 1 && details.append(make()));
  return details;
}

const countOf = (count, noun) => (count === 1 ? `1 ${noun}` : `${count} ${noun}s`);
