/** The built-in model: equal requests give equal answers, in every form of an answer. */
import { afterAll, describe, expect, test } from "@jest/globals";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { exampleJson } from "@sluice/inference-svc/models/upstream/echo/example.js";
import { findShortest, measureElapsedMs } from "../../../support/clock.js";
import {
  testRequest,
  functionTool,
  testConfig,
  itemsOf,
  maskIds,
  newScope,
  openEngine,
  runTestTurn,
} from "../../asking.js";

const engine = openEngine(
  testConfig({
    providers: [{ id: "sluice", name: "Sluice", dialect: "echo" }],
    models: [{ id: "sluice/echo", endpoints: [{ provider: "sluice" }], input_modalities: ["text", "image", "file"] }],
  }),
);
afterAll(() => engine.upstreams.close());

const echo = (request: Parameters<typeof testRequest>[0] = {}) =>
  runTestTurn(engine.turn, testRequest({ models: ["sluice/echo"], ...request }));

async function items(request: Parameters<typeof testRequest>[0]): Promise<Record<string, unknown>[]> {
  const streamed = itemsOf((await echo(request)).events);
  const whole = (await echo({ ...request, stream: false })).events.flatMap((event) =>
    event.type === "item.end" ? [event.item] : [],
  );
  expect(maskIds(whole)).toEqual(maskIds(streamed));
  return streamed;
}

const textOf = (item: Record<string, unknown> | undefined) =>
  (item?.content as { text: string }[] | undefined)?.[0]?.text;
const tool = (parameters: object) => functionTool({ name: "get_weather", parametersJson: JSON.stringify(parameters) });
const weather = tool({
  type: "object",
  properties: { town: { type: "string" }, days: { type: "integer" } },
  required: ["town"],
});

test("the built-in model repeats the last words of the user and names itself", async () => {
  const [item] = await items({ text: "Name the largest  moon." });
  expect(textOf(item)).toBe("This is sluice/echo, the built-in model. You said: Name the largest  moon.");
});

test("the built-in model streams word by word, and gives a whole answer at once", async () => {
  const { events, batches } = await echo({ text: "one two" });
  expect(events.filter((event) => event.type === "text.delta")).toHaveLength(10);
  expect(batches).toBe(11);
  // At the pace of a stream this would take half a minute.
  const wholeMs = () =>
    measureElapsedMs(async () => expect((await echo({ text: "word ".repeat(2_000), stream: false })).batches).toBe(1));
  expect(await findShortest(2_000, wholeMs, 3)).toBeLessThan(2_000);
});

test("a stream shows the built-in model's request on demand", async () => {
  const runRequest = { text: "Hello", instructions: "Be brief.", echoUpstreamBody: true };
  const [first, ...others] = (await echo(runRequest)).events;
  const bodyJson = first?.type === "debug" ? first.bodyJson : "null";
  expect(JSON.parse(bodyJson)).toMatchObject({
    model: "sluice/echo",
    instructions: "Be brief.",
    input: [{ role: "user", content: "Hello" }],
    stream: true,
  });
  expect(others.filter(({ type }) => type === "debug")).toEqual([]);
  expect((await echo({ ...runRequest, stream: false })).events.filter(({ type }) => type === "debug")).toEqual([]);
  expect((await echo({ text: "Hello" })).events.filter(({ type }) => type === "debug")).toEqual([]);
});

test("the built-in model refuses on request", async () => {
  expect(maskIds(await items({ text: "refuse: anything" }))).toEqual([
    {
      type: "message",
      id: "masked",
      role: "assistant",
      status: "completed",
      content: [{ type: "refusal", refusal: "The built-in model was asked to refuse." }],
    },
  ]);
});

test("the built-in model thinks when an effort is set", async () => {
  const [reasoning, message] = await items({ reasoning: { effort: "low", summary: "auto" } });
  expect([reasoning?.type, message?.type]).toEqual(["reasoning", "message"]);
  expect(reasoning?.summary).toHaveLength(1);
  expect((await items({ reasoning: { effort: "none" } })).map((item) => item.type)).toEqual(["message"]);
});

