/** Items in the input of a request: output items of earlier answers, and items made by clients. */
import type { JsonObject } from "../../lib/validation/fields.ts";
import {
  type ObjectShape,
  type Shape,
  anyValue,
  array,
  boolean,
  constant,
  described,
  named,
  nullable,
  object,
  openTagged,
  string,
  stringOr,
  tagged,
  word,
} from "../../lib/validation/shape.ts";
import { agentContent, messageContent, inputText, outputContent, assistantContent } from "./content.ts";
import { localShellAction } from "./client-items.ts";
import { codeOutput, shellOutput, webSearchActions } from "./hosted-items.ts";
import { itemName, modelItems, outputItems, phase } from "./output.ts";
import { openObject } from "./parts.ts";
import { effort } from "../request/settings.ts";
import { toolsShape } from "../tools/tools.ts";

const id = nullable(string());
const required = described(string({ min: 1 }), "By which a call and its output belong together.");
const status = nullable(word("in_progress", "completed", "incomplete"));

/** Shape of an output item in the input: `id` and `status` are optional, and null counts as unset. */
function replayed({ fields, rules }: ObjectShape, more: Readonly<Record<string, Shape>> = {}): ObjectShape {
  const needed = (rules.required ?? []).filter((name) => name !== "id" && name !== "status");
  const all = Object.entries({ ...fields, ...more }).map(([name, shape]) => [
    name,
    needed.includes(name) ? shape : nullable(shape),
  ]);
  return object(Object.fromEntries(all) as Record<string, Shape>, { ...rules, required: needed });
}

const call = { call_id: required };
const namedCall = { ...call, name: string({ min: 1 }) };
const output = { type: anyValue, call_id: required, id, status };

const itemOf = (
  type: string,
  description: string,
  fields: Readonly<Record<string, Shape>>,
  needed: readonly string[],
) => object({ ...fields, type: word(type) }, { required: ["type", ...needed], description });

const participant = described(nullable(string()), "Name of the participant, to tell several of one role apart.");

const assistantMessage = named(
  "AssistantMessage",
  object(
    {
      type: word("message"),
      role: word("assistant"),
      content: nullable(assistantContent),
      phase,
      id,
      status,
      model: id,
    },
    { required: ["role"], description: "An earlier answer of the model." },
  ),
);

const userMessage = named(
  "InputMessage",
  object(
    {
      type: word("message"),
      role: word("user", "system", "developer"),
      content: nullable(messageContent),
      name: participant,
      phase,
      id,
      status,
    },
    { required: ["role"], description: "The message to the model." },
  ),
);

const message = tagged(
  "role",
  { user: userMessage, system: userMessage, developer: userMessage, assistant: assistantMessage },
  { listed: true },
);

const reasoning = replayed(
  { ...modelItems.reasoning, rules: { required: ["type"] } },
  { content: modelItems.reasoning.fields["content"] as Shape },
);

const mapped = <From>(
  kinds: Readonly<Record<string, From>>,
  change: (kind: From, type: string) => Shape,
): Readonly<Record<string, Shape>> =>
  Object.fromEntries(Object.entries(kinds).map(([type, kind]) => [type, change(kind, type)]));

/** Shapes of output items in the input, by type. */
const replays: Readonly<Record<string, Shape>> = {
  ...mapped(outputItems, (shape) => replayed(shape)),
  reasoning,
  function_call: replayed(modelItems.function_call, namedCall),
  custom_tool_call: replayed(modelItems.custom_tool_call, namedCall),
  apply_patch_call: replayed(modelItems.apply_patch_call, call),
  local_shell_call: replayed(modelItems.local_shell_call, {
    ...call,
    // `timeout_ms` and other fields are optional, because Codex does not send them.
    action: replayed({ ...localShellAction, rules: { required: ["type", "command"] } }),
  }),
  shell_call: replayed(modelItems.shell_call, call),
  computer_call: replayed(modelItems.computer_call, call),
  web_search_call: replayed(modelItems.web_search_call, {
    action: openTagged(
      "type",
      mapped(webSearchActions, (shape) => replayed(shape)),
    ),
  }),
  code_interpreter_call: replayed(modelItems.code_interpreter_call, {
    outputs: nullable(array(openTagged("type", Object.fromEntries(codeOutput.kinds)))),
  }),
  mcp_call: replayed(modelItems.mcp_call, {
    error: stringOr(string(), openObject, "must be a string, an object or null"),
  }),
  tool_search_output: replayed(modelItems.tool_search_output, { tools: toolsShape }),
};

