/** Tools with names that no vendor accepts must reach each vendor under names that it accepts, and be called by the client's names. */
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { describe, expect, test } from "@jest/globals";
import type {
  CallableTool,
  CustomTool,
  InputItem,
  NamespaceTool,
  Tool,
  ToolChoice,
  TurnRequest,
} from "@sluice/inference-svc/turn/request.js";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { callOptions } from "@sluice/inference-svc/models/upstream/ai-sdk/request.js";
import { SdkReader } from "@sluice/inference-svc/models/upstream/ai-sdk/stream.js";
import { chat } from "@sluice/inference-svc/models/upstream/chat/dialect.js";
import { cohere } from "@sluice/inference-svc/models/upstream/cohere/dialect.js";
import { converse } from "@sluice/inference-svc/models/upstream/converse/dialect.js";
import type { Dialect, OnDropped, Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import { gemini } from "@sluice/inference-svc/models/upstream/gemini/dialect.js";
import { messages } from "@sluice/inference-svc/models/upstream/messages/dialect.js";
import { responses } from "@sluice/inference-svc/models/upstream/responses/dialect.js";
import { fitNames, plainForm } from "@sluice/inference-svc/models/upstream/translate/names/name-rules.js";
import { isLinear } from "../../../support/clock.ts";
import fc from "../../../support/properties.ts";
import {
  cohereLimits,
  findChatViolations,
  mistralLimits,
  openAiLimits,
} from "../../../support/providers/rules/chat.ts";
import { findConverseViolations } from "../../../support/providers/rules/converse.ts";
import { findGeminiViolations } from "../../../support/providers/rules/gemini.ts";
import { findMessagesViolations } from "../../../support/providers/rules/messages.ts";
import { findResponsesViolations } from "../../../support/providers/rules/responses.ts";
import { type BodyPart, isBodyPart, bodyPartsOf } from "../../../support/providers/rules/violations.ts";
import { testRequest, functionTool, itemsOf } from "../../asking.js";
import { claudeOnBedrock } from "../dialects/converse-translation.js";

const target: Target = { upstreamModel: "m", tier: "default", original: false };
const vendor: Target = { ...target, original: true };

/** The name of a tool, with its namespace if the format has namespaces. */
type Name = readonly [name: unknown, namespace?: unknown];

/** How one vendor's request is built, where its names are, and how it answers with calls. */
interface Vendor {
  readonly send: (request: TurnRequest, onDropped: OnDropped) => BodyPart;
  readonly violations: (body: BodyPart) => readonly string[];
  readonly declared: (body: BodyPart) => readonly Name[];
  readonly called: (body: BodyPart) => readonly Name[];
  readonly read: (request: TurnRequest, calls: readonly Name[]) => readonly Record<string, unknown>[];
}

const part = (value: unknown): BodyPart => (isBodyPart(value) ? value : {});
const args = { input: "x" };

function through(
  dialect: Dialect,
  to: Target,
  answer: (calls: readonly Name[]) => object,
): Pick<Vendor, "send" | "read"> {
  return {
    send: (request, onDropped) => JSON.parse(dialect.body(request, to, onDropped)) as BodyPart,
    read(request, calls) {
      const events: TurnEvent[] = [];
      const translator = dialect.open(request, to, (event) => events.push(event));
      translator.event(undefined, JSON.stringify(answer(calls)));
      if (!translator.done) translator.close(true);
      return itemsOf(events);
    },
  };
}

const functionOf = (entry: BodyPart): Name => [part(entry.function).name ?? part(entry.custom).name];
const functionsIn = (body: BodyPart): readonly Name[] =>
  bodyPartsOf(body.messages).flatMap(({ tool_calls: calls }) => bodyPartsOf(calls).map(functionOf));
const functionCalls = (calls: readonly Name[]): readonly object[] =>
  calls.map(([name], index) => ({
    id: `call_${index}`,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  }));

const chatAnswer = (calls: readonly Name[]): object => ({
  choices: [{ message: { content: null, tool_calls: functionCalls(calls) }, finish_reason: "tool_calls" }],
});

const chatVendor = (to: Target, limits: Parameters<typeof findChatViolations>[1]): Vendor => ({
  ...through(chat, to, chatAnswer),
  violations: (body) => findChatViolations(body, limits),
  declared: (body) => bodyPartsOf(body.tools).map(functionOf),
  called: functionsIn,
});

const messagesVendor = (to: Target): Vendor => ({
  ...through(messages, to, (calls) => ({
    type: "message",
    role: "assistant",
    content: calls.map(([name], index) => ({ type: "tool_use", id: `toolu_${index}`, name, input: args })),
    stop_reason: "tool_use",
    usage: { input_tokens: 1, output_tokens: 1 },
  })),
  violations: findMessagesViolations,
  declared: (body) => bodyPartsOf(body.tools).map(({ name }) => [name]),
  called: (body) =>
    bodyPartsOf(body.messages)
      .flatMap(({ content }) => bodyPartsOf(content))
      .flatMap(({ type, name }) => (type === "tool_use" ? [[name] as const] : [])),
});

const responsesVendor = (to: Target): Vendor => ({
  ...through(responses, to, (calls) => ({
    status: "completed",
    output: calls.map(([name, namespace], index) => ({
      type: "function_call",
      id: `fc_${index}`,
      call_id: `call_${index}`,
      name,
      ...(namespace !== undefined && { namespace }),
      arguments: JSON.stringify(args),
    })),
  })),
  violations: findResponsesViolations,
  declared: (body) =>
    bodyPartsOf(body.tools).flatMap(({ type, name, tools: members }): readonly Name[] =>
      type === "namespace" ? bodyPartsOf(members).map((member) => [member.name, name]) : [[name, undefined]],
    ),
  called: (body) =>
    bodyPartsOf(body.input).flatMap(({ type, name, namespace }) =>
      type === "function_call" || type === "custom_tool_call" ? [[name, namespace] as const] : [],
    ),
});

const toSdk: Vendor = {
  send: (request, onDropped) => ({ ...callOptions(request, target, onDropped, "v4") }),
  violations: ({ tools }) =>
    bodyPartsOf(tools).flatMap(({ name }) => (/^[\w-]{1,64}$/.test(String(name)) ? [] : [`tools: ${String(name)}`])),
  declared: (body) => bodyPartsOf(body.tools).map(({ name }) => [name]),
  called: (body) =>
    bodyPartsOf(body.prompt)
      .flatMap(({ content }) => bodyPartsOf(content))
      .flatMap(({ type, toolName }) => (type === "tool-call" ? [[toolName] as const] : [])),
  read(request, calls) {
    const events: TurnEvent[] = [];
    const reader = new SdkReader(
      request,
      "default",
      (event) => events.push(event),
      () => undefined,
    );
    for (const [index, [toolName]] of calls.entries())
      reader.read({
        type: "tool-call",
        toolCallId: `call_${index}`,
        toolName: String(toolName),
        input: JSON.stringify(args),
      } satisfies LanguageModelV4StreamPart);
    reader.read({
      type: "finish",
      finishReason: { unified: "tool-calls", raw: "tool_calls" },
      usage: {
        inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: 1, text: 1, reasoning: undefined },
      },
    });
    reader.close();
    return itemsOf(events);
  },
};

