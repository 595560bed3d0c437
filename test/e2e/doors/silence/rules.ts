/** How the bodies of the doors are probed: valid values, items that others require, and fields that are never sent to a provider. */
import type { ProbeRules, Schema } from "../../../support/probes/schema-probes.ts";

const parameters = { type: "object", properties: { q: { type: "string" } } };
const asked = { role: "user", content: "Hi" };
const askedItem = { type: "message", ...asked };
const go = { role: "user", content: "Go on." };
const chatFunction = { type: "function", function: { name: "probe-0", parameters } };
const chatCustom = { type: "custom", custom: { name: "probe-custom" } };

/** Each door with the name of its body in the published document, and with the fields required besides the probed one. */
export const probedDoors: readonly (readonly [door: string, schema: string, body: (fields: object) => object])[] = [
  [
    "/responses",
    "ResponseRequest",
    (fields) => ({
      input: "Hi",
      ...("tool_choice" in fields || "parallel_tool_calls" in fields ? { tools: responsesTools } : {}),
      ...fields,
    }),
  ],
  [
    "/chat/completions",
    "ChatCompletionRequest",
    (fields) => ({
      messages: [asked],
      ...("tool_choice" in fields || "parallel_tool_calls" in fields ? { tools: [chatFunction, chatCustom] } : {}),
      ...("function_call" in fields ? { functions: [chatFunction.function] } : {}),
      ...("top_logprobs" in fields ? { logprobs: true } : {}),
      ...fields,
    }),
  ],
  [
    "/messages",
    "MessagesRequest",
    (fields) => ({
      messages: [asked],
      max_tokens: 64,
      ...("tool_choice" in fields ? { tools: [{ name: "probe-0", input_schema: parameters }] } : {}),
      ...("mcp_servers" in fields ? { tools: [{ type: "mcp_toolset", mcp_server_name: "probe-0" }] } : {}),
      ...fields,
    }),
  ],
];

const responsesTools = [
  { type: "function", name: "probe-0", parameters },
  { type: "custom", name: "probe-custom" },
];

interface Unprobed {
  /** Pattern for labels of probes. */
  readonly fields: RegExp;
  readonly reason: string;
}

/** Fields without any effect at a provider, each with the reason. */
export const fieldsWithoutEffect: readonly Unprobed[] = [
  {
    fields: /^(model|models|provider|plugins|service_tier|transforms|truncation|modalities)(\.(?!zz)|<|$)/,
    reason: "They choose the endpoint, or what is done beside asking it.",
  },
  {
    fields:
      /^(stream|stream_options|service_metadata|include|include_reasoning|reasoning\.exclude|debug|usage)(\.(?!zz)|$)/,
    reason: "They shape the answer.",
  },
  {
    fields: /^(session_id|metadata|trace|user)(\.|$)/,
    reason: "They name the request in records, which no provider reads.",
  },
  { fields: /<image>\.source<base64>\.media_type$/, reason: "The bytes of an image decide its type." },
  { fields: /^(max_tool_calls|stop_server_tools_when)\b/, reason: "They bound the tools that Sluice runs itself." },
  { fields: /^route$/, reason: "It is deprecated and has no effect." },
  { fields: /<service:[^>]*>\./, reason: "Sluice runs these tools itself, and tells their items as text." },
  { fields: /^input\.0<[^>]*>\.tools\.0<(?!function|custom)/, reason: "The same shapes as in tools." },
  {
    fields: /(\.(id|status|index|model)|\.call_id|_call_id|tool_use_id)$/,
    reason: "They tell entries of a history apart, and say nothing to a model.",
  },
  {
    fields: /\.(annotations|logprobs)$|<thinking>\.closed$/,
    reason: "They say how an earlier answer was shown; the text is sent.",
  },
  {
    fields: /json_schema\.name$|<json_schema>\.name$/,
    reason: "The name of a schema, which only OpenAI's formats have, is no part of it.",
  },
  { fields: /<json_schema>(\.json_schema)?\.strict$/, reason: "Formats without the field enforce every schema." },
  {
    fields:
      /^input\.0<(web_search_call|file_search_call|image_generation_call|code_interpreter_call|computer_call|computer_call_output|shell_call|shell_call_output|mcp_[a-z_]+|agent_message)>\./,
    reason: "Items of tools that a format does not have are told in words, by what the model asked and got.",
  },
  {
    fields: /^messages\.0<assistant>\.content\.0<(server|mcp)_tool_use>\./,
    reason: "Calls of tools that a format does not have are told in words, by what the model asked and got.",
  },
  { fields: /^(messages|input)$/, reason: "The entries are probed." },
  { fields: /\.file_id$/, reason: "A file or picture that has its bytes or an address is sent with these." },
  {
    fields: /^prompt_cache_options$/,
    reason: "Its one mode is what formats with marks do: they cache at marks alone.",
  },
  { fields: /^thinking<\w+>\.display$/, reason: "It says whether the answer shows thoughts." },
  {
    fields:
      /^tools\.0\.(max_uses|max_content_tokens|allowed_domains|blocked_domains|user_location|display_\w+|mcp_server_name)$/,
    reason:
      "The probed tool is bash, which has no such settings; the tests of the door's fields have the families that read them.",
  },
  { fields: /^messages\.0<assistant>\.content\.0\./, reason: "The result of a call that the request does not have." },
  { fields: /^tools\.0<tool_search>/, reason: "Sluice searches the tools itself, or sends all of them." },
];

