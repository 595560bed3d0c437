/** Items of an answer that models make: messages, reasoning, calls. The same items come back as input of the next request. */
import {
  type ObjectShape,
  type Shape,
  anything,
  array,
  boolean,
  described,
  integer,
  named,
  nullable,
  object,
  openTagged,
  string,
  tagged,
  word,
} from "../runtime/validation/shape.ts";
import { messageParts, openObject, parts } from "./parts.ts";
import { serviceItems } from "./service-items.ts";

/** Where an item stands while it streams and how it ended. */
const settled = ["in_progress", "completed", "incomplete"] as const;

interface ItemRules {
  /** Beyond `type` and `id`, and `status` unless it is optional. */
  readonly required?: readonly string[];
  readonly status?: readonly string[];
  /** Providers leave it out of some kinds. */
  readonly statusOptional?: boolean;
}

function item(
  type: string,
  description: string,
  fields: Readonly<Record<string, Shape>>,
  { required = [], status = settled, statusOptional = false }: ItemRules = {},
): ObjectShape {
  return object(
    {
      type: word(type),
      id: described(string({ min: 1 }), "Identifier of the item, unique in its response."),
      status: described(word(...status), "How far the item is. Without a stream it has ended."),
      ...fields,
    },
    { required: ["type", "id", ...(statusOptional ? [] : ["status"]), ...required], description },
  );
}

const callId = described(string(), "What the output of the call has to name.");
const namespace = described(string(), "Namespace of the tool, when it was declared in one.");
const asynchronous = described(boolean, "The result may be given in a later request.");
const files = described(array(openObject), "Files that the tool made.");

export const phase = described(
  nullable(word("commentary", "final_answer")),
  "Whether the message comments on work in progress or is the answer. Send it back as it was received.",
);

export const reasoningFormat = described(
  nullable(string()),
  "Which provider's form `encrypted_content` and `signature` have; reasoning is sent back only to a provider of the same form.",
);

const message = item(
  "message",
  "What the model says.",
  {
    role: word("assistant"),
    content: described(messageParts, "Text and refusals, in their order."),
    phase,
  },
  { required: ["role", "content"] },
);

const reasoning = item(
  "reasoning",
  "How the model came to its answer.",
  {
    summary: described(array(parts.summaryText), "Summaries that the provider allows to be shown."),
    content: described(nullable(array(parts.reasoningText)), "Raw reasoning, from models that show it."),
    encrypted_content: described(
      nullable(string()),
      "Reasoning that only its provider can read, given with `include: [reasoning.encrypted_content]`.",
    ),
    format: reasoningFormat,
    signature: described(nullable(string()), "By which the provider recognizes its own reasoning."),
  },
  { required: ["summary"], statusOptional: true },
);

const functionCall = item(
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
  },
  { required: ["call_id", "name", "arguments"] },
);

const customToolCall = item(
  "custom_tool_call",
  "A custom tool that the client is to run.",
  {
    call_id: callId,
    name: described(string(), "Name of the tool."),
    input: described(string(), "Input of the tool, in the form that its declaration asks for."),
    namespace,
    async: asynchronous,
  },
  { required: ["call_id", "name", "input"], statusOptional: true },
);

const source = object({ type: word("url"), url: string() }, { required: ["type", "url"] });

export const webSearchAction = tagged("type", {
  search: object(
    {
      type: word("search"),
      query: described(string(), "What was searched for."),
      queries: described(array(string()), "All queries, when there were several."),
      sources: described(
        array(source),
        "Pages that were found, given with `include: [web_search_call.action.sources]`.",
      ),
    },
    { required: ["type"] },
  ),
  open_page: object({ type: word("open_page"), url: nullable(string()) }, { required: ["type"] }),
  find_in_page: object(
    { type: word("find_in_page"), url: string(), pattern: string() },
    { required: ["type", "url", "pattern"] },
  ),
});

const webSearchCall = item(
  "web_search_call",
  "A search that the provider made.",
  { action: described(webSearchAction, "What was done.") },
  { status: ["in_progress", "searching", "completed", "failed", "incomplete"] },
);

const fileSearchCall = item(
  "file_search_call",
  "A search in the provider's vector stores.",
  {
    queries: described(array(string()), "What was searched for."),
    results: described(
      nullable(array(openObject)),
      "What was found, given with `include: [file_search_call.results]`.",
    ),
  },
  { required: ["queries"], status: ["in_progress", "searching", "completed", "failed", "incomplete"] },
);

const imageGenerationCall = item(
  "image_generation_call",
  "An image that the provider made.",
  {
    result: described(nullable(string()), "The image in base64."),
    prompt: described(string(), "What the image was made from."),
  },
  { status: ["in_progress", "generating", "completed", "failed", "incomplete"] },
);

export const codeOutput = tagged("type", {
  logs: object({ type: word("logs"), logs: string() }, { required: ["type", "logs"] }),
  image: object({ type: word("image"), url: string() }, { required: ["type", "url"] }),
  file: object({ type: word("file"), filename: nullable(string()) }, { required: ["type"] }),
});

const codeInterpreterCall = item(
  "code_interpreter_call",
  "Code that the provider ran.",
  {
    code: described(nullable(string()), "The code."),
    container_id: described(string(), "Container in which it ran."),
    outputs: described(
      nullable(array(codeOutput)),
      "What it printed and made, given with `include: [code_interpreter_call.outputs]`.",
    ),
  },
  { status: ["in_progress", "interpreting", "completed", "incomplete", "failed"] },
);

