/** A newcomer's first start: every message gives an instruction, and each instruction works. */
import { connect } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { banner } from "@sluice/local/banner.js";
import { findCheapestModel } from "@sluice/local/first-model.js";
import { portsOf } from "@sluice/local/ports.js";
import { readSettings } from "@sluice/local/settings.js";
import { type ConfigFile, loadConfig } from "@sluice/proto/config/config-file.js";
import { readSeed } from "@sluice/proto/config/seed.js";
import { createDatabase } from "../support/database.ts";
import { type Installation, type InstallationOptions, startInstallation } from "../support/installation.ts";
import { bareEnvironment, root, runProgram } from "../support/processes.ts";
import { type Upstream, chatStream, startUpstream } from "../support/providers/upstream.ts";

let dataDir: string;
let installation: Installation | undefined;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "sluice-test-first-"));
});

afterEach(async () => {
  await stop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(options: InstallationOptions = {}): Promise<Installation> {
  installation = await startInstallation({ dataDir, ...options });
  return installation;
}

async function stop(): Promise<void> {
  await installation?.stop();
  installation = undefined;
}

async function request(model: string, { baseUrl, apiKey }: Installation): Promise<number> {
  const answer = await fetch(`${baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model, input: "hello" }),
  });
  await answer.arrayBuffer();
  return answer.status;
}

/** Opens every address in the banner, and looks for the configuration file named there. */
async function expectServed(text: string): Promise<void> {
  const lines = [...text.matchAll(/^ {2}(documentation|console|metrics) +(.*)$/gm)];
  expect(lines.map(([, name]) => name)).toEqual(["documentation", "console", "metrics"]);
  const addresses = lines.flatMap(([line]) => line.match(/http:[^ ,]+/g) ?? []);
  const statuses = await Promise.all(addresses.map(async (address) => (await fetch(address)).status));
  expect(statuses).toEqual([200, 200, 200, 200, 200]);
  expect(text).toContain(`  configuration   ${join(dataDir, "sluice.yaml")}\n`);
}

describe("a first start without a model", () => {
  const config = `providers: [{id: far, dialect: chat, base_url: "http://127.0.0.1:9/v1", api_keys: ["\${FAR_KEY}"]}]
models: [{id: far/m, endpoints: [{provider: far}]}]`;

  test("warns of refused requests, names the remedy, and shows no curl command", async () => {
    const started = await start({ config });
    const text = started.output();
    expect(text).toContain("No model is configured yet, so every request for a response is refused with 404.");
    expect(text).toContain("set the variables of a provider that is left out: FAR_KEY; then start again");
    expect(text).toContain(`to ${join(dataDir, "sluice.yaml")}; it is read again when it changes`);
    expect(text).not.toContain("curl ");
    expect(await request("far/m", started)).toBe(404);
  });
});

describe("a first start with the key of a provider", () => {
  let upstream: Upstream;
  beforeEach(async () => {
    upstream = await startUpstream([chatStream("Hello")]);
  });
  afterEach(() => upstream.stop());

  test("shows a curl command with the provider's cheapest model that works", async () => {
    const config = `providers: [{id: openai, vendor: openai, dialect: chat, base_url: "${upstream.url}/v1", api_keys: ["\${OPENAI_API_KEY}"], known_models: true}]`;
    const text = (await start({ config, environment: { OPENAI_API_KEY: "k" } })).output();
    expect(text).toContain('"model":"openai/gpt-5-nano"');
    await expectServed(text);
    const line = text.slice(text.indexOf("curl "));
    const { stdout } = await runProgram("/bin/sh", ["-c", line], { environment: bareEnvironment() });
    expect(stdout).toContain("event: response.completed");
    expect(upstream.requests.map(({ json }) => json["model"])).toEqual(["gpt-5-nano"]);
  });
});

describe("the model in the curl command of the start", () => {
  const seed = readSeed(join(root, "inference-svc/models/catalog/seed.json"));
  const models = loadConfig(join(root, "deploy/local/sluice.yaml"), {}, seed).file.models;
  const [echo] = models as [ConfigFile["models"][number]];
  const model = (id: string, prompt?: string, modalities: readonly string[] = ["text"]) =>
    ({
      ...echo,
      id,
      output_modalities: modalities,
      endpoints: [{ ...echo.endpoints[0], pricing: prompt === undefined ? undefined : { prompt, completion: "1" } }],
    }) as ConfigFile["models"][number];

  test.each([
    [["a/dear:3", "a/cheap:0.5"], "a/cheap"],
    [["a/unpriced", "a/dear:3"], "a/dear"],
    [["a/unpriced"], "a/unpriced"],
    [[], undefined],
  ])("is, among %j, %s", (ids, chosen) => {
    const list = ids.map((text) => text.split(":")).map(([id = "", price]) => model(id, price));
    expect(findCheapestModel(list)).toBe(chosen);
  });

  test("is a model that answers in text", () => {
    expect(findCheapestModel([model("a/pictures", "0.1", ["image"]), model("a/words", "2")])).toBe("a/words");
    expect(findCheapestModel(models)).toBe("sluice/echo");
  });
});

/** Whether a port takes connections at an address. */
const answers = (port: number, host: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host });
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });

// Systems other than Linux have only 127.0.0.1 by default.
const onLinux = process.platform === "linux" ? describe : describe.skip;

onLinux("the addresses that ports listen on", () => {
  /** Another address of this machine: only a port open to all addresses answers on it. */
  const other = "127.0.0.2";

  async function open({ ports }: Installation, host: string): Promise<string[]> {
    const named = Object.entries(ports) as [string, number][];
    const found = await Promise.all(named.map(async ([name, port]) => ((await answers(port, host)) ? [name] : [])));
    return found.flat();
  }

  test("are only those of this machine", async () => {
    const started = await start({ embeddedPostgres: true });
    expect(await open(started, "127.0.0.1")).toEqual(Object.keys(started.ports));
    expect(await open(started, other)).toEqual([]);
    expect(started.output()).toContain(
      "127.0.0.1, for programs on this machine; SLUICE_HOST=0.0.0.0 opens the gateway",
    );
  });

  test("are all addresses only for the gateway when the configuration file sets `host`", async () => {
    const config =
      "host: 0.0.0.0\nproviders: [{id: e, dialect: echo}]\nmodels: [{id: sluice/echo, endpoints: [{provider: e}]}]";
    const started = await start({ config });
    expect(await open(started, other)).toEqual(["gateway"]);
    expect(started.baseUrl).toContain("http://127.0.0.1:");
    expect(started.output()).toContain("console         not shown; console.enabled");
    expect(await request("sluice/echo", started)).toBe(200);
  });

  test("follow SLUICE_HOST and SLUICE_INTERNAL_HOST", async () => {
    const started = await start({
      config:
        "host: 0.0.0.0\nproviders: [{id: e, dialect: echo}]\nmodels: [{id: sluice/echo, endpoints: [{provider: e}]}]",
      environment: { SLUICE_HOST: other, SLUICE_INTERNAL_HOST: "127.0.0.3" },
    });
    expect(started.baseUrl).toContain(`http://${other}:`);
    expect(await open(started, other)).toEqual(["gateway"]);
    expect((await open(started, "127.0.0.3")).toSorted()).toEqual(
      Object.keys(started.ports)
        .filter((name) => name !== "gateway")
        .toSorted(),
    );
    expect(await request("sluice/echo", started)).toBe(200);
  });

  test("are refused with their variable when this machine has no such address", async () => {
    await expect(start({ environment: { SLUICE_HOST: "192.0.2.1" } })).rejects.toThrow("SLUICE_HOST");
    await expect(start({ environment: { SLUICE_HOST: "everywhere" } })).rejects.toThrow(
      "SLUICE_HOST: must be an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them",
    );
  });
});

