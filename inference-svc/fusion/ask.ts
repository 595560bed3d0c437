/** One model that is asked for a part of the request: an ordinary turn of the key, beside others, and with a time limit of its own. */
import { create } from "@bufbuild/protobuf";
import { type ProviderPreferences, ProviderPreferencesSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import { newUuid } from "@sluice/proto/runtime/id.js";
import { isObject } from "@sluice/proto/runtime/validation/fields.js";
import { enforcedGuardrails } from "../guardrails/output/layer.ts";
import { policyOf } from "../internal/call.ts";
import type { TurnRequest } from "../turn/request.ts";
import { type Part, type Scope, Trace } from "../turn/scope.ts";
import { TurnAbort } from "../turn/signal.ts";
import { type OutputItem, type Turn, type TurnEvent, compose } from "../turn/turn.ts";
import { urlIn } from "../turn/url.ts";
import { asOne } from "./as-one.ts";

/** On whose behalf. */
export interface Asker {
  readonly request: TurnRequest;
  readonly scope: Scope;
}

export interface Source {
  readonly title: string;
  readonly url: string;
}

export interface Said {
  /** All that it said, the words between calls of tools among it, as it was heard. */
  readonly text: string;
  readonly sources: readonly Source[];
}

/** Hears what is said while it is said. */
export type Hears = (kind: "text" | "reasoning", delta: string) => void;

export class Asking {
  readonly #abort = new TurnAbort();
  readonly #limitMs: number;
  readonly #outer: Scope;
  readonly #scope: Scope;
  readonly trace: Trace;

  constructor({ scope }: Asker, part: Part, limitMs: number) {
    this.#limitMs = limitMs;
    this.#outer = scope;
    this.trace = new Trace(scope.trace.policyGeneration, [], scope.trace);
    scope.trace.parts.push(this.trace);
    const { again: _, ...rest } = scope;
    this.#scope = {
      ...rest,
      signal: this.#abort,
      deadline: Math.min(scope.deadline, performance.now() + limitMs),
      part,
      turnId: newUuid(),
      trace: this.trace,
    };
  }

  /** Ends it, whatever it has said. */
  giveUp(): void {
    this.#abort.abort(new Fault(FaultReason.DEADLINE_EXCEEDED, "It took too long"));
  }

  /** @throws Fault as a turn does, DEADLINE_EXCEEDED after the time limit */
  async said(turn: Turn, request: TurnRequest, hears: Hears = () => {}): Promise<Said> {
    const { signal } = this.#outer;
    const stop = () => this.#abort.abort(signal.reason);
    const timer = setTimeout(() => this.giveUp(), this.#limitMs);
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
    const collected = new Collected(hears);
    try {
      for await (const batch of await together(turn)(request, this.#scope)) collected.take(batch);
      return collected.said;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      // Nothing of it goes on: a layer may have kept something open.
      this.#abort.abort(undefined);
      this.#tell();
    }
  }

  /** What guardrails did is a matter of the turn; the same deed twice is told once. */
  #tell(): void {
    const { stages } = this.#outer.trace;
    const known = new Set(stages.map((stage) => JSON.stringify(stage)));
    for (const stage of this.trace.stages) {
      const deed = JSON.stringify(stage);
      if (stage.type === "guardrail" && !known.has(deed)) stages.push(stage);
      known.add(deed);
    }
  }
}

/** What goes from one message over into the next no guardrail of the turn has seen. */
const together = (turn: Turn): Turn => compose([enforcedGuardrails, asOne], turn);

/** Of an answer that comes as one. */
class Collected {
  readonly #hears: Hears;
  #text = "";
  readonly #sources = new Map<string, Source>();

  constructor(hears: Hears) {
    this.#hears = hears;
  }

  get said(): Said {
    return { text: this.#text, sources: [...this.#sources.values()] };
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
    if (reasoning !== "") this.#hears("reasoning", reasoning);
    if (text !== "") this.#hears("text", text);
  }

  #note(item: OutputItem): void {
    const parts = Array.isArray(item["content"]) ? item["content"].filter(isObject) : [];
    for (const part of parts) if (Array.isArray(part["annotations"])) part["annotations"].forEach(this.#cite);
    const { action, url, title } = item;
    if (isObject(action) && Array.isArray(action["sources"])) action["sources"].forEach(this.#cite);
    if (item.type === "service:web_fetch") this.#cite({ url, title });
  }

  readonly #cite = (value: unknown): void => {
    if (!isObject(value) || typeof value["url"] !== "string") return;
    const page = urlIn(value["url"]);
    if (page === undefined) return;
    page.hash = "";
    const title = typeof value["title"] === "string" ? value["title"] : "";
    const known = this.#sources.get(page.href);
    if (known === undefined || known.title === "")
      this.#sources.set(page.href, { title, url: known?.url ?? value["url"] });
  };
}

/** What every such request has of the one that it is a part of: who may see it, and what it may cost at most; not who is preferred. */
export function partRequest(
  { stream, provider, sessionId, identityHash, truncation, plugins, files }: TurnRequest,
  own: Pick<TurnRequest, "models" | "instructions" | "input" | "tools" | "maxToolCalls" | "maxOutputTokens"> &
    Partial<Pick<TurnRequest, "temperature" | "reasoning" | "cacheControl" | "textFormat" | "stream">>,
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
    ...(plugins?.contextCompression && { plugins: { contextCompression: plugins.contextCompression } }),
    ...own,
  };
}

function boundsOf(provider: ProviderPreferences): ProviderPreferences {
  const policy = policyOf(provider);
  return provider.maxPrice ? create(ProviderPreferencesSchema, { ...policy, maxPrice: provider.maxPrice }) : policy;
}
