/** The panel: what the host tells goes into the model, and from there to the parts of the page. */

import { resetTranscript, startAgent, takeEntry } from "./agent.js";
import { find } from "./dom.js";
import { startDrawer } from "./drawer.js";
import { startHeader } from "./header.js";
import { listen } from "./host.js";
import { startInspector } from "./inspector.js";
import { startKeys } from "./keys.js";
import { resetLog, takeLine, watchLog } from "./log.js";
import { changed, model, selectedInstance } from "./model.js";
import { startSide } from "./side.js";
import { noteLog, reloadPages, startStage } from "./stage.js";
import { startScheme } from "./theme.js";
import { traffic } from "./traffic.js";

function takeCanvases(data) {
  const before = new Set(model.instances.map((each) => each.instanceId));
  model.canvases = data.canvases;
  model.instances = data.instances;
  const fresh = model.instances.find((each) => !before.has(each.instanceId));
  if (fresh) model.selected = fresh.instanceId;
  else if (selectedInstance() === undefined) model.selected = model.instances.at(-1)?.instanceId ?? null;
  changed("canvases");
}

function takeStatus(status) {
  if (status.phase === "starting" && model.status.phase !== "starting") model.lastLineBefore = model.log.at(-1);
  model.status = status;
  changed("status");
}

function takeContributions(contributions) {
  model.contributions = contributions;
  changed("contributions");
}

function takeSession({ id, workingDirectory }) {
  find("session").textContent = id.slice(0, 8);
  find("session").title = `Session ${id}, in ${workingDirectory}`;
}

function takeTurn(turn) {
  model.turn = turn;
  changed("turn");
}

function takeSnapshot(data) {
  model.isHostThere = true;
  model.commands = new Set(data.commands);
  changed("commands");
  model.extension = data.extension;
  find("name").textContent = data.extension.name;
  find("name").title = data.extension.script;
  takeSession(data.session);
  resetTranscript(data.transcript ?? []);
  takeTurn(data.turn ?? { isBusy: false });
  resetLog(data.log);
  traffic.reset(data.traffic);
  takeStatus(data.status);
  takeContributions(data.contributions);
  takeCanvases(data);
}

function takeLoss() {
  model.isHostThere = false;
  changed("status");
}

traffic.start();
startScheme();
startHeader();
startAgent();
startSide();
startStage();
startInspector();
startDrawer();
startKeys();
watchLog(noteLog);
changed("status");

listen({
  snapshot: takeSnapshot,
  canvases: takeCanvases,
  contributions: takeContributions,
  status: takeStatus,
  session: takeSession,
  transcript: takeEntry,
  turn: takeTurn,
  pages: (data) => reloadPages(data.instances),
  traffic: (entry) => traffic.add(entry),
  log: takeLine,
  closed: takeLoss,
  lost: takeLoss,
});
