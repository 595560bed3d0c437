/** Converts an answer of Mistral's OCR API to a message with the Markdown of all pages. Such an answer always comes whole. */
import type { TurnRequest } from "../../../turn/request.ts";
import type { TurnEvent } from "../../../turn/turn.ts";
import type { Usage } from "../../../turn/usage.ts";
import { chatError } from "../chat/error.ts";
import type { Target, Translator } from "../dialect.ts";
import { answerEnd } from "../events/answer-end.ts";
import type { Emit } from "../events/item-writer.ts";
import { Output } from "../events/output.ts";
import { connectionLost, providerFailed, providerFault } from "../failure.ts";
import { type JsonObject, isObject, objects, parseCount, parseObject, text } from "../json.ts";
import { findDocument } from "./document.ts";

export class MistralOcrTranslator implements Translator {
  readonly #request: TurnRequest;
  readonly #target: Target;
  readonly #emit: Emit;
  usage: Usage | undefined;
  done = false;

  constructor(request: TurnRequest, target: Target, emit: (event: TurnEvent) => void) {
    this.#request = request;
    this.#target = target;
    this.#emit = emit;
  }

  get finished(): boolean {
    return this.done;
  }

  event(_: string | undefined, data: string): void {
    const answer = parseObject(data);
    if (!Array.isArray(answer.pages)) {
      if (text(answer.message) === "" && !isObject(answer.error)) throw providerFailed("no pages");
      throw providerFault(chatError(undefined, answer));
    }
    const pages = objects(answer.pages).toSorted((a, b) => parseCount(a.index) - parseCount(b.index));
    this.usage = usageOf(answer.usage_info, pages.length);
    const message = new Output(this.#emit).message();
    message.text(message.part("output_text"), this.#textOf(pages));
    message.end("completed");
    this.done = true;
    this.#emit(answerEnd("completed", undefined, this.usage, this.#target.tier));
  }

  /** The text of all pages. Each has a heading with its number; pages without text are left out. */
  #textOf(pages: readonly JsonObject[]): string {
    const isDocument = findDocument(this.#request.input).type === "document_url";
    return pages
      .filter(({ markdown }) => text(markdown).trim() !== "")
      .map(({ index, markdown }) =>
        isDocument ? `## Page ${parseCount(index) + 1}\n\n${text(markdown)}` : text(markdown),
      )
      .join("\n\n");
  }

  /** @throws Fault when the connection ended before the whole answer came */
  close(): void {
    if (!this.done) throw connectionLost();
  }

  cut(): void {
    throw providerFailed("a full context window");
  }
}

/** The usage of an answer; the provider charges by processed pages. */
function usageOf(info: unknown, answered: number): Usage {
  const processed = isObject(info) ? parseCount(info.pages_processed) : 0;
  return {
    inputTokens: 0,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    pages: processed || answered,
  };
}
