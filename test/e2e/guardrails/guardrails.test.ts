/** Guardrails over HTTP, with running services: accepted bodies, and their effect on the very next request. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { validateError } from "../../support/answers/published.ts";

interface Answer {
  data: { id: string; name: string; description: string | null; content_filters: unknown[] | null };
  total_count: number;
  error: { message: string; metadata?: { patterns?: string[] } };
}

describe("guardrails over HTTP", () => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await startInstallation({
      config: `
providers:
  - {id: sluice, dialect: echo}
models:
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
detectors:
  - {id: names, dialect: presidio, base_url: "http://127.0.0.1:9", categories: {person-name: [PERSON], place: [GPE]}}
  - {id: guard, dialect: tei, base_url: "http://127.0.0.1:9", categories: {prompt-injection: [INJECTION]}}
`,
    });
  });
  afterAll(() => installation?.stop());

  async function manage(method: string, path: string, body?: unknown, key = installation.managementKey) {
    const response = await fetch(`${installation.baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Answer };
  }

  const block = (pattern: string, label?: string) => ({
    pattern,
    action: "block",
    ...(label !== undefined && { label }),
  });
  const make = async (body: object) => (await manage("POST", "/guardrails", { name: "g", ...body })).body.data;
  const give = (id: string) =>
    manage("POST", `/guardrails/${id}/assignments/keys`, { key_hashes: [hashKey(installation.apiKey)] });
  const turn = (input: string) => manage("POST", "/responses", { model: "sluice/echo", input }, installation.apiKey);

  test("are shown as they were made, with every field of the known shape", async () => {
    const filters = [block("secret-\\d+", "Secret"), block("code red")];
    const made = await manage("POST", "/guardrails", {
      name: "no secrets",
      description: "For everybody",
      content_filters: filters,
      limit_usd: null,
      include_byok_in_budgets: false,
      allowed_models: null,
    });
    expect(made.status).toBe(201);
    expect(made.body.data).toMatchObject({
      name: "no secrets",
      description: "For everybody",
      content_filters: [
        { pattern: "secret-\\d+", action: "block", label: "Secret" },
        { pattern: "code red", action: "block", label: null },
      ],
      limit_usd: null,
      content_filter_builtins: null,
      judge_rules: null,
      detectors: null,
      workspace_id: "00000000-0000-4000-8000-000000000001",
    });
    expect((await manage("GET", `/guardrails/${made.body.data.id}`)).body).toEqual(made.body);
  });

  test("are shown with models, providers and built-in filters; a change affects only its named fields", async () => {
    const rules = {
      content_filters: [{ pattern: "x", action: "flag", label: "X" }],
      content_filter_builtins: [
        { slug: "email", action: "redact" },
        { slug: "regex-prompt-injection", action: "flag", scan_scope: "user_only" },
      ],
      judge_rules: [
        { rule: "Never promises a refund.", action: "flag", threshold: 0.9, label: "refunds" },
        { rule: "Stays polite.", action: "block" },
      ],
      detectors: [
        { detector: "names", category: "person-name", action: "redact", threshold: 0.6, label: "[NAME]" },
        { detector: "guard", category: "prompt-injection", action: "block" },
      ],
      applies_to: "output",
      mode: "audit",
      on_error: "open",
      allowed_models: ["acme/large"],
      ignored_providers: ["borealis", "cumulus/flex"],
      enforce_zdr_groups: { acme: true, other: false },
      enable_free_model_publication: false,
      allowed_data_regions: ["europe"],
    };
    const made = await manage("POST", "/guardrails", {
      name: "g",
      enforce_zdr: true,
      enforce_zdr_xai: false,
      ...rules,
    });
    const [email, injection] = rules.content_filter_builtins;
    const [refunds, polite] = rules.judge_rules;
    const [names, guard] = rules.detectors;
    const shown = {
      ...rules,
      content_filter_builtins: [
        { ...email, label: "[EMAIL]" },
        { ...injection, label: "[PROMPT_INJECTION]" },
      ],
      judge_rules: [refunds, { ...polite, threshold: 0.7, label: null }],
      detectors: [names, { ...guard, threshold: null, label: null }],
      enforce_zdr: null,
      enforce_zdr_anthropic: true,
      enforce_zdr_other: true,
      enforce_zdr_xai: false,
      ignored_models: null,
      enable_paid_model_training: null,
      workspace_default: false,
    };
    expect(made.body.data).toMatchObject(shown);
    const change = { enforce_zdr_xai: true, allowed_models: null, mode: null, enforce_zdr_groups: null };
    const changed = await manage("PATCH", `/guardrails/${made.body.data.id}`, change);
    expect(changed.body.data).toMatchObject({ ...shown, ...change, mode: "enforce", enforce_zdr: true });
  });

  test("restrict the models, from the very next request on", async () => {
    const { id } = await make({ allowed_models: ["acme/large"] });
    await give(id);
    const refused = await turn("hello");
    expect([refused.status, refused.body.error]).toMatchObject([
      403,
      {
        message: "No endpoint may serve this request: sluice/echo is not a model that a guardrail allows",
        metadata: { error_type: "permission_denied", availability: { excluded_by: { allowed_models: 1 } } },
      },
    ]);
    expect(validateError(403, refused.body)).toEqual([]);
    await manage("PATCH", `/guardrails/${id}`, { allowed_models: ["acme/large", "sluice/echo"] });
    expect((await turn("hello")).status).toBe(200);
    await manage("PATCH", `/guardrails/${id}`, { enforce_zdr: true, allowed_data_regions: ["us"] });
    expect((await turn("hello")).status).toBe(403);
    await manage("DELETE", `/guardrails/${id}`);
    expect((await turn("hello")).status).toBe(200);
  });

  test("of the workspace hold for keys without a guardrail, from the very next request on", async () => {
    const { id } = await make({ content_filters: [block("office rule")] });
    expect((await turn("by office rule")).status).toBe(200);
    await manage("PATCH", `/guardrails/${id}`, { workspace_default: true });
    expect((await turn("by office rule")).status).toBe(403);
    await manage("DELETE", `/guardrails/${id}`);
    expect((await turn("by office rule")).status).toBe(200);
  });

  test("are in force on the very next request when changed or deleted", async () => {
    const { id } = await make({ content_filters: [block("round 0")] });
    await give(id);
    for (let round = 1; round <= 20; round++) {
      expect((await turn(`this is round ${round}`)).status).toBe(200);
      await manage("PATCH", `/guardrails/${id}`, { content_filters: [block(`round ${round}$`)] });
      const blocked = await turn(`this is round ${round}`);
      expect([blocked.status, blocked.body.error?.metadata?.patterns]).toEqual([403, [`round ${round}$`]]);
    }
    const cleared = await manage("PATCH", `/guardrails/${id}`, { content_filters: null });
    expect(cleared.body.data.content_filters).toBeNull();
    expect((await turn("this is round 20")).status).toBe(200);
    await manage("PATCH", `/guardrails/${id}`, { content_filters: [block("round")] });
    expect((await turn("this is round 20")).status).toBe(403);
    const gone = await manage("DELETE", `/guardrails/${id}`);
    expect([gone.status, gone.body]).toEqual([200, { deleted: true }]);
    expect((await turn("this is round 20")).status).toBe(200);
    expect((await manage("GET", `/guardrails/${id}`)).status).toBe(404);
    expect((await manage("DELETE", `/guardrails/${id}`)).status).toBe(404);
    expect((await give(id)).status).toBe(404);
  });

  const unavailable = [["include_byok_in_budgets", true]] as const;
  test.each(unavailable)("with a wrong %s are refused by its name, and not stored", async (field, value) => {
    const { id } = await make({});
    const before = await manage("GET", "/guardrails?limit=1");
    for (const answer of [
      await manage("POST", "/guardrails", { name: "x", [field]: value }),
      await manage("PATCH", `/guardrails/${id}`, { name: "x", [field]: value }),
    ]) {
      expect([answer.status, answer.body.error.message]).toEqual([
        400,
        expect.stringMatching(`^${field}: .* not available yet$`),
      ]);
    }
    expect((await manage("GET", "/guardrails?limit=1")).body).toEqual(before.body);
    expect((await manage("GET", `/guardrails/${id}`)).body.data.name).toBe("g");
  });

  test.each<[unknown, string]>([
    [{}, "name: required"],
    [{ name: "x".repeat(201) }, "name: at most 200 characters"],
    [{ name: "x", description: "x".repeat(1_001) }, "description: at most 1000 characters"],
    [{ name: "x", filters: [] }, "filters: unknown field"],
    [{ name: "x", content_filters: {} }, "content_filters: must be an array or null"],
    [{ name: "x", content_filters: [{ pattern: "x" }] }, "content_filters.0.action: required"],
    [{ name: "x", content_filters: [{ action: "block" }] }, "content_filters.0.pattern: required"],
    [
      { name: "x", content_filters: [{ pattern: "x", action: "warn" }] },
      "content_filters.0.action: must be one of block, redact, flag",
    ],
    [
      { name: "x", content_filter_builtins: [{ slug: "email", action: "block", scan_scope: "user_only" }] },
      "content_filter_builtins.0.scan_scope: only of regex-prompt-injection",
    ],
    [
      { name: "x", detectors: [{ detector: "nobody", category: "person-name", action: "block" }] },
      "detectors.0.detector: the configuration file has no detector nobody, but names, guard",
    ],
    [
      { name: "x", detectors: [{ detector: "names", category: "toString", action: "block" }] },
      "detectors.0.category: the configuration file gives detector names no category toString, but person-name, place",
    ],
    [{ name: "x", detectors: [{ detector: "names", category: "place" }] }, "detectors.0.action: required"],
    [{ name: "x", applies_to: "all" }, "applies_to: must be one of input, output, both"],
    [{ name: "x", mode: "shadow" }, "mode: must be one of enforce, audit"],
    [{ name: "x", on_error: true }, "on_error: must be a string or null"],
    [{ name: "x", workspace_default: null }, "workspace_default: must be true or false"],
    [{ name: "x", allowed_models: [] }, "allowed_models: at least 1 entry"],
    [{ name: "x", enforce_zdr: "yes" }, "enforce_zdr: must be true or false or null"],
    [{ name: "x", enforce_zdr_groups: { acme: null } }, "enforce_zdr_groups.acme: must be true or false"],
    [{ name: "x", allowed_data_regions: ["asia"] }, "allowed_data_regions.0: must be one of global, europe, us"],
    [{ name: "x", content_filters: [{ ...block("x"), scope: 1 }] }, "content_filters.0.scope: unknown field"],
    [{ name: "x", content_filters: [block("x", "")] }, "content_filters.0.label: at least 1 character"],
    [{ name: "x", content_filters: [block("x", "l".repeat(101))] }, "content_filters.0.label: at most 100 characters"],
    [
      { name: "x", content_filters: [block("(a+)\\1")] },
      "content_filters.0.pattern: back-references are not supported: patterns must match in linear time",
    ],
    [{ name: "x", content_filters: Array(101).fill(block("x")) }, "content_filters: at most 100 elements"],
    [{ name: "x".repeat(1_048_576) }, "Request payload too large: at most 1048576 bytes"],
  ])("are refused with 400 for POST %.60j", async (body, message) => {
    const answer = await manage("POST", "/guardrails", body);
    expect([answer.status, answer.body.error.message]).toEqual([400, message]);
  });

  test("may have the largest pattern, in any spelling of its characters", async () => {
    const body = JSON.stringify({ name: "x", content_filters: [block("y".repeat(99_999))] });
    const escaped = body.replace(/y{99999}/, `\\u0078${"\u{1d4b3}".repeat(99_999)}`);
    expect((await manage("POST", "/guardrails", escaped)).status).toBe(201);
  });

  test("refuse an empty change with 400", async () => {
    const { id } = await make({});
    const answer = await manage("PATCH", `/guardrails/${id}`, {});
    expect([answer.status, answer.body.error.message]).toEqual([400, "body: at least one field"]);
  });

  test.each(["00000000-0000-4000-8000-0000000000ff", "x", "..%2fkeys", "550E8400-E29B-41D4-A716-446655440000"])(
    "are not found by the id %s: 404",
    async (id) => {
      for (const method of ["GET", "DELETE", "PATCH"]) {
        const answer = await manage(method, `/guardrails/${id}`, method === "PATCH" ? { name: "x" } : undefined);
        expect([answer.status, answer.body.error.message]).toEqual([404, "Guardrail not found"]);
      }
    },
  );

  test("are forbidden for an inference key", async () => {
    const { id } = await make({});
    for (const [method, path, body] of [
      ["GET", "/guardrails"],
      ["POST", "/guardrails", { name: "x" }],
      ["GET", `/guardrails/${id}`],
      ["PATCH", `/guardrails/${id}`, { name: "x" }],
      ["DELETE", `/guardrails/${id}`],
    ] as const) {
      expect((await manage(method, path, body, installation.apiKey)).status).toBe(403);
      expect((await manage(method, path, body, "x")).status).toBe(401);
    }
  });

  test("show their keys, and all assignments", async () => {
    const { id } = await make({});
    await give(id);
    const hash = hashKey(installation.apiKey);
    const expected = {
      data: [
        {
          id: expect.stringMatching(/^[0-9a-f-]{36}$/),
          guardrail_id: id,
          key_hash: hash,
          key_name: "bootstrap",
          key_label: `${installation.apiKey.slice(0, 10)}...${installation.apiKey.slice(-4)}`,
          assigned_by: hashKey(installation.managementKey),
          created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        },
      ],
      total_count: 1,
      next_cursor: null,
    };
    const mine = `/guardrails/${id}/assignments/keys`;
    const all = "/guardrails/assignments/keys";
    for (const path of [mine, all]) {
      expect(await manage("GET", path)).toEqual({ status: 200, body: expected });
      expect((await manage("GET", `${path}?offset=1&limit=1`)).body).toEqual({
        data: [],
        total_count: 1,
        next_cursor: null,
      });
      expect((await manage("GET", `${path}?limit=101`)).body.error.message).toBe("limit: must be between 1 and 100");
      expect((await manage("GET", `${path}?guardrail=x`)).body.error.message).toBe("guardrail: unknown field");
      expect((await manage("GET", path, undefined, installation.apiKey)).status).toBe(403);
    }
    expect((await manage("GET", "/guardrails/x/assignments/keys")).body.error.message).toBe("Guardrail not found");
    await manage("DELETE", `/guardrails/${id}`);
    expect((await manage("GET", all)).body).toEqual({ data: [], total_count: 0, next_cursor: null });
    expect((await manage("GET", mine)).status).toBe(404);
  });

  test("are listed in pages", async () => {
    const { total_count: before } = (await manage("GET", "/guardrails")).body;
    const made = [(await make({ name: "a" })).id, (await make({ name: "b" })).id];
    const page = (await manage("GET", `/guardrails?offset=${before}&limit=1`)).body as unknown as {
      data: { id: string }[];
    };
    expect(page.data.map(({ id }) => id)).toEqual(made.slice(0, 1));
    expect((await manage("GET", "/guardrails?limit=100")).body.total_count).toBe(before + 2);
    expect((await manage("GET", "/guardrails?limit=101")).body.error.message).toBe("limit: must be between 1 and 100");
    const foreign = await manage("GET", "/guardrails?workspace_id=00000000-0000-4000-8000-000000000002");
    expect([foreign.status, foreign.body.error.message]).toEqual([404, "Workspace not found"]);
  });
});
