/** What a draft-07 schema says about the shape of a value, as far as a form can show it. */

/** @typedef {Record<string, any>} Schema */

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** A name as a step of a JSON pointer. @param {string} name */
export const escape = (name) => name.replaceAll("~", "~0").replaceAll("/", "~1");

/** Whether two values of JSON are the same, whatever the order of their names. */
export function same(one, other) {
  return canonical(one) === canonical(other);
}

function canonical(value) {
  return JSON.stringify(value, (_, each) => (isObject(each) ? Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)) : each));
}

/** Follow `$ref` within the document. @returns {Schema} */
export function resolve(schema, root, depth = 0) {
  if (!isObject(schema)) return {};
  if (typeof schema.$ref !== "string" || depth > 8) return schema;
  const steps = schema.$ref.replace(/^#\/?/, "").split("/").filter(Boolean);
  const target = steps.reduce((at, step) => at?.[decode(step).replaceAll("~1", "/").replaceAll("~0", "~")], root);
  return { ...resolve(target, root, depth + 1), ...(schema.description ? { description: schema.description } : {}), ...("default" in schema ? { default: schema.default } : {}) };
}

function decode(step) {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

/**
 * A schema without references, `allOf` and null at its top.
 *
 * @returns {{schema: Schema, isNullable: boolean}}
 */
export function simplify(given, root) {
  let schema = resolve(given, root);
  if (Array.isArray(schema.allOf)) schema = schema.allOf.map((each) => resolve(each, root)).reduce(merge, without(schema, "allOf"));
  let isNullable = false;
  for (const name of ["anyOf", "oneOf"]) {
    if (!Array.isArray(schema[name])) continue;
    const options = schema[name].map((each) => resolve(each, root));
    const rest = options.filter((each) => each.type !== "null");
    isNullable ||= rest.length < options.length;
    schema = rest.length === 1 ? merge(without(schema, name), rest[0]) : { ...schema, [name]: rest };
  }
  if (Array.isArray(schema.type)) {
    const rest = schema.type.filter((name) => name !== "null");
    isNullable ||= rest.length < schema.type.length;
    schema = { ...schema, type: rest.length === 1 ? rest[0] : rest };
  }
  if (Array.isArray(schema.enum) && schema.enum.length > 1 && schema.enum.includes(null)) {
    isNullable = true;
    schema = { ...schema, enum: schema.enum.filter((each) => each !== null) };
  }
  return { schema, isNullable };
}

/** Both at once, as far as a form cares. */
function merge(one, other) {
  return {
    ...one,
    ...other,
    description: one.description ?? other.description,
    properties: one.properties || other.properties ? { ...one.properties, ...other.properties } : undefined,
    required: [...new Set([...list(one.required), ...list(other.required)])],
  };
}

const list = (value) => (Array.isArray(value) ? value : []);

function without(schema, name) {
  const { [name]: _, ...rest } = schema;
  return rest;
}

/**
 * The alternatives that a person chooses from, or null where there is nothing to choose.
 *
 * @returns {{label: string, schema: Schema}[] | null}
 */
export function variantsOf(schema, root) {
  for (const name of ["oneOf", "anyOf"]) {
    if (!Array.isArray(schema[name]) || schema[name].length < 2) continue;
    const base = without(schema, name);
    const options = schema[name].map((each) => simplify(each, root).schema);
    if (options.every((each) => "const" in each)) continue;
    // What only says which names are needed together has fields already.
    if (options.every((each) => !each.type && !each.properties && !each.enum && each.required)) continue;
    return options.map((each, index) => ({ label: labelOf(each, schema, index), schema: merge({ ...base, description: undefined, title: undefined, default: undefined }, each) }));
  }
  if (!Array.isArray(schema.type) || schema.type.length < 2) return null;
  return schema.type.map((type) => ({ label: type, schema: { ...schema, type } }));
}

/** `oneOf: [{const}, …]` is an enum whose members have titles. @returns {Schema[] | null} */
export function constantsOf(schema) {
  const options = schema.oneOf ?? schema.anyOf;
  return Array.isArray(options) && options.length > 0 && options.every((each) => isObject(each) && "const" in each) ? options : null;
}

function labelOf(option, schema, index) {
  const tags = Object.entries(option.properties ?? {}).filter(([, each]) => isObject(each) && "const" in each);
  const named = schema.discriminator?.propertyName;
  const tag = tags.find(([name]) => name === named) ?? tags[0];
  if (tag) return String(tag[1].const);
  return option.title ?? (typeof option.type === "string" ? describeType(option) : `alternative ${index + 1}`);
}

/** Whether a value could be one of this schema: enough to choose between alternatives. */
export function fits(given, value, root, depth = 0) {
  const { schema, isNullable } = simplify(given, root);
  if (value === null && isNullable) return true;
  if ("const" in schema && !same(schema.const, value)) return false;
  if (Array.isArray(schema.enum) && !schema.enum.some((each) => same(each, value))) return false;
  if (schema.type !== undefined && ![schema.type].flat().some((type) => isOfType(type, value))) return false;
  if (!isObject(value) || depth > 4) return true;
  if (list(schema.required).some((name) => !Object.hasOwn(value, name))) return false;
  if (schema.additionalProperties === false && Object.keys(value).some((name) => !Object.hasOwn(schema.properties ?? {}, name))) return false;
  return Object.entries(schema.properties ?? {}).every(([name, each]) => !Object.hasOwn(value, name) || fits(each, value[name], root, depth + 1));
}

function isOfType(type, value) {
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  if (type === "integer") return Number.isInteger(value);
  if (type === "null") return value === null;
  return typeof value === type;
}

/** A type in a few words: `integer, 1 to 9`. @param {Schema} schema */
export function describeType(schema) {
  const words = [];
  const kind = schema.format ?? [schema.type ?? []].flat().join(" or ");
  if (kind && !schema.enum) words.push(schema.type === "array" && isObject(schema.items) && typeof schema.items.type === "string" ? `list of ${schema.items.type}` : kind);
  range(words, schema.minimum ?? schema.exclusiveMinimum, schema.maximum ?? schema.exclusiveMaximum, "");
  range(words, schema.minLength, schema.maxLength, " characters");
  range(words, schema.minItems, schema.maxItems, " items");
  if (schema.multipleOf !== undefined) words.push(`multiple of ${schema.multipleOf}`);
  if (schema.pattern !== undefined) words.push(schema.pattern);
  if (schema.uniqueItems) words.push("no two alike");
  return words.join(", ");
}

function range(words, low, high, unit) {
  if (low !== undefined && high !== undefined) words.push(`${low} to ${high}${unit}`);
  else if (low !== undefined) words.push(`from ${low}${unit}`);
  else if (high !== undefined) words.push(`up to ${high}${unit}`);
}
