/** The blocks of an answer, one after the other, as the items that they are in a response. */
import { codePointLength } from "@sluice/proto/runtime/validation/text.js";
import type { TurnRequest } from "../../turn/request.ts";
import type { CallWriter } from "../item-writer.ts";
import { providerFailed } from "../failure.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";
import { type Emit, type ItemStatus, type MessageWriter, Output } from "../output.ts";
import { SentTools } from "../tool-names.ts";
import { WrappedInput } from "../wrapped-input.ts";
import { citationOf } from "./citations.ts";
import { Searches } from "./searches.ts";
import { thoughtFormat } from "./thoughts.ts";

/** What one kind of block makes of its deltas. */
interface Reader {
  delta(delta: JsonObject): void;
  /** Nothing more comes; what the block says in the end is said. */
  stop?(): void;
  /** Ends the item: with the next one, or with the answer, which says whether it is whole. */
  end?(status: ItemStatus): void;
}

const withoutBeginning: ReadonlyMap<string, string> = new Map([
  ["text_delta", "text"],
  ["thinking_delta", "thinking"],
]);

const ignored: Reader = { delta: () => undefined };

export class Blocks {
  readonly #output: Output;
  readonly #tools: SentTools;
  readonly #searches: Searches;
  /** Sealed reasoning is an output only on request. */
  readonly #sealed: boolean;
  #message: MessageWriter | undefined;
  #open: Reader = ignored;
  /** Places of the blocks that have begun; the last of them is open. */
  readonly #begun = new Set<unknown>();
  #place: unknown;

  constructor(request: TurnRequest, emit: Emit) {
    this.#output = new Output(emit);
    this.#tools = SentTools.of(request, true);
    this.#searches = new Searches(this.#output, request.include.includes("web_search_call.action.sources"));
    this.#sealed = request.include.includes("reasoning.encrypted_content");
  }

  /**
   * @param place among the blocks of the answer
   * @param inputJson of a call that is whole
   */
  begin(block: JsonObject, place: unknown, inputJson?: string): void {
    this.#begun.add(place);
    this.#place = place;
    // Texts that follow each other are one message: a provider that cites begins a block for every citation.
    if (block.type === "text") {
      this.#open.end?.("completed");
      this.#open = this.#text(block);
      return;
    }
    this.#closeItem();
    this.#open = this.#readerOf(block, inputJson);
  }

  /**
   * @param place where none is said it is of the block that is open
   * @throws Fault when another block has followed that one, or when it never began and nobody knows what it is
   */
  delta(delta: JsonObject, place: unknown = this.#place): void {
    if (place !== this.#place || this.#begun.size === 0) this.#beginUnsaid(delta, place);
    this.#open.delta(delta);
  }

  /** Of a block that nobody has begun: words and thoughts need no beginning. */
  #beginUnsaid({ type }: JsonObject, place: unknown): void {
    if (this.#begun.has(place)) throw providerFailed("blocks of an answer overlap");
    const kind = typeof type === "string" ? withoutBeginning.get(type) : undefined;
    if (kind === undefined) throw providerFailed("a delta of a block that has not begun");
    this.begin({ type: kind }, place);
  }

  stop(): void {
    this.#open.stop?.();
  }

  refuse(explanation: string): void {
    this.#open.end?.("incomplete");
    this.#open = ignored;
    this.#message ??= this.#output.message();
    this.#message.refusal(this.#message.part("refusal"), explanation);
  }

  end(status: ItemStatus): void {
    this.#open.end?.(status);
    this.#message?.end(status);
    this.#searches.end();
  }

  #closeItem(): void {
    this.#open.end?.("completed");
    this.#open = ignored;
    this.#message?.end("completed");
    this.#message = undefined;
  }

  #readerOf(block: JsonObject, inputJson: string | undefined): Reader {
    switch (block.type) {
      case "thinking":
        return this.#thinking(block);
      case "redacted_thinking":
        return this.#redacted(block);
      case "tool_use":
        return this.#call(block, inputJson ?? JSON.stringify(block.input ?? {}));
      case "server_tool_use":
        return this.#searches.begin(block) ?? ignored;
      case "web_search_tool_result":
        this.#searches.found(block);
        return ignored;
      default:
        return ignored;
    }
  }

  #text(block: JsonObject): Reader {
    const citations = [...objects(block.citations)];
    const start = this.#written;
    this.#say(text(block.text));
    return {
      delta: (delta) => {
        if (delta.type === "citations_delta" && isObject(delta.citation)) citations.push(delta.citation);
        else this.#say(text(delta.text));
      },
      stop: () => {
        const message = this.#message;
        if (!message || this.#written === start) return;
        for (const citation of citations) {
          const annotation = citationOf(citation, start, this.#written);
          if (annotation) message.annotation(message.part("output_text"), annotation);
        }
      },
    };
  }

  /** Code points of the part that is open. */
  get #written(): number {
    const part = this.#message?.parts.at(-1);
    return part?.type === "output_text" ? codePointLength(part.text) : 0;
  }

  #say(words: string): void {
    if (words === "") return;
    this.#message ??= this.#output.message();
    this.#message.text(this.#message.part("output_text"), words);
  }

  #thinking(block: JsonObject): Reader {
    const reasoning = this.#output.reasoning();
    let signature = text(block.signature);
    if (text(block.thinking) !== "") reasoning.text(0, text(block.thinking));
    return {
      delta(delta) {
        if (delta.type === "signature_delta") signature = text(delta.signature);
        else if (text(delta.thinking) !== "") reasoning.text(0, text(delta.thinking));
      },
      end: (status) => reasoning.end(status, { format: thoughtFormat, signature: signature || null }),
    };
  }

  #redacted({ data }: JsonObject): Reader {
    if (!this.#sealed) return ignored;
    this.#output.reasoning().end("completed", { encrypted_content: text(data), format: thoughtFormat });
    return ignored;
  }

  /** Under the name that the client gave the tool; what nobody offered keeps the name by which the model calls it. */
  #call(block: JsonObject, inputJson: string): Reader {
    const called = this.#tools.called(text(block.name));
    const name = called?.tool.name ?? text(block.name);
    const id = text(block.id) || undefined;
    const namespace = called?.namespace?.name;
    return called?.wrapped === true
      ? wrappedReader(this.#output.customCall(name, id, namespace), inputJson)
      : callReader(this.#output.call(name, id, namespace), inputJson);
  }
}

/** A streamed call begins with an empty input, which is the whole one where nothing follows. */
const callReader = (call: CallWriter, inputJson: string): Reader => ({
  delta: (delta) => call.arguments(text(delta.partial_json)),
  stop() {
    if (call.carried === "") call.arguments(inputJson);
  },
  end: (status) => call.end(status),
});

function wrappedReader(call: CallWriter, inputJson: string): Reader {
  const wrapped = new WrappedInput();
  return {
    delta: (delta) => call.arguments(wrapped.read(text(delta.partial_json))),
    stop() {
      if (wrapped.json === "") call.arguments(wrapped.read(inputJson === "{}" ? '{"input":""}' : inputJson));
    },
    end(status) {
      if (status === "completed") call.arguments(wrapped.finish());
      call.end(status);
    },
  };
}
