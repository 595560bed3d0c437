/** The text that a call carries while it streams: what its events are called, and where the item holds it. */

/** An item in its JSON form, as far as the stream reads it. */
export interface ItemJson {
  readonly type: string;
  readonly id: string;
  readonly name?: string;
  readonly [field: string]: unknown;
}

export interface CallText {
  /** Types of its events. */
  readonly delta: string;
  readonly done: string;
  /** Name of the text in the payload of the second. */
  readonly member: string;
  /** The events are only for text that streamed: a call that comes whole has none. */
  readonly onlyStreamed: boolean;
  /** Undefined when the item holds none. */
  read(item: ItemJson): string | undefined;
  /** The members of the item with the text in them. */
  write(item: ItemJson, text: string): Readonly<Record<string, unknown>>;
}

const inMember = (delta: string, done: string, member: string): CallText => ({
  delta,
  done,
  member,
  onlyStreamed: false,
  read: (item) => asText(item[member]),
  write: (_, text) => ({ [member]: text }),
});

const asText = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

interface Operation {
  readonly diff?: unknown;
}

/** By the type of the item. */
export const callTexts: ReadonlyMap<string, CallText> = new Map([
  [
    "function_call",
    inMember("response.function_call_arguments.delta", "response.function_call_arguments.done", "arguments"),
  ],
  ["mcp_call", inMember("response.mcp_call_arguments.delta", "response.mcp_call_arguments.done", "arguments")],
  [
    "custom_tool_call",
    inMember("response.custom_tool_call_input.delta", "response.custom_tool_call_input.done", "input"),
  ],
  [
    "code_interpreter_call",
    inMember("response.code_interpreter_call_code.delta", "response.code_interpreter_call_code.done", "code"),
  ],
  [
    "apply_patch_call",
    {
      delta: "response.apply_patch_call_operation_diff.delta",
      done: "response.apply_patch_call_operation_diff.done",
      member: "diff",
      onlyStreamed: true,
      read: (item) => asText((item["operation"] as Operation | undefined)?.diff),
      write: (item, text) => ({ operation: { ...(item["operation"] as Operation | undefined), diff: text } }),
    },
  ],
]);

/** Kinds of items whose statuses do not include `incomplete`, and what one is that will never be whole. */
export const unfinishedStatus: ReadonlyMap<string, string> = new Map([
  ["web_search_call", "failed"],
  ["file_search_call", "failed"],
  ["image_generation_call", "failed"],
  ["apply_patch_call", "in_progress"],
]);
