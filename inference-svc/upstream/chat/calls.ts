/** The tool calls of a chat answer: they come in pieces, by index, and vendors differ in everything else. */
import { providerFailed } from "../failure.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import type { CallWriter } from "../item-writer.ts";
import type { ItemStatus, Output } from "../output.ts";
import type { SentTools } from "../tool-names.ts";
import { WrappedInput } from "../wrapped-input.ts";

interface Call {
  readonly key: unknown;
  callId: string;
  writer: CallWriter | undefined;
  /** What came before the name did: an item cannot begin without a name. */
  waiting: string;
  /** Of a custom tool that was told as a function. */
  wrapped: WrappedInput | undefined;
  /** A custom tool by the book: its input is no JSON. */
  custom: boolean;
  ended: boolean;
}

export function chatCalls(output: Output, tools: SentTools) {
  const calls: Call[] = [];

  /** @param said of the arguments */
  function find(piece: JsonObject, name: string, said: string): Call | undefined {
    const id = text(piece.id);
    const begins = name !== "" || said !== "";
    const last = calls.at(-1);
    // Nothing can follow a whole object but a call of its own: Google numbers every call 0, and gives some no ids.
    const another = (call: Call) => id === "" && name !== "" && said.trimStart().startsWith("{") && isWholeObject(call);
    // Without an index a new id begins a new call, and no id goes on with the last one. Some servers number every call 0.
    const other = (call: Call) => (id !== "" && call.callId !== "" && id !== call.callId) || another(call);
    const known = calls.findLast((call) =>
      typeof piece.index === "number"
        ? call.key === piece.index && !(begins && other(call))
        : call === last && !other(call),
    );
    if (known && !known.ended) return known;
    // A late piece that says nothing.
    if (known && !begins) return undefined;
    endWhole();
    const call: Call = {
      key: piece.index,
      callId: id,
      writer: undefined,
      waiting: "",
      wrapped: undefined,
      custom: isObject(piece.custom),
      ended: false,
    };
    calls.push(call);
    return call;
  }

  /** @param piece of a function, or of a custom tool where the vendor of the format serves */
  function delta(piece: JsonObject): void {
    const called = isObject(piece.function) ? piece.function : isObject(piece.custom) ? piece.custom : {};
    const name = text(called.name);
    const said = argumentsText(called.arguments ?? called.input);
    const call = find(piece, name, said);
    if (!call) return;
    if (call.callId === "") call.callId = text(piece.id);
    call.waiting += said;
    if (!call.writer && name !== "") begin(call, name);
    if (!call.writer) return;
    call.writer.arguments(call.wrapped ? call.wrapped.read(call.waiting) : call.waiting);
    call.waiting = "";
  }

  /** Under the name that the client gave the tool. A tool that nobody offered keeps the name by which the model calls it. */
  function begin(call: Call, sentName: string): void {
    const called = tools.called(sentName);
    const name = called?.tool.name ?? sentName;
    const id = call.callId === "" ? undefined : call.callId;
    const namespace = called?.namespace?.name;
    if (called?.wrapped === true && !call.custom) call.wrapped = new WrappedInput();
    const custom = call.custom || call.wrapped !== undefined;
    call.writer = custom ? output.customCall(name, id, namespace) : output.call(name, id, namespace);
  }

  /** Ends the calls that say all they can; those whose arguments are not whole yet stay open beside the next item. */
  function endWhole(): void {
    for (const call of calls) if (!call.ended && call.writer && isWhole(call)) finish(call, "completed");
  }

  function finish(call: Call, status: ItemStatus): void {
    if (!call.writer) throw providerFailed("a tool call without a name");
    if (call.wrapped) {
      if (status === "completed") call.writer.arguments(call.wrapped.finish());
    } else if (status === "completed" && call.writer.carried === "" && !call.custom) {
      // Clients parse the arguments: for a call without any, some vendors send nothing where others send {}.
      call.writer.arguments("{}");
    }
    call.writer.end(status);
    call.ended = true;
  }

  /** A limit cuts the last call, and those that are not whole; it must not matter in which order the pieces came. */
  function end(status: ItemStatus): void {
    const last = calls.at(-1);
    for (const call of calls) {
      if (call.ended || (!call.writer && status === "incomplete")) continue;
      finish(call, call !== last && call.writer && isWhole(call) ? "completed" : status);
    }
  }

  return { delta, endWhole, end };
}

/** A string by the book, an object with a few vendors. */
function argumentsText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Any text may go on. */
const isWhole = (call: Call): boolean =>
  !call.custom && isJson(call.wrapped ? call.wrapped.json : (call.writer?.carried ?? ""));

function isWholeObject(call: Call): boolean {
  const said = call.wrapped?.json ?? call.writer?.carried ?? "";
  return said.startsWith("{") && said.endsWith("}") && isWhole(call);
}

function isJson(value: string): boolean {
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}
