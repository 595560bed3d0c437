/** The statuses of the contract, each produced by its own cause, over HTTP. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { KeyKind, mintKey } from "@sluice/proto/lib/ids/key.js";
import { maskVolatile, sampleJson } from "../../support/contract.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Reply, type Upstream, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

interface FaultBody {
  readonly error: {
    readonly code: number;
    readonly message: string;
    readonly metadata?: Readonly<Record<string, unknown>>;
  };
  readonly service_metadata?: unknown;
}

const samples = sampleJson("18-errors.json") as Readonly<Record<string, FaultBody>>;
const answering = (status: number, more: Partial<Reply> = {}): Reply => ({ status, ...more });

/** Failure of the provider, its reply, then the status, error_type, x-should-retry and hint of the answer. */
const upstreamFailures: [string, Reply, number, string, "true" | "false", string?][] = [
  ["400", answering(400), 400, "invalid_request", "false"],
  ["401: the installation's own key is bad, not the caller's", answering(401), 502, "provider_unavailable", "true"],
  ["402: so are its credits", answering(402), 502, "provider_unavailable", "true"],
  ["404", answering(404), 404, "not_found", "false"],
  ["413", answering(413), 413, "payload_too_large", "false"],
  ["422", answering(422), 422, "unprocessable", "false"],
  ["429 with a hint", answering(429, { headers: { "retry-after": "7" } }), 429, "rate_limit_exceeded", "true", "7"],
  ["429 with none", answering(429), 429, "rate_limit_exceeded", "true", "1"],
  ["500", answering(500), 502, "provider_unavailable", "true"],
  ["503", answering(503), 502, "provider_unavailable", "true"],
  ["504", answering(504), 524, "timeout", "true"],
  ["529", answering(529), 529, "provider_overloaded", "true"],
  ["a closed connection", { cut: true }, 502, "provider_unavailable", "true"],
];

/** A model and provider for each failure, because a failure affects the next request to the same provider. */
const loneOf = (status: string, stream: boolean): string => `lone-${status.replaceAll(/\W+/g, "-")}-${stream}`;
const lone = [...upstreamFailures.map(([name]) => name), "busy"].flatMap((name) =>
  [true, false].map((stream) => loneOf(name, stream)),
);

