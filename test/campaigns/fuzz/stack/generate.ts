/** Random requests and callers for every feature of the stack, singly and together. */
import { create } from "@bufbuild/protobuf";
import type { HostedTool, InputItem, Plugins, Tool, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import {
  AppliesTo,
  type Caller,
  CallerSchema,
  ErrorPolicy,
  FilterAction,
  type Guardrail,
  GuardrailMode,
  GuardrailSchema,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import {
  AlignmentPluginSchema,
  AutoBetaRouterPluginSchema,
  AutoRouterPluginSchema,
  ContextCompressionPluginSchema,
  FileParserPluginSchema,
  FusionPluginSchema,
  JevRouterPluginSchema,
  ModerationPluginSchema,
  ParetoRouterPluginSchema,
  ResponseHealingPluginSchema,
  SwitchyardRouterPluginSchema,
  WebFetchPluginSchema,
  WebPluginSchema,
} from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { canonicalJson } from "@sluice/inference-svc/agent-loop/call-arguments.js";
import { StateSeal } from "@sluice/inference-svc/content/sealed-state.js";
import { testRequest, functionTool, stackSecret } from "../../../inference-svc/asking.ts";
import { changeDigit } from "../../../support/altered.ts";
import { textPdf, toDataUrl } from "../../../support/documents/pdf.ts";
import type { Random } from "../../../support/random.ts";

export interface StackCase {
  readonly request: TurnRequest;
  readonly caller: Caller;
}

/** @param origin origin of the pages named in requests */
export const createStackCase = (random: Random, number: number, origin: string): StackCase => ({
  request: { ...requestFrom(random, number, origin), ...(random.chance(0.3) && { mayKeepContent: true }) },
  caller: callerFrom(random),
});

const models = ["m/small", "m/mid", "m/large", "m/search"];
const variants = ["", "", "", ":online", ":nitro", ":floor"];
const slugs = ["service/auto", "service/auto-beta", "service/pareto-code", "service/jev-router", "service/fusion"];

function modelsFrom(random: Random): readonly string[] {
  const model = () => random.pick(models) + random.pick(variants);
  if (random.chance(0.1)) return ["service/switchyard", model(), ...(random.chance(0.7) ? [model()] : [])];
  if (random.chance(0.25))
    return [random.pick(slugs) + random.pick(["", "", "", ":nitro"]), ...(random.chance(0.3) ? [model()] : [])];
  if (random.chance(0.03)) return [model(), random.pick(slugs)];
  return random.chance(0.2) ? [model(), model()] : [model()];
}

const words = [
  "Alice",
  "secret",
  "hello",
  "refuse:",
  '{"a": 1,}',
  "prove the theorem",
  "translate this",
  "4111 1111 1111 1111",
];

function textFrom(random: Random, origin: string): string {
  const some = Array.from({ length: 1 + random.below(5) }, () => random.pick(words));
  if (random.chance(0.2)) some.push(`${origin}/page${random.below(3)}`);
  return some.join(" ");
}

function inputFrom(random: Random, origin: string): readonly InputItem[] {
  const message = (role: string): InputItem => ({ type: "message", role, content: textFrom(random, origin) });
  const items: InputItem[] = [];
  if (random.chance(0.15)) items.push(message("developer"));
  if (random.chance(0.2)) items.push(message("user"), message("assistant"));
  if (random.chance(0.08))
    items.push({ type: "service:web_search", id: "st_1", status: "completed", queries: ["secret"] });
  if (random.chance(0.04)) {
    const ran = { status: "completed", container_id: "c1" };
    items.push({ ...ran, type: "service:bash", id: "st_3", command: "ls", stdout: "secret", stderr: "", exitCode: 0 });
    items.push({ ...ran, type: "code_interpreter_call", id: "ci_1", code: "1", outputs: null });
  }
  if (random.chance(0.05)) items.push({ type: "service:datetime", id: "st_2", status: "completed" });
  if (random.chance(0.03)) {
    const call = { name: "find", arguments: "{}", server_label: "crm" };
    items.push({ type: "mcp_approval_request", id: "mcpr_1", ...call });
    items.push({ type: "mcp_approval_response", approval_request_id: "mcpr_1", approve: random.chance(0.7) });
  }
  if (random.chance(0.1)) {
    items.push({ type: "function_call", call_id: "c", name: "f", arguments: "{}" });
    items.push({ type: "function_call_output", call_id: "c", output: textFrom(random, origin) });
    if (random.chance(0.5)) return items;
  }
  items.push(
    random.chance(0.1)
      ? {
          type: "message",
          role: "user",
          content: [{ type: "input_text", text: textFrom(random, origin) }, fileFrom(random, origin)],
        }
      : message("user"),
  );
  if (random.chance(0.04)) items.unshift(compactedFrom(random));
  if (random.chance(0.03)) items.push({ type: "compaction_trigger" });
  return items;
}

/** A conversation that was compacted before, mostly with content sealed by Sluice. */
function compactedFrom(random: Random): InputItem {
  const sealed = new StateSeal(stackSecret, "compaction").seal(
    { summary: "Alice has a secret.", said: ["hello"] },
    "w",
  );
  return { type: "compaction", encrypted_content: random.chance(0.8) ? sealed : changeDigit(sealed) };
}

/** Few PDFs, because another process reads each. */
const pdfs = [textPdf(["A secret of Alice"]), textPdf([])].map((bytes) => toDataUrl(bytes));

function fileFrom(random: Random, origin: string): object {
  const text = Buffer.from(textFrom(random, origin)).toString("base64");
  return random.pick([
    { type: "input_file", filename: "a.txt", file_data: `data:text/plain;base64,${text}` },
    { type: "input_file", filename: "a.pdf", file_data: random.pick(pdfs) },
    { type: "input_file", file_url: `${origin}/page${random.below(3)}` },
  ]);
}

const hosted = (kind: string, parameters: object = {}): Tool => ({
  type: "hosted",
  kind,
  spelling: kind,
  json: JSON.stringify({ type: kind, parameters }),
});

function mcpFrom(random: Random, origin: string): Tool {
  const entry = {
    type: "mcp",
    server_label: "crm",
    server_url: random.pick([`${origin}/mcp`, `${origin}/mcp`, "https://elsewhere.example/mcp"]),
    require_approval: random.pick(["never", "never", "always"]),
    authorization: "secret",
  };
  return { type: "hosted", kind: "mcp", spelling: "mcp", json: JSON.stringify(entry) };
}

const fileSearch = (store: string): Tool => ({
  type: "hosted",
  kind: "file_search",
  spelling: "file_search",
  json: JSON.stringify({ type: "file_search", vector_store_ids: [store] }),
});

/** A tool whose settings are next to its type. */
const besideType = (kind: string, settings: object): Tool => ({
  ...(hosted(kind) as HostedTool),
  json: JSON.stringify({ type: kind, ...settings }),
});

function toolsFrom(random: Random, origin: string): readonly Tool[] {
  const tools: Tool[] = [];
  if (random.chance(0.1)) tools.push(functionTool({ name: "f", deferLoading: random.chance(0.3) }));
  for (const kind of ["datetime", "search_models", "tool_search", "web_search"]) {
    if (random.chance(0.05)) tools.push(hosted(`service:${kind}`));
  }
  // Of these three readers, `parallel` has no key.
  const reader = random.pick(["auto", "firecrawl", "parallel"]);
  if (random.chance(0.05)) tools.push(hosted("service:web_fetch", { engine: reader }));
  if (random.chance(0.02)) tools.push(hosted("service:fusion"));
  if (random.chance(0.03)) {
    tools.push(hosted("service:subagent", subagentFrom(random)));
    if (tools[0]?.type !== "function" && random.chance(0.7)) tools.push(functionTool({ name: "f" }));
  }
  if (random.chance(0.02)) tools.push(hosted("web_search"));
  if (random.chance(0.05)) tools.push(mcpFrom(random, origin));
  if (random.chance(0.03)) tools.push(fileSearch(random.pick(["files", "files", "none"])));
  for (const kind of ["bash", "shell", "code_interpreter"]) {
    if (random.chance(0.03)) tools.push(hosted(`service:${kind}`));
  }
  if (random.chance(0.03)) tools.push(besideType("shell", { environment: { type: "container_auto" } }));
  if (random.chance(0.03)) tools.push(besideType("code_interpreter", { container: "c1" }));
  return tools;
}

/** Settings with which the generator sealed a state, so they open it. */
const waiting = { model: "m/mid", inherit_functions: true };

const subagentFrom = (random: Random): object =>
  random.pick([{}, waiting, { model: "m/large", max_tool_calls: 1 }, { tools: [{ type: "service:advisor" }] }]);

/** A suspended subagent, mostly with a state that Sluice has sealed. */
function suspendedFrom(random: Random, origin: string): readonly InputItem[] {
  const state = {
    args: { task_name: "t", task_description: "d" },
    models: ["m/mid"],
    input: [
      { type: "message", role: "user", content: "secret" },
      { type: "function_call", call_id: "w", name: "f", arguments: "{}" },
    ],
  };
  const sealed = new StateSeal(stackSecret, "subagent").seal(state, canonicalJson(["w", waiting]));
  const carried = { type: "compaction", encrypted_content: random.chance(0.8) ? sealed : changeDigit(sealed) };
  const call = { type: "function_call", call_id: "w", name: "f", arguments: "{}", subagent_id: "s" };
  return [
    { type: "service:subagent", id: "st_3", status: "in_progress", call_id: "s", task_name: "t" },
    { ...call, subagent_items: [carried] },
    { type: "function_call_output", call_id: "w", output: textFrom(random, origin) },
  ];
}

type Making = { readonly [Id in keyof Plugins]-?: (random: Random) => Plugins[Id] };

const making: Making = {
  alignment: (random) =>
    create(AlignmentPluginSchema, {
      rules: [random.pick(["Never say secret.", "Be kind.", 'Always mention "Alice".'])],
      mode: random.pick(["", "enforce", "audit"]),
      ...(random.chance(0.5) && { instruct: random.chance(0.5) }),
      maxRetries: random.below(2),
    }),
  autoRouter: (random) =>
    create(AutoRouterPluginSchema, { pinModel: random.chance(0.5), allowedModels: random.pick([[], ["m/*"]]) }),
  autoBetaRouter: () => create(AutoBetaRouterPluginSchema, { excludedModels: ["m/large"] }),
  contextCompression: (random) => create(ContextCompressionPluginSchema, { enabled: random.chance(0.7) }),
  fileParser: (random) => create(FileParserPluginSchema, { pdfEngine: random.pick(["", "native", "markdown", "ocr"]) }),
  fusion: (random) =>
    create(FusionPluginSchema, {
      analysisModels: random.pick([[], ["m/mid"], ["m/mid", "m/large"]]),
      toolsJson: random.chance(0.3) ? Buffer.from('[{"type":"service:datetime"}]') : new Uint8Array(),
    }),
  jevRouter: (random) => create(JevRouterPluginSchema, { costTier: random.pick(["", "low", "high"]) }),
  moderation: () => create(ModerationPluginSchema),
  paretoRouter: (random) => create(ParetoRouterPluginSchema, random.chance(0.5) ? { maxPrice: random.below(4) } : {}),
  responseHealing: () => create(ResponseHealingPluginSchema),
  switchyardRouter: (random) =>
    create(SwitchyardRouterPluginSchema, {
      algorithm: random.pick(["", "capability", "stage", "auto", "random", "composite", "passthrough"]),
    }),
  web: (random) =>
    create(WebPluginSchema, {
      engine: random.pick(["", "auto", "native", "searxng", "exa"]),
      includeDomains: random.pick([[], ["secret.example"]]),
    }),
  webFetch: (random) => create(WebFetchPluginSchema, { maxUses: 1 + random.below(2) }),
};

function pluginsFrom(random: Random): Plugins {
  const probability = random.pick([0.05, 0.1, 0.4]);
  const chosen = Object.entries(making).filter(() => random.chance(probability));
  return Object.fromEntries(chosen.map(([id, make]) => [id, make(random)])) as Plugins;
}

function requestFrom(random: Random, number: number, origin: string): TurnRequest {
  const plugins = random.chance(0.6) ? pluginsFrom(random) : undefined;
  const json = random.chance(0.15);
  const stream = random.chance(0.4);
  const isSuspended = random.chance(0.04);
  return testRequest({
    models: modelsFrom(random),
    input: [...inputFrom(random, origin), ...(isSuspended ? suspendedFrom(random, origin) : [])],
    stream,
    tools: [...(isSuspended ? [hosted("service:subagent", waiting)] : []), ...toolsFrom(random, origin)],
    // Each request has a session of its own, so requests can run concurrently.
    sessionId: `s${number}`,
    // The number of words is limited, since a stream pauses after each.
    maxOutputTokens: stream ? 1 + random.below(random.pick([4, 40])) : 200,
    ...(random.chance(0.1) && { instructions: textFrom(random, origin) }),
    ...(random.chance(0.1) && { reasoning: { effort: "low" } }),
    ...(random.chance(0.1) && { toolChoice: random.pick(["auto", "none", "required"] as const) }),
    ...(random.chance(0.1) && { truncation: "auto" as const }),
    ...(json && { textFormat: { type: "json_object" as const } }),
    ...(plugins && Object.keys(plugins).length > 0 && { plugins }),
  });
}

const actions = [FilterAction.BLOCK, FilterAction.REDACT, FilterAction.FLAG];

function guardrailFrom(random: Random, id: string): Guardrail {
  const action = () => random.pick(actions);
  return create(GuardrailSchema, {
    id,
    name: id,
    appliesTo: random.pick([AppliesTo.INPUT, AppliesTo.OUTPUT, AppliesTo.BOTH]),
    mode: random.chance(0.2) ? GuardrailMode.AUDIT : GuardrailMode.ENFORCE,
    onError: random.pick([ErrorPolicy.OPEN, ErrorPolicy.CLOSED]),
    contentFilters: random.chance(0.7) ? [{ pattern: random.pick(["secret", "theorem"]), action: action() }] : [],
    judgeRules: random.chance(0.2) ? [{ rule: "No secrets.", action: FilterAction.FLAG, threshold: 0.5 }] : [],
    detectors: random.chance(0.2)
      ? [{ detector: random.pick(["names", "names", "missing"]), category: "person", action: action() }]
      : [],
  });
}

function callerFrom(random: Random): Caller {
  const guarded = random.chance(0.5);
  return create(CallerSchema, {
    keyHash: "k",
    workspaceId: "w",
    ...(guarded && random.chance(0.8) && { guardrail: guardrailFrom(random, "own") }),
    workspaceGuardrails: guarded && random.chance(0.4) ? [guardrailFrom(random, "shared")] : [],
    hasBudget: random.chance(0.3),
    tracesContent: random.chance(0.5),
  });
}
