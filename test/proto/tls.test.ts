/** Services authenticated by certificates: accepted peers, and certificates replaced under load. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { AccessService } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { Lifecycle } from "@sluice/proto/lib/process/lifecycle.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { openMetrics } from "@sluice/proto/lib/metrics/metrics.js";
import { requireServiceToken } from "@sluice/proto/lib/rpc/caller.js";
import { call, dial, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import { type RpcServer, serveRpc } from "@sluice/proto/lib/rpc/serve.js";
import { Certificates } from "@sluice/proto/lib/tls/certificates.js";
import { tlsPeer } from "@sluice/proto/lib/tls/client.js";
import type { ServiceName } from "@sluice/proto/lib/tls/identity.js";
import {
  type Authority,
  type CertificateOptions,
  toSpiffeId,
  writeCertificate,
  newAuthority,
} from "../support/certificates.ts";
import { eventually } from "../support/processes.ts";

const log = openLog("test", "silent");
const token = "t".repeat(64);
const method = AccessService.method.resolveKey;

let folder: string;
let authority: Authority;
let server: RpcServer;
let serving: Certificates;
const clients: Client[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluice-test-tls-"));
  authority = await newAuthority("first");
  serving = await mounted("server", "admin-svc");
  const tls = { certificates: serving, clients: ["gateway", "inference-svc"] as const, token };
  server = await serveRpc({
    port: 0,
    lifecycle: new Lifecycle(log),
    log,
    services: [],
    tls,
    routes: (router) => {
      router.rpc(method, (_, { requestHeader }) => {
        requireServiceToken(requestHeader, token);
        return { generation: 7n };
      });
    },
  });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await server?.drain();
  rmSync(folder, { recursive: true, force: true });
});

const open = (name: string): Certificates =>
  new Certificates(join(folder, name), { log, registry: openMetrics("test") });

async function mounted(name: string, service: string, more: Partial<CertificateOptions> = {}): Promise<Certificates> {
  await writeCertificate(join(folder, name), {
    ids: [toSpiffeId(service)],
    by: authority,
    trusted: [authority],
    ...more,
  });
  return open(name);
}

function clientOf(certificates: Certificates, service: ServiceName = "admin-svc"): Client {
  const client = dial(`127.0.0.1:${server.port}`, tlsPeer(certificates, service));
  clients.push(client);
  return client;
}

/** A call with a wrong token: the certificate must be sufficient. */
const ask = (client: Client, timeoutMs = 10_000) =>
  call(client, method, create(method.input, { keyHash: "0" }), serviceMetadata("w".repeat(64)), timeoutMs);

/** A refused connection is retried until the timeout, or reported at once. */
const refused = (client: Client) => expect(ask(client, 1_000)).rejects.toThrow();

describe("a call between services with TLS is", () => {
  test("answered to services on the list, with any token", async () => {
    for (const service of ["gateway", "inference-svc"]) {
      expect(await ask(clientOf(await mounted(service, service)))).toMatchObject({ generation: 7n });
    }
  });

  test("refused to other services, other installations and certificates without a name", async () => {
    await refused(clientOf(await mounted("admin", "admin-svc")));
    await refused(clientOf(await mounted("other", "", { ids: ["spiffe://test/ns/other/sa/gateway"] })));
    const smuggled = `https://nobody, URI:${toSpiffeId("gateway")}`;
    await refused(clientOf(await mounted("nobody", "", { ids: [toSpiffeId("nobody"), smuggled] })));
    expect(await ask(clientOf(await mounted("gateway", "gateway")))).toMatchObject({ generation: 7n });
  });

  test("refused to certificates of another authority", async () => {
    const stranger = await newAuthority("first");
    await refused(clientOf(await mounted("gateway", "gateway", { by: stranger })));
  });

  test("refused in clear text, even with the right token", async () => {
    const client = dial(`127.0.0.1:${server.port}`);
    clients.push(client);
    await expect(call(client, method, create(method.input), serviceMetadata(token), 1_000)).rejects.toThrow();
  });

  test("not sent to a server with another service's certificate", async () => {
    await refused(clientOf(await mounted("gateway", "gateway"), "inference-svc"));
  });
});

