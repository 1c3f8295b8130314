/** A form with a button, and what came of it: for an action, a tool, a command. */

import { h, showDuration } from "./dom.js";
import { BadField, InputForm } from "./form.js";
import { Refused } from "./host.js";
import { showJSON } from "./json.js";
import { model } from "./model.js";

/**
 * @param {{schema: unknown, key: string, verb: string, call: (input: unknown) => Promise<unknown>, done?: (result: unknown) => unknown, after?: HTMLElement[], before?: HTMLElement[]}} options
 *   `done` shows the result instead of the form's own place for it; `after` are further fields
 */
export function callForm({ schema, key, verb, call, done, after = [], before = [] }) {
  const form = new InputForm(schema, key);
  const outcome = h("div", { class: "outcome", aria: { live: "polite" } });
  const button = h("button", { class: "primary" }, verb);

  async function submit(event) {
    event.preventDefault();
    form.clearError();
    const began = performance.now();
    const head = (kind, text, code) => h("div", { class: "outcome-head" }, h("span", { class: kind }, text), code ? h("code", { class: "pill" }, code) : null, h("span", { class: "grow" }), h("span", { class: "faint" }, showDuration((performance.now() - began) / 1000)));
    button.disabled = true;
    outcome.classList.add("stale");
    try {
      const input = form.read();
      const waiting = call(input);
      form.remember(input);
      const result = await waiting;
      if (done) done(result);
      else outcome.replaceChildren(head("good", "✓ result"), showJSON(result));
    } catch (error) {
      if (!(error instanceof Refused || error instanceof BadField)) throw error;
      outcome.replaceChildren(...(error instanceof Refused ? [head("bad", ...describe(error.code)), traceback(error)].filter(Boolean) : []));
      form.showError(error.message, error.pointer);
    } finally {
      button.disabled = false;
      outcome.classList.remove("stale");
      outcome.scrollIntoView({ block: "nearest" });
    }
  }

  const element = h(
    "form",
    { noValidate: true, on: { submit, keydown: submitOnCtrlEnter } },
    ...before,
    form.element,
    ...after,
    h("div", { class: "row-buttons" }, button, h("kbd", { class: "faint" }, "Ctrl Enter")),
  );
  return { form, element, outcome, button };
}

/** What kind of answer an error is, and its code if the extension gave it one. */
function describe(code) {
  if (code === "refused") return ["✗ refused"];
  if (code === "host") return ["✗ the host"];
  if (code === "canvas_handler_error") return ["✗ an exception in the handler"];
  return ["✗ error", code];
}

/** The traceback of an exception: its text names a line of the log. */
function traceback(error) {
  const reference = error.code === "canvas_handler_error" ? /\b[0-9a-f]{8}\b/.exec(error.message)?.[0] : undefined;
  if (!reference) return null;
  const words = h("pre", { class: "last-words", tabIndex: 0, aria: { label: "The traceback" } });
  const details = h("details", { class: "trace" }, h("summary", {}, "Traceback"), words);
  // It comes by stderr, which may be later than the answer.
  details.addEventListener("toggle", () => (words.textContent = findLines(reference) || "It is not in the log (any more)."));
  return details;
}

function findLines(reference) {
  const from = model.log.findIndex((line) => line.source === "stderr" && line.text.includes(reference));
  if (from < 0) return "";
  const began = model.log[from].time;
  const lines = model.log.slice(from, from + 200).filter((line) => line.source === "stderr" && line.time - began < 1);
  return lines.map((line) => line.text).join("\n");
}

function submitOnCtrlEnter(event) {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.currentTarget.requestSubmit();
}
