/** The rules of order of a stream as a client relies on them, and the answer that a client assembles from it. */
import {
  type Item,
  type Open,
  sequentialItemTypes,
  callTextOf,
  isItemStreamed,
  isPartStreamed,
  requireRule,
  isSameJson,
  takeEvent,
} from "./ladder-item.ts";
import type { SseEvent, SseStream } from "./sse.ts";

export interface Answer {
  readonly status: string;
  readonly output: readonly Item[];
  readonly [field: string]: unknown;
}

const lifecycle = /^response\.(created|in_progress|completed|incomplete|failed|queued|debug)$/;
/** Types of calls whose text is streamed: always for the first two, for the others if the text came in pieces. */
const carriers: ReadonlySet<string> = new Set([
  "function_call",
  "custom_tool_call",
  "mcp_call",
  "code_interpreter_call",
  "apply_patch_call",
]);

/**
 * @param orderly whether the provider sent items and parts one after the other, each with its own id. If not, a summary may begin after the text, and
 * data that came too late for their part are in the item only  @throws with the broken rule and the offending event  @returns the response of
 * the last event
 */
export function checkLadder(stream: SseStream, orderly: boolean): Answer {
  const { events } = stream;
  if (!stream.done) throw new Error("no [DONE] at the end");
  const answer = checkFrame(events)["response"] as Answer;
  const items = new Items(orderly, answer);
  for (const event of events) {
    if (lifecycle.test(event.type)) continue;
    try {
      items.take(event);
    } catch (error) {
      throw new Error(`${(error as Error).message}: ${JSON.stringify(event)}`, { cause: error });
    }
  }
  items.compare(answer);
  return answer;
}

/** Checks sequence numbers, the first events and the last one. */
function checkFrame(events: readonly SseEvent[]): SseEvent {
  for (const [position, event] of events.entries())
    requireRule(event.sequence_number === position, "a number is left out");
  const types = events.map((event) => event.type).filter((type) => lifecycle.test(type));
  const begin = types.filter((type) => type !== "response.debug");
  requireRule(/^response\.(completed|incomplete|failed)$/.test(begin[2] ?? ""), "no terminal event");
  requireRule(
    begin.length === 3 && begin[0] === "response.created" && begin[1] === "response.in_progress",
    "lifecycle",
  );
  const first = events.findIndex((event) => event.type === "response.created");
  requireRule(
    events.slice(0, first).every((event) => event.type === "response.debug") &&
      events[first + 1]?.type === "response.in_progress",
    "something comes before the beginning",
  );
  const last = events.at(-1);
  if (!last || last.type !== begin[2]) throw new Error("something follows the terminal event");
  return last;
}

/** Whether an item is a suspended subagent, which begins in this response and ends in a later one. */
const isSuspended = (item: Item | undefined): boolean =>
  item?.type.endsWith(":subagent") === true && item["status"] === "in_progress";

class Items {
  readonly #orderly: boolean;
  /** Items in the final response. */
  readonly #last: readonly Item[];
  readonly #open = new Map<number, Open>();
  readonly #begun: Item[] = [];
  readonly #done = new Map<number, Item>();

  constructor(orderly: boolean, { output }: Answer) {
    this.#orderly = orderly;
    this.#last = output;
  }

  take(event: SseEvent): void {
    const { type } = event;
    if (event["output_index"] === undefined) return;
    const index = event["output_index"] as number;
    if (type === "response.output_item.added") return this.#add(index, event["item"] as Item);
    const open = this.#open.get(index);
    requireRule(open !== undefined, "an event of an item that is not open");
    if (type === "response.output_item.done") return this.#finish(index, open, event["item"] as Item);
    requireRule(event["item_id"] === open.item.id, "another item's id");
    takeEvent(open, event, this.#orderly);
  }

  #add(index: number, item: Item): void {
    requireRule(index === this.#begun.length, "items do not begin in the order of the output");
    requireRule(!this.#orderly || !this.#begun.some(({ id }) => id === item.id), "two items of one id");
    requireRule(
      !sequentialItemTypes.has(item.type) || isSameJson(item["content"] ?? [], []),
      "an item begins with content",
    );
    requireRule(item["status"] === undefined || item["status"] === "in_progress", "an item begins as finished");
    requireRule(!carriers.has(item.type) || !callTextOf(item), "a call begins with its text");
    const others = [...this.#open].filter(([at]) => !isSuspended(this.#last[at])).map(([, { item: other }]) => other);
    const beside = sequentialItemTypes.has(item.type)
      ? others.length > 0
      : others.some((other) => sequentialItemTypes.has(other.type));
    requireRule(!beside, "a message or thought is open beside another item");
    this.#begun.push(item);
    this.#open.set(index, {
      item,
      contents: [],
      summaries: [],
      part: undefined,
      callText: undefined,
      callDone: false,
    });
  }

  #finish(index: number, open: Open, item: Item): void {
    requireRule(item.id === open.item.id && item.type === open.item.type, "an item ends as another");
    requireRule(open.part === undefined, "an item ends with an open part");
    const said = open.callText !== undefined || item.type === "function_call" || item.type === "custom_tool_call";
    requireRule(!said || open.callDone, "a call ends before its text is done");
    if (sequentialItemTypes.has(item.type)) {
      requireRule(
        isPartStreamed(item["content"], open.contents, this.#orderly),
        "the parts are not what the item says",
      );
      requireRule(
        isPartStreamed(item["summary"], open.summaries, this.#orderly),
        "the parts are not what the summary says",
      );
    }
    requireRule(isItemStreamed(open, item, this.#orderly), "the deltas are not what the call says");
    this.#open.delete(index);
    this.#done.set(index, item);
  }

  compare({ status, output }: Answer): void {
    requireRule(output.length === this.#begun.length, "the response has other items than the stream");
    for (const [index, item] of output.entries()) {
      const done = this.#done.get(index);
      requireRule(
        done === undefined ? item.id === this.#begun[index]?.id : isSameJson(done, item),
        `item ${index} is another`,
      );
      requireRule(done !== undefined || status === "failed" || isSuspended(item), `item ${index} has no end`);
      requireRule(done === undefined || !isSuspended(item), `item ${index} waits for the client and has an end`);
      const open = this.#open.get(index);
      requireRule(!open || isItemStreamed(open, item, this.#orderly), `item ${index} lost its text`);
    }
  }
}