describe("failures of the contract", () => {
  let upstream: Upstream;
  let installation: Installation;

  beforeAll(async () => {
    upstream = await startUpstream();
    installation = await startInstallation({
      config: `
providers:
  - {id: acme, name: Acme, dialect: chat, base_url: "${upstream.url}/v1"}
  - {id: hasty, name: Hasty, dialect: chat, base_url: "${upstream.url}/v1", timeouts: {headers_ms: 200}}
  - {id: borealis, name: Borealis, dialect: chat, base_url: "${upstream.url}/v1"}
${lone.map((name) => `  - {id: ${name}, dialect: chat, base_url: "${upstream.url}/v1"}`).join("\n")}
models:
${lone.map((name) => `  - {id: ${name}, endpoints: [{provider: ${name}}]}`).join("\n")}
  - {id: acme/large-2, endpoints: [{provider: acme}]}
  - {id: acme/hasty, endpoints: [{provider: hasty}]}
  - {id: acme/twice, endpoints: [{provider: acme}, {provider: borealis}]}
  - {id: acme/busy, endpoints: [{provider: ${loneOf("busy", true)}}, {provider: ${loneOf("busy", false)}}]}
limits: {body_bytes: 10000, streams_per_key: 2, turn_ms: 4000, stream_ms: 4000}
`,
    });
  });
  afterAll(async () => {
    await installation?.stop();
    await upstream?.stop();
  });

  const post = (body: object, key = installation.apiKey) =>
    fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "acme/large-2", input: "Hi", ...body }),
    });

  /** Compares an answer with the sample of its status. */
  async function expectFault(response: Response, status: number): Promise<FaultBody> {
    const body = (await response.json()) as FaultBody;
    expect([response.status, response.headers.get("content-type")]).toEqual([
      status,
      "application/json; charset=utf-8",
    ]);
    expect(Object.keys(body)).toEqual(["error"]);
    const members = ["code", "message", "type", "param", "metadata"];
    expect(Object.keys(body.error).filter((name) => !members.includes(name))).toEqual([]);
    expect([body.error.code, typeof body.error.message]).toEqual([status, "string"]);
    expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    return body;
  }

  /** The message of the sample, perhaps with more details. */
  const expectWords = (body: FaultBody) =>
    expect(body.error.message.startsWith(samples[body.error.code]?.error.message ?? "?")).toBe(true);

  describe.each([false, true])("of a failing provider (stream: %s)", (stream) => {
    test.each(upstreamFailures)("in the case %s have the documented status", async (name, ...row) => {
      const [reply, status, errorType, retry, after] = row;
      upstream.script([reply]);
      const response = await post({ model: loneOf(name, stream), stream });
      const body = await expectFault(response, status);
      const isNamed = [404, 429, 502, 524, 529].includes(status);
      const provider = {
        provider_name: loneOf(name, stream),
        provider_status: reply.cut ? null : (reply.status ?? null),
        ...(reply.cut && { provider_error: "connection_lost" }),
      };
      expect(body.error.metadata).toEqual({ error_type: errorType, ...(isNamed && provider) });
      expect(response.headers.get("x-should-retry")).toBe(retry);
      const [seconds = null, ms = null] = ["retry-after", "retry-after-ms"].map((header) =>
        response.headers.get(header),
      );
      if (status !== 529) expect(seconds).toBe(after ?? null);
      if (seconds !== null) expect(Number(seconds)).toBe(Math.ceil(Number(ms) / 1_000));
      if (status === 529) expect([Number(ms) >= 500, Number(ms) <= 1_500]).toEqual([true, true]);
      expect(response.headers.get("x-generation-id")).toMatch(/^gen-/);
      if (status !== 400 && status !== 404) expectWords(body);
    });

    test.each([
      ["x-request-id", "req_0123456789abcdef"],
      ["request-id", "req_011CSHoEeqs5C35K2UUqR7Fy"],
      ["x-amzn-requestid", "b1a2c3d4-0000-4000-8000-000000000001"],
      ["apim-request-id", "00000000-0000-4000-8000-000000000002"],
    ])("have the provider's request id from the header %s", async (header, id) => {
      upstream.script([answering(500, { headers: { [header]: id } })]);
      const body = await expectFault(await post({ model: loneOf("busy", stream), stream }), 502);
      expect(body.error.metadata).toMatchObject({ provider_status: 500, provider_request_id: id });
    });

    test("have no provider's request id of more than one word", async () => {
      upstream.script([answering(500, { headers: { "x-request-id": "see http://10.0.0.1/secret" } })]);
      const body = await expectFault(await post({ model: loneOf("busy", stream), stream }), 502);
      expect(body.error.metadata).not.toHaveProperty("provider_request_id");
    });

    test("show both of two failing providers, in the form of the sample", async () => {
      upstream.script([answering(500)]);
      const body = await expectFault(await post({ model: "acme/twice", stream }), 502);
      const sample = samples["502"]?.error;
      const provider = { provider_name: "borealis", provider_status: 500 };
      expect(body.error).toEqual({ ...sample, type: "server_error", metadata: { ...sample?.metadata, ...provider } });
    });

    test("have the shorter wait of two busy providers as the hint", async () => {
      const busy = (seconds: string) => answering(429, { headers: { "retry-after": seconds } });
      upstream.script([busy("20"), busy("90")]);
      const response = await post({ model: "acme/busy", stream });
      await expectFault(response, 429);
      // A busy machine may have used up much of the 20 seconds.
      const retryAfter = Number(response.headers.get("retry-after"));
      expect([retryAfter >= 1, retryAfter <= 20]).toEqual([true, true]);
    });

    test("are 524 for a provider silent beyond its limit", async () => {
      upstream.script([{ hang: true }]);
      const response = await post({ model: "acme/hasty", stream });
      const body = await expectFault(response, 524);
      expectWords(body);
      expect([body.error.metadata, response.headers.get("x-should-retry")]).toEqual([
        { error_type: "timeout", provider_name: "hasty", provider_status: null, provider_error: "timeout_first_event" },
        "true",
      ]);
    });

    test("are 408 beyond the configured time limit, because a retry would be paid twice", async () => {
      upstream.script([{ hang: true }]);
      const response = await post({ stream });
      const body = await expectFault(response, 408);
      expectWords(body);
      expect(body.error.metadata).toEqual({ error_type: "timeout" });
      expect(response.headers.get("x-should-retry")).toBe("false");
    });
  });

  test("are 400 for an unsupported setting", async () => {
    const body = await expectFault(await post({ previous_response_id: "resp_1" }), 400);
    expect(body.error).toMatchObject({
      message: samples["400"]?.error.message,
      metadata: { error_type: "invalid_request" },
    });
  });

  test("are 400 for a body of another media type or with a wrong field", async () => {
    for (const type of ["text/plain", "multipart/form-data", "application/json; charset=latin1"]) {
      const headers = { authorization: `Bearer ${installation.apiKey}`, "content-type": type };
      const response = await fetch(`${installation.baseUrl}/responses`, { method: "POST", headers, body: "{}" });
      expect((await expectFault(response, 400)).error.message).toContain("content-type");
    }
  });

  test("are 401 without a key and for a wrong key", async () => {
    const none = await fetch(`${installation.baseUrl}/responses`, { method: "POST", body: "{}" });
    expect(await expectFault(none, 401)).toEqual(samples["401"]);
    const wrong = await expectFault(await post({}, mintKey(KeyKind.INFERENCE)), 401);
    expect(Object.keys(wrong.error)).toEqual(["code", "message"]);
  });

  test("are 402 when the budget of the key is spent", async () => {
    const { stdout } = await installation.admin("keys", "create", "--name", "poor", "--limit", "0", "--json");
    const response = await post({}, (JSON.parse(stdout) as { key: string }).key);
    const body = await expectFault(response, 402);
    expectWords(body);
    expect(body.error.metadata).toMatchObject({ error_type: "payment_required", limit: 0 });
    expect(response.headers.get("x-should-retry")).toBe("false");
  });

  test("are 403 for a key of the wrong kind", async () => {
    const response = await fetch(`${installation.baseUrl}/end-users/ada`, {
      method: "PATCH",
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
      body: '{"is_active":true}',
    });
    expect((await expectFault(response, 403)).error).toMatchObject(samples["403"]?.error ?? {});
    await expectFault(await post({}, installation.managementKey), 403);
  });

  test("are 413 for a body over the limit", async () => {
    const response = await post({ input: "x".repeat(10_000) });
    const body = await expectFault(response, 413);
    expectWords(body);
    expect([body.error.metadata, response.headers.get("x-should-retry")]).toEqual([
      { error_type: "payload_too_large" },
      "false",
    ]);
  });

  test.each([
    ["GET", "/nowhere", null],
    ["POST", "/responses/", null],
    ["GET", "/responses", "POST"],
    ["OPTIONS", "/responses", "POST"],
    ["DELETE", "/models", "HEAD, GET"],
    ["PUT", "/end-users/ada", "HEAD, GET, PATCH, DELETE"],
    ["PUT", "/guardrails/a/assignments/keys", "HEAD, GET, POST"],
  ])("are 404 for %s %s", async (method, path, allow) => {
    const response = await fetch(`${installation.baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${installation.apiKey}` },
    });
    expectWords(await expectFault(response, 404));
    expect(response.headers.get("allow")).toBe(allow);
  });

  test("are 404 for HEAD where there is no GET; elsewhere HEAD is GET without its body", async () => {
    const head = (path: string) =>
      fetch(`${installation.baseUrl}${path}`, {
        method: "HEAD",
        headers: { authorization: `Bearer ${installation.apiKey}` },
      });
    const [models, responses] = [await head("/models"), await head("/responses")];
    expect([models.status, await models.text()]).toEqual([200, ""]);
    expect([responses.status, responses.headers.get("allow")]).toEqual([404, "POST"]);
  });

  test("are inside of a stream that is already open at the status gate", async () => {
    upstream.script([{ chunks: [{ sse: [chatChunk({ content: "One" })] }], cut: true }]);
    const response = await post({ stream: true });
    expect([response.status, response.headers.get("x-should-retry")]).toEqual([200, null]);
    expect(await response.text()).toContain('"type":"response.failed"');
  });

  test("are 429 for too many concurrent streams of a key", async () => {
    const word = { sse: [chatChunk({ role: "assistant", content: "One" })] };
    upstream.script([{ chunks: [word], hang: true }]);
    const open = await Promise.all([post({ stream: true }), post({ stream: true })]);
    const response = await post({ stream: true });
    const body = await expectFault(response, 429);
    expectWords(body);
    expect(body.error.metadata).toEqual({ error_type: "rate_limit_exceeded" });
    expect([response.headers.get("retry-after"), response.headers.get("retry-after-ms")]).toEqual(["1", "1000"]);
    const dryRun = await fetch(`${installation.baseUrl}/responses/dry-run`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "acme/large-2", input: "Hi" }),
    });
    expect(await expectFault(dryRun, 429)).toEqual(body);
    for (const answer of open) await answer.body?.cancel();
  });

  test("are 500 and 503 without a service for keys and guardrails", async () => {
    const admin = installation.pids()["admin-svc"] ?? Number.NaN;
    process.kill(admin, "SIGSTOP");
    try {
      const unknown = await post({}, mintKey(KeyKind.INFERENCE));
      const unavailable = await expectFault(unknown, 503);
      expectWords(unavailable);
      expect(unavailable.error.metadata).toEqual({ error_type: "provider_unavailable" });
      expect([unknown.headers.get("retry-after"), unknown.headers.get("x-should-retry")]).toEqual(["1", "true"]);
      const broken = await fetch(`${installation.baseUrl}/end-users/ada`, {
        method: "PATCH",
        headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
        body: '{"is_active":true}',
      });
      const internal = await expectFault(broken, 500);
      expect(maskVolatile(internal)).toEqual({
        error: { ...samples["500"]?.error, type: "server_error", metadata: { error_type: "server" } },
      });
      expect([broken.headers.get("retry-after"), broken.headers.get("x-should-retry")]).toEqual(["1", "true"]);
    } finally {
      process.kill(admin, "SIGCONT");
    }
  });
});
