// A small menu under a button: arrows, Home, End, Escape, as the ARIA menu pattern asks.

import { h } from "./dom.js";

/**
 * @param {HTMLElement} button
 * @param {{text: string, run: () => void, disabled?: boolean}[]} items
 */
export function openMenu(button, items) {
  const entries = items.map(({ text, run, disabled = false }) =>
    h("button", {
      type: "button", role: "menuitem", tabindex: "-1", disabled,
      onclick: () => {
        close();
        run();
      },
    }, text));
  const menu = h("div", { class: "menu", role: "menu", "aria-label": button.ariaLabel }, ...entries);
  const enabled = entries.filter((entry) => !entry.disabled);

  const close = () => {
    if (!menu.isConnected) return;
    const hadFocus = menu.contains(document.activeElement);
    menu.remove();
    button.setAttribute("aria-expanded", "false");
    if (hadFocus) button.focus();
  };

  menu.onkeydown = (event) => {
    const at = enabled.indexOf(document.activeElement);
    const next = {
      ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: enabled.length - 1,
    }[event.key];
    if (next !== undefined) {
      event.preventDefault();
      enabled.at(next % enabled.length).focus();
    } else if (event.key === "Escape" || event.key === "Tab") {
      if (event.key === "Escape") event.preventDefault();
      close();
    }
  };
  menu.onfocusout = (event) => {
    if (!menu.contains(event.relatedTarget)) close();
  };

  button.setAttribute("aria-expanded", "true");
  document.body.append(menu);
  const anchor = button.getBoundingClientRect();
  const left = Math.min(anchor.right - menu.offsetWidth, innerWidth - menu.offsetWidth - 8);
  menu.style.left = `${Math.max(8, left)}px`;
  menu.style.top = `${Math.min(anchor.bottom + 4, innerHeight - menu.offsetHeight - 8)}px`;
  enabled[0]?.focus();
}
