/**
 * A form for a whole input, made from its JSON Schema: by fields, as JSON, as null, or no input.
 *
 * The host checks the value, as Copilot would: nothing is checked twice here, and what it says is
 * put where it belongs.
 */

import { h } from "./dom.js";
import { ABSENT, BadField, parse } from "./field.js";
import { escape, isObject, same, simplify } from "./schema.js";
import { createField } from "./slot.js";

export { BadField } from "./field.js";

/** More fields would freeze the page: JSON does for the rest. */
const MAX_FIELDS = 200;

const MODES = { form: "Form", json: "JSON", null: "null", none: "nothing" };

/** What was sent last, by what it was sent to; as long as the panel is open. */
const remembered = new Map();

export class InputForm {
  /**
   * @param {unknown} schema as declared, or undefined
   * @param {string} [key] names what it is sent to, so that the last input is there again
   */
  constructor(schema, key) {
    this.key = key;
    const { schema: root } = simplify(schema === true ? {} : schema, schema);
    const hasFields = ["properties", "items", "oneOf", "anyOf", "enum", "const"].some((name) => name in root) || (root.type !== undefined && root.type !== "object") || isObject(root.additionalProperties);
    this.field = hasFields && schema !== false ? createField(root, "input", true, { root: schema, left: MAX_FIELDS }) : null;
    this.field?.place?.("");
    this.json = h("textarea", { class: "code", rows: 6, spellcheck: false, placeholder: "nothing", aria: { label: "Input as JSON" } });
    this.error = h("p", { class: "refusal", role: "alert", hidden: true });
    // What was said of a field is about what stood there.
    this.body = h("div", { class: "fields", on: { input: (event) => forgive(event.target.closest(".wrong")) } });
    this.modes = Object.entries(MODES).map(([name, label]) => h("button", { type: "button", data: { mode: name }, title: TITLES[name], on: { click: () => this.setMode(name) } }, label));
    this.element = h("div", { class: "input-form" }, h("div", { class: "modes", role: "group", aria: { label: "How the input is given" } }, ...this.modes), this.body, this.error);
    this.show("form");
    if (key !== undefined && remembered.has(key)) this.write(remembered.get(key));
  }

  /** Go over to another way, with what was filled in so far. */
  setMode(mode) {
    this.clearError();
    try {
      if (mode === "json" && this.mode !== "json") {
        const value = this.mode === "none" || this.mode === "null" ? this.readFields() : this.read();
        this.json.value = value === undefined ? "" : JSON.stringify(value, null, 2);
      } else if (mode === "form" && this.mode === "json") {
        this.writeFields(this.read());
      }
    } catch (error) {
      if (!(error instanceof BadField)) throw error;
      this.showError(error.message, error.pointer);
      return;
    }
    this.show(mode);
  }

  show(mode) {
    this.mode = mode;
    for (const button of this.modes) button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
    const shown = {
      form: () => this.field?.element ?? h("p", { class: "faint" }, "No input is declared. JSON can be sent all the same."),
      json: () => this.json,
      null: () => h("p", { class: "faint" }, "The input is ", h("code", {}, "null"), ", as models like to send it."),
      none: () => h("p", { class: "faint" }, "No input is sent."),
    };
    this.body.replaceChildren(shown[mode]());
  }

  /** @returns {unknown} the input, undefined for none. Throws BadField. */
  read() {
    if (this.mode === "null") return null;
    if (this.mode === "none") return undefined;
    if (this.mode === "form") return this.readFields();
    const text = this.json.value.trim();
    return text === "" ? undefined : parse(text, "");
  }

  readFields() {
    const value = this.field ? this.field.read() : ABSENT;
    return value === ABSENT ? undefined : value;
  }

  /** Show an input, by fields if they can hold it. @param {unknown} value undefined for none */
  write(value) {
    if (value === null) return this.show("null");
    if (value === undefined) return this.field ? undefined : this.show("form");
    this.json.value = JSON.stringify(value, null, 2);
    try {
      this.writeFields(value);
      this.show("form");
    } catch (error) {
      if (!(error instanceof BadField)) throw error;
      this.show("json");
    }
    return undefined;
  }

  writeFields(value) {
    const given = value === undefined ? ABSENT : value;
    if (this.field === null) {
      if (given === ABSENT || same(given, {})) return;
      throw new BadField("", "There are no fields for this: it stays JSON.");
    }
    this.field.write(given);
    if (given !== ABSENT && !same(this.field.read(), given)) throw new BadField("", "The fields cannot hold this: it stays JSON.");
  }

  /** Keep what was sent for the next time. */
  remember(value) {
    if (this.key !== undefined) remembered.set(this.key, value);
  }

  /** Show what the host said of the input, each sentence at the field it is about. */
  showError(message, pointer) {
    this.clearError();
    this.error.textContent = message;
    this.error.hidden = false;
    const said = pointer === undefined ? sentencesIn(message) : [{ pointer, text: message }];
    for (const { pointer: place, text } of said) {
      const field = this.fieldAt(place);
      if (!field) continue;
      field.classList.add("wrong");
      field.append(h("p", { class: "field-error" }, text));
    }
    this.body.querySelector(".wrong :is(input, select, textarea)")?.focus();
  }

  /** The field of a pointer, or the nearest one around it. */
  fieldAt(pointer) {
    const fields = [...this.body.querySelectorAll("[data-pointer]")];
    for (let at = pointer; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
      const field = fields.find((element) => element.dataset.pointer === at);
      if (field) return field;
    }
    return null;
  }

  clearError() {
    this.error.hidden = true;
    for (const field of this.body.querySelectorAll(".wrong")) forgive(field);
  }
}

function forgive(field) {
  field?.classList.remove("wrong");
  for (const text of field?.querySelectorAll(":scope > .field-error") ?? []) text.remove();
}

const TITLES = { form: "Fill in fields", json: "Write JSON", null: "Send null", none: "Send no input at all" };

const ADVICE = / Call list_canvas_capabilities to inspect .*$/;

/** What the runtime says of the parts: `/path: …; (root): "name" is a required property; …`. */
export function sentencesIn(given) {
  const message = given.replace(ADVICE, "");
  const starts = [...message.matchAll(/(?:^|[;:] )(\/[^\s:]*|\(root\)): /g)];
  return starts.map((match, index) => {
    const text = message.slice(match.index + match[0].length, starts[index + 1]?.index);
    const base = match[1] === "(root)" ? "" : match[1];
    const missing = /^"(.+?)" is a required property/.exec(text);
    return { pointer: missing ? `${base}/${escape(missing[1])}` : base, text };
  });
}
