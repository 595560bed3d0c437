/** Arguments and outputs of each server tool. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Index, wordsOf } from "@sluice/inference-svc/content/ranking.js";
import { datetime as tool } from "@sluice/inference-svc/features/datetime/tool.js";
import type { FunctionTool, NamespaceTool, Tool, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { create } from "@bufbuild/protobuf";
import { GuardrailSchema, RoutingPolicySchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { type Upstream, responsesAnswer, startUpstream } from "../../support/providers/upstream.ts";
import { type Engine, testRequest, functionTool, testConfig, newScope, openEngine, runTestTurn } from "../asking.ts";
import { textReply, callReply, datetime, hosted } from "../../support/tool-replies.ts";

let acme: Upstream;
let engine: Engine;

beforeAll(async () => {
  acme = await startUpstream();
  engine = openEngine(
    testConfig({
      url: acme.url,
      models: [
        {
          id: "acme/large-2",
          name: "Large",
          endpoints: [{ provider: "acme", pricing: { prompt: "3", completion: "15" } }],
        },
        { id: "acme/small", description: "Quick answers", endpoints: [{ provider: "acme" }] },
        {
          id: "acme/painter",
          description: "Draws pictures",
          input_modalities: ["text", "image"],
          output_modalities: ["text", "image"],
          context_length: 8_000,
          endpoints: [{ provider: "acme" }],
        },
      ],
    }),
  );
});
afterAll(async () => {
  await engine?.upstreams.close();
  await acme?.stop();
});

const turn = (fields: Partial<TurnRequest>, testScope = newScope()) =>
  runTestTurn(engine.turn, testRequest({ stream: false, ...fields }), testScope);

type Message = { readonly role: string; readonly content: string };
type Sent = { readonly messages: Message[]; readonly tools?: { function: { name: string; description: string } }[] };
const sent = (index: number) => acme.requests.at(index)?.json as unknown as Sent;
const namesSent = (index: number) => sent(index).tools?.map(({ function: { name } }) => name);
/** Output of the tool call in the last request to the model. */
const output = () => JSON.parse(sent(-1).messages.at(-1)?.content ?? "") as Record<string, unknown>;

describe("service:datetime", () => {
  /** The time is half a minute before summer time begins in Europe. */
  const beforeSummer = Date.UTC(2026, 2, 29, 0, 59, 30);
  const told = async (timezone: string | undefined, epochMs: number, standard?: string) => {
    const parameters = standard === undefined ? {} : { timezone: standard };
    const { scope } = newScope();
    const open = tool(() => epochMs).open({ parameters, entry: {}, path: "tools.0", request: testRequest(), scope });
    const result = await open?.run(timezone === undefined ? {} : { timezone }, {
      callId: "call_0",
      scope,
      argumentsJson: "{}",
      signal: scope.signal,
      input: [],
      sendProgress: () => {},
    });
    return result?.item;
  };

  test.each([
    [undefined, beforeSummer, "UTC", "2026-03-29T00:59:30+00:00"],
    ["Europe/Vienna", beforeSummer, "Europe/Vienna", "2026-03-29T01:59:30+01:00"],
    ["Europe/Vienna", beforeSummer + 30_000, "Europe/Vienna", "2026-03-29T03:00:00+02:00"],
    ["Asia/Kolkata", beforeSummer, "Asia/Kolkata", "2026-03-29T06:29:30+05:30"],
    ["America/St_Johns", beforeSummer, "America/St_Johns", "2026-03-28T22:29:30-02:30"],
    ["Pacific/Kiritimati", Date.UTC(2026, 11, 31, 10), "Pacific/Kiritimati", "2027-01-01T00:00:00+14:00"],
  ])("gives the time in the time zone %s", async (zone, epochMs, timezone, text) => {
    expect(await told(zone, epochMs)).toEqual({ datetime: text, timezone });
    expect(Date.parse(text)).toBe(epochMs);
  });

  test("uses the time zone of its entry by default", async () => {
    expect(await told(undefined, beforeSummer, "Asia/Tokyo")).toMatchObject({ timezone: "Asia/Tokyo" });
    expect(await told("UTC", beforeSummer, "Asia/Tokyo")).toMatchObject({ timezone: "UTC" });
  });
});

