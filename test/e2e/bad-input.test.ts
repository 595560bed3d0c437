import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../support/installation.ts";
import { type HttpAnswer, rawRequest, sendRaw } from "../support/raw-http.ts";

const json = "Content-Type: application/json";
/** Deep enough to be refused for its depth, short enough to be read. */
const bomb = "[".repeat(1_000_000);
const valid = '{"model":"sluice/echo","input":"x"}';

describe("bad input gets the documented status and error object, and the service keeps running:", () => {
  let installation: Installation;
  let pids: Readonly<Record<string, number>>;

  beforeAll(async () => {
    installation = await startInstallation({});
    pids = installation.pids();
  });
  afterAll(() => installation?.stop());

  // After every case the same processes must still run, and serve a valid request.
  afterEach(async () => {
    expect(installation.pids()).toEqual(pids);
    const answer = await send(
      "POST",
      "/api/v1/responses",
      [`Authorization: Bearer ${installation.apiKey}`, json],
      valid,
    );
    expect(answer.status).toBe(200);
  });

  const send = (method: string, path: string, headers: readonly string[], body: string | Uint8Array) =>
    sendRaw(installation.ports.gateway, rawRequest(method, path, headers, body));

  function expectFault(answer: HttpAnswer, status: number, text: RegExp = /./): void {
    expect([answer.status, answer.headers["content-type"]]).toEqual([status, "application/json; charset=utf-8"]);
    const { error } = JSON.parse(answer.body) as { error: { code: number; message: string } };
    expect(error).toMatchObject({ code: status, message: expect.stringMatching(text) });
    expect(answer.headers["x-should-retry"]).toBe("false");
    // Error messages contain no internal details: no stacks, paths or addresses.
    expect(answer.body).not.toMatch(/node_modules|\.js:|at Object|127\.0\.0\.1|ECONN|postgres/i);
  }

  const respond = (body: string | Uint8Array, headers: readonly string[] = [json]) =>
    send("POST", "/api/v1/responses", [`Authorization: Bearer ${installation.apiKey}`, ...headers], body);

  const bodies: [string, string | Uint8Array, number][] = [
    ["no body", "", 400],
    ["not JSON", "{model:}", 400],
    ["a cut object", '{"model":"sluice/echo","input":"x"', 400],
    ["two values", `${valid}{}`, 400],
    ["an array", "[]", 400],
    ["null", "null", 400],
    ["a byte order mark", `\u{FEFF}${valid}`, 400],
    ["a depth bomb", `{"model":"sluice/echo","input":${bomb}`, 400],
    ["a depth bomb of objects", `{"input":${'{"a":'.repeat(100_000)}`, 400],
    ["a duplicate key", '{"model":"a","model":"sluice/echo","input":"x"}', 400],
    ["a duplicate key by escapes", '{"model":"a","mod\\u0065l":"sluice/echo","input":"x"}', 400],
    [
      "invalid UTF-8",
      Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xff]), Buffer.from('","input":"x"}')]),
      400,
    ],
    [
      "an overlong encoding",
      Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
      400,
    ],
    ["a lone surrogate in user", '{"model":"sluice/echo","input":"x","user":"\\ud800"}', 400],
    ["a lone surrogate in input", '{"model":"sluice/echo","input":"\\udfff"}', 400],
    ["a NUL in user", '{"model":"sluice/echo","input":"x","user":"a\\u0000b"}', 400],
    ["a raw control character", '{"model":"sluice/echo","input":"a\u0001b"}', 400],
    ["a number beyond all bounds", '{"model":"sluice/echo","input":"x","temperature":1e400}', 400],
    ["a fraction for an integer", '{"model":"sluice/echo","input":"x","max_output_tokens":1.5}', 400],
    ["previous_response_id", '{"model":"sluice/echo","input":"x","previous_response_id":"resp_1"}', 400],
    ["store", '{"model":"sluice/echo","input":"x","store":true}', 400],
    ["a plugin that nobody has", '{"model":"sluice/echo","input":"x","plugins":[{"id":"jet-router"}]}', 400],
    ["a plugin that nobody knows", '{"model":"sluice/echo","input":"x","plugins":[{"id":"foo"}]}', 400],
    ["a tool that is not built", '{"model":"sluice/echo","input":"x","tools":[{"type":"service:shell"}]}', 400],
    ["an item that nobody knows", '{"model":"sluice/echo","input":[{"type":"foo"}]}', 400],
    ["no input", '{"model":"sluice/echo"}', 400],
    ["no model", '{"input":"x"}', 400],
  ];
  test.each(bodies)("in a body: %s", async (_, body, status) => expectFault(await respond(body), status));

  test("__proto__ in a body is data or refused, and changes no prototype", async () => {
    expectFault(await respond('{"model":"sluice/echo","input":"x","metadata":{"__proto__":"polluted"}}'), 400);
    const tool =
      '{"type":"function","name":"f","parameters":{"type":"object","properties":{"__proto__":{"type":"string"}}}}';
    const answer = await respond(`{"model":"sluice/echo","input":"x","tool_choice":"none","tools":[${tool}]}`);
    expect(answer.status).toBe(200);
    expect(answer.body).toContain(tool);
  });

  test.each([
    ["none", []],
    ["text", ["Content-Type: text/plain"]],
    ["another charset", ["Content-Type: application/json; charset=utf-16"]],
    ["two", [json, "Content-Type: text/plain"]],
    ["compressed", [json, "Content-Encoding: gzip"]],
  ])("in the content type: %s", async (_, headers) => expectFault(await respond(valid, headers), 400));

  test("a body over the limit is refused by its declared length, before it is read", async () => {
    const head = [
      "POST /api/v1/responses HTTP/1.1",
      "Host: sluice",
      `Authorization: Bearer ${installation.apiKey}`,
      json,
    ];
    const oversize = `${[...head, "Content-Length: 40000000"].join("\r\n")}\r\n\r\n`;
    expectFault(await sendRaw(installation.ports.gateway, oversize), 413);
  });

  test("a chunked body over the limit is refused once it passes the limit", async () => {
    const head = [
      "POST /api/v1/responses HTTP/1.1",
      "Host: sluice",
      `Authorization: Bearer ${installation.apiKey}`,
      json,
    ];
    const chunk = Buffer.alloc(1024 * 1024, "a");
    const part = Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n")]);
    const begin = Buffer.from(`${[...head, "Transfer-Encoding: chunked"].join("\r\n")}\r\n\r\n`);
    const whole = Buffer.concat([begin, ...Array.from({ length: 34 }, () => part)]);
    expectFault(await sendRaw(installation.ports.gateway, whole), 413);
  });

  const authorizations: [string, (key: string) => string[], number, RegExp][] = [
    ["missing", () => [], 401, /Missing Authentication header/],
    ["another scheme", (key) => [`Authorization: Basic ${key}`], 401, /./],
    ["no key", () => ["Authorization: Bearer "], 401, /./],
    ["two spaces", (key) => [`Authorization: Bearer  ${key}`], 401, /./],
    ["a wrong checksum", (key) => [`Authorization: Bearer ${key.slice(0, -1)}!`], 401, /./],
    ["a well-formed stranger", () => ["Authorization: Bearer sk-sl-0"], 401, /./],
    ["doubled", (key) => [`Authorization: Bearer ${key}`, `Authorization: Bearer ${key}`], 400, /./],
  ];
  test.each(authorizations)("in the authorization: %s", async (_, headers, status, text) => {
    const answer = await send("POST", "/api/v1/responses", [...headers(installation.apiKey), json], valid);
    expectFault(answer, status, text);
  });

  test("the hash of a key is refused as a key", async () => {
    const answer = await send("POST", "/api/v1/responses", [`Authorization: Bearer ${"a".repeat(64)}`, json], valid);
    expectFault(answer, 401);
  });

  test("requests without a key reveal only the documentation, and every unknown path points to it", async () => {
    for (const path of ["/api/v1/end-users/bob", "/api/v1/models", "/api/v1/keys/nobody", "/api/v1/responses"]) {
      expectFault(await send("GET", path, [], ""), 401);
    }
    for (const path of ["/api/v1/nothing", "/nothing", "/v2/chat", "/admin.php", "/api/v1/responses/"]) {
      expectFault(await send("GET", path, [], ""), 404, /\/docs.*\/api\/v1\/openapi\.json/);
      expectFault(await send("GET", path, ["Authorization: Bearer x"], ""), 401);
    }
    expectFault(await send("POST", "/v1/responses", [json], valid), 404, /it is at \/api\/v1\/responses\. .*\/docs/);
  });

  const paths: [string, number][] = [
    ["%", 400],
    ["%zz", 400],
    ["%u0041", 400],
    ["%C0%AF", 400],
    ["%ED%A0%80", 400],
    ["a%00b", 400],
    ["%20a", 400],
    ["a%20", 400],
    [".", 404],
    ["..", 404],
    ["%2e%2e", 404],
    ["a/b", 404],
    ["a/", 404],
    ["", 404],
    ["a%2Fb", 404],
    ["nobody", 404],
    [encodeURIComponent("𝒳".repeat(512)), 404],
    [encodeURIComponent("𝒳".repeat(513)), 400],
  ];
  test.each(paths)("in the path of an end user: %s", async (path, status) => {
    const headers = [`Authorization: Bearer ${installation.managementKey}`, json];
    expectFault(await send("PATCH", `/api/v1/end-users/${path}`, headers, '{"is_active":true}'), status);
  });

  const keys = (hashes: readonly unknown[]) => JSON.stringify({ key_hashes: hashes });
  const bulks: [string, string, number][] = [
    ["none", keys([]), 400],
    ["501", keys(Array.from({ length: 501 }, (_, n) => `k${n}`)), 400],
    ["an empty one", keys([""]), 400],
    ["not text", keys([1]), 400],
    ["a lone surrogate", '{"key_hashes":["\\ud800"]}', 400],
    ["an unknown field", '{"key_hashes":["a"],"more":1}', 400],
    ["500 for a guardrail that does not exist", keys(Array.from({ length: 500 }, (_, n) => `k${n}`)), 404],
  ];
  test.each(bulks)("in key hashes: %s", async (_, body, status) => {
    const path = "/api/v1/guardrails/550e8400-e29b-41d4-a716-446655440000/assignments/keys";
    const management = [`Authorization: Bearer ${installation.managementKey}`, json];
    expectFault(await send("POST", path, management, body), status);
    expectFault(await send("POST", `${path}/remove`, management, body), status);
  });

  test.each([
    ["POST", "/v1/chat/completions", "/api/v1/chat/completions"],
    ["POST", "/chat/completions", "/api/v1/chat/completions"],
    ["POST", "/api/v1//embeddings", "/api/v1/embeddings"],
    ["POST", "/api/v1/responses/", "/api/v1/responses"],
    ["GET", "/v1/models", "/api/v1/models"],
  ])("a request to %s %s gets the operation's right path", async (method, path, meant) => {
    const answer = await send(method, path, [`Authorization: Bearer ${installation.apiKey}`, json], valid);
    expectFault(answer, 404, new RegExp(`^Resource not found: ${method} ${path}; it is at ${meant}$`));
  });

  test("an unknown operation is reported as not found", async () => {
    const answer = await send("POST", "/v1/moderations", [`Authorization: Bearer ${installation.apiKey}`, json], valid);
    expectFault(answer, 404, /^Resource not found: POST \/v1\/moderations$/);
  });

  test("a key of the other kind is refused", async () => {
    const path = "/api/v1/guardrails/550e8400-e29b-41d4-a716-446655440000/assignments/keys";
    const inference = [`Authorization: Bearer ${installation.apiKey}`, json];
    expectFault(await send("POST", path, inference, keys(["a"])), 403, /Only management keys/);
    expectFault(await send("PATCH", "/api/v1/end-users/bob", inference, '{"is_active":true}'), 403, /Only management/);
    const management = [`Authorization: Bearer ${installation.managementKey}`, json];
    expectFault(await send("POST", "/api/v1/responses", management, valid), 403);
  });

  test.each(["{}", '{"is_active":"true"}', '{"is_active":null}', '{"is_active":true,"x":1}'])(
    "in the body of an end user: %s",
    async (body) => {
      const headers = [`Authorization: Bearer ${installation.managementKey}`, json];
      expectFault(await send("PATCH", "/api/v1/end-users/bob", headers, body), 400);
    },
  );

  test("malformed HTTP requests are answered with the contract's error object", async () => {
    for (const bytes of ["HELLO\r\n\r\n", `GET / HTTP/1.1\r\nHost: x\r\nX: ${"a".repeat(20_000)}\r\n\r\n`]) {
      const answer = await sendRaw(installation.ports.gateway, bytes);
      expect([answer.status, JSON.parse(answer.body)]).toMatchObject([400, { error: { code: 400 } }]);
    }
  });
});
