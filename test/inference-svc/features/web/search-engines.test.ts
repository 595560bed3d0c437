/** Each search engine against a scripted service: what it is sent, how its answer is used, and every way in which it can fail. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { openEngines } from "@sluice/inference-svc/features/web/engines/engines.js";
import type { Search, SearchEngine } from "@sluice/inference-svc/features/web/search-engine.js";
import { listUnsupportedOptions } from "@sluice/inference-svc/features/web/search-options.js";
import { TurnAbort } from "@sluice/inference-svc/turn/signal.js";
import { pluginContracts } from "@sluice/proto/contract/plugins/plugins.js";
import { type SearchEngineId, search as searchSection, searchEngines } from "@sluice/proto/config/web.js";
import { newScope, openUnlimitedMeter } from "../../asking.ts";
import { type Received, type Reply, type Upstream, startUpstream } from "../../../support/providers/upstream.ts";
import { SearchUnavailable } from "@sluice/inference-svc/services/search-answers.js";

let service: Upstream;
let warnings: object[];
const opened: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  service = await startUpstream();
  warnings = [];
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
  await service.stop();
});

function open(id: SearchEngineId, timeoutMs = 60_000): SearchEngine {
  const key = id === "searxng" ? {} : { api_key: "secret-key" };
  const settings = { base_url: `${service.url}/base`, timeout_ms: timeoutMs, ...key };
  const section = searchSection.parse({ engines: { [id]: settings } });
  const log = { warn: (fields: object | string) => void warnings.push(fields as object) };
  const [first] = openEngines(section, "sluice/test", {
    meter: openUnlimitedMeter(),
    now: () => performance.now(),
    log,
  });
  if (first === undefined) throw new Error("not opened");
  opened.push(first.service);
  return first.engine;
}

const asked = (search: Partial<Search> = {}): Search => ({
  query: "cup",
  maxResults: 3,
  domains: { allowed: [], blocked: [] },
  contentLength: 4_000,
  wishes: {},
  ...search,
});
const search = (engine: SearchEngine, given: Partial<Search> = {}, signal = new TurnAbort()) =>
  engine.search(asked(given), { scope: newScope().scope, signal });

const page = { url: "https://a.test/1", title: "One  two" };

interface Story {
  /** The request of a plain search. */
  readonly plain: Partial<Received>;
  readonly body?: object;
  readonly query?: object;
  /** An answer with one result, and its excerpt. */
  readonly answer: unknown;
  readonly content: string;
  /** An answer without any result. */
  readonly nothing: unknown;
}

const bearer = { authorization: "Bearer secret-key" };

const stories: Readonly<Record<SearchEngineId, Story>> = {
  searxng: {
    plain: { method: "GET" },
    query: { q: "cup", format: "json", pageno: "1" },
    answer: { results: [{ ...page, content: "It\nwas B." }] },
    content: "It was B.",
    nothing: { results: [] },
  },
  tavily: {
    plain: { method: "POST", path: "/base/search", headers: bearer },
    body: { query: "cup", max_results: 3, search_depth: "basic" },
    answer: { query: "cup", results: [{ ...page, content: "It was B.", score: 0.9, raw_content: null }] },
    content: "It was B.",
    nothing: { results: [] },
  },
  brave: {
    plain: { method: "GET", headers: { "x-subscription-token": "secret-key" } },
    query: { q: "cup", count: "3", offset: "0", result_filter: "web", text_decorations: "false" },
    answer: {
      type: "search",
      web: { results: [{ ...page, description: "It was B.", extra_snippets: ["So it was."] }] },
    },
    content: "It was B.\nSo it was.",
    nothing: { type: "search" },
  },
  exa: {
    plain: { method: "POST", path: "/base/search", headers: { "x-api-key": "secret-key" } },
    body: { query: "cup", type: "auto", numResults: 3, contents: { highlights: { maxCharacters: 4_000 } } },
    answer: { requestId: "r", results: [{ ...page, id: "1", highlights: ["It was B.", "| a |\n| b |"] }] },
    content: "It was B.\n| a |\n| b |",
    nothing: { results: [] },
  },
  firecrawl: {
    plain: { method: "POST", path: "/base/search", headers: bearer },
    body: { query: "cup", limit: 3, sources: [{ type: "web" }], timeout: expect.any(Number) },
    answer: { success: true, data: { web: [{ ...page, description: "It was B.", position: 1 }] } },
    content: "It was B.",
    nothing: { success: true, data: {} },
  },
  perplexity: {
    plain: { method: "POST", path: "/base/search", headers: bearer },
    body: { query: "cup", max_results: 3, max_tokens_per_page: 1_000 },
    answer: { id: "s", results: [{ ...page, snippet: "It was B.", date: null }] },
    content: "It was B.",
    nothing: { results: [] },
  },
  parallel: {
    plain: { method: "POST", path: "/base/search", headers: { "x-api-key": "secret-key" } },
    body: {
      objective: "cup",
      search_queries: ["cup"],
      mode: "basic",
      advanced_settings: { max_results: 3, excerpt_settings: { max_chars_per_result: 4_000 } },
    },
    answer: { search_id: "s", session_id: "t", results: [{ ...page, excerpts: ["It was B."], publish_date: null }] },
    content: "It was B.",
    nothing: { search_id: "s", results: [], warnings: null },
  },
};

