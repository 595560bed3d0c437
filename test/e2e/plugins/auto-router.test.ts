/** service/auto and service/auto-beta over HTTP: the chosen model, the receipt, and failures without a candidate. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { type Upstream, chatAnswer, chatStream, startUpstream } from "../../support/providers/upstream.ts";

let upstream: Upstream;
let installation: Installation;
const model = (id: string, price: string, scores = "", more = "", provider = "acme") => `
  - id: ${id}${more}
    endpoints: [{provider: ${provider}, upstream_model: ${id.replace("/", "-")}, pricing: {prompt: "${price}", completion: "${price}"}}]
    ${scores && `scores: {${scores}}`}`;
const sees = "\n    input_modalities: [text, image]";

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers: [{id: acme, dialect: chat, base_url: "${upstream.url}/v1"}, {id: discreet, dialect: chat, base_url: "${upstream.url}/v1", data_policy: {retention: none}}, {id: own, dialect: echo}]
models:
  - {id: own/echo, endpoints: [{provider: own}]}${model("a/tiny", "0.1", "general: 0.1", "\n    context_length: 9000")}${model("a/small", "0.5", "general: 0.4")}${model("b/middle", "2", "general: 0.6", sees)}${model("b/large", "5", "general: 0.8")}${model("c/huge", "20", "general: 0.9", sees, "discreet")}${model("c/secret", "9")}${model("d/coder", "1", "coding: 0.85")}${model("c/painter", "0.2", "general: 1", "\n    output_modalities: [image]")}
`,
  });
});
beforeEach(() => upstream.script([chatAnswer({ role: "assistant", content: "Hi" })]));
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

let greetings = 0;
/** An easy request with a unique beginning: conversations with equal beginnings share a session, which keeps its model. */
const greeting = () => `hello ${++greetings}`;
const post = (body: object, path = "", key = installation.apiKey) =>
  fetch(`${installation.baseUrl}/responses${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify({ model: "service/auto", input: greeting(), ...body }),
  });
const plugin = (settings: object, id = "auto-router") => ({ plugins: [{ id, ...settings }] });
interface Told {
  readonly model: string;
  readonly service_metadata: {
    readonly strategy: string;
    readonly pipeline: readonly { readonly data: Readonly<Record<string, unknown>> }[];
    readonly [field: string]: unknown;
  };
}
const told = async (body: object, key = installation.apiKey) => (await (await post(body, "", key)).json()) as Told;
async function manage(path: string, body: object): Promise<unknown> {
  const response = await fetch(installation.baseUrl + path, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as { data?: object };
  expect({ ok: response.ok, answer }).toMatchObject({ ok: true });
  return { ...answer, ...answer.data };
}
const asked = () => upstream.requests.map(({ json }) => json["model"]);

test("the auto router chooses the cheapest good enough model by default, and the receipt names the method", async () => {
  const answer = await told({});
  expect(answer).toMatchObject({
    status: "completed",
    model: "a/small",
    service_metadata: { requested: "service/auto", strategy: "auto" },
  });
  expect(answer.service_metadata.pipeline).toEqual([
    {
      type: "plugin",
      name: "auto-router",
      summary: expect.stringMatching(/^a\/small for \w+$/),
      data: {
        task_type: expect.any(String),
        ranking: "prior",
        classifier: "local",
        classifier_skipped: "sure",
        confidence: expect.any(Number),
        difficulty: expect.any(Number),
        candidates: ["a/small", "b/middle", "b/large", "c/huge", "a/tiny"],
      },
    },
  ]);
});

test("a hard request gets a better model than an easy one, and a following 'go on' keeps this model", async () => {
  const proof = "Prove that every continuous function on a compact metric space is uniformly continuous.";
  const history = [
    { role: "user", content: proof },
    { role: "assistant", content: "Let us begin." },
    { role: "user", content: "go on" },
  ];
  expect((await told({})).model).toBe("a/small");
  expect((await told({ input: proof })).model).toBe("c/huge");
  expect((await told({ input: history })).model).toBe("c/huge");
});

describe.each([
  ["service/auto", "auto-router", "auto-beta-router"],
  ["service/auto-beta", "auto-beta-router", "auto-router"],
])("the router %s", (slug, id, other) => {
  test.each<[object, string, object]>([
    [{ cost_tier: "low" }, "a/tiny", { cost_tier: "low" }],
    [{ cost_tier: "max" }, "c/huge", { cost_tier: "max" }],
    [{ cost_tier: "high", enabled: false }, "a/small", {}],
    [{ cost_tier: "xhigh", cost_quality_tradeoff: 10 }, "b/large", { cost_tier: "xhigh" }],
    [{ cost_quality_tradeoff: 0 }, "b/large", { candidates: ["b/large", "b/middle", "a/small", "a/tiny"] }],
    [{ allowed_models: ["b/*"] }, "b/middle", {}],
    [{ allowed_models: ["c/*"], cost_tier: "xhigh" }, "c/huge", { cost_tier: "max", band_fallback: true }],
    [{ allowed_models: ["c/secret"], cost_tier: "low" }, "c/secret", { cost_tier: "max", band_fallback: true }],
    [{ allowed_models: ["own/*"] }, "own/echo", {}],
    [{ allowed_models: ["a/*"], excluded_models: ["*tiny"] }, "a/small", {}],
    [{ excluded_models: ["a/tiny", "a/tiny"] }, "a/small", {}],
  ])("chooses the model by the settings %j", async (settings, expected, data) => {
    const answer = await told({ model: slug, ...plugin(settings, id) });
    expect([answer.model, answer.service_metadata.strategy]).toEqual([expected, "auto"]);
    expect(answer.service_metadata.pipeline).toMatchObject([{ name: id, data }]);
  });

  test("ignores the settings of the other router", async () => {
    expect((await told({ model: slug, ...plugin({ cost_tier: "max" }, other) })).model).toBe("a/small");
  });

  test("names the serving model from the beginning of a stream", async () => {
    upstream.script([chatStream("Hi")]);
    const response = await post({ model: slug, stream: true, ...plugin({ cost_tier: "max" }, id) });
    const { events } = parseSse(await response.text());
    expect(events[0]).toMatchObject({ type: "response.created", response: { model: "c/huge" } });
    expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { model: "c/huge" } });
  });
});

test("the auto router ranks models by their score for the task, and excludes models without a score for it", async () => {
  const input = "Write a Python function that parses a CSV file and sorts the rows by date.";
  const answer = await told({ input, ...plugin({ cost_quality_tradeoff: 0 }) });
  expect(answer.model).toBe("d/coder");
  expect(answer.service_metadata.pipeline).toMatchObject([
    { data: { task_type: "code", candidates: ["d/coder", "b/large", "b/middle", "a/small", "a/tiny"] } },
  ]);
  const poem = await told({ input: "Write a poem about the sea.", ...plugin({ cost_quality_tradeoff: 0 }) });
  expect(poem.service_metadata.pipeline).toMatchObject([
    { data: { task_type: "write", candidates: ["b/large", "b/middle", "a/small", "a/tiny"] } },
  ]);
});

test("a failing model chosen by a router is followed by the next, at most twice", async () => {
  upstream.script([{ status: 500, chunks: [{ json: { error: { message: "no" } } }] }]);
  const before = asked().length;
  const response = await post(plugin({ cost_quality_tradeoff: 0 }));
  expect(response.status).toBe(502);
  expect([...new Set(asked().slice(before))]).toEqual(["b-large", "b-middle", "a-small"]);
});

test("a router chooses a model that can serve the request", async () => {
  const image = { type: "input_image", image_url: "data:image/png;base64,AAAA" };
  const answer = await told({ input: [{ role: "user", content: [image] }] });
  expect([answer.model, answer.service_metadata.pipeline[0]?.data["band_fallback"]]).toEqual(["b/middle", undefined]);
});

test("data policies, guardrails and context windows restrict the choice of a router", async () => {
  expect((await told({ provider: { zdr: true } })).model).toBe("c/huge");
  expect(
    (await told({ input: `hello ${"many words ".repeat(4_000)}`, ...plugin({ allowed_models: ["a/*"] }) })).model,
  ).toBe("a/small");
  const { id } = (await manage("/guardrails", { name: "few", allowed_models: ["b/large", "c/huge"] })) as {
    id: string;
  };
  const made = (await manage("/keys", { name: "guarded" })) as { key: string };
  await manage(`/guardrails/${id}/assignments/keys`, { key_hashes: [hashKey(made.key)] });
  expect((await told({}, made.key)).model).toBe("b/large");
  expect((await post(plugin({ allowed_models: ["a/*"] }), "", made.key)).status).toBe(403);
});

test("a session keeps the model chosen by a router as long as it is among the best", async () => {
  const session = { session_id: "one" };
  expect((await told({ ...session, ...plugin({ cost_tier: "high" }) })).model).toBe("b/middle");
  expect((await told({ ...session, ...plugin({ cost_quality_tradeoff: 0 }) })).model).toBe("b/middle");
  expect((await told({ ...session, ...plugin({ cost_tier: "max" }) })).model).toBe("c/huge");
  expect((await told({ session_id: "two", ...plugin({ cost_quality_tradeoff: 0 }) })).model).toBe("b/large");
});

describe("pin_model of a router", () => {
  const asking = (answeredBy: string | undefined, settings: object) => ({
    input: [
      { role: "user", content: greeting() },
      { role: "assistant", content: "Yes", model: "a/tiny" },
      { role: "user", content: "More" },
      { role: "assistant", content: "No", ...(answeredBy && { model: answeredBy }) },
      { role: "user", content: "Why?" },
    ],
    ...plugin({ pin_model: true, ...settings }),
  });

  test.each<[string | undefined, object, string, object]>([
    ["b/large", {}, "b/large", { pinned: "b/large" }],
    ["c/secret", { cost_tier: "low" }, "c/secret", { pinned: "c/secret" }],
    ["b/large:nitro", {}, "b/large", { pinned: "b/large" }],
    ["b/large", { excluded_models: ["b/*"] }, "a/small", { pin_ignored: true }],
    ["b/large", { allowed_models: ["a/*"] }, "a/tiny", { pin_ignored: true }],
    ["c/painter", {}, "a/small", { pin_ignored: true }],
    ["x/gone", {}, "a/small", { pin_ignored: true }],
  ])("keeps %s with %j", async (answeredBy, settings, expected, data) => {
    const answer = await told(asking(answeredBy, settings));
    expect([answer.model, answer.service_metadata.pipeline]).toMatchObject([expected, [{ data }]]);
  });

  test("has no effect without a named model, and is unknown to auto-beta", async () => {
    const answer = await told(asking(undefined, {}));
    expect(answer.model).toBe("a/small");
    expect(Object.keys(answer.service_metadata.pipeline[0]?.data ?? {})).not.toContain("pin_ignored");
    const { input } = asking("b/large", {});
    const beta = { model: "service/auto-beta", input, ...plugin({ pin_model: true }, "auto-beta-router") };
    expect((await told(beta)).model).toBe("a/small");
  });
});

test("the slug of a router may be in models, too, with variants", async () => {
  expect((await told({ model: "service/auto:floor" })).model).toBe("a/small");
  const answer = await told({ model: "a/small", models: ["service/auto-beta:floor"] });
  expect([answer.model, answer.service_metadata.strategy]).toEqual(["a/small", "auto"]);
});

test("a dry run with a router chooses a model without calling one", async () => {
  const before = asked().length;
  const response = await post({}, "/dry-run");
  expect([response.status, await response.json()]).toMatchObject([
    200,
    { service_metadata: { strategy: "auto", pipeline: [{ name: "auto-router" }] } },
  ]);
  expect(asked()).toHaveLength(before);
});

test("a router without candidates is 404, and wrong settings are 400 with their path", async () => {
  for (const settings of [{ excluded_models: ["*"] }, { allowed_models: ["x/*"] }]) {
    const none = await post(plugin(settings));
    expect([none.status, await none.json()]).toMatchObject([
      404,
      {
        error: {
          message: expect.stringContaining("service/auto"),
          metadata: { availability: { code: "no_endpoints" } },
        },
      },
    ]);
  }
  for (const wrong of [
    { cost_tier: "all" },
    { cost_quality_tradeoff: 11 },
    { allowed_models: Array<string>(1025).fill("a") },
    { excluded_models: Array<string>(1025).fill("a") },
    { pin_model: 1 },
    { enabled: "no" },
  ]) {
    const response = await post(plugin(wrong));
    const path = `plugins.0.${Object.keys(wrong)[0]}`;
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(path)]);
  }
});

test("a router without scores or prices may choose any model, and the built-in one only as the last resort", async () => {
  const config = (others: string) => `
providers: [{id: own, dialect: echo}, {id: acme, dialect: chat, base_url: "${upstream.url}/v1"}]
models:
  - {id: own/echo, endpoints: [{provider: own}]}${others}
`;
  const servedBy = async (others: string) => {
    const bare = await startInstallation({ config: config(others) });
    try {
      const response = await fetch(`${bare.baseUrl}/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${bare.apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "service/auto", input: "Hello" }),
      });
      return ((await response.json()) as Told).model;
    } finally {
      await bare.stop();
    }
  };
  expect(await servedBy("\n  - {id: z/real, endpoints: [{provider: acme}]}")).toBe("z/real");
  expect(await servedBy("")).toBe("own/echo");
});
