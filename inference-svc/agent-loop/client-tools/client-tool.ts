/**
 * A tool of OpenAI's format, executed by the client. Providers without the tool get a function instead, and a call of the function becomes the tool's item.
 * Each tool has a file.
 */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { ObjectShape } from "@sluice/proto/lib/validation/shape.js";

export interface ClientTool {
  /** Types of the tool's entries in requests. The first is OpenAI's type, accepted by OpenAI's providers. */
  readonly kinds: readonly [string, ...string[]];
  /** Name of the function sent to providers without the tool, unless another tool of the request has this name. */
  readonly name: string;
  /** Types of the items for a call and for its output. */
  readonly callType: string;
  readonly outputType: string;
  /** Prefix of the ids of the tool's call items. */
  readonly idPrefix: string;
  /**
   * @param settings the tool's entry in the request
   * @returns undefined when only the provider can run the requested tool
   */
  open(settings: JsonObject): OpenClientTool | undefined;
}

export interface OpenClientTool {
  /** Description for the model: the tool's purpose and the form of its arguments. */
  readonly description: string;
  readonly arguments: ObjectShape;
  /**
   * @param args arguments that match the shape
   * @returns the fields of the call's item, or a sentence for the model about the error
   */
  toFields(args: JsonObject): JsonObject | string;
}
