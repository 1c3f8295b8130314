/** What the page and its host say to each other: an event stream one way, commands the other. */

/** A command that was refused; `message` is what the runtime or the extension answered. */
export class Refused extends Error {}

/**
 * @param {"open" | "invoke" | "close" | "reload"} command
 * @param {Record<string, unknown>} [body]
 * @returns {Promise<any>} the result
 */
export async function send(command, body = {}) {
  let response, answer;
  try {
    response = await fetch(command, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    answer = await response.json();
  } catch {
    throw new Refused(response ? "The development host failed. Its terminal says why." : "The development host does not answer. Is it still running in the terminal?");
  }
  if (!response.ok) throw new Refused(answer.error.message);
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
