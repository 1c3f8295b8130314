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
 * @property {Date | null} time When it was changed; null for a snapshot.
 * @property {number | null} reverts The revision that this one undid, if it is an undo or a redo.
 */

/**
 * Work that takes long: what a handler's `ctx.progress(…)` has come to.
 *
 * @typedef {object} Work
 * @property {string} id Tells it from others that run at the same time.
 * @property {string} title
 * @property {string} message What is being done now; `""` if nothing was said.
 * @property {number} done
 * @property {number | null} total `null`: nobody knows how much there is to do.
 * @property {"running" | "done" | "failed" | "cancelled" | "lost"} status `lost`: the line was
 *   down, and nobody told this page how it ended.
 * @property {"agent" | "person" | "system"} author Whose call it is part of.
 * @property {string | null} action The action that was called, if one was.
 */

/**
 * `offline`: the extension is there, but cannot reach the store. What is shown is the latest that it
 * knows, and actions that change the state fail with `store_unavailable`.
 *
 * @typedef {"connecting" | "live" | "offline" | "reconnecting" | "closed"} Status
 */

/**
 * Who has the state open: how many panels, here and elsewhere, and whose they are.
 *
 * @typedef {object} Presence
 * @property {number} count 1 while this panel is alone, or nobody knows of others.
 * @property {string[]} names Each once; none while this panel has always been alone.
 */

/** @typedef {null | boolean | number | string | any[] | {[key: string]: any}} JSONValue */

/** @typedef {{ifMatch?: number}} CallOptions Refuse unless the state is at this revision. */

/**
 * @typedef {{
 *   [name: string]: (input?: JSONValue, options?: CallOptions) => Promise<any>
 * }} Actions
 */

const BASE = new URL("./", import.meta.url);

const RESERVED = new Set([
  "snapshot", "patch", "store", "presence", "progress", "closed", "open", "error", "message",
]);

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
/** How long a call waits at most until the page has seen what it did. */
const CATCH_UP_MS = 2_000;
/** The extension tells of every work at least every ten seconds. */
const SILENCE_MS = 30_000;

