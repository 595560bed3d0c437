import { afterAll, describe, expect, test } from "@jest/globals";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "@sluice/proto/config/config-file.js";
import { readSeed } from "@sluice/proto/config/seed.js";
import { root, runProgram } from "../../../support/processes.ts";

const catalog = join(root, "inference-svc/models/catalog");
const seed = readSeed(join(catalog, "seed.json"));

describe("the seeded catalogue", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-catalogue-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  test("is the result of models.yaml, scores.yaml and the installed price list on its day (npm run catalogue)", async () => {
    const made = await runProgram(process.execPath, [join(catalog, "refresh.mjs"), "--print", seed.date], {
      cwd: root,
    });
    expect(made.stderr).toBe("");
    expect(JSON.parse(made.stdout)).toEqual(seed);
  });

  /** The whole catalogue of every vendor, as served to an operator. */
  function everything() {
    const providers = Object.keys(seed.vendors).map((vendor) => ({
      id: vendor,
      dialect: "chat",
      base_url: "http://127.0.0.1:1/v1",
      vendor,
      known_models: true,
    }));
    const path = join(folder, "sluice.yaml");
    writeFileSync(path, JSON.stringify({ providers }));
    return loadConfig(path, {}, seed).file;
  }

  /** Why a thinking model of the chat format takes no reasoning back. */
  const hidden: Readonly<Record<string, string>> = {
    // https://docs.x.ai/developers/model-capabilities/text/best-practices
    xai: "the format has no field for its sealed thoughts, which only the Responses API gives and takes",
  };

  // A model without its earlier reasoning thinks worse, or answers 400 at its second turn.
  test("states how every model of the chat format gets its reasoning back", () => {
    const variables = Object.fromEntries(
      ["MISTRAL", "GROQ", "DEEPSEEK", "XAI", "MOONSHOT"].map((vendor) => [`${vendor}_API_KEY`, "k"]),
    );
    const { file } = loadConfig(join(root, "deploy/local/sluice.yaml"), variables, seed);
    const chat = new Set(file.providers.filter(({ dialect }) => dialect === "chat").map(({ id }) => id));
    expect(chat.size).toBeGreaterThanOrEqual(4);
    const thinking = file.models.flatMap(({ id, endpoints }) =>
      endpoints.flatMap(({ provider, supported_parameters: names = [] }) =>
        chat.has(provider) && names.includes("reasoning") ? [{ id, provider, names }] : [],
      ),
    );
    const makers = new Set(thinking.map(({ provider }) => provider));
    expect(makers).toEqual(new Set(["mistral", "groq", "deepseek", "xai", "moonshotai"]));
    const way = /^(reasoning_content|reasoning_details\..+|message\.(reasoning|thinking))$/;
    const forgetful = thinking.filter(
      ({ names, provider }) => !(provider in hidden) && !names.some((name) => way.test(name)),
    );
    expect(forgetful.map(({ id }) => id)).toEqual([]);
  });

  // Both vendors answer 400 to a call in the history without its reasoning; `npm start` serves both with a single variable.
  test.each(["deepseek", "moonshotai"])("sends the reasoning of every model of %s back", (vendor) => {
    const { models } = everything();
    const parameters = models.flatMap(({ endpoints }) =>
      endpoints.filter(({ provider }) => provider === vendor).map(({ supported_parameters: names }) => names ?? []),
    );
    expect(parameters.length).toBeGreaterThan(0);
    for (const names of parameters) expect(names).toEqual(expect.arrayContaining(["reasoning", "reasoning_content"]));
  });

  test("is served completely, every model with a priced endpoint", () => {
    const { models } = everything();
    expect(models.map(({ id }) => id)).toEqual(seed.models.map(({ id }) => id));
    expect(models.length).toBeGreaterThan(40);
    const unpriced = models.filter(({ endpoints }) => endpoints.some(({ pricing }) => pricing === undefined));
    expect(unpriced).toEqual([]);
  });

  test("is limited by the default configuration file to vendors with a key", () => {
    const { file, leftOut } = loadConfig(join(root, "deploy/local/sluice.yaml"), { ANTHROPIC_API_KEY: "k" }, seed);
    const makers = new Set(file.models.map(({ id }) => id.split("/")[0]));
    expect([...makers]).toEqual(["sluice", "anthropic"]);
    expect(new Set(file.providers.map(({ name }) => name))).toEqual(new Set(["Sluice", "Anthropic"]));
    expect(leftOut).toContainEqual({ provider: "openai", unset: ["OPENAI_API_KEY"] });
    const opus = file.models.find(({ id }) => id === "anthropic/claude-opus-5.5");
    expect(opus).toMatchObject({ name: "Claude Opus 5.5", context_length: 1_000_000, max_output_tokens: 128_000 });
    expect(opus?.endpoints[0]?.upstream_model).toBe("claude-opus-5-5");
  });

  test("has plausible prices, such as output at a tenth of the input price or more, and cached input below it", () => {
    const strange = everything().models.flatMap(({ id, endpoints, output_modalities: output }) =>
      endpoints.flatMap(({ provider, pricing }) => {
        const { above = [], ...usual } = pricing ?? { prompt: "0", completion: "0" };
        const sane = [usual, ...above].every(
          ({ prompt, completion, cache_read: cached = "0" }) =>
            Number(prompt) >= Number(usual.prompt) &&
            Number(prompt) > 0 &&
            (output.includes("embeddings")
              ? completion === "0"
              : Number(completion) >= Number(prompt) / 10 && Number(cached) < Number(prompt)),
        );
        return sane ? [] : [`${id} at ${provider}`];
      }),
    );
    expect(strange).toEqual([]);
  });

  test("has scores on one scale, by task where the source gives them, equal to those of the file", () => {
    const models = everything().models.filter(({ output_modalities: output }) => !output.includes("embeddings"));
    expect(models.filter(({ scores }) => scores === undefined).map(({ id }) => id)).toEqual([
      "mistralai/codestral-2508",
    ]);
    const scores = new Map(models.map(({ id, scores: of = {} }) => [id, of]));
    expect([...scores.values()].flatMap((of) => Object.values(of)).filter((score) => score < 0 || score > 1)).toEqual(
      [],
    );
    const tasks = [...scores.values()].filter((of) => ["coding", "math", "writing"].every((task) => task in of));
    expect(tasks.length).toBeGreaterThan(45);
    // LiveBench prints 80.2 for GPT-5.5 over all categories of its newest release; it defines the scale.
    expect(scores.get("openai/gpt-5.5")).toMatchObject({ general: 0.802 });
    const own = join(folder, "own.yaml");
    const provider = { id: "openai", dialect: "chat", base_url: "https://api.openai.com/v1", known_models: true };
    const model = { id: "openai/gpt-5.5", endpoints: [{ provider: "openai" }], scores: { coding: 7 } };
    writeFileSync(own, JSON.stringify({ providers: [provider], models: [model] }));
    expect(loadConfig(own, {}, seed).file.models[0]?.scores).toEqual({ coding: 7 });
  });

  test("has plausible limits, and hosts of one vendor each", () => {
    const { models } = everything();
    const strange = models.filter(
      ({ context_length: all, max_output_tokens: most = 1, output_modalities: output }) =>
        all < (output.includes("embeddings") ? 2_048 : 8_192) || most > all || most < 1,
    );
    expect(strange.map(({ id }) => id)).toEqual([]);
    const hosts = Object.values(seed.vendors).flatMap((vendor) => vendor.hosts);
    expect(new Set(hosts).size).toBe(hosts.length);
  });
});
