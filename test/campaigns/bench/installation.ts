/** The installation under test: the real processes, started like `npm start`, with the mock upstream as their only provider. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Installation, startInstallation } from "../../support/installation.ts";
import type { Checkout } from "./checkouts.ts";
import { inUseVariables, readInUse } from "../../support/in-use.ts";
import { familyOf, ownBytes, pinProcess } from "../../support/machine.ts";
import type { InstallationMemory } from "./measure/memory.ts";
import { type Script, modelOf } from "./script.ts";
import type { LoadSubject } from "./subject.ts";

/** Limit of open streams per key: beyond every scenario, since the limit protects against loads such as a bench. */
export const streamsPerKey = 100_000;

export interface BenchInstallation extends LoadSubject {
  readonly managementKey: string;
  readonly gatewayPid: number;
  readonly inferencePid: number;
  /** Ids of all running processes, Postgres included. */
  family(): readonly number[];
  /** Reads the memory, after collecting the garbage of gateway and inference-svc. */
  readMemory(): Promise<InstallationMemory>;
  stop(): Promise<void>;
}

/** Number of processes for gateway and inference-svc. */
export type InstallationForm = "one process" | "two processes";

export interface InstallationSetting {
  readonly upstreamPort: number;
  readonly scripts: readonly Script[];
  readonly cpu: number;
  readonly form: InstallationForm;
}

/** @throws with the installation's output if it does not become ready */
export async function startBenchInstallation(
  checkout: Checkout,
  setting: InstallationSetting,
): Promise<BenchInstallation> {
  const dataDir = mkdtempSync(join(tmpdir(), "sluice-bench-"));
  const remove = () => rmSync(dataDir, { recursive: true, force: true });
  try {
    const installation = await startInstallation({
      checkout: checkout.path,
      inferenceReplicas: setting.form === "one process" ? 0 : 1,
      embeddedPostgres: true,
      dataDir,
      config: JSON.stringify(configFile(setting)),
      environment: {
        ...inUseVariables(dataDir),
        SLUICE_DRAIN_LIMIT_MS: "5000",
        // Installations of tests skip the warm-up; the bench warms up like production.
        SLUICE_WARM_UP_MS: "1500",
      },
    });
    for (const pid of family(installation)) pinProcess(pid, setting.cpu);
    const name = setting.form === "one process" ? `${checkout.name}, one process` : checkout.name;
    return benchInstallation(name, installation, remove);
  } catch (error) {
    remove();
    throw error;
  }
}

const family = (installation: Installation): number[] => [
  ...new Set(Object.values(installation.pids()).flatMap(familyOf)),
];

function benchInstallation(name: string, installation: Installation, remove: () => void): BenchInstallation {
  const { gateway: gatewayPid = 0, "inference-svc": inferencePid = 0 } = installation.pids();
  const pids = [...new Set([gatewayPid, inferencePid])];
  const bytesInUse = async (pid: number) => {
    const { heapBytes, externalBytes } = await readInUse(pid, installation.dataDir);
    return heapBytes + externalBytes;
  };
  return {
    name,
    target: { port: installation.ports.gateway, base: "/api", format: "responses", key: installation.apiKey },
    pids,
    recordPids: () => family(installation).filter((pid) => !pids.includes(pid)),
    managementKey: installation.managementKey,
    gatewayPid,
    inferencePid,
    family: () => family(installation),
    readMemory: async () => ({ inUse: await Promise.all(pids.map(bytesInUse)), resident: pids.map(ownBytes) }),
    stop: () => installation.stop().finally(remove),
  };
}

/** Providers served by the mock upstream. The model of the outage scenario has an endpoint at each. */
const mocks = ["mock", "mock-2", "mock-3"];
const pricing = { prompt: "1", completion: "1" };

function configFile({ upstreamPort, scripts }: InstallationSetting): object {
  return {
    providers: mocks.map((id) => ({ id, dialect: "chat", base_url: `http://127.0.0.1:${upstreamPort}/v1` })),
    models: [...new Map(scripts.map((script) => [modelOf(script), script]))].map(([id, { kind }]) => ({
      id,
      endpoints: kind === "outage" ? mocks.map((provider) => ({ provider, pricing })) : [{ provider: mocks[0] }],
    })),
    limits: { streams_per_key: streamsPerKey },
  };
}