test("a connection without TLS to a service with TLS ends only itself", async () => {
  const socket = connect(server.port, "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\n\r\n");
  await new Promise((resolve) => socket.once("close", resolve).on("error", () => {}));
  expect(await ask(clientOf(await mounted("gateway", "gateway")))).toMatchObject({ generation: 7n });
});

describe("a folder of certificates is refused at the start", () => {
  test.each([
    ["without a name of the installation", () => mounted("x", "", { ids: ["https://gateway"] }), /no SAN of the form/],
    ["with nothing in it", async () => open("nowhere"), /ENOENT/],
    [
      "with the key of another certificate",
      async () => {
        await mounted("a", "gateway");
        await mounted("b", "gateway");
        copyFileSync(join(folder, "b/tls.key"), join(folder, "a/tls.key"));
        return open("a");
      },
      /key values mismatch/,
    ],
  ])("when it is one %s", async (_, make, problem) => {
    await expect(make()).rejects.toThrow(problem);
  });
});

const isInForce = (name: string, { current }: Certificates): boolean =>
  current.cert.equals(readFileSync(join(folder, name, "tls.crt"))) &&
  current.ca.equals(readFileSync(join(folder, name, "ca.crt")));

test("authority and certificates are replaced under load without a failed call, and the old ones become invalid", async () => {
  const gateway = await mounted("gateway", "gateway");
  const old = await mounted("old", "gateway");
  const over = new AbortController();
  let answered = 0;
  const failures: unknown[] = [];
  const asking = async (fresh: boolean) => {
    const kept = clientOf(gateway);
    while (!over.signal.aborted) {
      // A new connection for each call uses the present certificates; an old one goes on with its first.
      const client = fresh ? dial(`127.0.0.1:${server.port}`, tlsPeer(gateway, "admin-svc")) : kept;
      await ask(client).then(
        () => answered++,
        (error: unknown) => failures.push(error),
      );
      if (fresh) client.close();
    }
  };
  const load = Promise.all([asking(true), asking(true), asking(false)]);
  const second = await newAuthority("second");
  // The steps of replacing an authority: first all processes trust both, then certificates change, then the old
  // authority is removed.
  const steps: { by: Authority; trusted: Authority[] }[] = [
    { by: authority, trusted: [authority, second] },
    { by: second, trusted: [authority, second] },
    { by: second, trusted: [second] },
  ];
  for (const step of steps) {
    await writeCertificate(join(folder, "server"), { ids: [toSpiffeId("admin-svc")], ...step });
    await writeCertificate(join(folder, "gateway"), { ids: [toSpiffeId("gateway")], ...step });
    await eventually(() => isInForce("server", serving) && isInForce("gateway", gateway));
    const had = answered;
    await eventually(() => answered > had + 10);
  }
  over.abort();
  await load;
  expect(failures).toEqual([]);
  await refused(clientOf(old));
});

test("an expired certificate is logged, ends no open connection, admits no new one, and can be replaced", async () => {
  const told: string[] = [];
  const destination = new Writable({
    write: (line: Buffer, _, done) => {
      told.push(line.toString());
      done();
    },
  });
  const until = new Date(Date.now() + 10_000);
  await writeCertificate(join(folder, "gateway"), {
    ids: [toSpiffeId("gateway")],
    by: authority,
    trusted: [authority],
    until,
  });
  const written = openLog("test", "info", { write: (line) => destination.write(line) });
  const gateway = new Certificates(join(folder, "gateway"), { log: written, registry: openMetrics("test") });
  const kept = clientOf(gateway);
  await ask(kept);
  await eventually(() => told.length > 0);
  expect(told.join("")).toContain("the certificate has expired: no new connection is possible");
  expect(Date.now()).toBeGreaterThan(until.getTime() - 1_000); // it has whole seconds
  expect(await ask(kept)).toMatchObject({ generation: 7n });
  await refused(clientOf(gateway));
  expect(told).toHaveLength(1);
  await writeCertificate(join(folder, "gateway"), {
    ids: [toSpiffeId("gateway")],
    by: authority,
    trusted: [authority],
  });
  await eventually(() => isInForce("gateway", gateway));
  expect(await ask(clientOf(gateway))).toMatchObject({ generation: 7n });
});
