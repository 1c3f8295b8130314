/** The panel: what the host tells goes into `model`, and from there to the parts of the page. */

import { Batch, find, h, showDuration, showJSON, showTime } from "./dom.js";
import { BadField, InputForm } from "./form.js";
import { Refused, listen, send } from "./host.js";
import { Traffic } from "./traffic.js";

const model = {
  extension: { id: "", name: "", script: "" },
  status: { phase: "starting", detail: "", pid: null },
  /** What the extension declares. @type {any[]} */
  canvases: [],
  /** What is open, also while the extension is away. @type {any[]} */
  instances: [],
  /** @type {{source: string, level: string, text: string, time: number}[]} */
  log: [],
  /** The last line before the extension's latest start: what stands above it is of an earlier run. */
  lastLineBefore: undefined,
  /** The instance in front. @type {string | null} */
  selected: null,
  isHostThere: true,
};

const traffic = new Traffic();

/** Frames are made once and kept: moving or remaking one would reload its page. */
const frames = new Map();

const canvasOf = (instance) =>
  model.canvases.find((each) => each.extensionId === instance.extensionId && each.canvasId === instance.canvasId);

const selectedInstance = () => model.instances.find((each) => each.instanceId === model.selected);

// The top.

const STATUS = { starting: "starting…", ready: "running", failed: "stopped", stopped: "stopped" };

function showStatus() {
  const { phase, pid } = model.status;
  const status = find("status");
  status.className = `status ${model.isHostThere ? phase : "failed"}`;
  status.textContent = model.isHostThere ? STATUS[phase] : "host has ended";
  status.title = phase === "ready" ? `Process ${pid}` : model.status.detail;
  find("reload").disabled = phase === "starting" || !model.isHostThere;
  document.title = `${model.extension.name} · canvas development host`;
}

async function reload() {
  try {
    await send("reload");
  } catch (error) {
    report(error);
  }
}

// The left side.

function showCanvases() {
  const cards = model.canvases.map((canvas) =>
    h(
      "li",
      { class: "card" },
      h("strong", {}, canvas.displayName),
      h("code", { class: "faint" }, canvas.canvasId),
      h("p", {}, canvas.description),
      h(
        "div",
        { class: "row-buttons" },
        h("button", { on: { click: () => openDialog(canvas) } }, "Open…"),
        h("span", { class: "faint" }, actionCount(canvas)),
      ),
    ),
  );
  const none = h("li", { class: "faint pad" }, model.status.phase === "ready" ? "The extension declares none." : "Known when the extension runs.");
  find("canvases").replaceChildren(...(cards.length ? cards : [none]));
}

function actionCount(canvas) {
  const count = canvas.actions?.length ?? 0;
  return count === 1 ? "1 action" : `${count} actions`;
}

// The middle.

function showTabs() {
  const tabs = model.instances.map((instance) =>
    h(
      "div",
      { class: `tab ${instance.isReady ? "" : "away"}`, data: { instance: instance.instanceId } },
      h(
        "button",
        {
          role: "tab",
          class: "tab-name",
          tabIndex: instance.instanceId === model.selected ? 0 : -1,
          title: `${instance.title ?? ""} (${instance.instanceId})`,
          aria: { selected: String(instance.instanceId === model.selected) },
          on: { click: () => select(instance.instanceId) },
        },
        instance.title || instance.instanceId,
        instance.status ? h("small", {}, instance.status) : null,
      ),
      h("button", { class: "quiet", title: "Close this canvas (W)", aria: { label: `Close ${instance.instanceId}` }, on: { click: () => close(instance.instanceId) } }, "×"),
    ),
  );
  find("tabs").replaceChildren(...tabs);
  find("tabs").hidden = tabs.length === 0;
}

function moveBetweenTabs(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step === undefined) return;
  const at = model.instances.findIndex((each) => each.instanceId === model.selected);
  const next = model.instances[(at + step + model.instances.length) % model.instances.length];
  select(next.instanceId);
  find("tabs").querySelector('[aria-selected="true"]').focus();
}

function showFrames() {
  const known = new Set(model.instances.map((each) => each.instanceId));
  for (const [id, frame] of frames) {
    if (known.has(id)) continue;
    frame.element.remove();
    frames.delete(id);
  }
  for (const instance of model.instances) {
    const frame = frames.get(instance.instanceId) ?? addFrame(instance.instanceId);
    frame.show(instance);
    frame.element.hidden = instance.instanceId !== model.selected;
  }
  showBlank();
}

