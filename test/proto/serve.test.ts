/** The RPC server on real sockets, its HTTP/1.1 port included. */
import { once } from "node:events";
import { type IncomingHttpHeaders, connect } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { create, toBinary } from "@bufbuild/protobuf";
import { type Client, Metadata, type ServiceError } from "@grpc/grpc-js";
import { EndUserService, GetEndUserRequestSchema } from "@sluice/proto/gen/sluice/admin/v1/end_user_service_pb.js";
import { Health, HealthCheckResponse_ServingStatus } from "@sluice/proto/gen/grpc/health/v1/health_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { Lifecycle } from "@sluice/proto/lib/process/lifecycle.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { call, dial, dialAny } from "@sluice/proto/lib/rpc/dial.js";
import { type RpcServer, serveRpc } from "@sluice/proto/lib/rpc/serve.js";
import { sendRaw } from "../support/raw-http.ts";

const log = openLog("test", "silent");
const lifecycle = new Lifecycle(log);
let server: RpcServer;
let origins: readonly string[] = [];

beforeAll(async () => {
  server = await serveRpc({
    port: 0,
    lifecycle,
    log,
    services: [EndUserService],
    routes: (router) => {
      router.service(EndUserService, {
        getEndUser: ({ user }) => {
          throw new Fault(FaultReason.INVALID_REQUEST, user);
        },
      });
    },
    http1: { port: 0, allowOrigins: () => origins },
  });
  lifecycle.started();
});
afterAll(() => server?.drain());

const check = "/grpc.health.v1.Health/Check";

async function statusFor(authority: string): Promise<unknown> {
  const session = connect(`http://127.0.0.1:${server.port}`);
  const stream = session.request({
    ":method": "POST",
    ":path": check,
    ":authority": authority,
    "content-type": "application/json",
  });
  stream.end("{}");
  try {
    const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders];
    return headers[":status"];
  } finally {
    session.destroy();
  }
}

test("web pages may call a service once their origin is configured", async () => {
  const allowed = async () => {
    const answer = await fetch(`http://127.0.0.1:${server.http1Port}${check}`, {
      method: "OPTIONS",
      headers: { origin: "https://page.example", "access-control-request-method": "POST" },
    });
    return answer.headers.get("access-control-allow-origin");
  };
  expect(await allowed()).toBeNull();
  origins = ["https://page.example"];
  expect(await allowed()).toBe("https://page.example");
  origins = [];
  expect(await allowed()).toBeNull();
});

test("a gRPC client with several addresses reaches any answering server", async () => {
  const method = Health.method.check;
  for (const addresses of [
    ["127.0.0.1:9", `127.0.0.1:${server.port}`],
    [`localhost:${server.port}`, "127.0.0.1:9"],
  ] as [string, string][]) {
    const client = dialAny(addresses);
    try {
      const { status } = await call(client, method, create(method.input), new Metadata(), 10_000);
      expect(status).toBe(HealthCheckResponse_ServingStatus.SERVING);
    } finally {
      client.close();
    }
  }
});

/** The status text for a client without Fault details. */
const statusText = (client: Client, user: string): Promise<string> =>
  new Promise((resolve) => {
    const path = `/${EndUserService.typeName}/GetEndUser`;
    const body = Buffer.from(toBinary(GetEndUserRequestSchema, create(GetEndUserRequestSchema, { user })));
    const same = (bytes: Buffer): Buffer => bytes;
    client.makeUnaryRequest(path, same, same, body, (error: ServiceError | null) => resolve(error?.details ?? ""));
  });

test.each([
  "key_hashes: at most 500 elements",
  "a+b & c/d?e=f#g; 100%, %41",
  "ünïcode 💥",
  "two\nlines",
  " in between ",
])("a gRPC status explains the failure, and third-party clients can read it: %j", async (message) => {
  const client = dial(`127.0.0.1:${server.port}`);
  try {
    expect(await statusText(client, message)).toBe(message);
  } finally {
    client.close();
  }
});

test("a JSON field unknown to this build is refused over Connect, not left out", async () => {
  const asked = async (body: string) => {
    const answer = await fetch(`http://127.0.0.1:${server.http1Port}${check}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    return { status: answer.status, answer: await answer.json() };
  };
  expect(await asked('{"service":"sluice.admin.v1.EndUserService"}')).toMatchObject({ status: 200 });
  expect(await asked('{"servise":"sluice.admin.v1.EndUserService"}')).toMatchObject({
    status: 400,
    answer: { code: "invalid_argument", message: expect.stringContaining("servise") },
  });
});

describe("a request with an invalid host", () => {
  test.each(["[", "%", "host:port"])("is refused, and the server continues: %s", async (authority) => {
    expect(await statusFor(authority)).toBe(400);
    expect(await statusFor("sluice")).toBe(200);
  });

  test.each(["HTTP/1.1\r\nHost: [", "HTTP/1.1\r\nHost: %", "HTTP/1.1", "HTTP/1.0"])(
    "is refused over HTTP/1 too: %j",
    async (rest) => {
      const post = async (line: string) => {
        const head = `POST ${check} ${line}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close`;
        return (await sendRaw(server.http1Port as number, `${head}\r\n\r\n{}`)).status;
      };
      expect(await post(rest)).toBe(400);
      expect(await post("HTTP/1.1\r\nHost: sluice")).toBe(200);
    },
  );
});