const vendors: Readonly<Record<string, Vendor>> = {
  "OpenAI's chat completions": chatVendor(vendor, openAiLimits),
  Mistral: chatVendor({ ...target, upstreamModel: "mistral-large-latest" }, mistralLimits),
  "OpenAI's responses": responsesVendor({ ...vendor, reasoningFormat: "openai-responses-v1" }),
  "other servers of responses": responsesVendor(target),
  Anthropic: messagesVendor(vendor),
  "other servers of messages": messagesVendor(target),
  Bedrock: {
    ...through(converse, claudeOnBedrock, (calls) => ({
      output: {
        message: {
          role: "assistant",
          content: calls.map(([name], index) => ({ toolUse: { toolUseId: `tooluse_${index}`, name, input: args } })),
        },
      },
      stopReason: "tool_use",
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    })),
    violations: findConverseViolations,
    declared: ({ toolConfig }) => bodyPartsOf(part(toolConfig).tools).map(({ toolSpec }) => [part(toolSpec).name]),
    called: (body) =>
      bodyPartsOf(body.messages)
        .flatMap(({ content }) => bodyPartsOf(content))
        .flatMap(({ toolUse }) => (isBodyPart(toolUse) ? [[toolUse.name] as const] : [])),
  },
  Google: {
    ...through(gemini, target, (calls) => ({
      candidates: [
        {
          content: { role: "model", parts: calls.map(([name]) => ({ functionCall: { name, args } })) },
          finishReason: "STOP",
        },
      ],
    })),
    violations: findGeminiViolations,
    declared: (body) =>
      bodyPartsOf(body.tools).flatMap(({ functionDeclarations: all }) =>
        bodyPartsOf(all).map(({ name }) => [name] as const),
      ),
    called: (body) =>
      bodyPartsOf(body.contents)
        .flatMap(({ parts }) => bodyPartsOf(parts))
        .flatMap(({ functionCall: call }) => (isBodyPart(call) ? [[call.name] as const] : [])),
  },
  Cohere: {
    ...through(cohere, target, (calls) => ({
      finish_reason: "TOOL_CALL",
      message: { role: "assistant", tool_calls: functionCalls(calls) },
    })),
    violations: (body) => findChatViolations(body, cohereLimits),
    declared: (body) => bodyPartsOf(body.tools).map(functionOf),
    called: functionsIn,
  },
  "packages of the AI SDK": toSdk,
};

