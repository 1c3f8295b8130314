/** RFC 6902, as far as revisions of a document need it; and what each step changed, for a reader. */

/**
 * @typedef {{op: string, path: string, from?: string, value?: unknown}} Operation
 * @typedef {{kind: "add" | "remove" | "replace" | "move", path: string, from?: string, before?: unknown, after?: unknown}} Step
 */

/**
 * Apply operations to a document, in place where it has parts.
 *
 * @param {any} document @param {Operation[]} operations
 * @param {(step: Step) => void} [note] is told what each of them changed
 * @returns {any} the document
 */
export function apply(document, operations, note = () => {}) {
  const holder = { "": document };
  for (const operation of operations) {
    const { op, path } = operation;
    if (op === "test") continue;
    if (op === "move" || op === "copy") {
      const value = structuredClone(read(holder, operation.from ?? ""));
      if (op === "move") remove(holder, operation.from ?? "");
      add(holder, path, value);
      note({ kind: op === "move" ? "move" : "add", path, from: operation.from, after: value });
    } else if (op === "add") {
      const before = peek(holder, path);
      add(holder, path, structuredClone(operation.value));
      note({ kind: before === undefined ? "add" : "replace", path, before, after: operation.value });
    } else {
      const before = structuredClone(read(holder, path));
      if (op === "remove") remove(holder, path);
      else write(holder, path, structuredClone(operation.value));
      note({ kind: op === "remove" ? "remove" : "replace", path, before, after: operation.value });
    }
  }
  return holder[""];
}

/** The names in a pointer. @param {string} pointer */
export const steps = (pointer) => pointer.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));

/** Where a pointer leads: what holds it, and its name there. */
function locate(holder, pointer) {
  const path = ["", ...steps(pointer)];
  const last = path.pop();
  return { parent: path.reduce((at, step) => at[step], holder), last };
}

function read(holder, pointer) {
  const { parent, last } = locate(holder, pointer);
  return parent[last];
}

/** What an addition would overwrite: a member of an object, never one of a list. */
function peek(holder, pointer) {
  const { parent, last } = locate(holder, pointer);
  return Array.isArray(parent) || !Object.hasOwn(parent, last) ? undefined : structuredClone(parent[last]);
}

function add(holder, pointer, value) {
  const { parent, last } = locate(holder, pointer);
  if (Array.isArray(parent)) parent.splice(last === "-" ? parent.length : Number(last), 0, value);
  else define(parent, last, value);
}

function write(holder, pointer, value) {
  const { parent, last } = locate(holder, pointer);
  define(parent, last, value);
}

function remove(holder, pointer) {
  const { parent, last } = locate(holder, pointer);
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete parent[last];
}

/** Not by assignment, for which `__proto__` is no name like others. */
const define = (parent, name, value) => Object.defineProperty(parent, name, { value, writable: true, enumerable: true, configurable: true });

/**
 * What a revision changed.
 *
 * @param {any} current the document now
 * @param {{number: number, ops: Operation[], inverse: Operation[]}[]} revisions oldest first, up to now
 * @param {number} number
 * @returns {Step[]}
 */
export function changesOf(current, revisions, number) {
  let document = structuredClone(current);
  for (const revision of [...revisions].reverse()) {
    document = apply(document, revision.inverse);
    if (revision.number !== number) continue;
    const found = [];
    apply(document, revision.ops, (step) => found.push(step));
    return found;
  }
  return [];
}
