/**
 * Reads one answer of the model. Items for the client are passed on, numbered over all answers of the turn; calls of
 * server tools are held back and collected.
 */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { InputItem } from "../../turn/request.ts";
import type { Batch, Outcome, OutputItem, TurnEvent } from "../../turn/turn.ts";
import { type ClientTools, toClientItem } from "../client-tools/client-tools.ts";
import { type Offer, type ToolCall, type ToolResult, errorOutput } from "../tool.ts";

/** Numbers the items of a turn. */
export class ItemNumbers {
  #next = 0;

  take(): number {
    return this.#next++;
  }
}

/** A call of a server tool. */
export interface CalledTool {
  readonly offer: Offer;
  readonly callId: string;
  /** The arguments in the model's own JSON. */
  readonly argumentsJson: string;
  /** Continues a suspended call of an earlier response; absent for a new call. */
  readonly resume?: (call: ToolCall) => Promise<ToolResult>;
  /** Item fields of the call in addition to those of the result. */
  readonly fields?: JsonObject;
}

/** The tools the model may call. */
export interface CallableTools {
  /** Server tools by function name. */
  readonly offers: ReadonlyMap<string, Offer>;
  /** Client tools by function name. */
  readonly clientTools: ClientTools["byName"];
  /** Whether the answering endpoint was sent functions instead of the client tools. */
  readonly hasClientFunctions: () => boolean;
}

/** A call for the client to carry out. */
interface ClientCall {
  readonly callId: string;
  readonly name: string;
  /** The item in the client's form, or an error text for a wrong call. Absent for functions of the client. */
  readonly made?: OutputItem | string;
}

type Indexed = Extract<TurnEvent, { readonly index: number }>;
type ItemEnd = Extract<TurnEvent, { readonly type: "item.end" }>;

export const skippedCallOutput =
  "not carried out, because another call beside it was wrong: make all of the calls again";

const functionCalls: ReadonlySet<string> = new Set(["function_call", "custom_tool_call"]);

export class ModelAnswer {
  readonly #tools: CallableTools;
  readonly #numbers: ItemNumbers;
  readonly #isFirst: boolean;
  #model: string | undefined;
  /** The item's number for the client, by its number in this answer; "tool" and "client" for items that hold a call. */
  readonly #places = new Map<number, number | "tool" | "client">();
  /** Events of the client's function calls, held back until the answer is complete. */
  readonly #waiting: Indexed[] = [];
  readonly #clientCalls = new Map<number, ClientCall>();
  /** The held `item.end` of a message: the message may go on in the next answer. */
  #ended: ItemEnd | undefined;
  /** The answer's items in the model's form, for the next request to it. */
  readonly items: OutputItem[] = [];
  readonly calls: CalledTool[] = [];
  /** Whether the arguments of a client's function break off. */
  #isClientCallCut = false;
  outcome: Outcome | undefined;

  /** @param before whether this is the turn's first answer, and the model of the previous answer */
  constructor(
    tools: CallableTools,
    numbers: ItemNumbers,
    before: { readonly isFirst: boolean; readonly model: string | undefined },
  ) {
    this.#tools = tools;
    this.#numbers = numbers;
    this.#isFirst = before.isFirst;
    this.#model = before.model;
  }

  get model(): string | undefined {
    return this.#model;
  }

  /** Returns the events the client gets at once. */
  take(batch: Batch): TurnEvent[] {
    const shown: TurnEvent[] = [];
    for (const event of batch) this.#step(event, shown);
    return shown;
  }

