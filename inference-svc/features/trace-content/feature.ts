/** Prompts and answers as attributes of a turn's span, for keys that opt in: the request as guardrails have redacted it, and the answer as they deliver it. */
import type { TracingContent } from "@sluice/proto/config/tracing.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { guardrailsForbidKeeping } from "@sluice/proto/lib/policy/kept-content.js";
import type { Span } from "@sluice/proto/lib/tracing/span.js";
import { ForwardedAnswer } from "../../turn/answer-kinds.ts";
import { requestLayer } from "../../turn/layer-builders.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import type { TurnSignal } from "../../turn/signal.ts";
import type { Answer, Batch, Layer, TurnEvent } from "../../turn/turn.ts";
import { applies } from "../applies.ts";
import type { Feature } from "../kit.ts";
import { finishReason } from "./messages.ts";
import { TurnContent, turnContent } from "./turn-content.ts";

/**
 * The span that gets the content of a turn. @returns undefined where traces have no content, the turn is not sampled,
 * or its content must not be stored
 */
function spanFor({ content }: TracingContent, { provider }: TurnRequest, { span, caller }: Scope): Span | undefined {
  if (!content || span?.isRecorded !== true) return undefined;
  if (provider?.zdr === true || provider?.dataCollection === "deny" || guardrailsForbidKeeping(caller))
    return undefined;
  return span;
}

/** Whether a guardrail or another rule has refused the request. Inner layers may refuse it, too, for texts of files, pages and tool results. */
const isRefusal = (error: unknown): boolean => error instanceof Fault && error.status === 403;

/** Passes an answer on, and notes its items for the span. The end may also come early. */
class TracedAnswer extends ForwardedAnswer {
  readonly #content: TurnContent;
  /** Whether the first batch has come; before it, an inner layer may still refuse the request. */
  #isBegun = false;

  /** @param signal aborted when the client stops reading the answer */
  constructor(answer: Answer, content: TurnContent, signal: TurnSignal) {
    super(answer);
    this.#content = content;
    signal.addEventListener("abort", () => this.left());
  }

  protected override passed(batch: Batch): Batch {
    this.#isBegun = true;
    for (const event of batch) this.#take(event);
    return batch;
  }

  protected override failed(error: unknown): unknown {
    this.#content.end("error", !this.#isBegun && isRefusal(error));
    return error;
  }

  protected override left(): void {
    this.#content.end("error", !this.#isBegun);
  }

  #take(event: TurnEvent): void {
    if (event.type === "item.end") this.#content.takeItem(event.item);
    else if (event.type === "end") this.#content.end(finishReason(event.outcome, this.#content.callsTool), false);
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
      const content = new TurnContent({ span, keyHash: scope.caller.keyHash, maxBytes: tracing.max_bytes });
      scope.state.get(turnContent).content = content;
      try {
        return new TracedAnswer(next(request, scope), content, scope.signal);
      } catch (error) {
        content.end("error", isRefusal(error));
        throw error;
      }
    },
};

export const tracedRequest: Feature = {
  id: "traced-request",
  applies: applies.tracedContent,
  layer: () =>
    requestLayer((request, scope) => {
      scope.state.get(turnContent).content?.takeRequest(request);
      return request;
    }),
};
