/** The blocks of an answer, one after the other, as the items that they are in a response. Only calls are announced: others begin with what they say. */
import type { TurnRequest } from "../../turn/request.ts";
import { providerFailed } from "../failure.ts";
import type { CallWriter } from "../item-writer.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import { thoughtFormat } from "../messages/thoughts.ts";
import { type Emit, type ItemStatus, type MessageWriter, Output, type ReasoningWriter } from "../output.ts";
import { SentTools } from "../tool-names.ts";
import { WrappedInput } from "../wrapped-input.ts";
import type { Family } from "./family.ts";

/** What one block makes of its deltas. */
interface Reader {
  delta(delta: JsonObject): void;
  /** Nothing more comes; what the block says in the end is said. */
  stop?(): void;
  /** Ends the item: with the next one, or with the answer, which says whether it is whole. */
  end(status: ItemStatus): void;
}

interface Open {
  readonly index: unknown;
  readonly kind: "text" | "thought" | "call";
  readonly reader: Reader;
}

export class Blocks {
  readonly #output: Output;
  readonly #tools: SentTools;
  readonly #format: string;
  /** Sealed reasoning is an output only on request. */
  readonly #sealed: boolean;
  #message: MessageWriter | undefined;
  #open: Open | undefined;
  /** Numbers of the calls that have begun. */
  readonly #calls = new Set<unknown>();

  constructor(request: TurnRequest, family: Family, emit: Emit) {
    this.#output = new Output(emit);
    this.#tools = SentTools.of(request, true);
    this.#format = family === "anthropic" ? thoughtFormat : "unknown";
    this.#sealed = request.include.includes("reasoning.encrypted_content");
  }

  begin(index: unknown, { toolUse }: JsonObject): void {
    if (!isObject(toolUse)) return;
    this.#closeItem();
    this.#calls.add(index);
    this.#open = { index, kind: "call", reader: this.#call(toolUse) };
  }

  /** Text and thought that say nothing begin no block: a stream may leave them out. */
  delta(index: unknown, delta: JsonObject): void {
    const { reasoningContent, toolUse } = delta;
    if (text(delta.text) !== "") this.#readerOf(index, "text")?.delta(delta);
    else if (isObject(reasoningContent) && Object.values(reasoningContent).some(text))
      this.#readerOf(index, "thought")?.delta(reasoningContent);
    else if (isObject(toolUse)) this.#readerOf(index, "call")?.delta(toolUse);
  }

  stop(index: unknown): void {
    if (this.#open?.index === index) this.#open?.reader.stop?.();
  }

  end(status: ItemStatus): void {
    this.#open?.reader.end(status);
    this.#message?.end(status);
  }

  /** That of the open block, or of one that begins with this delta; undefined for the input of a call that nobody has announced. */
  #readerOf(index: unknown, kind: Open["kind"]): Reader | undefined {
    const open = this.#open;
    if (open !== undefined && open.index === index && open.kind === kind) return open.reader;
    if (kind === "call") return this.#unannounced(index);
    if (kind === "thought") this.#closeItem();
    // Texts that follow each other are one message.
    else this.#closeBlock();
    const reader = kind === "text" ? this.#text() : this.#thought();
    this.#open = { index, kind, reader };
    return reader;
  }

  /** @throws Fault for more of a call when another block has followed it */
  #unannounced(index: unknown): undefined {
    if (this.#calls.has(index)) throw providerFailed("blocks of an answer overlap");
  }

  #closeBlock(): void {
    this.#open?.reader.end("completed");
    this.#open = undefined;
  }

  #closeItem(): void {
    this.#closeBlock();
    this.#message?.end("completed");
    this.#message = undefined;
  }

  #text(): Reader {
    return {
      delta: (delta) => {
        this.#message ??= this.#output.message();
        this.#message.text(this.#message.part("output_text"), text(delta.text));
      },
      end: () => undefined,
    };
  }

  /** A thought that is not shown is signed all the same. */
  #thought(): Reader {
    let reasoning: ReasoningWriter | undefined;
    let signature = "";
    let sealed = "";
    const begun = () => (reasoning ??= this.#output.reasoning());
    return {
      delta: (delta) => {
        if (text(delta.text) !== "") begun().text(0, text(delta.text));
        if (text(delta.signature) !== "") begun();
        if (text(delta.redactedContent) !== "" && this.#sealed) begun();
        signature += text(delta.signature);
        sealed += text(delta.redactedContent);
      },
      end: (status) =>
        reasoning?.end(status, {
          format: this.#format,
          signature: signature || null,
          ...(sealed !== "" && this.#sealed && { encrypted_content: sealed }),
        }),
    };
  }

  /** Under the name that the client gave the tool; what nobody offered keeps the name by which the model calls it. */
  #call(toolUse: JsonObject): Reader {
    const called = this.#tools.called(text(toolUse.name));
    const name = called?.tool.name ?? text(toolUse.name);
    const id = text(toolUse.toolUseId) || undefined;
    const namespace = called?.namespace?.name;
    return called?.wrapped === true
      ? wrappedReader(this.#output.customCall(name, id, namespace))
      : callReader(this.#output.call(name, id, namespace));
  }
}

/** Of a call without parameters nothing comes. */
const callReader = (call: CallWriter): Reader => ({
  delta: (delta) => call.arguments(text(delta.input)),
  stop() {
    if (call.carried === "") call.arguments("{}");
  },
  end: (status) => call.end(status),
});

function wrappedReader(call: CallWriter): Reader {
  const wrapped = new WrappedInput();
  return {
    delta: (delta) => call.arguments(wrapped.read(text(delta.input))),
    stop() {
      if (wrapped.json === "") wrapped.read('{"input":""}');
    },
    end(status) {
      if (status === "completed") call.arguments(wrapped.finish());
      call.end(status);
    },
  };
}
