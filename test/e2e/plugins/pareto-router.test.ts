/** service/pareto-code over HTTP: the chosen model, the receipt, and failures without a candidate. */
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Upstream, chatAnswer, chatStream, startUpstream } from "../../support/providers/upstream.ts";
import { parseSse } from "../../support/answers/sse.ts";

let upstream: Upstream;
let installation: Installation;
const model = (id: string, price: string, coding?: number, more = "") => `
  - id: ${id}${more}
    endpoints: [{provider: acme, upstream_model: ${id.replace("/", "-")}, pricing: {prompt: "${price}", completion: "1"}}]
    ${coding === undefined ? "" : `scores: {coding: ${coding}}`}`;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers: [{id: acme, dialect: chat, base_url: "${upstream.url}/v1"}]
models:${model("a/best", "9", 0.9)}${model("a/good", "3", 0.8)}${model("a/seer", "1", 0.7, "\n    input_modalities: [text, image]")}${model("a/poor", "0.5", 0.1)}${model("a/mute", "0.1")}
`,
  });
});
beforeEach(() => upstream.script([chatAnswer({ role: "assistant", content: "Hi" })]));
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const post = (body: object, path = "") =>
  fetch(`${installation.baseUrl}/responses${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${installation.apiKey}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify({ model: "service/pareto-code", input: `${Math.random()}`, ...body }),
  });
const plugin = (settings: object) => ({ plugins: [{ id: "pareto-router", ...settings }] });
interface Told {
  readonly model: string;
  readonly service_metadata: { readonly pipeline: readonly object[]; readonly [field: string]: unknown };
}
const told = async (body: object) => (await (await post(body)).json()) as Told;
const asked = () => upstream.requests.map(({ json }) => json["model"]);

test("the Pareto router chooses the best tier by default, and the receipt names the method", async () => {
  const answer = await told({});
  expect(answer).toMatchObject({
    status: "completed",
    model: "a/best",
    service_metadata: {
      requested: "service/pareto-code",
      strategy: "pareto",
      endpoints: { available: [{ model: "a/best", selected: true }] },
    },
  });
  expect(answer.service_metadata.pipeline).toEqual([
    {
      type: "plugin",
      name: "pareto-router",
      summary: "a/best, of the high tier",
      data: { tier: "high", frontier_size: 4, price_source: "prompt", candidates: ["a/best"] },
    },
  ]);
});

test.each([
  [{ min_coding_score: 0.1 }, "a/good"],
  [{ min_coding_score: 0.1, enabled: false }, "a/best"],
  [{ max_price: 3 }, "a/good"],
  [{ max_price: 2, price_source: "weighted_avg" }, "a/seer"],
])("the Pareto router chooses the model by the settings %j", async (settings, expected) => {
  expect((await told(plugin(settings))).model).toBe(expected);
});

test("a failing model of the Pareto router is followed by the next, at most twice", async () => {
  upstream.script([{ status: 500, chunks: [{ json: { error: { message: "no" } } }] }]);
  const before = asked().length;
  const response = await post(plugin({ max_price: 9 }));
  expect(response.status).toBe(502);
  expect([...new Set(asked().slice(before))]).toEqual(["a-best", "a-good", "a-seer"]);
});

test("the Pareto router chooses a model that can serve the request", async () => {
  const image = { type: "input_image", image_url: "data:image/png;base64,AAAA" };
  const answer = await told({ input: [{ role: "user", content: [image] }], ...plugin({ max_price: 9 }) });
  expect(answer.model).toBe("a/seer");
});

test("a session keeps the Pareto router's model as long as it is among the best", async () => {
  const session = { session_id: "one" };
  expect((await told({ ...session, ...plugin({ max_price: 3 }) })).model).toBe("a/good");
  expect((await told({ ...session, ...plugin({ max_price: 9 }) })).model).toBe("a/good");
  expect((await told({ ...session, ...plugin({ max_price: 1 }) })).model).toBe("a/seer");
  expect((await told({ session_id: "two", ...plugin({ max_price: 9 }) })).model).toBe("a/best");
});

test("a stream by the Pareto router names the serving model from its beginning", async () => {
  upstream.script([chatStream("Hi")]);
  const { events } = parseSse(await (await post({ stream: true })).text());
  expect(events[0]).toMatchObject({ type: "response.created", response: { model: "a/best" } });
  expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { model: "a/best" } });
});

test("the slug of the Pareto router may be in models, too, with variants", async () => {
  expect((await told({ model: "service/pareto-code:nitro" })).model).toBe("a/best");
  const answer = await told({ model: "a/mute", models: ["service/pareto-code:floor"] });
  expect([answer.model, answer.service_metadata["strategy"]]).toEqual(["a/mute", "pareto"]);
});

test("a dry run with the Pareto router chooses a model without calling one", async () => {
  const before = asked().length;
  const response = await post({}, "/dry-run");
  expect([response.status, await response.json()]).toMatchObject([
    200,
    { service_metadata: { strategy: "pareto", pipeline: [{ name: "pareto-router" }] } },
  ]);
  expect(asked()).toHaveLength(before);
});

test("the Pareto router is 404 without a candidate at the price, and 400 with the path of wrong settings", async () => {
  const none = await post(plugin({ max_price: 0.01 }));
  expect([none.status, await none.json()]).toMatchObject([
    404,
    { error: { message: expect.stringContaining("0.01 USD"), metadata: { availability: { code: "no_endpoints" } } } },
  ]);
  for (const wrong of [{ max_price: -1 }, { min_coding_score: 1.1 }, { price_source: "guess" }]) {
    const response = await post(plugin(wrong));
    const path = `plugins.0.${Object.keys(wrong)[0]}`;
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(path)]);
  }
});
