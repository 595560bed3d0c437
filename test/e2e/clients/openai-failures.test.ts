/**
 * Failures as the openai client sees them: its error classes, its retries and its abort, against providers failing on
 * command.
 */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import OpenAI, { type ClientOptions } from "openai";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Reply, type Upstream, chatAnswer, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

/** How each provider answers; the provider has the same name as its model. */
const scripts: Readonly<Record<string, readonly Reply[]>> = {
  refusing: [
    { status: 400, chunks: [{ json: { error: { message: "no such voice", type: "invalid_request_error" } } }] },
  ],
  missing: [{ status: 404 }],
  "too-large": [{ status: 413 }],
  unprocessable: [{ status: 422 }],
  busy: [{ status: 429 }],
  broken: [{ status: 500 }],
  late: [{ status: 504 }],
  overloaded: [{ status: 529 }],
  silent: [{ hang: true }],
  "busy-once": [{ status: 429, headers: { "retry-after": "1" } }, chatAnswer({ role: "assistant", content: "Now." })],
  torn: [],
  endless: [{ chunks: [{ sse: [chatChunk({ role: "assistant", content: "One" })] }], hang: true }],
};

/** Time limit of a whole answer; no answer of this test takes nearly as long, unless it is delayed on purpose. */
const turnMs = 4_000;

const configOf = (upstreams: Readonly<Record<string, Upstream>>) => `
limits: {turn_ms: ${turnMs}}
providers:
${Object.entries(upstreams)
  .map(([name, { url }]) => `  - {id: ${name}, dialect: chat, base_url: "${url}/v1"}`)
  .join("\n")}
models:
${Object.keys(upstreams)
  .map((name) => `  - {id: far/${name}, endpoints: [{provider: ${name}}]}`)
  .join("\n")}
`;

