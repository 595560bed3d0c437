/** Pages that vendors read for service:web_fetch: what each vendor is sent, how its answer is used, and every way in which it can fail. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { AppliesTo } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { configSchema } from "@sluice/proto/config/config-file.js";
import { type Received, type Reply, type Upstream, startUpstream } from "../../../support/providers/upstream.ts";
import { textReply, callReply, hosted } from "../../../support/tool-replies.ts";
import {
  type TestScope,
  type TurnResult,
  type Engine,
  testRequest,
  newScope,
  openEngine,
  runTestTurn,
} from "../../asking.ts";
import { guardrailOf, redactFilter } from "../guardrails/gating.ts";

type Vendor = "exa" | "firecrawl" | "parallel";
const vendors = ["exa", "firecrawl", "parallel"] as const;

let model: Upstream;
let service: Upstream;
let engine: Engine;
let testScope: TestScope;

beforeEach(async () => {
  model = await startUpstream();
  service = await startUpstream();
  testScope = newScope();
  engine = open();
});
afterEach(async () => {
  await engine.upstreams.close();
  await Promise.all([model.stop(), service.stop()]);
});

function open(timeoutMs = 60_000, provider: object = {}): Engine {
  const settings = { api_key: "secret-key", base_url: `${service.url}/base`, timeout_ms: timeoutMs };
  return openEngine(
    configSchema.parse({
      providers: [{ id: "acme", dialect: "chat", base_url: `${model.url}/v1`, ...provider }],
      models: [{ id: "acme/large-2", endpoints: [{ provider: "acme" }] }],
      search: { engines: Object.fromEntries(vendors.map((id) => [id, settings])) },
      fetch: { allow_private_origins: [service.url] },
    }),
  );
}

async function reopen(...settings: Parameters<typeof open>): Promise<void> {
  await engine.upstreams.close();
  engine = open(...settings);
}

/** A public address, so no name server is queried. */
const url = "http://93.184.215.14/tea";
const text = "# Tea\n\nTea is hot.";

/** Requests to a vendor, and its answers. */
interface Story {
  readonly path: string;
  readonly key: object;
  readonly body: object;
  readonly page: (found: unknown, title: unknown, text: unknown) => unknown;
  /** Answer for a page that the vendor could not read because the page has this status. */
  readonly failed: unknown;
}

const stories: Readonly<Record<Vendor, Story>> = {
  exa: {
    path: "/base/contents",
    key: { "x-api-key": "secret-key" },
    body: { urls: [url], text: { maxCharacters: 500_000 }, livecrawlTimeout: 60_000 },
    page: (found, title, words) => ({ results: [{ id: "1", url: found, title, text: words }], statuses: [] }),
    failed: {
      results: [],
      statuses: [{ id: url, status: "error", error: { tag: "CRAWL_NOT_FOUND", httpStatusCode: 404 } }],
    },
  },
  firecrawl: {
    path: "/base/scrape",
    key: { authorization: "Bearer secret-key" },
    body: { url, formats: ["markdown"], timeout: 60_000 },
    page: (found, title, words) => ({
      success: true,
      data: { markdown: words, metadata: { title, url: found, statusCode: 200 } },
    }),
    failed: { success: true, data: { markdown: "No such page", metadata: { statusCode: 404 } } },
  },
  parallel: {
    path: "/base/extract",
    key: { "x-api-key": "secret-key" },
    body: { urls: [url], advanced_settings: { full_content: { max_chars_per_result: 500_000 } } },
    page: (found, title, words) => ({
      results: [{ url: found, title, excerpts: [], full_content: words }],
      errors: [],
    }),
    failed: { results: [], errors: [{ url, error_type: "fetch_error", http_status_code: 404, content: "no" }] },
  },
};

const json = (value: unknown): Reply => ({ chunks: [{ json: value }] });

async function read(id: Vendor, parameters: object = {}, target = url): Promise<TurnResult> {
  model.script([callReply({ name: "service_web_fetch", args: { url: target } }), textReply("Well.")]);
  const tools = [hosted("service:web_fetch", { engine: id, ...parameters })];
  return runTestTurn(engine.turn, testRequest({ tools, stream: false }), testScope);
}

const itemOf = ({ events }: TurnResult) =>
  events
    .flatMap((event) => (event.type === "item.end" ? [event.item] : []))
    .find(({ type }) => type === "service:web_fetch");
/** The text that the model gets. */
const output = (): string => {
  const messages = model.requests.at(-1)?.json["messages"] as { role: string; content: string }[];
  return messages.find(({ role }) => role === "tool")?.content ?? "";
};

test.each([206, null, undefined])("a page returned by Firecrawl with status %s is read", async (statusCode) => {
  service.script([json({ success: true, data: { markdown: text, metadata: { statusCode } } })]);
  await read("firecrawl");
  expect(output()).toContain("Tea is hot.");
});

