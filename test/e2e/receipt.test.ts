/** The receipt, and the bodies sent to providers: samples 12 and 14 of the contract, over two providers. */
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { maskVolatile, sampleJson, sampleStream } from "../support/contract.ts";
import { type Installation, startInstallation } from "../support/installation.ts";
import { parseSse } from "../support/answers/sse.ts";
import { type Upstream, chatAnswer, chatChunk, startUpstream } from "../support/providers/upstream.ts";

let acme: Upstream;
let borealis: Upstream;
let installation: Installation;

beforeAll(async () => {
  acme = await startUpstream();
  borealis = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, name: Acme, dialect: chat, base_url: "${acme.url}/v1", api_keys: [upstream-key]}
  - {id: borealis, name: Borealis, dialect: chat, base_url: "${borealis.url}/v1"}
models:
  - id: acme/large-2
    endpoints:
      - {provider: acme, upstream_model: large-2}
      - {provider: borealis, upstream_model: large, supported_parameters: [temperature]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await acme?.stop();
  await borealis?.stop();
});

const failure = { status: 503, chunks: [{ json: { error: { message: "no" } } }] };
const hello = {
  chunks: [
    {
      sse: [
        chatChunk({ content: "Hello." }),
        chatChunk({}, "stop"),
        { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } },
        "[DONE]",
      ],
    },
  ],
};
beforeEach(() => {
  acme.script([failure]);
  borealis.script([hello]);
});

