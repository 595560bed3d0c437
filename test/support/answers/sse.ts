/** Reads a stream of server-sent events as strictly as the contract writes it: LF only, whole events, [DONE] last. */

export interface SseEvent {
  readonly type: string;
  readonly sequence_number: number;
  // Fields of the event; each test knows those of its events.
  readonly [field: string]: unknown;
}

export interface SseStream {
  readonly events: SseEvent[];
  /** Comment lines, without the colon. */
  readonly comments: string[];
  /** Whether `data: [DONE]` was the last event. */
  readonly done: boolean;
}

/**
 * @throws if the text breaks the framing: an event name other than the data's type, data after [DONE], a cut event, or an event without fields, at
 * which some clients end the stream
 */
export function parseSse(text: string): SseStream {
  const events: SseEvent[] = [];
  const comments: string[] = [];
  let done = false;
  if (text.includes("\r")) throw new Error("carriage return in the stream");
  if (text !== "" && !text.endsWith("\n\n")) throw new Error(`the stream ends inside an event: ${text.slice(-80)}`);
  for (const whole of text.split("\n\n").slice(0, -1)) {
    if (done) throw new Error(`after [DONE]: ${whole}`);
    let block = whole;
    while (block.startsWith(":")) {
      const [line = ""] = block.split("\n", 1);
      comments.push(line.slice(1).trim());
      block = block.slice(line.length + 1);
    }
    if (block === "") throw new Error(`an event without a field: ${JSON.stringify(whole)}`);
    if (block === "data: [DONE]") done = true;
    else events.push(parseEvent(block));
  }
  return { events, comments, done };
}

function parseEvent(block: string): SseEvent {
  // The block is split, since a regular expression would overflow its stack on a line of many megabytes.
  const [name = "", data = "", ...others] = block.split("\n");
  const type = name.startsWith("event: ") ? name.slice("event: ".length) : "";
  if (!/^\S+$/.test(type) || !data.startsWith("data: ") || others.length > 0) throw new Error(`not an event: ${block}`);
  const event = JSON.parse(data.slice("data: ".length)) as SseEvent;
  if (event.type !== type) throw new Error(`event ${type} carries ${event.type}`);
  return event;
}
