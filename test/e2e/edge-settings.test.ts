import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { KeyKind, mintKey } from "@sluice/proto/lib/ids/key.js";
import { maskVolatile, sampleJson } from "../support/contract.ts";
import { type Installation, startInstallation } from "../support/installation.ts";
import { type SseEvent, parseSse } from "../support/answers/sse.ts";
import { type Upstream, chatAnswer, chatStream, startUpstream } from "../support/providers/upstream.ts";

const page = "https://app.example.org";
const filled = "21-compat-filled.response.json";

describe("an installation with settings for clients of other formats", () => {
  let upstream: Upstream;
  let installation: Installation;

  beforeAll(async () => {
    upstream = await startUpstream([chatAnswer({ role: "assistant", content: "Filled." })]);
    installation = await startInstallation({
      config: `
providers:
  - {id: acme, name: Acme, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: acme/large-2, endpoints: [{provider: acme}]}
compat: {fill_defaults: true, emit_metadata_alias: vendor_metadata}
cors: {allow_origins: ["${page}/"]}
trusted_proxies: [127.0.0.1]
`,
    });
  });
  afterAll(async () => {
    await installation?.stop();
    await upstream?.stop();
  });

  const post = (body: object, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json", ...headers },
      body: JSON.stringify({ model: "acme/large-2", input: "Hi", ...body }),
    });

  test("reports liveness and readiness on the main port", async () => {
    const { origin } = new URL(installation.baseUrl);
    const answers = await Promise.all(["/livez", "/readyz"].map((path) => fetch(origin + path)));
    expect(await Promise.all(answers.map(async (answer) => [answer.status, await answer.text()]))).toEqual([
      [200, "ok\n"],
      [200, "ready\n"],
    ]);
  });

  test("counts clients behind a trusted proxy by their own address", async () => {
    const body = JSON.stringify({ management_key: mintKey(KeyKind.MANAGEMENT) });
    const signIn = async (client: string) => {
      const address = new URL("/console/api/session", installation.baseUrl);
      const headers = { origin: address.origin, "content-type": "application/json", "x-forwarded-for": client };
      return (await fetch(address, { method: "POST", headers, body })).status;
    };
    const tries = await Promise.all(Array.from({ length: 11 }, () => signIn("198.51.100.7")));
    expect(tries.toSorted((one, other) => one - other)).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
    expect(await signIn("198.51.100.8")).toBe(401);
  });

  test("shows unset samplers as their defaults, as in sample 21", async () => {
    const usage = { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 };
    upstream.script([chatAnswer({ role: "assistant", content: "Filled." }, "stop", { usage })]);
    const response = await post({});
    expect(maskVolatile(await response.json())).toEqual(maskVolatile(sampleJson(filled)));
  });

  test("shows given settings unchanged, and function tools with every member", async () => {
    const parameters = { type: "object", properties: {} };
    const tools = [
      { type: "function", name: "get_weather", parameters },
      { type: "function", name: "f", description: "F", strict: true, parameters },
    ];
    const set = { temperature: 0.5, top_p: 0, frequency_penalty: -1, presence_penalty: 1.5 };
    const response = await post({ ...set, tools });
    expect(await response.json()).toMatchObject({
      ...set,
      tools: [{ ...tools[0], description: null, strict: null }, tools[1]],
    });
  });

  describe("shows service_metadata under a second name", () => {
    const asked = { "x-service-metadata": "enabled" };

    test("in an answer", async () => {
      const answer = (await (await post({}, asked)).json()) as Record<string, unknown>;
      expect(answer["service_metadata"]).toMatchObject({ requested: "acme/large-2", attempt: 1 });
      expect(answer["vendor_metadata"]).toEqual(answer["service_metadata"]);
    });

    test("in the last event of a stream, and in no other", async () => {
      upstream.script([chatStream("Hi")]);
      const { events } = parseSse(await (await post({ stream: true }, asked)).text());
      const responses = events.flatMap((event) => (event["response"] ? [event["response"] as SseEvent] : []));
      expect(responses.map((response) => response["vendor_metadata"] !== undefined)).toEqual([false, false, true]);
      expect(responses.at(-1)?.["vendor_metadata"]).toEqual(responses.at(-1)?.["service_metadata"]);
    });

    test("in an error, with a stream and without", async () => {
      for (const stream of [false, true]) {
        upstream.script([{ status: 500 }]);
        const response = await post({ stream }, asked);
        const body = (await response.json()) as Record<string, unknown>;
        expect([response.status, body["service_metadata"]]).toMatchObject([
          502,
          { attempts: [{ status: 500 }, { status: 500 }] },
        ]);
        expect(body["vendor_metadata"]).toEqual(body["service_metadata"]);
      }
    });

    test.each<[Record<string, string>, boolean]>([
      [{ "x-vendor-metadata": "Enabled" }, true],
      [{ "x-vendor-experimental-metadata": "enabled" }, true],
      [{ "x-vendor-metadata": "disabled", "x-vendor-experimental-metadata": "enabled" }, false],
      [{ "x-service-metadata": "disabled", "x-vendor-metadata": "enabled" }, false],
      [{ "x-other-metadata": "enabled" }, false],
    ])("in headers: %j", async (headers, wanted) => {
      upstream.script([chatAnswer({ role: "assistant", content: "Hi" })]);
      const answer = (await (await post({}, headers)).json()) as object;
      expect(["vendor_metadata" in answer, "service_metadata" in answer]).toEqual([wanted, wanted]);
    });

    test("only on request", async () => {
      upstream.script([chatAnswer({ role: "assistant", content: "Hi" })]);
      const answer = (await (await post({})).json()) as object;
      expect(Object.keys(answer).filter((name) => name.endsWith("_metadata"))).toEqual([]);
    });
  });

  describe("lets pages of an allowed origin", () => {
    const preflight = (path: string, origin: string) =>
      fetch(`${installation.baseUrl}${path}`, {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "authorization,content-type,x-stainless-lang",
        },
      });

    test.each(["/responses", "/end-users/ada", "/models"])("preflight %s without a key", async (path) => {
      const answer = await preflight(path, page);
      expect([answer.status, await answer.text()]).toEqual([204, ""]);
      expect(answer.headers.get("access-control-allow-origin")).toBe(page);
      expect(answer.headers.get("access-control-allow-methods")).toBe("GET, POST, PUT, PATCH, DELETE");
      const names = answer.headers.get("access-control-allow-headers")?.split(", ");
      expect(names).toEqual(
        expect.arrayContaining([
          "authorization",
          "content-type",
          "x-service-metadata",
          "x-session-id",
          "idempotency-key",
          "*",
        ]),
      );
      expect(answer.headers.get("access-control-max-age")).toBe("7200");
      expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
      expect(answer.headers.get("vary")).toBe("origin");
    });

    test("read answers, streams and errors", async () => {
      upstream.script([chatAnswer({ role: "assistant", content: "Hi" }), chatStream("Hi"), { status: 503 }]);
      const answers = [
        await post({}, { origin: page }),
        await post({ stream: true }, { origin: page }),
        await post({}, { origin: page }),
        await post({}, { origin: page, authorization: "Bearer wrong" }),
        await fetch(`${installation.baseUrl}/nowhere`, { headers: { origin: page } }),
      ];
      expect(answers.map((answer) => answer.status)).toEqual([200, 200, 502, 401, 404]);
      for (const { headers } of answers) {
        expect(headers.get("access-control-allow-origin")).toBe(page);
        expect(headers.get("access-control-expose-headers")).toBe(
          "x-request-id, x-generation-id, retry-after, retry-after-ms, x-should-retry, x-sluice-warning, " +
            "x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, " +
            "x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens",
        );
        expect(headers.get("access-control-allow-credentials")).toBeNull();
        expect(headers.get("vary")).toBe("origin");
      }
      await Promise.all(answers.map((answer) => answer.text()));
    });

    test("pages of other origins get no CORS headers", async () => {
      for (const origin of ["https://evil.example.org", "http://app.example.org", "null"]) {
        const asked = await preflight("/responses", origin);
        expect([asked.status, asked.headers.get("access-control-allow-origin")]).toEqual([401, null]);
        expect(asked.headers.get("vary")).toBe("origin");
      }
      const plain = await fetch(`${installation.baseUrl}/models`, {
        headers: { authorization: `Bearer ${installation.apiKey}` },
      });
      expect([plain.status, plain.headers.get("access-control-allow-origin")]).toEqual([200, null]);
      // An OPTIONS request without access-control-request-method is no preflight.
      const bare = await fetch(`${installation.baseUrl}/responses`, { method: "OPTIONS", headers: { origin: page } });
      expect(bare.status).toBe(401);
    });
  });
});
