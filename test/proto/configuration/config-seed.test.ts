import { afterAll, describe, expect, test } from "@jest/globals";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LoadedConfig, loadConfig } from "@sluice/proto/config/config-file.js";
import { type Seed, readSeed } from "@sluice/proto/config/seed.js";
import { root } from "../../support/processes.ts";

const seed: Seed = {
  date: "2026-11-21",
  vendors: {
    acme: { name: "Acme", hosts: ["api.acme.test"], privacy_policy_url: "https://acme.test/privacy" },
    bolt: { name: "Bolt", hosts: ["api.bolt.test"] },
  },
  models: [
    {
      id: "acme/large",
      name: "Acme Large",
      released: "2026-01-02",
      context_length: 400_000,
      max_output_tokens: 64_000,
      input_modalities: ["text", "image"],
      endpoints: [
        {
          vendor: "acme",
          upstream_model: "large-2",
          pricing: { prompt: "2", completion: "8" },
          supported_parameters: ["tools"],
        },
        {
          vendor: "bolt",
          upstream_model: "acme-large",
          pricing: { prompt: "1", completion: "4" },
          supported_parameters: ["temperature"],
        },
      ],
    },
    {
      id: "acme/small",
      name: "Acme Small",
      context_length: 32_000,
      endpoints: [
        {
          vendor: "acme",
          upstream_model: "small-2",
          pricing: { prompt: "0.1", completion: "0.4" },
          supported_parameters: ["tools"],
        },
      ],
    },
  ],
};

const providers = `
  - {id: a, dialect: chat, base_url: "https://api.acme.test/v1", KNOWN}
  - {id: b, dialect: chat, base_url: "https://api.bolt.test/v1", KNOWN}
  - {id: own, name: Ours, dialect: chat, base_url: "http://127.0.0.1:8000/v1"}
`;
const quiet = providers.replaceAll(", KNOWN", "");
const generous = providers.replaceAll("KNOWN", "known_models: true");