/** An action that was refused or failed. `code` is the extension's, or one of ours. */
export class CanvasError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {number} [status] The HTTP status, if there was an answer.
   * @param {number} [revision] For `revision_conflict`: the revision that the state is at.
   */
  constructor(code, message, status, revision) {
    super(message);
    this.name = "CanvasError";
    this.code = code;
    this.status = status;
    this.revision = revision;
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
  /** @type {Presence} */
  #presence = ALONE;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #alone;
  /** @type {Set<(presence: Presence) => void>} */
  #presenceListeners = new Set();
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
  /** Whether the line was given up, and may be tried again. */
  #lost = false;
  /** Calls that wait for the state to be where they left it. @type {Set<Waiter>} */
  #waiters = new Set();
  /** Ends the listening to the browser. */
  #leave = new AbortController();
  #banner;
  #works;

  /** @param {ConnectOptions} [options] */
  constructor(options = {}) {
    refuseUnknown(options, ["banner", "progress"], "connect");
    this.#banner = options.banner === false ? null : new Banner();
    this.#works = new Works(options.progress === false ? null : new Bars());
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
      this.#followBrowser();
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
      throw new Error(
        `"${name}" is an event of the connection itself: use subscribe, onStatus, onPresence or ` +
          "onProgress.",
      );
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

  /** Who has the state open; see {@link onPresence}. */
  get presence() {
    return this.#presence;
  }

  /**
   * Call `listener` with who has the state open now, and whenever somebody comes or goes.
   *
   * @param {(presence: Presence) => void} listener
   * @returns {() => void} Stops the calls.
   */
  onPresence(listener) {
    this.#presenceListeners.add(listener);
    notify([listener], this.#presence);
    return () => void this.#presenceListeners.delete(listener);
  }

  /**
   * Call `listener` for each work that runs now, and whenever one begins, goes on or ends.
   *
   * @param {(work: Work, running: Work[]) => void} listener Gets what is new, and all that run.
   * @returns {() => void} Stops the calls.
   */
  onProgress(listener) {
    return this.#works.listen(listener);
  }

  /**
   * Call an action by name; `actions.NAME(input)` is the same.
   *
   * When the promise resolves, {@link state} holds what the action did, and every subscriber has
   * been told; when it is rejected with `revision_conflict`, what was in the way. If the line is
   * slow or down, that may come later: a call waits two seconds at most.
   *
   * @param {string} name
   * @param {JSONValue} [input]
   * @param {CallOptions} [options]
   * @returns {Promise<any>}
   */
  async call(name, input = null, options = {}) {
    refuseUnknown(options, ["ifMatch"], name);
    /** @type {Record<string, string>} */
    const headers = { "Content-Type": "application/json" };
    if (options.ifMatch !== undefined) {
      // Of the document that is shown: after a reset, the same number is another's.
      headers["If-Match"] = `"${options.ifMatch}${epochOf(this.#version)}"`;
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
      const { code = "error", message = response.statusText, revision } = answer?.error ?? {};
      if (revision !== undefined) await this.#reach(revision);
      throw new CanvasError(code, message, response.status, revision);
    }
    await this.#reach(answer.revision);
    return answer.result;
  }

  /**
   * Wait until the page has seen a revision.
   *
   * @param {number} revision
   * @returns {Promise<void>}
   */
  #reach(revision) {
    if (this.#status !== "live" || this.#revision === null || this.#revision >= revision) {
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const waiter = { revision, resolve };
      this.#waiters.add(waiter);
      setTimeout(() => this.#release(waiter), CATCH_UP_MS);
    });
  }

  /** @param {Waiter} waiter */
  #release(waiter) {
    this.#waiters.delete(waiter);
    waiter.resolve();
  }

  /** @param {boolean} all Also those that wait for what will not come. */
  #releaseWaiters(all) {
    for (const waiter of this.#waiters) {
      if (all || waiter.revision <= /** @type {number} */ (this.#revision)) {
        this.#release(waiter);
      }
    }
  }

  /** Leave: no more calls of listeners, no more connection. */
  close() {
    this.#end(null);
    this.#leave.abort();
    this.#subscribers.clear();
    this.#eventListeners.clear();
    this.#works.close();
  }

  /** A page that is put away and taken out again finds its line dead, and its timers late. */
  #followBrowser() {
    const { signal } = this.#leave;
    addEventListener("pagehide", () => this.#rest(), { signal });
    addEventListener("pageshow", (event) => event.persisted && this.#hurry(), { signal });
    addEventListener("online", () => this.#hurry(), { signal });
    document.addEventListener(
      "visibilitychange",
      () => document.visibilityState === "visible" && this.#hurry(),
      { signal },
    );
  }

  /** With an open line, a browser keeps no page for the way back. */
  #rest() {
    if (this.#source !== null) {
      clearTimeout(this.#timer);
      this.#source.close();
      this.#source = null;
      this.#works.doubt();
      this.#setStatus(this.#revision === null ? "connecting" : "reconnecting");
    }
  }

  /** Try now what would be tried later, or was given up. */
  #hurry() {
    if (this.#lost) {
      this.#again();
    } else if (this.#status !== "closed" && this.#source === null) {
      clearTimeout(this.#timer);
      this.#open();
    }
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
    source.addEventListener("store", (event) => this.#onStore(JSON.parse(event.data).online));
    source.addEventListener("presence", (event) => this.#onPresence(JSON.parse(event.data)));
    source.addEventListener("progress", (event) => this.#works.hear(JSON.parse(event.data)));
    source.addEventListener("closed", (event) => this.#onClosed(JSON.parse(event.data).reason));
    for (const name of this.#eventListeners.keys()) {
      source.addEventListener(name, this.#onEmitted);
    }
  }

  #onOpen() {
    this.#openedAt = Date.now();
    this.#wasLive = true;
    // What still runs is told again at once.
    this.#works.doubt();
    // So is that the store is away, and who is here besides us, if anybody is.
    this.#onStore(true);
    if (this.#presence.count > 1) {
      this.#alone = setTimeout(() => this.#onPresence(ALONE), PATIENCE_MS);
    }
  }

  /** @param {boolean} online */
  #onStore(online) {
    this.#setStatus(online ? "live" : "offline");
    if (!online) {
      this.#banner?.show(OFFLINE);
    }
  }

  /** @param {Presence} presence */
  #onPresence(presence) {
    clearTimeout(this.#alone);
    if (JSON.stringify(presence) !== JSON.stringify(this.#presence)) {
      this.#presence = presence;
      notify(this.#presenceListeners, presence);
    }
  }

  /**
   * @param {{revision: number, state: any}} data
   * @param {string} version
   */
  #onSnapshot({ revision, state }, version) {
    // A lower revision is as good as any: the store was reset.
    const isOther = epochOf(version) !== epochOf(this.#version);
    this.#state = state;
    this.#revision = revision;
    this.#version = version || String(revision);
    notify(this.#subscribers, state, snapshotOf(revision));
    this.#releaseWaiters(isOther);
  }

  /**
   * @param {{revision: number, previous?: number, ops: Operation[], author: Change["author"],
   *   action: string | null, time: number, reverts?: number}} data
   * @param {string} version
   */
  #onPatch(data, version) {
    const { revision, previous = revision - 1, ops, author, action, reverts = null } = data;
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
    const time = new Date(1000 * data.time);
    const change = { kind: "patch", revision, paths, author, action, time, reverts };
    notify(this.#subscribers, this.#state, change);
    this.#releaseWaiters(false);
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
    this.#works.doubt();
    this.#failures += 1;
    if (this.#failures === 1 && this.#revision === null) {
      this.#readOnce();
    }
    if (this.#failures > this.#attempts) {
      const onlyRead = !this.#wasLive && this.#revision !== null;
      this.#end(onlyRead ? NO_LIVE_UPDATES : LOST, () => this.#again());
      this.#lost = true;
      return;
    }
    this.#setStatus(this.#revision === null ? "connecting" : "reconnecting");
    this.#banner?.showLater(RECONNECTING, PATIENCE_MS);
    this.#timer = setTimeout(() => this.#open(), delayAfter(this.#failures));
  }

  #again() {
    // A second click would open a second stream.
    if (this.#status !== "closed") return;
    this.#lost = false;
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
    this.#lost = false;
    this.#source?.close();
    this.#source = null;
    clearTimeout(this.#alone);
    this.#works.lose();
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
      this.#releaseWaiters(true);
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

/** @type {Presence} */
const ALONE = { count: 1, names: [] };

const OFFLINE = "Offline: the state cannot be reached. Changes are not saved now.";
const CLOSED = "This canvas was closed.";
const RECONNECTING = "Reconnecting…";
const LOST = "The connection to the extension was lost. Reopen this canvas from the chat.";
const NO_LIVE_UPDATES = "No live updates here: reload to see changes.";
const SANDBOXED =
  "This frame is sandboxed without allow-same-origin, so the page cannot reach its extension. " +
  "Add allow-same-origin to the frame's sandbox attribute, or open the address by itself.";

/**
 * @typedef {object} ConnectOptions
 * @property {boolean} [banner] `false` if the page shows `status` itself.
 * @property {boolean} [progress] `false` if the page shows what {@link Canvas.onProgress} tells.
 */

/** @typedef {{revision: number, resolve: () => void}} Waiter */

/**
 * Connect to the canvas this page belongs to.
 *
 * @param {ConnectOptions} [options]
 * @returns {Canvas}
 */
export function connect(options) {
  return new Canvas(options);
}

/**
 * A misspelt option would be one that is silently not heeded. `array.map(canvas.actions.add)`
 * passes an index, which has none.
 *
 * @param {object} options
 * @param {string[]} known
 * @param {string} whose
 */
function refuseUnknown(options, known, whose) {
  const unknown = Object.keys(options ?? {}).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(`${whose} has no option "${unknown}": it takes ${known.join(" and ")}.`);
  }
}

/** @param {string} version */
function epochOf(version) {
  return version.replace(/^\d+/, "");
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
  return {
    kind: "snapshot", revision, paths: [""], author: null, action: null, time: null, reverts: null,
  };
}

/**
 * Call every listener; one that throws stops neither the others nor the stream. One that another
 * has unsubscribed just now is not called.
 *
 * @param {Set<(...args: any[]) => void> | ((...args: any[]) => void)[]} listeners
 * @param {...any} args
 */
function notify(listeners, ...args) {
  for (const listener of [...listeners]) {
    if (listeners instanceof Set && !listeners.has(listener)) continue;
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

// --- Long work

/** What runs, as far as this page knows. */
class Works {
  /** @type {Map<string, Work>} */
  #running = new Map();
  /** When to stop believing in each, by `Date.now()`. @type {Map<string, number>} */
  #until = new Map();
  /** @type {Set<(work: Work, running: Work[]) => void>} */
  #listeners = new Set();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #bars;

  /** @param {Bars | null} bars */
  constructor(bars) {
    this.#bars = bars;
  }

  /**
   * @param {(work: Work, running: Work[]) => void} listener
   * @returns {() => void}
   */
  listen(listener) {
    this.#listeners.add(listener);
    for (const work of this.#running.values()) {
      notify([listener], work, [...this.#running.values()]);
    }
    return () => void this.#listeners.delete(listener);
  }

  /** @param {Work} work */
  hear(work) {
    if (work.status === "running") {
      this.#running.set(work.id, work);
      this.#until.set(work.id, Date.now() + SILENCE_MS);
    } else {
      this.#running.delete(work.id);
      this.#until.delete(work.id);
    }
    this.#watch();
    this.#bars?.show(work);
    notify(this.#listeners, work, [...this.#running.values()]);
  }

  /** The line is another: what is not told of again soon is over. */
  doubt() {
    const soon = Date.now() + PATIENCE_MS;
    for (const [id, until] of this.#until) {
      this.#until.set(id, Math.min(until, soon));
    }
    this.#watch();
  }

  /** Nobody will tell any more how they end. */
  lose() {
    for (const work of [...this.#running.values()]) {
      this.hear({ ...work, status: "lost" });
    }
  }

  close() {
    this.#listeners.clear();
    this.#bars?.close();
  }

  #watch() {
    clearTimeout(this.#timer);
    if (this.#until.size > 0) {
      const wait = Math.min(...this.#until.values()) - Date.now();
      this.#timer = setTimeout(() => this.#forget(), Math.max(wait, 0));
    }
  }

  #forget() {
    for (const [id, until] of [...this.#until]) {
      const work = this.#running.get(id);
      if (until <= Date.now() && work !== undefined) {
        this.hear({ ...work, status: "lost" });
      }
    }
    this.#watch();
  }
}

/** Work that is over sooner is not worth a bar. */
const BAR_AFTER_MS = 300;
/** How long the end of a work stays. */
const BAR_STAYS_MS = { done: 1_200, failed: 8_000, cancelled: 5_000, lost: 0, running: 0 };
/** More of them would cover a narrow page. */
const MAX_BARS = 4;

const WORDS = { done: "Done", failed: "Failed", cancelled: "Cancelled", lost: "", running: "" };

const BAR_STYLE = `
  :host {
    all: initial; color-scheme: inherit; position: fixed; z-index: 2147483646;
    inset: auto 12px 12px auto; width: min(20rem, calc(100% - 24px)); pointer-events: none;
  }
  [hidden] { display: none; }
  .list { display: grid; gap: 6px; font: 13px/1.4 var(--font-sans, system-ui, sans-serif);
    color: var(--text-color-default, CanvasText); }
  .work { padding: 8px 10px; border: 1px solid var(--border-color-default, GrayText);
    border-radius: 6px; background: var(--background-color-default, Canvas);
    box-shadow: 0 2px 8px rgb(0 0 0 / 20%); }
  .head { display: flex; gap: 8px; justify-content: space-between; }
  .title, .message { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .count { flex: none; font-variant-numeric: tabular-nums; }
  .count, .message, .more { color: var(--text-color-muted, inherit); }
  .message:empty { display: none; }
  .track { margin-top: 6px; height: 4px; border-radius: 2px; overflow: hidden;
    background: color-mix(in srgb, currentColor 15%, transparent); }
  .fill { height: 100%; background: var(--true-color-blue, Highlight); transform-origin: 0 50%;
    transition: transform 150ms linear; }
  .track:not([aria-valuenow]) .fill { width: 40%; animation: pass 1.5s ease-in-out infinite; }
  @keyframes pass { from { transform: translateX(-100%); } to { transform: translateX(250%); } }
  .work[data-status="done"] .fill { background: var(--true-color-green, Highlight); }
  .work[data-status="failed"] .fill { background: var(--true-color-red, #cf222e); }
  .work[data-status="failed"] .count { color: var(--true-color-red, #cf222e); }
  .work[data-status="cancelled"] .fill { background: var(--text-color-muted, GrayText); }
  .spoken { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
    white-space: nowrap; }
  @media (prefers-reduced-motion: reduce) {
    .fill { transition: none; }
    .track:not([aria-valuenow]) .fill { width: 100%; opacity: 0.5; animation: none; }
  }
  @media (forced-colors: active) {
    .track { outline: 1px solid; }
    .fill { forced-color-adjust: none; background: Highlight; }
  }
`;

/**
 * @typedef {object} Bar
 * @property {HTMLElement} element
 * @property {Work} work
 * @property {ReturnType<typeof setTimeout> | undefined} timer Shows it, or takes it away.
 */

/**
 * The bars in the page's corner. They move nothing and catch no click. In a shadow root, the
 * page's own styles do not reach them, but the theme's tokens do.
 */
class Bars {
  /** @type {Map<string, Bar>} */
  #bars = new Map();
  /** @type {HTMLElement | null} */
  #host = null;
  #list = element("div", "list");
  #more = element("div", "more");
  #spoken = element("div", "spoken", { role: "status", "aria-live": "polite" });

  /** @param {Work} work */
  show(work) {
    let bar = this.#bars.get(work.id);
    if (work.status === "lost") {
      this.#remove(work.id);
    } else if (bar === undefined) {
      if (work.status !== "done") {
        this.#bars.set(work.id, (bar = { element: createBar(), work, timer: undefined }));
        this.#update(bar, work);
      }
    } else if (work.status === "done" && !bar.element.isConnected) {
      this.#remove(work.id);
    } else {
      this.#update(bar, work);
    }
  }

  close() {
    for (const id of [...this.#bars.keys()]) {
      this.#remove(id);
    }
  }

  /**
   * @param {Bar} bar
   * @param {Work} work
   */
  #update(bar, work) {
    const ended = work.status !== "running";
    const wasRunning = bar.work.status === "running";
    bar.work = work;
    paint(bar.element, work);
    if (ended) {
      clearTimeout(bar.timer);
      bar.timer = setTimeout(() => this.#remove(work.id), BAR_STAYS_MS[work.status]);
      this.#append(bar);
      this.#say(`${work.title}: ${WORDS[work.status]}`);
    } else if (!wasRunning || bar.timer === undefined) {
      clearTimeout(bar.timer);
      bar.timer = setTimeout(() => {
        this.#append(bar);
        this.#say(work.title);
      }, BAR_AFTER_MS);
    }
  }

  /** @param {Bar} bar */
  #append(bar) {
    if (bar.element.isConnected) return;
    if (this.#host === null) {
      this.#host = createHost(this.#list, this.#spoken);
    }
    // The document, not its body: a page that renders into the body would wipe it out.
    document.documentElement.append(this.#host);
    this.#list.append(bar.element);
    this.#arrange();
  }

  /** @param {string} id */
  #remove(id) {
    const bar = this.#bars.get(id);
    if (bar === undefined) return;
    clearTimeout(bar.timer);
    this.#bars.delete(id);
    bar.element.remove();
    this.#arrange();
    if (this.#bars.size === 0) {
      this.#host?.remove();
    }
  }

  #arrange() {
    const bars = [...this.#list.children].filter((child) => child !== this.#more);
    bars.forEach((bar, index) => bar.toggleAttribute("hidden", index >= MAX_BARS));
    this.#more.textContent = `and ${bars.length - MAX_BARS} more`;
    this.#more.hidden = bars.length <= MAX_BARS;
    this.#list.append(this.#more);
  }

  /** @param {string} text */
  #say(text) {
    this.#spoken.textContent = text;
  }
}

/** @param {HTMLElement[]} children */
function createHost(...children) {
  // No rule of the page for `div` means it.
  const host = document.createElement("canvas-progress");
  const root = host.attachShadow({ mode: "open" });
  // Not a style element and no style attribute: a policy without 'unsafe-inline' allows this, too.
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(BAR_STYLE);
  root.adoptedStyleSheets = [sheet];
  root.append(...children);
  return host;
}

function createBar() {
  const bar = element("div", "work");
  const head = element("div", "head");
  head.append(element("span", "title"), element("span", "count"));
  const track = element("div", "track", { role: "progressbar", "aria-valuemin": "0" });
  track.append(element("div", "fill"));
  bar.append(head, element("div", "message"), track);
  return bar;
}

/**
 * @param {HTMLElement} bar
 * @param {Work} work
 */
function paint(bar, work) {
  const [head, message, track] = /** @type {HTMLElement[]} */ ([...bar.children]);
  const [title, count] = head.children;
  const ended = work.status !== "running";
  bar.dataset.status = work.status;
  title.textContent = work.title;
  message.textContent = work.message;
  track.setAttribute("aria-label", work.title);
  const fill = /** @type {HTMLElement} */ (track.firstElementChild);
  if (work.total === null && !ended) {
    count.textContent = work.done === 0 ? "" : String(work.done);
    track.removeAttribute("aria-valuenow");
    track.removeAttribute("aria-valuemax");
    fill.style.removeProperty("transform");
  } else {
    const full = work.status === "done" || !work.total;
    const part = full ? 1 : Math.min(Math.max(work.done / /** @type {number} */ (work.total), 0), 1);
    const percent = Math.floor(100 * part);
    count.textContent = WORDS[work.status] || `${percent}%`;
    track.setAttribute("aria-valuemax", "100");
    track.setAttribute("aria-valuenow", String(percent));
    fill.style.transform = `scaleX(${part})`;
  }
  track.setAttribute("aria-valuetext", [count.textContent, work.message].filter(Boolean).join(", "));
}

/**
 * @param {string} tag
 * @param {string} className
 * @param {Record<string, string>} [attributes]
 */
function element(tag, className, attributes = {}) {
  const made = document.createElement(tag);
  made.className = className;
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  return made;
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
