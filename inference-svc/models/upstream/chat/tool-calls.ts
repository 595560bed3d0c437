/** Reads the tool calls of a chat answer. They come in pieces with an index, and vendors differ in everything else. */
import { parseWithin } from "@sluice/proto/lib/json/values.js";
import { type CallWriter, type ItemStatus, remainingText } from "../events/item-writer.ts";
import type { Output } from "../events/output.ts";
import { providerFailed } from "../failure.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import type { SentTools } from "../translate/names/tool-names.ts";
import { repairEscapes } from "../translate/lone-escapes.ts";
import { WrappedInput, endWrapped } from "../translate/wrapped-input.ts";
import { ObjectEnd } from "../translate/object-end.ts";

interface Call {
  readonly index: unknown;
  /** The id as the server wrote it; empty until a piece has one. */
  givenId: string;
  /** Id of the call for the client; empty for a call that has the id of an earlier call. */
  callId: string;
  /** The name in the form of the server; empty before a piece has one. */
  name: string;
  writer: CallWriter | undefined;
  /** Arguments received before the name: an item cannot begin without a name. */
  pending: string;
  /** Looks for the end of the arguments; absent until that end matters. */
  objectEnd: ObjectEnd | undefined;
  /** Reader of the input; present for a custom tool sent as a function. */
  wrapped: WrappedInput | undefined;
  /** Whether the call has the format's own form for custom tools, with input other than JSON. */
  custom: boolean;
  ended: boolean;
}

interface Piece {
  readonly id: string;
  readonly index: unknown;
  readonly name: string;
  readonly args: string;
  readonly custom: boolean;
}

export class ChatToolCalls {
  readonly #output: Output;
  readonly #tools: SentTools;
  readonly #calls: Call[] = [];
  /** The last call with an id, by the id, and by the index with the id. */
  readonly #byId = new Map<string, Call>();
  /** The last call of each index. */
  readonly #byIndex = new Map<unknown, Call>();
  readonly #callIds = new Set<string>();
  /** Calls with pieces that came after the last item of another kind: only these can have become whole. */
  #changed: Call[] = [];

  constructor(output: Output, tools: SentTools) {
    this.#output = output;
    this.#tools = tools;
  }

  /** Reads an entry of `tool_calls`: a piece of a function call, or of a custom call from OpenAI's own endpoint. */
  delta(entry: JsonObject): void {
    const piece = parsePiece(entry);
    const known = this.#find(piece);
    // A late piece without text adds nothing to a finished call, and an empty piece begins none: Snowflake sends one
    // with each message.
    if (!begins(piece) && (known ? known.ended : piece.id === "")) return;
    if (known && isRepeated(known, piece)) return;
    const call = known && !known.ended ? known : this.#open(piece);
    if (this.#changed.at(-1) !== call) this.#changed.push(call);
    if (call.givenId === "" && piece.id !== "") {
      call.givenId = piece.id;
      this.#register(call);
    }
    if (call.callId === "" && piece.id !== "" && !this.#callIds.has(piece.id)) {
      call.callId = piece.id;
      this.#callIds.add(piece.id);
    }
    if (!call.writer && piece.name !== "") this.#begin(call, piece.name);
    this.#continue(call, piece.args);
  }

  #continue(call: Call, args: string): void {
    if (isPlaceholder(call.pending) && args.trimStart().startsWith("{")) {
      call.pending = args;
      call.objectEnd = undefined;
    } else {
      call.pending += args;
      call.objectEnd?.read(args);
    }
    // An empty object may be a placeholder for arguments that are still to come.
    if (!call.writer || (!call.custom && argumentsOf(call) === call.pending && isPlaceholder(call.pending))) return;
    call.writer.arguments(call.wrapped ? call.wrapped.read(call.pending) : call.pending);
    call.pending = "";
  }

  /**
   * Adds what a whole message has of the arguments of known calls: those with the same id, or the same name in the same place.
   * @returns the calls that are not known
   */
  complete(entries: readonly JsonObject[]): readonly JsonObject[] {
    return entries.filter((entry, at) => {
      const { id, name, args } = parsePiece(entry);
      const there = this.#calls[at];
      const known = this.#byId.get(keyOf("", id)) ?? (there?.name === name ? there : undefined);
      if (known?.writer && !known.ended && !known.custom) {
        const rest = remainingText(argumentsOf(known), args);
        if (rest !== "") this.#continue(known, rest);
      }
      return known === undefined;
    });
  }

  /** Whether the arguments of every call are complete. */
  get isWhole(): boolean {
    return this.#calls.every((call) => call.ended || (call.writer && (call.writer.written === "" || isWhole(call))));
  }

  /** Ends the calls with complete arguments; the others stay open beside the next item. */
  endWhole(): void {
    if (this.#changed.length === 0) return;
    for (const call of this.#changed) if (!call.ended && call.writer && isWhole(call)) finish(call, "completed");
    this.#changed = [];
  }

  /** Ends all calls. A token limit cuts every incomplete call, whatever the order of their pieces. An empty object at the end may be a placeholder. */
  end(status: ItemStatus): void {
    const last = this.#calls.at(-1);
    for (const call of this.#calls) {
      if (call.ended || (!call.writer && status === "incomplete")) continue;
      const isCertain = call !== last || !isPlaceholder(argumentsOf(call));
      finish(call, isCertain && call.writer && isWhole(call) ? "completed" : status);
    }
  }

  /**
   * Finds the call to which a piece belongs: the one with its id, else the last one unless the piece begins another.
   * Some servers give every call the index 0, and some send the beginnings of all calls first.
   */
  #find(piece: Piece): Call | undefined {
    const isIndexed = typeof piece.index === "number";
    const named = piece.id === "" ? undefined : this.#byId.get(keyOf(isIndexed ? piece.index : "", piece.id));
    if (named) return isNextOfSameId(named, piece) ? undefined : named;
    const last = isIndexed ? this.#byIndex.get(piece.index) : this.#calls.at(-1);
    if (!last || (isIndexed && !begins(piece))) return last;
    return isOther(last, piece) ? undefined : last;
  }

  #open({ index, id, custom }: Piece): Call {
    this.endWhole();
    // An id names one call: a second call with the same id gets a new id.
    const callId = this.#callIds.has(id) ? "" : id;
    const begun = { name: "", writer: undefined, pending: "", objectEnd: undefined, wrapped: undefined, ended: false };
    const call: Call = { index, givenId: id, callId, custom, ...begun };
    if (callId !== "") this.#callIds.add(callId);
    this.#calls.push(call);
    this.#byIndex.set(index, call);
    if (id !== "") this.#register(call);
    return call;
  }

