/**
 * Kills random processes of an installation while administrators write and clients send requests. After each kill the installation must recover:
 * turns are answered and writes acknowledged again. In the end no acknowledged change may be lost or half done, and every call that the provider
 * received must be recorded exactly once.
 */
import { setTimeout as wait } from "node:timers/promises";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { Random } from "../../support/random.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Upstream, startUpstream } from "../../support/providers/upstream.ts";
import { callsBySession, longReply, startTurnLoop } from "./turns.ts";
import { findRecordDifferences } from "./records.ts";
import { startWriting } from "./assignments.ts";

export interface ChaosOptions {
  readonly seed: number;
  readonly kills: number;
  /** Number of inference processes; with 0, gateway and inference-svc are one process. */
  readonly replicas: number;
  /** Called after every kill, once the installation has recovered. */
  readonly progress?: (line: string) => void;
}

export interface ChaosReport {
  readonly kills: number;
  readonly answered: number;
  readonly acknowledged: number;
  /** Number of calls counted by the provider. */
  readonly calls: number;
  readonly complaints: readonly string[];
}

const clients = 6;
const writers = 3;
const keysOfWriter = 3;
/** Number of turns that must be answered after a kill before the next one. */
const answersBetween = 20;
const writesBetween = 3;
const healLimitMs = 90_000;
const deliveryLimitMs = 60_000;

const ways = ["SIGKILL", "SIGKILL", "SIGKILL", "SIGTERM", "SIGSTOP"] as const;
const longestStopMs = 1_500;

export async function runChaosCampaign({ seed, kills, replicas, progress }: ChaosOptions): Promise<ChaosReport> {
  const acme = await startUpstream([longReply]);
  const installation = await startInstallation({
    embeddedPostgres: true,
    inferenceReplicas: replicas,
    config: configOf(acme),
  });
  try {
    return await new Campaign(installation, acme, new Random(seed), progress ?? (() => {})).run(kills);
  } finally {
    await installation.stop();
    await acme.stop();
  }
}

const configOf = ({ url }: Upstream): string => `
providers:
  - {id: acme, dialect: chat, base_url: "${url}/v1"}
models:
  - {id: acme/large, endpoints: [{provider: acme, pricing: {prompt: "1", completion: "2"}}]}
`;

class Campaign {
  readonly #installation: Installation;
  readonly #acme: Upstream;
  readonly #random: Random;
  readonly #progress: (line: string) => void;
  readonly #complaints: string[] = [];
  /** Names of the processes to kill: all but the supervisor. */
  readonly #victims: readonly string[];
  #over = false;

  constructor(installation: Installation, acme: Upstream, random: Random, progress: (line: string) => void) {
    this.#installation = installation;
    this.#acme = acme;
    this.#random = random;
    this.#progress = progress;
    // The names are sorted, so a seed draws the same processes whatever the order of their start.
    this.#victims = Object.keys(installation.pids())
      .filter((name) => name !== "supervisor")
      .toSorted();
  }

  async run(kills: number): Promise<ChaosReport> {
    const over = () => this.#over;
    const { asking, ended: asked } = startTurnLoop(this.#installation, clients, over);
    const { writing, ended: written } = startWriting(
      this.#installation,
      await this.#guardrails(),
      await this.#keys(),
      over,
    );
    const healed = (answers: number, writes: number) =>
      asking.answered.length >= answers + answersBetween && writing.acknowledged >= writes + writesBetween;
    let done = 0;
    for (; done < kills && this.#complaints.length === 0; done++) {
      await this.#until(healLimitMs, healed, asking, writing);
      await this.#kill(done + 1);
    }
    await this.#until(healLimitMs, healed, asking, writing);
    this.#over = true;
    await Promise.all([asked, written]);
    const calls = callsBySession(this.#acme);
    this.#complaints.push(
      ...asking.odd,
      ...writing.odd,
      ...(await this.#settled(writing.journals, calls, asking.answered)),
    );
    return {
      kills: done,
      answered: asking.answered.length,
      acknowledged: writing.acknowledged,
      calls: [...calls.values()].reduce((sum, count) => sum + count, 0),
      complaints: this.#complaints,
    };
  }

  async #guardrails(): Promise<readonly string[]> {
    const ids: string[] = [];
    for (const name of ["first", "second"]) {
      const { stdout } = await this.#installation.admin(
        "guardrails",
        "create",
        "--name",
        name,
        "--block",
        "never-said",
        "--json",
      );
      ids.push((JSON.parse(stdout) as { id: string }).id);
    }
    return ids;
  }

  async #keys(): Promise<readonly (readonly string[])[]> {
    const sets: string[][] = [];
    for (let writer = 0; writer < writers; writer++) {
      const set: string[] = [];
      for (let n = 0; n < keysOfWriter; n++) {
        const { stdout } = await this.#installation.admin("keys", "create", "--name", `w${writer}`, "--json");
        set.push(hashKey((JSON.parse(stdout) as { key: string }).key));
      }
      sets.push(set);
    }
    return sets;
  }

  async #until(
    limitMs: number,
    healed: (answers: number, writes: number) => boolean,
    asking: { readonly answered: readonly string[] },
    writing: { readonly acknowledged: number },
  ): Promise<void> {
    const answered = asking.answered.length;
    const { acknowledged } = writing;
    const limit = performance.now() + limitMs;
    while (!healed(answered, acknowledged)) {
      if (performance.now() > limit) {
        const since = `${asking.answered.length - answered} answers and ${writing.acknowledged - acknowledged} writes`;
        return void this.#complaints.push(`not healed after ${limitMs} ms: ${since} since the last kill`);
      }
      await wait(10);
    }
  }

  async #kill(number: number): Promise<void> {
    const name = this.#random.pick(this.#victims);
    const chosen = this.#random.pick(ways);
    // Postgres gets SIGINT instead: after SIGTERM it would wait for its clients to leave and accept no new one, but none leaves.
    const way = name === "postgres" && chosen === "SIGTERM" ? "SIGINT" : chosen;
    const stopMs = this.#random.below(longestStopMs);
    const pid = this.#installation.pids()[name];
    this.#progress(`${number}: ${way} to ${name}`);
    // The process may be restarting.
    if (pid === undefined || !signal(pid, way)) return;
    if (way !== "SIGSTOP") return;
    await wait(stopMs);
    signal(pid, "SIGCONT");
  }

  /**
   * Compares the final state with the journals. Records take a while to arrive, and the database may have been killed last; only a difference that
   * remains is an error.
   */
  async #settled(
    journals: Parameters<typeof findRecordDifferences>[1],
    calls: ReadonlyMap<string, number>,
    answered: readonly string[],
  ): Promise<readonly string[]> {
    const limit = performance.now() + deliveryLimitMs;
    for (;;) {
      const found = await findRecordDifferences(this.#installation.databaseUrl, journals, calls, answered).catch(
        (error: Error) => [error.message],
      );
      if (found.length === 0 || performance.now() > limit) return found;
      await wait(200);
    }
  }
}

function signal(pid: number, way: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, way);
  } catch {
    return false;
  }
}
