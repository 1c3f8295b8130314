/**
 * A form from a JSON Schema (draft-07).
 *
 * What has a natural control gets one; what has none (alternatives, tuples, free-form objects) gets
 * a field for JSON. An optional field that is left alone is left out of the value. The host checks
 * the value, as Copilot would: nothing is checked twice here.
 */

import { h } from "./dom.js";

/** Text that is not JSON in a field for JSON. `pointer` says which. */
export class BadField extends Error {
  constructor(pointer, message) {
    super(message);
    this.pointer = pointer;
  }
}

const ABSENT = Symbol("absent");
/** More fields, or more choices of one field, would freeze the page: JSON does for the rest. */
const MAX_FIELDS = 200;
const MAX_CHOICES = 200;
let ids = 0;
let made = 0;

/**
 * `isEmpty` is true for a field that nobody has filled in.
 *
 * @typedef {{ element: HTMLElement, isEmpty: () => boolean, read: () => unknown, write: (value: unknown) => void }} Field
 */

/** A form for a whole input, with a switch to plain JSON. */
export class InputForm {
  /** @param {unknown} schema the declared `inputSchema`, or undefined */
  constructor(schema) {
    this.schema = schema;
    const object = asObject(schema);
    made = 0;
    this.isPlain = object === null;
    this.fields = object && Object.keys(object.properties ?? {}).length > 0 ? objectField(object, object, "", true) : null;
    this.json = h("textarea", { class: "code", rows: 6, spellcheck: false, placeholder: "nothing", aria: { label: "Input as JSON" } });
    this.toggle = h("button", { type: "button", class: "link", on: { click: () => this.setPlain(!this.isPlain) } });
    this.body = h("div", { class: "fields" });
    this.error = h("p", { class: "refusal", role: "alert", hidden: true });
    this.element = h("div", { class: "input-form" }, this.body, this.error, this.toggle);
    this.showMode();
  }

  setPlain(isPlain) {
    this.clearError();
    try {
      if (isPlain) {
        const value = this.read();
        this.json.value = value === undefined ? "" : JSON.stringify(value, null, 2);
      } else if (this.fields) {
        this.fields.write(this.read());
      }
    } catch (error) {
      if (!(error instanceof BadField)) throw error;
      this.showError(error.message, error.pointer);
      return;
    }
    this.isPlain = isPlain;
    this.showMode();
  }

  showMode() {
    const nothing = h("p", { class: "faint" }, "No input.");
    this.body.replaceChildren(this.isPlain ? this.json : (this.fields?.element ?? nothing));
    this.toggle.textContent = this.isPlain ? "Edit as a form" : "Edit as JSON";
    this.toggle.hidden = this.isPlain && asObject(this.schema) === null;
  }

  /** @returns {unknown} the input, undefined for none. Throws BadField. */
  read() {
    if (this.isPlain) {
      const text = this.json.value.trim();
      return text === "" ? undefined : parse(text, "");
    }
    return this.fields ? this.fields.read() : undefined;
  }

  /** Show what the host said of the input, at the fields it names. */
  showError(message, pointer) {
    this.clearError();
    this.error.textContent = message;
    this.error.hidden = false;
    const named = pointer === undefined ? pointersIn(message) : [pointer];
    for (const each of named) {
      const field = [...this.body.querySelectorAll("[data-pointer]")].find((element) => element.dataset.pointer === each);
      field?.classList.add("wrong");
    }
    this.body.querySelector(".wrong :is(input, select, textarea)")?.focus();
  }

  clearError() {
    this.error.hidden = true;
    for (const field of this.body.querySelectorAll(".wrong")) field.classList.remove("wrong");
  }
}

/** The fields that a refusal names: `/path: …` and `(root): "name" is a required property`. */
function pointersIn(message) {
  const pointers = [];
  for (const match of message.matchAll(/(?:^|[ ;])(\/[^\s:]*|\(root\)): (?:"([^"]+)" is a required)?/g)) {
    const base = match[1] === "(root)" ? "" : match[1];
    pointers.push(match[2] === undefined ? base : `${base}/${escape(match[2])}`);
  }
  return pointers;
}

const escape = (name) => name.replaceAll("~", "~0").replaceAll("/", "~1");

