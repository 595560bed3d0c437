/**
 * The cost of a turn, wherever it is reported: the response, the last event of a stream, a broken stream, gRPC, and the
 * log.
 */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { validateEvents, validateResponse } from "../../support/answers/published.ts";
import { runTurn, turnRequest } from "../../support/answers/run-turn.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { type Upstream, chatAnswer, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

let acme: Upstream;
let installation: Installation;

beforeAll(async () => {
  acme = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, name: Acme, dialect: chat, base_url: "${acme.url}/v1"}
models:
  - id: acme/large
    endpoints: [{provider: acme, pricing: {prompt: "0.25", completion: "2.00", cache_read: "0.025", request: "0.001"}}]
  - {id: acme/unpriced, endpoints: [{provider: acme}]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await acme?.stop();
});

const post = (body: object) =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/large", input: "Hi", ...body }),
  });

const figures = { prompt_tokens: 1_000, completion_tokens: 100, prompt_tokens_details: { cached_tokens: 600 } };
const usage = {
  input_tokens: 1_000,
  input_tokens_details: { cached_tokens: 600, cache_write_tokens: 0 },
  output_tokens: 100,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 1_100,
  is_byok: false,
  cost: 0.001315,
  cost_details: {
    upstream_inference_cost: 0.001315,
    upstream_inference_input_cost: 0.001115,
    upstream_inference_output_cost: 0.0002,
  },
};

/** The log line of the turn, once it is written. */
const lineOf = async (requestId: string | null) =>
  JSON.parse(await installation.logged("inference-svc", `"request_id":"${requestId}"`, '"msg":"turn"')) as object;

test("the cost of a response is in its usage", async () => {
  acme.script([chatAnswer({ role: "assistant", content: "Hi" }, "stop", { usage: figures })]);
  const answer = await post({});
  const body = (await answer.json()) as object;
  expect(body).toMatchObject({ usage });
  expect(validateResponse(body)).toEqual([]);
  expect(await lineOf(answer.headers.get("x-request-id"))).toMatchObject({
    usage: { inputTokens: 1_000, outputTokens: 100 },
    cost_usd: 0.001315,
  });
});

test("the cost of a stream is in its last event", async () => {
  acme.script([
    {
      chunks: [
        { sse: [chatChunk({ content: "Hi" }), chatChunk({}, "stop"), { choices: [], usage: figures }, "[DONE]"] },
      ],
    },
  ]);
  const { events } = parseSse(await (await post({ stream: true })).text());
  expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { usage } });
  expect(validateEvents(events)).toEqual([]);
});

test("the cost is left out without a known price", async () => {
  acme.script([chatAnswer({ role: "assistant", content: "Hi" }, "stop", { usage: figures })]);
  const answer = await post({ model: "acme/unpriced" });
  const { cost, cost_details, ...others } = usage;
  expect([cost, cost_details]).toBeDefined();
  expect(((await answer.json()) as { usage: object }).usage).toEqual(others);
  expect(await lineOf(answer.headers.get("x-request-id"))).not.toHaveProperty("cost_usd");
});

/** Sends forty characters, and breaks off once they were read. */
function breakAfterward(): () => void {
  let release = () => {};
  const after = new Promise<void>((resolve) => {
    release = resolve;
  });
  acme.script([{ chunks: [{ sse: [chatChunk({ content: "z".repeat(40) })] }, { bytes: "", after }], cut: true }]);
  return release;
}

test("the cost of a broken stream is in the failure, marked as estimated", async () => {
  const release = breakAfterward();
  const answer = await post({ stream: true });
  release();
  const { events } = parseSse(await answer.text());
  expect(events.at(-1)).toMatchObject({
    type: "response.failed",
    response: {
      usage: {
        input_tokens: 6,
        output_tokens: 10,
        is_estimated: true,
        cost: 0.0010215,
        cost_details: { upstream_inference_input_cost: 0.0010015, upstream_inference_output_cost: 0.00002 },
      },
    },
  });
  expect(validateEvents(events)).toEqual([]);
  expect(await lineOf(answer.headers.get("x-request-id"))).toMatchObject({
    status: 502,
    usage: { estimated: true },
    cost_usd: 0.0010215,
  });
});

test("the cost of a turn over gRPC is in its end event, whole and broken", async () => {
  const client = dial(`127.0.0.1:${installation.ports.inference}`);
  try {
    const cost = { inputPicoUsd: 1_115_000_000n, outputPicoUsd: 200_000_000n, serverToolsPicoUsd: 0n };
    acme.script([chatAnswer({ role: "assistant", content: "Hi" }, "stop", { usage: figures })]);
    const whole = runTurn(client, installation.apiKey, turnRequest("acme/large", "Hi"));
    await whole.over;
    expect(whole.batches.flat().at(-1)?.event).toMatchObject({ case: "end", value: { usage: { cost } } });
    const release = breakAfterward();
    const broken = runTurn(client, installation.apiKey, turnRequest("acme/large", "Hi", { stream: true }));
    await broken.begun;
    release();
    await expect(broken.over).rejects.toThrow("Provider connection lost");
    expect(broken.batches.flat().at(-1)?.event).toMatchObject({
      case: "usage",
      value: { outputTokens: 10, estimated: true, cost: { outputPicoUsd: 20_000_000n } },
    });
  } finally {
    client.close();
  }
});