const picture = (variant: number) => (variant === 0 ? "iVBORw0KGgo=" : "iVBORw0KGgoA");
const mediaOf = (pattern: string) => (pattern.includes("video") ? "video/mp4" : "image/png");

function sample(name: string, { type, pattern = "" }: Schema & { pattern?: string }, variant: number): unknown {
  if (type !== "string") return undefined;
  switch (name) {
    case "image_url":
    case "video_url":
    case "url":
      return pattern.includes("[Dd][Aa]") && !pattern.includes("http") && pattern.includes("|")
        ? `data:${mediaOf(pattern)};base64,${picture(variant)}`
        : `https://a.example/${variant}`;
    case "data":
      return picture(variant);
    case "file_data":
    case "document_url":
      return `data:application/pdf;base64,${variant === 0 ? "JVBERi0x" : "JVBERi0y"}`;
    case "filename":
      return `probe-${variant}.pdf`;
    case "call_id":
    case "tool_call_id":
    case "tool_use_id":
      return "call_1";
    case "arguments":
      return JSON.stringify({ a: variant });
    case "type":
      return /_tool_result/.test(pattern)
        ? "web_search_tool_result"
        : pattern.includes("bash_")
          ? `bash_${20250124 + variant}`
          : undefined;
    default:
      return undefined;
  }
}

const calls: Readonly<Record<string, object>> = {
  function_call_output: { type: "function_call", name: "probe-0", arguments: "{}" },
  custom_tool_call_output: { type: "custom_tool_call", name: "probe-custom", input: "x" },
  apply_patch_call_output: { type: "apply_patch_call", operation: { type: "delete_file", path: "a" } },
  local_shell_call_output: {
    type: "local_shell_call",
    id: "call_1",
    action: { type: "exec", command: ["ls"], env: {} },
    status: "completed",
  },
  shell_call_output: { type: "shell_call", action: { commands: ["ls"] } },
  computer_call_output: { type: "computer_call", action: { type: "screenshot" } },
};

function amongItems(entry: unknown): readonly [readonly object[], readonly object[]] {
  const { type } = entry as { readonly type?: string };
  const call = calls[type ?? ""];
  return [call ? [askedItem, { ...call, call_id: "call_1" }] : [askedItem], []];
}

const chatCall = { id: "call_1", type: "function", function: { name: "probe-0", arguments: "{}" } };

function amongMessages(entry: unknown): readonly [readonly object[], readonly object[]] {
  const { role, content } = entry as { readonly role?: string; readonly content?: unknown };
  if (role === "tool") return [[asked, { role: "assistant", content: null, tool_calls: [chatCall] }], []];
  if (role === "function")
    return [[asked, { role: "assistant", content: null, function_call: { name: "probe-0", arguments: "{}" } }], []];
  if (JSON.stringify(content ?? null).includes('"tool_result"'))
    return [
      [asked, { role: "assistant", content: [{ type: "tool_use", id: "call_1", name: "probe-0", input: {} }] }],
      [],
    ];
  return role === "assistant" ? [[asked], [go]] : [[asked, { role: "assistant", content: "Yes?" }], []];
}

export const probeRules: Pick<ProbeRules, "sample" | "among" | "complete"> = {
  sample,
  among: (path, entry) =>
    path === "input" ? amongItems(entry) : path === "messages" ? amongMessages(entry) : [[], []],
  complete: (label, value) => ({
    ...value,
    // One of these fields must be set, which a schema of properties cannot express.
    ...(label.endsWith("<input_image>") && { image_url: `data:image/png;base64,${picture(0)}` }),
    ...(label.endsWith("<input_file>") && { file_data: "data:application/pdf;base64,JVBERi0x" }),
    ...(label.endsWith("<computer_screenshot>") && { image_url: `data:image/png;base64,${picture(0)}` }),
    ...(/(?:^|\.)file$/.test(label) && { file_data: "data:application/pdf;base64,JVBERi0x" }),
    ...("parameters" in value && { parameters }),
  }),
};
