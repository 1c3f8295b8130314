/**
 * The page's half of a canvas: its state, live, and its actions.
 *
 *     import { connect } from "./canvas.js";
 *     const canvas = connect();
 *     canvas.subscribe((state, change) => render(state));
 *     const card = await canvas.actions.move_card({ card_id: "7", column: "done" });
 *
 * No build step, no dependency, no browser storage (in some frames it throws). Every URL is
 * relative to this file, so that a host can relay the page.
 *
 * @module canvas
 */

/**
 * What is known about a change that has just been applied.
 *
 * @typedef {object} Change
 * @property {"snapshot" | "patch"} kind `snapshot`: the whole state is new (the first time, after
 *   a pause that was too long, after a reset).
 * @property {number} revision The revision the state is at now.
 * @property {string[]} paths JSON Pointers (RFC 6901) of what changed; `""` is all of it.
 * @property {"agent" | "person" | "system" | null} author Who changed it; null for a snapshot.
 * @property {string | null} action The action that changed it, if one did.
 */

/** @typedef {"connecting" | "live" | "reconnecting" | "closed"} Status */

/** @typedef {null | boolean | number | string | any[] | {[key: string]: any}} JSONValue */

/** @typedef {{ifMatch?: number}} CallOptions Refuse unless the state is at this revision. */

/**
 * @typedef {{
 *   [name: string]: (input?: JSONValue, options?: CallOptions) => Promise<any>
 * }} Actions
 */

const BASE = new URL("./", import.meta.url);

const RESERVED = new Set(["snapshot", "patch", "closed", "open", "error", "message"]);

const FIRST_DELAY_MS = 400;
const LAST_DELAY_MS = 15_000;
/** About 75 seconds in all; then the extension is gone for good, and a hidden page must stop. */
const ATTEMPTS = 10;
/** After an announced shutdown: about 10 seconds, the time a reload takes. */
const ATTEMPTS_AFTER_SHUTDOWN = 5;
/** A line that held this long was a good one: the next failure starts counting anew. */
const STEADY_MS = 10_000;
/** A shorter interruption is not worth a word. */
const PATIENCE_MS = 2_000;

/** An action that was refused or failed. `code` is the extension's, or one of ours. */
export class CanvasError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {number} [status] The HTTP status, if there was an answer.
   */
  constructor(code, message, status) {
    super(message);
    this.name = "CanvasError";
    this.code = code;
    this.status = status;
  }
}

/** One live connection to the canvas. Made by {@link connect}. */
export class Canvas {
  /** @type {any} */
  #state = undefined;
  /** @type {number | null} */
  #revision = null;
  /** The revision with the epoch of its document, as the extension names it. @type {string} */
  #version = "";
  /** @type {Status} */
  #status = "connecting";
  /** @type {Set<(state: any, change: Change) => void>} */
  #subscribers = new Set();
  /** @type {Set<(status: Status) => void>} */
  #statusListeners = new Set();
  /** @type {Map<string, Set<(data: any) => void>>} */
  #eventListeners = new Map();
  /** @type {EventSource | null} */
  #source = null;
  #openedAt = 0;
  #wasLive = false;
  #failures = 0;
  #attempts = ATTEMPTS;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #banner;

  /** @param {{banner?: boolean}} [options] */
  constructor(options = {}) {
    this.#banner = options.banner === false ? null : new Banner();
    /**
     * The canvas's actions: `actions.NAME(input)` calls one as a person and returns a promise of
     * its result. It rejects with a {@link CanvasError}.
     *
     * @type {Actions}
     */
    this.actions = new Proxy(/** @type {any} */ ({}), {
      // `await canvas.actions` asks for `then`: it must not become a call.
      get: (_, name) =>
        typeof name === "string" && name !== "then"
          ? (/** @type {JSONValue} */ input, /** @type {CallOptions} */ options) =>
              this.call(name, input, options)
          : undefined,
    });
    if (globalThis.origin === "null") {
      this.#refuseSandbox();
    } else if (typeof EventSource === "undefined") {
      this.#readOnce().then(() => this.#end(NO_LIVE_UPDATES));
    } else {
      this.#open();
    }
  }

  /** The state, `undefined` before the first snapshot. Read it, do not write it. */
  get state() {
    return this.#state;
  }

  /** The revision of {@link state}, `null` before the first snapshot. */
  get revision() {
    return this.#revision;
  }

