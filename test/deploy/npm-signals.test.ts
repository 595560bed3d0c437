/** How signals end `npm start`. npm passes them on to the shell of its script, and a terminal sends them to every process. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../support/installation.ts";
import { eventually, programIn, root } from "../support/processes.ts";
import { type Upstream, chatChunk, startUpstream } from "../support/providers/upstream.ts";

let folder: string;
let upstream: Upstream;
let installation: Installation;

/** A project with the npm script of Sluice; its program is the supervisor without the preparation of the checkout. */
function writeProject(): void {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: { start: string } };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ scripts: { start: scripts.start } }));
  mkdirSync(join(folder, "deploy/local"), { recursive: true });
  const program = `await import(${JSON.stringify(programIn(root, "deploy/local"))});\n`;
  writeFileSync(join(folder, "deploy/local/start.mjs"), program);
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluice-test-npm-"));
  writeProject();
  upstream = await startUpstream([{ chunks: [{ sse: [chatChunk({ content: "begun" })] }], hang: true }]);
  installation = await startInstallation({
    prefix: ["/bin/sh", "-c", `cd "${folder}" && exec npm start`],
    environment: { SLUICE_DRAIN_LIMIT_MS: "240000", npm_config_update_notifier: "false" },
    config: `
providers: [{id: acme, dialect: chat, base_url: "${upstream.url}/v1"}]
models: [{id: acme/large, endpoints: [{provider: acme}]}]
`,
  });
});
afterEach(async () => {
  await installation?.stop();
  await upstream?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function openStream(): Promise<Response> {
  const asked = upstream.nextRequest();
  const response = await fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/large", input: "x", stream: true }),
  });
  expect(response.status).toBe(200);
  await asked;
  return response;
}

test("simultaneous signals count as one and let requests finish; a later signal to npm ends them", async () => {
  const response = await openStream();
  const pid = installation.pids()["supervisor"] as number;
  process.kill(pid, "SIGINT");
  process.kill(pid, "SIGTERM");
  await eventually(() => installation.output().includes("stopping once open requests have finished"));
  // Longer than the gap between signals of one key press.
  await delay(600);
  expect(upstream.openSockets).toBe(1);
  const closed = upstream.nextClose();
  await Promise.all([closed, installation.stop()]);
  await response.text().catch(() => "");
});
