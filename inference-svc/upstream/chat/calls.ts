/** The tool calls of a chat answer: they come in pieces, by index, and vendors differ in everything else. */
import { providerFailed } from "../failure.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import type { CallWriter } from "../item-writer.ts";
import type { ItemStatus, Output } from "../output.ts";

interface Call {
  readonly key: unknown;
  callId: string;
  writer: CallWriter | undefined;
  /** Arguments that came before the name did: an item cannot begin without a name. */
  waiting: string;
  ended: boolean;
}

export function chatCalls(output: Output) {
  const calls: Call[] = [];

  function find(piece: JsonObject, begins: boolean): Call | undefined {
    const id = text(piece.id);
    const last = calls.at(-1);
    // Without an index a new id begins a new call, and no id goes on with the last one. Some servers number every call 0.
    const other = (call: Call) => id !== "" && call.callId !== "" && id !== call.callId;
    const known = calls.findLast((call) =>
      typeof piece.index === "number"
        ? call.key === piece.index && !(begins && other(call))
        : call === last && !other(call),
    );
    if (known && !known.ended) return known;
    // A late piece that says nothing.
    if (known && !begins) return undefined;
    endWhole();
    const call: Call = { key: piece.index, callId: id, writer: undefined, waiting: "", ended: false };
    calls.push(call);
    return call;
  }

  function delta(piece: JsonObject): void {
    const called = isObject(piece.function) ? piece.function : {};
    const name = text(called.name);
    const call = find(piece, name !== "" || argumentsText(called.arguments) !== "");
    if (!call) return;
    if (call.callId === "") call.callId = text(piece.id);
    call.waiting += argumentsText(called.arguments);
    if (!call.writer && name !== "") call.writer = output.call(name, call.callId === "" ? undefined : call.callId);
    if (!call.writer) return;
    call.writer.arguments(call.waiting);
    call.waiting = "";
  }

  /** Ends the calls that say all they can; those whose arguments are not whole yet stay open beside the next item. */
  function endWhole(): void {
    for (const call of calls) if (!call.ended && call.writer && isJson(call.writer.carried)) finish(call, "completed");
  }

  function finish(call: Call, status: ItemStatus): void {
    if (!call.writer) throw providerFailed("a tool call without a name");
    // Clients parse the arguments: for a call without any, some vendors send nothing where others send {}.
    if (status === "completed" && call.writer.carried === "") call.writer.arguments("{}");
    call.writer.end(status);
    call.ended = true;
  }

  function end(status: ItemStatus): void {
    for (const call of calls) if (!call.ended && (call.writer || status === "completed")) finish(call, status);
  }

  return { delta, endWhole, end };
}

/** A string by the book, an object with a few vendors. */
function argumentsText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isJson(value: string): boolean {
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}
