/** Converts the parts of an answer to turn events. */
import type { LanguageModelV4File, LanguageModelV4StreamPart, LanguageModelV4Usage } from "@ai-sdk/provider";
import type { TurnRequest } from "../../../turn/request.ts";
import type { Usage } from "../../../turn/usage.ts";
import { connectionLost, providerFailed } from "../failure.ts";
import { answerEnd } from "../events/answer-end.ts";
import { writeImage } from "../events/generated-image.ts";
import { parseCount } from "../json.ts";
import type { CallWriter, Emit, ItemStatus } from "../events/item-writer.ts";
import { type MessageWriter, Output, type ReasoningWriter } from "../events/output.ts";
import { plainForm } from "../translate/names/name-rules.ts";
import { SentTools } from "../translate/names/tool-names.ts";
import { WrappedInput, endWrapped } from "../translate/wrapped-input.ts";
import { maskUnknownName } from "../known-words.ts";
import { sdkFault } from "./error.ts";

type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;

interface Call {
  readonly writer: CallWriter;
  /** Reader of the input; present for a custom tool sent as a function. */
  readonly wrapped: WrappedInput | undefined;
  /** Whether the streamed pieces are plain text; the JSON then comes with the whole call. */
  readonly inText: boolean;
}

export class SdkReader {
  readonly #emit: Emit;
  readonly #tier: string;
  readonly #output: Output;
  readonly #tools: SentTools;
  /** Called for each setting the package reports as ignored. */
  readonly #warned: (feature: string, details: string) => void;
  /** The open message; a message and reasoning are never open at the same time. */
  #message: MessageWriter | undefined;
  #reasoning: ReasoningWriter | undefined;
  readonly #calls = new Map<string, Call>();
  #finish: Finish | undefined;
  usage: Usage | undefined;

  constructor(request: TurnRequest, tier: string, emit: Emit, warned: (feature: string, details: string) => void) {
    this.#emit = emit;
    this.#tier = tier;
    this.#output = new Output(emit);
    this.#tools = SentTools.of(request, plainForm);
    this.#warned = warned;
  }

