/** What the page and its host say to each other: an event stream one way, commands the other. */

/**
 * A command that was refused; `message` is what the runtime or the extension answered, `code` what
 * the extension calls it. The runtime's own refusals have the code `refused`.
 */
export class Refused extends Error {
  constructor(message, code = "host") {
    super(message);
    this.code = code;
  }
}

/**
 * @param {string} command one of `commands.py`
 * @param {Record<string, unknown>} [body]
 * @returns {Promise<any>} the result
 */
export async function send(command, body = {}) {
  return ask(command, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
}

/**
 * An instance's document and its history; with `after`, once it has another version.
 *
 * @param {string} instanceId
 * @param {string | null} after
 * @param {AbortSignal} signal
 */
export function readState(instanceId, after, signal) {
  const query = after === null ? "" : `?after=${encodeURIComponent(after)}`;
  return ask(`state/${encodeURIComponent(instanceId)}${query}`, { signal });
}

async function ask(address, options) {
  let response, answer;
  try {
    response = await fetch(address, options);
    answer = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(response ? "The development host failed. Its terminal says why." : "The development host does not answer. Is it still running in the terminal?");
  }
  if (!response.ok) throw new Refused(answer.error.message, answer.error.code);
  return answer.result;
}

/** The body of one message. @param {number} number @returns {Promise<unknown>} */
export async function readMessage(number) {
  const response = await fetch(`traffic/${number}`);
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Listen until the host ends. `lost` and `back` tell of the line.
 *
 * @param {Record<string, (data: any) => void>} listeners by event
 */
export function listen(listeners) {
  const source = new EventSource("events");
  for (const [name, listener] of Object.entries(listeners)) {
    if (name === "lost") continue;
    source.addEventListener(name, (event) => listener(JSON.parse(event.data)));
  }
  source.addEventListener("closed", () => source.close());
  source.addEventListener("error", () => listeners.lost(source.readyState === EventSource.CLOSED));
}
