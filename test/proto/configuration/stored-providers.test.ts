/** Providers of the database beside those of the configuration file: what each adds, and what it never changes. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { loadConfig } from "@sluice/proto/config/config-file.js";
import type { Seed } from "@sluice/proto/config/seed.js";
import { destinationOf } from "@sluice/proto/config/stored-providers.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";

const offer = (vendor: string) => ({
  vendor,
  upstream_model: "large-2",
  pricing: { prompt: "2", completion: "8" },
  supported_parameters: ["tools"],
});

const seed: Seed = {
  date: "2026-11-21",
  vendors: {
    acme: { name: "Acme", hosts: ["api.acme.test"] },
    bolt: { name: "Bolt", hosts: ["api.bolt.test"] },
  },
  models: [
    { id: "acme/large", name: "Acme Large", endpoints: [offer("acme"), offer("bolt")] },
    { id: "acme/small", name: "Acme Small", endpoints: [{ ...offer("acme"), upstream_model: "small-2" }] },
  ],
};

const folder = mkdtempSync(join(tmpdir(), "sluice-stored-"));
afterAll(() => rmSync(folder, { recursive: true }));

function combine(file: string, ...stored: (JsonObject & { readonly id: string })[]) {
  const path = join(folder, "sluice.yaml");
  writeFileSync(path, file);
  const combined = loadConfig(path, {}, seed).combine(stored.map(({ id, ...settings }) => ({ id, settings })));
  const served = Object.fromEntries(
    combined.file.models.map(({ id, endpoints }) => [id, endpoints.map(({ provider }) => provider)]),
  );
  return { served, refused: Object.fromEntries(combined.refused), models: combined.file.models };
}

const acme = { dialect: "chat", base_url: "https://api.acme.test/v1" };
const bolt = { dialect: "chat", base_url: "https://api.bolt.test/v1" };
const server = { dialect: "chat", base_url: "http://127.0.0.1:8000/v1" };

const fileWith = (rest: string, known = false) =>
  `providers: [{id: filed, dialect: chat, base_url: "https://api.acme.test/v1", known_models: ${known}}]\n${rest}`;

describe("a model of the configuration file", () => {
  const listed = fileWith("models: [{id: acme/large, endpoints: [{provider: filed, upstream_model: other}]}]");

  test("keeps its endpoints next to known models of stored providers", () => {
    const { served, refused } = combine(listed, { id: "a", ...acme, known_models: true });
    expect([served, refused]).toEqual([{ "acme/large": ["filed"], "acme/small": ["a"] }, {}]);
  });

  test("keeps its endpoints where the file serves it by known_models", () => {
    const { served } = combine(fileWith("", true), { id: "a", ...acme, known_models: true, models: ["mine"] });
    expect(served).toEqual({ "acme/large": ["filed"], "acme/small": ["filed"], "a/mine": ["a"] });
  });

  test.each([
    ["listed", { id: "b", ...server, models: [{ id: "acme/large" }] }],
    ["known", { id: "b", ...bolt, known_models: true }],
  ])("is the reason against a stored provider whose only model, a %s one, it is", (_, provider) => {
    const { served, refused } = combine(listed, provider);
    expect(served).toEqual({ "acme/large": ["filed"] });
    expect(refused).toEqual({ b: expect.stringMatching(/^models: the configuration file/) });
  });
});

describe("a model of a stored provider", () => {
  const own = { id: "own", ...server, models: [{ id: "acme/large", endpoints: [{ upstream_model: "mine" }] }] };

  test("has its listed endpoints, then those of other providers that know it", () => {
    const { served, models } = combine("echo: false\n", own, { id: "a", ...acme, known_models: true });
    expect(served).toEqual({ "acme/large": ["own", "a"], "acme/small": ["a"] });
    expect(models[0]?.endpoints).toMatchObject([{ upstream_model: "mine" }, { upstream_model: "large-2" }]);
  });

  test("has only the listed endpoints of a provider that lists and knows it", () => {
    const listing = { id: "a", ...acme, known_models: true, models: [{ id: "acme/large" }] };
    const { served } = combine("echo: false\n", listing);
    expect(served).toEqual({ "acme/large": ["a"], "acme/small": ["a"] });
  });
});

describe("the address of a stored provider", () => {
  const problem = (url: string) => {
    const { refused } = combine("echo: false\n", { id: "x", dialect: "chat", base_url: url, models: ["m"] });
    return refused["x"];
  };

  test.each([
    "http://169.254.169.254/latest",
    "http://2852039166/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/",
    "http://[fd20:ce::254]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:168.63.129.16]/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://192.0.0.192/",
    "http://metadata/",
    "http://METADATA.goog/v1",
    "http://metadata.google.internal./",
  ])("is refused when it is %s", (url) => {
    expect(problem(url)).toMatch(/^base_url: link-local addresses and metadata services/);
  });

  test.each(["http://127.0.0.1:8000/v1", "http://10.0.0.7/v1", "http://[fd00::7]/v1", "http://metadata.acme.test/v1"])(
    "is allowed when it is %s",
    (url) => expect(problem(url)).toBeUndefined(),
  );
});

test("a stored key belongs to the origin, the vendor and the format of its provider", () => {
  const of = (settings: JsonObject) => destinationOf({ id: "x", settings });
  const base = of({ dialect: "chat", base_url: "https://a.test/v1" });
  expect(of({ dialect: "chat", base_url: "https://A.test:443/v2", name: "A", models: ["m"] })).toBe(base);
  const others = [
    of({ dialect: "chat", base_url: "http://a.test/v1" }),
    of({ dialect: "chat", base_url: "https://a.test:8443/v1" }),
    of({ dialect: "messages", base_url: "https://a.test/v1" }),
    of({ dialect: "chat", base_url: "https://a.test/v1", vendor: "acme" }),
    of({ vendor: "acme" }),
    destinationOf({ id: "y", settings: { dialect: "chat", base_url: "https://a.test/v1" } }),
  ];
  expect(new Set([base, ...others]).size).toBe(7);
});
