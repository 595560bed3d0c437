/** Output items for tool calls that the client runs. */
import {
  anyValue,
  array,
  boolean,
  described,
  integer,
  nullable,
  object,
  string,
  tagged,
  word,
} from "../../lib/validation/shape.ts";
import { cacheControl } from "../request/caching.ts";
import { callId, itemShape } from "./item.ts";
import { openObject } from "./parts.ts";

const namespace = described(string(), "Namespace of the tool, when it was declared in one.");
const asynchronous = described(boolean, "The result may be given in a later request.");

export const functionCall = itemShape(
  "function_call",
  "A function that the client is to run.",
  {
    call_id: callId,
    name: described(string(), "Name of the function."),
    arguments: described(string(), "Arguments as JSON text, as the model wrote them."),
    namespace,
    async: asynchronous,
    subagent_id: described(string(), "The subagent that asks."),
    subagent_items: described(array(openObject), "State of the subagent; send it back unchanged."),
    cache_control: described(nullable(cacheControl), "Of a call that is sent back: marks it for the provider's cache."),
  },
  { required: ["call_id", "name", "arguments"] },
);

export const customToolCall = itemShape(
  "custom_tool_call",
  "A custom tool that the client is to run.",
  {
    call_id: callId,
    name: described(string(), "Name of the tool."),
    input: described(string(), "Input of the tool, in the form that its declaration asks for."),
    namespace,
    async: asynchronous,
  },
  { required: ["call_id", "name", "input"] },
);

const safetyCheck = object(
  { id: string(), code: nullable(string()), message: nullable(string()) },
  { required: ["id"] },
);

export const computerCall = itemShape(
  "computer_call",
  "Something that the client is to do on a computer.",
  {
    call_id: callId,
    action: described(anyValue, "What to do, in the provider's words."),
    pending_safety_checks: described(array(safetyCheck), "What a person should confirm first."),
  },
  { required: ["call_id"] },
);

const patchOperation = tagged("type", {
  create_file: object(
    { type: word("create_file"), path: string(), diff: string() },
    { required: ["type", "path", "diff"] },
  ),
  update_file: object(
    { type: word("update_file"), path: string(), diff: string() },
    { required: ["type", "path", "diff"] },
  ),
  delete_file: object({ type: word("delete_file"), path: string() }, { required: ["type", "path"] }),
});

export const applyPatchCall = itemShape(
  "apply_patch_call",
  "A change of a file that the client is to make.",
  { call_id: callId, operation: described(patchOperation, "The change.") },
  { required: ["call_id", "operation"] },
);

const shellAction = object(
  {
    commands: described(array(string()), "Commands in their order."),
    timeout_ms: described(nullable(integer({ min: 0 })), "Milliseconds that they may take."),
    max_output_length: described(nullable(integer({ min: 0 })), "Characters of output that the model wants at most."),
  },
  { required: ["commands"] },
);

export const shellCall = itemShape(
  "shell_call",
  "Commands that the client is to run.",
  {
    call_id: callId,
    action: described(shellAction, "The commands."),
    arguments: described(string(), "The call as the model wrote it."),
    environment: described(nullable(openObject), "Where to run them."),
  },
  { required: ["call_id", "action"] },
);

export const localShellAction = object(
  {
    type: word("exec"),
    command: array(string()),
    env: openObject,
    timeout_ms: nullable(integer({ min: 0 })),
    user: nullable(string()),
    working_directory: nullable(string()),
  },
  { required: ["type", "command", "env"] },
);

export const localShellCall = itemShape(
  "local_shell_call",
  "A command that the client is to run.",
  { call_id: callId, action: described(localShellAction, "The command.") },
  { required: ["call_id", "action"] },
);