describe("a value missing in the configuration file", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-seed-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  function load(text: string): LoadedConfig["file"] {
    const path = join(folder, "sluice.yaml");
    writeFileSync(path, text);
    return loadConfig(path, {}, seed).file;
  }

  test("is filled in for a model with endpoint names only", () => {
    const { providers: loaded, models } = load(
      `providers: ${quiet}\nmodels: [{id: acme/large, endpoints: [{provider: a}]}]`,
    );
    expect(loaded[0]).toMatchObject({ name: "Acme", privacy_policy_url: "https://acme.test/privacy" });
    expect(models).toMatchObject([
      {
        name: "Acme Large",
        released: "2026-01-02",
        context_length: 400_000,
        max_output_tokens: 64_000,
        input_modalities: ["text", "image"],
        endpoints: [
          {
            provider: "a",
            upstream_model: "large-2",
            pricing: { prompt: "2", completion: "8" },
            supported_parameters: ["tools"],
          },
        ],
      },
    ]);
  });

  test("is filled from the catalogue, and a value of the file is kept", () => {
    const { models } = load(`
providers: ${quiet}
models:
  - id: acme/large
    name: Mine
    context_length: 1000
    input_modalities: [text]
    endpoints: [{provider: a, upstream_model: large-2, pricing: {prompt: "5", completion: "5"}, supported_parameters: []}]`);
    expect(models[0]).toMatchObject({
      name: "Mine",
      context_length: 1000,
      max_output_tokens: 64_000,
      input_modalities: ["text"],
    });
    expect(models[0]?.endpoints[0]).toMatchObject({
      pricing: { prompt: "5", completion: "5" },
      supported_parameters: [],
    });
  });

  test("is known for an endpoint by the vendor's name of the model, independent of the configured name", () => {
    const { models } = load(
      `providers: ${quiet}\nmodels: [{id: team/writer, endpoints: [{provider: b, upstream_model: acme-large}]}]`,
    );
    expect(models[0]).toMatchObject({
      id: "team/writer",
      context_length: 400_000,
      input_modalities: ["text", "image"],
    });
    expect(models[0]?.name).toBeUndefined();
    expect(models[0]?.endpoints[0]?.pricing).toEqual({ prompt: "1", completion: "4" });
  });

  test.each([
    ["the model of a provider that nobody knows", "[{provider: own, upstream_model: large-2}, {provider: a}]"],
    ["another tier", "[{provider: a, tier: priority}, {provider: a}]"],
  ])("is not added as a price when another endpoint has none and the order of the file counts: %s", (_, endpoints) => {
    const { models } = load(`providers: ${quiet}\nmodels: [{id: acme/large, endpoints: ${endpoints}}]`);
    expect(models[0]?.endpoints.map(({ pricing }) => pricing)).toEqual([undefined, undefined]);
  });

  test("includes every unlisted model, for providers configured to serve all known ones", () => {
    const { models } = load(
      `providers: ${generous}\nmodels: [{id: acme/small, name: Mine, endpoints: [{provider: own}]}]`,
    );
    expect(models.map(({ id, name }) => [id, name])).toEqual([
      ["acme/small", "Mine"],
      ["acme/large", "Acme Large"],
    ]);
    expect(models[0]?.endpoints.map(({ provider }) => provider)).toEqual(["own"]);
    expect(models[1]?.endpoints.map(({ provider, upstream_model: name }) => [provider, name])).toEqual([
      ["a", "large-2"],
      ["b", "acme-large"],
    ]);
  });

  test.each(["large-2-20261001", "large-2-2026-10-01"])("is known for the snapshot %s of a model", (name) => {
    const { models } = load(
      `providers: ${quiet}\nmodels: [{id: own/pinned, endpoints: [{provider: a, upstream_model: ${name}}]}]`,
    );
    expect(models[0]?.endpoints).toMatchObject([
      { upstream_model: name, supported_parameters: ["tools"], pricing: { prompt: "2", completion: "8" } },
    ]);
  });

  test("is known for a vendor at its regional hosts", () => {
    const regional = quiet.replace("api.acme.test", "eu.api.acme.test");
    const { models } = load(`providers: ${regional}\nmodels: [{id: acme/small, endpoints: [{provider: a}]}]`);
    expect(models[0]?.endpoints).toMatchObject([{ supported_parameters: ["tools"] }]);
  });

  test("is known for a provider behind another address by its vendor", () => {
    const { providers: loaded, models } = load(
      `providers: [{id: x, dialect: chat, base_url: "http://proxy.internal/v1", vendor: bolt, known_models: true}]`,
    );
    expect(loaded[0]?.name).toBe("Bolt");
    expect(models.map(({ id }) => id)).toEqual(["acme/large"]);
  });

  test.each([
    ["vendor: acne", "providers.0.vendor: the catalogue does not know this provider; it knows acme, bolt"],
    ["known_models: true", "providers.0.known_models: the catalogue does not know this provider"],
  ])("is refused for an unknown model: %s", (field, message) => {
    expect(() => load(`providers: [{id: x, dialect: chat, base_url: "http://x/v1", ${field}}]`)).toThrow(message);
  });

  test("does not hide a mistake in the file", () => {
    expect(() => load(`providers: ${quiet}\nmodels: {id: x}`)).toThrow(/models: /);
    expect(() => load(`providers: ${quiet}\nmodels: [7, {id: acme/large, endpoints: [3]}]`)).toThrow(
      /models\.0: [^]*models\.1\.endpoints\.0: /,
    );
    expect(() => load(`providers: {a: b}`)).toThrow(/providers: /);
  });
});