  get status() {
    return this.#status;
  }

  /**
   * Call `listener` with the state now, if it is known, and after every change.
   *
   * @param {(state: any, change: Change) => void} listener
   * @returns {() => void} Stops the calls.
   */
  subscribe(listener) {
    this.#subscribers.add(listener);
    if (this.#revision !== null) {
      notify([listener], this.#state, snapshotOf(this.#revision));
    }
    return () => void this.#subscribers.delete(listener);
  }

  /**
   * Call `listener` with the data of every event `name` that a handler emits.
   *
   * @param {string} name
   * @param {(data: any) => void} listener
   * @returns {() => void} Stops the calls.
   */
  on(name, listener) {
    if (RESERVED.has(name)) {
      throw new Error(`"${name}" is an event of the connection itself: use subscribe or onStatus.`);
    }
    let listeners = this.#eventListeners.get(name);
    if (listeners === undefined) {
      this.#eventListeners.set(name, (listeners = new Set()));
      this.#source?.addEventListener(name, this.#onEmitted);
    }
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /**
   * Call `listener` with the status now, and whenever it changes.
   *
   * @param {(status: Status) => void} listener
   * @returns {() => void} Stops the calls.
   */
  onStatus(listener) {
    this.#statusListeners.add(listener);
    notify([listener], this.#status);
    return () => void this.#statusListeners.delete(listener);
  }

  /**
   * Call an action by name; `actions.NAME(input)` is the same.
   *
   * @param {string} name
   * @param {JSONValue} [input]
   * @param {CallOptions} [options]
   * @returns {Promise<any>}
   */
  async call(name, input = null, options = {}) {
    /** @type {Record<string, string>} */
    const headers = { "Content-Type": "application/json" };
    if (options.ifMatch !== undefined) {
      // Of the document that is shown: after a reset, the same number is another's.
      const epoch = this.#version.replace(/^\d+/, "");
      headers["If-Match"] = `"${options.ifMatch}${epoch}"`;
    }
    let url, body, response, answer;
    try {
      url = new URL(`actions/${encodeURIComponent(name)}`, BASE);
      // `button.onclick = canvas.actions.refresh` passes the click, which is no input.
      body = JSON.stringify(input instanceof Event ? null : input);
    } catch (error) {
      throw new CanvasError("invalid_input", `The input of ${name} is not JSON: ${error}`);
    }
    try {
      response = await fetch(url, { method: "POST", headers, body });
      answer = await response.json();
    } catch {
      const message = "The extension did not answer. It may be restarting: try again in a moment.";
      throw new CanvasError("unreachable", message, response?.status);
    }
    if (!response.ok) {
      const { code = "error", message = response.statusText } = answer?.error ?? {};
      throw new CanvasError(code, message, response.status);
    }
    return answer.result;
  }

  /** Leave: no more calls of listeners, no more connection. */
  close() {
    this.#end(null);
    this.#subscribers.clear();
    this.#eventListeners.clear();
  }

  #open() {
    const url = new URL("events", BASE);
    if (this.#revision !== null) {
      url.searchParams.set("after", this.#version);
    }
    const source = (this.#source = new EventSource(url));
    source.onopen = () => this.#onOpen();
    source.onerror = () => this.#onLost();
    source.addEventListener("snapshot", (event) =>
      this.#onSnapshot(JSON.parse(event.data), event.lastEventId),
    );
    source.addEventListener("patch", (event) =>
      this.#onPatch(JSON.parse(event.data), event.lastEventId),
    );
    source.addEventListener("closed", (event) => this.#onClosed(JSON.parse(event.data).reason));
    for (const name of this.#eventListeners.keys()) {
      source.addEventListener(name, this.#onEmitted);
    }
  }

  #onOpen() {
    this.#openedAt = Date.now();
    this.#wasLive = true;
    this.#setStatus("live");
  }

  /**
   * @param {{revision: number, state: any}} data
   * @param {string} version
   */
  #onSnapshot({ revision, state }, version) {
    // A lower revision is as good as any: the store was reset.
    this.#state = state;
    this.#revision = revision;
    this.#version = version || String(revision);
    notify(this.#subscribers, state, snapshotOf(revision));
  }

  /**
   * @param {{revision: number, previous?: number, ops: Operation[], author: Change["author"],
   *   action: string | null}} data
   * @param {string} version
   */
  #onPatch({ revision, previous = revision - 1, ops, author, action }, version) {
    if (previous !== this.#revision) {
      this.#resynchronise();
      return;
    }
    let paths;
    try {
      [this.#state, paths] = applyPatch(this.#state, ops);
    } catch (error) {
      console.warn("canvas.js: a patch did not fit, so the state is read again.", error);
      this.#resynchronise();
      return;
    }
    this.#revision = revision;
    this.#version = version || String(revision);
    notify(this.#subscribers, this.#state, { kind: "patch", revision, paths, author, action });
  }

  /** @type {(event: MessageEvent) => void} */
  #onEmitted = (event) => {
    notify(this.#eventListeners.get(event.type) ?? [], JSON.parse(event.data));
  };

  /** @param {"closed" | "shutdown"} reason */
  #onClosed(reason) {
    if (reason === "closed") {
      this.#end(CLOSED);
    } else {
      this.#attempts = ATTEMPTS_AFTER_SHUTDOWN;
      this.#onLost();
    }
  }

  #resynchronise() {
    this.#source?.close();
    this.#revision = null;
    this.#open();
  }

  /** The line is down. The browser's own retries never end, so ours replace them. */
  #onLost() {
    if (this.#openedAt !== 0 && Date.now() - this.#openedAt > STEADY_MS) {
      this.#failures = 0;
    }
    this.#source?.close();
    this.#source = null;
    this.#openedAt = 0;
    this.#failures += 1;
    if (this.#failures === 1 && this.#revision === null) {
      this.#readOnce();
    }
    if (this.#failures > this.#attempts) {
      const onlyRead = !this.#wasLive && this.#revision !== null;
      this.#end(onlyRead ? NO_LIVE_UPDATES : LOST, () => this.#again());
      return;
    }
    this.#setStatus(this.#revision === null ? "connecting" : "reconnecting");
    this.#banner?.showLater(RECONNECTING, PATIENCE_MS);
    this.#timer = setTimeout(() => this.#open(), delayAfter(this.#failures));
  }

  #again() {
    // A second click would open a second stream.
    if (this.#status !== "closed") return;
    this.#failures = 0;
    this.#attempts = ATTEMPTS;
    this.#setStatus("reconnecting");
    this.#banner?.show(RECONNECTING);
    this.#open();
  }

  /** Without a stream (a relayed page has none) the state is at least shown. */
  async #readOnce() {
    try {
      const response = await fetch(new URL("state", BASE));
      const snapshot = await response.json();
      if (response.ok && this.#revision === null) {
        const tag = /^"(.+)"$/.exec(response.headers.get("etag") ?? "");
        this.#onSnapshot(snapshot, tag === null ? "" : tag[1]);
      }
    } catch {
      // The connection is being retried, and reports for itself.
    }
  }

  /**
   * @param {string | null} message
   * @param {() => void} [again]
   */
  #end(message, again) {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
    this.#setStatus("closed");
    if (message !== null) {
      this.#banner?.show(message, again);
    }
  }

  /** @param {Status} status */
  #setStatus(status) {
    if (status === "live" || status === "closed") {
      this.#banner?.hide();
    }
    if (status !== this.#status) {
      this.#status = status;
      if (status === "live") {
        this.#attempts = ATTEMPTS;
      }
      notify(this.#statusListeners, status);
    }
  }

  #refuseSandbox() {
    console.error(`canvas.js: ${SANDBOXED}`);
    this.#end(SANDBOXED);
  }
}

