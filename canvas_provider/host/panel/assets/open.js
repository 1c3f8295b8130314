/** Dialogs with a form: open a canvas, call a tool, run a command. */

import { callForm } from "./call.js";
import { find, h } from "./dom.js";
import { send } from "./host.js";
import { model, select } from "./model.js";

/** Open a canvas, or an instance of it once more. */
export function openDialog(canvas, instance) {
  const id = h("input", { id: "instance-id", value: instance?.instanceId ?? freeInstanceId(canvas), readOnly: instance !== undefined, spellcheck: false, autocomplete: "off" });
  const { form, element } = callForm({
    schema: canvas.inputSchema,
    key: `open ${canvas.extensionId} ${canvas.canvasId}`,
    verb: instance ? "Re-open" : "Open",
    call: (input) => send("open", { canvasId: canvas.canvasId, extensionId: canvas.extensionId, instanceId: id.value, ...given(input) }),
    done(opened) {
      find("dialog").close();
      select(/** @type {any} */ (opened).instanceId);
    },
    after: [h("div", { class: "field" }, h("label", { class: "label", for: "instance-id" }, "instance"), id, h("p", { class: "note" }, "The name of the panel, chosen by whoever opens it."))],
  });
  if (instance?.input !== undefined) form.write(instance.input);
  show(instance ? `Re-open ${canvas.displayName}` : `Open ${canvas.displayName}`, canvas.description, element);
  (form.body.querySelector("input, select, textarea") ?? id).focus();
}

/** Call a tool, as the agent would. */
export function toolDialog(tool) {
  const { element, outcome, form } = callForm({
    schema: tool.parameters ?? {},
    key: `tool ${tool.name}`,
    verb: "Call",
    call: (input) => send("call-tool", { name: tool.name, ...(input === undefined ? {} : { arguments: input }) }),
  });
  show(tool.name, tool.description, element, outcome);
  form.body.querySelector("input, select, textarea")?.focus();
}

/** Run a slash command, as the person would. */
export function commandDialog(command) {
  const args = h("input", { id: "command-args", spellcheck: false, autocomplete: "off", placeholder: "nothing" });
  const { element, outcome, form } = callForm({
    schema: undefined,
    key: `command ${command.name}`,
    verb: "Run",
    call: () => send("run-command", { name: command.name, args: args.value }),
    after: [h("div", { class: "field" }, h("label", { class: "label", for: "command-args" }, `/${command.name}`), args, h("p", { class: "note" }, "What stands after its name."))],
  });
  form.element.hidden = true;
  show(`/${command.name}`, command.description, element, outcome);
  args.focus();
}

/** An input as part of a command: nothing where there is none. */
export const given = (input) => (input === undefined ? {} : { input });

function show(title, description, ...parts) {
  const dialog = find("dialog");
  const close = h("button", { type: "button", class: "quiet", aria: { label: "Close the dialog" }, on: { click: () => dialog.close() } }, "×");
  dialog.replaceChildren(h("div", { class: "dialog-head" }, h("h2", {}, title), close), h("p", { class: "faint" }, description ?? ""), ...parts);
  dialog.showModal();
}

function freeInstanceId(canvas) {
  const base = canvas.canvasId.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "").slice(0, 100) || "canvas";
  const taken = new Set(model.instances.map((each) => each.instanceId));
  for (let number = 1; ; number++) if (!taken.has(`${base}-${number}`)) return `${base}-${number}`;
}