describe("the openai client", () => {
  const upstreams: Record<string, Upstream> = {};
  let installation: Installation;

  beforeAll(async () => {
    for (const [name, replies] of Object.entries(scripts)) upstreams[name] = await startUpstream(replies);
    installation = await startInstallation({ config: configOf(upstreams) });
  });
  afterAll(async () => {
    await installation?.stop();
    await Promise.all(Object.values(upstreams).map((upstream) => upstream.stop()));
  });

  const clientOf = (options: ClientOptions = {}) =>
    new OpenAI({ baseURL: installation.baseUrl, apiKey: installation.apiKey, maxRetries: 0, ...options });
  const failureOf = async (model: string, client = clientOf(), stream = false): Promise<unknown> => {
    const asked = client.responses.create({ model: `far/${model}`, input: "Hello", stream });
    return asked.then(
      () => new Error("it answered"),
      (error: unknown) => error,
    );
  };

  describe("throws the class of a failure's status, with the gateway's message:", () => {
    test.each([
      ["refusing", 400, OpenAI.BadRequestError, "no such voice"],
      ["missing", 404, OpenAI.NotFoundError, "does not serve"],
      ["too-large", 413, OpenAI.APIError, "too large"],
      ["unprocessable", 422, OpenAI.UnprocessableEntityError, "Invalid argument"],
      ["busy", 429, OpenAI.RateLimitError, "Rate limit exceeded"],
      ["broken", 502, OpenAI.InternalServerError, "Provider returned error"],
      ["late", 524, OpenAI.InternalServerError, "did not answer in time"],
      ["overloaded", 529, OpenAI.InternalServerError, "overloaded"],
    ] as const)("model t/%s gives status %i", async (model, status, kind, message) => {
      for (const stream of [false, true]) {
        const failure = await failureOf(model, clientOf(), stream);
        expect(failure).toBeInstanceOf(kind);
        expect(failure).toMatchObject({
          status,
          message: expect.stringContaining(message),
          requestID: expect.any(String),
          error: { code: status, metadata: { error_type: expect.any(String) } },
        });
      }
    });

    test("a wrong key gives 401", async () => {
      const failure = await failureOf("busy", clientOf({ apiKey: "sk-unknown" }));
      expect(failure).toBeInstanceOf(OpenAI.AuthenticationError);
    });

    test("a management key gives 403", async () => {
      const failure = await failureOf("busy", clientOf({ apiKey: installation.managementKey }));
      expect(failure).toBeInstanceOf(OpenAI.PermissionDeniedError);
    });

    test("an answer beyond the time limit gives 408", async () => {
      const failure = await failureOf("silent");
      expect(failure).toMatchObject({ status: 408, error: { metadata: { error_type: "timeout" } } });
    });

    test("a blocking guardrail gives 403 with the pattern", async () => {
      const created = await installation.admin("guardrails", "create", "--name", "all", "--block", "Hello", "--json");
      const { id } = JSON.parse(created.stdout) as { id: string };
      const management = clientOf({ apiKey: installation.managementKey });
      const body = { key_hashes: [hashKey(installation.apiKey)] };
      await management.post(`/guardrails/${id}/assignments/keys`, { body });
      const failure = await failureOf("busy");
      await management.post(`/guardrails/${id}/assignments/keys/remove`, { body });
      expect(failure).toBeInstanceOf(OpenAI.PermissionDeniedError);
      expect(failure).toMatchObject({ error: { metadata: { patterns: ["Hello"] } } });
    });
  });

  describe("retries a failure by its own rules:", () => {
    /** @returns how often a client with its default settings sends the request */
    async function timesAsked(model: string, options: ClientOptions = {}): Promise<number> {
      let asked = 0;
      const counting: ClientOptions = {
        maxRetries: 2,
        fetch: (url, init) => {
          asked++;
          return fetch(url, init);
        },
        ...options,
      };
      await failureOf(model, clientOf(counting));
      return asked;
    }

    test("a retryable failure is sent three times", async () => {
      const models = ["busy", "broken", "late", "overloaded"];
      expect(await Promise.all(models.map((model) => timesAsked(model)))).toEqual([3, 3, 3, 3]);
    });

    test("a permanent failure is sent once, even if its status is retryable for the client", async () => {
      const models = ["refusing", "missing", "too-large", "unprocessable"];
      expect(await Promise.all(models.map((model) => timesAsked(model)))).toEqual([1, 1, 1, 1]);
      expect(await timesAsked("busy", { apiKey: installation.managementKey })).toBe(1);
    });

    test("x-should-retry: false stops retries that the status would allow", async () => {
      expect(await timesAsked("silent")).toBe(1);
    });

    test("Retry-After is respected", async () => {
      const upstream = upstreams["busy-once"] as Upstream;
      const first = upstream.nextRequest().then(() => performance.now());
      const client = clientOf({ maxRetries: 1 });
      const response = await client.responses.create({ model: "far/busy-once", input: "Hello" });
      expect(response.output_text).toBe("Now.");
      expect(upstream.requests).toHaveLength(2);
      // The client waits half a second at most before its first retry by default.
      expect(performance.now() - (await first)).toBeGreaterThan(950);
    });
  });

  describe("at a failure in the middle of a stream", () => {
    /** Makes the provider break off once the word has been read. */
    function breakAfterWord(): () => void {
      let go = () => {};
      const after = new Promise<void>((resolve) => {
        go = resolve;
      });
      const word = { sse: [chatChunk({ role: "assistant", content: "One" })] };
      (upstreams["torn"] as Upstream).script([{ chunks: [word, { bytes: ": \n\n", after }], cut: true }]);
      return go;
    }
    const failed = { status: "failed", error: { code: "server_error" }, output: [{ status: "incomplete" }] };

    test("ends the loop with response.failed", async () => {
      const go = breakAfterWord();
      const events = [];
      for await (const event of await clientOf().responses.create({ model: "far/torn", input: "Hi", stream: true })) {
        events.push(event);
        if (event.type === "response.output_text.delta") go();
      }
      expect(events.at(-1)).toMatchObject({ type: "response.failed", response: failed });
    });

    test("makes finalResponse() the failed response with the delivered text", async () => {
      const go = breakAfterWord();
      const stream = clientOf().responses.stream({ model: "far/torn", input: "Hi" });
      stream.on("response.output_text.delta", go);
      const final = await stream.finalResponse();
      expect(final).toMatchObject(failed);
      expect(final.output_text).toBe("One");
    });
  });

  describe("ends a call by an abort", () => {
    test.each([false, true])("before any output, and the provider's call too (stream: %s)", async (stream) => {
      const upstream = upstreams["silent"] as Upstream;
      const asked = upstream.nextRequest();
      const closed = upstream.nextClose();
      const abort = new AbortController();
      const request = { model: "far/silent", input: "Hello", stream };
      const answer = clientOf().responses.create(request, { signal: abort.signal });
      const failed = expect(answer).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
      await asked;
      abort.abort();
      await failed;
      await closed;
    });

    test.each(["abort", "break"])("in the middle of a stream, by %s", async (how) => {
      const closed = (upstreams["endless"] as Upstream).nextClose();
      const stream = await clientOf().responses.create({ model: "far/endless", input: "Hello", stream: true });
      const types = [];
      for await (const event of stream) {
        types.push(event.type);
        if (event.type !== "response.output_text.delta") continue;
        if (how === "break") break;
        stream.controller.abort();
      }
      expect(types.at(-1)).toBe("response.output_text.delta");
      await closed;
    });

    test("with a report by stream()", async () => {
      const closed = (upstreams["endless"] as Upstream).nextClose();
      const stream = clientOf().responses.stream({ model: "far/endless", input: "Hello" });
      stream.on("response.output_text.delta", () => stream.abort());
      await expect(stream.finalResponse()).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
      expect(stream.aborted).toBe(true);
      await closed;
    });
  });
});