const CLOSED = "This canvas was closed.";
const RECONNECTING = "Reconnecting…";
const LOST = "The connection to the extension was lost. Reopen this canvas from the chat.";
const NO_LIVE_UPDATES = "No live updates here: reload to see changes.";
const SANDBOXED =
  "This frame is sandboxed without allow-same-origin, so the page cannot reach its extension. " +
  "Add allow-same-origin to the frame's sandbox attribute, or open the address by itself.";

/**
 * Connect to the canvas this page belongs to.
 *
 * @param {{banner?: boolean}} [options] `banner: false` if the page shows `status` itself.
 * @returns {Canvas}
 */
export function connect(options) {
  return new Canvas(options);
}

/** @param {number} failures */
function delayAfter(failures) {
  const delay = Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), LAST_DELAY_MS);
  return delay * (0.75 + Math.random() / 2);
}

/**
 * @param {number} revision
 * @returns {Change}
 */
function snapshotOf(revision) {
  return { kind: "snapshot", revision, paths: [""], author: null, action: null };
}

/**
 * Call every listener; one that throws stops neither the others nor the stream.
 *
 * @param {Iterable<(...args: any[]) => void>} listeners
 * @param {...any} args
 */
function notify(listeners, ...args) {
  for (const listener of [...listeners]) {
    try {
      listener(...args);
    } catch (error) {
      typeof reportError === "function" ? reportError(error) : console.error(error);
    }
  }
}

