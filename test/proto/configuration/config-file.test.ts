import { afterEach, describe, expect, test } from "@jest/globals";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { configSchema, loadEdge, loadConfig, problemsOfLeftOut } from "@sluice/proto/config/config-file.js";
import { emptySeed, readSeed } from "@sluice/proto/config/seed.js";
import { z } from "zod";
import { root } from "../../support/processes.ts";

/** Nine lines expanding to 10^9 values. */
function aliasBomb(): string {
  const lines = Array.from({ length: 9 }, (_, n) => {
    const value = n === 0 ? "x" : `*a${n - 1}`;
    return `a${n}: &a${n} [${Array.from({ length: 10 }, () => value).join(", ")}]`;
  });
  return lines.join("\n");
}

describe("the configuration file", () => {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });

  function fileOf(text: string, name = "sluice.yaml"): string {
    const folder = mkdtempSync(join(tmpdir(), "sluice-test-file-"));
    folders.push(folder);
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  }

  const load = (text: string, environment: NodeJS.ProcessEnv = {}) => loadConfig(fileOf(text), environment, emptySeed);

  const twoProviders = `
providers:
  - {id: built-in, dialect: echo}
  - {id: far, dialect: chat, base_url: "\${FAR_URL}", api_keys: ["\${FAR_KEY}", "\${FAR_KEY_2}"]}
models:
  - {id: a/both, endpoints: [{provider: far}, {provider: built-in}]}
  - {id: "far/\${FAR_MODEL}", endpoints: [{provider: far}]}
`;

  test("leaves out a provider with all variables unset, together with its exclusive models", () => {
    const { file, leftOut } = load(twoProviders);
    expect(leftOut).toEqual([{ provider: "far", unset: ["FAR_URL", "FAR_KEY", "FAR_KEY_2"] }]);
    expect(file.providers.map(({ id }) => id)).toEqual(["built-in"]);
    expect(file.models.map(({ id, endpoints }) => [id, endpoints.map(({ provider }) => provider)])).toEqual([
      ["a/both", ["built-in"]],
    ]);
  });

  test("replaces variables, and keeps only the API keys with a value", () => {
    const { file } = load(twoProviders, { FAR_URL: "http://127.0.0.1:1/v1", FAR_KEY: "k1", FAR_MODEL: "m" });
    expect(file.providers[1]).toMatchObject({ base_url: "http://127.0.0.1:1/v1", api_keys: ["k1"] });
    expect(file.models.map(({ id }) => id)).toEqual(["a/both", "far/m"]);
  });

  test("refuses a provider with an address and none of its keys, which would get requests without a key", () => {
    expect(() => load(twoProviders, { FAR_URL: "http://127.0.0.1:1/v1", FAR_MODEL: "m" })).toThrow(
      /providers\.1\.api_keys\.0: variable FAR_KEY is not set/,
    );
  });

  test("names a problem with its number in the file, even when entries before it are left out", () => {
    const wrong = `
providers:
  - {id: far, dialect: chat, base_url: "\${FAR_URL}"}
  - {id: near, dialect: telnet}
models:
  - {id: far/m, endpoints: [{provider: far}]}
  - {id: a/both, endpoints: [{provider: far}, {provider: ghost}]}
`;
    expect(() => load(wrong)).toThrow(/^ {2}providers\.1\.dialect: /m);
    expect(() => load(wrong.replace("telnet", "echo"))).toThrow(
      "models.1.endpoints.1.provider: no provider is called ghost",
    );
  });

  test.each([
    ["office", "an address, or a network such as 10.0.0.0/8"],
    ["10.0.0.0/33", "an address, or a network such as 10.0.0.0/8"],
    ["::ffff:10.0.0.0/90", "an address, or a network such as 10.0.0.0/8"],
    ["0.0.0.0/0", "everybody could be anybody: name the proxy"],
    ["::/0", "everybody could be anybody: name the proxy"],
    ["::ffff:0.0.0.0/96", "everybody could be anybody: name the proxy"],
  ])("refuses %s as the network of a proxy, and names the entry", (network, message) => {
    expect(() => load(`${twoProviders}trusted_proxies: [10.0.0.0/8, "${network}"]`)).toThrow(
      `  trusted_proxies.1: ${message}`,
    );
  });

  describe("leaves out parts without their variables, and", () => {
    const problemsWith = (text: string, environment: NodeJS.ProcessEnv = {}) =>
      problemsOfLeftOut(fileOf(text), environment, readSeed(join(root, "inference-svc/models/catalog/seed.json")));

    test("is valid by default", () => {
      expect(problemsOfLeftOut(join(root, "deploy/local/sluice.yaml"), {}, emptySeed)).not.toEqual([]);
      const text = readFileSync(join(root, "deploy/local/sluice.yaml"), "utf8");
      expect(problemsWith(text)).toEqual([]);
      expect(problemsWith(twoProviders)).toEqual([]);
      expect(problemsWith(bedrock)).toEqual([]);
    });

    test.each([
      ['{id: x, dialect: telnet, api_keys: ["${K}"]}', "providers.1.dialect: "],
      ['{dialect: echo, api_keys: ["${K}"]}', "providers.1.id: "],
      ['{id: x, dialect: chat, api_keys: ["${K}"]}', "providers.1.base_url: required for dialect chat"],
      ['{id: x, dialect: chat, base_url: "ftp://x", api_keys: ["${K}"]}', "providers.1.base_url: "],
      [
        '{id: x, dialect: chat, base_url: "http://x", api_keys: ["${K}"], apikeys: []}',
        "providers.1: Unrecognized key",
      ],
      [
        '{id: x, dialect: chat, base_url: "http://x", known_models: true, api_keys: ["${K}"]}',
        "providers.1.known_models",
      ],
      ['{id: x, dialect: chat, base_url: "${U}", timeouts: {idle_ms: 0}}', "providers.1.timeouts.idle_ms: "],
    ])("refuses the left-out part with %s", (provider, problem) => {
      const text = `providers:\n  - {id: built-in, dialect: echo}\n  - ${provider}\n`;
      expect(load(text).leftOut).toHaveLength(1);
      expect(problemsWith(text)).toEqual([expect.stringContaining(problem)]);
    });

    test("leaves out models, which are checked together with their exclusive endpoints", () => {
      const text = twoProviders
        .replace("{provider: far}, {provider: built-in}", "{provider: built-in}, {provider: far, tier: none}")
        .replace("{provider: far}]", "{provider: far, pricing: {prompt: 1}}]");
      expect(problemsWith(text)).toEqual([
        expect.stringContaining("models.0.endpoints.1.tier: "),
        expect.stringContaining("models.1.endpoints.0.pricing.prompt: "),
        expect.stringContaining("models.1.endpoints.0.pricing.completion: "),
      ]);
    });
  });

  describe("has an alias of a model that", () => {
    const aliases = (...models: string[]) =>
      `${twoProviders}model_aliases: [${models.map((model) => `{match: "c-*", model: "${model}"}`).join(", ")}]`;
    const served = (text: string, environment?: NodeJS.ProcessEnv) =>
      load(text, environment).file.model_aliases.map(({ model }) => model);

    test("is kept while its model is served, with its variant, and for routers", () => {
      const models = ["a/both", "a/both:nitro", "service/auto", "service/auto:floor"];
      expect(served(aliases(...models))).toEqual(models);
    });

    test("is skipped while the provider of its model is left out, and while its variable is unset", () => {
      const text = aliases("far/x", "a/both").replace("far/${FAR_MODEL}", "far/x");
      expect(served(text)).toEqual(["a/both"]);
      expect(served(aliases("far/${FAR_MODEL}", "a/both"))).toEqual(["a/both"]);
      const set = { FAR_URL: "http://127.0.0.1:1/v1", FAR_KEY: "k", FAR_MODEL: "m" };
      expect(served(aliases("far/${FAR_MODEL}"), set)).toEqual(["far/m"]);
    });

    test("is skipped while no provider serves its model of the built-in catalogue", () => {
      const seed = readSeed(join(root, "inference-svc/models/catalog/seed.json"));
      const { file } = loadConfig(fileOf(aliases("anthropic/claude-opus-5.5")), {}, seed);
      expect(file.model_aliases).toEqual([]);
    });

    test("is refused without a target, with its number in the file", () => {
      const text = aliases("far/${FAR_MODEL}", "a/both", "nobody/x");
      expect(() => load(text)).toThrow("model_aliases.2.model: no model is called nobody/x");
      expect(() => load(aliases("service/none"))).toThrow("model_aliases.0.model: no model is called service/none");
    });
  });

  const bedrock = `
providers:
  - id: bedrock
    dialect: converse
    base_url: https://bedrock-runtime.us-east-1.amazonaws.com
    aws:
      region: us-east-1
      access_key_id: "\${KEY_ID}"
      secret_access_key: "\${KEY}"
      session_token: "\${TOKEN}"
`;

  test("has credentials of Amazon of which only the token is optional", () => {
    expect(load(bedrock).leftOut).toEqual([{ provider: "bedrock", unset: ["KEY_ID", "KEY", "TOKEN"] }]);
    const keys = { KEY_ID: "id", KEY: "key" };
    const credentials = { region: "us-east-1", access_key_id: "id", secret_access_key: "key" };
    expect(load(bedrock, keys).file.providers[0]?.aws).toEqual(credentials);
    const withToken = load(bedrock, { ...keys, TOKEN: "t" }).file.providers[0]?.aws;
    expect(withToken).toEqual({ ...credentials, session_token: "t" });
    expect(() => load(bedrock, { KEY_ID: "id" })).toThrow(
      /providers\.0\.aws\.secret_access_key: variable KEY is not set/,
    );
  });

  test("reads secrets from files", () => {
    const secret = fileOf("s3cret\n", "key");
    const text = `providers: [{id: x, dialect: chat, base_url: "http://x/v1", api_keys: ["\${file:${secret}}"]}]`;
    expect(load(text).file.providers[0]?.api_keys).toEqual(["s3cret"]);
    expect(() => load(text.replace(secret, "/nowhere/key"))).toThrow(
      /providers\.0\.api_keys\.0: cannot read \/nowhere\/key/,
    );
  });

  test("names every problem with its path, all at once", () => {
    const wrong = `
providers: [{id: x, dialect: telnet}]
models: [{id: "a b", context_length: 0, endpoints: []}]
limits: {body_bytes: 99999999999, typo: 1}
`;
    expect(() => load(wrong)).toThrow(
      /providers\.0\.dialect[^]*models\.0\.id[^]*context_length[^]*endpoints[^]*body_bytes/,
    );
    expect(() => load(wrong)).toThrow(/typo/);
  });

  test("names unset variables and other problems together, each value once", () => {
    const text = twoProviders.concat("limits: {turn_ms: 0}");
    const wrong = () => load(text, { FAR_KEY: "k1" });
    expect(wrong).toThrow(
      /providers\.1\.base_url: variable FAR_URL is not set[^]*models\.1\.id: variable FAR_MODEL is not set[^]*limits\.turn_ms: /,
    );
    expect(wrong).not.toThrow(/base_url: .*[^]*base_url: /);
  });

  test.each([
    ["providers: [{id: x, dialect: echo}, {id: x, dialect: echo}]", "providers.1.id: x is used twice"],
    ["search: {default: exa, engines: {tavily: {api_key: k}}}", "search.default: search.engines has no exa"],
    ["providers: [{id: x, dialect: chat}]", "providers.0.base_url: required for dialect chat"],
    [
      "providers: [{id: x, dialect: chat, base_url: http://x, aws: {region: r, access_key_id: a, secret_access_key: s}}]",
      "providers.0.aws: not for dialect chat; remove it",
    ],
    [
      "providers: [{id: x, dialect: converse, base_url: http://x, api_keys: [k], aws: {region: r, access_key_id: a, secret_access_key: s}}]",
      "providers.0.aws: give either this or api_keys",
    ],
    ["models: [{id: a, endpoints: [{provider: ghost}]}]", "models.0.endpoints.0.provider: no provider is called ghost"],
    ["a: [1", "Flow sequence"],
    ["[providers]", "(root): must be sections such as providers: and models:"],
    ["providers", "(root): must be sections"],
    ["providers: []\n---\nmodels: []", "(root): one file holds one document"],
    ["providers: *mine", "(root): the alias *mine has no anchor &mine before it"],
    ["providers: &mine [*mine]", "(root): an alias stands within its own anchor"],
    [`limits: ${"[".repeat(20_000)}`, "(root): values are nested too deeply to be read"],
    [aliasBomb(), "(root): aliases (*name) stand for more than 100 values; write these values out"],
  ])("is refused with %s", (text, message) => {
    expect(() => load(text)).toThrow(message);
  });

  test("gets default limits when it names none", () => {
    expect(loadEdge(fileOf("providers: []"), {}).limits).toMatchObject({ body_bytes: 33_554_432, streams_per_key: 64 });
    expect(loadEdge(fileOf("limits: {streams_per_key: 7}"), {}).limits).toMatchObject({ streams_per_key: 7 });
    expect(() => loadEdge(fileOf("limits: {streams_per_key: 0}"), {})).toThrow(/streams_per_key/);
  });

  test("is described by the JSON Schema next to the default file (npm run gen keeps it current)", () => {
    const written: unknown = JSON.parse(readFileSync(join(root, "deploy/local/sluice.schema.json"), "utf8"));
    expect(written).toEqual(z.toJSONSchema(configSchema, { io: "input" }));
  });

  const far = `
providers: [{id: far, dialect: chat, base_url: "http://127.0.0.1:9/v1"}]
models: [{id: far/m, endpoints: [{provider: far}]}]
`;
  test.each([
    ["is served together with it", far, ["far/m", "sluice/echo"]],
    ["is not served when it has echo: false", `echo: false\n${far}`, ["far/m"]],
    ["does not replace its provider of the same name", far.replaceAll("far", "sluice"), ["sluice/m"]],
  ])("may name the model sluice/echo %s", (_, text, models) => {
    expect(load(text, { SLUICE_ECHO: "true" }).file.models.map(({ id }) => id)).toEqual(models);
  });

  test("loads in its shipped form without any variable", () => {
    const { file } = loadConfig(
      join(root, "deploy/local/sluice.yaml"),
      {},
      readSeed(join(root, "inference-svc/models/catalog/seed.json")),
    );
    expect(file.models.map(({ id }) => id)).toEqual(["sluice/echo"]);
  });
});
