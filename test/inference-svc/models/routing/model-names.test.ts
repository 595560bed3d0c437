/** Names of models in requests, and the slugs behind them. */
import { describe, expect, test } from "@jest/globals";
import { Catalog } from "@sluice/inference-svc/models/routing/catalog.js";
import { ModelNames, type NamedAlias } from "@sluice/inference-svc/models/routing/model-names.js";
import { testRequest, testConfig, newScope, openEngine, runTestTurn } from "../../asking.js";

const slugs = [
  "anthropic/claude-sonnet-4.5",
  "anthropic/claude-opus-5.5",
  "openai/gpt-4o",
  "openai/gpt-4o-2024-05-13",
  "openai/shared",
  "other/shared",
  "maker/team/odd",
  "sluice/echo",
];
const names = (...aliases: NamedAlias[]) =>
  new ModelNames(slugs, aliases, [
    ["claude-sonnet-4-5", "anthropic/claude-sonnet-4.5"],
    ["gpt-4o", "openai/gpt-4o"],
  ]);

describe("the name of a model", () => {
  test.each([
    ["a slug", "openai/gpt-4o", "openai/gpt-4o"],
    ["without its author", "gpt-4o", "openai/gpt-4o"],
    ["with its variant", "gpt-4o:nitro", "openai/gpt-4o:nitro"],
    ["of a vendor", "claude-sonnet-4-5", "anthropic/claude-sonnet-4.5"],
    ["of a vendor, with the author", "anthropic/claude-opus-5-5", "anthropic/claude-opus-5.5"],
    ["in other letters", "GPT-4o", "openai/gpt-4o"],
    ["with a date of eight digits", "claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4.5"],
    ["with a date behind an at sign", "claude-sonnet-4-5@20250929", "anthropic/claude-sonnet-4.5"],
    ["with a date of three numbers", "gpt-4o-2024-08-06", "openai/gpt-4o"],
    ["with a date that is in the catalogue", "gpt-4o-2024-05-13", "openai/gpt-4o-2024-05-13"],
    ["with the author and a date", "openai/gpt-4o-2024-08-06", "openai/gpt-4o"],
    ["of the latest version", "claude-opus-5-5-latest", "anthropic/claude-opus-5.5"],
    ["with two parts of an author", "team/odd", "maker/team/odd"],
    ["of two authors", "shared", undefined],
    ["of a router", "service/auto", undefined],
    ["of no author", "claude-sonnet-9", undefined],
    ["with a short number", "gpt-4o-0806", undefined],
  ])("%s leads to the expected model", (_, name, slug) => {
    const all = names();
    expect([all.resolve(name), all.resolve(name)]).toEqual([slug, slug]);
  });

  test("that is unknown is answered with the nearest name, and with the path of the list", () => {
    const list = "; GET /api/v1/models lists the models";
    expect(names().explain("claude-opus-5-6")).toBe(
      `is not in the catalogue; did you mean anthropic/claude-opus-5.5${list}`,
    );
    expect(names().explain("x".repeat(300))).toBe(`is not in the catalogue${list}`);
    expect(names().explain("shared")).toBe("stands for several models: openai/shared, other/shared");
  });

  test("costs a bounded amount of memory", () => {
    const all = names();
    for (let index = 0; index < 20_000; index++) expect(all.resolve(`made-up-${index}`)).toBeUndefined();
    expect(all.resolve("gpt-4o")).toBe("openai/gpt-4o");
  });
});

describe("aliases of models", () => {
  const aliased = names(
    { match: "claude-opus-*", model: "anthropic/claude-opus-5.5" },
    { match: "claude-*", model: "sluice/echo" },
    { match: "fast", model: "openai/gpt-4o:nitro" },
    { match: "*-mini*", model: "service/auto" },
    { match: "openai/*", model: "sluice/echo" },
  );

  test.each([
    ["claude-opus-4-1-20250805", "anthropic/claude-opus-5.5"],
    ["claude-sonnet-4-5", "sluice/echo"],
    ["claude-", "sluice/echo"],
    ["claude", undefined],
    ["fast", "openai/gpt-4o:nitro"],
    ["fast:floor", "openai/gpt-4o:nitro"],
    ["gpt-5-mini-2025", "service/auto"],
    ["openai/unknown", "sluice/echo"],
    ["openai/gpt-4o", "openai/gpt-4o"],
    ["service/auto-mini", undefined],
  ])("%s leads to its model", (name, slug) => expect(aliased.resolve(name)).toBe(slug));
});

test("models of the catalogue are found by all their names", () => {
  const catalog = new Catalog(
    testConfig({
      providers: [{ id: "p", dialect: "echo" }],
      models: [{ id: "a/b-1.5", endpoints: [{ provider: "p", upstream_model: "b-large" }] }],
      aliases: [{ match: "c-*", model: "a/b-1.5" }],
    }),
  );
  for (const name of ["a/b-1.5", "b-1.5", "b-1-5", "b-large", "b-large-20250929", "c-9"])
    expect(catalog.find(name)?.model.settings.id).toBe("a/b-1.5");
  expect(catalog.find("b-1.5:floor")).toMatchObject({ variant: "floor" });
});

test("a model requested by two names is one model", async () => {
  const engine = openEngine(
    testConfig({
      providers: [{ id: "p", dialect: "echo" }],
      models: [{ id: "a/b", endpoints: [{ provider: "p" }] }],
    }),
  );
  const testScope = newScope();
  await runTestTurn(engine.turn, testRequest({ models: ["b", "a/b"], stream: false }), testScope);
  await engine.upstreams.close();
  expect(testScope.scope.trace.candidates).toHaveLength(1);
});