describe("known data of a model with a cloud's own name", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-clouds-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const known = readSeed(join(root, "inference-svc/models/catalog/seed.json"));
  const maker = (name: string) =>
    known.models.flatMap(({ endpoints }) => endpoints).find((offer) => offer.upstream_model === name);
  const bedrock = "{id: p, dialect: converse, aws: {region: eu-west-3}}";
  const vertex = (dialect: string, location: string) =>
    `{id: p, dialect: ${dialect}, google: {project: acme, location: ${location}}}`;
  const foundry = "{id: p, dialect: messages, azure: {resource: acme}, api_keys: [k]}";
  const vertexUrl = "https://europe-west1-aiplatform.googleapis.com/v1/projects/a/locations/europe-west1/publishers";

  function load(provider: string, name: string) {
    const path = join(folder, "sluice.yaml");
    writeFileSync(
      path,
      `providers: [${provider}]\nmodels: [{id: team/m, endpoints: [{provider: p, upstream_model: "${name}"}]}]`,
    );
    return loadConfig(path, {}, known).file.models[0]?.endpoints[0];
  }

  // The price of the maker's own API for global endpoints, a tenth more for regional ones.
  test.each([
    ["anthropic.claude-haiku-4-5-20251001-v1:0", bedrock, "claude-haiku-4-5", 1.1],
    ["us.anthropic.claude-haiku-4-5-20251001-v1:0", bedrock, "claude-haiku-4-5", 1.1],
    ["eu.anthropic.claude-sonnet-4-6", bedrock, "claude-sonnet-4-6", 1.1],
    ["apac.anthropic.claude-sonnet-4-5-20250929-v1:0", bedrock, "claude-sonnet-4-5", 1.1],
    ["us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0", bedrock, "claude-sonnet-4-5", 1.1],
    ["global.anthropic.claude-opus-4-6-v1", bedrock, "claude-opus-4-6", 1],
    [
      "arn:aws:bedrock:us-east-1:012345678901:inference-profile/us.anthropic.claude-opus-4-5-20251101-v1:0",
      bedrock,
      "claude-opus-4-5",
      1.1,
    ],
    ["claude-haiku-4-5@20251001", vertex("messages", "global"), "claude-haiku-4-5", 1],
    ["claude-haiku-4-5@20251001", vertex("messages", "eu"), "claude-haiku-4-5", 1.1],
    ["claude-opus-4-6@default", vertex("messages", "global"), "claude-opus-4-6", 1],
    ["claude-sonnet-5", vertex("messages", "global"), "claude-sonnet-5", 1],
    [
      "claude-haiku-4-5@20251001",
      `{id: p, dialect: messages, base_url: "${vertexUrl}/anthropic"}`,
      "claude-haiku-4-5",
      1.1,
    ],
    ["gemini-2.5-flash", vertex("gemini", "europe-west1"), "gemini-2.5-flash", 1],
    ["gemini-2.5-flash-001", vertex("gemini", "global"), "gemini-2.5-flash", 1],
    ["claude-haiku-4-5", foundry, "claude-haiku-4-5", 1],
  ])("%s at %s is %s, at %d times its price", (name, provider, own, factor) => {
    const endpoint = load(provider, name);
    const offer = maker(own);
    const ownApi = new Set(["anthropic_betas", "context_management", "message.system", "thinking.updates"]);
    expect(endpoint?.upstream_model).toBe(name);
    expect(endpoint?.supported_parameters).toEqual(offer?.supported_parameters.filter((each) => !ownApi.has(each)));
    const price = (pricing: unknown) => Number((pricing as { prompt?: string } | undefined)?.prompt);
    expect(price(endpoint?.pricing)).toBeCloseTo(price(offer?.pricing) * factor, 9);
  });

  test.each([
    ["a model that is not in the catalogue", bedrock, "us.anthropic.claude-3-7-sonnet-20250219-v1:0"],
    ["a model of another maker", bedrock, "us.amazon.nova-2-lite-v1:0"],
    [
      "an application's own profile",
      bedrock,
      "arn:aws:bedrock:us-east-1:012345678901:application-inference-profile/x1",
    ],
    ["a server that nobody knows", '{id: p, dialect: messages, base_url: "http://127.0.0.1:1"}', "claude-haiku-4-5"],
    ["another format", vertex("chat", "global"), "claude-haiku-4-5@20251001"],
  ])("is absent for %s", (_, provider, name) => {
    expect(load(provider, name)?.supported_parameters).toBeUndefined();
    expect(load(provider, name)?.pricing).toBeUndefined();
  });
});
