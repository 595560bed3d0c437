/** Providers called through packages of the AI SDK: an installed package serves, a missing one is left out of the start. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { checkLadder } from "../../support/answers/ladder-rules.ts";
import { root } from "../../support/processes.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { type Upstream, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

const config = (name: string, settings: string) => `
providers:
  - {id: far, dialect: "ai-sdk:${name}", ${settings}}
models:
  - {id: far/model, endpoints: [{provider: far, upstream_model: large}]}
`;

describe.each([
  ["version 3", "@ai-sdk/mistral"],
  ["version 4", "ai-sdk-mistral-4"],
])("an AI SDK provider package with %s of the interface", (version, name) => {
  let upstream: Upstream;
  let installation: Installation;

  beforeAll(async () => {
    const usage = { prompt_tokens: 12, completion_tokens: 2, total_tokens: 14 };
    const chunks = [chatChunk({ content: "Bon" }), chatChunk({ content: "jour" }), chatChunk({}, "stop", { usage })];
    upstream = await startUpstream([{ chunks: [{ sse: [...chunks, "[DONE]"] }] }]);
    installation = await startInstallation({ config: config(name, `base_url: "${upstream.url}/v1", api_keys: [k]`) });
  });
  afterAll(async () => {
    await installation?.stop();
    await upstream?.stop();
  });

  const post = (body: object) =>
    fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${installation.apiKey}`,
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

  test("answers with a stream and without", async () => {
    expect(checkLadder(parseSse(await (await post({ stream: true })).text()), true)).toMatchObject(answer);
    expect(await (await post({})).json()).toMatchObject(answer);
    expect(upstream.requests.map(({ path }) => path)).toEqual(["/v1/chat/completions", "/v1/chat/completions"]);
  });

  test("lists the settings that it does not send in the receipt", async () => {
    const response = await post({ reasoning: { effort: "low", max_tokens: 100 }, top_k: 3 });
    const reasoning = version === "version 3" ? "reasoning" : "reasoning.max_tokens";
    expect(await response.json()).toMatchObject({
      service_metadata: { params: { not_sent: [{ path: reasoning }, { path: "top_k" }] } },
    });
  });
});

test("a provider whose package cannot be loaded is left out, and the start names the package to install", async () => {
  const installation = await startInstallation({
    config: `
providers:
  - {id: sluice, dialect: echo}
  - {id: far, dialect: "ai-sdk:@ai-sdk/nobody-has-this", api_keys: [k]}
models:
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
  - {id: far/model, endpoints: [{provider: far}]}
`,
  });
  try {
    const sendRequest = async (model: string) => {
      const answer = await fetch(`${installation.baseUrl}/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ model, input: "Hi" }),
      });
      await answer.text();
      return answer.status;
    };
    expect([await sendRequest("sluice/echo"), await sendRequest("far/model")]).toEqual([200, 404]);
    const install = `npm install --prefix ${join(installation.dataDir, "packages")} @ai-sdk/nobody-has-this`;
    await installation.logged("inference-svc", `package @ai-sdk/nobody-has-this is not installed; ${install}`);
  } finally {
    await installation.stop();
  }
});

test("a provider package installed next to the data is used, and the checkout does not change", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "sluice-test-packages-"));
  const upstream = await startUpstream([{ chunks: [{ sse: [chatChunk({ content: "Bonjour" }, "stop"), "[DONE]"] }] }]);
  // The layout of npm install --prefix: the package in node_modules of that folder, next to its
  // dependencies.
  mkdirSync(join(dataDir, "packages/node_modules/@ai-sdk"), { recursive: true });
  symlinkSync(join(root, "node_modules/ai-sdk-mistral-4"), join(dataDir, "packages/node_modules/@ai-sdk/mistral"));
  const installation = await startInstallation({
    dataDir,
    config: config("@ai-sdk/mistral", `base_url: "${upstream.url}/v1", api_keys: [k]`),
  });
  try {
    const answer = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "far/model", input: "Hi" }),
    });
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("Bonjour")]);
    expect(upstream.requests[0]?.headers["user-agent"]).toContain("ai-sdk-mistral/4.");
  } finally {
    await installation.stop();
    await upstream.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
});
