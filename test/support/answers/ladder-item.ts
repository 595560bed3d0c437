/** The rules of order for the events of one item: its parts, their texts, and the text of a call. */
import type { SseEvent } from "./sse.ts";

export interface Item {
  readonly type: string;
  readonly id: string;
  readonly [field: string]: unknown;
}

export interface Part {
  readonly kind: string;
  readonly index: number;
  text: string;
  annotations: unknown[];
  textDone: boolean;
  /** Final value of the part. */
  value: unknown;
}

interface SaidPart {
  readonly type: string;
  readonly text?: string;
  readonly refusal?: string;
  readonly annotations?: readonly unknown[];
}

export interface Open {
  readonly item: Item;
  readonly contents: Part[];
  readonly summaries: Part[];
  part: Part | undefined;
  /** Text of a call so far; undefined before the first delta. */
  callText: string | undefined;
  callDone: boolean;
}

const partEvent = /^response\.(content_part|reasoning_summary_part)\.(added|done)$/;
const textEvent = /^response\.(output_text|refusal|reasoning_text|reasoning_summary_text)\.(delta|done)$/;
const callEvent =
  /^response\.(?:function_call_arguments|mcp_call_arguments|custom_tool_call_input|apply_patch_call_operation_diff|code_interpreter_call_code)\.(delta|done)$/;

export function requireRule(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

export const isSameJson = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Types of items that consist of parts and are never open together with another item. */
export const sequentialItemTypes: ReadonlySet<string> = new Set(["message", "reasoning"]);

/** Checks an event between the beginning and the end of its item. */
export function takeEvent(open: Open, event: SseEvent, orderly: boolean): void {
  const { type } = event;
  if (partEvent.test(type)) return takePart(open, event, orderly);
  // A provider's tool may stream its own text, which does not belong to its item.
  if (!sequentialItemTypes.has(open.item.type) && !callEvent.test(type)) return;
  if (textEvent.test(type)) return takeText(open, event, type.endsWith(".delta"));
  if (type === "response.output_text.annotation.added") return takeAnnotation(open, event);
  if (callEvent.test(type)) takeCall(open, event, type.endsWith(".delta"));
}

/** Whether a finished part agrees with its streamed part. Annotations that a provider names after the next part has begun are in the item only. */
export function isPartStreamed(value: unknown, parts: readonly Part[], orderly: boolean): boolean {
  const said = (value ?? []) as readonly SaidPart[];
  if (said.length !== parts.length) return false;
  return said.every((whole, index) => {
    const { text, annotations, value: shown } = parts[index] as Part;
    const known = whole.annotations ? { ...whole, annotations: whole.annotations.slice(0, annotations.length) } : whole;
    if (isSameJson(known, shown)) return true;
    return !orderly && whole.type === parts[index]?.kind && (whole.text ?? whole.refusal ?? "").startsWith(text);
  });
}

export function isItemStreamed({ callText }: Open, item: Item, orderly: boolean): boolean {
  const whole = callTextOf(item);
  if (callText === undefined || callText === whole) return true;
  return !orderly && typeof whole === "string" && whole.startsWith(callText);
}

export function callTextOf(item: Item): unknown {
  const operation = item["operation"] as { diff?: unknown } | undefined;
  return item["arguments"] ?? item["input"] ?? item["code"] ?? operation?.diff;
}

function takePart(open: Open, event: SseEvent, orderly: boolean): void {
  const summary = event["summary_index"] !== undefined;
  const index = (summary ? event["summary_index"] : event["content_index"]) as number;
  const value = event["part"] as SaidPart;
  const text = value.text ?? value.refusal;
  if (event.type.endsWith(".added")) {
    const siblings = summary ? open.summaries : open.contents;
    requireRule(open.part === undefined, "two open parts");
    requireRule(index === siblings.length, "parts do not begin in their order");
    requireRule(!orderly || !summary || open.contents.length === 0, "a summary after the content");
    requireRule(text === "" || text === undefined, "a part begins with text");
    // A part of an unknown kind has no deltas and is complete at once.
    const part: Part = { kind: value.type, index, text: "", annotations: [], textDone: text === undefined, value };
    siblings.push(part);
    open.part = part;
    return;
  }
  const { part } = open;
  requireRule(part !== undefined && part.index === index, "a part ends that is not open");
  requireRule(part.textDone, "a part ends before its text");
  requireRule((text ?? "") === part.text, "a part ends with another text");
  requireRule(isSameJson(value.annotations ?? [], part.annotations), "a part ends with other annotations");
  requireRule(value.type === part.kind, "a part ends as another kind");
  part.value = value;
  open.part = undefined;
}

function partOf(open: Open, event: SseEvent): Part {
  const { part } = open;
  const index = event["summary_index"] ?? event["content_index"];
  requireRule(part !== undefined && part.index === index, "an event of a part that is not open");
  requireRule(!part.textDone, "an event of a part whose text is done");
  return part;
}

function takeText(open: Open, event: SseEvent, delta: boolean): void {
  const part = partOf(open, event);
  if (delta) part.text += event["delta"] as string;
  else {
    requireRule((event["text"] ?? event["refusal"]) === part.text, "a text is done as another");
    part.textDone = true;
  }
}

function takeAnnotation(open: Open, event: SseEvent): void {
  const part = partOf(open, event);
  requireRule(event["annotation_index"] === part.annotations.length, "annotations are not counted");
  part.annotations.push(event["annotation"]);
}

function takeCall(open: Open, event: SseEvent, delta: boolean): void {
  requireRule(!open.callDone, "a call goes on after its text was done");
  if (delta) open.callText = (open.callText ?? "") + (event["delta"] as string);
  else {
    const text = event["arguments"] ?? event["input"] ?? event["diff"] ?? event["code"];
    requireRule(text === (open.callText ?? ""), "a call's text is done as another");
    requireRule(
      open.item.type !== "function_call" || event["name"] === open.item["name"],
      "a function without its name",
    );
    open.callText ??= "";
    open.callDone = true;
  }
}
