/** The bar at the top: how the extension is doing, and what can be done to it. */

import { find, h } from "./dom.js";
import { command, confirmFirst } from "./commands.js";
import { can, model, on } from "./model.js";

const STATUS = { starting: "starting…", ready: "running", failed: "stopped", stopped: "stopped" };

/** @type {Record<string, {label: string, title: string, act: () => unknown}>} */
const FAULTS = {
  kill: {
    label: "Kill",
    title: "kill -9: the process is gone at once, and its panels with it, until a reload",
    act: () => confirmFirst("Kill the extension?", "It gets no chance to say goodbye: what was not stored is lost. Reload it to go on.", "Kill", () => command("kill")),
  },
  hold: { label: "Hang", title: "What it answers is held back until you let go of it", act: () => command(model.status.isHeld ? "release" : "hold") },
  cold: {
    label: "Resume cold",
    title: "As when Copilot resumes the session another day: everything opens again with the input it had first",
    act: () => confirmFirst("Resume the session cold?", "Panels are opened again with the input they were opened with first. What was only in memory is gone.", "Resume cold", () => command("resume-cold")),
  },
};

export function startHeader() {
  on(["status"], showStatus);
  on(["commands"], showFaults);
  const buttons = Object.entries(FAULTS).map(([name, fault]) => h("button", { class: "quiet", id: `fault-${name}`, title: fault.title, on: { click: fault.act } }, fault.label));
  find("faults").append(...buttons);
  find("reload").addEventListener("click", reload);
  find("help-button").addEventListener("click", () => find("help").showModal());
}

function showFaults() {
  find("faults").hidden = !can("kill");
}

export const reload = () => command("reload");

function showStatus() {
  const { phase, pid, isHeld } = model.status;
  const status = find("status");
  const isHanging = isHeld && model.isHostThere;
  status.className = `status ${model.isHostThere ? (isHanging ? "held" : phase) : "failed"}`;
  status.textContent = model.isHostThere ? (isHanging ? "hangs" : STATUS[phase]) : "host has ended";
  status.title = phase === "ready" ? `Process ${pid}` : model.status.detail;
  find("reload").disabled = phase === "starting" || !model.isHostThere;
  for (const name of ["kill", "hold"]) find(`fault-${name}`).disabled = pid === null || !model.isHostThere;
  find("fault-cold").disabled = !model.isHostThere;
  find("fault-hold").textContent = isHanging ? "Let go" : "Hang";
  find("fault-hold").setAttribute("aria-pressed", String(isHanging));
  document.title = `${model.extension.name} · canvas development host`;
}