function addFrame(id) {
  const veil = h("div", { class: "veil" });
  const element = h("div", { class: "frame", role: "tabpanel" }, veil);
  let inner = null;
  let shown;
  const frame = {
    element,
    show(instance) {
      element.setAttribute("aria-label", instance.title || id);
      const url = instance.url ?? null;
      if (shown !== url && instance.isReady) {
        shown = url;
        inner?.remove();
        inner = isFrameable(url) ? pageFrame(url, instance) : pageCard(url);
        element.prepend(inner);
      }
      veil.hidden = instance.isReady;
      veil.replaceChildren(h("p", {}, model.status.phase === "starting" ? "The extension is starting…" : "The extension is not running. This canvas comes back with it."));
    },
  };
  frames.set(id, frame);
  find("frames").append(element);
  return frame;
}

function pageFrame(url, instance) {
  return h("iframe", {
    src: url,
    title: instance.title || instance.instanceId,
    // Its own origin, and no way to lead this page elsewhere.
    sandbox: "allow-scripts allow-same-origin allow-forms allow-popups allow-popups-to-escape-sandbox allow-downloads allow-modals",
    allow: "clipboard-read; clipboard-write; fullscreen",
    referrerPolicy: "no-referrer",
  });
}

function pageCard(url) {
  if (url === null) return h("div", { class: "notice" }, h("p", {}, "This canvas has no page: opening it returned no URL."), h("p", { class: "faint" }, "Its actions work all the same."));
  const link = /^https?:/i.test(url) ? h("a", { href: url, target: "_blank", rel: "noreferrer" }, url) : h("code", {}, url);
  return h("div", { class: "notice" }, h("p", {}, "The panel shows pages of this machine only. This one is elsewhere:"), h("p", {}, link));
}

function isFrameable(url) {
  if (url === null) return false;
  try {
    const { protocol, hostname } = new URL(url);
    return protocol === "http:" && (hostname === "127.0.0.1" || hostname === "localhost");
  } catch {
    return false;
  }
}

/** What stands in the middle when nothing is open, and above it when something is wrong. */
function showBlank() {
  const blank = find("blank");
  const isFailed = model.status.phase === "failed";
  blank.hidden = model.instances.length > 0 && !isFailed;
  blank.classList.toggle("over", model.instances.length > 0);
  if (blank.hidden) return;
  if (isFailed) {
    blank.replaceChildren(...failure());
    // What to do about it stands at the end.
    for (const words of blank.querySelectorAll(".last-words")) words.scrollTop = words.scrollHeight;
  } else if (model.status.phase !== "ready") blank.replaceChildren(h("div", { class: "spinner" }), h("p", {}, "Starting the extension…"));
  else if (model.canvases.length === 0) blank.replaceChildren(h("h2", {}, "No canvas yet"), h("p", {}, "The extension has joined, but it declares no canvas. Pass what create_canvas() returns to run()."));
  else blank.replaceChildren(...invitation());
}

function failure() {
  const run = model.log.slice(model.log.indexOf(model.lastLineBefore) + 1);
  const stderr = run.filter((line) => line.source === "stderr").slice(-60);
  return [
    h("h2", { class: "bad" }, "The extension is not running"),
    h("p", {}, model.status.detail),
    stderr.length ? h("pre", { class: "last-words", tabIndex: 0, aria: { label: "Its last output" } }, stderr.map((line) => line.text).join("\n")) : h("p", { class: "faint" }, "It wrote nothing to stderr."),
    h("div", { class: "row-buttons" }, h("button", { class: "primary", on: { click: reload } }, "Reload extension"), h("code", { class: "faint" }, model.extension.script)),
  ];
}

function invitation() {
  const last = model.log.findLast((line) => line.source === "host");
  return [
    h("h2", {}, "Nothing is open"),
    last?.level === "error" ? h("p", { class: "refusal" }, last.text) : null,
    h("p", {}, "Open a canvas, as an agent would:"),
    h("div", { class: "row-buttons centre" }, ...model.canvases.map((canvas) => h("button", { class: "primary", on: { click: () => openDialog(canvas) } }, canvas.displayName))),
  ].filter(Boolean);
}

function select(id) {
  model.selected = id;
  showTabs();
  showFrames();
  showInspector();
}

