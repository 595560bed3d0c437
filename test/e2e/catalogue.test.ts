/** The lists of the catalogue over HTTP: what they show of models, endpoints and providers, and what they must not show. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../support/installation.ts";
import { validate } from "../support/answers/published.ts";
import { type Upstream, chatStream, startUpstream } from "../support/providers/upstream.ts";

interface Listed {
  readonly data: readonly (Record<string, unknown> & { readonly id: string })[];
  readonly total_count: number;
  readonly links: { readonly next: string | null };
}

/** Kinds of tokens missing in a price step cost as much as its prompt tokens. */
const overrides = [
  {
    min_prompt_tokens: 200_000,
    prompt: "0.000005",
    completion: "0.000015",
    input_cache_read: "0.0000005",
    input_cache_write: "0.000005",
  },
  {
    min_prompt_tokens: 300_000,
    prompt: "0.000008",
    completion: "0.000008",
    input_cache_read: "0.000008",
    input_cache_write: "0.000008",
  },
];

describe("the lists of models and providers", () => {
  let upstream: Upstream;
  let failing: Upstream;
  let installation: Installation;

  beforeAll(async () => {
    upstream = await startUpstream([chatStream("One ", "two ", "three.")]);
    failing = await startUpstream([{ status: 500 }]);
    installation = await startInstallation({
      config: `
providers:
  - id: acme
    name: Acme
    dialect: chat
    base_url: "${upstream.url}/v1"
    api_keys: [upstream-secret]
    region: eu
    data_policy: {retention: none, training: false}
    privacy_policy_url: https://acme.example/privacy
    headquarters: NO
  - {id: bolt, dialect: chat, base_url: "${failing.url}/bolt/v1"}
  - {id: idle, dialect: echo}
models:
  - id: acme/large
    name: Acme Large
    description: Writes.
    released: 2026-01-02
    tokenizer: GPT
    context_length: 400000
    max_output_tokens: 64000
    input_modalities: [text, image]
    endpoints:
      - provider: acme
        pricing:
          {prompt: "2.5", completion: "10", cache_read: "0.25", cache_write: "3", request: "0.01", web_search: "0.02",
           above: [{input_tokens: 300000, prompt: "8", completion: "8"}, {input_tokens: 200000, prompt: "5", completion: "15", cache_read: "0.5"}]}
        supported_parameters: [max_output_tokens, tools, tool_choice, reasoning, cache_control]
        quantization: fp8
        distillable: true
      - {provider: acme, tier: priority, pricing: {prompt: "5", completion: "20"}, supported_parameters: [tools]}
      - {provider: bolt, pricing: {prompt: "3", completion: "9"}, supported_parameters: [temperature]}
  - {id: acme/small, context_length: 32000, endpoints: [{provider: bolt, pricing: {prompt: "0.1", completion: "0.4"}}]}
  - {id: maker/team/odd, endpoints: [{provider: bolt, supported_parameters: []}]}
  - {id: bare, released: 2025-06-01, endpoints: [{provider: acme, pricing: {prompt: "0", completion: "0"}}]}
`,
    });
  });
  afterAll(async () => {
    await installation?.stop();
    await upstream?.stop();
    await failing?.stop();
  });

  const get = (path: string) =>
    fetch(`${installation.baseUrl}${path}`, { headers: { authorization: `Bearer ${installation.apiKey}` } });

  async function read<Body>(path: string, schema: string): Promise<Body> {
    const answer = await get(path);
    const body: unknown = await answer.json();
    expect([answer.status, validate(schema, body)]).toEqual([200, []]);
    return body as Body;
  }

  const models = (query = "") => read<Listed>(`/models${query}`, "ModelList");
  const ids = async (query: string) => (await models(query)).data.map(({ id }) => id);

  test("show each model with its name, abilities and prices", async () => {
    const { data, ...rest } = await models();
    const page = { has_more: false, first_id: "acme/large", last_id: data.at(-1)?.id };
    expect(rest).toEqual({ object: "list", ...page, total_count: 4, links: { next: null } });
    expect(data[0]).toEqual({
      id: "acme/large",
      object: "model",
      type: "model",
      display_name: "Acme Large",
      created_at: "2026-01-02T00:00:00.000Z",
      canonical_slug: "acme/large",
      name: "Acme Large",
      created: Date.UTC(2026, 0, 2) / 1_000,
      owned_by: "acme",
      description: "Writes.",
      context_length: 400_000,
      architecture: {
        input_modalities: ["text", "image"],
        output_modalities: ["text"],
        modality: "text+image->text",
        tokenizer: "GPT",
        instruct_type: null,
      },
      pricing: {
        prompt: "0.0000025",
        completion: "0.00001",
        input_cache_read: "0.00000025",
        input_cache_write: "0.000003",
        request: "0.01",
        web_search: "0.02",
        overrides,
      },
      top_provider: { context_length: 400_000, max_completion_tokens: 64_000, is_moderated: false },
      per_request_limits: null,
      supported_parameters: [
        "max_tokens",
        "max_completion_tokens",
        "tools",
        "tool_choice",
        "reasoning",
        "include_reasoning",
        "reasoning_effort",
        "temperature",
      ],
      default_parameters: null,
      supported_voices: null,
      links: { details: "/api/v1/models/acme/large/endpoints" },
    });
    const [, small, odd] = data;
    expect(small).toMatchObject({ name: "acme/small", created: 0, description: "" });
    expect(small?.["supported_parameters"]).toContain("verbosity");
    expect(odd).toMatchObject({
      owned_by: "maker",
      pricing: { prompt: "-1", completion: "-1" },
      supported_parameters: [],
    });
  });

  test.each<[string, string[]]>([
    ["?q=LARGE", ["acme/large"]],
    ["?q=acme/", ["acme/large", "acme/small"]],
    ["?model_authors=maker,bare", ["maker/team/odd", "bare"]],
    ["?arch=gpt", ["acme/large"]],
    ["?supported_parameters=tools,reasoning", ["acme/large", "acme/small", "bare"]],
    ["?input_modalities=image,text", ["acme/large"]],
    ["?output_modalities=image", []],
    ["?output_modalities=all&context=100000", ["acme/large", "maker/team/odd", "bare"]],
    ["?max_price=0.1", ["acme/small", "bare"]],
    ["?min_price=0.1&max_price=2.5", ["acme/large", "acme/small"]],
    ["?min_price=1e-01&max_price=25E-1", ["acme/large", "acme/small"]],
    ["?min_output_price=0.4&max_output_price=9.99", ["acme/small"]],
    ["?providers=acme", ["acme/large", "bare"]],
    ["?region=eu&zdr=true", ["acme/large", "bare"]],
    ["?distillable=true", ["acme/large"]],
    ["?distillable=false&zdr=false&q=", ["acme/small", "maker/team/odd", "bare"]],
    ["?sort=pricing-low-to-high", ["bare", "acme/small", "acme/large", "maker/team/odd"]],
    ["?sort=pricing-high-to-low", ["acme/large", "acme/small", "bare", "maker/team/odd"]],
    ["?sort=context-high-to-low", ["acme/large", "maker/team/odd", "bare", "acme/small"]],
    ["?sort=newest", ["acme/large", "bare", "acme/small", "maker/team/odd"]],
    ["?category=programming", ["acme/large", "acme/small", "maker/team/odd", "bare"]],
  ])("show, for models%s, the filtered models in their order", async (query, expected) => {
    expect(await ids(query)).toEqual(expected);
  });

  test("link each page to the next", async () => {
    const seen: string[] = [];
    const sizes: number[] = [];
    for (let path: string | null = "/models?sort=newest&limit=3"; path !== null; ) {
      const page: Listed = await read<Listed>(path, "ModelList");
      expect(page.total_count).toBe(4);
      seen.push(...page.data.map(({ id }) => id));
      sizes.push(page.data.length);
      path = page.links.next?.replace("/api/v1", "") ?? null;
    }
    expect([seen, sizes]).toEqual([
      ["acme/large", "bare", "acme/small", "maker/team/odd"],
      [3, 1],
    ]);
    expect(await ids("?offset=9")).toEqual([]);
  });

  test("name every malformed parameter at once", async () => {
    const answer = await get("/models?context=many&limit=0&sort=best&zdr=yes&offset=1.5");
    const { error } = (await answer.json()) as { error: { message: string; metadata: unknown } };
    expect([answer.status, error.message]).toEqual([400, "context: must be an integer (and 4 more)"]);
    for (const name of ["context", "zdr", "sort", "offset", "limit"]) {
      expect(JSON.stringify(error.metadata)).toContain(name);
    }
  });

  test("show the endpoints of a model", async () => {
    const { data } = await read<{ data: { endpoints: unknown[] } }>("/models/acme/large/endpoints", "EndpointList");
    expect(data).toMatchObject({ id: "acme/large", name: "Acme Large", description: "Writes." });
    expect(data.endpoints).toHaveLength(3);
    expect(data.endpoints[0]).toEqual({
      name: "Acme | acme/large",
      model_id: "acme/large",
      model_name: "Acme Large",
      provider_name: "Acme",
      tag: "acme/fp8",
      service_tier: "default",
      region: "eu",
      quantization: "fp8",
      context_length: 400_000,
      max_completion_tokens: 64_000,
      max_prompt_tokens: null,
      pricing: {
        prompt: "0.0000025",
        completion: "0.00001",
        input_cache_read: "0.00000025",
        input_cache_write: "0.000003",
        request: "0.01",
        web_search: "0.02",
        overrides,
      },
      supported_parameters: [
        "max_tokens",
        "max_completion_tokens",
        "tools",
        "tool_choice",
        "reasoning",
        "include_reasoning",
        "reasoning_effort",
      ],
      supports_tool_choice: { auto: true, none: true, function: true, required: true },
      supports_implicit_caching: true,
      supports_voice_cloning: false,
      data_policy: { zero_retention: true },
      distillable: true,
      status: 0,
      uptime_last_5m: null,
      uptime_last_30m: null,
      uptime_last_1d: null,
      latency_last_30m: null,
      throughput_last_30m: null,
    });
    expect(data.endpoints.slice(1)).toMatchObject([
      { tag: "acme/priority", supports_tool_choice: { auto: true, required: false } },
      { tag: "bolt", provider_name: "bolt", supports_implicit_caching: false, data_policy: { zero_retention: false } },
    ]);
  });

  test("link every model to its endpoints, also with any slug", async () => {
    for (const { id, links } of (await models()).data) {
      const { details } = links as { details: string };
      const { data } = await read<{ data: { id: string } }>(details.replace("/api/v1", ""), "EndpointList");
      expect(data.id).toBe(id);
    }
    const { data } = await read<{ data: { id: string } }>("/models/acme/large:nitro/endpoints", "EndpointList");
    expect(data.id).toBe("acme/large");
  });

  test("show every model by itself, with its slash encoded or not, as in the list", async () => {
    for (const model of (await models()).data) {
      const [author, ...rest] = model.id.split("/");
      const slug = rest.length === 0 ? "" : `/${encodeURIComponent(rest.join("/"))}`;
      for (const path of [encodeURIComponent(model.id), `${author}${slug}`]) {
        expect(await read(`/models/${path}`, "Model")).toEqual(model);
      }
    }
    expect(await read("/models/acme/large:nitro", "Model")).toMatchObject({ id: "acme/large" });
  });

  test("count models with the same filters, on any page", async () => {
    const count = async (query: string) => (await read<{ data: unknown }>(`/models/count${query}`, "ModelCount")).data;
    expect(await count("")).toEqual({ count: 4 });
    expect(await count("?providers=acme&limit=1&offset=9&sort=any")).toEqual({ count: 2 });
    const answer = await get("/models/count?context=many");
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain("context: must be an integer");
  });

  test.each([
    ["/models/acme/none", 404, "Model not found: acme/none"],
    ["/models/acme%2Fnone", 404, "Model not found: acme/none"],
    ["/models/acme%252Flarge", 404, "Model not found: acme%2Flarge"],
    ["/models/none", 404, "Model not found: none"],
    [`/models/${"n".repeat(300)}`, 404, `Model not found: ${"n".repeat(256)}`],
    ["/models/acme/large/small", 404, "Resource not found: GET /api/v1/models/acme/large/small"],
    ["/models/%zz", 400, "model: malformed percent-encoding"],
    ["/models/acme/none/endpoints", 404, "Model not found: acme/none"],
    ["/models/acme/large/small/endpoints", 404, "Resource not found: GET /api/v1/models/acme/large/small/endpoints"],
    ["/models/acme/%zz/endpoints", 400, "slug: malformed percent-encoding"],
  ])("answer %s with the status %d", async (path, status, message) => {
    const answer = await get(path);
    const { error } = (await answer.json()) as { error: { message: string } };
    expect([answer.status, error.message]).toEqual([status, message]);
  });

  test("show providers with their names and data policies, and observed latency and uptime", async () => {
    type Providers = { data: { slug: string; status: string | null }[] };
    const before = await read<Providers>("/providers", "ProviderList");
    expect(before.data.map(({ slug, status }) => [slug, status])).toEqual([
      ["acme", null],
      ["bolt", null],
      ["idle", null],
    ]);
    expect(before.data[0]).toEqual({
      slug: "acme",
      name: "Acme",
      region: "eu",
      tiers: ["default", "priority"],
      models: 2,
      data_policy: { retention: "none", training: false },
      status: null,
      headquarters: "NO",
      datacenters: null,
      privacy_policy_url: "https://acme.example/privacy",
      terms_of_service_url: null,
      status_page_url: null,
    });
    expect(before.data[2]).toMatchObject({ name: "idle", tiers: [], models: 0, data_policy: { training: null } });

    const sendRequest = (only: string) =>
      fetch(`${installation.baseUrl}/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "acme/large", input: "Hi", stream: true, provider: { order: [only, "acme"] } }),
      }).then((answer) => answer.text());
    // Five failures in a row make an outage.
    for (let times = 0; times < 5; times++) await sendRequest("bolt");
    const after = await read<Providers>("/providers", "ProviderList");
    expect(after.data.map(({ slug, status }) => [slug, status])).toEqual([
      ["acme", "operational"],
      ["bolt", "outage"],
      ["idle", null],
    ]);
    const { data } = await read<{ data: { endpoints: Record<string, unknown>[] } }>(
      "/models/acme/large/endpoints",
      "EndpointList",
    );
    expect(data.endpoints.map((endpoint) => endpoint["status"])).toEqual([0, 0, -2]);
    const uptimes = data.endpoints.map((endpoint) =>
      ["5m", "30m", "1d"].map((span) => endpoint[`uptime_last_${span}`]),
    );
    expect(uptimes.at(-1)).toEqual([0, 0, 0]);
    expect(uptimes[0]).toEqual([100, 100, 100]);
    const [{ latency_last_30m: latency } = {}] = data.endpoints;
    const { p50, p99 } = latency as { p50: number; p99: number };
    expect(p50).toBeGreaterThan(0);
    expect(p99).toBeGreaterThanOrEqual(p50);
  });

  test("show no key, address or provider's own name of a model", async () => {
    for (const path of ["/models", "/models/acme/large/endpoints", "/providers"]) {
      const text = await (await get(path)).text();
      expect(text).not.toMatch(/upstream-secret|127\.0\.0\.1|\/bolt\/v1/);
    }
  });

  test("need a key", async () => {
    for (const path of ["/models", "/models/acme/large/endpoints", "/providers"]) {
      expect((await fetch(`${installation.baseUrl}${path}`)).status).toBe(401);
    }
  });
});
