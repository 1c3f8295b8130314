/** The agent: what it and the person say to each other, what it does, and what it asks. */

import { callForm } from "./call.js";
import { command } from "./commands.js";
import { find, h } from "./dom.js";
import { unfold } from "./drawer.js";
import { send } from "./host.js";
import { showJSON } from "./json.js";
import { can, model, on } from "./model.js";

/** By number. @type {Map<number, {entry: any, element: HTMLElement}>} */
const shown = new Map();

export function startAgent() {
  on(["commands"], showAgent);
  on(["turn", "status"], showTurn);
  find("prompt-form").addEventListener("submit", submit);
  find("prompt").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
  });
  find("prompt").addEventListener("input", showTurn);
  find("stop").addEventListener("click", () => command("abort"));
  find("allow-all").addEventListener("change", answerAll);
}

/** What was said before this page was opened. @param {any[]} entries */
export function resetTranscript(entries) {
  shown.clear();
  find("transcript").replaceChildren();
  for (const entry of entries) takeEntry(entry);
}

/** An entry that is new, or has changed. */
export function takeEntry(entry) {
  const list = find("transcript");
  const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  const before = shown.get(entry.number);
  if (before && SHOW[entry.kind].update?.(before.element, entry)) {
    before.entry = entry;
  } else {
    const element = h("li", { class: `said ${entry.kind} ${"request" in entry && !entry.reply ? "asks" : ""}`, data: { number: String(entry.number) } }, ...SHOW[entry.kind].make(entry));
    if (before) before.element.replaceWith(element);
    else list.append(element);
    shown.set(entry.number, { entry, element });
  }
  if (isAtEnd) list.scrollTop = list.scrollHeight;
  if (entry.kind === "permission" && !entry.reply) answerAll();
}

function showAgent() {
  const isThere = can("send");
  find("agent").hidden = !isThere;
  document.body.classList.toggle("has-agent", isThere);
  // What the agent does is of more interest, and needs the room.
  if (isThere) unfold(false);
}

function showTurn() {
  const isReady = model.isHostThere && model.status.phase !== "stopped";
  find("stop").hidden = !model.turn.isBusy;
  find("turn").textContent = model.turn.isBusy ? "works…" : "";
  find("send").disabled = !isReady || find("prompt").value.trim() === "";
}

async function submit(event) {
  event.preventDefault();
  const prompt = find("prompt");
  const text = prompt.value;
  if (text.trim() === "") return;
  prompt.value = "";
  showTurn();
  // What was refused is there to be sent again, unless something else is written by now.
  if (!(await command("send", { prompt: text })) && prompt.value === "") prompt.value = text;
  showTurn();
}

const answer = (number, reply) => command("answer", { number, reply });

function answerAll() {
  if (!find("allow-all").checked) return;
  for (const { entry } of shown.values()) {
    if (entry.kind !== "permission" || entry.reply) continue;
    entry.reply = {};
    answer(entry.number, { allow: true });
  }
}

/** How each kind looks. `update` says whether that was all there was to do. */
const SHOW = {
  prompt: { make: ({ text, source }) => [source && source !== "user" ? h("small", { class: "faint" }, `by ${source}`) : null, h("p", {}, text)] },
  answer: {
    make: ({ text }) => [h("p", {}, text)],
    update(element, { text }) {
      element.firstElementChild.textContent = text;
      return true;
    },
  },
  error: { make: ({ text }) => [h("p", { class: "refusal", role: "alert" }, text)] },
  tool: {
    make: ({ name, title, status, arguments: input, result }) => [
      h(
        "details",
        {},
        h("summary", {}, h("span", { class: `mark-${status}` }, MARKS[status]), h("code", {}, name), h("span", { class: "faint clip" }, sketch(input) || title || "")),
        h("div", { class: "said-what" }, showJSON(input ?? null, { depth: 2 })),
        result == null ? null : h("pre", { class: status === "failed" ? "bad" : "" }, result),
      ),
    ],
  },
  permission: {
    make: ({ number, request, reply }) =>
      reply
        ? [h("p", { class: "faint" }, `${reply.withdrawn ? "No longer asked" : reply.allow === true ? "Allowed" : "Denied"}: ${whatFor(request)}`)]
        : [
            h("p", {}, "May it ", h("strong", {}, whatFor(request)), "?"),
            h("details", {}, h("summary", { class: "faint" }, "Details"), showJSON(request, { depth: 2 })),
            h("div", { class: "row-buttons" }, h("button", { class: "primary", on: { click: () => answer(number, { allow: true }) } }, "Allow"), h("button", { on: { click: () => answer(number, { allow: false }) } }, "Deny")),
          ],
  },
  question: {
    make: ({ number, request, reply }) => [h("p", {}, request.question ?? "It asks something."), reply ? h("p", { class: "faint" }, reply.withdrawn ? "Not asked any more." : `You: ${reply.answer}`) : choices(number, request)],
  },
  form: {
    make: ({ number, request, reply }) => [h("p", {}, request.message ?? "It asks for something."), reply ? h("p", { class: "faint" }, reply.withdrawn ? "Not asked any more." : FORM_REPLIES[reply.action]) : form(number, request)],
  },
};

const MARKS = { running: "…", done: "✓", failed: "✗" };

const FORM_REPLIES = { accept: "Sent.", decline: "Declined.", cancel: "Dismissed." };

function choices(number, { choices = [], allowFreeform = true }) {
  const text = h("input", { aria: { label: "Your answer" }, autocomplete: "off" });
  const own = h("form", { class: "row-buttons", on: { submit: (event) => (event.preventDefault(), answer(number, { answer: text.value })) } }, text, h("button", {}, "Answer"));
  const buttons = choices.map((choice) => h("button", { on: { click: () => answer(number, { answer: choice }) } }, choice));
  return h("div", {}, h("div", { class: "row-buttons" }, ...buttons), allowFreeform || choices.length === 0 ? own : null);
}

function form(number, { requestedSchema }) {
  const { element, outcome } = callForm({
    schema: requestedSchema ?? {},
    key: `form ${number}`,
    verb: "Send",
    call: (content) => send("answer", { number, reply: { action: "accept", content: content ?? {} } }),
    done: () => {},
  });
  const decline = h("button", { on: { click: () => answer(number, { action: "decline" }) } }, "Decline");
  return h("div", {}, element, h("div", { class: "row-buttons" }, decline), outcome);
}

/** What permission is asked for, in a few words. */
function whatFor({ kind, toolName, fullCommandText, url, fileName, path }) {
  const what = toolName ?? fullCommandText ?? url ?? fileName ?? path;
  return what ? `${VERBS[kind] ?? kind} ${what}` : (kind ?? "do this");
}

const VERBS = { "custom-tool": "use", shell: "run", write: "write", read: "read", url: "fetch", mcp: "use" };

/** The names and ids of an input, for one line. */
function sketch(input) {
  if (input === null || typeof input !== "object") return "";
  return Object.values(input)
    .filter((value) => typeof value === "string")
    .slice(0, 3)
    .join(" · ");
}
