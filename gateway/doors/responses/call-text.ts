/** Names of the events for the text of a call, and the place of this text in the item. */

/** The members of an item in JSON needed for the stream. */
export interface ItemJson {
  readonly type: string;
  readonly id: string;
  readonly name?: string;
  readonly [field: string]: unknown;
}

export interface CallText {
  /** Type of the event with a piece of the text; `done` is the event with all of it. */
  readonly delta: string;
  readonly done: string;
  /** Name of the text in the payload of `done`. */
  readonly member: string;
  /** Whether the text has events only if it was streamed, and none for a complete call. */
  readonly onlyStreamed: boolean;
  /** The text of an item; undefined without text. */
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

/** Calls with a text, by the type of their item. */
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

/** Statuses of unfinished items, for types without the status `incomplete`. */
export const unfinishedStatus: ReadonlyMap<string, string> = new Map([
  ["web_search_call", "failed"],
  ["file_search_call", "failed"],
  ["image_generation_call", "failed"],
  ["apply_patch_call", "in_progress"],
]);
