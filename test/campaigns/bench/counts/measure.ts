/** Promises and allocated bytes of one request or event in gateway and inference-svc, after their warm-up. */
import { setTimeout as delay } from "node:timers/promises";
import { steppedScript } from "../client/lockstep.ts";
import type { LoadTarget, RequestForm } from "../client/target.ts";
import type { LoadCommands } from "../roles/load.ts";
import type { MockCommands } from "../roles/mock.ts";
import { Role } from "../roles/role.ts";
import { type Script, modelOf } from "../script.ts";
import { type CountsByService, type CountedInstallation, startCountedInstallation } from "./counted-installation.ts";
import type { CountedQuantity } from "./channel.ts";

export interface CountedLoad {
  readonly title: string;
  readonly script: Script;
  readonly form?: RequestForm;
  /** Whether the key of the request has a guardrail of 50 output patterns. */
  readonly guarded?: true;
  readonly connections: number;
  /** Requests or events in one exchange; 1 if the script is stepped. */
  readonly unitsEach: number;
  /** Number of exchanges before the first count; `count` is the number in each count. */
  readonly warmUp: number;
  readonly count: number;
}

const atOnce = 32;
/** Number of tries after which a count is given up. */
const maxTries = 10;

export const countedLoads = {
  U: {
    title: "request of 1 KB without a stream",
    script: { kind: "json" },
    connections: atOnce,
    unitsEach: 1,
    warmUp: 12_000,
    count: 3_000,
  },
  alone: {
    title: "the same request, one at a time",
    script: { kind: "json" },
    connections: 1,
    unitsEach: 1,
    warmUp: 4_000,
    count: 2_000,
  },
  guarded: {
    title: "request of 1 KB under 50 output patterns",
    script: { kind: "json" },
    guarded: true,
    connections: atOnce,
    unitsEach: 1,
    warmUp: 12_000,
    count: 3_000,
  },
  "guarded-alone": {
    title: "request of 1 KB under 50 output patterns, one at a time",
    script: { kind: "json" },
    guarded: true,
    connections: 1,
    unitsEach: 1,
    warmUp: 4_000,
    count: 2_000,
  },
  U20: {
    title: "request of 20 KB, 28 items, 6 tools",
    script: { kind: "json" },
    form: { long: true },
    connections: atOnce,
    unitsEach: 1,
    warmUp: 6_000,
    count: 2_000,
  },
  start: {
    title: "stream of one event, from request to end",
    script: { kind: "burst", deltas: 1 },
    connections: atOnce,
    unitsEach: 1,
    warmUp: 6_000,
    count: 3_000,
  },
  event: {
    title: "event of a stream that comes alone",
    script: steppedScript,
    connections: 1,
    unitsEach: 1,
    warmUp: 8_000,
    count: 6_000,
  },
  "guarded-event": {
    title: "event under 50 output patterns of a stream that comes alone",
    script: steppedScript,
    guarded: true,
    connections: 1,
    unitsEach: 1,
    warmUp: 8_000,
    count: 6_000,
  },
  burst: {
    title: "event of a stream of 200 in one write, with its share of the start",
    script: { kind: "burst", deltas: 200 },
    connections: 8,
    unitsEach: 200,
    warmUp: 2_000,
    count: 1_000,
  },
  "guarded-burst": {
    title: "event under 50 output patterns of a stream of 200 in one write, with its share of the start",
    script: { kind: "burst", deltas: 200 },
    guarded: true,
    connections: 8,
    unitsEach: 200,
    warmUp: 2_000,
    count: 1_000,
  },
} as const satisfies Record<string, CountedLoad>;

export type CountedLoadId = keyof typeof countedLoads;

export interface LoadCounts {
  readonly promises: CountsByService;
  readonly bytes: CountsByService;
  /** Bytes that survive young collections. */
  readonly survivors: CountsByService;
  /** The code that causes the amounts, counted in a separate run since this slows the processes down; empty unless requested. */
  readonly places: Readonly<Record<"bytes" | "survivors" | "promises", CountsByService>>;
  /** Number of requests or events, by which the amounts are divided. */
  readonly units: number;
}

/** An installation that counts, with its upstream and its clients. */
export class CountBench {
  readonly #mock: Role<MockCommands>;
  readonly #load: Role<LoadCommands>;
  readonly #installation: CountedInstallation;
  readonly #direct: LoadTarget;

