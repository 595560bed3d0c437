import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { maskVolatile, sampleJson, sampleStream } from "../../support/contract.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { type Reply, type Upstream, startUpstream } from "../../support/providers/upstream.ts";

type Json = Record<string, unknown>;

/** Events written by the gateway; the terminal event has the rest of the answer. */
const ofTheGateway = new Set(["response.created", "response.in_progress"]);

/** The provider's stream behind the sample, with different sequence numbers and model name. */
function providerStream(name: string): Reply {
  const events = sampleStream(name).events.map((event) => ({
    ...event,
    sequence_number: event.sequence_number + 100,
    ...(typeof event["output_index"] === "number" && { output_index: event["output_index"] * 2 }),
  }));
  return {
    chunks: [
      {
        sse: [
          { type: "response.created", response: {} },
          ...events.filter(({ type }) => !ofTheGateway.has(type)),
          "[DONE]",
        ],
      },
    ],
  };
}

describe("the samples of the contract with tools of the provider, over HTTP", () => {
  let upstream: Upstream;
  let installation: Installation;

  beforeAll(async () => {
    upstream = await startUpstream();
    installation = await startInstallation({
      config: `
providers:
  - id: acme
    dialect: responses
    base_url: "${upstream.url}/v1"
    native_tools: [web_search, apply_patch, "service:datetime", "service:web_search", "service:fusion"]
models:
  - {id: acme/large-2, endpoints: [{provider: acme, upstream_model: large-2}]}
`,
    });
  });
  afterAll(async () => {
    await installation?.stop();
    await upstream?.stop();
  });

  const post = (body: unknown) =>
    fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });

  async function expectStream(name: string, request: Json): Promise<void> {
    upstream.script([providerStream(name)]);
    const response = await post(request);
    const answer = parseSse(await response.text());
    const wanted = sampleStream(name);
    expect(answer.events.map((event) => event.type)).toEqual(wanted.events.map((event) => event.type));
    expect(maskVolatile(answer.events)).toEqual(maskVolatile(wanted.events));
    expect(answer.done).toBe(true);
    const { model: _, ...asked } = request;
    expect(upstream.requests.at(-1)?.json).toMatchObject({
      ...asked,
      input: [{ content: request["input"] }],
      model: "large-2",
    });
  }

  async function expectObject(name: string, request: Json, reply: Reply): Promise<void> {
    upstream.script([reply]);
    const response = await post(request);
    expect(maskVolatile(await response.json())).toEqual(maskVolatile(sampleJson(name)));
  }

  test("09: a web search gives the items of the sample", async () => {
    await expectStream("09-web-search-stream.sse", sampleJson("09-web-search-stream.request.json") as Json);
  });

  test("10: the service's tools give the items of the sample", async () => {
    const answer = sampleJson("10-service-tools.response.json");
    await expectObject("10-service-tools.response.json", sampleJson("10-service-tools.request.json") as Json, {
      chunks: [{ json: answer }],
    });
    expect(upstream.requests.at(-1)?.json).toMatchObject({
      tools: [{ type: "service:datetime", parameters: { timezone: "Europe/Oslo" } }, { type: "service:web_search" }],
      max_tool_calls: 6,
    });
  });

  test("11: fusion gives the items of the sample", async () => {
    const request = sampleJson("11-fusion-stream.request.json") as Json;
    // The sample repeats the tool choice of the request as auto though it was required; Sluice repeats it unchanged.
    const { tool_choice: _, ...unforced } = request;
    await expectStream("11-fusion-stream.sse", unforced);
    upstream.script([providerStream("11-fusion-stream.sse")]);
    await (await post(request)).text();
    expect(upstream.requests.at(-1)?.json).toMatchObject({ tool_choice: "required" });
  });

  test("12: the body sent to the provider equals the sample", async () => {
    upstream.script([providerStream("12-debug-stream.sse")]);
    const response = await post(sampleJson("12-debug-stream.request.json"));
    const [debug, ...answer] = parseSse(await response.text()).events;
    const [wanted, ...rest] = sampleStream("12-debug-stream.sse").events;
    expect([debug?.type, debug?.sequence_number]).toEqual([wanted?.type, wanted?.sequence_number]);
    // The sample's provider has the chat format.
    expect(debug?.["debug"]).toEqual({ echo_upstream_body: upstream.requests.at(-1)?.json });
    expect(maskVolatile(answer)).toEqual(maskVolatile(rest));
  });

  test("16: a custom tool and a patch give the items of the sample", async () => {
    const tools = [
      { type: "custom", name: "run_sql", description: "Runs SQL", format: { type: "text" } },
      { type: "apply_patch" },
    ];
    await expectStream("16-custom-and-patch.sse", { model: "acme/large-2", input: "x", tools, stream: true });
  });

  test("17: an answer by a schema has the form of the sample", async () => {
    // The answer is valid JSON, so the request is sent without the plugin for healing.
    const { plugins: _, ...request } = sampleJson("17-structured.request.json") as Json;
    await expectObject("17-structured.response.json", request, {
      chunks: [{ json: sampleJson("17-structured.response.json") }],
    });
    expect(upstream.requests.at(-1)?.json).toMatchObject({ text: request["text"] as Json });
  });

  test("tools that the provider does not know are refused by name", async () => {
    const response = await post({
      model: "acme/large-2",
      input: "x",
      tools: [
        { type: "function", name: "f", parameters: null },
        { type: "file_search", vector_store_ids: ["vs"] },
      ],
    });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      {
        error: {
          message: expect.stringMatching(/^tools\.1\.vector_store_ids\.0: .*file_search\.stores$/),
          metadata: { param: "tools.1.vector_store_ids.0" },
        },
      },
    ]);
  });

  test("reasoning of another provider is left out, and the receipt has a note", async () => {
    upstream.script([{ chunks: [{ json: sampleJson("17-structured.response.json") }] }]);
    const input = [
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "b64", format: "openai-responses-v1" },
      { role: "user", content: "x" },
    ];
    const response = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${installation.apiKey}`,
        "content-type": "application/json",
        "x-service-metadata": "enabled",
      },
      body: JSON.stringify({ model: "acme/large-2", input }),
    });
    expect(await response.json()).toMatchObject({
      service_metadata: {
        params: { not_sent: [{ path: "input.0", reason: "the provider reads reasoning of format unknown only" }] },
      },
    });
    expect(upstream.requests.at(-1)?.json["input"]).toHaveLength(1);
  });
});