async function close(id) {
  try {
    await send("close", { instanceId: id });
  } catch (error) {
    report(error);
  }
}

// The right side.

let inspected = "";

function showInspector() {
  const inspector = find("inspector");
  const instance = selectedInstance();
  inspector.hidden = instance === undefined;
  document.body.classList.toggle("no-inspector", instance === undefined);
  if (instance === undefined) {
    inspected = "";
    return;
  }
  const canvas = canvasOf(instance);
  const actions = canvas?.actions ?? [];
  // Rebuilt only for another declaration: what is half typed has to stay.
  const identity = JSON.stringify([instance.instanceId, canvas ?? null]);
  if (identity !== inspected && (canvas || !inspected.startsWith(`["${instance.instanceId}"`))) {
    inspected = identity;
    const list = actions.length
      ? actions.map((action) => actionPanel(instance.instanceId, action, actions.length === 1))
      : [h("p", { class: "faint pad" }, "This canvas has no actions for the agent.")];
    inspector.replaceChildren(h("div", { id: "facts" }), h("h2", {}, "Actions"), h("div", { class: "actions" }, ...list));
  }
  find("facts").replaceChildren(...facts(instance, canvas));
}

function facts(instance, canvas) {
  const isLink = instance.url && /^https?:/i.test(instance.url);
  return [
    h("div", { class: "facts-head" }, h("strong", {}, instance.title || instance.instanceId), instance.status ? h("span", { class: "pill" }, instance.status) : null),
    h(
      "dl",
      {},
      h("dt", {}, "instance"), h("dd", {}, h("code", {}, instance.instanceId)),
      h("dt", {}, "canvas"), h("dd", {}, h("code", {}, instance.canvasId)),
      h("dt", {}, "input"), h("dd", {}, h("code", { class: "clip" }, instance.input === undefined ? "none" : JSON.stringify(instance.input))),
    ),
    h(
      "div",
      { class: "row-buttons" },
      isLink ? h("a", { class: "button", href: instance.url, target: "_blank", rel: "noreferrer" }, "Open in a tab") : null,
      canvas ? h("button", { title: "Open it again, with the same or another input", on: { click: () => openDialog(canvas, instance) } }, "Re-open…") : null,
      h("button", { on: { click: () => close(instance.instanceId) } }, "Close"),
    ),
  ];
}

function actionPanel(instanceId, action, isOpen) {
  const form = new InputForm(action.inputSchema);
  const outcome = h("div", { class: "outcome", aria: { live: "polite" } });
  const button = h("button", { class: "primary" }, "Invoke");
  async function invoke(event) {
    event.preventDefault();
    form.clearError();
    const began = performance.now();
    const took = () => h("span", { class: "faint" }, showDuration((performance.now() - began) / 1000));
    button.disabled = true;
    try {
      const input = form.read();
      const result = await send("invoke", { instanceId, actionName: action.name, ...(input === undefined ? {} : { input }) });
      outcome.replaceChildren(h("div", { class: "outcome-head" }, h("span", { class: "good" }, "✓ result"), took()), showJSON(result));
    } catch (error) {
      if (!(error instanceof Refused || error instanceof BadField)) throw error;
      outcome.replaceChildren(error instanceof Refused ? h("div", { class: "outcome-head" }, h("span", { class: "bad" }, "✗ refused"), took()) : "");
      form.showError(error.message, error.pointer);
    } finally {
      button.disabled = false;
      outcome.scrollIntoView({ block: "nearest" });
    }
  }
  return h(
    "details",
    { class: "action", open: isOpen, name: "action", data: { action: action.name } },
    h("summary", {}, h("code", {}, action.name), action.description ? h("span", { class: "faint" }, action.description) : null),
    h("form", { on: { submit: invoke, keydown: submitOnCtrlEnter } }, form.element, h("div", { class: "row-buttons" }, button, h("kbd", { class: "faint" }, "Ctrl Enter"))),
    outcome,
  );
}

function submitOnCtrlEnter(event) {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.currentTarget.requestSubmit();
}

// Opening.

function freeInstanceId(canvas) {
  const base = canvas.canvasId.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "").slice(0, 100) || "canvas";
  const taken = new Set(model.instances.map((each) => each.instanceId));
  for (let number = 1; ; number++) if (!taken.has(`${base}-${number}`)) return `${base}-${number}`;
}

