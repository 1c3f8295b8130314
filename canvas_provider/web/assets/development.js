/**
 * What lets the development host put its theme on a page and hear what its policy blocked.
 *
 * `canvas.js` loads it there, and nowhere else. The host's panel cannot look into a page of another
 * origin, nor the page into the panel: they exchange messages. This side greets, takes the
 * documented names and values of a theme, and tells what was blocked to the origin that sent one,
 * which only a window that embeds the page can do.
 */

const ATTRIBUTE = /^(data-(color-mode|dark-theme|light-theme|theme-source|theme-tone|visual-mode))$/;
const VARIABLE = /^--[a-z][a-z0-9-]*$/;

/** @type {Set<string>} What was put on, so that it can be taken off again. */
const given = new Set();

/** @type {object[]} What happened before anybody answered. */
const early = [];

/** @type {((report: object) => void) | null} */
let tell = null;

/** @param {{attributes?: Record<string, string>, variables?: Record<string, string>, scheme?: string} | null} theme */
function wear(theme) {
  const root = document.documentElement;
  const body = document.body;
  for (const name of given) {
    if (name.startsWith("--")) root.style.removeProperty(name);
    else for (const element of [root, body]) element?.removeAttribute(name);
  }
  given.clear();
  root.style.removeProperty("color-scheme");
  root.classList.toggle("pointer-on-hover", theme !== null);
  if (theme === null) return;
  for (const [name, value] of Object.entries(theme.attributes ?? {})) {
    if (!ATTRIBUTE.test(name)) continue;
    for (const element of [root, body]) element?.setAttribute(name, String(value));
    given.add(name);
  }
  for (const [name, value] of Object.entries(theme.variables ?? {})) {
    if (!VARIABLE.test(name)) continue;
    root.style.setProperty(name, String(value));
    given.add(name);
  }
  if (theme.scheme) root.style.colorScheme = theme.scheme;
}

/** @param {{effectiveDirective?: string, blockedURI?: string, blockedURL?: string, sourceFile?: string, lineNumber?: number, sample?: string}} violation */
function report(violation) {
  const told = {
    directive: String(violation.effectiveDirective ?? ""),
    blocked: shorten(violation.blockedURI ?? violation.blockedURL ?? ""),
    file: shorten(violation.sourceFile ?? ""),
    line: violation.lineNumber ?? 0,
    sample: violation.sample ?? "",
  };
  if (tell) tell(told);
  else early.push(told);
}

/** A page's own addresses, without the secret in them. @param {string} address */
function shorten(address) {
  const base = new URL("./", import.meta.url).href;
  return address.startsWith(base) ? address.slice(base.length) : address;
}

if (window.parent !== window) {
  window.addEventListener("message", (event) => {
    if (event.source !== window.parent || event.data?.canvasProvider !== "theme") return;
    if (tell === null) {
      const { origin } = event;
      tell = (told) => window.parent.postMessage({ canvasProvider: "blocked", ...told }, origin);
      early.splice(0).forEach(tell);
    }
    wear(event.data.theme ?? null);
  });
  if ("ReportingObserver" in window) {
    // Also what was blocked before this file was loaded.
    const take = (/** @type {any[]} */ reports) => reports.forEach((each) => report(each.body));
    new ReportingObserver(take, { types: ["csp-violation"], buffered: true }).observe();
  } else {
    document.addEventListener("securitypolicyviolation", report);
  }
  // To whoever it is: it says nothing.
  window.parent.postMessage({ canvasProvider: "hello" }, "*");
}
