/**
 * Controls for single values: text, numbers, choices, JSON.
 *
 * A field is `{ element, read, write, place? }`. `read` returns ABSENT for what nobody has filled
 * in; `write` shows a value as well as it can, and whoever writes compares what it reads then.
 */

import { h } from "./dom.js";
import { same } from "./schema.js";

export const ABSENT = Symbol("absent");

/** Text that cannot be sent from a field. `pointer` says which. */
export class BadField extends Error {
  constructor(pointer, message) {
    super(message);
    this.pointer = pointer;
  }
}

/**
 * @typedef {{
 *   element: HTMLElement,
 *   read: () => unknown,
 *   write: (value: unknown) => void,
 *   place?: (pointer: string) => void,
 *   isCompound?: boolean,
 * }} Field
 */

const FORMATS = { date: "date", time: "time", email: "email", uri: "url", color: "color" };

const EXAMPLES = { "date-time": "2026-01-31T12:00:00Z", uuid: "123e4567-e89b-12d3-a456-426614174000", uri: "https://…" };

const LONG = /note|text|body|content|description|markdown|comment|message|prompt/i;

/** @returns {Field} */
export function textField(schema, name) {
  const element = h("div", { class: "control" });
  const isRoomy = schema.maxLength === undefined || schema.maxLength > 200;
  const isLong = isRoomy && !schema.format && (schema.contentMediaType !== undefined || LONG.test(`${schema.title ?? ""} ${name}`));
  let input;
  const make = (isMany, type) => {
    const before = input;
    input = isMany
      ? h("textarea", { rows: 3, placeholder: hint(schema) })
      : h("input", { type, placeholder: hint(schema), autocomplete: "off", spellcheck: type === "text" });
    if (before) {
      input.value = before.value;
      if (before.id) input.id = before.id;
      for (const each of before.attributes) if (each.name.startsWith("aria-")) input.setAttribute(each.name, each.value);
    }
    element.replaceChildren(input);
  };
  make(isLong, FORMATS[schema.format] ?? "text");
  // One line becomes several by Shift+Enter, or by what is pasted.
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.shiftKey || input.localName === "textarea" || !isRoomy) return;
    event.preventDefault();
    make(true);
    input.focus();
    document.execCommand("insertText", false, "\n");
  });
  element.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text") ?? "";
    if (!text.includes("\n") || input.localName === "textarea") return;
    event.preventDefault();
    const { selectionStart: start, selectionEnd: end, value } = input;
    make(true);
    input.value = value.slice(0, start) + text + value.slice(end);
    input.focus();
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  return {
    element,
    read: () => input.value,
    write(value) {
      const text = value === ABSENT ? "" : String(value);
      if (text.includes("\n") && input.localName !== "textarea") make(true);
      input.value = text;
      // A date that is none would be dropped by a control for dates.
      if (input.value !== text) make(text.includes("\n"), "text");
      input.value = text;
    },
  };
}

/** @returns {Field} */
export function numberField(schema) {
  const input = h("input", { type: "text", inputMode: "decimal", placeholder: hint(schema), autocomplete: "off" });
  let pointer = "";
  return {
    element: h("div", { class: "control" }, input),
    place: (to) => (pointer = to),
    read() {
      const text = input.value.trim();
      if (text === "") return ABSENT;
      // What is no number is sent as it is: the host's answer names the field.
      if (!/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return text;
      if (/^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text))) throw new BadField(pointer, "A browser cannot send a number as large as this exactly.");
      return Number(text);
    },
    write: (value) => (input.value = value === ABSENT ? "" : String(value)),
  };
}

/**
 * @param {unknown[]} choices
 * @param {string[]} [labels]
 * @returns {Field}
 */
export function choiceField(schema, choices, required, labels) {
  const empty = h("option", { value: "" }, "default" in schema ? `default: ${JSON.stringify(schema.default)}` : required ? "choose…" : "not sent");
  const options = choices.map((choice, index) => h("option", { value: String(index) }, labels?.[index] ?? (typeof choice === "string" ? choice : JSON.stringify(choice))));
  const select = h("select", {}, empty, ...options);
  if (required && choices.length === 1) select.value = "0";
  return {
    element: h("div", { class: "control" }, select),
    read: () => (select.value === "" ? ABSENT : choices[Number(select.value)]),
    write(value) {
      const index = choices.findIndex((choice) => same(choice, value));
      select.value = index < 0 ? "" : String(index);
    },
  };
}

/** What has no control of its own. @returns {Field} */
export function jsonField(schema) {
  const text = h("textarea", { class: "code", rows: 2, spellcheck: false, placeholder: `JSON${"default" in schema ? `, default ${JSON.stringify(schema.default)}` : ""}` });
  let pointer = "";
  return {
    element: h("div", { class: "control" }, text),
    place: (to) => (pointer = to),
    read: () => (text.value.trim() === "" ? ABSENT : parse(text.value, pointer)),
    write: (value) => (text.value = value === ABSENT ? "" : JSON.stringify(value, null, 2)),
  };
}

export function parse(text, pointer) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new BadField(pointer, `This is not JSON: ${error.message}`);
  }
}

function hint(schema) {
  if ("default" in schema) return `default: ${JSON.stringify(schema.default)}`;
  const example = schema.examples?.[0] ?? EXAMPLES[schema.format];
  return example === undefined ? "" : `such as ${typeof example === "string" ? example : JSON.stringify(example)}`;
}