  /** Reads a part. @throws Fault for an error part */
  read(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case "stream-start":
        for (const warning of part.warnings) {
          if (warning.type === "unsupported")
            this.#warned(warning.feature, warning.details ?? "the package does not support it");
        }
        return;
      case "text-delta":
        return this.#addText(part.delta);
      case "reasoning-delta":
        return this.#think(part.delta);
      case "tool-input-start":
        if (part.providerExecuted !== true) this.#call(part.id, part.toolName, part.inputEncoding === "text");
        return;
      case "tool-input-delta":
        return this.#argueInPieces(this.#calls.get(part.id), part.delta);
      case "tool-call":
        return part.providerExecuted === true ? undefined : this.#called(part.toolCallId, part.toolName, part.input);
      case "source":
        return part.sourceType === "url" ? this.#cite(part.url, part.title ?? "") : undefined;
      case "file":
        return this.#draw(part.mediaType, findFileData(part));
      case "error":
        throw sdkFault(part.error);
      case "finish":
        this.usage = usageOf(part.usage);
        this.#finish = part;
        return;
      default:
        // The start and end parts of texts contain nothing that is used.
        return;
    }
  }

  /**
   * Ends the answer.
   * @throws Fault when it was not finished
   */
  close(): void {
    const { unified, raw } = this.#finish?.finishReason ?? {};
    // Packages end a stream normally even when the provider broke it off.
    const isCut = unified === "interrupted" || (unified === "other" && raw === undefined);
    if (unified === undefined || isCut) throw connectionLost();
    if (unified === "error") throw providerFailed(`finish reason ${maskUnknownName(raw ?? "error")}`);
    const filtered = unified === "content-filter";
    const status: ItemStatus = filtered || unified === "length" ? "incomplete" : "completed";
    this.#reasoning?.end(status);
    this.#message?.end(status);
    for (const call of this.#calls.values()) this.#endCall(call, status);
    const reason = filtered ? "content_filter" : "max_output_tokens";
    const given = status === "incomplete" ? reason : undefined;
    this.#emit(answerEnd(this.#output.finalStatus(status), given, this.usage, this.#tier));
  }

  #addText(delta: string): void {
    if (delta === "") return;
    this.#closeReasoning();
    this.#message ??= this.#output.message();
    this.#message.text(this.#message.part("output_text"), delta);
  }

  #think(delta: string): void {
    if (delta === "") return;
    this.#closeMessage();
    this.#reasoning ??= this.#output.reasoning();
    this.#reasoning.text(0, delta);
  }

  /** Adds a citation. The AI SDK does not link a source to a place in the text, so the annotation covers all of the text. */
  #cite(url: string, title: string): void {
    const part = this.#message?.parts.at(-1);
    if (!this.#message || part?.type !== "output_text") return;
    const end_index = Array.from(part.text).length;
    const at = this.#message.parts.length - 1;
    this.#message.annotation(at, { type: "url_citation", url, title, start_index: 0, end_index });
  }

  #draw(mediaType: string, data: string | Uint8Array | undefined): void {
    if (data === undefined || !mediaType.startsWith("image/")) return;
    this.#closeReasoning();
    this.#closeMessage();
    writeImage(this.#output, typeof data === "string" ? data : Buffer.from(data).toString("base64"));
  }

  #call(id: string, sentName: string, inText = false): Call {
    this.#closeReasoning();
    this.#closeMessage();
    // An id used again shows that the call before is complete.
    const before = this.#calls.get(id);
    if (before) this.#endCall(before, "completed");
    const called = this.#tools.findBySentName(sentName);
    const name = called?.tool.name ?? sentName;
    const namespace = called?.namespace?.name;
    const custom = called?.wrapped === true;
    const call: Call = {
      writer: custom ? this.#output.customCall(name, id, namespace) : this.#output.call(name, id, namespace),
      wrapped: custom ? new WrappedInput() : undefined,
      inText,
    };
    this.#calls.set(id, call);
    return call;
  }

  #argueInPieces(call: Call | undefined, piece: string): void {
    if (call?.inText !== true) this.#argue(call, piece);
  }

  #argue(call: Call | undefined, json: string): void {
    call?.writer.arguments(call.wrapped ? call.wrapped.read(json) : json);
  }

  /** Handles a whole call, which repeats input that was already streamed. */
  #called(id: string, sentName: string, input: string): void {
    const call = this.#calls.get(id) ?? this.#call(id, sentName);
    const written = call.wrapped ? call.wrapped.json : call.writer.written;
    if (written === "") this.#argue(call, input);
    this.#calls.delete(id);
    this.#endCall(call, "completed");
  }

  #endCall({ writer, wrapped }: Call, status: ItemStatus): void {
    if (wrapped) endWrapped(writer, wrapped, status);
    else writer.end(status);
  }

  #closeMessage(): void {
    this.#message?.end("completed");
    this.#message = undefined;
  }

  #closeReasoning(): void {
    this.#reasoning?.end("completed");
    this.#reasoning = undefined;
  }
}

/** Data of a file. @returns undefined for a file given only by URL */
export const findFileData = ({ data }: LanguageModelV4File): string | Uint8Array | undefined =>
  data.type === "data" ? data.data : undefined;

/** Usage of the answer. @returns undefined when the package reports no totals */
function usageOf({ inputTokens: read, outputTokens: written }: LanguageModelV4Usage): Usage | undefined {
  if (read.total === undefined && written.total === undefined) return undefined;
  return {
    inputTokens: parseCount(read.total),
    cachedTokens: parseCount(read.cacheRead),
    cacheWriteTokens: parseCount(read.cacheWrite),
    outputTokens: parseCount(written.total),
    reasoningTokens: parseCount(written.reasoning),
  };
}
