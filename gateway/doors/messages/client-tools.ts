/**
 * Tools of Anthropic that clients run, such as its text editor, described as functions for models not trained on them
 * (https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview).
 */
import type { ToolFamily } from "../../contract/messages/tools.ts";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";

export interface ClientTool {
  /** Default name of a tool of this type. */
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
}

const string = { type: "string" };
const integer = { type: "integer" };
const point = { type: "array", items: integer, minItems: 2, maxItems: 2 };
const choice = (...values: readonly string[]): JsonObject => ({ type: "string", enum: values });

const command = (properties: JsonObject, ...required: readonly string[]): JsonObject => ({
  type: "object",
  properties,
  required,
});

const fileFields: JsonObject = {
  path: string,
  file_text: string,
  old_str: string,
  new_str: string,
  insert_line: integer,
  insert_text: string,
  view_range: { type: "array", items: integer },
};

export const clientTools: Readonly<Partial<Record<ToolFamily, ClientTool>>> = {
  bash_: {
    name: "bash",
    description: "Runs a command in a persistent bash session. restart begins a new session.",
    parameters: command({ command: string, restart: { type: "boolean" } }),
  },
  text_editor_: {
    name: "str_replace_based_edit_tool",
    description: "Views, creates and edits text files.",
    parameters: command(
      { command: choice("view", "create", "str_replace", "insert", "undo_edit"), ...fileFields },
      "command",
      "path",
    ),
  },
  memory_: {
    name: "memory",
    description: "Keeps notes in files below /memories, for later conversations.",
    parameters: command(
      {
        command: choice("view", "create", "str_replace", "insert", "delete", "rename"),
        ...fileFields,
        old_path: string,
        new_path: string,
      },
      "command",
    ),
  },
  computer_: {
    name: "computer",
    description: "Works on a computer by its mouse, keyboard and screen.",
    parameters: command(
      {
        action: choice(
          "screenshot",
          "left_click",
          "right_click",
          "middle_click",
          "double_click",
          "triple_click",
          "left_click_drag",
          "left_mouse_down",
          "left_mouse_up",
          "mouse_move",
          "cursor_position",
          "scroll",
          "type",
          "key",
          "hold_key",
          "wait",
          "zoom",
        ),
        coordinate: point,
        start_coordinate: point,
        text: string,
        scroll_direction: choice("up", "down", "left", "right"),
        scroll_amount: integer,
        duration: { type: "number" },
        region: { type: "array", items: integer },
      },
      "action",
    ),
  },
};
