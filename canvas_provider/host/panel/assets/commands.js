/** Buttons that only do something: what is refused goes into the log. */

import { find, h } from "./dom.js";
import { Refused, send } from "./host.js";
import { addLine } from "./log.js";
import { showPart } from "./drawer.js";

/** Do it, and say what was refused. @returns {Promise<boolean>} whether it was done */
export async function command(name, body = {}) {
  try {
    await send(name, body);
    return true;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    addLine("host", "error", error.message);
    showPart("log");
    return false;
  }
}

/**
 * Ask before what cannot be taken back.
 *
 * @param {string} title @param {string} text @param {string} verb @param {() => unknown} act
 */
export function confirmFirst(title, text, verb, act) {
  const dialog = find("confirm");
  const yes = h("button", { class: "primary danger", on: { click: () => (dialog.close(), act()) } }, verb);
  dialog.replaceChildren(
    h("h2", {}, title),
    h("p", { class: "faint" }, text),
    h("div", { class: "row-buttons end" }, h("button", { on: { click: () => dialog.close() } }, "Cancel"), yes),
  );
  dialog.showModal();
  yes.focus();
}