function openDialog(canvas, instance) {
  const dialog = find("open-dialog");
  const form = new InputForm(canvas.inputSchema);
  if (instance?.input !== undefined) {
    form.fields?.write(instance.input);
    form.json.value = JSON.stringify(instance.input, null, 2);
  }
  const id = h("input", { id: "instance-id", value: instance?.instanceId ?? freeInstanceId(canvas), readOnly: instance !== undefined, spellcheck: false, autocomplete: "off" });
  const button = h("button", { class: "primary" }, instance ? "Re-open" : "Open");
  async function submit(event) {
    event.preventDefault();
    form.clearError();
    button.disabled = true;
    try {
      const input = form.read();
      const opened = await send("open", { canvasId: canvas.canvasId, extensionId: canvas.extensionId, instanceId: id.value, ...(input === undefined ? {} : { input }) });
      dialog.close();
      select(opened.instanceId);
    } catch (error) {
      if (!(error instanceof Refused || error instanceof BadField)) throw error;
      form.showError(error.message, error.pointer);
    } finally {
      button.disabled = false;
    }
  }
  dialog.replaceChildren(
    h("h2", {}, instance ? `Re-open ${canvas.displayName}` : `Open ${canvas.displayName}`),
    h("p", { class: "faint" }, canvas.description),
    h(
      "form",
      { on: { submit, keydown: submitOnCtrlEnter } },
      form.element,
      h("div", { class: "field" }, h("label", { class: "label", for: "instance-id" }, "instance"), id, h("p", { class: "note" }, "The name of the panel, chosen by whoever opens it.")),
      h("div", { class: "row-buttons end" }, h("button", { type: "button", on: { click: () => dialog.close() } }, "Cancel"), button),
    ),
  );
  dialog.showModal();
  (form.body.querySelector("input, select, textarea") ?? id).focus();
}

// The lower part.

const MAX_LOG = 2000;

const fresh = new Batch(MAX_LOG, (lines) => {
  model.log = [...model.log, ...lines].slice(-MAX_LOG);
  const log = find("log");
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 30;
  log.append(...lines.map(logLine));
  while (log.childElementCount > MAX_LOG) log.firstElementChild.remove();
  if (atEnd) log.scrollTop = log.scrollHeight;
  showLogCount();
  filterLog();
  showBlank();
});

function logLine(line) {
  return h("div", { class: `log-line ${line.source} ${line.level}` }, h("span", { class: "time" }, showTime(line.time)), h("span", { class: "source" }, line.source), h("span", { class: "text" }, line.text || " "));
}

function showLog(lines) {
  fresh.clear();
  model.log = lines.slice();
  find("log").replaceChildren(...lines.map(logLine));
  showLogCount();
  filterLog();
}

function showLogCount() {
  const count = find("log-count");
  count.textContent = String(model.log.length);
  count.classList.toggle("bad", model.log.some((line) => line.level === "error"));
}

function filterLog() {
  const text = find("filter").value.toLowerCase();
  for (const line of find("log").children) line.hidden = !line.textContent.toLowerCase().includes(text);
}

function showPart(name) {
  for (const each of ["traffic", "log"]) {
    find(each).hidden = each !== name;
    find(`show-${each}`).setAttribute("aria-selected", String(each === name));
    find(`show-${each}`).tabIndex = each === name ? 0 : -1;
  }
  document.body.classList.toggle("shows-log", name === "log");
  unfold(true);
  if (name === "log") find("log").scrollTop = find("log").scrollHeight;
}

function unfold(isOpen) {
  document.body.classList.toggle("folded", !isOpen);
  find("fold").setAttribute("aria-expanded", String(isOpen));
  find("fold").textContent = isOpen ? "Hide" : "Show";
}

function setDrawerHeight(height) {
  const limited = Math.max(90, Math.min(window.innerHeight - 220, height));
  document.body.style.setProperty("--drawer", `${limited}px`);
}

function dragGrip(event) {
  const grip = find("grip");
  grip.setPointerCapture(event.pointerId);
  document.body.classList.add("dragging");
  const move = (at) => setDrawerHeight(window.innerHeight - at.clientY);
  grip.addEventListener("pointermove", move);
  grip.addEventListener("lostpointercapture", () => {
    grip.removeEventListener("pointermove", move);
    document.body.classList.remove("dragging");
  }, { once: true });
}