describe("service:search_models", () => {
  const search = async (args: object, parameters: object = {}, testScope = newScope()) => {
    acme.script([callReply({ name: "service_search_models", args }), textReply("Found.")]);
    const { events } = await turn({ tools: [hosted("service:search_models", parameters)] }, testScope);
    const { models, ...rest } = output() as { models?: { id: string }[] };
    return { ids: models?.map(({ id }) => id), rest, item: events[1] };
  };

  test("searches by words, best first, with the model's description and price", async () => {
    const { ids, rest, item } = await search({ query: "pictures" });
    expect([ids, rest]).toEqual([["acme/painter"], { total_results: 1, showing: 1 }]);
    expect(item).toMatchObject({
      item: {
        type: "service:search_models",
        status: "completed",
        query: "pictures",
        arguments: '{"query":"pictures"}',
      },
    });
    await search({ series: "LARGE" });
    expect(output()["models"]).toEqual([
      {
        id: "acme/large-2",
        name: "Large",
        context_length: 128_000,
        input_modalities: ["text"],
        output_modalities: ["text"],
        pricing: { prompt: "3", completion: "15" },
        providers: ["Acme"],
      },
    ]);
  });

  test.each([
    [{}, ["acme/large-2", "acme/small", "acme/painter"]],
    [{ input_modalities: ["image"] }, ["acme/painter"]],
    [{ output_modalities: ["audio"] }, []],
    [{ min_context_length: 8_001 }, ["acme/large-2", "acme/small"]],
    [{ min_context_length: 8_000, query: "picture" }, ["acme/painter"]],
    [{ query: "nothing of the kind" }, []],
  ])("finds models by %j", async (args, wanted) => expect((await search(args)).ids).toEqual(wanted));

  test("returns as many models as the entry allows", async () => {
    expect(await search({}, { max_results: 2 })).toMatchObject({
      ids: ["acme/large-2", "acme/small"],
      rest: { total_results: 3, showing: 2 },
    });
  });

  test("returns no model that the key may not use", async () => {
    const routingPolicy = create(RoutingPolicySchema, { ignoredModels: ["acme/small"] });
    const testScope = newScope({ guardrail: create(GuardrailSchema, { id: "g", routingPolicy }) });
    expect((await search({}, {}, testScope)).ids).toEqual(["acme/large-2", "acme/painter"]);
  });

  test.each([
    [{ query: "x".repeat(200) }, undefined],
    [{ query: "x".repeat(201) }, "query: at most 200 characters"],
    [{ min_context_length: 0 }, "min_context_length: must be at least 1"],
    [{ input_modalities: ["smell"] }, "input_modalities.0: must be one of text, image, file, audio, video"],
  ])("answers a wrong call with an error", async (args, error) => {
    await search(args);
    expect(output()["error"]).toBe(error);
  });

  test.each([["{"], ['{"query":7}'], [undefined]])(
    "reads an item of the history with %s as a search for all models",
    async (said) => {
      acme.script([textReply("As I said.")]);
      const past = { type: "service:search_models", id: "st_1", status: "completed", arguments: said };
      const { fault } = await turn({ tools: [], input: [{ type: "message", role: "user", content: "Hi" }, past] });
      expect([fault, output()]).toMatchObject([undefined, { total_results: 3 }]);
    },
  );

  test("repeats ten searches of a history, and no more", async () => {
    acme.script([textReply("As I said.")]);
    const past = Array.from({ length: 11 }, (_, index) => ({
      type: "service:search_models",
      id: `st_${index}`,
      status: "completed",
      arguments: `{"min_context_length":${index + 1}}`,
    }));
    await turn({ tools: [], input: [...past, ...past.slice(0, 10).map((item) => ({ ...item, id: `${item.id}x` }))] });
    const outputs = sent(-1).messages.flatMap(({ role, content }) => (role === "tool" ? [content] : []));
    expect(outputs.map((text) => text.includes("not kept"))).toEqual(
      past.map((_, index) => index === 10).concat(Array(10).fill(false)),
    );
  });

  test("finds the same models again when the item is sent back", async () => {
    acme.script([textReply("As I said.")]);
    const item = { type: "service:search_models", id: "st_1", status: "completed", query: "quick" };
    const past = { ...item, arguments: '{"query":"quick"}' };
    await turn({ tools: [], input: [{ type: "message", role: "user", content: "Hi" }, past] });
    expect(output()).toMatchObject({ total_results: 1, models: [{ id: "acme/small" }] });
  });
});