const json = (value: unknown): Reply => ({ chunks: [{ json: value }] });
const queryOf = ({ path }: Received) => Object.fromEntries(new URL(path, "http://x").searchParams);

test("the configuration schema names all search engines", () => {
  const { schema } = pluginContracts["web"]!.shape;
  const { properties } = schema(new Map()) as { properties: { engine: { enum: string[] } } };
  expect(properties.engine.enum.toSorted()).toEqual(["auto", "native", ...searchEngines].toSorted());
});

describe.each(searchEngines)("the search engine %s", (id) => {
  const story = stories[id];

  test("is called with its key, and returns pages with excerpts", async () => {
    service.script([json(story.answer), json(story.nothing)]);
    const hits = await search(open(id));
    expect(hits).toEqual([{ url: page.url, title: "One two", content: story.content }]);
    const [request] = service.requests as [Received];
    expect(request).toMatchObject(story.plain);
    if (story.body) expect(request.json).toEqual(story.body);
    if (story.query) expect(queryOf(request)).toEqual(story.query);
    if (id === "brave") expect(request.path).toMatch(/^\/base\/web\/search\?/);
  });

  test("may return no results", async () => {
    service.script([json(story.nothing)]);
    expect(await search(open(id))).toEqual([]);
  });

  test("has its results used as far as they are readable", async () => {
    const results = [null, 7, {}, { url: 7 }, { url: "ftp://a.test" }, { url: `https://a.test/${"x".repeat(3_000)}` }];
    const text = JSON.stringify(story.answer).replace(/\[\{"url".*?\}\]/, () => JSON.stringify(results));
    service.script([{ chunks: [{ bytes: text }] }]);
    expect(await search(open(id))).toEqual([]);
    const odd = {
      ...page,
      title: { a: 1 },
      content: 7,
      description: [],
      extra_snippets: [7],
      highlights: "x",
      snippet: null,
    };
    const oddText = JSON.stringify(story.answer).replace(/\[\{"url".*?\}\]/, () => JSON.stringify([odd]));
    service.script([{ chunks: [{ bytes: oddText }] }, json(story.nothing)]);
    expect(await search(open(id))).toEqual([{ url: page.url, title: "", content: "" }]);
  });

  test("cannot return characters that providers refuse", async () => {
    const text = JSON.stringify(story.answer)
      .replaceAll("It was B.", "\\ud83d!\\u0000")
      .replace("It\\nwas B.", "\\ud83d!\\u0000");
    service.script([{ chunks: [{ bytes: text }] }, json(story.nothing)]);
    const [hit] = await search(open(id));
    expect(hit?.content).toMatch(/^\ufffd!/);
  });

  test.each<[string, Reply[], string, string]>([
    ["an error", [{ status: 500 }], "status 500", "does not answer"],
    ["a wrong key", [{ status: 401 }], "status 401", "does not answer"],
    ["a rate limit", [{ status: 429, headers: { "retry-after": "1" } }], "status 429", "does not answer"],
    ["a search that it does not take", [{ status: 422 }], "status 422", "does not take this search"],
    ["a page of HTML", [{ chunks: [{ bytes: "<html>It was B." }] }], "the answer is not JSON", "does not answer"],
    ["JSON of another form", [json([1])], "no results", "does not answer"],
    ["a cut connection", [{ chunks: [{ bytes: "{" }], cut: true }], "", "does not answer"],
    ["a redirect", [{ status: 302, headers: { location: "http://127.0.0.1:1/" } }], "status 302", "does not answer"],
  ])("fails with %s, named in the log", async (_, replies, cause, says) => {
    service.script(replies);
    const error: unknown = await search(open(id)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SearchUnavailable);
    expect(error).toHaveProperty("message", `the search engine ${says}`);
    const [line] = warnings as [{ engine: string; err: Error }];
    expect([line.engine, line.err.message]).toEqual([id, expect.stringContaining(cause)]);
    expect(JSON.stringify([line, line.err.message])).not.toMatch(/secret-key|It was B/);
    expect(service.requests).toHaveLength(1);
  });

  test.each<[string, Reply]>([
    [
      "500 MB",
      { headers: { "content-length": "500000000" }, chunks: [{ bytes: Buffer.alloc(65_536, " "), repeat: 7_600 }] },
    ],
    ["no end", { chunks: [{ bytes: Buffer.alloc(65_536, " "), repeat: 1_000_000 }] }],
  ])("is given up after some megabytes of %s", async (_, reply) => {
    service.script([reply]);
    const closed = service.nextClose();
    await expect(search(open(id))).rejects.toThrow(SearchUnavailable);
    await closed;
    expect(service.bytesWritten).toBeLessThan(64 * 1024 * 1024);
  });

  test("without an answer is limited by its timeout", async () => {
    service.script([{ hang: true }]);
    const closed = service.nextClose();
    await expect(search(open(id, 50))).rejects.toThrow(SearchUnavailable);
    await closed;
  });

  test("is given up at once when the turn is over", async () => {
    service.script([{ chunks: [{ bytes: "{" }], hang: true }]);
    const abort = new TurnAbort();
    const [request, closed] = [service.nextRequest(), service.nextClose()];
    const ending = search(open(id), {}, abort);
    ending.catch(() => {});
    await request;
    abort.abort(new Error("left"));
    await expect(ending).rejects.not.toBeInstanceOf(SearchUnavailable);
    await closed;
    expect(warnings).toEqual([]);
  });

  test("is paused after five failures, but not after refused searches", async () => {
    service.script([{ status: 422 }]);
    const engine = open(id);
    for (let count = 0; count < 6; count++) await search(engine).catch(() => {});
    expect(service.requests).toHaveLength(6);
    service.script([{ status: 429 }]);
    for (let count = 0; count < 6; count++) await search(engine).catch(() => {});
    expect(service.requests).toHaveLength(11);
  });

  test("returns no page outside of the domains, in any answer", async () => {
    service.script([json(story.answer)]);
    expect(await search(open(id), { domains: { allowed: ["b.test"], blocked: [] } })).toEqual([]);
    expect(await search(open(id), { domains: { allowed: [], blocked: ["a.test"] } })).toEqual([]);
  });
});