const post = (body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

const bodyOf = (upstream: Upstream) => ({ echo_upstream_body: upstream.requests.at(-1)?.json });

test("the receipt has the sent body before everything else, as in sample 12", async () => {
  acme.script([hello]);
  const answer = parseSse(await (await post(sampleJson("12-debug-stream.request.json"))).text());
  const [debug, ...others] = answer.events;
  const [wanted, ...rest] = sampleStream("12-debug-stream.sse").events;
  // Each server has its own fields for the token limit and for usage.
  expect(debug).toEqual({ ...wanted, debug: bodyOf(acme) });
  expect(bodyOf(acme)).toMatchObject({
    echo_upstream_body: { model: "large-2", messages: [{ role: "user", content: "Hi" }], stream: true },
  });
  expect(maskVolatile(others)).toEqual(maskVolatile(rest));
});

test("the receipt has a body for each tried provider, before the response is created", async () => {
  const sendRequest = { ...(sampleJson("12-debug-stream.request.json") as object), temperature: 1, top_p: 0.5 };
  const answer = parseSse(await (await post(sendRequest)).text());
  expect(answer.events.slice(0, 3)).toMatchObject([
    { type: "response.debug", sequence_number: 0, debug: bodyOf(acme) },
    { type: "response.debug", sequence_number: 1, debug: bodyOf(borealis) },
    { type: "response.created", sequence_number: 2 },
  ]);
  expect(bodyOf(acme).echo_upstream_body).toMatchObject({ model: "large-2", top_p: 0.5 });
  expect(bodyOf(borealis).echo_upstream_body).toMatchObject({ model: "large", temperature: 1 });
  expect(bodyOf(borealis).echo_upstream_body).not.toHaveProperty("top_p");
});

test("the receipt of an answer by the second provider has the form of sample 14", async () => {
  const usage = { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 };
  borealis.script([chatAnswer({ role: "assistant", content: "Done." }, "stop", { usage })]);
  const answer = (await (
    await post({ model: "acme/large-2", input: "Do it." }, { "x-service-metadata": "enabled" })
  ).json()) as { service_metadata: { params: object; generation_time: unknown } };
  const wanted = sampleJson("14-service-metadata.response.json") as {
    service_metadata: object;
  };
  const { params, generation_time } = answer.service_metadata;
  expect(maskVolatile(answer)).toEqual(
    maskVolatile({
      ...wanted,
      service_metadata: {
        ...wanted.service_metadata,
        generation_time,
        // The sample's parameters come from features not requested here.
        params,
        pipeline: [],
      },
    }),
  );
  expect([params, generation_time]).toEqual([{ policy_generation: expect.any(Number) }, expect.any(Number)]);
});

test("the receipt names fields not sent to the answering provider", async () => {
  const sendRequest = {
    model: "acme/large-2",
    input: "Hi",
    stream: true,
    temperature: 1,
    top_p: 0.5,
    text: { verbosity: "low" },
  };
  const answer = parseSse(await (await post(sendRequest, { "x-service-metadata": "enabled" })).text());
  expect(answer.events.at(-1)).toMatchObject({
    response: {
      service_metadata: {
        params: {
          not_sent: [
            { path: "top_p", reason: "the endpoint does not support it" },
            { path: "text.verbosity", reason: "the endpoint does not support it" },
          ],
        },
      },
    },
  });
});

const misspelled = { model: "acme/large-2", input: "Hi", temprature: 0.2, maxOutputTokens: 9, flavour: 7, é: 1 };
const warning =
  "unknown field temprature; did you mean temperature?, " +
  "unknown field maxOutputTokens; did you mean max_output_tokens?, unknown field flavour, unknown field ?";
const unknownFields = [
  { name: "temprature", did_you_mean: "temperature" },
  { name: "maxOutputTokens", did_you_mean: "max_output_tokens" },
  { name: "flavour" },
  { name: "?" },
];
const enabled = { "x-service-metadata": "enabled" };

test("unknown fields are ignored, and named in the receipt and in a header", async () => {
  acme.script([hello]);
  const whole = await post(misspelled, enabled);
  expect(whole.status).toBe(200);
  expect(whole.headers.get("x-sluice-warning")).toBe(warning);
  expect(await whole.json()).toMatchObject({ service_metadata: { params: { unknown_fields: unknownFields } } });

  acme.script([hello]);
  const stream = await post({ ...misspelled, stream: true }, enabled);
  expect(stream.headers.get("x-sluice-warning")).toBe(warning);
  const { events } = parseSse(await stream.text());
  expect(events.at(-1)).toMatchObject({
    response: { service_metadata: { params: { unknown_fields: unknownFields } } },
  });
});

test("unknown fields are named within items, tools and settings too, also in a repeated conversation", async () => {
  const words = "Titan is the largest moon of Saturn. ".repeat(40);
  const input = [
    { type: "message", role: "user", content: [{ type: "input_text", text: words, zz: 1 }], yy: null },
    { type: "message", role: "assistant", content: words, zz: 1 },
    { type: "message", role: "user", content: "And of Jupiter?" },
  ];
  const tools = [
    { type: "function", name: "f", parameters: { type: "object" }, zz: 1 },
    { type: "web_search", zz: 1 },
  ];
  const body = { model: "acme/large-2", tools, reasoning: { effort: "low", zz: 1 } };
  const paths = ["tools.0.zz", "tools.1.zz", "reasoning.zz", "input.0.content.0.zz", "input.1.zz"];
  for (const asked of [input.slice(0, 1), input, input]) {
    acme.script([hello]);
    const response = await post({ ...body, input: asked }, enabled);
    const answer = (await response.json()) as {
      service_metadata: { params: { unknown_fields: object[] } };
    };
    const named = asked.length === 1 ? paths.slice(0, -1) : paths;
    expect(answer.service_metadata.params.unknown_fields).toEqual(named.map((name) => ({ name })));
    expect(response.headers.get("x-sluice-warning")).toBe(named.map((name) => `unknown field ${name}`).join(", "));
  }
});

test("unknown fields are named by a dry run and by a refusal", async () => {
  const dryRun = await fetch(`${installation.baseUrl}/responses/dry-run`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(misspelled),
  });
  expect(dryRun.status).toBe(200);
  expect(dryRun.headers.get("x-sluice-warning")).toBe(warning);
  expect(await dryRun.json()).toMatchObject({ service_metadata: { params: { unknown_fields: unknownFields } } });

  const refusal = await post({ ...misspelled, model: "acme/unknown" });
  expect(refusal.status).toBeGreaterThanOrEqual(400);
  expect(refusal.headers.get("x-sluice-warning")).toBe(warning);
});

test("a receipt repeats at most 16 unknown names, each of at most 64 characters", async () => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`${index}${"x".repeat(100)}`, index]));
  acme.script([hello]);
  const answer = await post({ model: "acme/large-2", input: "Hi", ...many }, enabled);
  const said = (answer.headers.get("x-sluice-warning") ?? "").split(", ");
  expect(said).toHaveLength(16);
  expect(said.every((each) => each.length === "unknown field ".length + 64)).toBe(true);

  acme.script([hello]);
  const plain = await post({ model: "acme/large-2", input: "Hi" }, enabled);
  expect(plain.headers.has("x-sluice-warning")).toBe(false);
  expect(await plain.json()).toMatchObject({ service_metadata: { params: { policy_generation: expect.any(Number) } } });
});
