/** The text that a call carries, by the type of its item: where the item holds it. */
import type { OutputItem } from "../turn/turn.ts";
import { type JsonObject, isObject } from "./json.ts";

export interface Carried {
  /** Undefined when the item holds none. */
  read(item: JsonObject): unknown;
  /** The members of the item with the text in them. */
  write(item: JsonObject, text: string): JsonObject;
  /** Whether a text that never streamed is shown as one delta; otherwise its item comes in one piece. */
  readonly completed: boolean;
}

const inMember = (name: string): Carried => ({
  read: (item) => item[name],
  write: (_, text) => ({ [name]: text }),
  completed: true,
});

const inArguments = inMember("arguments");

const kinds: ReadonlyMap<unknown, Carried> = new Map([
  ["function_call", inArguments],
  ["mcp_call", inArguments],
  ["custom_tool_call", inMember("input")],
  [
    "code_interpreter_call",
    {
      ...inMember("code"),
      // null is code that cannot be had, which is not the same as none.
      write: (item, code) => ({ code: code === "" && typeof item.code !== "string" ? null : code }),
    },
  ],
  [
    "apply_patch_call",
    {
      read: ({ operation }) => (isObject(operation) ? operation.diff : undefined),
      // A file that is deleted has no diff.
      write: ({ operation }, diff) =>
        isObject(operation) && (diff !== "" || typeof operation.diff === "string")
          ? { operation: { ...operation, diff } }
          : {},
      completed: false,
    },
  ],
]);

export const carriedBy = ({ type }: OutputItem): Carried => kinds.get(type) ?? inArguments;

export const carriesText = (type: unknown): boolean => kinds.has(type);
