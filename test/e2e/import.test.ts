/** A configuration and keys of LiteLLM in a running Sluice: programs keep the names of their models, and keys their limits. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { runCli } from "@sluice/admin-svc/cli.js";
import { type Installation, startInstallation } from "../support/installation.ts";
import { type Upstream, chatAnswer, startUpstream } from "../support/providers/upstream.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-test-import-"));
const config = join(folder, "config.yaml");
let vllm: Upstream;
let installation: Installation;

/** @returns the file that the import wrote */
async function importConfig(): Promise<string> {
  const out = join(folder, "sluice.yaml");
  const silent = { write: () => true };
  expect(await runCli(["import", "litellm", config, "--out", out], { stdout: silent, stderr: silent })).toBe(0);
  return readFileSync(out, "utf8");
}

beforeAll(async () => {
  vllm = await startUpstream();
  const params = (model: string) =>
    `{model: hosted_vllm/${model}, api_base: "${vllm.url}/v1", api_key: sk-of-the-file}`;
  writeFileSync(
    config,
    `model_list:
  - {model_name: My Chat, litellm_params: ${params("served-chat")}}
  - {model_name: other, litellm_params: ${params("served-other")}}
router_settings: {model_group_alias: {gpt-4: My Chat}}
`,
  );
  installation = await startInstallation({
    config: await importConfig(),
    environment: { HOSTED_VLLM_KEY: "sk-of-the-file" },
  });
});
afterAll(async () => {
  await installation?.stop();
  await vllm?.stop();
  rmSync(folder, { recursive: true });
});

async function ask(key: string, model: string) {
  const response = await fetch(`${installation.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] }),
  });
  return { status: response.status, body: await response.text() };
}

test("a new key of a team imported from LiteLLM may call the team's models by their old names", async () => {
  const teams = join(folder, "teams.json");
  const keys = join(folder, "keys.json");
  writeFileSync(teams, JSON.stringify([{ team_id: "t-1", team_alias: "research", max_budget: 5 }]));
  writeFileSync(
    keys,
    JSON.stringify({ keys: [{ token: "hash", key_alias: "bot", team_id: "t-1", models: ["gpt-4"] }] }),
  );
  const argv = ["import", "litellm", config, "--keys", keys, "--teams", teams, "--write", "--json"];
  const { stdout } = await installation.admin(...argv);
  const { plan } = JSON.parse(stdout) as { plan: { record: string; key?: string }[] };
  const key = plan.find(({ record }) => record === "key")?.key ?? "";
  for (const name of ["My Chat", "gpt-4", "My-Chat"]) {
    vllm.script([chatAnswer({ content: "Hello from vLLM." })]);
    expect(await ask(key, name)).toMatchObject({ status: 200, body: expect.stringContaining("Hello from vLLM.") });
    expect(vllm.requests.at(-1)).toMatchObject({ headers: { authorization: "Bearer sk-of-the-file" } });
    expect(vllm.requests.at(-1)?.json).toMatchObject({ model: "served-chat" });
  }
  const calls = vllm.requests.length;
  expect((await ask(key, "other")).status).toBe(403);
  expect(vllm.requests).toHaveLength(calls);
});
