/** Items of an answer that the model makes: messages, reasoning, calls. They return as input of the next request. */
import {
  type ObjectShape,
  array,
  described,
  named,
  nullable,
  openTagged,
  string,
  word,
} from "../../lib/validation/shape.ts";
import {
  applyPatchCall,
  computerCall,
  customToolCall,
  functionCall,
  localShellCall,
  shellCall,
} from "./client-items.ts";
import {
  codeInterpreterCall,
  fileSearchCall,
  imageGenerationCall,
  shellCallOutput,
  toolSearchCall,
  toolSearchOutput,
  webSearchCall,
} from "./hosted-items.ts";
import { itemShape } from "./item.ts";
import { mcpApprovalRequest, mcpCall, mcpListTools } from "./mcp-items.ts";
import { messageParts, parts } from "./parts.ts";
import { serviceItems } from "./service-items.ts";

export const phase = described(
  nullable(word("commentary", "final_answer")),
  "Whether the message comments on work in progress or is the answer. Send it back as it was received.",
);

const reasoningFormat = described(
  nullable(string()),
  "Which provider's form `encrypted_content` and `signature` have; reasoning is sent back only to a provider of the same form.",
);

const message = itemShape(
  "message",
  "The answer of the model.",
  {
    role: word("assistant"),
    content: described(messageParts, "Text and refusals, in their order."),
    phase,
  },
  { required: ["role", "content"] },
);

const reasoning = itemShape(
  "reasoning",
  "How the model came to its answer.",
  {
    summary: described(array(parts.summaryText), "Summaries that the provider allows to be shown."),
    content: described(nullable(array(parts.reasoningText)), "Raw reasoning, from models that show it."),
    encrypted_content: described(
      nullable(string()),
      "Reasoning that only its provider can read, or an open thought for clients that keep no `content`; given with `include: [reasoning.encrypted_content]`.",
    ),
    format: reasoningFormat,
    signature: described(nullable(string()), "By which the provider recognizes its own reasoning."),
  },
  { required: ["summary"] },
);

const compaction = itemShape(
  "compaction",
  "The conversation so far in a form that only its provider can read.",
  { encrypted_content: string() },
  { required: ["encrypted_content"] },
);

/** Items made by models, by type. */
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

/** Every kind of item in an answer, by type. */
export const outputItems: Readonly<Record<string, ObjectShape>> = { ...modelItems, ...serviceItems };

/** Name of an item's schema in the OpenAPI document: that of `service:web_search` is ServiceWebSearchItem. */
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
