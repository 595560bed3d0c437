/** A tool call of a Cohere answer, whose arguments come in pieces. */
import type { CallWriter, ItemStatus } from "../events/item-writer.ts";
import type { Output } from "../events/output.ts";
import { providerFailed } from "../failure.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import type { SentTools } from "../translate/names/tool-names.ts";
import { WrappedInput, endWrapped } from "../translate/wrapped-input.ts";

export class CohereToolCall {
  readonly index: unknown;
  readonly #writer: CallWriter;
  /** Reader of the input; present for a custom tool sent as a function. */
  readonly #wrapped: WrappedInput | undefined;
  /** The beginning of the arguments, as long as it may still become `null`. */
  #held: string | undefined = "";
  #finished = false;

  /**
   * Begins the item of the call. It has the client's name of the tool; for a tool that was never offered, the model's
   * name.
   * @param call `{id, function: {name, arguments}}`
   */
  constructor(call: JsonObject, index: unknown, output: Output, tools: SentTools) {
    const sentName = isObject(call.function) ? text(call.function.name) : "";
    if (sentName === "") throw providerFailed("a tool call without a name");
    const called = tools.findBySentName(sentName);
    const name = called?.tool.name ?? sentName;
    const id = text(call.id) || undefined;
    const namespace = called?.namespace?.name;
    this.index = index;
    this.#wrapped = called?.wrapped === true ? new WrappedInput() : undefined;
    this.#writer = this.#wrapped ? output.customCall(name, id, namespace) : output.call(name, id, namespace);
    this.read(call);
  }

  /**
   * Adds a piece of the arguments. For a tool without parameters Cohere writes `null`, which clients cannot read as an
   * object, so it becomes {}.
   * @param piece `{function: {arguments}}`
   */
  read(piece: JsonObject): void {
    const json = isObject(piece.function) ? argumentsText(piece.function.arguments) : "";
    if (json === "") return;
    if (this.#finished) throw providerFailed("arguments behind the end of their call");
    if (this.#held === undefined) return this.#write(json);
    this.#held += json;
    if ("null".startsWith(this.#held.trim())) return;
    this.#write(this.#held);
    this.#held = undefined;
  }

  /** Called when the arguments are complete. */
  finish(): void {
    if (this.#finished) return;
    this.#finished = true;
    const held = this.#held?.trim();
    if (held === "" || held === "null") this.#write("{}");
    else if (held !== undefined) this.#write(held);
    this.#held = undefined;
  }

  end(status: ItemStatus): void {
    if (status === "completed") this.finish();
    if (this.#wrapped) endWrapped(this.#writer, this.#wrapped, status);
    else this.#writer.end(status);
  }

  #write(json: string): void {
    this.#writer.arguments(this.#wrapped ? this.#wrapped.read(json) : json);
  }
}

/** The arguments as text. The format requires a string; compatible servers may send an object. */
function argumentsText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
