/** A process at the end of its drain time: open streams get an error event and end in order. e2e/one-process.test.ts does the same with one process. */
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { type Upstream, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

let acme: Upstream;
let installation: Installation;

beforeEach(async () => {
  acme = await startUpstream([{ chunks: [{ sse: [chatChunk({ content: "begun" })] }], hang: true }]);
  installation = await startInstallation({
    inferenceReplicas: 1,
    environment: { SLUICE_DRAIN_LIMIT_MS: "6000" },
    config: `
providers: [{id: acme, dialect: chat, base_url: "${acme.url}/v1"}]
models: [{id: acme/large, endpoints: [{provider: acme}]}]
`,
  });
});
afterEach(async () => {
  await installation?.stop();
  await acme?.stop();
});

test.each(["gateway", "inference-svc"])(
  "a stream longer than the drain of %s ends with response.failed",
  async (name) => {
    const response = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "acme/large", input: "x", stream: true }),
    });
    expect(response.status).toBe(200);
    const closed = acme.nextClose();
    process.kill(installation.pids()[name] as number, "SIGTERM");
    const { events, done } = parseSse(await response.text());
    expect([events.at(-1)?.type, done]).toEqual(["response.failed", true]);
    await closed;
    await eventually(() => installation.output().includes(`${name} ended: `));
    expect(installation.output()).toContain(`${name} ended: exit code 0`);
  },
);