// --- JSON Patch (RFC 6902)

/**
 * @typedef {{op: "add" | "replace" | "test", path: string, value: any}
 *   | {op: "remove", path: string} | {op: "move" | "copy", path: string, from: string}} Operation
 */

/**
 * Apply operations in place.
 *
 * @param {any} document
 * @param {Operation[]} ops
 * @returns {[any, string[]]} The document (another one only if its root was replaced), and the
 *   paths that changed.
 */
export function applyPatch(document, ops) {
  const root = { "": document };
  const paths = new Set();
  for (const operation of ops) {
    switch (operation.op) {
      case "add":
        add(root, operation.path, operation.value);
        break;
      case "remove":
        remove(root, operation.path);
        break;
      case "replace":
        replace(root, operation.path, operation.value);
        break;
      case "move":
        add(root, operation.path, remove(root, operation.from));
        paths.add(operation.from);
        break;
      case "copy":
        add(root, operation.path, structuredClone(read(root, operation.from)));
        break;
      case "test":
        test(root, operation.path, operation.value);
        continue;
      default:
        throw new Error(`Unknown operation ${/** @type {any} */ (operation).op}`);
    }
    paths.add(operation.path);
  }
  return [root[""], [...paths]];
}

/**
 * The container of what a path names, and its key there. The document itself is `root[""]`.
 *
 * @param {any} root
 * @param {string} path
 * @returns {[any, string]}
 */
function locate(root, path) {
  if (path !== "" && path[0] !== "/") {
    throw new Error(`Not a JSON Pointer: ${path}`);
  }
  const keys = path.split("/").map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  const last = /** @type {string} */ (keys.pop());
  let container = root;
  for (const key of keys) {
    container = member(container, key);
  }
  if (container === null || typeof container !== "object") {
    throw new Error(`Nothing at ${path}`);
  }
  return [container, last];
}

/**
 * @param {any} container
 * @param {string} key
 */
function member(container, key) {
  const present = Array.isArray(container)
    ? indexIn(container, key, container.length - 1) >= 0
    : container !== null && typeof container === "object" && Object.hasOwn(container, key);
  if (!present) {
    throw new Error(`Nothing at ${key}`);
  }
  return container[key];
}

/**
 * @param {any[]} list
 * @param {string} key
 * @param {number} last
 */
function indexIn(list, key, last) {
  if (!/^(0|[1-9]\d*)$/.test(key) || Number(key) > last) {
    throw new Error(`No index ${key} in a list of ${list.length}`);
  }
  return Number(key);
}

/**
 * @param {any} root
 * @param {string} path
 */
function read(root, path) {
  const [container, key] = locate(root, path);
  return member(container, key);
}

/**
 * @param {any} root
 * @param {string} path
 * @param {any} value
 */
function add(root, path, value) {
  const [container, key] = locate(root, path);
  if (Array.isArray(container)) {
    const index = key === "-" ? container.length : indexIn(container, key, container.length);
    container.splice(index, 0, value);
  } else {
    put(container, key, value);
  }
}

/**
 * @param {any} root
 * @param {string} path
 */
function remove(root, path) {
  const [container, key] = locate(root, path);
  const value = member(container, key);
  if (Array.isArray(container)) {
    container.splice(Number(key), 1);
  } else {
    delete container[key];
  }
  return value;
}

/**
 * @param {any} root
 * @param {string} path
 * @param {any} value
 */
function replace(root, path, value) {
  const [container, key] = locate(root, path);
  member(container, key);
  put(container, key, value);
}

/**
 * Not by assignment, which would set the prototype if the key is `__proto__`.
 *
 * @param {any} container
 * @param {string} key
 * @param {any} value
 */
function put(container, key, value) {
  Object.defineProperty(container, key, {
    value,
    configurable: true,
    enumerable: true,
    writable: true,
  });
}

