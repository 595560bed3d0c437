import { afterEach, describe, expect, test } from "@jest/globals";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { houseSchema, loadEdge, loadHouse } from "@sluice/proto/runtime/house-file.js";
import { emptySeed } from "@sluice/proto/runtime/house/seed.js";
import { z } from "zod";
import { root } from "../support/processes.ts";

describe("the house file", () => {
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

  const load = (text: string, environment: NodeJS.ProcessEnv = {}) => loadHouse(fileOf(text), environment, emptySeed);

  const twoProviders = `
providers:
  - {id: built-in, dialect: echo}
  - {id: far, dialect: chat, base_url: "\${FAR_URL}", api_keys: ["\${FAR_KEY}", "\${FAR_KEY_2}"]}
models:
  - {id: a/both, endpoints: [{provider: far}, {provider: built-in}]}
  - {id: "far/\${FAR_MODEL}", endpoints: [{provider: far}]}
`;

  test("leaves out a provider whose variables are all unset, with what only it serves", () => {
    const { file, leftOut } = load(twoProviders);
    expect(leftOut).toEqual([{ provider: "far", unset: ["FAR_URL", "FAR_KEY", "FAR_KEY_2"] }]);
    expect(file.providers.map(({ id }) => id)).toEqual(["built-in"]);
    expect(file.models.map(({ id, endpoints }) => [id, endpoints.map(({ provider }) => provider)])).toEqual([
      ["a/both", ["built-in"]],
    ]);
  });

  test("replaces variables, and takes the keys that are set", () => {
    const { file } = load(twoProviders, { FAR_URL: "http://127.0.0.1:1/v1", FAR_KEY: "k1", FAR_MODEL: "m" });
    expect(file.providers[1]).toMatchObject({ base_url: "http://127.0.0.1:1/v1", api_keys: ["k1"] });
    expect(file.models.map(({ id }) => id)).toEqual(["a/both", "far/m"]);
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

  test("credentials of Amazon: the token is the only variable that may be unset alone", () => {
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
    ["providers: [{id: x, dialect: chat}]", "providers.0.base_url: required for dialect chat"],
    [
      "providers: [{id: x, dialect: chat, base_url: http://x, aws: {region: r, access_key_id: a, secret_access_key: s}}]",
      "providers.0.aws: only requests of dialect converse are signed; remove it",
    ],
    [
      "providers: [{id: x, dialect: converse, base_url: http://x, api_keys: [k], aws: {region: r, access_key_id: a, secret_access_key: s}}]",
      "providers.0.aws: give either this or api_keys",
    ],
    ["models: [{id: a, endpoints: [{provider: ghost}]}]", "models.0.endpoints.0.provider: no provider is called ghost"],
    ["a: [1", "Flow sequence"],
  ])("%s is refused", (text, message) => {
    expect(() => load(text)).toThrow(message);
  });

  test("has limits of its own when it names none", () => {
    expect(loadEdge(fileOf("providers: []")).limits).toMatchObject({ body_bytes: 33_554_432, streams_per_key: 64 });
    expect(loadEdge(fileOf("limits: {streams_per_key: 7}")).limits).toMatchObject({ streams_per_key: 7 });
    expect(() => loadEdge(fileOf("limits: {streams_per_key: 0}"))).toThrow(/streams_per_key/);
  });

  test("is described by the JSON Schema beside the default file (npm run gen keeps it current)", () => {
    const written: unknown = JSON.parse(readFileSync(join(root, "deploy/local/sluice.schema.json"), "utf8"));
    expect(written).toEqual(z.toJSONSchema(houseSchema, { io: "input" }));
  });

  test("ships in a form that loads without any variable set", () => {
    const { file } = loadHouse(join(root, "deploy/local/sluice.yaml"), {}, emptySeed);
    expect(file.models.map(({ id }) => id)).toEqual(["sluice/echo"]);
  });
});
