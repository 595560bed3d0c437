/** The order rules of a stream, as a client would hold them against it, and the answer that a client folds out of it. */
import type { SseEvent, SseStream } from "./sse.ts";

export interface Item {
  readonly type: string;
  readonly id: string;
  readonly [field: string]: unknown;
}

export interface Answer {
  readonly status: string;
  readonly output: readonly Item[];
  readonly [field: string]: unknown;
}

interface Part {
  readonly kind: string;
  readonly index: number;
  text: string;
  annotations: unknown[];
  textDone: boolean;
  /** As it was in the end. */
  value: unknown;
}

interface Open {
  readonly item: Item;
  readonly contents: Part[];
  readonly summaries: Part[];
  part: Part | undefined;
  /** Undefined before the first delta. */
  callText: string | undefined;
  callDone: boolean;
}

const lifecycle = /^response\.(created|in_progress|completed|incomplete|failed|queued|debug)$/;
const partEvent = /^response\.(content_part|reasoning_summary_part)\.(added|done)$/;
const textEvent = /^response\.(output_text|refusal|reasoning_text|reasoning_summary_text)\.(delta|done)$/;
const callEvent =
  /^response\.(?:function_call_arguments|mcp_call_arguments|custom_tool_call_input|apply_patch_call_operation_diff|code_interpreter_call_code)\.(delta|done)$/;
const alone: ReadonlySet<string> = new Set(["message", "reasoning"]);
/** Calls whose text streams: of the first two always, of the others when it came in pieces. */
const carriers: ReadonlySet<string> = new Set([
  "function_call",
  "custom_tool_call",
  "mcp_call",
  "code_interpreter_call",
  "apply_patch_call",
]);

/** @throws with the rule that is broken and the event that breaks it. @returns the response of the last event */
export function checkLadder(stream: SseStream): Answer {
  const { events } = stream;
  if (!stream.done) throw new Error("no [DONE] at the end");
  const terminal = checkFrame(events);
  const items = new Items();
  for (const event of events) {
    if (lifecycle.test(event.type)) continue;
    try {
      items.take(event);
    } catch (error) {
      throw new Error(`${(error as Error).message}: ${JSON.stringify(event)}`, { cause: error });
    }
  }
  const answer = terminal["response"] as Answer;
  items.compare(answer);
  return answer;
}

/** Numbers, beginning and end. */
function checkFrame(events: readonly SseEvent[]): SseEvent {
  for (const [position, event] of events.entries()) rule(event.sequence_number === position, "a number is left out");
  const types = events.map((event) => event.type).filter((type) => lifecycle.test(type));
  const begin = types.filter((type) => type !== "response.debug");
  rule(/^response\.(completed|incomplete|failed)$/.test(begin[2] ?? ""), "no terminal event");
  rule(begin.length === 3 && begin[0] === "response.created" && begin[1] === "response.in_progress", "lifecycle");
  const first = events.findIndex((event) => event.type === "response.created");
  rule(
    events.slice(0, first).every((event) => event.type === "response.debug") &&
      events[first + 1]?.type === "response.in_progress",
    "something comes before the beginning",
  );
  const last = events.at(-1);
  if (!last || last.type !== begin[2]) throw new Error("something follows the terminal event");
  return last;
}