describe("tools of the built-in model", () => {
  const outputs = [
    { type: "message", role: "user", content: "Weather?" },
    { type: "function_call", call_id: "a", name: "get_weather", arguments: "{}" },
    { type: "function_call_output", call_id: "a", output: "clear" },
  ];
  test.each<[string, Partial<TurnRequest>, string[]]>([
    ["calls once", { tools: [weather] }, ["function_call"]],
    ["then talks about it", { tools: [weather], input: outputs }, ["message"]],
    ["none", { tools: [weather], toolChoice: "none" }, ["message"]],
    ["required", { tools: [weather], input: outputs, toolChoice: "required" }, ["function_call"]],
    [
      "the chosen one",
      {
        tools: [{ ...weather, name: "other" }, weather],
        toolChoice: { type: "tool", tool: { type: "function", name: "get_weather" } },
      },
      ["function_call"],
    ],
  ])("are called as the request allows: %s", async (_, request, types) => {
    const given = await items(request);
    expect(given.map((item) => item.type)).toEqual(types);
    if (types[0] === "function_call")
      expect(given[0]).toMatchObject({ name: "get_weather", arguments: '{"town":"example"}' });
    else if (request.input) expect(textOf(given[0])).toContain("The tools said: clear");
  });
});

describe("other kinds of tools of the built-in model", () => {
  const sql = { type: "custom", name: "sql", json: "{}" } as const;
  const browser = { type: "hosted", kind: "browser_use", spelling: "browser_use", json: "{}" } as const;
  const crm = { type: "namespace", name: "crm", description: "", json: "{}", tools: [weather, sql] } as const;
  const only = (...tools: { type: string; name?: string; namespace?: string }[]) =>
    ({ type: "allowed_tools", mode: "required", tools }) as const;

  test("include a custom tool, which gets the user's text", async () => {
    expect(await items({ tools: [sql], text: "select 1" })).toMatchObject([
      { type: "custom_tool_call", name: "sql", input: "select 1" },
    ]);
    const input = [
      { type: "message", role: "user", content: "Weather?" },
      { type: "custom_tool_call", call_id: "a", name: "sql", input: "x" },
      { type: "custom_tool_call_output", call_id: "a", output: "rows" },
    ];
    expect(textOf((await items({ tools: [sql], input }))[0])).toContain("The tools said: rows");
  });

  test("have a namespace, which their calls name", async () => {
    expect(await items({ tools: [crm] })).toMatchObject([
      { type: "function_call", name: "get_weather", namespace: "crm" },
    ]);
    const toolChoice = { type: "tool", tool: { type: "custom", name: "sql", namespace: "crm" } } as const;
    expect(await items({ tools: [crm], toolChoice })).toMatchObject([
      { type: "custom_tool_call", name: "sql", namespace: "crm" },
    ]);
  });

  test("are called only if they are allowed, or refused", async () => {
    const tools = [browser, sql, weather];
    expect(await items({ tools, toolChoice: only({ type: "function", name: "get_weather" }) })).toMatchObject([
      { name: "get_weather" },
    ]);
    for (const request of [{ tools }, { tools, toolChoice: only({ type: "browser_use" }) }]) {
      const { fault } = await echo(request);
      expect([fault?.status, fault?.message]).toEqual([
        400,
        "tools.0: the built-in model runs no tools of type browser_use",
      ]);
    }
  });
});

test("the built-in model reports images and files as dropped, but no sampler", async () => {
  const testScope = newScope();
  const content = [
    { type: "input_text", text: "Hi" },
    { type: "input_image", image_url: "data:image/png;base64,AA" },
  ];
  const input = [
    { type: "message", role: "user", content },
    { type: "function_call_output", call_id: "a", output: [{ type: "input_file", file_id: "f" }] },
  ];
  await runTestTurn(engine.turn, testRequest({ models: ["sluice/echo"], input, temperature: 1 }), testScope);
  expect(testScope.scope.trace.droppedFields).toEqual([
    { path: "input.0.content.1", reason: "the built-in model reads text only" },
    { path: "input.1.output.0", reason: "the built-in model reads text only" },
  ]);
});

