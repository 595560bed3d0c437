/** The RPC server on real sockets. */
import { once } from "node:events";
import { type IncomingHttpHeaders, connect } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Lifecycle } from "@sluice/proto/runtime/lifecycle.js";
import { openLog } from "@sluice/proto/runtime/log.js";
import { type RpcServer, serveRpc } from "@sluice/proto/runtime/rpc/serve.js";

const log = openLog("test", "silent");
const lifecycle = new Lifecycle(log);
let server: RpcServer;

beforeAll(async () => {
  server = await serveRpc({ port: 0, lifecycle, log, serviceNames: ["known"], routes: () => {} });
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

describe("a host that is none", () => {
  test.each(["[", "%", "house:port"])("is refused, and the server goes on: %s", async (authority) => {
    expect(await statusFor(authority)).toBe(400);
    expect(await statusFor("house")).toBe(200);
  });
});
