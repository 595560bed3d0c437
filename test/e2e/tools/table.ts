/** Server tools that call a service or a model: how a model calls each of them, and good and bad answers of its service. */
import { type Reply, chatAnswer, chatStream } from "../../support/providers/upstream.ts";
import { type Call, textReply } from "../../support/tool-replies.ts";

export interface CallingTool {
  readonly tool: Readonly<Record<string, unknown>> & { readonly type: string };
  /** The model's call of the tool. @param n number that differs for each call, because pages are cached @param url URL of the scripted service */
  readonly call: (n: number, url: string) => Call;
  /** What the tool calls: the scripted service, or the model behind the tool. */
  readonly asks: "service" | "other";
  /** Replies of the service before the reply to this call. */
  readonly before?: readonly Reply[];
  /** A good reply that contains these words. */
  readonly says: (words: string, stream: boolean) => Reply;
  /** Replies of the provider after its first one. */
  readonly after?: (stream: boolean) => readonly Reply[];
  /** The beginning of a reply that never ends. */
  readonly head: (stream: boolean) => string;
  readonly type: string;
  /** Operations of the ledger rows that the call adds. */
  readonly operations: readonly string[];
  /** The item of a call whose service failed, if its status does not show the failure. */
  readonly failed?: object;
  /** Whether the client gets no text of the service. */
  readonly isSilent?: true;
}

const json = (value: unknown): Reply => ({ chunks: [{ json: value }] });
const rpc = (id: number, result: object): Reply => json({ jsonrpc: "2.0", id, result });
const mcpList = (id: number): Reply => rpc(id, { tools: [{ name: "echo", inputSchema: { type: "object" } }] });
const mcpSays = (id: number, words: string): Reply => rpc(id, { content: [{ type: "text", text: words }] });
/** Replies to the first turn with an MCP server; its protocol revision is remembered afterwards. */
export const mcpGreeting: readonly Reply[] = [
  rpc(1, { supportedVersions: ["2026-07-28"] }),
  mcpList(2),
  mcpSays(3, "Tea."),
];
const page = "http://93.184.215.14/tea";
/** A reply with these words, in a stream as two halves. */
const spoken = (words: string, stream: boolean): Reply => {
  const half = words.length / 2;
  return stream ? chatStream(words.slice(0, half), words.slice(half)) : textReply(words);
};
const modelHead = (stream: boolean): string => `${stream ? "data: " : ""}{"id":"`;
const jsonHead = (): string => '{"x":"';

const search: Omit<CallingTool, "tool" | "call" | "type"> = {
  asks: "service",
  says: (words) => json({ results: [{ url: "https://a.test/1", title: "Tea", highlights: [words] }] }),
  head: jsonHead,
  operations: ["search"],
};
const run: Omit<CallingTool, "tool" | "call" | "type"> = {
  asks: "service",
  says: (words) => json({ output: [{ stdout: words, stderr: "", outcome: { type: "exit", exit_code: 0 } }] }),
  head: jsonHead,
  operations: ["sandbox"],
};
const asked: Omit<CallingTool, "tool" | "call" | "type" | "operations"> = {
  asks: "other",
  says: spoken,
  head: modelHead,
};
const image = {
  ...asked,
  says: (words: string, stream: boolean) => painting(words, stream),
  operations: ["image"],
};
const analysis = { consensus: [], contradictions: [], partial_coverage: [], unique_insights: [], blind_spots: [] };

function painting(content: string, stream: boolean): Reply {
  const url = `data:image/png;base64,iVBORw0KGgo${"A".repeat(40)}=`;
  const message = { role: "assistant", content, images: [{ type: "image_url", image_url: { url } }] };
  if (!stream) return chatAnswer(message);
  const choice = (fields: object) => ({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, ...fields }] });
  const usage = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 };
  const end = { ...choice({ delta: {}, finish_reason: "stop" }), usage };
  return { chunks: [{ sse: [choice({ delta: message, finish_reason: null }), end, "[DONE]"] }] };
}

const container = { type: "container_auto" };
const commands = ["ls"];

