/** Requests and commands of the pages, run in a shell against one installation in the order of the pages. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { parse, stringify } from "yaml";
import { type Installation, startInstallation } from "../support/installation.ts";
import { pageCommands } from "../support/page-commands.ts";
import { findBlocks, readPage } from "../support/pages.ts";
import { type Upstream, chatAnswer, startUpstream } from "../support/providers/upstream.ts";
import { bareEnvironment, root, runProgram } from "../support/processes.ts";

/** Requests that are refused in the installation of this test: what their error names, and the reason. */
const refusals: Readonly<Record<string, readonly [RegExp, string]>> = {
  "docs/operate/administration.md": [
    /^Another workspace has this name$/,
    "the command before it has made the workspace",
  ],
  "docs/operate/captured-content.md": [/capture\.key|No content of this generation/, "no key to encrypt with"],
  ...Object.fromEntries(
    ["azure", "bedrock", "vertex"].map((page) => [
      `docs/providers/${page}.md`,
      [/is not in the catalogue/, "no provider with the model of the page"] as const,
    ]),
  ),
  "docs/reference/errors.md": [/temperature/, "the page shows a failure"],
  "docs/plugins/moderation.md": [/internal_models\.moderation/, "no model that moderates"],
  "docs/plugins/pareto-router.md": [/scores\.coding/, "no model with scores"],
  "docs/plugins/web.md": [/search\.engines/, "no search engine"],
  embeddings: [/text-embedding-3-small/, "no provider of embeddings"],
};

/** Folder of the commands, with the files that they read. */
const folder = mkdtempSync(join(tmpdir(), "sluice-pages-"));
/** Files of other gateways, under their names on the pages. */
const examples = {
  "litellm-small.yaml": "config.yaml",
  "portkey-single.json": "config.json",
  "openrouter-request.json": "request.json",
} as const;

interface ConfigFile {
  readonly providers: readonly object[];
  readonly models?: readonly object[];
}

/**
 * The shipped configuration, with the providers and models of the pages about self-hosted servers.
 * @param url of the server that replaces them all
 */
function withOwnServers(url: string): string {
  const shipped = parse(readPage("deploy/local/sluice.yaml")) as ConfigFile;
  const own = ["ollama", "vllm"]
    .flatMap((page) => findBlocks(`docs/providers/${page}.md`))
    .filter(({ language }) => language === "yaml")
    .map(({ code }) => parse(code) as ConfigFile);
  const providers = own.flatMap((file) => file.providers).map((provider) => ({ ...provider, base_url: `${url}/v1` }));
  const models = [shipped, ...own].flatMap((file) => file.models ?? []);
  return stringify({ ...shipped, providers: [...shipped.providers, ...providers], models });
}

let ownServer: Upstream;
let installation: Installation;
let variables: Readonly<Record<string, string>>;

const created = async (...args: string[]): Promise<Readonly<Record<string, string>>> =>
  JSON.parse((await installation.admin(...args, "--json")).stdout) as Readonly<Record<string, string>>;

beforeAll(async () => {
  ownServer = await startUpstream([chatAnswer({ content: "Hello." })]);
  installation = await startInstallation({
    config: withOwnServers(ownServer.url),
    environment: { VLLM_KEY: "key-of-vllm" },
  });
  const key = await created("keys", "create", "--name", "of-the-pages");
  const guardrail = await created("guardrails", "create", "--name", "of-the-pages", "--block", "plutonium");
  const answer = await fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key["key"]}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sluice/echo", input: "Hello" }),
  });
  await answer.text();
  const header = (name: string): string => answer.headers.get(name) ?? "";
  variables = {
    SLUICE_KEY: installation.apiKey,
    SLUICE_MANAGEMENT_KEY: installation.managementKey,
    SLUICE_ACCOUNT_KEY: installation.managementKey,
    GUARDRAIL_ID: guardrail["id"] ?? "",
    KEY_HASH: key["hash"] ?? "",
    HASH: key["hash"] ?? "",
    GENERATION_ID: header("x-generation-id"),
    REQUEST_ID: header("x-request-id"),
  };
  for (const [example, name] of Object.entries(examples)) {
    copyFileSync(join(root, "test/fixtures/import", example), join(folder, name));
  }
});
afterAll(async () => {
  await installation?.stop();
  await ownServer?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The command with the addresses and programs of this test. */
const here = (command: string): string =>
  command
    .replace("npm run --silent admin --", `node ${join(root, "deploy/local/admin.mjs")}`)
    .replace("check-config sluice.yaml", `check-config ${join(root, "deploy/local/sluice.yaml")}`)
    .replaceAll("http://127.0.0.1:8080", new URL(installation.baseUrl).origin)
    .replaceAll("$SLUICE_URL", new URL(installation.baseUrl).origin)
    .replace(/^curl /, "curl -sS ");

/** @returns the error of an answer in JSON; undefined for a stream, an answer without one, and output of the command line */
function findError(stdout: string): string | undefined {
  if (!stdout.startsWith("{")) return undefined;
  const { error } = JSON.parse(stdout) as { readonly error?: { readonly message: string } | null };
  return error?.message;
}

/** Restricts every key to providers in Europe, so it runs after the requests of all pages. */
const restrictsAll = ({ command }: { readonly command: string }): boolean => command.includes(" --account-default ");

const commands = pageCommands();
const inOrder = [...commands.filter((each) => !restrictsAll(each)), ...commands.filter(restrictsAll)];

test.each(inOrder)("the documented command of $place works: $command", async ({ place, command }) => {
  const environment = { ...bareEnvironment(), ...variables, SLUICE_DATA_DIR: installation.dataDir };
  const { code, stdout, stderr } = await runProgram("/bin/sh", ["-c", here(command)], { environment, cwd: folder });
  expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
  const error = findError(stdout);
  const [page = ""] = place.split(":");
  const refusal = refusals[page] ?? (command.includes("/embeddings") ? refusals["embeddings"] : undefined);
  if (error === undefined || refusal === undefined) expect(error).toBeUndefined();
  else expect(error).toMatch(refusal[0]);
});

test("commands for self-hosted servers send their requests, with the fields that pass", () => {
  const byModel = new Map(ownServer.requests.map(({ json, headers }) => [json["model"], { json, headers }]));
  expect(byModel.get("qwen3:8b")?.headers.authorization).toBeUndefined();
  expect(byModel.get("Qwen/Qwen3-8B")).toMatchObject({
    headers: { authorization: "Bearer key-of-vllm" },
    json: { chat_template_kwargs: { enable_thinking: false } },
  });
});

test("documented commands of every kind are run by the tests", () => {
  const startsWith = (word: string) => commands.filter(({ command }) => command.startsWith(word));
  expect(startsWith("curl ").length).toBeGreaterThan(20);
  expect(startsWith("npm ").length).toBeGreaterThan(15);
});