test.each([1, 5, 16])("the built-in model stops after %i tokens", async (maxOutputTokens) => {
  for (const request of [
    { text: "word ".repeat(30) },
    { reasoning: { effort: "low" } },
    { tools: [tool({ const: "x".repeat(200) })] },
  ]) {
    const { events } = await echo({ ...request, maxOutputTokens });
    const end = events.at(-1);
    expect(end).toMatchObject({
      outcome: { status: "incomplete", reason: "max_output_tokens", usage: { outputTokens: maxOutputTokens } },
    });
    expect(itemsOf(events).at(-1)?.status).toBe("incomplete");
  }
});

test("the built-in model counts the words of input and output", async () => {
  const { events } = await echo({ text: "one two three", instructions: "be brief", reasoning: { effort: "low" } });
  const deltas = events.filter((event) => "delta" in event);
  expect(events.at(-1)).toMatchObject({
    outcome: {
      usage: {
        inputTokens: 5,
        outputTokens: deltas.length,
        reasoningTokens: deltas.filter((event) => event.type === "reasoning.delta").length,
      },
    },
  });
});

test("an abort ends the built-in model's answer", async () => {
  const { scope, abort } = newScope();
  const batches = engine.turn(testRequest({ models: ["sluice/echo"] }), scope)[Symbol.asyncIterator]();
  await batches.next();
  abort.abort(new Error("gone"));
  await expect(batches.next()).rejects.toMatchObject({ name: "Fault" });
});

describe("JSON of the built-in model", () => {
  test("is an object on request", async () => {
    const [item] = await items({ text: "Hi", textFormat: { type: "json_object" } });
    expect(JSON.parse(textOf(item) ?? "")).toEqual({ echo: "Hi" });
  });

  test("follows a schema", async () => {
    const [item] = await items({
      textFormat: {
        type: "json_schema",
        name: "n",
        schemaJson: '{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}',
      },
    });
    expect(JSON.parse(textOf(item) ?? "")).toEqual({ a: 1 });
  });

  test.each<[string, unknown, unknown]>([
    ["nothing said", null, {}],
    [
      "every type",
      {
        type: "object",
        required: ["s", "i", "n", "b", "z", "a", "o"],
        properties: {
          s: { type: "string" },
          i: { type: "integer" },
          n: { type: "number" },
          b: { type: "boolean" },
          z: { type: "null" },
          a: { type: "array" },
          o: { type: "object" },
        },
      },
      { s: "example", i: 1, n: 1, b: true, z: null, a: [], o: {} },
    ],
    ["nullable", { type: ["string", "null"] }, "example"],
    ["choices", { enum: ["b", "a"] }, "b"],
    ["a constant", { const: 0 }, 0],
    ["lengths", { type: "array", minItems: 2, items: { type: "string", minLength: 10 } }, ["examplexxx", "examplexxx"]],
    ["short", { type: "string", maxLength: 3 }, "exa"],
    ["ranges", { type: "array", minItems: 1, items: { type: "integer", minimum: 5, multipleOf: 4 } }, [8]],
    ["exclusive", { type: "integer", exclusiveMinimum: 7 }, 8],
    ["below", { type: "number", maximum: -2 }, -2],
    ["formats", { type: "string", format: "date" }, "2026-01-01"],
    ["a reference", { $ref: "#/$defs/a", $defs: { a: { const: 1 } } }, 1],
    ["any of", { anyOf: [{ type: "integer" }, { type: "string" }] }, 1],
    [
      "all of",
      {
        allOf: [
          { required: ["a"], properties: { a: { const: 1 } } },
          { required: ["b"], properties: { b: { const: 2 } } },
        ],
      },
      { a: 1, b: 2 },
    ],
  ])("fits a schema with %s", (_, schema, expected) => {
    expect(JSON.parse(exampleJson(JSON.stringify(schema)))).toEqual(expected);
  });

  test("ends for a recursive schema", () => {
    expect(() => exampleJson('{"$ref":"#"}')).not.toThrow();
    expect(() => exampleJson('{"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}}')).not.toThrow();
  });
});