const letters = fc.constantFrom("a", "b", "A", "1", "9", "_", "-", ".", "/", ":", " ", "$", "é", "查", "😀");
/** Short names that become equal when characters are replaced, and long names that differ only beyond every limit. */
const names = fc
  .oneof(
    fc.array(letters, { minLength: 1, maxLength: 4 }).map((signs) => signs.join("")),
    fc.constantFrom("github.search", "github/search", "github_search", "github_search_2", "github-search", "9lives"),
    fc.tuple(fc.constantFrom("n", "查", "n."), letters).map(([sign, end]) => sign.repeat(64).slice(0, 120) + end),
  )
  .map((name) => name.trim())
  .filter((name) => name !== "");

const customTool = (name: string): CustomTool => ({
  type: "custom",
  name,
  json: JSON.stringify({ type: "custom", name }),
});
const callable = (name: string, isCustom: boolean): CallableTool =>
  isCustom ? customTool(name) : functionTool({ name, parametersJson: '{"type":"object","properties":{}}' });
const namespaceOf = (name: string, tools: readonly CallableTool[]): NamespaceTool => ({
  type: "namespace",
  name,
  description: "D",
  tools,
  json: `{"type":"namespace","name":${JSON.stringify(name)},"description":"D","tools":[${tools.map(({ json }) => json).join(",")}]}`,
});

const toolLists: fc.Arbitrary<readonly Tool[]> = fc
  .uniqueArray(
    fc.tuple(
      names,
      fc.constantFrom("function", "function", "custom", "namespace"),
      fc.uniqueArray(names, { minLength: 1, maxLength: 3 }),
    ),
    {
      minLength: 1,
      maxLength: 5,
      selector: ([name]) => name,
    },
  )
  .map((entries) =>
    entries.map(([name, kind, members]) =>
      kind === "namespace"
        ? namespaceOf(
            name,
            members.map((member) => callable(member, false)),
          )
        : callable(name, kind === "custom"),
    ),
  );

interface Owned {
  readonly tool: CallableTool;
  readonly namespace?: string;
}

const ownedBy = (tools: readonly Tool[]): readonly Owned[] =>
  tools.flatMap((tool): readonly Owned[] => {
    if (tool.type === "hosted") return [];
    return tool.type === "namespace"
      ? tool.tools.map((member) => ({ tool: member, namespace: tool.name }))
      : [{ tool }];
  });

const referenceTo = ({ tool, namespace }: Owned) => ({
  type: tool.type,
  name: tool.name,
  ...(namespace !== undefined && { namespace }),
});

function historyOf(called: readonly Owned[]): readonly InputItem[] {
  return called.flatMap(({ tool, namespace }, index) => {
    const isCustom = tool.type === "custom";
    const call = { call_id: `call_${index}`, name: tool.name, ...(namespace !== undefined && { namespace }) };
    return [
      isCustom
        ? { type: "custom_tool_call", ...call, input: "x" }
        : { type: "function_call", ...call, arguments: "{}" },
      { type: isCustom ? "custom_tool_call_output" : "function_call_output", call_id: `call_${index}`, output: "y" },
    ];
  });
}

/** Tools, a history with calls of them and of missing tools, and a choice. */
const requests = fc
  .tuple(toolLists, fc.array(names, { maxLength: 3 }), fc.constantFrom("auto", "tool", "allowed_tools"), fc.nat())
  .map(([tools, gone, kind, number]) => {
    const owned = ownedBy(tools);
    const chosen = owned[number % owned.length] as Owned;
    const own = owned.filter(({ namespace }) => namespace === undefined).map(({ tool }) => tool.name);
    const lost = gone.filter((name) => !own.includes(name)).map((name): Owned => ({ tool: callable(name, false) }));
    const choices: Readonly<Record<string, ToolChoice>> = {
      auto: "auto",
      tool: { type: "tool", tool: referenceTo(chosen) },
      allowed_tools: { type: "allowed_tools", mode: "auto", tools: [referenceTo(chosen)] },
    };
    const input = [{ type: "message", role: "user", content: "Hi" }, ...historyOf([...owned, ...lost])];
    return { owned, lost, request: testRequest({ tools, input, toolChoice: choices[kind] as ToolChoice }) };
  });

