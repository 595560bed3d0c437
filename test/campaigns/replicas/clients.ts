/** Clients of a cluster: turns of several kinds at every gateway, and what became of them. */
import { setTimeout as wait } from "node:timers/promises";
import { Random } from "../../support/random.ts";
import type { ReplicaAdministrator } from "./administrator.ts";
import type { ReplicaCluster } from "./cluster.ts";
import { maxClockShift } from "./faults.ts";
import type { CountingProvider } from "./provider.ts";
import { type TurnAnswer, type TurnRequest, beginTurn, endTurn } from "./turns.ts";

/** Price of a call in USD. */
export const callCost = 0.01;
/**
 * Lifetime of a key with a budget in milliseconds: longer than clocks may be off and the key is used together, so no process may take the key for
 * expired.
 */
const keyLifeMs = (maxClockShift + 600) * 1_000;
/** Number of calls that a key's budget pays for. */
export const budgetCalls = 20;
const turnsOfSession = 3;
const pauseMs = 10;

/**
 * Statuses that may occur: no answer, an empty budget, a repetition too soon or too late, a failure of the service, and the end of a process during a
 * turn.
 */
const expected: ReadonlySet<number> = new Set([0, 200, 402, 429, 500, 502, 503, 524]);

export class Clients {
  /** The session of each turn that was answered completely. */
  readonly answered: string[] = [];
  /** Generation ids of these turns. */
  readonly generations: string[] = [];
  /** Number of complete answers at each gateway. */
  readonly answers: number[];
  /** Answers that violate the contract. */
  readonly odd: string[] = [];
  /** Answers with more text than the provider sent, or without a terminal event. */
  readonly untrue: string[] = [];
  /** Repetitions of a running request that opened another turn. */
  readonly repeated: string[] = [];
  /** Sessions of requests that were answered while they were repeated. */
  readonly once: string[] = [];
  readonly #cluster: ReplicaCluster;
  readonly #provider: CountingProvider;
  readonly #seed: number;
  readonly #over: () => boolean;

  constructor(cluster: ReplicaCluster, provider: CountingProvider, seed: number, over: () => boolean) {
    this.#cluster = cluster;
    this.#provider = provider;
    this.#seed = seed;
    this.#over = over;
    this.answers = cluster.gateways.map(() => 0);
  }

  /** Sends sessions of several turns, alternating streams and whole answers, each turn at any gateway. */
  async converse(client: number): Promise<void> {
    const random = new Random(this.#seed, client);
    for (let n = 0; !this.#over(); n++) {
      const session = `session-${client}-${n}`;
      for (let turn = 0; turn < turnsOfSession; turn++) {
        await this.#turn(random, { key: this.#cluster.apiKey, text: session, stream: random.chance(0.5) });
      }
    }
  }

  /** Sends a request again while it runs. The provider ends its answer only after the second request was answered, too. */
  async repeat(client: number): Promise<void> {
    const random = new Random(this.#seed, client);
    for (let n = 0; !this.#over(); n++) {
      const session = `repeated-${client}-${n}`;
      const gateway = random.below(this.answers.length);
      const baseUrl = this.#cluster.baseUrl(gateway);
      const named = { text: session, isSession: true, idempotencyKey: session };
      const request = { baseUrl, key: this.#cluster.apiKey, stream: true, ...named };
      const release = this.#provider.hold(session);
      const first = await beginTurn(request);
      const second = first?.status === 200 ? await beginTurn(request) : undefined;
      release();
      const answers = await Promise.all([endTurn(first), endTurn(second)]);
      this.#compare(
        session,
        answers.map((answer) => this.#note(answer, session, gateway, answer === answers[0])),
      );
      await wait(pauseMs);
    }
  }

  /** Uses up keys with a small budget, one after the other. */
  async spend(client: number, administrator: ReplicaAdministrator): Promise<void> {
    const random = new Random(this.#seed, client);
    for (let n = 0; !this.#over(); n++) {
      const expires_at = new Date(Date.now() + keyLifeMs).toISOString();
      const made = await administrator.makeKey(`budget ${n}`, { limit: budgetCalls * callCost, expires_at });
      if (made) await this.#spendAll(random, made.key, `budget-${client}.${n}`);
      await wait(pauseMs);
    }
  }

  /** Sends four requests at a time until the budget is used up. */
  async #spendAll(random: Random, key: string, name: string): Promise<void> {
    for (let round = 0, isSpent = false; !isSpent && !this.#over(); round++) {
      const turns = Array.from({ length: 4 }, (_, one) =>
        this.#turn(random, { key, text: `${name}-${round}.${one}`, stream: one % 2 === 0 }),
      );
      isSpent = (await Promise.all(turns)).some(({ status }) => status === 402);
    }
  }

  async #turn(random: Random, request: Omit<TurnRequest, "baseUrl" | "isSession">): Promise<TurnAnswer> {
    const gateway = random.below(this.answers.length);
    const answer = await endTurn(
      await beginTurn({ ...request, isSession: true, baseUrl: this.#cluster.baseUrl(gateway) }),
    );
    await wait(pauseMs);
    return this.#note(answer, request.text, gateway);
  }

  /** @param isNew false if the answer belongs to a turn that was already recorded */
  #note(answer: TurnAnswer, session: string, gateway: number, isNew = true): TurnAnswer {
    const { status, completed, problem } = answer;
    if (!expected.has(status)) this.odd.push(`${status} to ${session}`);
    if (problem !== undefined) this.untrue.push(`${session}: ${problem}`);
    if (completed === undefined || !isNew) return answer;
    this.answered.push(session);
    this.generations.push(completed);
    (this.answers[gateway] as number)++;
    return answer;
  }

  #compare(session: string, [first, second]: readonly TurnAnswer[]): void {
    if (first?.completed === undefined) return;
    this.once.push(session);
    if (second?.completed !== undefined && second.completed !== first.completed) {
      this.repeated.push(`${session} was answered as ${first.completed} and ${second.completed}`);
    }
  }
}