describe.each(vendors)("the page engine %s", (id) => {
  const story = stories[id];
  const page = (found: unknown = url, title: unknown = "Tea", words: unknown = text) =>
    json(story.page(found, title, words));

  test("is called with its key; the model reads data, the client sees the page", async () => {
    service.script([page("http://93.184.215.14/tea/", " Of\ntea ")]);
    const ending = await read(id);
    const [request] = service.requests as [Received];
    expect(request).toMatchObject({ method: "POST", path: story.path, headers: story.key, json: story.body });
    expect(output()).toMatch(
      /^Read from http:\/\/93\.184\.215\.14\/tea\/\.\n[^]*<<DATA [^]*Title: Of tea[^]*Tea is hot\./,
    );
    expect(itemOf(ending)).toMatchObject({
      status: "completed",
      url: "http://93.184.215.14/tea/",
      title: "Of tea",
      content: text,
      httpStatus: 200,
    });
  });

  test("reads a page once for five minutes, for any requested length", async () => {
    service.script([page(url, "Tea", "word ".repeat(400))]);
    await read(id);
    testScope = newScope();
    await read(id, { max_content_tokens: 20 });
    expect(output()).toContain("(cut here)");
    expect(service.requests).toHaveLength(1);
  });

  test.each([
    "http://127.0.0.1/a",
    "http://[::1]/a",
    "http://169.254.169.254/latest",
    "http://10.0.0.1/",
    "http://wiki.example/",
  ])("is never sent %s", async (target) => {
    await read(id, {}, target);
    expect(output()).toContain("a host that is not on the public internet");
    expect(service.requests).toEqual([]);
  });

  test("is never sent an origin that only Sluice may read, nor other ports, credentials or domains", async () => {
    for (const target of [service.url, "http://93.184.215.14:8080/", "http://a:b@93.184.215.14/"]) {
      testScope = newScope();
      expect(itemOf(await read(id, {}, target))).toMatchObject({ status: "incomplete", error: expect.any(String) });
    }
    testScope = newScope();
    await read(id, { blocked_domains: ["93.184.215.14"] });
    expect(output()).toContain("not among the allowed domains");
    expect(service.requests).toEqual([]);
  });

  test.each([
    ["http://93.184.215.15/", "not among the allowed domains"],
    ["javascript:alert(1)", "not an http or https URL"],
    ["no URL", "not a valid URL"],
  ])("has its answer refused when it was led to %s", async (found, says) => {
    service.script([page(found)]);
    await read(id, { allowed_domains: ["93.184.215.14"] });
    expect(output()).toBe(JSON.stringify({ error: `not read: ${says}` }));
  });

  test("has its answer used as far as it is readable", async () => {
    service.script([page(7, { a: 1 }, "Tea\ud83d \u0000is hot.")]);
    expect(itemOf(await read(id))).toMatchObject({ url, title: "", content: "Tea\ufffd is hot." });
  });

  test.each<[string, () => Reply, string]>([
    ["a page that it cannot read", () => json(story.failed), "status 404"],
    ["a page without text", () => page(url, "Tea", " \n"), "a page without text"],
    ["a text of another type", () => page(url, "Tea", ["a"]), "a page without text"],
    ["an error", () => ({ status: 500 }), `${id} does not answer`],
    ["a wrong key", () => ({ status: 401 }), `${id} does not answer`],
    ["a URL that it refuses", () => ({ status: 422 }), `${id} does not take this URL`],
    ["HTML", () => ({ chunks: [{ bytes: "<html>Tea" }] }), `${id} does not answer`],
    ["JSON of another form", () => json([7]), `${id} does not answer`],
    ["nothing in it", () => json({ results: "x", data: null }), "the engine could not read it"],
    ["a cut connection", () => ({ chunks: [{ bytes: "{" }], cut: true }), `${id} does not answer`],
    ["a redirect", () => ({ status: 302, headers: { location: "http://127.0.0.1:1/" } }), `${id} does not answer`],
    ["no end", () => ({ chunks: [{ bytes: Buffer.alloc(65_536, " "), repeat: 1_000_000 }] }), `${id} does not answer`],
  ])("fails with %s, and the model gets the reason", async (_, reply, says) => {
    service.script([reply()]);
    const ending = await read(id);
    expect(output()).toBe(JSON.stringify({ error: `not read: ${says}` }));
    expect(ending.fault).toBeUndefined();
    expect(service.requests).toHaveLength(1);
  });

  test("is limited by its timeout", async () => {
    await reopen(50);
    service.script([{ hang: true }]);
    const closed = service.nextClose();
    await read(id);
    await closed;
    expect(output()).toBe('{"error":"not read: took more than 0.05 s"}');
  });

  test("is given up at once when the turn is over", async () => {
    service.script([{ chunks: [{ bytes: "{" }], hang: true }]);
    const [request, closed] = [service.nextRequest(), service.nextClose()];
    const ending = read(id);
    await request;
    testScope.abort.abort(new Error("left"));
    await closed;
    expect((await ending).fault).toBeDefined();
  });

  test("returns text that guardrails redact before the model reads it", async () => {
    service.script([page()]);
    testScope = newScope({ guardrail: guardrailOf([redactFilter("hot")], { appliesTo: AppliesTo.BOTH }) });
    await read(id);
    expect(output()).not.toContain("hot");
  });

  test("reads even if the provider could read", async () => {
    await reopen(60_000, { native_tools: ["service:web_fetch"] });
    service.script([page()]);
    await read(id);
    expect(output()).toContain("Tea is hot.");
  });
});