/** `TOOL_NAMES=20000 npm test -- vendor-rules/tool-names` is the long form, of some minutes. */
const numRuns = Number(process.env["TOOL_NAMES"] ?? 300);

describe("tools of any name", () => {
  test.each(Object.entries(vendors))(
    "reach %s under acceptable names, in tools, choice and history, and are called by the client's names",
    (_vendor, { send, violations, declared, called, read }) => {
      fc.assert(
        fc.property(requests, ({ owned, lost, request }) => {
          const body = send(request, () => undefined);
          expect(violations(body)).toEqual([]);
          const history = called(body);
          const sent = history.slice(0, owned.length);
          // If a tool choice leaves tools out, only the other tools are sent.
          for (const name of declared(body)) expect(sent).toContainEqual(name);
          expect(new Set(sent.map((name) => JSON.stringify(name))).size).toBe(owned.length);
          // A call of a missing tool is renamed to another tool only if that tool has exactly this name.
          for (const [index, name] of history.slice(owned.length).entries())
            if (name[0] !== lost[index]?.tool.name) expect(sent).not.toContainEqual(name);
          const items = read(request, sent);
          const answered = items.map((item) => [item["name"], item["namespace"], item["type"]]);
          expect(answered).toEqual(
            owned.map(({ tool, namespace }) => [
              tool.name,
              namespace,
              expect.stringMatching(/^(function|custom_tool)_call$/),
            ]),
          );
        }),
        { numRuns, seed: 30 },
      );
    },
    600_000,
  );
});

test.each<[string, Vendor, Readonly<Record<string, string>>]>([
  ["OpenAI", vendors["OpenAI's responses"] as Vendor, { "github.search": "github_search", "a/b": "a_b", x: "x" }],
  ["Google", vendors["Google"] as Vendor, { "github.search": "github.search", "a/b": "a_b", "9lives": "_9lives" }],
  ["Cohere", vendors["Cohere"] as Vendor, { "github.search": "github_search", "a-b": "a_b_2", a_b: "a_b" }],
  ["Anthropic", vendors["Anthropic"] as Vendor, { ["n".repeat(100)]: "n".repeat(100), 查: "tool_c55cceb1" }],
])(
  "a tool's name at %s stays as close as the vendor allows, and the receipt lists changed names",
  (_vendor, { send, declared }, wanted) => {
    const losses: (readonly [string, string])[] = [];
    const tools = Object.keys(wanted).map((name) => callable(name, false));
    const body = send(testRequest({ tools }), (path, reason) => void losses.push([path, reason]));
    expect(declared(body).map(([name]) => name)).toEqual(Object.values(wanted));
    expect(losses.map(([path, reason]) => [path, reason.split(",")[0]])).toEqual(
      Object.entries(wanted).flatMap(([own, sent], index) =>
        own === sent ? [] : [[`tools.${index}.name`, `repaired: sent as ${sent}`]],
      ),
    );
  },
);

test("a slash in the name of a tool or of its namespace does not merge two tools", () => {
  const { send, called } = vendors["OpenAI's chat completions"] as Vendor;
  const inside = (namespace: string, name: string): NamespaceTool => {
    const tools = [callable(name, false)];
    const json = JSON.stringify({ type: "namespace", name: namespace, description: "d", tools: [] });
    return { type: "namespace", name: namespace, description: "d", tools, json };
  };
  const tools = [inside("a/b", "c"), inside("a", "b/c")];
  const input = [{ type: "message", role: "user", content: "Hi" }, ...historyOf(ownedBy(tools))];
  expect(new Set(called(send(testRequest({ tools, input }), () => undefined)).map(([name]) => name)).size).toBe(2);
});

test("thousands of colliding tool names are distinguished in linear time", async () => {
  const fit = (size: number) =>
    fitNames(
      Array.from({ length: size }, (_, index) => `${index % 2 ? "." : "/"}x${"!".repeat(index % 97)}`),
      plainForm.names,
    );
  expect(new Set(fit(2_000)).size).toBe(2_000);
  const same = (size: number) =>
    fitNames(
      Array.from({ length: size }, () => "a/b"),
      plainForm.names,
    );
  expect(new Set(same(2_000)).size).toBe(2_000);
  expect(await isLinear(1_000, same)).toBe(true);
});
