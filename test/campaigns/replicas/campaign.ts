/**
 * Kills, pauses and cuts off random processes of a cluster, while clients send requests and administrators write. Between two faults every gateway
 * must serve again. In the end nothing that was acknowledged may be lost, doubled or wrong.
 */
import { setTimeout as wait } from "node:timers/promises";
import { Random } from "../../support/random.ts";
import { quantile } from "../policy/figure.ts";
import { ReplicaAdministrator } from "./administrator.ts";
import { type CheckedState, type Findings, compareStates } from "./checks.ts";
import { Clients, callCost } from "./clients.ts";
import { ReplicaCluster } from "./cluster.ts";
import { drawFaults } from "./faults.ts";
import { LimitedClients } from "./limited-clients.ts";
import { PolicyClients } from "./policy-clients.ts";
import { type CountingProvider, startCountingProvider } from "./provider.ts";

export interface ReplicasOptions {
  readonly seed: number;
  readonly faults: number;
  /** Number of timed policy changes before the first fault. */
  readonly rounds: number;
  /** A built checkout of an earlier revision: the cluster starts with it, and killed processes restart with either build. */
  readonly older?: string | undefined;
  /** Called before every fault. */
  readonly progress?: (line: string) => void;
}

export interface ReplicasReport {
  readonly faults: number;
  readonly answered: number;
  readonly calls: number;
  readonly acknowledged: number;
  /** p99 of the time in milliseconds from a change of policy to the last unblocked request at any gateway. */
  readonly policyMs: number;
  /** Number of requests right after a change of policy, and how many of them were served on an earlier policy. */
  readonly afterChange: number;
  readonly servedLate: number;
  /** Number of requests admitted under limits that Redis counts; undefined without Redis. */
  readonly limited: number | undefined;
  /** Complaints by topic. */
  readonly findings: Findings;
}

const conversations = 3;
const repeaters = 1;
const spenders = 1;
const writers = 2;
/** Number of complete answers at each gateway, and of acknowledged changes, that must follow a fault before the next one. */
const answersBetween = 3;
const changesBetween = 2;
const healLimitMs = 90_000;
const deliveryLimitMs = 60_000;

const configOf = ({ url }: CountingProvider): string => `
providers:
  - {id: built-in, dialect: echo}
  - {id: acme, dialect: chat, base_url: "${url}/v1"}
models:
  - {id: sluice/echo, endpoints: [{provider: built-in}]}
  - {id: acme/large, endpoints: [{provider: acme, pricing: {prompt: "0", completion: "0", request: "${callCost}"}}]}
`;

export async function runReplicasCampaign(options: ReplicasOptions): Promise<ReplicasReport> {
  const provider = await startCountingProvider();
  const cluster = await ReplicaCluster.start(configOf(provider), options.older);
  try {
    return await new Campaign(cluster, provider, options).run();
  } finally {
    await cluster.stop();
    await provider.stop();
  }
}

class Campaign {
  readonly #options: ReplicasOptions;
  readonly #checked: CheckedState;
  readonly #policy: PolicyClients;
  /** Clients with limits counted in Redis; undefined without Redis. */
  readonly #limited: LimitedClients | undefined;
  readonly #unhealed: string[] = [];
  #over = false;

  constructor(cluster: ReplicaCluster, provider: CountingProvider, options: ReplicasOptions) {
    const administrator = new ReplicaAdministrator(cluster);
    const clients = new Clients(cluster, provider, options.seed, () => this.#over);
    this.#options = options;
    this.#checked = { cluster, provider, clients, administrator };
    this.#policy = new PolicyClients(cluster, administrator);
    this.#limited = cluster.redis && new LimitedClients(cluster, administrator);
  }

  async run(): Promise<ReplicasReport> {
    const { cluster, provider, clients, administrator } = this.#checked;
    await this.#policy.prepare();
    const policyMs = quantile(await this.#policy.measure(this.#options.rounds), 0.99);
    const load = this.#load();
    const faults = await this.#strike();
    this.#unhealed.push(...(await cluster.upgrade()));
    this.#over = true;
    await load;
    await cluster.untilWhole();
    const stillServed = await this.#policy.stillServed();
    const found = await this.#settled();
    return {
      faults,
      answered: clients.answered.length,
      calls: [...provider.calls.values()].reduce((sum, count) => sum + count, 0),
      acknowledged: administrator.acknowledged.length,
      policyMs,
      afterChange: this.#policy.asked,
      servedLate: this.#policy.servedLate,
      limited: this.#limited?.admitted,
      findings: {
        ...found,
        "changes of policy that are not in force": stillServed,
        "answers that claim more than was said": clients.untrue,
        "answers that the contract does not permit": [...clients.odd, ...administrator.odd],
        ...(this.#limited && {
          "keys that were given more than their limit": this.#limited.overshot,
          "requests that were refused far below the limit": this.#limited.refused,
        }),
        "faults that did not heal": this.#unhealed,
      },
    };
  }

  #load(): Promise<unknown> {
    const { clients, administrator } = this.#checked;
    const over = () => this.#over;
    let client = 0;
    const several = (count: number, one: (client: number) => Promise<void>) =>
      Array.from({ length: count }, () => one(client++));
    return Promise.all([
      ...several(conversations, (n) => clients.converse(n)),
      ...several(repeaters, (n) => clients.repeat(n)),
      ...several(spenders, (n) => clients.spend(n, administrator)),
      ...several(writers, () => administrator.write(over)),
      this.#policy.change(over),
      this.#limited?.askSteadily(over),
      this.#limited?.useUp(over),
    ]);
  }

  /** Causes one or two faults. @returns the number of faults */
  async #strike(): Promise<number> {
    const random = new Random(this.#options.seed);
    let done = 0;
    await this.#healed();
    while (done < this.#options.faults && this.#unhealed.length === 0) {
      const faults = drawFaults(this.#checked.cluster, random);
      this.#options.progress?.(`${done + 1}: ${faults.map(({ words }) => words).join(", and ")}`);
      await Promise.all(faults.map((fault) => fault.strike()));
      done += faults.length;
      await this.#healed();
    }
    return done;
  }

  async #healed(): Promise<void> {
    const { cluster, clients, administrator } = this.#checked;
    const answers = [...clients.answers];
    const changes = administrator.acknowledged.length;
    const isHealed = () =>
      clients.answers.every((count, gateway) => count >= (answers[gateway] as number) + answersBetween) &&
      administrator.acknowledged.length >= changes + changesBetween;
    const limit = performance.now() + healLimitMs;
    for (;;) {
      const falls = cluster.replicas.flatMap(({ fall }) => fall ?? []);
      if (falls.length > 0) return void this.#unhealed.push(...falls);
      if (isHealed()) return this.#limited?.untilHeld();
      if (performance.now() > limit) {
        const since = clients.answers.map((count, gateway) => count - (answers[gateway] as number)).join(", ");
        const written = administrator.acknowledged.length - changes;
        return void this.#unhealed.push(
          `after ${healLimitMs} ms: ${since} answers, ${written} changes since the last one`,
        );
      }
      await wait(10);
    }
  }

  /** Compares the final records. Records take a while to arrive; only a difference that remains is an error. */
  async #settled(): Promise<Findings> {
    const limit = performance.now() + deliveryLimitMs;
    for (;;) {
      const found = await compareStates(this.#checked);
      if (Object.values(found).every((complaints) => complaints.length === 0) || performance.now() > limit)
        return found;
      await wait(200);
    }
  }
}
