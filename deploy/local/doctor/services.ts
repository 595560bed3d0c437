/** Examines a running Sluice: whether each service answers, and whether a client's request succeeds. */
import { join } from "node:path";
import { readJson } from "../files.ts";
import type { InstallationRecord } from "../installation-record.ts";
import { program } from "../places.ts";
import { replicasOf, toReachableHost } from "../ports.ts";
import type { Settings } from "../settings.ts";
import { type Finding, failedFinding, goodFinding, noteFinding, reasonOf } from "./findings.ts";

const answerMs = 5_000;

export async function examineServices(settings: Settings, record: InstallationRecord): Promise<readonly Finding[]> {
  const { ports, pids } = record;
  const replicas = Object.keys(pids).filter((name) => name.startsWith("inference-svc")).length;
  const probes: readonly (readonly [string, number])[] = [
    ["admin-svc", ports.admin_health],
    ...replicasOf(ports, replicas).map(
      ({ health }, n) => [n === 0 ? "inference-svc" : `inference-svc-${n}`, health] as const,
    ),
    ["gateway", ports.gateway_health],
  ];
  const host = toReachableHost(settings.SLUICE_INTERNAL_HOST);
  const logs = `Read ${join(settings.dataDir, "logs")}; docs/operate/troubleshooting.md explains its messages.`;
  const services = probes.map(([name, port]) => examineService(name, `http://${host}:${port}/readyz`, logs));
  return Promise.all([...services, examineRequest(settings, record, logs)]);
}

async function examineService(name: string, url: string, remedy: string): Promise<Finding> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(answerMs) });
    const text = `${url}: ${(await answer.text()).trim()}`;
    return answer.ok ? goodFinding(name, text) : failedFinding(name, text, remedy);
  } catch (error) {
    return failedFinding(name, `${url} does not answer (${reasonOf(error)})`, remedy);
  }
}

/** Requests the list of models, which involves the gateway, admin-svc and the database. */
async function examineRequest(settings: Settings, record: InstallationRecord, logs: string): Promise<Finding> {
  const kept = readJson(join(settings.dataDir, "keys.json")) as { readonly api_key?: string } | undefined;
  const url = `${record.base_url}/models`;
  const authorization = `Bearer ${settings.SLUICE_BOOTSTRAP_API_KEY ?? kept?.api_key ?? ""}`;
  try {
    const answer = await fetch(url, { headers: { authorization }, signal: AbortSignal.timeout(answerMs) });
    await answer.arrayBuffer();
    const text = `GET ${url}: ${answer.status}`;
    if (answer.ok) return goodFinding("a request", text);
    if (answer.status !== 401) return failedFinding("a request", text, logs);
    const remedy = `The first API key no longer works; ${program.call} keys create --name NAME makes another.`;
    return noteFinding("a request", text, remedy);
  } catch (error) {
    return failedFinding("a request", `${url} does not answer (${reasonOf(error)})`, logs);
  }
}
