/** The first example of each plugin's page, run in a shell against a fresh installation. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { readPage } from "../../support/pages.ts";
import { bareEnvironment, root, runProgram } from "../../support/processes.ts";

/** Pages of the folder that describe no plugin. */
const others = ["README.md", "simulation.md"];
const ids = readdirSync(join(root, "docs/plugins"))
  .filter((file) => !others.includes(file))
  .map((file) => file.replace(".md", ""));

/** Plugins that need a setting in the configuration file, with the setting that their error names. */
const needs: Readonly<Record<string, string>> = {
  moderation: "internal_models.moderation",
  "pareto-router": "scores.coding",
  web: "search.engines",
};

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ config: readFileSync(join(root, "deploy/local/sluice.yaml"), "utf8") });
});
afterAll(() => installation?.stop());

test.each(ids)("%s", async (id) => {
  const page = readPage(`docs/plugins/${id}.md`);
  const [, example = ""] = /```sh\n(curl [\s\S]*?)```/.exec(page) ?? [];
  const command = example.replace("http://127.0.0.1:8080/api/v1", installation.baseUrl);
  const environment = { ...bareEnvironment(), SLUICE_KEY: installation.apiKey };
  const { stdout } = await runProgram("/bin/sh", ["-c", command], { environment });
  const answer = JSON.parse(stdout) as { status?: string; error?: { message: string } | null };
  const need = needs[id];
  if (need === undefined) expect(answer).toMatchObject({ status: "completed", error: null });
  else {
    expect(answer.error?.message).toContain(need);
    expect(page).toContain(need.split(".").at(-1));
  }
});
