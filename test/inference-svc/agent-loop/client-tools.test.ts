/** Tools that the client executes, at providers without them: they are sent as functions, and the client gets native items. */
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { AppliesTo } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { ProviderPreferencesSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { HostedTool, InputItem, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { Batch } from "@sluice/inference-svc/turn/turn.js";
import {
  type Reply,
  type Upstream,
  chatAnswer,
  chatStream,
  responsesAnswer,
  startUpstream,
} from "../../support/providers/upstream.ts";
import { textReply, callReply, callReplyStream, toolCalls } from "../../support/tool-replies.ts";
import { type Engine, testRequest, functionTool, testConfig, newScope, openEngine, runTestTurn } from "../asking.ts";
import { guardrailOf, redactFilter } from "../features/guardrails/gating.ts";
import {
  cohereCall,
  cohereEnd,
  cohereStart,
  wholeCohere,
  wholeCohereCall,
} from "../models/dialects/cohere-translation.ts";
import { converseAnswer, callBlock, converseStart, endEvents } from "../models/dialects/converse-translation.ts";
import { geminiCallPart, lastGeminiChunk } from "../models/dialects/gemini-translation.ts";
import { messagesBlock, messagesStart, messagesStop, wholeMessage } from "../models/dialects/messages-translation.ts";
import { itemAddedEvent, completedEvent, itemDoneEvent } from "../features/guardrails/reading.ts";

const entry = (kind: string, more: object = {}): HostedTool => {
  const json = JSON.stringify({ type: kind, ...more });
  return { type: "hosted", kind, spelling: kind, json };
};
const tools = {
  patch: entry("apply_patch"),
  shell: entry("shell"),
  localShell: entry("local_shell"),
  screen: entry("computer_use_preview", { display_width: 1_024, display_height: 768, environment: "browser" }),
  computer: entry("computer"),
};

const operation = { type: "update_file", path: "a.txt", diff: "@@ class A\n a\n-b\n+c\n" };
const wrong = { type: "update_file", path: "a.txt", diff: "*** Begin Patch\n@@\n-b\n+c\n" };

interface Speaker {
  readonly whole: (name: string, args: object) => Reply;
  readonly stream: (name: string, args: object) => Reply;
  /** The function's declaration in the sent body. */
  readonly declared: (body: Body) => unknown;
}
interface Body {
  readonly tools: readonly { readonly function?: unknown; readonly functionDeclarations?: readonly unknown[] }[];
  readonly toolConfig?: { readonly tools: readonly { readonly toolSpec: unknown }[] };
  readonly messages: readonly unknown[];
  readonly tool_choice?: unknown;
}

const json = (value: unknown): Reply => ({ chunks: [{ json: value }] });
const events = (...sse: readonly unknown[]): Reply => ({ chunks: [{ sse }] });
const wrapped = (args: object) => JSON.stringify(args);
const responsesCall = (name: string, args: object) => ({
  type: "function_call",
  id: "fc_1",
  call_id: "call_0",
  name,
  arguments: wrapped(args),
  status: "completed",
});

const speakers: Readonly<Record<string, Speaker>> = {
  chat: {
    whole: (name, args) => callReply({ name, args }),
    stream: (name, args) => callReplyStream("", { name, args }),
    declared: ({ tools: [tool] }) => tool?.function,
  },
  responses: {
    whole: (name, args) => responsesAnswer(responsesCall(name, args)),
    stream: (name, args) => {
      const item = responsesCall(name, args);
      return events(
        itemAddedEvent(0, { ...item, arguments: "", status: "in_progress" }),
        itemDoneEvent(0, item),
        completedEvent([item]),
      );
    },
    declared: ({ tools: [tool] }) => tool,
  },
  messages: {
    whole: (name, input) => json(wholeMessage([{ type: "tool_use", id: "call_0", name, input }])),
    stream: (name, args) => {
      const deltas = wrapped(args)
        .match(/.{1,7}/gs)
        ?.map((partial_json) => ({ type: "input_json_delta", partial_json }));
      const block = messagesBlock(0, { type: "tool_use", id: "call_0", name, input: {} }, ...(deltas ?? []));
      return events(messagesStart(), ...block, ...messagesStop("tool_use"));
    },
    declared: ({ tools: [tool] }) => tool,
  },
  gemini: {
    whole: (name, args) => json(lastGeminiChunk([geminiCallPart(name, args)])),
    stream: (name, args) => events(lastGeminiChunk([geminiCallPart(name, args)])),
    declared: ({ tools: [tool] }) => tool?.functionDeclarations?.[0],
  },
  converse: {
    whole: (name, input) => json(converseAnswer([{ toolUse: { toolUseId: "call_0", name, input } }])),
    stream: (name, args) => ({
      headers: { "content-type": "application/vnd.amazon.eventstream" },
      chunks: [
        { bytes: Buffer.concat([converseStart(), ...callBlock(0, name, wrapped(args)), ...endEvents("tool_use")]) },
      ],
    }),
    declared: ({ toolConfig }) => toolConfig?.tools[0]?.toolSpec,
  },
  cohere: {
    whole: (name, args) => json(wholeCohere({ tool_calls: [wholeCohereCall(0, name, wrapped(args))] })),
    stream: (name, args) => events(cohereStart, ...cohereCall(0, name, wrapped(args)), cohereEnd("TOOL_CALL")),
    declared: ({ tools: [tool] }) => tool?.function,
  },
};

let upstream: Upstream;
let engine: Engine;

beforeAll(async () => {
  upstream = await startUpstream();
  const dialects = [...Object.keys(speakers), "native"];
  engine = openEngine(
    testConfig({
      providers: dialects.map((id) => ({
        id,
        dialect: id === "native" ? "responses" : id,
        base_url: `${upstream.url}/v1`,
        api_keys: ["k"],
        ...(id === "responses" && { native_tools: [] }),
      })),
      models: [
        ...dialects.map((id) => ({
          id,
          endpoints: [{ provider: id, upstream_model: "m" }],
          input_modalities: ["text", "image"],
        })),
        { id: "mixed", endpoints: ["native", "chat"].map((provider) => ({ provider, upstream_model: "m" })) },
      ],
    }),
  );
});
afterAll(async () => {
  await engine?.upstreams.close();
  await upstream?.stop();
});

const turn = (fields: Partial<TurnRequest>, testScope = newScope()) =>
  runTestTurn(engine.turn, testRequest({ models: ["chat"], stream: false, ...fields }), testScope);

const sent = (index = -1) => upstream.requests.at(index)?.json as unknown as Body;
const finished = (batch: Batch) => batch.flatMap((event) => (event.type === "item.end" ? [event.item] : []));
const message = (content: string): InputItem => ({ type: "message", role: "user", content });

describe.each(Object.entries(speakers))("the tool apply_patch as a function at %s", (dialect, speaker) => {
  test.each([false, true])("gives a patch as a native item (stream: %s)", async (stream) => {
    upstream.script([(stream ? speaker.stream : speaker.whole)("apply_patch", operation)]);
    const { events: given, fault } = await turn({ models: [dialect], tools: [tools.patch], stream });
    expect(fault).toBeUndefined();
    const item = {
      type: "apply_patch_call",
      id: expect.stringMatching(/^apc_/),
      call_id: expect.any(String),
      status: "completed",
      operation,
    };
    expect(finished(given)).toEqual([item]);
    const starts = given.filter(({ type }) => type === "item.start" || type === "arguments.delta");
    expect(starts).toEqual(stream ? [{ type: "item.start", index: 0, item: { ...item, status: "in_progress" } }] : []);
    expect(speaker.declared(sent())).toMatchObject({
      name: "apply_patch",
      description: expect.stringContaining("V4A"),
    });
  });

  test("gets its history as a call of the function and its output", async () => {
    upstream.script([speaker.whole("apply_patch", operation)]);
    const input = [
      message("Fix it."),
      { type: "apply_patch_call", call_id: "c1", status: "completed", operation },
      { type: "apply_patch_call_output", call_id: "c1", status: "failed", output: "no such line" },
    ];
    await turn({ models: [dialect], tools: [tools.patch], input });
    const body = JSON.stringify(sent());
    expect(body).not.toContain("apply_patch_call");
    expect(body).toContain("no such line");
    expect(body.match(/apply_patch/g)?.length).toBeGreaterThanOrEqual(2);
  });
});

test("a provider that supports apply_patch gets the tool itself", async () => {
  const patch = { type: "apply_patch_call", id: "apc_1", call_id: "c", status: "completed", operation };
  upstream.script([responsesAnswer(patch)]);
  const { events: given } = await turn({
    models: ["native"],
    tools: [tools.patch],
    toolChoice: { type: "tool", tool: { type: "apply_patch" } },
  });
  expect(finished(given)).toEqual([patch]);
  expect(sent()).toMatchObject({ tools: [{ type: "apply_patch" }], tool_choice: { type: "apply_patch" } });
});

test("a provider that supports apply_patch streams it next to the client's functions, in the order of its items", async () => {
  const patch = { type: "apply_patch_call", id: "apc_1", call_id: "c", status: "completed", operation };
  const f = responsesCall("f", {});
  const begun = { ...patch, status: "in_progress", operation: { ...operation, diff: "" } };
  upstream.script([
    events(
      itemAddedEvent(0, f),
      itemDoneEvent(0, f),
      itemAddedEvent(1, begun),
      itemDoneEvent(1, patch),
      itemAddedEvent(2, f),
      itemDoneEvent(2, f),
      completedEvent([f, patch, f]),
    ),
  ]);
  const { events: given } = await turn({ models: ["native"], tools: [functionTool(), tools.patch], stream: true });
  expect(finished(given).map(({ type }) => type)).toEqual(["function_call", "apply_patch_call", "function_call"]);
});

test("each endpoint of a model gets client tools in its supported form", async () => {
  upstream.script([{ status: 500 }, callReply({ name: "apply_patch", args: operation })]);
  const { events: given, fault } = await turn({
    models: ["mixed"],
    tools: [tools.patch],
    provider: create(ProviderPreferencesSchema, { order: ["native", "chat"] }),
  });
  expect(fault).toBeUndefined();
  expect(finished(given)).toMatchObject([{ type: "apply_patch_call", operation }]);
  expect(sent(-2).tools).toEqual([{ type: "apply_patch" }]);
  expect(sent().tools).toMatchObject([{ type: "function" }]);
});

describe("client tools of Codex and others", () => {
  test.each([
    [
      "delete",
      tools.patch,
      "apply_patch",
      { type: "delete_file", path: "a", diff: "left out" },
      { type: "apply_patch_call", operation: { type: "delete_file", path: "a" } },
    ],
    [
      "create",
      tools.patch,
      "apply_patch",
      { type: "create_file", path: "a", diff: "" },
      { type: "apply_patch_call", operation: { type: "create_file", path: "a", diff: "" } },
    ],
    [
      "shell",
      tools.shell,
      "shell",
      { commands: ["ls", "pwd"], timeout_ms: 5 },
      {
        type: "shell_call",
        action: { commands: ["ls", "pwd"], timeout_ms: 5, max_output_length: null },
        environment: { type: "local" },
      },
    ],
    [
      "local shell",
      tools.localShell,
      "local_shell",
      { command: ["ls"], env: null, working_directory: "/tmp" },
      {
        type: "local_shell_call",
        action: { type: "exec", command: ["ls"], env: {}, timeout_ms: null, user: null, working_directory: "/tmp" },
      },
    ],
    [
      "click",
      tools.screen,
      "computer",
      { type: "click", x: 1, y: 2, text: null },
      { type: "computer_call", action: { type: "click", button: "left", x: 1, y: 2 }, pending_safety_checks: [] },
    ],
    [
      "actions",
      tools.computer,
      "computer",
      { actions: [{ type: "scroll", x: 1, y: 2, scroll_y: 9 }, { type: "screenshot" }] },
      {
        type: "computer_call",
        actions: [{ type: "scroll", x: 1, y: 2, scroll_x: 0, scroll_y: 9 }, { type: "screenshot" }],
        pending_safety_checks: [],
      },
    ],
  ])(
    "include %s, which is called as a function and reaches the client as its own item",
    async (_, tool, name, args, item) => {
      upstream.script([callReply({ name, args })]);
      const { events: given, fault } = await turn({ tools: [tool] });
      expect(fault).toBeUndefined();
      expect(finished(given)).toEqual([{ ...item, id: expect.any(String), call_id: "call_0", status: "completed" }]);
    },
  );

  test("have outputs of shells and screens that the model reads", async () => {
    upstream.script([textReply("Done.")]);
    const outcome = { type: "exit", exit_code: 0 };
    const image_url = "data:image/png;base64,AA";
    const input = [
      message("Go."),
      {
        type: "local_shell_call",
        id: "i1",
        call_id: "c1",
        action: { type: "exec", command: ["ls"], env: {} },
        status: "completed",
      },
      { type: "local_shell_call_output", id: "i1", output: "one" },
      { type: "shell_call", call_id: "c2", action: { commands: ["pwd"] } },
      { type: "shell_call_output", call_id: "c2", output: [{ stdout: "two", stderr: "", outcome }] },
      { type: "computer_call", call_id: "c3", action: { type: "screenshot" } },
      { type: "computer_call_output", call_id: "c3", output: { type: "computer_screenshot", image_url } },
    ];
    const { fault } = await turn({ tools: [tools.localShell, tools.shell, tools.screen], input });
    expect(fault).toBeUndefined();
    expect(sent().messages.slice(1)).toMatchObject([
      { tool_calls: [{ id: "c1", function: { name: "local_shell" } }] },
      { role: "tool", tool_call_id: "c1", content: "one" },
      { tool_calls: [{ id: "c2", function: { name: "shell", arguments: '{"commands":["pwd"]}' } }] },
      { role: "tool", tool_call_id: "c2", content: expect.stringContaining("two") },
      { tool_calls: [{ id: "c3", function: { name: "computer", arguments: '{"type":"screenshot"}' } }] },
      { role: "tool", tool_call_id: "c3" },
      { role: "user", content: [{ type: "image_url", image_url: { url: image_url } }] },
    ]);
  });

  test("exclude a shell in a container of the provider", async () => {
    const contained = entry("shell", { environment: { type: "container_auto" } });
    expect((await turn({ tools: [contained] })).fault?.message).toContain("shell needs a sandbox");
  });
});

describe("names of client tools", () => {
  const own = functionTool({ name: "apply_patch", parametersJson: '{"type":"object"}' });

  test("give way to a function of the client with the same name", async () => {
    upstream.script([callReply({ name: "apply_patch", args: { a: 1 } }, { name: "apply_patch__1", args: operation })]);
    const input = [message("Go."), { type: "apply_patch_call", call_id: "c1", status: "completed", operation }];
    const { events: given } = await turn({ tools: [own, tools.patch], input });
    expect(finished(given)).toMatchObject([
      { type: "function_call", name: "apply_patch", arguments: '{"a":1}' },
      { type: "apply_patch_call", call_id: "call_1", operation },
    ]);
    expect(sent()).toMatchObject({
      tools: [{ function: { name: "apply_patch" } }, { function: { name: "apply_patch__1" } }],
      messages: [{}, { tool_calls: [{ function: { name: "apply_patch__1" } }] }],
    });
  });

  test.each([
    [{ type: "tool", tool: { type: "apply_patch" } }, { type: "function", function: { name: "apply_patch__1" } }, 2],
    [{ type: "allowed_tools", mode: "required", tools: [{ type: "apply_patch" }] }, "required", 1],
  ] as const)("become the function's name in a tool choice: %j", async (toolChoice, told, count) => {
    upstream.script([callReply({ name: "apply_patch__1", args: operation })]);
    expect((await turn({ tools: [own, tools.patch], toolChoice })).fault).toBeUndefined();
    expect(sent()).toMatchObject({ tool_choice: told, tools: { length: count } });
  });
});

describe("service:apply_patch", () => {
  const patching = (engineName?: string) =>
    entry("service:apply_patch", engineName === undefined ? {} : { parameters: { engine: engineName } });
  const native = { type: "apply_patch_call", id: "apc_1", call_id: "c", status: "completed", operation };

  test.each([undefined, "auto", "native"])(
    "stays native at a provider with the tool (engine: %s)",
    async (engineName) => {
      upstream.script([responsesAnswer(native)]);
      const toolChoice = { type: "tool", tool: { type: "service:apply_patch" } } as const;
      const { events: given } = await turn({ models: ["native"], tools: [patching(engineName)], toolChoice });
      expect(finished(given)).toEqual([native]);
      expect(sent()).toMatchObject({ tools: [{ type: "apply_patch" }], tool_choice: { type: "apply_patch" } });
    },
  );

  test.each([
    ["native", "service"],
    ["chat", "auto"],
  ])("becomes a function at %s with engine %s", async (model, engineName) => {
    upstream.script([speakers[model === "chat" ? "chat" : "responses"]?.whole("apply_patch", operation) ?? {}]);
    const { events: given } = await turn({ models: [model], tools: [patching(engineName)] });
    expect(finished(given)).toMatchObject([{ type: "apply_patch_call", operation }]);
    expect(sent().tools).toMatchObject([{ type: "function" }]);
  });

  test("engine native is refused where no provider has the tool", async () => {
    expect((await turn({ tools: [patching("native")] })).fault).toMatchObject({ status: 400 });
  });
});

describe("a wrong call of apply_patch", () => {
  test.each([false, true])("goes back to the model, hidden from the client (stream: %s)", async (stream) => {
    const calls = stream
      ? (args: object) => callReplyStream("Let me see.", { name: "apply_patch", args })
      : (args: object) => callReply({ name: "apply_patch", args });
    upstream.script([calls(wrong), calls(operation)]);
    const testScope = newScope();
    const toolChoice = { type: "tool", tool: { type: "apply_patch" } } as const;
    const { events: given, fault } = await turn({ tools: [tools.patch], stream, toolChoice }, testScope);
    expect(fault).toBeUndefined();
    expect(finished(given).filter(({ type }) => type !== "message")).toMatchObject([
      { type: "apply_patch_call", operation },
    ]);
    expect(given.at(-1)).toMatchObject({ outcome: { status: "completed" } });
    const body = sent();
    expect(body.messages.at(-1)).toEqual({
      role: "tool",
      tool_call_id: "call_0",
      content: JSON.stringify({
        error: "diff, line 1: only *** End of File may begin with ***; the diff has no other header",
      }),
    });
    // The tool choice still applies, because no call has been passed on yet.
    expect(body.tool_choice).toEqual({ type: "function", function: { name: "apply_patch" } });
    expect(testScope.scope.trace.stages).toMatchObject([{ data: { tools: [], steps: 0, rejected_calls: 1 } }]);
  });

  test.each([
    [{ type: "delete_file", path: "../../.ssh/id" }, "path: must be relative to the working folder and stay in it"],
    [
      { type: "create_file", path: "/etc/cron.d/a", diff: "+a" },
      "path: must be relative to the working folder and stay in it",
    ],
    [{ type: "create_file", path: "a", diff: `+${"a".repeat(1_048_576)}` }, "diff: at most 1048576 characters"],
  ])("is detected by a path outside the folder or a too long diff: %#", async (args, error) => {
    upstream.script([callReply({ name: "apply_patch", args }), callReply({ name: "apply_patch", args: operation })]);
    const { events: given } = await turn({ tools: [tools.patch] });
    expect(finished(given)).toMatchObject([{ type: "apply_patch_call", operation }]);
    expect(sent().messages.at(-1)).toMatchObject({ role: "tool", content: JSON.stringify({ error }) });
  });

  test("makes the model repeat the calls next to it, too", async () => {
    upstream.script([
      callReply({ name: "apply_patch", args: wrong }, { name: "f", args: {} }),
      callReply({ name: "apply_patch", args: operation }, { name: "f", args: {} }),
    ]);
    const { events: given } = await turn({ tools: [tools.patch, functionTool()] });
    expect(finished(given)).toMatchObject([{ type: "apply_patch_call" }, { type: "function_call", name: "f" }]);
    const outputs = sent().messages.slice(-2);
    expect(outputs).toMatchObject([
      { tool_call_id: "call_0", content: expect.stringContaining("line 1") },
      { tool_call_id: "call_1", content: expect.stringContaining("make all of the calls again") },
    ]);
  });

  test("repeated again and again ends in an answer without tools", async () => {
    upstream.script([
      callReply({ name: "shell", args: "no JSON" }),
      callReply({ name: "shell", args: {} }),
      textReply("I cannot."),
    ]);
    const testScope = newScope();
    const { events: given, fault } = await turn({ tools: [tools.shell], toolChoice: "required" }, testScope);
    expect(fault).toBeUndefined();
    expect(finished(given)).toMatchObject([{ type: "message" }]);
    expect(sent().tool_choice).toBe("none");
    expect(testScope.scope.trace.stages).toMatchObject([{ data: { stop_reason: "errors", rejected_calls: 2 } }]);
  });

  test("is left out of the last answer, and of a truncated answer", async () => {
    const bad = () => callReply({ name: "shell", args: {} });
    upstream.script([bad(), bad(), bad()]);
    expect(finished((await turn({ tools: [tools.shell] })).events)).toEqual([]);
    const tool_calls = toolCalls([{ name: "shell", args: '{"commands":["rm -r' }]);
    upstream.script([chatAnswer({ role: "assistant", content: null, tool_calls }, "length")]);
    const { events: given } = await turn({ tools: [tools.shell] });
    expect(given.map(({ type }) => type)).toEqual(["start", "end"]);
    expect(given.at(-1)).toMatchObject({ outcome: { status: "incomplete", reason: "max_output_tokens" } });
  });
});

test("guardrails redact a patch before the client gets it", async () => {
  const secret = { ...operation, diff: "@@\n-a\n+swordfish\n" };
  upstream.script([callReply({ name: "apply_patch", args: secret })]);
  const guarded = newScope({
    guardrail: guardrailOf([redactFilter("swordfish", "[PASSWORD]")], { appliesTo: AppliesTo.OUTPUT }),
  });
  const { events: given, fault } = await turn({ tools: [tools.patch] }, guarded);
  expect(fault).toBeUndefined();
  expect(finished(given)).toMatchObject([{ operation: { diff: "@@\n-a\n+[PASSWORD]\n" } }]);
});

test("an answer without a call of client tools is unchanged", async () => {
  upstream.script([chatStream("Hello.")]);
  const testScope = newScope();
  const { events: given } = await turn({ tools: [tools.patch], stream: true }, testScope);
  expect(finished(given)).toMatchObject([{ type: "message" }]);
  expect(testScope.scope.trace.stages).toEqual([]);
});

test("a dry run shows apply_patch as a function", async () => {
  const { scope } = newScope();
  const { plan } = await engine.planDryRun(testRequest({ models: ["chat"], tools: [tools.patch] }), scope);
  expect(plan.map(({ bodyJson }) => bodyJson)).toEqual([expect.stringContaining('"name":"apply_patch"')]);
});
