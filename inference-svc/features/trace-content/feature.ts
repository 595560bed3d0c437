/** Prompts and answers as attributes of a turn's span, for keys that opt in: the request as guardrails have redacted it, and the answer as they deliver it. */
import type { TracingContent } from "@sluice/proto/config/tracing.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { guardrailsForbidKeeping } from "@sluice/proto/lib/policy/kept-content.js";
import type { ContentAttribute, Span } from "@sluice/proto/lib/tracing/span.js";
import { ForwardedAnswer } from "../../turn/answer-kinds.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import type { TurnSignal } from "../../turn/signal.ts";
import type { Answer, Batch, Layer, TurnEvent } from "../../turn/turn.ts";
import { applies } from "../applies.ts";
import type { Feature } from "../kit.ts";
import { ContentBudget } from "./content-budget.ts";
import { type TracedMessage, type TracedPart, TracedParts, finishReason } from "./messages.ts";

/** Maximum memory of all content in spans of running turns. */
const maxHeldBytes = 64 * 1024 * 1024;
let heldBytes = 0;

/** The span that takes the content of a turn; undefined where traces have none, this one is not sampled, or content must not be kept. */
function spanFor({ content }: TracingContent, { provider }: TurnRequest, { span, caller }: Scope): Span | undefined {
  if (!content || span?.isRecorded !== true) return undefined;
  if (provider?.zdr === true || provider?.dataCollection === "deny" || guardrailsForbidKeeping(caller))
    return undefined;
  return span;
}

/** The texts of one turn until they are attributes, counted with those of all turns. */
class HeldContent {
  readonly #span: Span;
  #bytes = 0;

  constructor(span: Span) {
    this.#span = span;
  }

  /** @returns false where all turns hold too much */
  hold(bytes: number): boolean {
    if (heldBytes + bytes > maxHeldBytes) return false;
    heldBytes += bytes;
    this.#bytes += bytes;
    return true;
  }

  set(texts: ReadonlyMap<ContentAttribute, string>, isCut: boolean): void {
    for (const [name, json] of texts) this.#span.setContent(name, json);
    if (isCut) this.#span.set({ "sluice.content_is_cut": true });
    this.release();
  }

  release(): void {
    heldBytes -= this.#bytes;
    this.#bytes = 0;
  }
}

interface RequestTexts {
  readonly texts: ReadonlyMap<ContentAttribute, string>;
  readonly isCut: boolean;
}

/** The last messages have the first claim on the room. */
function requestTexts({ instructions, input }: TurnRequest, maxBytes: number): RequestTexts {
  const budget = new ContentBudget(maxBytes);
  const parts = new TracedParts(budget);
  const messages: TracedMessage[] = [];
  for (let at = input.length - 1; at >= 0; at--) {
    const message = parts.message(input[at] as TurnRequest["input"][number]);
    if (message === undefined) break;
    messages.unshift(message);
  }
  const texts = new Map<ContentAttribute, string>([["gen_ai.input.messages", JSON.stringify(messages)]]);
  if (instructions === undefined) return { texts, isCut: budget.isCut };
  const room = new ContentBudget(maxBytes);
  texts.set("gen_ai.system_instructions", JSON.stringify(new TracedParts(room).text(instructions)));
  return { texts, isCut: budget.isCut || room.isCut };
}

/** Whether a guardrail or another rule has refused the request; the layers behind refuse for texts of files, pages and results. */
const isRefusal = (error: unknown): boolean => error instanceof Fault && error.status === 403;

/** Sets the request as soon as it is known not to be refused. */
class TracedRequest extends ForwardedAnswer {
  readonly #settle: (isRefused: boolean) => void;

  /** @param signal aborted when the answer is read no further */
  constructor(answer: Answer, settle: (isRefused: boolean) => void, signal: TurnSignal) {
    super(answer);
    this.#settle = settle;
    signal.addEventListener("abort", () => settle(false));
  }

  protected override passed(batch: Batch): Batch {
    this.#settle(false);
    return batch;
  }

  protected override failed(error: unknown): unknown {
    this.#settle(isRefusal(error));
    return error;
  }

  protected override left(): void {
    this.#settle(false);
  }
}

function traceRequest(span: Span, request: TurnRequest, maxBytes: number): (isRefused: boolean) => void {
  const held = new HeldContent(span);
  const { texts, isCut } = requestTexts(request, maxBytes);
  const bytes = [...texts.values()].reduce((sum, text) => sum + text.length, 0);
  let isSettled = !held.hold(bytes);
  return (isRefused) => {
    if (isSettled) return;
    isSettled = true;
    if (isRefused) held.release();
    else held.set(texts, isCut);
  };
}

export const tracedRequest: Feature = {
  id: "traced-request",
  applies: applies.tracedContent,
  layer:
    ({ tracing }): Layer =>
    (next) =>
    (request, scope) => {
      const span = spanFor(tracing, request, scope);
      if (!span) return next(request, scope);
      const settle = traceRequest(span, request, tracing.max_bytes);
      try {
        return new TracedRequest(next(request, scope), settle, scope.signal);
      } catch (error) {
        settle(isRefusal(error));
        throw error;
      }
    },
};

/** Keeps the items of an answer within the room, and sets them at its end, also at an early one. */
class TracedAnswer extends ForwardedAnswer {
  readonly #held: HeldContent;
  readonly #budget: ContentBudget;
  readonly #parts: TracedPart[] = [];
  #isSet: boolean;

  /** @param signal aborted when the answer is read no further */
  constructor(answer: Answer, span: Span, maxBytes: number, signal: TurnSignal) {
    super(answer);
    signal.addEventListener("abort", () => this.#set("error"));
    this.#held = new HeldContent(span);
    this.#budget = new ContentBudget(maxBytes);
    this.#isSet = !this.#held.hold(maxBytes) || !this.#budget.takeMessage();
  }

  protected override passed(batch: Batch): Batch {
    for (const event of batch) this.#take(event);
    return batch;
  }

  protected override failed(error: unknown): unknown {
    this.#set("error");
    return error;
  }

  protected override left(): void {
    this.#set("error");
  }

  #take(event: TurnEvent): void {
    if (this.#isSet) return;
    if (event.type === "item.end") this.#parts.push(...new TracedParts(this.#budget).ofAnswer(event.item));
    else if (event.type === "end") this.#set(finishReason(event.outcome, this.#parts));
  }

  #set(reason: string): void {
    if (this.#isSet) return;
    this.#isSet = true;
    const message: TracedMessage = { role: "assistant", parts: this.#parts, finish_reason: reason };
    this.#held.set(new Map([["gen_ai.output.messages", JSON.stringify([message])]]), this.#budget.isCut);
  }
}

export const tracedAnswer: Feature = {
  id: "traced-answer",
  applies: applies.tracedContent,
  layer:
    ({ tracing }): Layer =>
    (next) =>
    (request, scope) => {
      const span = spanFor(tracing, request, scope);
      if (!span) return next(request, scope);
      span.set({ "gen_ai.operation.name": "invoke_agent" });
      return new TracedAnswer(next(request, scope), span, tracing.max_bytes, scope.signal);
    },
};
