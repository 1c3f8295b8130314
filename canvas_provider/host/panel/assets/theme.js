/** The panel's own colours, and the theme that the Copilot app puts on a page. */

import { find } from "./dom.js";

const SCHEMES = ["system", "light", "dark"];
let scheme = 0;

/** Wire the button that chooses the panel's own colours. */
export function startScheme() {
  find("theme").addEventListener("click", () => {
    scheme = (scheme + 1) % SCHEMES.length;
    showScheme();
  });
  showScheme();
}

function showScheme() {
  const name = SCHEMES[scheme];
  if (name === "system") delete document.documentElement.dataset.scheme;
  else document.documentElement.dataset.scheme = name;
  find("theme").textContent = { system: "◐", light: "☀", dark: "☾" }[name];
  find("theme").setAttribute("aria-label", `Colours: ${name}`);
}

const TYPE = {
  "--font-sans": 'system-ui, -apple-system, "Segoe UI", sans-serif',
  "--font-sans-display": 'system-ui, -apple-system, "Segoe UI", sans-serif',
  "--font-mono": "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
  "--font-weight-semibold": "600",
  "--text-body-medium": "0.875rem",
  "--leading-body-medium": "1.5",
  "--text-title-large": "1.5rem",
  "--leading-title-large": "1.3",
  "--text-code-inline": "0.925em",
};

const COLORS = {
  light: {
    "--background-color-default": "#ffffff",
    "--border-color-default": "#d1d9e0",
    "--text-color-default": "#1f2328",
    "--text-color-muted": "#59636e",
    "--color-focus-outline": "#0969da",
    "--color-white": "#ffffff",
    "--true-color-red": "#cf222e",
    "--true-color-red-muted": "#ffebe9",
    "--true-color-blue": "#0969da",
    "--true-color-blue-muted": "#ddf4ff",
    "--true-color-green": "#1a7f37",
    "--true-color-green-muted": "#dafbe1",
    "--true-color-yellow": "#9a6700",
    "--true-color-yellow-muted": "#fff8c5",
  },
  dark: {
    "--background-color-default": "#0d1117",
    "--border-color-default": "#3d444d",
    "--text-color-default": "#f0f6fc",
    "--text-color-muted": "#9198a1",
    "--color-focus-outline": "#1f6feb",
    "--color-white": "#ffffff",
    "--true-color-red": "#f85149",
    "--true-color-red-muted": "#25171c",
    "--true-color-blue": "#4493f8",
    "--true-color-blue-muted": "#121d2f",
    "--true-color-green": "#3fb950",
    "--true-color-green-muted": "#12261e",
    "--true-color-yellow": "#d29922",
    "--true-color-yellow-muted": "#272215",
  },
};

/**
 * What the app sets on a page, after its first paint; null: what other hosts do, which is nothing.
 *
 * @param {"none" | "light" | "dark"} mode
 */
export function pageTheme(mode) {
  if (mode === "none") return null;
  return {
    scheme: mode,
    attributes: {
      "data-color-mode": mode,
      "data-light-theme": "light",
      "data-dark-theme": "dark",
      "data-theme-source": "app",
      "data-theme-tone": mode,
      "data-visual-mode": "default",
    },
    variables: { ...COLORS[mode], ...TYPE },
  };
}
