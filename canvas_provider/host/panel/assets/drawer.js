/** The lower part: traffic or log, what is filtered, and how high it is. */

import { find } from "./dom.js";
import { filterLog, resetLog } from "./log.js";
import { traffic } from "./traffic.js";

export function startDrawer() {
  for (const name of ["traffic", "log"]) find(`show-${name}`).addEventListener("click", () => showPart(name));
  find("show-traffic").parentElement.addEventListener("keydown", turn);
  onInput("filter", (field) => bothFilter({ text: field.value }));
  find("filter").addEventListener("keydown", (event) => event.key === "Escape" && event.target.blur());
  onInput("events", (field) => traffic.setFilter({ events: field.checked }));
  onInput("errors", (field) => bothFilter({ errors: field.checked }));
  for (const name of ["direction", "method", "instance"]) onInput(`filter-${name}`, (field) => traffic.setFilter({ [name]: field.value }));
  find("clear").addEventListener("click", () => (find("traffic").hidden ? resetLog([]) : traffic.reset([])));
  find("pause").addEventListener("click", pause);
  find("fold").addEventListener("click", toggleDrawer);
  find("grip").addEventListener("pointerdown", dragGrip);
  find("grip").addEventListener("keydown", (event) => {
    const step = { ArrowUp: 32, ArrowDown: -32 }[event.key];
    if (step) setHeight(find("grip").parentElement.offsetHeight + step);
  });
}

const onInput = (id, take) => find(id).addEventListener("input", (event) => take(event.target));

function bothFilter(filter) {
  traffic.setFilter(filter);
  filterLog(filter);
}

function pause() {
  const isPaused = !traffic.isPaused;
  traffic.setPaused(isPaused);
  find("pause").textContent = isPaused ? "Go on" : "Pause";
  find("pause").setAttribute("aria-pressed", String(isPaused));
}

/** @param {"traffic" | "log"} name */
export function showPart(name) {
  for (const each of ["traffic", "log"]) {
    find(each).hidden = each !== name;
    find(`show-${each}`).setAttribute("aria-selected", String(each === name));
    find(`show-${each}`).tabIndex = each === name ? 0 : -1;
  }
  document.body.classList.toggle("shows-log", name === "log");
  unfold(true);
  if (name === "log") find("log").scrollTop = find("log").scrollHeight;
}

function turn(event) {
  if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
  const other = find("traffic").hidden ? "traffic" : "log";
  showPart(other);
  find(`show-${other}`).focus();
}

export const toggleDrawer = () => unfold(document.body.classList.contains("folded"));

/** @param {boolean} isOpen */
export function unfold(isOpen) {
  document.body.classList.toggle("folded", !isOpen);
  find("fold").setAttribute("aria-expanded", String(isOpen));
  find("fold").textContent = isOpen ? "Hide" : "Show";
}

function setHeight(height) {
  const limited = Math.max(90, Math.min(window.innerHeight - 220, height));
  document.body.style.setProperty("--drawer", `${limited}px`);
}

function dragGrip(event) {
  const grip = find("grip");
  grip.setPointerCapture(event.pointerId);
  document.body.classList.add("dragging");
  const move = (at) => setHeight(window.innerHeight - at.clientY);
  grip.addEventListener("pointermove", move);
  grip.addEventListener(
    "lostpointercapture",
    () => {
      grip.removeEventListener("pointermove", move);
      document.body.classList.remove("dragging");
    },
    { once: true },
  );
}
