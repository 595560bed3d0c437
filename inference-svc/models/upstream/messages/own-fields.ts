/** Fields of a Messages answer without a place in other formats, for clients of this format. */
import { type JsonObject, isObject } from "../json.ts";

const ofMessage = ["container", "context_management"];
const ofUsage = ["inference_geo", "server_tool_use", "iterations"];
/** Where the provider has summarized the conversation, the message's own tokens are fewer than those of the turn. */
const ownCounts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];

export class OwnFields {
  readonly #fields: Record<string, unknown> = {};

  /** @param message a whole message, its beginning, or the event of its end */
  read(message: JsonObject): void {
    for (const name of ofMessage) {
      const value = message[name] ?? (isObject(message.delta) ? message.delta[name] : undefined);
      if (isObject(value)) this.#fields[name] = value;
    }
  }

  /**
   * @param figures of the provider
   * @param hasSummary whether the turn has tokens beside those of the message
   * @returns undefined without any such field
   */
  json(figures: JsonObject | undefined, hasSummary: boolean): string | undefined {
    const names = hasSummary ? [...ownCounts, ...ofUsage] : ofUsage;
    const known = names.filter((name) => figures?.[name] !== undefined && figures[name] !== null);
    const usage = Object.fromEntries(known.map((name) => [name, figures?.[name]]));
    const fields = known.length > 0 ? { ...this.#fields, usage } : this.#fields;
    return Object.keys(fields).length === 0 ? undefined : JSON.stringify(fields);
  }
}
