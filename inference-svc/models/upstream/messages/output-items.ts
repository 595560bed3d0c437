/** Converts the blocks of a Messages answer to output items. */
import type { TurnRequest } from "../../../turn/request.ts";
import type { Target } from "../dialect.ts";
import { providerFailed } from "../failure.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";
import type { CallWriter, Emit, ItemStatus } from "../events/item-writer.ts";
import { GrowingLength } from "../events/growing-length.ts";
import { type MessageWriter, Output } from "../events/output.ts";
import { anthropicForm, plainForm } from "../translate/names/name-rules.ts";
import { SentTools } from "../translate/names/tool-names.ts";
import { RenamedArguments } from "../translate/schemas/renamed-arguments.ts";
import { messagesSchemas } from "../translate/schemas/rules.ts";
import { WrappedInput, endWrapped } from "../translate/wrapped-input.ts";
import { toAnnotation } from "./citations.ts";
import { CodeRuns } from "./code-runs.ts";
import { Fetches } from "./fetches.ts";
import { fetchedPageType, namedContainer } from "./native-tools.ts";
import { Searches } from "./searches.ts";
import { ToolSearches } from "./tool-searches.ts";
import { sealReasoning, signedFields } from "../translate/reasoning-seal.ts";
import { claudeReasoningFormat } from "../translate/blocks/reasoning.ts";

/** Reads the deltas of one block. */
interface Reader {
  delta(delta: JsonObject): void;
  /** Called when the block is complete. */
  stop?(): void;
  /** Ends the item, when the next item begins or the answer ends. The status tells whether it is complete. */
  end?(status: ItemStatus): void;
}

const withoutBeginning: ReadonlyMap<string, string> = new Map([
  ["text_delta", "text"],
  ["thinking_delta", "thinking"],
]);

const ignored: Reader = { delta: () => undefined };

export class MessagesOutputItems {
  readonly #output: Output;
  readonly #tools: SentTools;
  readonly #searches: Searches;
  readonly #codeRuns: CodeRuns;
  readonly #fetches: Fetches;
  readonly #toolSearches: ToolSearches;
  /** Whether the client requested encrypted reasoning. */
  readonly #sealed: boolean;
  #message: MessageWriter | undefined;
  /** Length of the open text part in code points. */
  #length = new GrowingLength();
  #open: Reader = ignored;
  /** Indices of the blocks that have begun; the last one is open. */
  readonly #begun = new Set<unknown>();
  #place: unknown;