test("an IPv6 address stands in brackets in the base URL", () => {
  const credential = { value: "k", origin: "new" } as const;
  const text = banner({
    ports: portsOf(readSettings({})),
    hosts: { gateway: "::1", internal: "127.0.0.1" },
    showsConsole: true,
    keys: { managementKey: credential, apiKey: credential, keysFile: "/k" },
    leftOut: [],
    logsDir: "/l",
    model: "a",
    config: "c",
    startedInMs: 1,
  });
  expect(text).toContain("ready  http://[::1]:8080/api/v1");
  expect(text).toContain("listens on      ::1, for programs on this machine");
});

describe("a start with a new data folder and a database already in use", () => {
  const said = "A new secret was created in";

  test("warns once of the new secret and its consequences", async () => {
    const database = await createDatabase();
    const second = mkdtempSync(join(tmpdir(), "sluice-test-first-"));
    try {
      const environment = { DATABASE_URL: database.url };
      expect((await start({ environment })).output()).not.toContain(said);
      await stop();
      const text = (await start({ environment, dataDir: second })).output();
      expect(text).toContain(`${said} ${join(second, "secrets.json")}, though this database was used before.`);
      expect(text).toContain("copy secrets.json of the earlier data folder there, or set SLUICE_SECRET");
      await stop();
      expect((await start({ environment, dataDir: second })).output()).not.toContain(said);
    } finally {
      await stop();
      await database.drop();
      rmSync(second, { recursive: true, force: true });
    }
  });
});