export const callingTools: Readonly<Record<string, CallingTool>> = {
  "service:web_search": {
    ...search,
    tool: { type: "service:web_search" },
    call: (n) => ({ name: "service_web_search", args: { query: `tea ${n}` } }),
    type: "service:web_search",
    isSilent: true,
  },
  web_search: {
    ...search,
    tool: { type: "web_search" },
    call: (n) => ({ name: "web_search", args: { query: `tea ${n}` } }),
    type: "web_search_call",
    isSilent: true,
  },
  "service:web_fetch": {
    ...search,
    tool: { type: "service:web_fetch" },
    call: (n, url) => ({ name: "service_web_fetch", args: { url: `${url}/page-${n}` } }),
    says: (words) => ({ headers: { "content-type": "text/plain" }, chunks: [{ bytes: words }] }),
    type: "service:web_fetch",
    operations: [],
  },
  "service:web_fetch by a vendor": {
    ...search,
    tool: { type: "service:web_fetch", parameters: { engine: "exa" } },
    call: (n) => ({ name: "service_web_fetch", args: { url: `${page}-${n}` } }),
    says: (words) => json({ results: [{ url: page, title: "Tea", text: words }], statuses: [] }),
    type: "service:web_fetch",
    operations: ["fetch"],
  },
  file_search: {
    ...search,
    tool: { type: "file_search", vector_store_ids: ["docs"] },
    call: (n) => ({ name: "file_search", args: { query: `tea ${n}` } }),
    says: (words) =>
      json({ data: [{ file_id: "f", filename: "a.md", score: 1, content: [{ type: "text", text: words }] }] }),
    type: "file_search_call",
  },
  mcp: {
    asks: "service",
    tool: { type: "mcp", server_label: "crm", require_approval: "never" },
    call: () => ({ name: "crm__echo", args: {} }),
    before: [mcpList(1)],
    says: (words) => mcpSays(2, words),
    head: jsonHead,
    type: "mcp_call",
    operations: ["mcp"],
  },
  "service:bash": {
    ...run,
    tool: { type: "service:bash" },
    call: () => ({ name: "service_bash", args: { command: "ls" } }),
    type: "service:bash",
  },
  "service:shell": {
    ...run,
    tool: { type: "service:shell" },
    call: () => ({ name: "service_shell", args: { commands } }),
    type: "service:shell",
  },
  shell: {
    ...run,
    tool: { type: "shell", environment: container },
    call: () => ({ name: "shell", args: { commands } }),
    type: "shell_call_output",
  },
  "service:code_interpreter": {
    ...run,
    tool: { type: "service:code_interpreter" },
    call: () => ({ name: "service_code_interpreter", args: { code: "print(1)" } }),
    type: "service:code_interpreter",
  },
  code_interpreter: {
    ...run,
    tool: { type: "code_interpreter", container: { type: "auto" } },
    call: () => ({ name: "code_interpreter", args: { code: "print(1)" } }),
    type: "code_interpreter_call",
  },
  "service:advisor": {
    ...asked,
    tool: { type: "service:advisor", parameters: { stream: true } },
    call: () => ({ name: "service_advisor", args: { prompt: "LSM?" } }),
    type: "service:advisor",
    operations: ["advisor"],
  },
  "service:subagent": {
    ...asked,
    tool: { type: "service:subagent", parameters: { model: "acme/other" } },
    call: () => ({ name: "service_subagent", args: { task_name: "LSM", task_description: "LSM or B-tree?" } }),
    type: "service:subagent",
    operations: ["subagent"],
  },
  "service:image_generation": {
    ...image,
    tool: { type: "service:image_generation" },
    call: () => ({ name: "service_image_generation", args: { prompt: "A cube" } }),
    type: "service:image_generation",
    isSilent: true,
  },
  image_generation: {
    ...image,
    tool: { type: "image_generation" },
    call: () => ({ name: "image_generation", args: { prompt: "A cube" } }),
    type: "image_generation_call",
    isSilent: true,
  },
  "service:fusion": {
    ...asked,
    tool: { type: "service:fusion", parameters: { analysis_models: ["acme/other"], model: "acme/other", tools: [] } },
    call: () => ({ name: "service_fusion", args: {} }),
    after: (stream) => [spoken(JSON.stringify(analysis), stream)],
    type: "service:fusion",
    operations: ["panel", "analyst"],
    failed: { failure_reason: "all_panels_failed" },
  },
};
