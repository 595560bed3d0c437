/** The configuration file is read again after a change of any kind; a broken file changes nothing. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { type Upstream, chatChunk, chatStream, startUpstream } from "../../support/providers/upstream.ts";

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly problems?: readonly string[];
}

describe("a changed configuration file", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-reload-"));
  const mount = join(folder, "config");
  const path = join(mount, "sluice.yaml");
  const secret = join(folder, "key");
  let versions = 0;
  let upstream: Upstream;
  let installation: Installation;

  /**
   * Replaces the file as Kubernetes does with a ConfigMap: the file is a link through `..data`, and the link is
   * replaced.
   */
  function swap(text: string): void {
    const version = `..version_${++versions}`;
    mkdirSync(join(mount, version));
    writeFileSync(join(mount, version, "sluice.yaml"), text);
    symlinkSync(version, join(mount, "..data_new"));
    renameSync(join(mount, "..data_new"), join(mount, "..data"));
  }

  const provider = (id = "acme") =>
    `  - {id: ${id}, dialect: chat, base_url: "${upstream.url}/v1", api_keys: ["\${file:${secret}}"]}`;
  const configuration = (models: readonly string[], more = "", providers = provider()) => `
providers:
${providers}
models:
${models.map((id) => `  - {id: ${id}, endpoints: [{provider: acme}]}`).join("\n")}
${more}
`;

  beforeAll(async () => {
    upstream = await startUpstream();
    mkdirSync(mount);
    writeFileSync(secret, "first-key");
    swap(configuration(["acme/one"]));
    symlinkSync("..data/sluice.yaml", path);
    installation = await startInstallation({ environment: { SLUICE_CONFIG: path } });
  });
  afterEach(async () => {
    swap(configuration(["acme/one"]));
    await eventually(async () => (await models()).join() === "acme/one");
  });
  afterAll(async () => {
    await installation?.stop();
    await upstream?.stop();
    rmSync(folder, { recursive: true });
  });

  const headers = () => ({ authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" });
  const sendRequest = (model: string, settings: object = {}) =>
    fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: headers(),
      body: JSON.stringify({ model, input: "Hi", ...settings }),
    });

  async function models(): Promise<string[]> {
    const answer = await fetch(`${installation.baseUrl}/models`, { headers: headers() });
    const { data } = (await answer.json()) as { data: { id: string }[] };
    return data.map(({ id }) => id);
  }
  const serves = (...expected: string[]) => eventually(async () => (await models()).join() === expected.join());

  const lines = (name: string): Line[] =>
    installation
      .logs(name)
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Line);
  const refusals = (name: string) =>
    lines(name).filter(({ msg }) => msg.startsWith("the configuration file was refused"));

  async function metric(port: number, name: string): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const line = text.split("\n").find((each) => each.startsWith(name.replace("}", "")));
    return Number(line?.split(" ").at(-1));
  }
  const reloads = (port: number, result: string) => metric(port, `sluice_config_reloads_total{result="${result}"`);

  test("is in force soon after its link was swapped, and the log names settings that need a restart", async () => {
    const before = await reloads(installation.ports.inference_health, "success");
    swap(configuration(["acme/one", "acme/two"]));
    await serves("acme/one", "acme/two");
    upstream.script([chatStream("Hello")]);
    expect((await sendRequest("acme/two", { stream: true })).status).toBe(200);
    expect(await reloads(installation.ports.inference_health, "success")).toBe(before + 1);
    expect(await metric(installation.ports.inference_health, "sluice_config_last_reload_successful")).toBe(1);
    await installation.logged("inference-svc", /"msg":"[^"]*the changed configuration file is in force/);
  });

  test("is in force after an edit in place", async () => {
    writeFileSync(realpathSync(path), configuration(["acme/edited"]));
    await serves("acme/edited");
  });

  test("is in force after another file took its name", async () => {
    const target = realpathSync(path);
    writeFileSync(`${target}.new`, configuration(["acme/renamed"]));
    renameSync(`${target}.new`, target);
    await serves("acme/renamed");
  });

  test("is in force at once on SIGHUP", async () => {
    const before = await reloads(installation.ports.inference_health, "success");
    process.kill(installation.pids()["inference-svc"] as number, "SIGHUP");
    await eventually(async () => (await reloads(installation.ports.inference_health, "success")) === before + 1);
  });

  test("is in force in the gateway, too", async () => {
    const temperature = async () => {
      upstream.script([chatStream("Hello")]);
      const { events } = parseSse(await (await sendRequest("acme/one", { stream: true })).text());
      const last = events.at(-1) as { response: { temperature: unknown } } | undefined;
      return last?.response.temperature;
    };
    const page = { headers: { ...headers(), origin: "https://page.example" } };
    const allowed = async () =>
      (await fetch(`${installation.baseUrl}/models`, page)).headers.get("access-control-allow-origin");
    expect([await temperature(), await allowed()]).toEqual([null, null]);
    swap(
      configuration(
        ["acme/one"],
        'compat: {fill_defaults: true}\ncors: {allow_origins: ["https://page.example"]}\nlimits: {body_bytes: 64}',
      ),
    );
    await eventually(async () => (await allowed()) === "https://page.example");
    expect(await temperature()).toBe(1);
    expect((await sendRequest("acme/one", { instructions: "x".repeat(100) })).status).toBe(413);
    expect(await reloads(installation.ports.gateway_health, "success")).toBeGreaterThan(0);
  });

  test("includes newly mounted keys of providers", async () => {
    const sent = async () => {
      upstream.script([chatStream("Hello")]);
      await (await sendRequest("acme/one", { stream: true })).text();
      return upstream.requests.at(-1)?.headers.authorization;
    };
    expect(await sent()).toBe("Bearer first-key");
    writeFileSync(secret, "second-key");
    await eventually(async () => (await sent()) === "Bearer second-key");
  });

  test("leaves running turns under their old settings", async () => {
    let go = () => {};
    const after = new Promise<void>((resolve) => {
      go = resolve;
    });
    upstream.script([
      {
        chunks: [
          { sse: [chatChunk({ content: "One " })] },
          { sse: [chatChunk({ content: "two" }), chatChunk({}, "stop"), "[DONE]"], after },
        ],
      },
    ]);
    const running = await sendRequest("acme/one", { stream: true });
    swap("providers: [{id: other, dialect: echo}]\nmodels: [{id: other/echo, endpoints: [{provider: other}]}]");
    await serves("other/echo");
    expect((await sendRequest("acme/one")).status).toBe(404);
    go();
    const { events } = parseSse(await running.text());
    expect(events.at(-1)).toMatchObject({ type: "response.completed" });
    // Idle connections to a removed provider are closed.
    await eventually(() => upstream.openSockets === 0);
  });

  test("is refused when it is broken, the last good file stays, and log and metrics show it", async () => {
    const failures = await reloads(installation.ports.inference_health, "failure");
    const told = refusals("inference-svc").length;
    swap(`providers: [{id: x, dialect: telnet}]\nmodels: [{id: "a b", endpoints: []}]\nlimits: {body_bytes: 0}`);
    await eventually(() => refusals("inference-svc").length > told && refusals("gateway").length > 0);
    const line = refusals("inference-svc").at(-1);
    expect(line?.level).toBe(50);
    for (const problem of [
      /^providers\.0\.dialect: /,
      /^models\.0\.id: /,
      /^models\.0\.endpoints: /,
      /^limits\.body_bytes: /,
    ]) {
      expect(line?.problems).toContainEqual(expect.stringMatching(problem));
    }
    expect(refusals("gateway").at(-1)?.problems).toEqual([expect.stringMatching(/^limits\.body_bytes: /)]);
    for (const port of [installation.ports.inference_health, installation.ports.gateway_health]) {
      expect(await metric(port, "sluice_config_last_reload_successful")).toBe(0);
    }
    expect(await reloads(installation.ports.inference_health, "failure")).toBe(failures + 1);
    const readAt = await metric(
      installation.ports.inference_health,
      "sluice_config_last_reload_success_timestamp_seconds",
    );
    upstream.script([chatStream("Hello")]);
    expect((await sendRequest("acme/one", { stream: true })).status).toBe(200);

    swap(configuration(["acme/one", "acme/mended"]));
    await serves("acme/one", "acme/mended");
    expect(await metric(installation.ports.inference_health, "sluice_config_last_reload_successful")).toBe(1);
    expect(
      await metric(installation.ports.inference_health, "sluice_config_last_reload_success_timestamp_seconds"),
    ).toBeGreaterThan(readAt);
    expect(refusals("inference-svc").length).toBe(told + 1);
  });

  test("is refused while one of its secrets is missing, and in force once the secret exists", async () => {
    const late = join(folder, "late-key");
    const told = refusals("inference-svc").length;
    const withLate = `${provider()}\n  - {id: late, dialect: chat, base_url: "${upstream.url}/v1", api_keys: ["\${file:${late}}"]}`;
    swap(configuration(["acme/one", "acme/late"], "", withLate));
    await eventually(() => refusals("inference-svc").length > told);
    expect(refusals("inference-svc").at(-1)?.problems).toEqual([`providers.1.api_keys.0: cannot read ${late}`]);
    writeFileSync(late, "late");
    await serves("acme/one", "acme/late");
    expect(refusals("inference-svc").length).toBe(told + 1);
  });

  test("is refused when it needs a restart, with the reason", async () => {
    const told = refusals("inference-svc").length;
    swap(configuration(["acme/one"], "", `${provider()}\n  - {id: package, dialect: "ai-sdk:@ai-sdk/openai"}`));
    await eventually(() => refusals("inference-svc").length > told);
    expect(refusals("inference-svc").at(-1)?.problems).toEqual([
      "package @ai-sdk/openai is loaded at the start: restart Sluice",
    ]);
    expect(await models()).toEqual(["acme/one"]);
  });

  test("keeps the text of a line with a secret out of the log", async () => {
    const told = refusals("inference-svc").length;
    swap(`providers:\n  - {id: x, api_keys: ["sk-very-secret"}\n`);
    await eventually(() => refusals("inference-svc").length > told);
    expect(refusals("inference-svc").at(-1)?.problems?.[0]).toMatch(/line 2/);
    expect(await installation.allLogged()).not.toContain("very-secret");
  });
});
