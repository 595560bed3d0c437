/** Finds the field with the text of a call, by item type. */
import type { OutputItem } from "../../../turn/turn.ts";
import { type JsonObject, isObject } from "../json.ts";

export interface CallText {
  /** @returns the text of the call; undefined when the item contains none */
  read(item: JsonObject): unknown;
  /** Fields of the item that contain the text. */
  write(item: JsonObject, text: string): JsonObject;
  /** Whether a text that did not stream is sent as one delta; if not, the item comes whole. */
  readonly completed: boolean;
}

const inMember = (name: string): CallText => ({
  read: (item) => item[name],
  write: (_, text) => ({ [name]: text }),
  completed: true,
});

const inArguments = inMember("arguments");

const kinds: ReadonlyMap<unknown, CallText> = new Map([
  ["function_call", inArguments],
  ["mcp_call", inArguments],
  ["custom_tool_call", inMember("input")],
  [
    "code_interpreter_call",
    {
      ...inMember("code"),
      // The code is not available if it is null, unlike empty code.
      write: (item, code) => ({ code: code === "" && typeof item.code !== "string" ? null : code }),
    },
  ],
  [
    "apply_patch_call",
    {
      read: ({ operation }) => (isObject(operation) ? operation.diff : undefined),
      // For a deleted file, there is no diff.
      write: ({ operation }, diff) =>
        isObject(operation) && (diff !== "" || typeof operation.diff === "string")
          ? { operation: { ...operation, diff } }
          : {},
      completed: false,
    },
  ],
]);

export const findCallText = ({ type }: OutputItem): CallText => kinds.get(type) ?? inArguments;

export const hasCallText = (type: unknown): boolean => kinds.has(type);
