/** Fields that hold others: objects, lists, and alternatives. */

import { h } from "./dom.js";
import { ABSENT, BadField } from "./field.js";
import { escape, fits, isObject } from "./schema.js";
import { createField, createSlot } from "./slot.js";

/** @returns {import("./field.js").Field} */
export function objectField(schema, form) {
  const needed = new Set(Array.isArray(schema.required) ? schema.required : []);
  const properties = isObject(schema.properties) ? schema.properties : {};
  const slots = Object.entries(properties).map(([name, each]) => createSlot({ name, schema: each, required: needed.has(name), form }));
  const list = h("div", { class: "object" }, ...slots.map((slot) => slot.element));
  /** Properties that the schema does not name. */
  let extras = [];
  let pointer = "";

  const add = h("button", { type: "button", class: "link", on: { click: () => addExtra("", ABSENT).focus() } }, "+ property");
  add.hidden = !isOpen(schema);
  const element = h("div", { class: "group" }, list, add);

  function addExtra(name, value) {
    const input = h("input", { class: "name", value: name, placeholder: "name", spellcheck: false, autocomplete: "off", aria: { label: "Name of a property" } });
    const slot = createSlot({ name: "its value", schema: isObject(schema.additionalProperties) ? schema.additionalProperties : {}, required: true, form, label: input });
    const extra = { input, slot };
    const remove = h("button", { type: "button", class: "quiet", aria: { label: "Remove this property" }, on: { click: () => (drop(extra), add.focus()) } }, "×");
    input.addEventListener("input", (event) => {
      event.stopPropagation();
      slot.place(`${pointer}/${escape(input.value)}`);
    });
    slot.element.querySelector(".field-head").append(remove);
    if (value !== ABSENT) slot.write(value);
    slot.place(`${pointer}/${escape(name)}`);
    extras.push(extra);
    list.append(slot.element);
    return input;
  }

  function drop(extra) {
    extras = extras.filter((each) => each !== extra);
    extra.slot.element.remove();
  }

  return {
    element,
    isCompound: true,
    place(to) {
      pointer = to;
      for (const slot of slots) slot.place(`${to}/${escape(slot.name)}`);
      for (const { input, slot } of extras) slot.place(`${to}/${escape(input.value)}`);
    },
    read() {
      const pairs = slots.map((slot) => [slot.name, slot.read()]);
      for (const { input, slot } of extras) {
        const value = slot.read();
        if (value !== ABSENT && input.value === "") throw new BadField(`${pointer}/`, "This property has no name.");
        pairs.push([input.value, value]);
      }
      return Object.fromEntries(pairs.filter(([, value]) => value !== ABSENT));
    },
    write(value) {
      const given = isObject(value) ? value : {};
      for (const slot of slots) slot.write(Object.hasOwn(given, slot.name) ? given[slot.name] : ABSENT);
      for (const extra of [...extras]) drop(extra);
      for (const [name, each] of Object.entries(given)) if (!Object.hasOwn(properties, name)) addExtra(name, each);
    },
  };
}

/** Whether it invites further properties. */
function isOpen(schema) {
  if (schema.additionalProperties === false) return false;
  return schema.additionalProperties !== undefined || !isObject(schema.properties) || Object.keys(schema.properties).length === 0;
}

/** @returns {import("./field.js").Field} */
export function arrayField(schema, form) {
  let slots = [];
  let pointer = "";
  const list = h("div", { class: "items", role: "list" });
  const add = h("button", { type: "button", class: "link", on: { click: () => focus(append(ABSENT)) } }, "+ item");

  const schemaAt = (index) => (Array.isArray(schema.items) ? (schema.items[index] ?? schema.additionalItems ?? {}) : (schema.items ?? {}));

  function append(value) {
    const slot = createSlot({ name: String(slots.length + 1), schema: schemaAt(slots.length), required: true, form, label: h("span", { class: "label number" }) });
    const button = (text, label, act) => h("button", { type: "button", class: "quiet", aria: { label }, on: { click: act } }, text);
    slot.element.setAttribute("role", "listitem");
    slot.element.querySelector(".field-head").append(
      button("↑", "Move this item up", () => move(slot, -1)),
      button("↓", "Move this item down", () => move(slot, 1)),
      button("×", "Remove this item", () => remove(slot)),
    );
    slot.element.addEventListener("keydown", (event) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!event.altKey || step === undefined || event.target.closest("[role=listitem]") !== slot.element) return;
      event.preventDefault();
      move(slot, step);
    });
    if (value !== ABSENT) slot.write(value);
    slots.push(slot);
    list.append(slot.element);
    arrange();
    return slot;
  }

  function move(slot, step) {
    const at = slots.indexOf(slot);
    const other = slots[at + step];
    if (!other) return;
    const active = document.activeElement;
    [slots[at], slots[at + step]] = [other, slot];
    if (step < 0) other.element.before(slot.element);
    else other.element.after(slot.element);
    arrange();
    active?.focus();
  }

  function remove(slot) {
    slots = slots.filter((each) => each !== slot);
    slot.element.remove();
    arrange();
    add.focus();
  }

  function arrange() {
    slots.forEach((slot, index) => {
      slot.place(`${pointer}/${index}`);
      slot.element.querySelector(".number").textContent = String(index + 1);
    });
  }

  return {
    element: h("div", { class: "group array" }, list, add),
    isCompound: true,
    place(to) {
      pointer = to;
      arrange();
    },
    // An item that nobody has filled in is none.
    read: () => slots.map((slot) => slot.read()).filter((value) => value !== ABSENT),
    write(value) {
      slots = [];
      list.replaceChildren();
      for (const each of Array.isArray(value) ? value : []) append(each);
    },
  };
}

function focus(slot) {
  (slot.element.querySelector("input, select, textarea") ?? slot.element.querySelector("button"))?.focus();
}

/** @returns {import("./field.js").Field} */
export function variantField(variants, name, form) {
  let chosen = -1;
  let inner = null;
  let pointer = "";
  const hole = h("div", { class: "variant" });
  const options = variants.map((each, index) => h("option", { value: String(index) }, each.label));
  const select = h("select", { aria: { label: `Kind of ${name}` }, on: { change: () => choose(Number(select.value)) } }, ...options);

  function choose(index) {
    chosen = index;
    select.value = String(index);
    inner = createField(variants[index].schema, name, true, form);
    inner.place?.(pointer);
    hole.replaceChildren(inner.element);
    const control = inner.element.querySelector(":scope > :is(input, select, textarea)");
    control?.setAttribute("aria-label", name);
  }

  choose(0);
  return {
    element: h("div", { class: "group variants" }, select, hole),
    isCompound: true,
    place(to) {
      pointer = to;
      inner.place?.(to);
    },
    read: () => inner.read(),
    write(value) {
      if (value === ABSENT) return choose(0);
      const fit = variants.findIndex((each) => fits(each.schema, value, form.root));
      if (fit >= 0 && fit !== chosen) choose(fit);
      inner.write(value);
    },
  };
}