/**
 * @param {any} root
 * @param {string} path
 * @param {any} value
 */
function test(root, path, value) {
  if (!isEqual(read(root, path), value)) {
    throw new Error(`Not as expected at ${path}`);
  }
}

/**
 * @param {any} a
 * @param {any} b
 * @returns {boolean}
 */
function isEqual(a, b) {
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") {
    return a === b;
  }
  const keys = Object.keys(a);
  return (
    Array.isArray(a) === Array.isArray(b) &&
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]))
  );
}

// --- What the page is told

/** One line at the bottom of the page, out of the reach of the page's own styles. */
class Banner {
  /** @type {HTMLElement | null} */
  #element = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /**
   * @param {string} message
   * @param {() => void} [again]
   */
  show(message, again) {
    this.hide();
    const element = document.createElement("div");
    element.setAttribute("data-canvas-banner", "");
    element.setAttribute("role", "status");
    element.style.cssText =
      "all: initial; position: fixed; inset: auto 0 12px; z-index: 2147483647; " +
      "display: flex; justify-content: center; pointer-events: none;";
    const box = document.createElement("div");
    box.style.cssText =
      "display: flex; gap: 10px; align-items: center; box-sizing: border-box; " +
      "max-width: calc(100% - 24px); padding: 6px 12px; border-radius: 6px; " +
      "background: #25292e; color: #fff; font: 13px/1.5 system-ui, sans-serif; " +
      "box-shadow: 0 2px 8px rgb(0 0 0 / 30%); pointer-events: auto;";
    box.append(message);
    if (again !== undefined) {
      box.append(this.#button(again));
    }
    element.append(box);
    // The document, not its body: a page that renders into the body would wipe it out.
    document.documentElement.append(element);
    this.#element = element;
  }

  /**
   * @param {string} message
   * @param {number} afterMs
   */
  showLater(message, afterMs) {
    if (this.#element === null && this.#timer === undefined) {
      this.#timer = setTimeout(() => this.show(message), afterMs);
    }
  }

  hide() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#element?.remove();
    this.#element = null;
  }

  /** @param {() => void} again */
  #button(again) {
    const button = document.createElement("button");
    button.textContent = "Try again";
    button.style.cssText =
      "all: revert; padding: 2px 8px; border: 1px solid #9198a1; border-radius: 6px; " +
      "background: transparent; color: inherit; font: inherit; cursor: pointer;";
    button.addEventListener("click", again);
    return button;
  }
}

/**
 * Say what to write instead of what the content security policy blocked.
 *
 * @param {{effectiveDirective: string | null, blockedURI?: string | null, blockedURL?: string | null}} violation
 */
function explain(violation) {
  const directive = violation.effectiveDirective ?? "";
  const blocked = violation.blockedURI ?? violation.blockedURL ?? "";
  console.warn(`canvas.js: the page's security policy blocked something. ${remedy(directive, blocked)}`);
}

/**
 * @param {string} directive
 * @param {string} blocked
 */
function remedy(directive, blocked) {
  if (directive === "script-src-attr") {
    return (
      "An event handler was written into HTML at run time (innerHTML = '<b onclick=…>'). " +
      "Use element.addEventListener('click', …) instead; handlers in the page's own file work."
    );
  }
  if (blocked === "eval" || blocked === "wasm-eval") {
    return "eval and new Function are not available: call a function instead.";
  }
  if (blocked === "inline") {
    return (
      "A script was added at run time. Put it into the page's file, or into a .js file beside it."
    );
  }
  if (directive === "base-uri") {
    return "Remove the <base> element: relative URLs work as they are.";
  }
  if (directive === "form-action") {
    return "A form may only be sent to the canvas itself. Handle its submit event instead.";
  }
  return (
    `${directive} does not allow ${blocked}. Copy the file into the page's folder, or allow its ` +
    `origin: create_canvas(…, csp={"${directive.replace(/-(elem|attr)$/, "")}": ["https://…"]}).`
  );
}

if (typeof ReportingObserver === "function") {
  // Buffered: what was blocked before this module ran is reported as well.
  const observer = new ReportingObserver(
    (reports) => reports.forEach((report) => explain(/** @type {any} */ (report.body))),
    { types: ["csp-violation"], buffered: true },
  );
  observer.observe();
} else {
  globalThis.document?.addEventListener("securitypolicyviolation", explain);
}