  #register(call: Call): void {
    const { index, givenId } = call;
    this.#byId.set(keyOf("", givenId), call);
    if (typeof index === "number") this.#byId.set(keyOf(index, givenId), call);
  }

  /** Begins the item of a call. It has the client's name of the tool; for a tool that was never offered, the model's name. */
  #begin(call: Call, sentName: string): void {
    call.name = sentName;
    const tool = this.#tools.findBySentName(sentName);
    const name = tool?.tool.name ?? sentName;
    const id = call.callId === "" ? undefined : call.callId;
    const namespace = tool?.namespace?.name;
    if (tool?.wrapped === true && !call.custom) call.wrapped = new WrappedInput();
    const custom = call.custom || call.wrapped !== undefined;
    call.writer = custom ? this.#output.customCall(name, id, namespace) : this.#output.call(name, id, namespace);
  }
}

function parsePiece(entry: JsonObject): Piece {
  const isFunction = isObject(entry.function);
  const called = isObject(entry.function) ? entry.function : isObject(entry.custom) ? entry.custom : {};
  return {
    id: text(entry.id),
    index: entry.index,
    name: text(called.name),
    args: argumentsText(called.arguments ?? called.input),
    // Snowflake writes an empty custom call next to each function.
    custom: !isFunction && isObject(entry.custom),
  };
}

/** The arguments as text. The format requires a string; a few vendors send an object. */
function argumentsText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

const keyOf = (index: number | "", id: string): string => `${index}:${id}`;

const begins = ({ name, args }: Piece): boolean => name !== "" || args !== "";

/** Whether a piece with the id of a call begins another call: some servers give two calls one id. */
const isNextOfSameId = (call: Call, { name, args }: Piece): boolean =>
  name !== "" &&
  args.trimStart().startsWith("{") &&
  call.writer?.written !== "" &&
  hasWholeObject(call) &&
  !isSame(call, args);

/**
 * Whether a piece begins another call than the last one, if its id is missing or new. Google gives every call the index
 * 0, and some no id: after a complete object, a new name with a new object is another call. Oracle gives each piece of
 * a call another id: a piece without a name continues the call whose object is still open.
 */
function isOther(call: Call, { id, name, args }: Piece): boolean {
  if (id !== "" && call.givenId !== "") return name !== "" || !call.writer || hasWholeObject(call);
  return id === "" && name !== "" && args.trimStart().startsWith("{") && hasWholeObject(call);
}

/**
 * Whether a piece repeats the whole arguments, as some servers do in their last chunk. The lengths are compared first:
 * reading text concatenated from pieces copies it, and a copy for each piece would take quadratic time.
 */
function isRepeated(call: Call, { id, args }: Piece): boolean {
  if (args === "" || args.length !== argumentsOf(call).length) return false;
  return isSame(call, args) && hasWholeObject(call) && (id === "" ? !call.ended : id === call.givenId);
}

/** Whether a text equals the arguments so far, which may have been repaired. */
const isSame = (call: Call, args: string): boolean =>
  args === argumentsOf(call) || repairEscapes(args) === argumentsOf(call);

/** Maximum characters of a text that counts as a placeholder, and of arguments other than an object. */
const maxPlaceholder = 64;

const isPlaceholder = (args: string): boolean => args.length <= maxPlaceholder && /^\s*\{\s*\}\s*$/.test(args);

function finish(call: Call, status: ItemStatus): void {
  if (!call.writer) throw providerFailed("a tool call without a name");
  if (call.wrapped) {
    call.wrapped.read(call.pending);
    endWrapped(call.writer, call.wrapped, status);
  } else {
    // Clients parse the arguments; for a call without arguments, some vendors send nothing where others send {}.
    if (status === "completed" && call.writer.written === "" && !call.custom) call.writer.arguments("{}");
    call.writer.end(status);
  }
  call.ended = true;
}

/**
 * Whether a call's arguments are complete JSON. The input of a native custom call is free text, without a recognizable end. Arguments other than
 * an object are short: null, or a text in quotes.
 */
const isWhole = (call: Call): boolean => hasWholeObject(call) || (!call.custom && isShortJson(argumentsOf(call)));

/** Arguments so far, including a placeholder that is not yet written. */
const argumentsOf = ({ wrapped, writer, pending }: Call): string =>
  (wrapped?.json ?? writer?.received ?? "") || pending;

/** Whether the object of the arguments is closed. Each piece is read only once, however often this is asked. */
function hasWholeObject(call: Call): boolean {
  if (call.custom) return false;
  if (!call.objectEnd) {
    call.objectEnd = new ObjectEnd();
    call.objectEnd.read(argumentsOf(call));
  }
  return call.objectEnd.reached;
}

function isShortJson(value: string): boolean {
  if (value.length > maxPlaceholder) return false;
  try {
    parseWithin(value);
    return true;
  } catch {
    return false;
  }
}
