/** The panels of one instance: a page in a frame each, as wide as somebody wants it. */

import { h } from "./dom.js";
import { addLine } from "./log.js";
import { model } from "./model.js";
import { pageTheme } from "./theme.js";

/** Milliseconds after which a page that has loaded and not greeted us never will. */
const PATIENCE_MS = 2000;

/** By window, who greets us: a page cannot say who it is, but its window can. */
const byWindow = new WeakMap();

window.addEventListener("message", (event) => {
  const page = event.source && byWindow.get(event.source);
  if (page && event.origin === page.origin) page.hear(event.data);
});

/** One page in one frame. */
class Page {
  constructor(url, owner) {
    this.origin = new URL(url).origin;
    this.owner = owner;
    this.isListening = false;
    this.isDeaf = false;
    this.iframe = h("iframe", {
      src: url,
      title: owner.name,
      // Its own origin, and no way to lead this page elsewhere.
      sandbox: "allow-scripts allow-same-origin allow-forms allow-popups allow-popups-to-escape-sandbox allow-downloads allow-modals",
      allow: "clipboard-read; clipboard-write; fullscreen",
      referrerPolicy: "no-referrer",
      on: { load: () => this.wait() },
    });
    this.size = h("output", { class: "width" });
    this.element = h("div", { class: "viewport" }, this.iframe, this.size);
    this.observer = new ResizeObserver(() => (this.size.textContent = `${this.iframe.clientWidth} px`));
    this.observer.observe(this.iframe);
  }

  attach() {
    byWindow.set(this.iframe.contentWindow, this);
  }

  load(url) {
    this.isListening = this.isDeaf = false;
    this.iframe.src = url;
  }

  wait() {
    setTimeout(() => {
      if (this.isListening || !this.element.isConnected) return;
      this.isDeaf = true;
      this.owner.onChange();
    }, PATIENCE_MS);
  }

  /** What `development.js` says in the page. It is only ever shown. */
  hear(data) {
    if (data?.canvasProvider === "hello") {
      this.isListening = true;
      this.isDeaf = false;
      this.owner.onChange();
      // After the first paint, as in the app.
      requestAnimationFrame(() => requestAnimationFrame(() => this.wear()));
    } else if (data?.canvasProvider === "blocked") {
      const where = data.file ? ` (${data.file}${data.line ? `:${data.line}` : ""})` : "";
      const sample = data.sample ? `: ${data.sample}` : "";
      addLine("page", "warning", `${this.owner.name}: its content security policy, ${data.directive}, blocked ${data.blocked || "something"}${where}${sample}`);
    }
  }

  wear() {
    this.iframe.contentWindow?.postMessage({ canvasProvider: "theme", theme: pageTheme(this.owner.theme) }, this.origin);
  }

  remove() {
    this.observer.disconnect();
    this.element.remove();
  }
}

/** All panels of an instance. Made once and kept: to move or remake one would reload its page. */
export class Frame {
  /** @param {string} id @param {() => void} onChange */
  constructor(id, onChange) {
    this.id = id;
    this.name = id;
    this.onChange = onChange;
    /** @type {"none" | "light" | "dark"} */
    this.theme = "none";
    /** Pixels, or null for all there is. @type {number | null} */
    this.width = null;
    /** @type {Page[]} */
    this.pages = [];
    this.url = undefined;
    this.isAway = false;
    this.veil = h("div", { class: "veil" });
    this.card = h("div", { class: "notice", hidden: true });
    this.row = h("div", { class: "viewports" });
    this.element = h("div", { class: "frame", role: "tabpanel" }, this.row, this.card, this.veil);
  }

  show(instance) {
    this.name = instance.title || this.id;
    this.element.setAttribute("aria-label", this.name);
    if (instance.isReady) this.showPages(instance);
    this.isAway = !instance.isReady;
    this.veil.hidden = instance.isReady;
    this.veil.replaceChildren(h("p", {}, model.status.phase === "starting" ? "The extension is starting…" : "The extension is not running. This canvas comes back with it."));
  }

  showPages(instance) {
    const url = instance.url ?? null;
    const canFrame = isFrameable(url);
    // One that has come back is loaded again, also where its address is the same.
    if (url !== this.url || this.isAway) {
      for (const page of this.pages.splice(0)) page.remove();
      this.url = url;
    }
    this.card.hidden = canFrame;
    if (!canFrame) this.card.replaceChildren(...describePage(url));
    const count = canFrame ? (instance.panels ?? 1) : 0;
    while (this.pages.length > count) this.pages.pop().remove();
    while (this.pages.length < count) {
      const page = new Page(url, this);
      this.pages.push(page);
      this.row.append(page.element);
      page.attach();
    }
    this.fit();
  }

  /** Load the pages again, and nothing else. */
  reload() {
    for (const page of this.pages) page.load(this.url);
  }

  setWidth(width) {
    this.width = width;
    this.fit();
  }

  fit() {
    for (const { element } of this.pages) {
      element.classList.toggle("full", this.width === null);
      element.style.width = this.width === null ? "" : `${this.width}px`;
    }
  }

  setTheme(theme) {
    this.theme = theme;
    for (const page of this.pages) page.wear();
  }

  get isDeaf() {
    return this.pages.some((page) => page.isDeaf);
  }
}

function describePage(url) {
  if (url === null) return [h("p", {}, "This canvas has no page: opening it returned no URL."), h("p", { class: "faint" }, "Its actions work all the same.")];
  const link = /^https?:/i.test(url) ? h("a", { href: url, target: "_blank", rel: "noreferrer" }, url) : h("code", {}, url);
  return [h("p", {}, "The panel shows pages of this machine only. This one is elsewhere:"), h("p", {}, link)];
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