function parse(text, pointer) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new BadField(pointer, `This is not JSON: ${error.message}`);
  }
}

/** The schema as one of an object; an absent schema has no fields. Null: only JSON will do. */
function asObject(schema) {
  if (schema === undefined || schema === null || schema === true) return {};
  if (typeof schema !== "object") return null;
  const types = [schema.type ?? "object"].flat();
  return types.includes("object") && !schema.oneOf && !schema.anyOf && !schema.allOf ? schema : null;
}

/** Follow `$ref` within the document. */
function resolve(schema, root, depth = 0) {
  if (typeof schema !== "object" || schema === null) return {};
  if (typeof schema.$ref !== "string" || depth > 8) return schema;
  const steps = schema.$ref.replace(/^#\/?/, "").split("/").filter(Boolean);
  const target = steps.reduce((at, step) => at?.[decode(step).replaceAll("~1", "/").replaceAll("~0", "~")], root);
  return { ...resolve(target, root, depth + 1), ...(schema.description ? { description: schema.description } : {}) };
}

function decode(step) {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

/** `T | null` is a field for T that may be left empty. */
function withoutNull(schema, root) {
  const options = schema.anyOf ?? schema.oneOf;
  if (!Array.isArray(options)) {
    if (!Array.isArray(schema.type) || !schema.type.includes("null")) return schema;
    const rest = schema.type.filter((name) => name !== "null");
    return { ...schema, type: rest.length === 1 ? rest[0] : rest };
  }
  const rest = options.map((each) => resolve(each, root)).filter((each) => each.type !== "null");
  return rest.length === 1 ? { ...schema, ...rest[0], anyOf: undefined, oneOf: undefined } : schema;
}

/** @returns {Field} */
function field(schema, root, pointer, required, depth) {
  schema = withoutNull(resolve(schema, root), root);
  if (++made > MAX_FIELDS || schema.enum?.length > MAX_CHOICES) return jsonField(schema, pointer);
  if (Array.isArray(schema.enum)) return choiceField(schema, schema.enum, required);
  if ("const" in schema) return choiceField(schema, [schema.const], required);
  if (depth < 6) {
    if (schema.type === "boolean") return choiceField(schema, [true, false], required);
    if (schema.type === "string") return textField(schema, required);
    if (schema.type === "integer" || schema.type === "number") return numberField(schema, required);
    if (schema.type === "array" && isSchema(schema.items)) return arrayField(schema, root, pointer, required, depth);
    if (schema.type === "object" && schema.properties) return objectField(schema, root, pointer, required, depth);
  }
  return jsonField(schema, pointer);
}

const isSchema = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

const hint = (schema, required) =>
  schema.default !== undefined ? JSON.stringify(schema.default) : required ? "" : "not set";

function textField(schema, required) {
  const long = schema.maxLength === undefined || schema.maxLength > 200;
  const multiline = long && /note|text|body|content|description|markdown|comment/i.test(`${schema.title ?? ""} ${schema.name ?? ""}`);
  const type = { date: "date", time: "time", email: "email" }[schema.format] ?? "text";
  const input = multiline
    ? h("textarea", { rows: 3, placeholder: hint(schema, required) })
    : h("input", { type, placeholder: hint(schema, required), autocomplete: "off" });
  return {
    element: input,
    isEmpty: () => input.value === "",
    read: () => (input.value === "" && !required ? ABSENT : input.value),
    write: (value) => (input.value = typeof value === "string" ? value : ""),
  };
}

function numberField(schema, required) {
  const input = h("input", { type: "text", inputMode: "decimal", placeholder: hint(schema, required), autocomplete: "off" });
  return {
    element: input,
    isEmpty: () => input.value.trim() === "",
    read() {
      const text = input.value.trim();
      if (text === "") return ABSENT;
      // What is no number is sent as it is: the host's answer names the field.
      return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? Number(text) : text;
    },
    write: (value) => (input.value = value === undefined || value === null ? "" : String(value)),
  };
}

function choiceField(schema, choices, required) {
  const empty = h("option", { value: "" }, schema.default !== undefined ? `default: ${JSON.stringify(schema.default)}` : required ? "choose…" : "not set");
  const select = h("select", {}, empty, ...choices.map((choice, index) => h("option", { value: String(index) }, typeof choice === "string" ? choice : JSON.stringify(choice))));
  if (required && choices.length === 1) select.value = "0";
  return {
    element: select,
    isEmpty: () => select.value === "",
    read: () => (select.value === "" ? ABSENT : choices[Number(select.value)]),
    write(value) {
      const index = choices.findIndex((choice) => JSON.stringify(choice) === JSON.stringify(value));
      select.value = index < 0 ? "" : String(index);
    },
  };
}

function jsonField(schema, pointer) {
  const text = h("textarea", { class: "code", rows: 2, spellcheck: false, placeholder: `JSON${schema.default === undefined ? "" : `, default ${JSON.stringify(schema.default)}`}` });
  return {
    element: text,
    isEmpty: () => text.value.trim() === "",
    read: () => (text.value.trim() === "" ? ABSENT : parse(text.value, pointer)),
    write: (value) => (text.value = value === undefined ? "" : JSON.stringify(value, null, 2)),
  };
}

function arrayField(schema, root, pointer, required, depth) {
  /** @type {{ row: HTMLElement, field: Field }[]} */
  let items = [];
  const list = h("div", { class: "items" });
  const add = h("button", { type: "button", class: "link", on: { click: () => { append(undefined); items.at(-1).row.querySelector("input, select, textarea")?.focus(); } } }, "+ add");
  function append(value) {
    const child = field(schema.items, root, `${pointer}/${items.length}`, true, (depth ?? 0) + 1);
    if (value !== undefined) child.write(value);
    const remove = h("button", { type: "button", class: "quiet", aria: { label: "Remove this item" }, on: { click() { items = items.filter((item) => item.row !== row); row.remove(); } } }, "×");
    const row = h("div", { class: "item", data: { pointer: `${pointer}/${items.length}` } }, child.element, remove);
    items.push({ row, field: child });
    list.append(row);
  }
  return {
    element: h("div", { class: "array" }, list, add),
    isEmpty: () => items.length === 0,
    read() {
      if (items.length === 0 && !required) return ABSENT;
      return items.map((item) => item.field.read()).filter((value) => value !== ABSENT);
    },
    write(value) {
      items = [];
      list.replaceChildren();
      for (const each of Array.isArray(value) ? value : []) append(each);
    },
  };
}

function objectField(schema, root, pointer, required, depth = 0) {
  const needed = new Set(Array.isArray(schema.required) ? schema.required : []);
  const children = Object.entries(schema.properties ?? {}).map(([name, each]) => {
    const own = `${pointer}/${escape(name)}`;
    const resolved = resolve(each, root);
    const child = field({ ...resolved, name }, root, own, needed.has(name), depth + 1);
    return { name, field: child, row: labelled(name, resolved, needed.has(name), own, child) };
  });
  // What the form has no field for is kept from one reading to the next.
  let rest = {};
  const isEmpty = () => Object.keys(rest).length === 0 && children.every((child) => child.field.isEmpty());
  return {
    element: h("div", { class: depth === 0 ? "object" : "object nested" }, ...children.map((child) => child.row)),
    isEmpty,
    read() {
      // Else its own required fields would have to be filled in, though it may be left out.
      if (!required && isEmpty()) return ABSENT;
      const read = children.map((child) => [child.name, child.field.read()]).filter(([, value]) => value !== ABSENT);
      return { ...rest, ...Object.fromEntries(read) };
    },
    write(value) {
      const given = isSchema(value) ? value : {};
      for (const child of children) child.field.write(given[child.name]);
      const known = new Set(children.map((child) => child.name));
      rest = Object.fromEntries(Object.entries(given).filter(([name]) => !known.has(name)));
    },
  };
}

function labelled(name, schema, required, pointer, child) {
  const control = child.element.matches("input, select, textarea") ? child.element : null;
  const id = `field-${++ids}`;
  if (control) control.id = id;
  const label = h(control ? "label" : "span", { class: "label", for: control ? id : undefined }, name, required ? h("span", { class: "needed", title: "required" }, " *") : null);
  const note = schema.description ? h("p", { class: "note", id: `${id}-note` }, schema.description) : null;
  if (control && note) control.setAttribute("aria-describedby", note.id);
  return h("div", { class: "field", data: { pointer } }, label, child.element, note);
}
