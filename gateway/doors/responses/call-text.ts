/** Names of the events that stream the text of a call, and the member of the item that contains this text. */

/** The members of an item that the stream needs. */
export interface ItemJson {
  readonly type: string;
  readonly id: string;
  readonly name?: string;
  readonly [field: string]: unknown;
}

export interface CallText {
  /** Type of the event with a piece of the text; `done` is the type of the event with the complete text. */
  readonly delta: string;
  readonly done: string;
  /** Name of the complete text in the payload of the event `done`. */
  readonly member: string;
  /** Whether the text has events only if the provider streamed it. Otherwise a complete call gets them, too. */
  readonly onlyStreamed: boolean;
  /** @returns the text of an item; undefined for an item without one */
  read(item: ItemJson): string | undefined;
  /** @returns the members of the item, with this text in place */
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

/** Types of calls with a streamed text. */
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

/** Statuses for an unfinished item of a type that does not know the status `incomplete`. */
export const unfinishedStatus: ReadonlyMap<string, string> = new Map([
  ["web_search_call", "failed"],
  ["file_search_call", "failed"],
  ["image_generation_call", "failed"],
  ["apply_patch_call", "in_progress"],
]);