describe("service:tool_search", () => {
  const deferred = (name: string, description: string, parametersJson = "null"): FunctionTool => {
    const plain = functionTool({ name, description, parametersJson });
    return { ...plain, deferLoading: true, json: `${plain.json.slice(0, -1)},"defer_loading":true}` };
  };
  const invoice = deferred(
    "crm_create_invoice",
    "Bills a customer",
    '{"type":"object","properties":{"customer_id":{"type":"string","description":"Whom to charge"}}}',
  );
  const refund = deferred("crm_refund", "Gives money back");
  const ticket = deferred("openTicket", "Reports a problem to support");
  const namespace: NamespaceTool = {
    type: "namespace",
    name: "mail",
    description: "The mailbox",
    tools: [functionTool({ name: "list" }), deferred("send", "Sends a letter")],
    json: '{"type":"namespace","name":"mail","description":"The mailbox","tools":[]}',
  };
  const here = functionTool({ name: "weather" });
  const search = hosted("service:tool_search");
  const tools: readonly Tool[] = [search, here, invoice, refund, ticket, namespace];
  const searching = (query: string) => callReply({ name: "service_tool_search", args: { query } });

  test("gives the model found tools, but no deferred tools", async () => {
    acme.script([searching("refund"), callReply({ name: "crm_refund", id: "call_9" })]);
    const testScope = newScope();
    const { events } = await turn({ tools }, testScope);
    expect(namesSent(-2)).toEqual(["service_tool_search", "weather", "mail__list"]);
    expect(sent(-2).tools?.[0]?.function.description).toContain("Searches 4 more tools");
    expect(namesSent(-1)).toEqual(["service_tool_search", "weather", "mail__list", "crm_refund"]);
    expect(output()).toEqual({ loaded: [{ name: "crm_refund", description: "Gives money back" }] });
    expect(events.slice(1)).toMatchObject([
      { item: { type: "service:tool_search", status: "completed", query: "refund" } },
      { item: { type: "function_call", name: "crm_refund", call_id: "call_9" } },
      { outcome: { status: "completed" } },
    ]);
    expect(testScope.scope.trace.droppedFields).toEqual([]);
    expect(testScope.scope.trace.stages.at(-1)?.data).toMatchObject({ stop_reason: "client_calls" });
  });

  test.each([
    ["create an invoice", ["crm_create_invoice"]],
    ["bill customers", ["crm_create_invoice"]],
    ["ticket", ["openTicket"]],
    ["charge", ["crm_create_invoice"]],
    ["letter", ["mail.send"]],
    ["Which one bills?", ["crm_create_invoice"]],
    ["Gives money.", ["crm_refund"]],
    ["(bills|gives) \\w+ ?", ["crm_create_invoice", "crm_refund"]],
    ["^CRM_", ["crm_create_invoice", "crm_refund"]],
    ["customer_id|problem", ["openTicket", "crm_create_invoice"]],
    ["zebra", []],
  ])('finds tools by the words "%s"', async (query, names) => {
    acme.script([searching(query), textReply("Found.")]);
    await turn({ tools });
    const { loaded } = output() as { loaded: { name: string }[] };
    expect(loaded.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
  });

  test("names the available tools when a search has no match, and only names matches beyond the limit", async () => {
    acme.script([searching("zebra"), textReply("None.")]);
    await turn({ tools });
    expect(output()).toEqual({ loaded: [], names_begin_with: ["crm", "openTicket", "mail"] });
    acme.script([searching("crm_.*"), textReply("One.")]);
    await turn({ tools: [hosted("service:tool_search", { max_results: 1 }), here, invoice, refund] });
    expect(output()).toMatchObject({ loaded: [{ name: "crm_create_invoice" }], also_matching: ["crm_refund"] });
  });

  test.each([
    ["(", "the pattern cannot be used; look-around, back-references and long repetitions are not possible"],
    ["(?=a)b", "the pattern cannot be used; look-around, back-references and long repetitions are not possible"],
    ["x".repeat(201), "query: at most 200 characters"],
  ])("reports a bad pattern to the model: %s", async (query, error) => {
    acme.script([searching(query), textReply("Sorry.")]);
    const { events } = await turn({ tools });
    expect(output()).toEqual({ error });
    expect(events[1]).toMatchObject({ item: { type: "service:tool_search", status: "incomplete" } });
  });

  test("includes tools found and called earlier from the beginning", async () => {
    acme.script([textReply("Done.")]);
    const input = [
      { type: "message", role: "user", content: "Give it back." },
      { type: "service:tool_search", id: "st_1", status: "completed", query: "refund" },
      { type: "function_call", call_id: "c1", name: "openTicket", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "done" },
    ];
    await turn({ tools, input });
    expect(namesSent(-1)).toEqual(["service_tool_search", "weather", "mail__list", "crm_refund", "openTicket"]);
    expect(sent(-1).messages[2]).toMatchObject({ role: "tool", content: expect.stringContaining("crm_refund") });
  });

  describe("with a tool choice of some tools", () => {
    const openTurn = async (names: readonly string[], mode: "auto" | "required" = "auto") => {
      const vendor = openEngine(testConfig({ url: acme.url, dialect: "responses" }));
      const choice = names.map((name) => (name === "tool_search" ? { type: search.kind } : { type: "function", name }));
      const input = [
        { type: "message", role: "user", content: "Give it back." },
        { type: "additional_tools", role: "developer", tools: [{ type: "function", name: "given", parameters: {} }] },
      ];
      const toolChoice = { type: "allowed_tools" as const, mode, tools: choice };
      const ended = await runTestTurn(vendor.turn, testRequest({ tools, toolChoice, input, stream: false }));
      await vendor.upstreams.close();
      return ended;
    };
    const choicesSent = (from: number) =>
      acme.requests
        .slice(from)
        .map(({ json }) => (json["tool_choice"] as { tools: { name: string }[] }).tools.map(({ name }) => name));
    const found = { id: "fc_1", type: "function_call", call_id: "call_1", name: "service_tool_search" };
    const said = {
      id: "msg_1",
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "Found." }],
    };

    test("names the model's present tools, in the providers' form", async () => {
      const before = acme.requests.length;
      acme.script([responsesAnswer({ ...found, arguments: '{"query":"refund"}' }), responsesAnswer(said)]);
      const { fault } = await openTurn(["tool_search", "crm_refund", "crm_create_invoice", "given"]);
      expect(fault).toBeUndefined();
      expect(choicesSent(before)).toEqual([
        ["service_tool_search", "given"],
        ["service_tool_search", "crm_refund", "given"],
      ]);
    });

    test.each(["auto", "required"] as const)("refuses a choice of only deferred tools: %s", async (mode) => {
      const before = acme.requests.length;
      const { fault } = await openTurn(["crm_refund"], mode);
      expect(fault?.message).toMatch(/^tool_choice\.tools: names only tools that are deferred/);
      expect(acme.requests).toHaveLength(before);
    });
  });

  test("works within a namespace, and by the other name of the search", async () => {
    acme.script([callReply({ name: "service_tool_search", args: { query: "letter" } }), textReply("Found.")]);
    const { events } = await turn({ tools: [hosted("tool_search"), here, namespace] });
    expect(namesSent(-1)).toEqual(["service_tool_search", "weather", "mail__list", "mail__send"]);
    expect(events[1]).toMatchObject({ item: { type: "service:tool_search" } });
  });

  test("refuses a search by the client itself, even without deferred tools", async () => {
    const ofClient = { ...hosted("tool_search"), json: '{"type":"tool_search","execution":"client"}' };
    const requests = acme.requests.length;
    for (const others of [[here], [here, refund]]) {
      const { fault } = await turn({ tools: [...others, ofClient] });
      expect(fault?.message).toBe(
        `tools.${others.length}.execution: no provider of this model has tools that the client searches for`,
      );
    }
    expect(acme.requests.length).toBe(requests);
  });

  test("is not offered without deferred tools", async () => {
    acme.script([textReply("Hello.")]);
    await turn({ tools: [search, here] });
    expect(namesSent(-1)).toEqual(["weather"]);
  });

  test("works together with other tools of Sluice", async () => {
    acme.script([searching("refund"), callReply({}), textReply("Done.")]);
    const { events } = await turn({ tools: [...tools, datetime()] });
    const types = events.flatMap((event) => (event.type === "item.end" ? [event.item.type] : []));
    expect(types).toEqual(["service:tool_search", "service:datetime", "message"]);
    expect(namesSent(-1)?.at(-1)).toBe("crm_refund");
  });
});

describe("the ranking of a tool search", () => {
  test("takes names apart into words", () => {
    expect(wordsOf("getUserById2 crm_create-invoice v1.2 Größe")).toEqual([
      "get",
      "user",
      "by",
      "id2",
      "crm",
      "create",
      "invoice",
      "v1",
      "2",
      "größe",
    ]);
  });

  test("weighs names more than descriptions, and rare words more than common words", () => {
    const documents = [
      [
        ["other", 3],
        ["makes an invoice", 1],
      ],
      [
        ["invoice", 3],
        ["makes a thing", 1],
      ],
      [
        ["another", 3],
        ["makes a thing", 1],
      ],
    ] as const;
    const index = new Index(documents);
    expect(index.ranked("invoice")).toEqual([1, 0]);
    expect(index.ranked("makes invoice").slice(0, 2)).toEqual([1, 0]);
    expect(index.ranked("invoces")).toEqual([0, 1]);
    expect(new Index([]).ranked("x")).toEqual([]);
  });
});
