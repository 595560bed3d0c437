/** The service token and the keys of providers are replaced during operation, unnoticed by clients. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { AccessService, ResolveKeyRequestSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { call, dial, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import { type Installation, services, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-test-rotation-"));
const tokenFile = join(folder, "token");
const providerKey = join(folder, "provider-key");
const [old, fresh] = [randomBytes(32).toString("hex"), randomBytes(32).toString("hex")];

let acme: Upstream;
let installation: Installation;

/** Replaces the file by renaming another one, as for a mounted secret. */
function put(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

beforeAll(async () => {
  acme = await startUpstream();
  acme.script([chatAnswer({ role: "assistant", content: "Hi" })]);
  put(tokenFile, `${old}\n`);
  put(providerKey, "provider-key-one");
  installation = await startInstallation({
    environment: { SLUICE_SERVICE_TOKEN_FILE: tokenFile },
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${acme.url}/v1", api_keys: ["\${file:${providerKey}}"]}
models:
  - {id: acme/one, endpoints: [{provider: acme}]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await acme?.stop();
  rmSync(folder, { recursive: true });
});

const sendRequest = async () => {
  const answer = await fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/one", input: "Hi" }),
  });
  await answer.arrayBuffer();
  return answer.status;
};

const administer = async () => {
  const answer = await fetch(`${installation.baseUrl}/keys`, {
    headers: { authorization: `Bearer ${installation.managementKey}` },
  });
  await answer.arrayBuffer();
  return answer.status;
};

/** Sends requests continuously, as clients and administrators do, during some work. @returns statuses other than 200 */
async function failuresDuring(work: () => Promise<void>): Promise<readonly number[]> {
  const done = new AbortController();
  const statuses: number[] = [];
  const clients = [sendRequest, sendRequest, administer].map(async (send) => {
    while (!done.signal.aborted) statuses.push(await send());
  });
  try {
    await work();
  } finally {
    done.abort();
    await Promise.all(clients);
  }
  expect(statuses.length).toBeGreaterThan(10);
  return statuses.filter((status) => status !== 200);
}

/** Waits until every process has read the file. */
async function rotate(...tokens: string[]): Promise<void> {
  const times = (name: string) => installation.logs(name).split('"service token was reloaded"').length;
  const before = services.map(times);
  put(tokenFile, `${tokens.join("\n")}\n`);
  await eventually(() => services.every((name, n) => times(name) > (before[n] as number)));
}

/** Whether admin-svc accepts a token as a service's. */
async function accepts(token: string): Promise<boolean> {
  const client = dial(`127.0.0.1:${installation.ports.admin}`);
  const request = create(ResolveKeyRequestSchema, { keyHash: hashKey(installation.apiKey) });
  try {
    await call(client, AccessService.method.resolveKey, request, serviceMetadata(token), 60_000);
    return true;
  } catch {
    return false;
  } finally {
    client.close();
  }
}

test("the service token is replaced in three steps and without a restart", async () => {
  const pids = installation.pids();
  const failures = await failuresDuring(async () => {
    await rotate(old, fresh);
    await rotate(fresh, old);
    expect(await Promise.all([old, fresh].map(accepts))).toEqual([true, true]);
    await rotate(fresh);
    expect(await Promise.all([old, fresh].map(accepts))).toEqual([false, true]);
  });
  expect(failures).toEqual([]);
  expect(installation.pids()).toEqual(pids);
});

test("a malformed token file changes no service token, and the log never shows it", async () => {
  put(tokenFile, "short\n");
  await Promise.all(services.map((name) => installation.logged(name, "the service token cannot be read")));
  expect([await sendRequest(), await administer(), await accepts(fresh)]).toEqual([200, 200, true]);
  await rotate(fresh);
  const logs = await installation.allLogged();
  for (const secret of [old, fresh, "short\\n"]) expect(logs).not.toContain(secret);
});

test("a connection opened after a rotation of the service token uses the new token", async () => {
  process.kill(installation.pids()["inference-svc"] as number, "SIGKILL");
  await eventually(async () => (await sendRequest()) === 200);
});

test("the key of a provider is replaced without a failed request", async () => {
  const failures = await failuresDuring(async () => {
    put(providerKey, "provider-key-two");
    await eventually(() => acme.requests.at(-1)?.headers["authorization"] === "Bearer provider-key-two");
  });
  expect(failures).toEqual([]);
  expect(await installation.allLogged()).not.toContain("provider-key-");
});
