/** Running services with mutual TLS, during the replacement of their certificates. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Authority, toSpiffeId, writeCertificate, newAuthority } from "../../support/certificates.ts";
import { type Installation, services, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";

let folder: string;
let authority: Authority;
let installation: Installation;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluice-test-tls-"));
  authority = await newAuthority("sluice");
  await mountAll();
  installation = await startInstallation({ inferenceReplicas: 2, environment: { SLUICE_TLS_DIR: folder } });
});
afterAll(async () => {
  await installation?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function mountAll(): Promise<void> {
  for (const service of services) {
    await writeCertificate(join(folder, service), { ids: [toSpiffeId(service)], by: authority, trusted: [authority] });
  }
}

const post = (path: string, key: string, body: unknown) =>
  fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });

const turn = () => post("/responses", installation.apiKey, { model: "sluice/echo", input: "Hello", stream: true });

test("an installation with TLS serves turns and administration, and takes new certificates without a failed call", async () => {
  const statuses: number[] = [];
  const over = new AbortController();
  const asking = async () => {
    while (!over.signal.aborted) {
      const answer = await turn();
      statuses.push(answer.status);
      expect((await answer.text()).endsWith("data: [DONE]\n\n")).toBe(true);
      const made = await post("/keys", installation.managementKey, { name: "k" });
      await made.text();
      statuses.push(made.status);
    }
  };
  const load = Promise.all([asking(), asking(), asking()]);
  const replicas = ["inference-svc", "inference-svc-1"];
  await Promise.all(replicas.map((name) => installation.logged(name, '"msg":"turn"')));
  await mountAll();
  await Promise.all(services.map((name) => installation.logged(name, "a new certificate is in force")));
  // New connections, in both directions, under the new certificates.
  process.kill(installation.pids()["inference-svc"] as number, "SIGTERM");
  const before = installation.pids()["inference-svc"];
  await eventually(() => ![before, undefined].includes(installation.pids()["inference-svc"]));
  const had = statuses.length;
  await eventually(() => statuses.length > had + 20);
  over.abort();
  await load;
  expect(new Set(statuses)).toEqual(new Set([200, 201]));
});

test("a service with TLS refuses callers without a certificate", async () => {
  const check = `http://127.0.0.1:${installation.ports.inference}/grpc.health.v1.Health/Check`;
  await expect(fetch(check, { method: "POST" })).rejects.toThrow("fetch failed");
});
