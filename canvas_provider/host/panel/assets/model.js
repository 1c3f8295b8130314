/** What the host has told, and who wants to know when it changes. */

export const model = {
  extension: { id: "", name: "", script: "" },
  status: { phase: "starting", detail: "", pid: null, traceback: "", isHeld: false },
  /** What the extension declares. @type {any[]} */
  canvases: [],
  /** What is open, also while the extension is away. @type {any[]} */
  instances: [],
  /** Tools, commands, and who has hooks. */
  contributions: { tools: [], commands: [], hooks: [] },
  /** @type {{source: string, level: string, text: string, time: number}[]} */
  log: [],
  /** The last line before the extension's latest start: what stands above it is of an earlier run. */
  lastLineBefore: undefined,
  /** The instance in front. @type {string | null} */
  selected: null,
  isHostThere: true,
  /** What the host can do, by name. @type {Set<string>} */
  commands: new Set(),
  /** Whether the agent is at work. */
  turn: { isBusy: false },
};

/** Whether the runtime has this command: there is a button for no other. @param {string} name */
export const can = (name) => model.commands.has(name);

/** @typedef {"status" | "canvases" | "contributions" | "selection" | "commands" | "turn"} Part */

/** @type {Map<Part, (() => void)[]>} */
const listeners = new Map();

/** Call `listener` whenever a part has changed, in the order of registration. */
export function on(parts, listener) {
  for (const part of parts) listeners.set(part, [...(listeners.get(part) ?? []), listener]);
}

/** Say that a part has changed. @param {Part} part */
export function changed(part) {
  for (const listener of listeners.get(part) ?? []) listener();
}

export const canvasOf = (instance) => model.canvases.find((each) => each.extensionId === instance.extensionId && each.canvasId === instance.canvasId);

export const selectedInstance = () => model.instances.find((each) => each.instanceId === model.selected);

/** Bring an instance to the front. @param {string | null} id */
export function select(id) {
  model.selected = id;
  changed("selection");
}
