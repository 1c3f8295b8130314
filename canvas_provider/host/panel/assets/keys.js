/** The keys that work wherever nobody is typing. */

import { toggleDrawer } from "./drawer.js";
import { find } from "./dom.js";
import { reload } from "./header.js";
import { can, model, select } from "./model.js";
import { openDialog } from "./open.js";
import { closeInstance } from "./stage.js";

const KEYS = {
  o: () => model.canvases.length && openDialog(model.canvases[0]),
  r: () => find("reload").disabled || reload(),
  t: toggleDrawer,
  w: () => model.selected !== null && closeInstance(model.selected),
  a: () => showSheet("actions", ".action summary"),
  s: () => can("undo") && showSheet("state", ".state summary"),
  p: () => can("send") && find("prompt").focus(),
  "/": () => find("filter").focus(),
  "?": () => /** @type {HTMLDialogElement} */ (find("help")).showModal(),
};

export function startKeys() {
  document.addEventListener("keydown", press);
}

function showSheet(part, target) {
  const sheet = find("inspector").querySelector(".sheet:not([hidden])");
  const tab = sheet?.querySelector(`[data-part="${part}"]`);
  tab?.click();
  (sheet?.querySelector(target) ?? tab)?.focus();
}

function press(event) {
  const isTyping = event.target.matches?.("input, select, textarea");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const number = Number(event.key);
  if (number >= 1 && model.instances[number - 1]) select(model.instances[number - 1].instanceId);
  else if (Object.hasOwn(KEYS, event.key)) {
    event.preventDefault();
    KEYS[event.key]();
  }
}