const place = { city: "Graz", region: "Styria", country: "at", timezone: "Europe/Vienna" };

describe("settings of a web search", () => {
  const sent = async (id: SearchEngineId, given: Partial<Search>) => {
    service.script([json(stories[id].nothing)]);
    await search(open(id), given);
    return service.requests.at(-1) as Received;
  };

  test.each<[SearchEngineId, object, readonly string[]]>([
    ["searxng", {}, ["user_location", "mode", "external_web_access", "x_search"]],
    [
      "tavily",
      { country: "austria" },
      [
        "user_location.city",
        "user_location.region",
        "user_location.timezone",
        "mode",
        "external_web_access",
        "x_search",
      ],
    ],
    [
      "exa",
      { userLocation: "AT", contents: { highlights: { maxCharacters: 4_000 }, maxAgeHours: -1 } },
      ["user_location.city", "user_location.region", "user_location.timezone", "mode", "x_search"],
    ],
    [
      "firecrawl",
      { location: "Graz,Styria", country: "AT" },
      ["user_location.timezone", "mode", "external_web_access", "x_search"],
    ],
    [
      "perplexity",
      { country: "AT" },
      [
        "user_location.city",
        "user_location.region",
        "user_location.timezone",
        "mode",
        "external_web_access",
        "x_search",
      ],
    ],
    [
      "parallel",
      { advanced_settings: { location: "at" } },
      [
        "user_location.city",
        "user_location.region",
        "user_location.timezone",
        "mode",
        "external_web_access",
        "x_search",
      ],
    ],
  ])("are sent to %s as %j, and others are listed", async (id, told, lost) => {
    const wishes = { place, mode: "unheard-of", cachedOnly: true as const, others: ["x_search"] };
    const request = await sent(id, { wishes });
    if (stories[id].body) expect(request.json).toMatchObject(told);
    expect(listUnsupportedOptions(wishes, open(id), "tools.1").map(({ path }) => path)).toEqual(
      lost.map((name) => `tools.1.${name}`),
    );
  });

  test("are sent to brave as a place in header fields, unless a header cannot hold it", async () => {
    const { headers } = await sent("brave", { wishes: { place } });
    expect(headers).toMatchObject({
      "x-loc-city": "Graz",
      "x-loc-state-name": "Styria",
      "x-loc-country": "at",
      "x-loc-timezone": "Europe/Vienna",
    });
    const wishes = { place: { city: "Graz\r\nx-evil: 1", country: "Austria" } };
    const without = await sent("brave", { wishes });
    expect(Object.keys(without.headers).filter((name) => /^x-(loc|evil)/.test(name))).toEqual([]);
    expect(listUnsupportedOptions(wishes, open("brave"), "tools.0")).toMatchObject([{ path: "tools.0.user_location" }]);
  });

  test.each<[SearchEngineId, string, object]>([
    ["tavily", "advanced", { search_depth: "advanced" }],
    ["exa", "deep", { type: "deep" }],
    ["parallel", "turbo", { mode: "turbo" }],
  ])("are sent to %s with the mode %s", async (id, mode, told) => {
    expect((await sent(id, { wishes: { mode } })).json).toMatchObject(told);
    expect(listUnsupportedOptions({ mode }, open(id), "tools.0")).toEqual([]);
  });

  test.each([
    ["US", "united states"],
    ["cz", "czech republic"],
    ["TR", "turkey"],
    ["XX", undefined],
    ["Austria", undefined],
  ])("are sent to tavily with %s as %s", async (country, name) => {
    expect((await sent("tavily", { wishes: { place: { country } } })).json["country"]).toBe(name);
  });

  const domains = {
    allowed: ["a.test", "*.b.test", "https://c.test/docs"],
    blocked: ["d.test", "*.e.test", "f.test/x"],
  };
  const [allowed, blocked] = [["a.test", "b.test", "c.test"], ["d.test"]];
  test.each<[SearchEngineId, object]>([
    ["tavily", { include_domains: allowed, exclude_domains: blocked }],
    ["exa", { includeDomains: allowed, excludeDomains: blocked }],
    ["firecrawl", { includeDomains: allowed }],
    ["perplexity", { search_domain_filter: allowed }],
    ["parallel", { advanced_settings: { source_policy: { include_domains: allowed } } }],
  ])("are sent to %s with hosts of domains, and block no partly allowed host", async (id, told) => {
    const { json: body } = await sent(id, { domains });
    expect(body).toMatchObject(told);
    expect(JSON.stringify(body)).not.toMatch(/e\.test|f\.test/);
  });

  test.each<[SearchEngineId, object]>([
    ["firecrawl", { excludeDomains: blocked }],
    ["perplexity", { search_domain_filter: ["-d.test"] }],
    ["parallel", { advanced_settings: { source_policy: { exclude_domains: blocked } } }],
  ])("are sent to %s only with blocked domains", async (id, told) => {
    expect((await sent(id, { domains: { ...domains, allowed: [] } })).json).toMatchObject(told);
  });

  test("do not include a list too long for an engine, since a part of it would hide results", async () => {
    const many = Array.from({ length: 21 }, (_, index) => `a${index}.test`);
    const { json: body } = await sent("perplexity", { domains: { allowed: many, blocked: [] } });
    expect(body).not.toHaveProperty("search_domain_filter");
  });

  test.each([
    [
      { query: "cup", domains: { allowed: ["a.test", "b.test"], blocked: ["c.test"] } },
      "cup site:a.test OR site:b.test -site:c.test",
    ],
    [{ query: "x".repeat(390), domains: { allowed: ["a.test"], blocked: [] } }, "x".repeat(390)],
    [{ query: "y ".repeat(60), domains: { allowed: [], blocked: [] } }, Array(50).fill("y").join(" ")],
  ])("give brave a query within its limit: %#", async (given, query) => {
    expect(queryOf(await sent("brave", given))["q"]).toBe(query);
  });

  test.each<[SearchEngineId, string, number]>([
    ["tavily", "max_results", 20],
    ["perplexity", "max_results", 20],
    ["exa", "numResults", 25],
    ["firecrawl", "limit", 25],
  ])("let %s return its maximum number of results", async (id, field, count) => {
    expect((await sent(id, { maxResults: 25 })).json[field]).toBe(count);
  });

  test("give parallel a long query as its objective", async () => {
    const { json: body } = await sent("parallel", { query: "z".repeat(400) });
    expect(body).toMatchObject({ objective: "z".repeat(400), search_queries: ["z".repeat(200)] });
  });
});