function rule(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Annotations that a provider names only after the next part has begun are in the item alone. */
function isShown(value: unknown, parts: readonly Part[]): boolean {
  const said = (value ?? []) as readonly { readonly annotations?: readonly unknown[] }[];
  if (said.length !== parts.length) return false;
  return said.every((part, index) => {
    const shown = parts[index]?.annotations ?? [];
    const known = part.annotations ? { ...part, annotations: part.annotations.slice(0, shown.length) } : part;
    return same(known, parts[index]?.value);
  });
}

class Items {
  readonly #open = new Map<number, Open>();
  readonly #begun: Item[] = [];
  readonly #done = new Map<number, Item>();

  take(event: SseEvent): void {
    const { type } = event;
    if (event["output_index"] === undefined) return;
    const index = event["output_index"] as number;
    if (type === "response.output_item.added") return this.#add(index, event["item"] as Item);
    const open = this.#open.get(index);
    rule(open !== undefined, "an event of an item that is not open");
    if (type === "response.output_item.done") return this.#finish(index, open, event["item"] as Item);
    rule(event["item_id"] === open.item.id, "another item's id");
    if (partEvent.test(type)) return takePart(open, event, type.endsWith(".added"));
    // A tool of the provider may stream text of its own, which is no part of its item.
    if (!alone.has(open.item.type) && !callEvent.test(type)) return;
    if (textEvent.test(type)) return takeText(open, event, type.endsWith(".delta"));
    if (type === "response.output_text.annotation.added") return takeAnnotation(open, event);
    if (callEvent.test(type)) return takeCall(open, event, type.endsWith(".delta"));
  }

  #add(index: number, item: Item): void {
    rule(index === this.#begun.length, "items do not begin in the order of the output");
    rule(!this.#begun.some(({ id }) => id === item.id), "two items of one id");
    rule(!alone.has(item.type) || same(item["content"] ?? [], []), "an item begins with content");
    rule(item["status"] === undefined || item["status"] === "in_progress", "an item begins as finished");
    rule(!carriers.has(item.type) || !callTextOf(item), "a call begins with its text");
    const beside = [...this.#open.values()].some(({ item: other }) => alone.has(other.type));
    rule(!beside, "an item begins beside one that is not a call");
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
    rule(item.id === open.item.id && item.type === open.item.type, "an item ends as another");
    rule(open.part === undefined, "an item ends with an open part");
    const said = open.callText !== undefined || item.type === "function_call" || item.type === "custom_tool_call";
    rule(!said || open.callDone, "a call ends before its text is done");
    if (alone.has(item.type)) {
      rule(isShown(item["content"], open.contents), "the parts are not what the item says");
      rule(isShown(item["summary"], open.summaries), "the parts are not what the summary says");
    }
    if (open.callText !== undefined) rule(open.callText === callTextOf(item), "the deltas are not what the call says");
    this.#open.delete(index);
    this.#done.set(index, item);
  }

  compare({ status, output }: Answer): void {
    rule(output.length === this.#begun.length, "the response has other items than the stream");
    for (const [index, item] of output.entries()) {
      const done = this.#done.get(index);
      rule(done === undefined ? item.id === this.#begun[index]?.id : same(done, item), `item ${index} is another`);
      rule(done !== undefined || status === "failed", `item ${index} has no end`);
      const open = this.#open.get(index);
      if (open?.callText !== undefined) rule(open.callText === callTextOf(item), `item ${index} lost its text`);
    }
  }
}

function callTextOf(item: Item): unknown {
  const operation = item["operation"] as { diff?: unknown } | undefined;
  return item["arguments"] ?? item["input"] ?? item["code"] ?? operation?.diff;
}

function takePart(open: Open, event: SseEvent, begins: boolean): void {
  const summary = event["summary_index"] !== undefined;
  const index = (summary ? event["summary_index"] : event["content_index"]) as number;
  const value = event["part"] as { type: string; text?: string; refusal?: string; annotations?: unknown };
  const text = value.text ?? value.refusal;
  if (begins) {
    const siblings = summary ? open.summaries : open.contents;
    rule(open.part === undefined, "two open parts");
    rule(index === siblings.length, "parts do not begin in their order");
    rule(!summary || open.contents.length === 0, "a summary after the content");
    rule(text === "" || text === undefined, "a part begins with text");
    // A part of a kind that is not known has no deltas: it is done as it is.
    const part: Part = { kind: value.type, index, text: "", annotations: [], textDone: text === undefined, value };
    siblings.push(part);
    open.part = part;
    return;
  }
  const { part } = open;
  rule(part !== undefined && part.index === index, "a part ends that is not open");
  rule(part.textDone, "a part ends before its text");
  rule((text ?? "") === part.text, "a part ends with another text");
  rule(same(value.annotations ?? [], part.annotations), "a part ends with other annotations");
  rule(value.type === part.kind, "a part ends as another kind");
  part.value = value;
  open.part = undefined;
}

function partOf(open: Open, event: SseEvent): Part {
  const { part } = open;
  const index = event["summary_index"] ?? event["content_index"];
  rule(part !== undefined && part.index === index, "an event of a part that is not open");
  rule(!part.textDone, "an event of a part whose text is done");
  return part;
}

function takeText(open: Open, event: SseEvent, delta: boolean): void {
  const part = partOf(open, event);
  if (delta) part.text += event["delta"] as string;
  else {
    rule((event["text"] ?? event["refusal"]) === part.text, "a text is done as another");
    part.textDone = true;
  }
}

function takeAnnotation(open: Open, event: SseEvent): void {
  const part = partOf(open, event);
  rule(event["annotation_index"] === part.annotations.length, "annotations are not counted");
  part.annotations.push(event["annotation"]);
}

function takeCall(open: Open, event: SseEvent, delta: boolean): void {
  rule(!open.callDone, "a call goes on after its text was done");
  if (delta) open.callText = (open.callText ?? "") + (event["delta"] as string);
  else {
    const text = event["arguments"] ?? event["input"] ?? event["diff"] ?? event["code"];
    rule(text === (open.callText ?? ""), "a call's text is done as another");
    rule(open.item.type !== "function_call" || event["name"] === open.item["name"], "a function without its name");
    open.callText ??= "";
    open.callDone = true;
  }
}
