/** Converts the blocks of a Converse answer to output items. Only calls have a start event; other blocks begin with their first delta. */
import type { TurnRequest } from "../../../turn/request.ts";
import { providerFailed } from "../failure.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import { claudeReasoningFormat } from "../translate/blocks/reasoning.ts";
import type { CallWriter, Emit, ItemStatus } from "../events/item-writer.ts";
import { type MessageWriter, Output, type ReasoningWriter } from "../events/output.ts";
import { plainForm } from "../translate/names/name-rules.ts";
import { SentTools } from "../translate/names/tool-names.ts";
import { sealReasoning, signedFields } from "../translate/reasoning-seal.ts";
import { RenamedArguments } from "../translate/schemas/renamed-arguments.ts";
import { converseSchemas } from "../translate/schemas/rules.ts";
import { WrappedInput, endWrapped } from "../translate/wrapped-input.ts";
import type { Family } from "./family.ts";

/** Reads the deltas of one block. */
interface Reader {
  delta(delta: JsonObject): void;
  /** Called when the block is complete. */
  stop?(): void;
  /** Ends the item, when the next item begins or the answer ends. The status tells whether it is complete. */
  end(status: ItemStatus): void;
}

interface Open {
  readonly index: unknown;
  readonly kind: "text" | "thought" | "call";
  readonly reader: Reader;
}

export class ConverseOutputItems {
  readonly #output: Output;
  readonly #tools: SentTools;
  readonly #format: string;
  /** Whether the client requested encrypted reasoning. */
  readonly #sealed: boolean;
  #message: MessageWriter | undefined;
  #open: Open | undefined;
  /** Block indices of the calls that have begun. */
  readonly #calls = new Set<unknown>();

  constructor(request: TurnRequest, family: Family, emit: Emit) {
    this.#output = new Output(emit);
    this.#tools = SentTools.of(request, plainForm);
    this.#format = family === "anthropic" ? claudeReasoningFormat : "unknown";
    this.#sealed = request.include.includes("reasoning.encrypted_content");
  }

  begin(index: unknown, { toolUse }: JsonObject): void {
    if (!isObject(toolUse)) return;
    this.#closeItem();
    this.#calls.add(index);
    this.#open = { index, kind: "call", reader: this.#call(toolUse) };
  }

  /** Reads a delta. An empty delta begins no block. */
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

  /** @returns the status of the answer */
  end(status: ItemStatus): ItemStatus {
    this.#open?.reader.end(status);
    this.#message?.end(status);
    return this.#output.finalStatus(status);
  }

  /** The reader of the open block, or of a new block this delta begins. @returns undefined for input of a call that never started */
  #readerOf(index: unknown, kind: Open["kind"]): Reader | undefined {
    const open = this.#open;
    if (open !== undefined && open.index === index && open.kind === kind) return open.reader;
    if (kind === "call") return this.#unannounced(index);
    if (kind === "thought") this.#closeItem();
    // Consecutive text blocks are one message.
    else this.#closeBlock();
    const reader = kind === "text" ? this.#text() : this.#thought();
    this.#open = { index, kind, reader };
    return reader;
  }

  /** Handles input of a call that never started. @throws Fault when another block has begun since */
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

  /** The reader of reasoning. Reasoning without visible text has a signature, too. */
  #thought(): Reader {
    let reasoning: ReasoningWriter | undefined;
    let signature = "";
    let sealed = "";
    const begun = () => (reasoning ??= this.#output.reasoning(undefined, this.#format));
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
          ...signedFields(this.#format, signature, this.#sealed),
          ...(sealed !== "" && this.#sealed && { encrypted_content: sealReasoning(this.#format, { data: sealed }) }),
        }),
    };
  }

  /** The reader of a call. Its item has the client's name of the tool; for a tool that was never offered, the model's name. */
  #call(toolUse: JsonObject): Reader {
    const called = this.#tools.findBySentName(text(toolUse.name));
    const name = called?.tool.name ?? text(toolUse.name);
    const id = text(toolUse.toolUseId) || undefined;
    const namespace = called?.namespace?.name;
    return called?.wrapped === true
      ? wrappedReader(this.#output.customCall(name, id, namespace))
      : callReader(this.#output.call(name, id, namespace), RenamedArguments.of(called, converseSchemas));
  }
}

/** Reads the input of a call, which has no deltas if the tool has no parameters. */
const callReader = (call: CallWriter, renamed: RenamedArguments | undefined): Reader => ({
  delta: ({ input }) => call.arguments(renamed ? renamed.read(text(input)) : text(input)),
  stop() {
    if (call.written === "") call.arguments("{}");
  },
  end(status) {
    if (renamed) call.arguments(renamed.finish());
    call.end(status);
  },
});

function wrappedReader(call: CallWriter): Reader {
  const wrapped = new WrappedInput();
  return {
    delta: (delta) => call.arguments(wrapped.read(text(delta.input))),
    end: (status) => endWrapped(call, wrapped, status),
  };
}
