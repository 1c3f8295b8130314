/**
 * One place for a value, with its name: absent, null, or what its field holds.
 *
 * Absent is not empty: a text that is empty is sent, one that is left out is not. What is optional
 * and has parts is built when it is wanted, so that a schema may refer to itself.
 */

import { h } from "./dom.js";
import { ABSENT, choiceField, jsonField, numberField, textField } from "./field.js";
import { arrayField, objectField, variantField } from "./group.js";
import { constantsOf, describeType, same, simplify, variantsOf } from "./schema.js";

/** More choices of one field would freeze the page: JSON does for them. */
const MAX_CHOICES = 200;

let ids = 0;

/**
 * What belongs to a whole form: the schema that references lead into, and how many fields there may
 * still be.
 *
 * @typedef {{root: any, left: number}} Form
 */

/**
 * The field for a schema without null.
 *
 * @param {Form} form
 * @returns {import("./field.js").Field}
 */
export function createField(schema, name, required, form) {
  if (--form.left < 0) return jsonField(schema);
  const constants = constantsOf(schema);
  if (constants) return choiceField(schema, constants.map((each) => each.const), required, constants.map((each) => each.title ?? JSON.stringify(each.const)));
  if ("const" in schema) return choiceField(schema, [schema.const], required);
  if (Array.isArray(schema.enum)) return schema.enum.length > MAX_CHOICES ? jsonField(schema) : choiceField(schema, schema.enum, required);
  const variants = variantsOf(schema, form.root);
  if (variants) return variantField(variants, name, form);
  const type = schema.type ?? (schema.properties ? "object" : schema.items ? "array" : undefined);
  if (type === "boolean") return choiceField(schema, [true, false], required);
  if (type === "string") return textField(schema, name);
  if (type === "integer" || type === "number") return numberField(schema);
  if (type === "array") return arrayField(schema, form);
  if (type === "object") return objectField(schema, form);
  return jsonField(schema);
}

/**
 * A place for a value within an object or a list.
 *
 * @param {{name: string, schema: unknown, required: boolean, form: Form, label?: HTMLElement}} place
 *   `label` is a control in the place of the name
 */
export function createSlot({ name, schema: given, required, form, label }) {
  const { schema, isNullable } = simplify(given, form.root);
  const id = `field-${++ids}`;
  /** @type {"absent" | "null" | "value"} */
  let state = "absent";
  /** @type {import("./field.js").Field | null} */
  let field = null;
  let pointer = "";
  let isMakeshift = false;
  const canBeEmpty = isText(schema) && schema.format === undefined;

  const hole = h("div", { class: "hole" });
  const nothing = h("code", { class: "null" }, "null");
  const toggle = h("button", { type: "button", class: "link", on: { click: () => (state === "absent" ? include() : exclude()) } });
  const nullToggle = isNullable ? h("button", { type: "button", class: "link", on: { click: () => setState(state === "null" ? "absent" : "null") } }, "null") : null;
  const title = label ?? h("label", { class: "label", for: id }, name, required ? h("span", { class: "needed", title: "required" }, " *") : null);
  const note = schema.description ? h("p", { class: "note", id: `${id}-note` }, schema.description) : null;
  const element = h(
    "div",
    { class: "field" },
    h("div", { class: "field-head" }, title, h("span", { class: "type" }, describeType(schema)), h("span", { class: "grow" }), nullToggle, toggle),
    hole,
    note,
  );

  function install(made, makeshift) {
    field = made;
    isMakeshift = makeshift;
    field.place?.(pointer);
    hole.replaceChildren(field.element, nothing);
    const control = field.element.querySelector(":scope > :is(input, select, textarea)");
    if (control) {
      control.id = id;
      if (note) control.setAttribute("aria-describedby", note.id);
    } else {
      field.element.setAttribute("role", "group");
      field.element.setAttribute("aria-label", name);
    }
  }

  function ensure() {
    if (field === null || isMakeshift) install(createField(schema, name, required, form), false);
  }

  function include() {
    // With parts, it begins anew, with the parts that are required.
    if (field === null || isMakeshift || field.isCompound) install(createField(schema, name, required, form), false);
    if ("default" in schema && schema.default !== null) field.write(schema.default);
    else if (canBeEmpty) field.write("");
    setState("value");
    hole.querySelector("input, select, textarea")?.focus();
  }

  function exclude() {
    setState("absent");
    if (!field?.isCompound) field?.write(ABSENT);
  }

  function setState(next) {
    state = next;
    element.classList.toggle("absent", state === "absent");
    const isShown = state === "value" || (state === "absent" && field !== null && !field.isCompound);
    if (field) field.element.hidden = !isShown;
    nothing.hidden = state !== "null";
    toggle.textContent = state === "absent" ? (field && !field.isCompound && canBeEmpty ? "send empty" : "add") : "leave out";
    toggle.hidden = state === "absent" && field !== null && !field.isCompound && !canBeEmpty;
    nullToggle?.setAttribute("aria-pressed", String(state === "null"));
  }

  // Parts that are optional, or that would be without end, wait until somebody wants them.
  const isSimple = !variantsOf(schema, form.root) && !["object", "array"].includes(schema.type) && !schema.properties && !schema.items;
  if (isSimple || required) ensure();
  hole.addEventListener("input", () => state !== "value" && setState("value"));
  hole.addEventListener("change", () => state !== "value" && setState("value"));
  setState(required && field !== null && (field.isCompound || field.read() !== ABSENT) && !isText(schema) ? "value" : "absent");

  return {
    element,
    name,
    place(to) {
      pointer = to;
      element.dataset.pointer = to;
      field?.place?.(to);
    },
    read() {
      if (state === "absent") return ABSENT;
      return state === "null" ? null : field.read();
    },
    write(value) {
      if (value === ABSENT) return exclude();
      if (value === null && isNullable) return setState("null");
      ensure();
      field.write(value);
      if (!holds(field, value)) {
        install(jsonField(schema), true);
        field.write(value);
      }
      setState("value");
    },
  };
}

/** Text that is written, not chosen. */
const isText = (schema) => schema.type === "string" && !schema.enum && !("const" in schema) && !constantsOf(schema);

function holds(field, value) {
  try {
    return same(field.read(), value);
  } catch {
    return false;
  }
}
