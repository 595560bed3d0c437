/** The three administration operations at the gateway, in front of a scripted admin-svc. */
import { once } from "node:events";
import { createServer as createHttp2Server, type Http2Server } from "node:http2";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Client } from "@grpc/grpc-js";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { administrationFault } from "@sluice/gateway/edge/http/administration.js";
import type { Edge } from "@sluice/gateway/edge/http/context.js";
import { createEdgeServer } from "@sluice/gateway/edge/http/edge-server.js";
import { writeFault } from "@sluice/gateway/edge/http/errors.js";
import { createRouter } from "@sluice/gateway/admin/routes.js";
import { CallerSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { EndUserService, UpdateEndUserResponseSchema } from "@sluice/proto/gen/sluice/admin/v1/end_user_service_pb.js";
import {
  AssignKeysResponseSchema,
  GuardrailService,
  UnassignKeysResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { untraced } from "@sluice/proto/lib/tracing/context.js";
import { Access } from "@sluice/proto/lib/policy/access.js";
import { ByteBudget } from "@sluice/proto/lib/load/byte-budget.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { Lifecycle } from "@sluice/proto/lib/process/lifecycle.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { KeyKind } from "@sluice/proto/lib/ids/key.js";
import { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import { openMetrics } from "@sluice/proto/lib/metrics/metrics.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { type RpcServer, serveRpc } from "@sluice/proto/lib/rpc/serve.js";
import { rawPath } from "@sluice/gateway/edge/http/path.js";
import Koa from "koa";
import { exchange } from "./raw-http.ts";

const token = "t".repeat(32);
const keyHash = "c56454edb818d6b14bc0d61c46025f1450b0f4012d12304ab40aacb519fcbc93";
const guardrail = "550e8400-e29b-41d4-a716-446655440000";
const log = openLog("test", "silent");
const budget = new ByteBudget({ origin: FaultOrigin.GATEWAY, registry: openMetrics("test") });

/** The last call to admin-svc, and the fault in its answer. */
let asked: { method: string; request: unknown; headers: Headers } | undefined;
let failure: Fault | undefined;

let admin: RpcServer;
let client: Client;
let access: Access;
let edge: Server;
let port: number;

const note = (method: string, request: unknown, context: { requestHeader: Headers }): void => {
  asked = { method, request, headers: context.requestHeader };
  if (failure) throw failure;
};

/** The router of the gateway behind a management key, in front of an admin-svc. */
function serveOperations(client: Client): Server {
  const limiter = new Limiter({
    config: () => ({ streams_per_key: 1, requests_per_minute: null, tokens_per_minute: null }),
    origin: FaultOrigin.GATEWAY,
    registry: openMetrics("test"),
    shared: undefined,
  });
  const parts = { admin: client, inference: client, token, access, detectors: [], limiter };
  const routes = createRouter(parts, []).routes();
  const app = new Koa<Koa.DefaultState, Edge>();
  app.use(async (context) => {
    const caller = create(CallerSchema, { kind: KeyKind.MANAGEMENT });
    Object.assign(context, { keyHash, requestId: "req_1", trace: untraced, room: budget.open(keyHash), caller });
    context.respond = false;
    try {
      context.path = rawPath(context.req);
      await routes(context as never, () => Promise.reject(new Fault(FaultReason.NOT_FOUND)));
    } catch (error) {
      writeFault(context.res, administrationFault(Fault.from(error)), { requestId: "req_1" });
    }
  });
  const handle = app.callback();
  return createEdgeServer((request, response) => void handle(request, response));
}

beforeAll(async () => {
  admin = await serveRpc({
    port: 0,
    lifecycle: new Lifecycle(log),
    log,
    services: [],
    routes: (router) => {
      router.service(GuardrailService, {
        assignKeys: (request, context) => {
          note("assign", request, context);
          return create(AssignKeysResponseSchema, { assignedCount: request.keyHashes.length, generation: 7n });
        },
        unassignKeys: (request, context) => {
          note("remove", request, context);
          return create(UnassignKeysResponseSchema, { unassignedCount: 1, generation: 8n });
        },
      });
      router.service(EndUserService, {
        updateEndUser: (request, context) => {
          note("PATCH", request, context);
          // If the time were rounded to a millisecond, it would be in the next second.
          const createdAt = { ...timestampFromDate(new Date("2026-09-16T12:00:00Z")), nanos: 999_676_000 };
          const updatedAt = { ...timestampFromDate(new Date("2026-11-20T19:30:00Z")), nanos: 1_234_000 };
          const { user, isActive = false } = request;
          return create(UpdateEndUserResponseSchema, { endUser: { user, isActive, createdAt, updatedAt } });
        },
      });
    },
  });
  client = dial(`127.0.0.1:${admin.port}`);
  access = new Access({ client, token, process: "test", log, registry: openMetrics("test") });
  edge = serveOperations(client);
  edge.listen(0, "127.0.0.1");
  await once(edge, "listening");
  port = (edge.address() as AddressInfo).port;
});

beforeEach(() => {
  asked = undefined;
  failure = undefined;
});

afterAll(async () => {
  access.stop();
  edge.closeAllConnections();
  edge.close();
  await admin.drain();
});

const send = (line: string, body: string | Buffer) =>
  exchange(
    port,
    Buffer.concat([
      Buffer.from(
        `${line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`,
      ),
      Buffer.from(body),
    ]),
  );

const assignPath = `/api/v1/guardrails/${guardrail}/assignments/keys`;
const assign = (body: unknown, path = assignPath) =>
  send(`POST ${path}`, typeof body === "string" ? body : JSON.stringify(body));
const patch = (segment: string, body = '{"is_active":false}') => send(`PATCH /api/v1/end-users/${segment}`, body);

const errorOf = (answer: { body: string }) =>
  (JSON.parse(answer.body) as { error: { code: number; message: string; metadata?: { param?: string } } }).error;

describe("the bulk assignment of a guardrail", () => {
  test("calls admin-svc in the caller's name, and returns its count", async () => {
    const answer = await assign({ key_hashes: ["a", keyHash] });
    expect([answer.status, answer.body]).toEqual([200, '{"assigned_count":2}']);
    expect(asked?.request).toMatchObject({ guardrailId: guardrail, keyHashes: ["a", keyHash] });
    expect(asked?.headers.get("x-sluice-service-token")).toBe(token);
    expect(asked?.headers.get("x-sluice-key-hash")).toBe(keyHash);
    expect(asked?.headers.get("x-request-id")).toBe("req_1");
  });

  test("returns the count of a removal, too", async () => {
    const answer = await assign({ key_hashes: ["a"] }, `${assignPath}/remove`);
    expect([answer.status, answer.body]).toEqual([200, '{"unassigned_count":1}']);
    expect(asked?.method).toBe("remove");
  });

  test("is in force on the next request through this process", async () => {
    await assign({ key_hashes: ["a"] });
    await assign({ key_hashes: ["a"] }, `${assignPath}/remove`);
    expect(access.generation).toBe(8n);
  });

  test.each<[unknown, string]>([
    [{}, "key_hashes: required"],
    [{ key_hashes: "a" }, "key_hashes: must be an array"],
    [{ key_hashes: [] }, "key_hashes: at least 1 element"],
    [{ key_hashes: [""] }, "key_hashes.0: at least 1 character"],
    [{ key_hashes: ["a", 5] }, "key_hashes.1: must be a string"],
    [{ key_hashes: ["a\0"] }, "key_hashes.0: must not contain NUL"],
    [{ key_hashes: Array<string>(501).fill("a") }, "key_hashes: at most 500 elements"],
    [{ key_hashes: ["a"], also: 1 }, "also: unknown field"],
    ['{"key_hashes":["a"],"key_hashes":["b"]}', 'body: duplicate key "key_hashes" at byte 20'],
    ['{"key_hashes":["\\ud800"]}', "body: lone surrogate at byte 16"],
    ["", "body: must not be empty"],
    ["[]", "body: must be a JSON object"],
    [`{"key_hashes":["${"a".repeat(262_144)}"]}`, "Request payload too large: at most 262144 bytes"],
  ])("is 400 for the body %.60j", async (body, message) => {
    const answer = await assign(body);
    expect([answer.status, errorOf(answer).code]).toEqual([400, 400]);
    expect(errorOf(answer).message).toBe(message);
    expect(asked).toBeUndefined();
  });

  test("may have 500 keys", async () => {
    const answer = await assign({ key_hashes: Array<string>(500).fill(keyHash) });
    expect(answer.body).toBe('{"assigned_count":500}');
  });

  test.each(["..%2fkeys", "%2e%2e%2fx", "a".repeat(10_000), guardrail.toUpperCase(), "not-a-uuid"])(
    "is 404 for the guardrail %.40s",
    async (id) => {
      const answer = await assign({ key_hashes: ["a"] }, `/api/v1/guardrails/${id}/assignments/keys`);
      expect([answer.status, errorOf(answer).message]).toEqual([404, "Guardrail not found"]);
      expect(asked).toBeUndefined();
    },
  );
});

describe("an end user over HTTP", () => {
  test("is answered with its times, to the microsecond", async () => {
    const answer = await patch("employee_123");
    expect([answer.status, JSON.parse(answer.body)]).toEqual([
      200,
      {
        data: {
          user: "employee_123",
          is_active: false,
          created_at: "2026-09-16T12:00:00.999676Z",
          updated_at: "2026-11-20T19:30:00.001234Z",
        },
      },
    ]);
    expect(asked?.request).toMatchObject({ user: "employee_123", isActive: false });
  });

  test.each([
    ["a%2Fb", "a/b"],
    ["a%252Fb", "a%2Fb"],
    ["a+b", "a+b"],
    ["a;b=c", "a;b=c"],
    ["a%3Fb", "a?b"],
    ["a%23b", "a#b"],
    ["a%5Cb", "a\\b"],
    ["a%0d%0aX-Y:1", "a\r\nX-Y:1"],
    ["%E2%82%AC", "€"],
    ["e%CC%81", "e\u0301"],
    ["a?user=other", "a"],
    ["...", "..."],
    ["%F0%9F%98%80".repeat(512), "😀".repeat(512)],
  ])("named %.30s in the path is decoded once", async (segment, user) => {
    expect((await patch(segment)).status).toBe(200);
    expect(asked?.request).toMatchObject({ user });
  });

  test.each([".", "..", "%2e", "%2E%2E", ".%2e"])("named %s cannot be addressed in the path", async (segment) => {
    const answer = await patch(segment);
    expect(answer.status).toBe(404);
    expect(errorOf(answer).message).toMatch(/list/);
    expect(asked).toBeUndefined();
  });

  test.each(["a/b", "", "a/", "a//b", "/a"])("is 404 at the path %j", async (segment) => {
    expect((await patch(segment)).status).toBe(404);
    expect(asked).toBeUndefined();
  });

  const malformed = ["a%00b", "%C0%AF", "%ED%A0%80", "%", "%zz", "a%2", "%u0041"];
  const surrounded = ["%20a", "a%20", "%C2%A0a", "%EF%BB%BFa"];
  const long = ["%F0%9F%98%80".repeat(513), "a".repeat(513), "a".repeat(8_192)];
  test.each([...malformed, ...surrounded, ...long])("is 400 at the path %.30s", async (segment) => {
    const answer = await patch(segment);
    expect(answer.status).toBe(400);
    expect(errorOf(answer).metadata?.param).toBe("user");
    expect(asked).toBeUndefined();
  });

  test("is 400 with raw bytes instead of percent-encoding", async () => {
    expect((await patch("é")).status).toBe(400);
  });

  test.each([
    ["{}", "is_active: required"],
    ['{"is_active":null}', "is_active: must be true or false"],
    ['{"is_active":"false"}', "is_active: must be true or false"],
    ['{"is_active":true,"user":"x"}', "user: unknown field"],
    ['{"is_active":true,"is_active":false}', 'body: duplicate key "is_active" at byte 18'],
    [`{"is_active":true${" ".repeat(4_096)}}`, "Request payload too large: at most 4096 bytes"],
  ])("is 400 with the body %.40s", async (body, message) => {
    const answer = await patch("a", body);
    expect([answer.status, errorOf(answer).message]).toEqual([400, message]);
    expect(asked).toBeUndefined();
  });
});

describe("failures of admin-svc", () => {
  test.each<[FaultReason, number, string, string]>([
    [FaultReason.UNAUTHENTICATED, 401, "false", "Gone"],
    [FaultReason.PERMISSION_DENIED, 403, "false", "Gone"],
    [FaultReason.NOT_FOUND, 404, "false", "Gone"],
    [FaultReason.INTERNAL, 500, "false", "Internal Server Error"],
    [FaultReason.UNAVAILABLE, 500, "true", "Internal Server Error"],
    [FaultReason.DEADLINE_EXCEEDED, 500, "true", "Internal Server Error"],
  ])("with reason %i have the status %i", async (reason, status, retry, message) => {
    failure = new Fault(reason, "Gone");
    for (const answer of [await assign({ key_hashes: ["a"] }), await patch("a")]) {
      expect([answer.status, errorOf(answer).code, errorOf(answer).message]).toEqual([status, status, message]);
      expect(answer.headers["x-should-retry"]).toBe(retry);
      expect(answer.headers["retry-after"]).toBe(retry === "true" ? "1" : undefined);
    }
  });
});

describe("the gateway without admin-svc", () => {
  let broken: Http2Server;
  let dead: Client;
  let deadEdge: Server;

  beforeAll(async () => {
    broken = createHttp2Server();
    broken.on("session", (session) => session.destroy());
    broken.listen(0, "127.0.0.1");
    await once(broken, "listening");
    dead = dial(`127.0.0.1:${(broken.address() as AddressInfo).port}`);
    deadEdge = serveOperations(dead);
    deadEdge.listen(0, "127.0.0.1");
    await once(deadEdge, "listening");
  });

  afterAll(() => {
    dead.close();
    deadEdge.close();
    broken.close();
  });

  test("answers an assignment with 500, which may be retried", async () => {
    const body = '{"key_hashes":["a"]}';
    const answer = await exchange(
      (deadEdge.address() as AddressInfo).port,
      `POST ${assignPath} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect([answer.status, answer.body]).toEqual([
      500,
      '{"error":{"code":500,"message":"Internal Server Error","type":"server_error","metadata":{"error_type":"server"}}}',
    ]);
    expect(answer.headers).toMatchObject({ "retry-after": "1", "x-should-retry": "true" });
  });
});
