/** Providers that the house asks through packages of the AI SDK: one that is installed serves, one that is not ends the start. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type House, startHouse } from "../support/house.ts";
import { checkLadder } from "../support/ladder-rules.ts";
import { parseSse } from "../support/sse.ts";
import { type Upstream, chatChunk, startUpstream } from "../support/upstream.ts";

const config = (name: string, settings: string) => `
providers:
  - {id: far, dialect: "ai-sdk:${name}", ${settings}}
models:
  - {id: far/model, endpoints: [{provider: far, upstream_model: large}]}
`;

describe("a package that is installed", () => {
  let upstream: Upstream;
  let house: House;

  beforeAll(async () => {
    const usage = { prompt_tokens: 12, completion_tokens: 2, total_tokens: 14 };
    const chunks = [chatChunk({ content: "Bon" }), chatChunk({ content: "jour" }), chatChunk({}, "stop", { usage })];
    upstream = await startUpstream([{ chunks: [{ sse: [...chunks, "[DONE]"] }] }]);
    house = await startHouse({ config: config("@ai-sdk/mistral", `base_url: "${upstream.url}/v1", api_keys: [k]`) });
  });
  afterAll(async () => {
    await house?.stop();
    await upstream?.stop();
  });

  const post = (body: object) =>
    fetch(`${house.baseUrl}/responses`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${house.apiKey}`,
        "content-type": "application/json",
        "x-service-metadata": "enabled",
      },
      body: JSON.stringify({ model: "far/model", input: "Hi", ...body }),
    });
  const answer = {
    status: "completed",
    model: "far/model",
    output: [{ type: "message", content: [{ type: "output_text", text: "Bonjour" }] }],
    usage: { input_tokens: 12, output_tokens: 2 },
  };

  test("serves, with a stream and without", async () => {
    expect(checkLadder(parseSse(await (await post({ stream: true })).text()), true)).toMatchObject(answer);
    expect(await (await post({})).json()).toMatchObject(answer);
    expect(upstream.requests.map(({ path }) => path)).toEqual(["/v1/chat/completions", "/v1/chat/completions"]);
  });

  test("says in the receipt what it was not told", async () => {
    const response = await post({ reasoning: { effort: "low" }, top_k: 3 });
    expect(await response.json()).toMatchObject({
      service_metadata: { params: { not_sent: [{ path: "reasoning" }, { path: "top_k" }] } },
    });
  });
});

test("a package that is not installed ends the start, and says what would install it", async () => {
  await expect(startHouse({ config: config("@ai-sdk/nobody-has-this", "api_keys: [k]") })).rejects.toThrow(
    "provider far: package @ai-sdk/nobody-has-this is not installed; npm install @ai-sdk/nobody-has-this",
  );
});