const safetyCheck = object(
  { id: string(), code: nullable(string()), message: nullable(string()) },
  { required: ["id"] },
);

const computerCall = item(
  "computer_call",
  "Something that the client is to do on a computer.",
  {
    call_id: callId,
    action: described(anything, "What to do, in the provider's words."),
    pending_safety_checks: described(array(safetyCheck), "What a person should confirm first."),
  },
  { required: ["call_id"] },
);

export const patchOperation = tagged("type", {
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

const applyPatchCall = item(
  "apply_patch_call",
  "A change of a file that the client is to make.",
  { call_id: callId, operation: described(patchOperation, "The change.") },
  { required: ["call_id", "operation"] },
);

export const shellAction = object(
  {
    commands: described(array(string()), "Commands in their order."),
    timeout_ms: described(nullable(integer({ min: 0 })), "Milliseconds that they may take."),
    max_output_length: described(nullable(integer({ min: 0 })), "Characters of output that the model wants at most."),
  },
  { required: ["commands"] },
);

const shellCall = item(
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

export const shellOutcome = tagged("type", {
  exit: object({ type: word("exit"), exit_code: integer() }, { required: ["type", "exit_code"] }),
  timeout: object({ type: word("timeout") }, { required: ["type"] }),
});

export const shellOutput = object(
  { stdout: string(), stderr: string(), outcome: shellOutcome },
  { required: ["stdout", "stderr", "outcome"] },
);

const shellCallOutput = item(
  "shell_call_output",
  "What commands printed that the provider ran.",
  {
    call_id: callId,
    output: described(array(shellOutput), "One entry for each command."),
    max_output_length: nullable(integer({ min: 0 })),
    container_id: described(nullable(string()), "Container in which they ran."),
    error: described(nullable(string()), "Why they could not be run."),
    files,
  },
  { required: ["call_id", "output"] },
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

const localShellCall = item(
  "local_shell_call",
  "A command that the client is to run.",
  { call_id: callId, action: described(localShellAction, "The command.") },
  { required: ["call_id", "action"] },
);

export const mcpTool = object(
  {
    name: string(),
    input_schema: anything,
    description: nullable(string()),
    annotations: anything,
  },
  { required: ["name", "input_schema"] },
);

const mcpListTools = item(
  "mcp_list_tools",
  "Tools of an MCP server.",
  {
    server_label: described(string(), "Name of the server in the request."),
    tools: described(array(mcpTool), "Its tools."),
    error: described(anything, "Why they could not be listed."),
  },
  { required: ["server_label", "tools"], statusOptional: true },
);

const mcpApprovalRequest = item(
  "mcp_approval_request",
  "A call of an MCP tool that waits for a yes.",
  { server_label: string(), name: string(), arguments: string() },
  { required: ["server_label", "name", "arguments"], statusOptional: true },
);

const mcpCall = item(
  "mcp_call",
  "A call of an MCP tool that the provider made.",
  {
    server_label: described(string(), "Name of the server in the request."),
    name: described(string(), "Name of the tool."),
    arguments: described(string(), "Arguments as JSON text."),
    output: described(nullable(string()), "What the tool answered."),
    error: described(anything, "Why it failed."),
    approval_request_id: nullable(string()),
  },
  {
    required: ["server_label", "name", "arguments"],
    status: ["in_progress", "calling", "completed", "incomplete", "failed"],
    statusOptional: true,
  },
);

const execution = word("client", "server");

const toolSearchCall = item(
  "tool_search_call",
  "A search for tools that were held back.",
  { call_id: nullable(string()), arguments: anything, execution },
  { statusOptional: true },
);

const toolSearchOutput = item(
  "tool_search_output",
  "Tools that a search found.",
  { call_id: nullable(string()), tools: array(openObject), execution },
  { required: ["tools"], statusOptional: true },
);

const compaction = item(
  "compaction",
  "The conversation so far in a form that only its provider can read.",
  { encrypted_content: string() },
  { required: ["encrypted_content"], statusOptional: true },
);

/** The kinds that models make, by type. */
export const modelItems = {
  message,
  reasoning,
  function_call: functionCall,
  custom_tool_call: customToolCall,
  web_search_call: webSearchCall,
  file_search_call: fileSearchCall,
  image_generation_call: imageGenerationCall,
  code_interpreter_call: codeInterpreterCall,
  computer_call: computerCall,
  apply_patch_call: applyPatchCall,
  shell_call: shellCall,
  shell_call_output: shellCallOutput,
  local_shell_call: localShellCall,
  mcp_list_tools: mcpListTools,
  mcp_approval_request: mcpApprovalRequest,
  mcp_call: mcpCall,
  tool_search_call: toolSearchCall,
  tool_search_output: toolSearchOutput,
  compaction,
} as const satisfies Readonly<Record<string, ObjectShape>>;

/** Every kind of item that an answer can hold, by type. */
export const outputItems: Readonly<Record<string, ObjectShape>> = { ...modelItems, ...serviceItems };

/** The name of a kind in the document: `service:web_search` is ServiceWebSearchItem. */
export const itemName = (type: string): string =>
  `${type.replaceAll(/(?:^|[_:])([a-z])/g, (_, letter: string) => letter.toUpperCase())}Item`;

export const outputItem = named(
  "OutputItem",
  described(
    openTagged(
      "type",
      Object.fromEntries(Object.entries(outputItems).map(([type, shape]) => [type, named(itemName(type), shape)])),
    ),
    "One item of an answer. A provider may have kinds of its own; they pass as they are, and a client skips what it does not know.",
  ),
);