const messageOutput = (type: string, description: string): Shape =>
  itemOf(type, description, { ...output, output: outputContent }, ["call_id", "output"]);

const outputs: Readonly<Record<string, Shape>> = {
  function_call_output: messageOutput("function_call_output", "What a function gave."),
  custom_tool_call_output: messageOutput("custom_tool_call_output", "What a custom tool gave."),
  apply_patch_call_output: itemOf(
    "apply_patch_call_output",
    "Whether a change could be made.",
    { ...output, status: word("completed", "failed"), output: nullable(inputText) },
    ["call_id", "status"],
  ),
  local_shell_call_output: itemOf(
    "local_shell_call_output",
    "What a command printed, as JSON text.",
    { id: described(string({ min: 1 }), "The id or call_id of the call."), call_id: id, status, output: inputText },
    ["id", "output"],
  ),
  shell_call_output: itemOf(
    "shell_call_output",
    "What commands printed.",
    { ...modelItems.shell_call_output.fields, ...output, output: array(shellOutput) },
    ["call_id", "output"],
  ),
  computer_call_output: itemOf(
    "computer_call_output",
    "What the screen looks like.",
    {
      ...output,
      output: object(
        { type: word("computer_screenshot"), image_url: nullable(string()), file_id: nullable(string()) },
        { required: ["type"] },
      ),
      acknowledged_safety_checks: nullable(array(openObject)),
    },
    ["call_id", "output"],
  ),
  mcp_approval_response: itemOf(
    "mcp_approval_response",
    "Whether an MCP tool may be called.",
    { approval_request_id: string({ min: 1 }), approve: boolean, id, reason: nullable(string()) },
    ["approval_request_id", "approve"],
  ),
};

const others: Readonly<Record<string, Shape>> = {
  context_compaction: itemOf(
    "context_compaction",
    "Where the conversation was compacted.",
    { encrypted_content: nullable(string()), id },
    [],
  ),
  compaction_trigger: itemOf(
    "compaction_trigger",
    "The last item: asks for the conversation before it in a short form, as an item `compaction`, in place of an answer.",
    { id },
    [],
  ),
  item_reference: itemOf(
    "item_reference",
    "Names an item that comes before in the same input, and adds nothing to it: nothing is stored.",
    { id: string({ min: 1 }) },
    ["id"],
  ),
  additional_tools: itemOf(
    "additional_tools",
    "Tools that are there from this point on.",
    {
      role: word("unknown", "user", "assistant", "system", "critic", "discriminator", "developer", "tool"),
      tools: toolsShape,
      id,
    },
    ["role", "tools"],
  ),
  agent_message: itemOf(
    "agent_message",
    "What one agent tells another.",
    {
      author: string({ min: 1 }),
      recipient: string({ min: 1 }),
      content: agentContent,
      agent: nullable(object({ agent_name: string() }, { required: ["agent_name"] })),
      id,
    },
    ["author", "recipient", "content"],
  ),
  configuration_update: itemOf(
    "configuration_update",
    "Another effort from this point on.",
    { reasoning: object({ effort }, { required: ["effort"] }), id },
    ["reasoning"],
  ),
};

const inputName = (type: string): string => `Input${itemName(type)}`;
const withNames = (kinds: Readonly<Record<string, Shape>>): Readonly<Record<string, Shape>> =>
  mapped(kinds, (shape, type) => named(inputName(type), shape));

const bareReference = object(
  { type: constant(null), id: string({ min: 1 }) },
  { required: ["id"], strict: true, description: "An item_reference without its type." },
);

function untaggedItem({ type, role, id, ...others }: JsonObject): Shape | undefined {
  // An item with a role is a message, so its type may be left out.
  if (role !== undefined) return type === undefined ? message : undefined;
  return typeof id === "string" && Object.keys(others).length === 0 ? bareReference : undefined;
}

export const inputItem = named(
  "InputItem",
  tagged(
    "type",
    { ...withNames({ ...replays, ...outputs, ...others }), message },
    { untagged: untaggedItem, shorthands: [bareReference] },
  ),
);

export const input = stringOr(
  described(inputText, "One message of the user."),
  array(inputItem, { min: 1, entry: "item" }),
  "must be a string or an array of items",
);
