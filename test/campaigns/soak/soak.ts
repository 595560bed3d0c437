/**
 * Streams for a long time, some of them broken by the provider or left by the client. Afterwards the installation must hold no more than after its
 * warm-up: memory, descriptors, timers, handles, open turns, connections to the provider.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { inUseVariables } from "../../support/in-use.ts";
import { Random } from "../../support/random.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { samplesOf, scrape } from "../../support/metrics.ts";
import { eventually } from "../../support/processes.ts";
import { providerActs, buildSoakConfig } from "./cases.ts";
import { type OutcomeCounts, SoakLoad } from "./load.ts";
import { type Provider, startSoakProvider } from "./provider.ts";
import { type ReadingsByService, takeReadings } from "../../support/readings.ts";
import { type LoadReading, findHeapGrowth, findUnreleased } from "./verdict.ts";

export interface SoakOptions {
  readonly seed: number;
  readonly warmUpMs: number;
  readonly forMs: number;
  /** Milliseconds between the end of the load and the final reading. */
  readonly settleMs: number;
  /** Milliseconds between two readings under load. */
  readonly everyMs: number;
  readonly streamsPerSecond: number;
  /** Share of streams whose provider fails, from 0 to 1. */
  readonly faults: number;
  readonly progress?: (minutes: number, requests: number, outcomes: OutcomeCounts, readings: ReadingsByService) => void;
}

export interface SoakReport {
  readonly requests: number;
  readonly outcomes: OutcomeCounts;
  readonly before: ReadingsByService;
  readonly after: ReadingsByService;
  readonly looks: readonly LoadReading[];
  /** Complaints about outcomes, unreleased resources and the ledger. Complaints about the heap are in `heapComplaints`. */
  readonly complaints: readonly string[];
  readonly heapComplaints: readonly string[];
}

/** Maximum share of late streams, for a busy machine; an installation that hangs has more. */
const mostLate = 0.01;

/** Milliseconds until idle connections are closed; those to the provider are kept for 4 s, those to Postgres for 10 s. */
const idleLimitMs = 60_000;

export async function soak(options: SoakOptions): Promise<SoakReport> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-soak-"));
  const provider = await startSoakProvider(providerActs);
  try {
    const config = buildSoakConfig(provider.url);
    const installation = await startInstallation({
      embeddedPostgres: true,
      config,
      environment: inUseVariables(folder),
    });
    try {
      return await new Soak(installation, provider, folder, options).run();
    } finally {
      await installation.stop();
    }
  } finally {
    await provider.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

class Soak {
  readonly #installation: Installation;
  readonly #provider: Provider;
  readonly #folder: string;
  readonly #options: SoakOptions;
  readonly #random: Random;
  readonly #looks: LoadReading[] = [];
  readonly #complaints: string[] = [];

  constructor(installation: Installation, provider: Provider, folder: string, options: SoakOptions) {
    this.#installation = installation;
    this.#provider = provider;
    this.#folder = folder;
    this.#options = options;
    this.#random = new Random(options.seed);
  }

  async run(): Promise<SoakReport> {
    const pids = JSON.stringify(this.#installation.pids());
    const warmUp = this.#load();
    await wait(this.#options.warmUpMs);
    await this.#end(warmUp);
    await wait(this.#options.settleMs);
    const before = await this.#look();
    const load = this.#load();
    await this.#watch(load);
    await this.#end(load);
    const after = await this.#afterReturn(before);
    this.#complaints.push(...findUnreleased(before, after), ...(await this.#ledger()));
    if (JSON.stringify(this.#installation.pids()) !== pids)
      this.#complaints.push("a process ended and was started again");
    const { requests, outcomes } = load;
    const looks = this.#looks;
    const heapComplaints = findHeapGrowth(before, after, looks);
    return { requests, outcomes, before, after, looks, complaints: this.#complaints, heapComplaints };
  }

  #load(): SoakLoad {
    const { streamsPerSecond, faults } = this.#options;
    const { apiKey, baseUrl } = this.#installation;
    const installation = { apiKey, baseUrl };
    return new SoakLoad({ installation, provider: this.#provider, random: this.#random, streamsPerSecond, faults });
  }

  #look(): Promise<ReadingsByService> {
    return takeReadings(this.#installation.pids(), this.#folder);
  }

  async #watch(load: SoakLoad): Promise<void> {
    const { forMs, everyMs, progress } = this.#options;
    const began = performance.now();
    for (let n = 1; n * everyMs <= forMs; n++) {
      await wait(Math.max(0, began + n * everyMs - performance.now()));
      const readings = await this.#look();
      const minutes = (performance.now() - began) / 60_000;
      this.#looks.push({ minutes, readings });
      progress?.(minutes, load.requests, load.outcomes, readings);
    }
  }

  /** Ends the load, and waits until no turn runs. */
  async #end(load: SoakLoad): Promise<void> {
    await load.stop();
    const { late, requests } = load;
    if (late > requests * mostLate) this.#complaints.push(`${late} of ${requests} streams ended by a time limit`);
    for (const [outcome, { count, details }] of load.unexpected) {
      this.#complaints.push(`${count} times ${outcome} (${details.join("; ")})`);
    }
    await eventually(async () => (await this.#underWay()) === 0, idleLimitMs).catch(async () => {
      const { sockets } = this.#provider;
      this.#complaints.push(
        `${await this.#underWay()} still under way, ${sockets} connections to the provider of them`,
      );
    });
  }

  /** Number of running turns, calls to the provider, undelivered records and connections to the provider. */
  async #underWay(): Promise<number> {
    const names = ["sluice_open_turns", "sluice_ledger_open_attempts", "sluice_ledger_undelivered_records"];
    const samples = samplesOf(await scrape(this.#installation)).filter(({ name }) => names.includes(name));
    return samples.reduce((sum, { value }) => sum + value, this.#provider.sockets);
  }

  /** Waits until idle connections and caches have expired. */
  async #afterReturn(before: ReadingsByService): Promise<ReadingsByService> {
    const limit = performance.now() + idleLimitMs;
    await wait(this.#options.settleMs);
    for (;;) {
      const after = await this.#look();
      if (findUnreleased(before, after).length === 0 || performance.now() > limit) return after;
      await wait(1_000);
    }
  }

  async #ledger(): Promise<readonly string[]> {
    return this.#installation.admin("ledger", "check").then(
      () => [],
      (error: Error) => [error.message],
    );
  }
}