  /** Names of the functions and client tools the client has to run. */
  get functions(): readonly string[] {
    return [...this.#clientCalls.values()].map(({ name }) => name);
  }

  /**
   * Tool outputs for the model after a wrong call of a client tool: the reason, and the note that the client got none
   * of the calls. Undefined when the client can carry out all calls.
   */
  rejections(): readonly InputItem[] | undefined {
    const calls = [...this.#clientCalls.values()];
    if (!calls.some(({ made }) => typeof made === "string")) return undefined;
    return calls.map(({ callId, made }) => ({
      type: "function_call_output",
      call_id: callId,
      output: errorOutput(typeof made === "string" ? made : skippedCallOutput),
    }));
  }

  /** The held events, sent at the end of the turn. Calls of client tools with invalid arguments are left out. */
  rest(): TurnEvent[] {
    const places = new Map<number, number>();
    return this.#waiting.flatMap((event) => {
      const shown = this.#shown(event);
      if (shown.length === 0) return shown;
      let index = places.get(event.index);
      if (index === undefined) places.set(event.index, (index = this.#numbers.take()));
      return shown.map((each) => ({ ...each, index }));
    });
  }

  /** Converts an event of a call to events for the client; a client tool's call comes as a whole item. */
  #shown(event: Indexed): readonly Indexed[] {
    const made = this.#clientCalls.get(event.index)?.made;
    if (made === undefined) return [event];
    if (typeof made === "string" || event.type !== "item.end") return [];
    const { index } = event;
    const isStreamed = this.#waiting.some((each) => each.index === index && each.type === "item.start");
    const start: Indexed = { type: "item.start", index, item: { ...made, status: "in_progress" } };
    return [...(isStreamed ? [start] : []), { type: "item.end", index, item: made }];
  }

  #step(event: TurnEvent, shown: TurnEvent[]): void {
    if (event.type === "debug") {
      if (this.#isFirst) shown.push(event);
      return;
    }
    if (event.type === "start") {
      if (event.model !== this.#model) shown.push(event);
      this.#model = event.model;
      return;
    }
    if (event.type === "end") {
      this.#flush(shown, false);
      this.outcome = this.#isClientCallCut ? event.outcome : asReported(event.outcome);
      return;
    }
    if (!("index" in event) || event.index === undefined) return void shown.push(event);
    this.#ofItem(event as Indexed, shown);
  }

  #ofItem(event: Indexed, shown: TurnEvent[]): void {
    const place = this.#placeOf(event, shown);
    if (event.type === "item.end") this.items.push(event.item);
    if (place === "tool") return;
    if (place === "client") return void this.#waiting.push(event);
    const placed = { ...event, index: place };
    if (placed.type === "item.end" && placed.item.type === "message") this.#ended = placed;
    else shown.push(placed);
  }

  #placeOf(event: Indexed, shown: TurnEvent[]): number | "tool" | "client" {
    const known = this.#places.get(event.index);
    // Answers without streaming have no events at the start of an item.
    const item = "item" in event ? event.item : undefined;
    const place = known ?? this.#begin(item, shown);
    this.#places.set(event.index, place);
    if (event.type === "item.end" && place === "tool") this.#note(event.item);
    if (event.type === "item.end" && place === "client") this.#noteClientCall(event.index, event.item);
    if (event.type === "item.end" && place !== "tool" && this.#isCutFunction(event.item)) this.#isClientCallCut = true;
    return place;
  }

  #begin(item: OutputItem | undefined, shown: TurnEvent[]): number | "tool" | "client" {
    const isTool = item !== undefined && this.#offerOf(item) !== undefined;
    this.#flush(shown, isTool);
    if (isTool) return "tool";
    return item !== undefined && functionCalls.has(item.type) && this.#mayTakeBack() ? "client" : this.#numbers.take();
  }

  /** Whether the calls for the client may still be withdrawn because the model is called again; until then they are held back. */
  #mayTakeBack(): boolean {
    return this.#tools.offers.size > 0 || this.#tools.hasClientFunctions();
  }

  #offerOf({ type, name, namespace }: OutputItem): Offer | undefined {
    if (type !== "function_call" || (namespace !== undefined && namespace !== null)) return undefined;
    return this.#tools.offers.get(String(name));
  }

  #note(item: OutputItem): void {
    const offer = this.#offerOf(item);
    if (offer) this.calls.push({ offer, callId: String(item["call_id"]), argumentsJson: String(item["arguments"]) });
  }

  /** The model is told of broken calls to all other tools. */
  #isCutFunction({ type, status, name }: OutputItem): boolean {
    return functionCalls.has(type) && status === "incomplete" && !this.#tools.clientTools.has(String(name));
  }

  #noteClientCall(index: number, item: OutputItem): void {
    const name = String(item["name"]);
    const isPlain = item.type === "function_call" && (item["namespace"] ?? undefined) === undefined;
    const offered = isPlain ? this.#tools.clientTools.get(name) : undefined;
    const callId = String(item["call_id"]);
    this.#clientCalls.set(index, { callId, name, ...(offered && { made: toClientItem(offered, item) }) });
  }

  /** @param isCommentary whether the model continues with a server tool */
  #flush(shown: TurnEvent[], isCommentary: boolean): void {
    const ended = this.#ended;
    if (ended === undefined) return;
    this.#ended = undefined;
    const { item } = ended;
    const hasPhase = item["phase"] !== undefined && item["phase"] !== null;
    shown.push(isCommentary && !hasPhase ? { ...ended, item: { ...item, phase: "commentary" } } : ended);
  }
}

/** The end that the provider reported, where a limit is only inferred from a call that breaks off. */
const asReported = (outcome: Outcome): Outcome =>
  outcome.isInferred === true ? { ...outcome, status: "completed", reason: undefined, isInferred: undefined } : outcome;
