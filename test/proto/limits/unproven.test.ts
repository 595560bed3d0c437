/** Connections of the RPC server before any key was shown: few streams, and never at the cost of others. */
import { once } from "node:events";
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { Metadata } from "@grpc/grpc-js";
import { EndUserService } from "@sluice/proto/gen/sluice/admin/v1/end_user_service_pb.js";
import { Lifecycle } from "@sluice/proto/lib/process/lifecycle.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { call, dial } from "@sluice/proto/lib/rpc/dial.js";
import { type RpcServer, serveRpc } from "@sluice/proto/lib/rpc/serve.js";

const token = "0123456789abcdef0123456789abcdef";
const path = "/sluice.admin.v1.EndUserService/GetEndUser";
const log = openLog("test", "silent");
let server: RpcServer;
let handled: number;

beforeEach(async () => {
  handled = 0;
  server = await serveRpc({
    port: 0,
    lifecycle: new Lifecycle(log),
    log,
    token,
    services: [],
    routes: (router) => {
      router.service(EndUserService, {
        getEndUser: (_, { requestHeader }) => {
          handled++;
          if (requestHeader.get("authorization") !== "Bearer good") throw new ConnectError("no", Code.Unauthenticated);
          return {};
        },
      });
    },
  });
});
afterEach(() => server.drain());

async function open(): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${server.port}`);
  session.on("error", () => {});
  await once(session, "connect");
  return session;
}

const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };

function reset(session: ClientHttp2Session, more: object = {}): void {
  const stream = session.request({ ...headers, ...more });
  stream.on("error", () => {});
  stream.close(constants.NGHTTP2_CANCEL);
}

/** Opens more streams than a connection without a valid key may. Settles when the server has closed the connection. */
async function floodUntilClosed(session: ClientHttp2Session, more: object = {}): Promise<void> {
  const closed = once(session, "close");
  while (!session.destroyed) {
    for (let count = 0; count < 20; count++) reset(session, more);
    await nextTurn();
  }
  await closed;
}

const answered = async (session: ClientHttp2Session, more: object) => {
  const stream = session.request({ ...headers, "content-type": "application/json", ...more });
  stream.end("{}");
  const [{ ":status": status }] = await once(stream, "response");
  stream.close();
  return status;
};

test("a gRPC connection without a key is closed above 200 streams a minute, and hardly any of them is handled", async () => {
  await floodUntilClosed(await open());
  expect(handled).toBeLessThan(50);
});

test.each([
  ["a service token", { "x-sluice-service-token": token }],
  ["an accepted key", { authorization: "Bearer good" }],
])(
  "after showing %s a gRPC connection may reset any number of streams, also from a penalized address",
  async (_, proof) => {
    await floodUntilClosed(await open());
    const session = await open();
    expect([200, 401]).toContain(await answered(session, proof));
    for (let round = 0; round < 10; round++) {
      for (let count = 0; count < 50; count++) reset(session, proof);
      expect([200, 401]).toContain(await answered(session, proof));
    }
    expect([session.closed, session.remoteSettings.maxConcurrentStreams]).toEqual([false, 4_096]);
    session.destroy();
  },
);

test("a wrong key does not lift the limit of streams of a gRPC connection", async () => {
  const session = await open();
  expect(await answered(session, { authorization: "Bearer bad" })).toBe(401);
  expect(session.remoteSettings.maxConcurrentStreams).toBe(100);
  await floodUntilClosed(session, { authorization: "Bearer bad" });
});

test("other callers' gRPC calls are answered while connections without a key come and are closed", async () => {
  const { method } = EndUserService;
  const client = dial(`127.0.0.1:${server.port}`);
  const metadata = new Metadata();
  metadata.set("authorization", "Bearer good");
  const ask = () => call(client, method.getEndUser, create(method.getEndUser.input), metadata, 30_000);
  await ask();
  const state = { over: false };
  const floods = Promise.all(Array.from({ length: 5 }, async () => floodUntilClosed(await open()))).finally(() => {
    state.over = true;
  });
  let answered = 0;
  while (!state.over) {
    await ask();
    answered++;
  }
  await floods;
  expect(answered).toBeGreaterThan(0);
  client.close();
});
