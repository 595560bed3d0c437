/** The house under test: the real processes, started as `npm start` starts them, with the mock upstream as its only provider. */
import { type House, startHouse } from "../support/house.ts";
import type { Checkout } from "./checkouts.ts";
import { familyOf, pin } from "./measure/machine.ts";
import { type Script, modelOf } from "./script.ts";
import type { LoadSubject } from "./subject.ts";

/** A limit that no scenario reaches, because it protects against loads such as a bench. */
export const streamsPerKey = 100_000;

export interface BenchHouse extends LoadSubject {
  readonly managementKey: string;
  readonly gatewayPid: number;
  readonly inferencePid: number;
  /** Everything that it runs now, Postgres included. */
  family(): readonly number[];
  /** Makes gateway and inference-svc collect their garbage now. */
  collect(): void;
  stop(): Promise<void>;
}

/** Processes of gateway and inference-svc. */
export type HouseForm = "one process" | "two processes";

export interface HouseSetting {
  readonly upstreamPort: number;
  readonly scripts: readonly Script[];
  readonly cpu: number;
  readonly form: HouseForm;
}

/** @throws with what the house said when it does not get ready */
export async function startBenchHouse(checkout: Checkout, setting: HouseSetting): Promise<BenchHouse> {
  const house = await startHouse({
    checkout: checkout.path,
    inferenceReplicas: setting.form === "one process" ? 0 : 1,
    embeddedPostgres: true,
    config: JSON.stringify(houseFile(setting)),
    environment: {
      NODE_OPTIONS: `--import=${import.meta.resolve("./roles/collect.js")}`,
      SLUICE_DRAIN_LIMIT_MS: "5000",
      // Houses of tests skip the warm-up; what is measured is a Sluice as it starts.
      SLUICE_WARM_UP_MS: undefined,
    },
  });
  for (const pid of family(house)) pin(pid, setting.cpu);
  return benchHouse(setting.form === "one process" ? `${checkout.name}, one process` : checkout.name, house);
}

const family = (house: House): number[] => [...new Set(Object.values(house.pids()).flatMap(familyOf))];

function benchHouse(name: string, house: House): BenchHouse {
  const { gateway: gatewayPid = 0, "inference-svc": inferencePid = 0 } = house.pids();
  return {
    name,
    target: { port: house.ports.gateway, base: "/api", format: "responses", key: house.apiKey },
    pids: [...new Set([gatewayPid, inferencePid])],
    managementKey: house.managementKey,
    gatewayPid,
    inferencePid,
    family: () => family(house),
    collect: () => {
      for (const pid of new Set([gatewayPid, inferencePid])) process.kill(pid, "SIGUSR2");
    },
    stop: () => house.stop(),
  };
}

/** Providers that are all the mock upstream: the model of an outage has an endpoint at each of them. */
const mocks = ["mock", "mock-2", "mock-3"];
const pricing = { prompt: "1", completion: "1" };

function houseFile({ upstreamPort, scripts }: HouseSetting): object {
  return {
    providers: mocks.map((id) => ({ id, dialect: "chat", base_url: `http://127.0.0.1:${upstreamPort}/v1` })),
    models: [...new Map(scripts.map((script) => [modelOf(script), script]))].map(([id, { kind }]) => ({
      id,
      endpoints: kind === "outage" ? mocks.map((provider) => ({ provider, pricing })) : [{ provider: mocks[0] }],
    })),
    limits: { streams_per_key: streamsPerKey },
  };
}
