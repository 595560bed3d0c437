/** Endpoint news between processes: through one admin-svc, through two, and without policy changes. */
import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { openAdmin } from "@sluice/admin-svc/admin.js";
import { EndpointFeed } from "@sluice/admin-svc/service/endpoint-feed.js";
import { Watcher } from "@sluice/admin-svc/service/watcher.js";
import { endpointChannel } from "@sluice/admin-svc/store/endpoint-news.js";
import { EndpointNewsSchema, type WatchPolicyResponse } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { Lifecycle } from "@sluice/proto/lib/process/lifecycle.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { Access } from "@sluice/proto/lib/policy/access.js";
import type { EndpointChange } from "@sluice/proto/lib/policy/watch.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { sql } from "kysely";
import { eventually } from "../support/processes.ts";
import { type AdminInstallation, openInstallation, serviceToken } from "./installation.ts";
import { PolicyWatcher } from "./watching.ts";

let installation: AdminInstallation;
/** Another admin-svc on the same database. */
let other: { readonly port: number; readonly lifecycle: Lifecycle };
beforeAll(async () => {
  installation = await openInstallation();
  const { databaseUrl, log } = installation;
  const lifecycle = new Lifecycle(log);
  const parts = { databaseUrl, port: 0, serviceToken, bootstrapKeys: [], lifecycle, log, registry: new Registry() };
  other = { port: (await openAdmin(parts)).port, lifecycle };
});
afterAll(async () => {
  await other.lifecycle.drain(0);
  await installation.close();
});

/** A process with an open watch. */
async function open(port: number, process: string) {
  const heard: EndpointChange[] = [];
  const { log } = installation;
  const client = dial(`127.0.0.1:${port}`);
  const access = new Access({ client, token: serviceToken, process, log, registry: new Registry() });
  access.onEndpoints((news) => heard.push(...news.map(({ endpoint, failing }) => ({ endpoint, failing }))));
  await access.watch();
  return { access, heard };
}

type Process = Awaited<ReturnType<typeof open>>;

/** Interval between repeated news, below the rate at which admin-svc drops the news of a process. */
const betweenMs = 250;

const count = ({ heard }: Process, name: string): number => heard.filter(({ endpoint }) => endpoint === name).length;

/** Sends the news until all others have received it, since news may be lost. @returns how often it was sent */
async function tellUntilHeard(teller: Process, endpoint: string, ...others: readonly Process[]): Promise<number> {
  for (let told = 1; ; told++) {
    teller.access.reportEndpoint({ endpoint, failing: true });
    const end = performance.now() + betweenMs;
    while (performance.now() < end) {
      if (others.every((process) => count(process, endpoint) > 0)) return told;
      await delay(5);
    }
  }
}

test("news of an endpoint reach every other process once, over any admin-svc, and never their sender", async () => {
  const processes = [
    await open(installation.port, "a"),
    await open(installation.port, "b"),
    await open(other.port, "c"),
  ] as const;
  const [teller, near, far] = processes;
  const told = await tellUntilHeard(teller, "acme/large 1 2", near, far);
  // News from the remote process arrives after any second copy of the first news, so no copy is missed by the count.
  await tellUntilHeard(far, "acme/small 3 4", teller, near);
  expect(count(near, "acme/large 1 2")).toBeLessThanOrEqual(told);
  expect(count(far, "acme/large 1 2")).toBeLessThanOrEqual(told);
  expect([count(teller, "acme/large 1 2"), count(far, "acme/small 3 4")]).toEqual([0, 0]);
  for (const { access } of processes) access.stop();
});

test("news of an endpoint are no heartbeat, and reach only processes that requested them", async () => {
  const [hearer, teller] = [await open(installation.port, "a"), await open(installation.port, "b")];
  const gateway = new PolicyWatcher(installation.port);
  await gateway.hear(() => true);
  const { generation } = hearer.access;
  await tellUntilHeard(teller, "acme/large 1 2", hearer);
  // The next heartbeat follows the news.
  const from = gateway.heard.length;
  await gateway.hear(() => true, from);
  expect(gateway.heard.every(({ endpoints }) => endpoints.length === 0)).toBe(true);
  expect(hearer.access.generation).toBe(generation);
  gateway.leave();
  for (const { access } of [hearer, teller]) access.stop();
});

test("database notifications from other programs are ignored", async () => {
  const [{ access, heard }, teller] = [await open(installation.port, "a"), await open(installation.port, "b")];
  await tellUntilHeard(teller, "first", { access, heard });
  teller.access.stop();
  const send = (payload: string) =>
    sql`select pg_notify(${endpointChannel}, ${payload})`.execute(installation.database);
  for (const payload of ["", "{", '{"from":"x"}']) await send(payload);
  // The notification is sent until it arrives, since the listener may be reconnecting.
  await eventually(async () => {
    await send('{"from":"x","news":[{"endpoint":"sent by hand","failing":true}]}');
    return count({ access, heard }, "sent by hand") > 0;
  });
  expect(new Set(heard.map(({ endpoint }) => endpoint))).toEqual(new Set(["first", "sent by hand"]));
  access.stop();
});

test("a process may send a hundred news of endpoints in ten seconds, and long names are dropped", async () => {
  const payloads: string[] = [];
  const notify = async (payload: string) => payloads.push(payload);
  const feed = new EndpointFeed({ notify, log: installation.log });
  const [from, to] = [new Watcher(1n, () => {}), new Watcher(1n, () => {})];
  to.receivesEndpointNews = true;
  feed.join(from);
  feed.join(to);
  const tell = (endpoint: string) => feed.pass(from, [create(EndpointNewsSchema, { endpoint, failing: true })]);
  tell("x".repeat(501));
  for (let n = 0; n < 1_000; n++) tell(`endpoint ${n}`);
  const messages = to.messages();
  const { value } = (await messages.next()) as IteratorYieldResult<WatchPolicyResponse>;
  expect(value.endpoints.map(({ endpoint }) => endpoint)).toEqual(
    Array.from({ length: 100 }, (_, n) => `endpoint ${n}`),
  );
  expect(payloads.length).toBe(100);
  const { value: policy } = await messages.next();
  expect(policy).toMatchObject({ generation: 1n, all: true, endpoints: [] });
});