  private constructor(parts: {
    readonly mock: Role<MockCommands>;
    readonly load: Role<LoadCommands>;
    readonly installation: CountedInstallation;
    readonly direct: LoadTarget;
  }) {
    this.#mock = parts.mock;
    this.#load = parts.load;
    this.#installation = parts.installation;
    this.#direct = parts.direct;
  }

  static async open(options: {
    readonly checkout?: string;
    readonly embeddedPostgres: boolean;
    /** Node options of the installation's processes. */
    readonly nodeOptions?: readonly string[];
    /** Loads to be counted; by default those listed above. */
    readonly loads?: readonly CountedLoad[];
  }): Promise<CountBench> {
    const mock = new Role<MockCommands>("./mock.js");
    const load = new Role<LoadCommands>("./load.js");
    try {
      const port = await mock.call("listen");
      const installation = await startCountedInstallation(
        { ...options, config: configFile(port, options.loads ?? Object.values(countedLoads)) },
        options.nodeOptions,
      );
      return new CountBench({ mock, load, installation, direct: { port, format: "chat", key: "none" } });
    } catch (error) {
      await Promise.all([mock.stop(), load.stop()]);
      throw error;
    }
  }

  /**
   * Counts a load, and again if requests were refused, as by processes delayed on a busy machine.  @param places number of largest places to report,
   * 0 for none @throws if requests were refused in each of ten tries
   */
  async count(load: CountedLoad, places: number): Promise<LoadCounts> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#countOnce(load, places);
      } catch (error) {
        if (tries === maxTries || !(error as Error).message.includes("status 503")) throw error;
      }
    }
  }

  #countOnce(load: CountedLoad, places: number): Promise<LoadCounts> {
    return this.warm(load, async (run) => {
      const counted = (quantity: CountedQuantity, named: number) => this.#installation.count(quantity, named, run);
      const bytes = await counted("bytes", places);
      const survivors = await counted("survivors", places);
      // Promises are counted after bytes, since their hook makes V8 recompile the code.
      const promises = await counted("promises", 0);
      const made = places === 0 ? promises : await counted("promises", places);
      return {
        promises,
        bytes,
        survivors,
        places: { bytes, survivors, promises: made },
        units: load.count * load.unitsEach,
      };
    });
  }

  /** Microseconds by kind of code in both processes while the load runs, from Node's profiler. */
  kinds(load: CountedLoad): Promise<CountsByService> {
    return this.warm(load, (run) => this.#installation.count("kinds", 100, run));
  }

  /** The functions that both processes enter while the load runs, with the number of calls. */
  functions(load: CountedLoad): Promise<CountsByService> {
    return this.warm(load, (run) => this.#installation.count("functions", Number.MAX_SAFE_INTEGER, run));
  }

  /** The functions that both processes enter while idle, with the number of calls. */
  functionsWhileIdle(ms: number): Promise<CountsByService> {
    return this.#installation.count("functions", Number.MAX_SAFE_INTEGER, () => delay(ms));
  }

  /** Warms both processes up for a load. @param measure receives a function that runs the load, and may call it any number of times */
  async warm<Measured>(load: CountedLoad, measure: (run: () => Promise<void>) => Promise<Measured>): Promise<Measured> {
    const stepped = load.script.kind === "stepped";
    const target = load.guarded ? this.#installation.guarded : this.#installation.target;
    const run = (count: number): Promise<void> =>
      stepped ? this.#load.call("step", count) : this.#load.call("exchangeAll", { ...load, target, count });
    try {
      if (stepped) await this.#load.call("openStepped", { target, direct: this.#direct });
      await run(load.warmUp);
      return await measure(() => run(load.count));
    } finally {
      if (stepped) await this.#load.call("closeStepped");
    }
  }

  get pids(): Readonly<Record<string, number>> {
    return this.#installation.pids;
  }

  async stop(): Promise<void> {
    await this.#installation.stop();
    await Promise.all([this.#mock.stop(), this.#load.stop()]);
  }
}

function configFile(upstreamPort: number, loads: readonly CountedLoad[]): string {
  const models = [...new Set(loads.map(({ script }) => modelOf(script)))];
  return JSON.stringify({
    providers: [{ id: "mock", dialect: "chat", base_url: `http://127.0.0.1:${upstreamPort}/v1` }],
    models: models.map((id) => ({ id, endpoints: [{ provider: "mock" }] })),
  });
}