function report(error) {
  if (!(error instanceof Refused)) throw error;
  fresh.add({ source: "host", level: "error", text: error.message, time: Date.now() / 1000 });
  showPart("log");
}

// Colours.

const SCHEMES = ["system", "light", "dark"];
let scheme = 0;

function showScheme() {
  const name = SCHEMES[scheme];
  if (name === "system") delete document.documentElement.dataset.scheme;
  else document.documentElement.dataset.scheme = name;
  find("theme").textContent = { system: "◐", light: "☀", dark: "☾" }[name];
  find("theme").setAttribute("aria-label", `Colours: ${name}`);
}

// Keys.

const KEYS = {
  o: () => model.canvases.length && openDialog(model.canvases[0]),
  r: () => find("reload").disabled || reload(),
  t: () => unfold(document.body.classList.contains("folded")),
  w: () => model.selected !== null && close(model.selected),
  a: () => find("inspector").querySelector("summary")?.focus(),
  "/": () => find("filter").focus(),
  "?": () => /** @type {HTMLDialogElement} */ (find("help")).showModal(),
};

function pressKey(event) {
  const isTyping = event.target.matches?.("input, select, textarea");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const number = Number(event.key);
  if (number >= 1 && model.instances[number - 1]) select(model.instances[number - 1].instanceId);
  else if (KEYS[event.key]) {
    event.preventDefault();
    KEYS[event.key]();
  }
}

// What the host tells.

function takeCanvases(data) {
  const before = new Set(model.instances.map((each) => each.instanceId));
  model.canvases = data.canvases;
  model.instances = data.instances;
  const fresh = model.instances.find((each) => !before.has(each.instanceId));
  if (fresh) model.selected = fresh.instanceId;
  else if (selectedInstance() === undefined) model.selected = model.instances.at(-1)?.instanceId ?? null;
  showCanvases();
  showTabs();
  showFrames();
  showInspector();
}

function takeStatus(status) {
  if (status.phase === "starting" && model.status.phase !== "starting") model.lastLineBefore = model.log.at(-1);
  model.status = status;
  showStatus();
  showCanvases();
  showFrames();
}

function takeSnapshot(data) {
  model.isHostThere = true;
  model.extension = data.extension;
  find("name").textContent = data.extension.name;
  find("name").title = data.extension.script;
  find("session").textContent = data.session.id.slice(0, 8);
  find("session").title = `Session ${data.session.id}, in ${data.session.workingDirectory}`;
  showLog(data.log);
  traffic.reset(data.traffic);
  takeStatus(data.status);
  takeCanvases(data);
}

function takeLoss() {
  model.isHostThere = false;
  showStatus();
}

listen({
  snapshot: takeSnapshot,
  canvases: takeCanvases,
  status: takeStatus,
  traffic: (entry) => traffic.add(entry),
  log: (line) => fresh.add(line),
  closed: takeLoss,
  lost: takeLoss,
});

find("reload").addEventListener("click", reload);
find("theme").addEventListener("click", () => {
  scheme = (scheme + 1) % SCHEMES.length;
  showScheme();
});
find("help-button").addEventListener("click", () => find("help").showModal());
find("tabs").addEventListener("keydown", moveBetweenTabs);
for (const name of ["traffic", "log"]) find(`show-${name}`).addEventListener("click", () => showPart(name));
find("show-traffic").parentElement.addEventListener("keydown", (event) => {
  if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
  const other = find("traffic").hidden ? "traffic" : "log";
  showPart(other);
  find(`show-${other}`).focus();
});
find("filter").addEventListener("input", (event) => {
  traffic.setFilter({ text: event.target.value });
  filterLog();
});
find("filter").addEventListener("keydown", (event) => event.key === "Escape" && event.target.blur());
find("events").addEventListener("change", (event) => traffic.setFilter({ events: event.target.checked }));
find("clear").addEventListener("click", () => (find("traffic").hidden ? showLog([]) : traffic.reset([])));
find("fold").addEventListener("click", () => unfold(document.body.classList.contains("folded")));
find("grip").addEventListener("pointerdown", dragGrip);
find("grip").addEventListener("keydown", (event) => {
  const step = { ArrowUp: 32, ArrowDown: -32 }[event.key];
  if (step) setDrawerHeight(find("grip").parentElement.offsetHeight + step);
});
document.addEventListener("keydown", pressKey);
showScheme();
showStatus();
