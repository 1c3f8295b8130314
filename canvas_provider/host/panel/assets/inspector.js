/** The right side: the canvas in front, its actions and its state. */

import { callForm } from "./call.js";
import { find, h } from "./dom.js";
import { send } from "./host.js";
import { can, canvasOf, model, on, selectedInstance } from "./model.js";
import { given, openDialog } from "./open.js";
import { StateView } from "./state.js";
import { closeInstance } from "./stage.js";

/** By instance: made once and kept, because what is half typed has to stay. @type {Map<string, Sheet>} */
const sheets = new Map();

let part = "actions";

export function startInspector() {
  on(["canvases", "selection", "status"], showInspector);
}

function showInspector() {
  const instance = selectedInstance();
  find("inspector").hidden = instance === undefined;
  document.body.classList.toggle("no-inspector", instance === undefined);
  const known = new Set(model.instances.map((each) => each.instanceId));
  for (const [id, sheet] of sheets) {
    if (known.has(id)) continue;
    sheet.remove();
    sheets.delete(id);
  }
  for (const [id, sheet] of sheets) sheet.setFront(id === instance?.instanceId);
  if (instance === undefined) return;
  let sheet = sheets.get(instance.instanceId);
  if (!sheet) {
    sheet = new Sheet(instance.instanceId);
    sheets.set(instance.instanceId, sheet);
    find("inspector").append(sheet.element);
    sheet.setFront(true);
  }
  sheet.show(instance);
}

class Sheet {
  constructor(id) {
    this.id = id;
    this.facts = h("div", { class: "facts" });
    this.actions = h("div", { class: "actions", role: "tabpanel", aria: { label: "Actions" } });
    this.state = new StateView(id);
    /** By the action's name. */
    this.panels = new Map();
    const tab = (name, text) => h("button", { role: "tab", data: { part: name }, on: { click: () => showPart(name), keydown: turn } }, text);
    // Not every runtime has a way to the state.
    this.tabs = can("undo") ? [tab("actions", "Actions"), tab("state", "State")] : [tab("actions", "Actions")];
    this.element = h("div", { class: "sheet" }, this.facts, h("div", { class: "segments", role: "tablist", aria: { label: "Actions or state" } }, ...this.tabs), this.actions, this.state.element);
    this.isFront = false;
  }

  setFront(isFront) {
    this.isFront = isFront;
    this.element.hidden = !isFront;
    this.showPart();
  }

  showPart() {
    for (const tab of this.tabs) {
      const isSelected = tab.dataset.part === part;
      tab.setAttribute("aria-selected", String(isSelected));
      tab.tabIndex = isSelected ? 0 : -1;
    }
    this.actions.hidden = part !== "actions";
    this.state.element.hidden = part !== "state";
    this.state.follow(this.isFront && part === "state");
  }

  remove() {
    this.state.follow(false);
    this.element.remove();
  }

  show(instance) {
    const canvas = canvasOf(instance);
    this.facts.replaceChildren(...facts(instance, canvas));
    this.state.retry(instance.isReady);
    // While the extension is away, what it declared last stays.
    if (canvas) this.showActions(canvas);
  }

  showActions(canvas) {
    const actions = canvas.actions ?? [];
    const names = new Set(actions.map((action) => action.name));
    for (const [name, panel] of this.panels) if (!names.has(name)) (panel.element.remove(), this.panels.delete(name));
    actions.forEach((action, index) => {
      const said = JSON.stringify(action);
      const before = this.panels.get(action.name);
      if (before?.said !== said) {
        const panel = actionPanel(this.id, canvas, action, before ? before.element.open : actions.length === 1);
        if (before) carryOver(before.form, panel.form);
        this.panels.set(action.name, { ...panel, said });
        before?.element.remove();
      }
      const { element } = this.panels.get(action.name);
      // Only where it has to move: what has the focus would lose it.
      if (this.actions.children[index] !== element) this.actions.insertBefore(element, this.actions.children[index] ?? null);
    });
    while (this.actions.childElementCount > actions.length) this.actions.lastElementChild.remove();
    if (actions.length === 0) this.actions.replaceChildren(h("p", { class: "faint pad" }, "This canvas has no actions for the agent."));
  }
}

/** Take what is half typed into the form of the new declaration. */
function carryOver(before, now) {
  try {
    const value = before.read();
    if (value !== undefined) now.write(value);
  } catch {
    now.json.value = before.json.value;
    now.show("json");
  }
}

function showPart(name) {
  part = name;
  for (const sheet of sheets.values()) sheet.showPart();
}

function turn(event) {
  if ((event.key !== "ArrowRight" && event.key !== "ArrowLeft") || !can("undo")) return;
  const other = part === "actions" ? "state" : "actions";
  showPart(other);
  event.target.parentElement.querySelector(`[data-part="${other}"]`).focus();
}

function facts(instance, canvas) {
  const row = (name, value) => [h("dt", {}, name), h("dd", {}, h("code", { class: "clip", title: value }, value))];
  return [
    h("div", { class: "facts-head" }, h("strong", {}, instance.title || instance.instanceId), instance.status ? h("span", { class: "pill" }, instance.status) : null),
    h("dl", {}, ...row("instance", instance.instanceId), ...row("canvas", instance.canvasId), ...row("input", instance.input === undefined ? "none" : JSON.stringify(instance.input))),
    h(
      "div",
      { class: "row-buttons" },
      canvas ? h("button", { title: "Open it again, with the same or another input", on: { click: () => openDialog(canvas, instance) } }, "Re-open…") : null,
      h("button", { title: "An explicit close: on_close runs", on: { click: () => closeInstance(instance.instanceId) } }, "Close"),
    ),
  ];
}

function actionPanel(instanceId, canvas, action, isOpen) {
  const { form, element, outcome } = callForm({
    schema: action.inputSchema,
    key: `invoke ${canvas.extensionId} ${canvas.canvasId} ${action.name}`,
    verb: "Invoke",
    call: (input) => send("invoke", { instanceId, actionName: action.name, ...given(input) }),
  });
  const details = h(
    "details",
    { class: "action", open: isOpen, data: { action: action.name } },
    h("summary", {}, h("code", {}, action.name), action.description ? h("span", { class: "faint" }, action.description) : null),
    element,
    outcome,
  );
  return { form, element: details };
}