  constructor(request: TurnRequest, target: Target, emit: Emit) {
    this.#output = new Output(emit);
    this.#tools = SentTools.of(request, target.original ? anthropicForm : plainForm);
    this.#searches = new Searches(
      this.#output,
      request.include.includes("web_search_call.action.sources"),
      request.door === "messages",
    );
    const requestsOutputs = request.include.includes("code_interpreter_call.outputs");
    this.#codeRuns = new CodeRuns(this.#output, requestsOutputs, namedContainer(request));
    this.#fetches = new Fetches(this.#output, fetchedPageType(request));
    this.#toolSearches = new ToolSearches(this.#output, this.#tools);
    this.#sealed = request.include.includes("reasoning.encrypted_content");
  }

  get hasBegun(): boolean {
    return this.#begun.size > 0;
  }

  /**
   * Begins a block. @param place index of the block
   * @param inputJson input of the block, if it is a whole call
   */
  begin(block: JsonObject, place: unknown, inputJson?: string): void {
    this.#begun.add(place);
    this.#place = place;
    // Consecutive text blocks form one message, because a provider begins a new block for every citation.
    if (block.type === "text") {
      this.#open.end?.("completed");
      this.#open = this.#text(block);
      return;
    }
    this.#closeItem();
    this.#open = this.#readerOf(block, inputJson);
  }

  /**
   * Reads a delta. @param place index of the block; the open block by default
   * @throws Fault when another block has followed, or when the block never began and its kind is unknown
   */
  delta(delta: JsonObject, place: unknown = this.#place): void {
    if (place !== this.#place || this.#begun.size === 0) this.#beginUnsaid(delta, place);
    this.#open.delta(delta);
  }

  /** Begins a block the provider has not announced. This is safe only for text and reasoning. */
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

  /**
   * Ends all items.
   * @param paused whether the provider would go on with its own tools in a further request
   * @returns the status of the answer
   */
  end(status: ItemStatus, paused = false): ItemStatus {
    this.#open.end?.(status);
    this.#message?.end(status);
    this.#searches.end(paused);
    this.#codeRuns.end(paused);
    this.#fetches.end(paused);
    this.#toolSearches.end(paused);
    return this.#output.finalStatus(status);
  }

  #closeItem(): void {
    this.#open.end?.("completed");
    this.#open = ignored;
    if (!this.#message) return;
    this.#message.end("completed");
    this.#message = undefined;
    this.#length = new GrowingLength();
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
        return this.#serverCall(block) ?? ignored;
      case "web_search_tool_result":
        this.#searches.found(block);
        return ignored;
      case "tool_search_tool_result":
        this.#toolSearches.found(block);
        return ignored;
      case "web_fetch_tool_result":
        this.#fetches.read(block);
        return ignored;
      case "code_execution_tool_result":
      case "bash_code_execution_tool_result":
      case "text_editor_code_execution_tool_result":
        this.#codeRuns.ended(block);
        return ignored;
      default:
        return ignored;
    }
  }

  #serverCall(block: JsonObject): Reader | undefined {
    const readers = [this.#searches, this.#codeRuns, this.#fetches, this.#toolSearches];
    for (const reader of readers) {
      const begun = reader.begin(block);
      if (begun) return begun;
    }
    return undefined;
  }

  #text(block: JsonObject): Reader {
    const citations = [...objects(block.citations)];
    const start = this.#length.points;
    this.#addText(text(block.text));
    return {
      delta: (delta) => {
        if (delta.type === "citations_delta" && isObject(delta.citation)) citations.push(delta.citation);
        else this.#addText(text(delta.text));
      },
      stop: () => {
        const message = this.#message;
        const end = this.#length.points;
        if (!message || end === start) return;
        for (const citation of citations) {
          const annotation = toAnnotation(citation, start, end);
          if (annotation) message.annotation(message.part("output_text"), annotation);
        }
      },
    };
  }

  #addText(words: string): void {
    if (words === "") return;
    this.#message ??= this.#output.message();
    this.#message.text(this.#message.part("output_text"), words);
    this.#length.add(words);
  }

  #thinking(block: JsonObject): Reader {
    const reasoning = this.#output.reasoning(undefined, claudeReasoningFormat);
    let signature = text(block.signature);
    if (text(block.thinking) !== "") reasoning.text(0, text(block.thinking));
    return {
      delta(delta) {
        if (delta.type === "signature_delta") signature = text(delta.signature);
        else if (text(delta.thinking) !== "") reasoning.text(0, text(delta.thinking));
      },
      end: (status) => reasoning.end(status, signedFields(claudeReasoningFormat, signature, this.#sealed)),
    };
  }

  #redacted({ data }: JsonObject): Reader {
    if (!this.#sealed) return ignored;
    const encrypted_content = sealReasoning(claudeReasoningFormat, { data: text(data) });
    this.#output
      .reasoning(undefined, claudeReasoningFormat)
      .end("completed", { encrypted_content, format: claudeReasoningFormat });
    return ignored;
  }

  /** The reader of a call. Its item has the client's name of the tool; for a tool that was never offered, the model's name. */
  #call(block: JsonObject, inputJson: string): Reader {
    const called = this.#tools.findBySentName(text(block.name));
    const name = called?.tool.name ?? text(block.name);
    const id = text(block.id) || undefined;
    const namespace = called?.namespace?.name;
    return called?.wrapped === true
      ? wrappedReader(this.#output.customCall(name, id, namespace), inputJson)
      : callReader(this.#output.call(name, id, namespace), inputJson, RenamedArguments.of(called, messagesSchemas));
  }
}

/** Reads the input of a call. A streamed call begins with an empty input, which is the whole input if no delta follows. */
const callReader = (call: CallWriter, inputJson: string, renamed: RenamedArguments | undefined): Reader => ({
  delta: ({ partial_json: json }) => call.arguments(renamed ? renamed.read(text(json)) : text(json)),
  stop() {
    if (call.written === "") call.arguments(renamed ? renamed.read(inputJson) : inputJson);
  },
  end(status) {
    if (renamed) call.arguments(renamed.finish());
    call.end(status);
  },
});

function wrappedReader(call: CallWriter, inputJson: string): Reader {
  const wrapped = new WrappedInput();
  return {
    delta: (delta) => call.arguments(wrapped.read(text(delta.partial_json))),
    stop() {
      if (wrapped.json === "") call.arguments(wrapped.read(inputJson));
    },
    end: (status) => endWrapped(call, wrapped, status),
  };
}
