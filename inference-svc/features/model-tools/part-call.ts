/**
 * Calls one model for a part of a request, such as a panel member's answer: an ordinary turn of the key, in parallel
 * with others and with its own time limit.
 */
import { create } from "@bufbuild/protobuf";
import { type ProviderPreferences, ProviderPreferencesSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { newUuid } from "@sluice/proto/lib/ids/id.js";
import { modes } from "@sluice/proto/lib/policy/guardrail-words.js";
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import { enforcedGuardrails } from "../guardrails/output/layer.ts";
import { policyOf } from "../../models/internal-calls/internal-call.ts";
import { stoppedConversation } from "../../turn/stopped-conversation.ts";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import { TurnState } from "../../turn/turn-state.ts";
import { type RequestPart, Trace } from "../../turn/trace.ts";
import { TurnAbort } from "../../turn/signal.ts";
import { type OutputItem, type Turn, type TurnEvent, compose } from "../../turn/turn.ts";
import { parseUrl } from "../../turn/url.ts";
import { mergeItems } from "./merge-items.ts";

/** The request for which a part is answered, and its scope. */
export interface PartCaller {
  readonly request: TurnRequest;
  readonly scope: Scope;
}

export interface WebSourceLink {
  readonly title: string;
  readonly url: string;
}

export interface PartAnswer {
  /** All text of the answer, including text between tool calls. */
  readonly text: string;
  readonly sources: readonly WebSourceLink[];
  /** Images the model made, each as base64 or as the provider's URL. */
  readonly images: readonly string[];
  /** Calls of the client's functions, at which the model stopped. */
  readonly calls: readonly OutputItem[];
  /** Everything that the model has read and written, if its agent loop stopped for these calls. */
  readonly conversation: readonly InputItem[];
}

/** Maximum UTF-16 units of a part's text, more than any useful answer has: a model that never stops must not fill the memory. */
const maxSaidLength = 1_000_000;

/** Receives the text of a part while it streams. */
export type TextListener = (kind: "text" | "reasoning", delta: string) => void;

export class PartCall {
  readonly #abort = new TurnAbort();
  readonly #limitMs: number;
  readonly #outer: Scope;
  readonly #scope: Scope;
  readonly trace: Trace;

  constructor({ scope }: PartCaller, part: RequestPart, limitMs: number) {
    this.#limitMs = limitMs;
    this.#outer = scope;
    this.trace = new Trace(scope.trace.policyGeneration, [], scope.trace);
    scope.trace.parts.push(this.trace);
    this.#scope = scope.with({
      again: undefined,
      signal: this.#abort,
      deadline: Math.min(scope.deadline, performance.now() + limitMs),
      operation: part,
      turnId: newUuid(),
      trace: this.trace,
      state: new TurnState(),
    });
  }

  /** Ends the call, whatever text has come. */
  giveUp(): void {
    this.#abort.abort(new Fault(FaultReason.DEADLINE_EXCEEDED, "It took too long"));
  }

  /** Runs the call to its end. @throws Fault as a turn does, DEADLINE_EXCEEDED after the time limit */
  async collect(turn: Turn, request: TurnRequest, onText: TextListener = () => {}): Promise<PartAnswer> {
    const { signal } = this.#outer;
    const stop = () => this.#abort.abort(signal.reason);
    const timer = setTimeout(() => this.giveUp(), this.#limitMs);
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
    const collected = new Collected(onText);
    try {
      for await (const batch of together(turn)(request, this.#scope)) collected.take(batch);
      return { ...collected.collect, conversation: this.#scope.state.get(stoppedConversation).items };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      // Aborts what a layer may still have open.
      this.#abort.abort(undefined);
      this.#addGuardrailStages();
    }
  }

  /** Adds the guardrail stages of the part to the turn's receipt, without duplicates. */
  #addGuardrailStages(): void {
    const { stages } = this.#outer.trace;
    const known = new Set(stages.map((stage) => JSON.stringify(stage)));
    for (const stage of this.trace.stages) {
      const deed = JSON.stringify(stage);
      if (stage.type === "guardrail" && !known.has(deed)) stages.push(stage);
      known.add(deed);
    }
  }
}

/** Wraps a turn so guardrails scan its joined text: within the turn, no guardrail has seen text across two messages. */
const together = (turn: Turn): Turn => compose([enforcedGuardrails, mergeItems], turn);

/** Collects the texts and images of an answer. */
class Collected {
  readonly #onText: TextListener;
  #text = "";
  readonly #sources = new Map<string, WebSourceLink>();
  readonly #images: string[] = [];
  readonly #calls: OutputItem[] = [];

  constructor(onText: TextListener) {
    this.#onText = onText;
  }

  get collect(): Omit<PartAnswer, "conversation"> {
    return { text: this.#text, sources: [...this.#sources.values()], images: this.#images, calls: this.#calls };
  }

  take(batch: readonly TurnEvent[]): void {
    let text = "";
    let reasoning = "";
    for (const event of batch) {
      if (event.type === "text.delta") text += event.delta;
      else if (event.type === "reasoning.delta") reasoning += event.delta;
      else if (event.type === "item.end") this.#note(event.item);
    }
    this.#text += text;
    if (this.#text.length > maxSaidLength) throw new Fault(FaultReason.PROVIDER_FAILED, "It said too much");
    if (reasoning !== "") this.#onText("reasoning", reasoning);
    if (text !== "") this.#onText("text", text);
  }

  #note(item: OutputItem): void {
    const parts = Array.isArray(item["content"]) ? item["content"].filter(isObject) : [];
    for (const part of parts) if (Array.isArray(part["annotations"])) part["annotations"].forEach(this.#cite);
    if (item.type === "function_call") this.#calls.push(item);
    const { action, url, title, result } = item;
    if (item.type === "image_generation_call" && typeof result === "string") this.#images.push(result);
    if (isObject(action) && Array.isArray(action["sources"])) action["sources"].forEach(this.#cite);
    if (item.type === "service:web_fetch") this.#cite({ url, title });
  }

  readonly #cite = (value: unknown): void => {
    if (!isObject(value) || typeof value["url"] !== "string") return;
    const page = parseUrl(value["url"]);
    if (page === undefined) return;
    page.hash = "";
    const title = typeof value["title"] === "string" ? value["title"] : "";
    const known = this.#sources.get(page.href);
    if (known === undefined || known.title === "")
      this.#sources.set(page.href, { title, url: known?.url ?? value["url"] });
  };
}

/**
 * Whether the client may see the text of parts. Not while an alignment verdict holds the answer back, because no
 * verdict covers the text of parts.
 */
export const showsParts = ({ plugins }: TurnRequest): boolean =>
  plugins?.alignment === undefined || modes.find(plugins.alignment.mode)?.acts === false;

/** The question that a part answers, and the settings of its answer. */
export type PartSettings = Pick<
  TurnRequest,
  "models" | "instructions" | "input" | "tools" | "maxToolCalls" | "maxOutputTokens"
> &
  Partial<
    Pick<
      TurnRequest,
      | "temperature"
      | "reasoning"
      | "cacheControl"
      | "textFormat"
      | "stream"
      | "outputModalities"
      | "imageConfigJson"
      | "include"
      | "stopServerToolsWhen"
      | "toolChoice"
    >
  >;

/** Builds the request for a part: with the data policy and price limit of the given request, but not its provider preferences. */
export function partRequest(
  { stream, provider, sessionId, identityHash, truncation, plugins, files }: TurnRequest,
  own: PartSettings,
): TurnRequest {
  return {
    stream,
    include: [],
    outputModalities: [],
    echoUpstreamBody: false,
    serviceMetadata: false,
    ...(provider && { provider: boundsOf(provider) }),
    ...(sessionId !== undefined && { sessionId }),
    ...(identityHash !== undefined && { identityHash }),
    ...(files && { files }),
    ...(truncation !== undefined && { truncation }),
    plugins: {
      ...(plugins?.contextCompression && { contextCompression: plugins.contextCompression }),
      ...(plugins?.fileParser && { fileParser: plugins.fileParser }),
    },
    ...own,
  };
}

function boundsOf(provider: ProviderPreferences): ProviderPreferences {
  const policy = policyOf(provider);
  return provider.maxPrice ? create(ProviderPreferencesSchema, { ...policy, maxPrice: provider.maxPrice }) : policy;
}
