/** Prompts and answers as attributes of a turn's span, for keys that opt in: as the model reads them after redaction, and as the client gets them. */
import type { TracingContent } from "@sluice/proto/config/tracing.js";
import type { Span } from "@sluice/proto/lib/tracing/span.js";
import { ForwardedAnswer } from "../../turn/answer-kinds.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import type { Answer, Batch, Layer, TurnEvent } from "../../turn/turn.ts";
import { applies } from "../applies.ts";
import type { Feature } from "../kit.ts";
import {
  type TracedMessage,
  type TracedPart,
  answerParts,
  boundedJson,
  finishReason,
  inputMessage,
  textPart,
} from "./messages.ts";

const cutAttribute = "sluice.content_is_cut";

/** The span that takes the content of a turn; undefined when traces have none, or this one is not sampled. */
const spanFor = ({ content }: TracingContent, { span }: Scope): Span | undefined =>
  content && span?.isRecorded === true ? span : undefined;

function setMessages(span: Span, name: string, messages: readonly TracedMessage[], maxBytes: number): void {
  const { json, isCut } = boundedJson(messages, maxBytes);
  span.setText(name, json);
  if (isCut) span.set({ [cutAttribute]: true });
}

function setRequest(span: Span, { instructions, input }: TurnRequest, maxBytes: number): void {
  span.set({ "gen_ai.operation.name": "invoke_agent" });
  setMessages(span, "gen_ai.input.messages", input.map(inputMessage), maxBytes);
  if (instructions === undefined) return;
  const { json, isCut } = boundedJson([{ role: "system", parts: [textPart(instructions)] }], maxBytes);
  const [{ parts }] = JSON.parse(json) as [TracedMessage];
  span.setText("gen_ai.system_instructions", JSON.stringify(parts));
  if (isCut) span.set({ [cutAttribute]: true });
}

export const tracedRequest: Feature = {
  id: "traced-request",
  applies: applies.tracedContent,
  layer:
    ({ tracing }): Layer =>
    (next) =>
    (request, scope) => {
      const span = spanFor(tracing, scope);
      if (span) setRequest(span, request, tracing.max_bytes);
      return next(request, scope);
    },
};

/** Keeps the items of an answer, and sets them at its end, also at an early one. */
class TracedAnswer extends ForwardedAnswer {
  readonly #span: Span;
  readonly #maxBytes: number;
  readonly #parts: TracedPart[] = [];
  #bytes = 0;
  #isSet = false;

  constructor(answer: Answer, span: Span, maxBytes: number) {
    super(answer);
    this.#span = span;
    this.#maxBytes = maxBytes;
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
    if (event.type === "end") this.#set(finishReason(event.outcome, this.#parts));
    // One part beyond the limit is kept, whose beginning fits.
    if (event.type !== "item.end" || this.#bytes > this.#maxBytes) return;
    for (const part of answerParts(event.item)) {
      this.#bytes += JSON.stringify(part).length;
      this.#parts.push(part);
    }
  }

  #set(reason: string): void {
    if (this.#isSet) return;
    this.#isSet = true;
    const message = { role: "assistant", parts: this.#parts, finish_reason: reason };
    setMessages(this.#span, "gen_ai.output.messages", [message], this.#maxBytes);
  }
}

export const tracedAnswer: Feature = {
  id: "traced-answer",
  applies: applies.tracedContent,
  layer:
    ({ tracing }): Layer =>
    (next) =>
    (request, scope) => {
      const span = spanFor(tracing, scope);
      const answer = next(request, scope);
      return span ? new TracedAnswer(answer, span, tracing.max_bytes) : answer;
    },
};
