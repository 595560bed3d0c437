/** Clients of a cluster: turns of several kinds at every gateway, and their outcomes. */
import { setTimeout as wait } from "node:timers/promises";
import { Random } from "../../support/random.ts";
import type { ReplicaAdministrator } from "./administrator.ts";
import type { ReplicaCluster } from "./cluster.ts";
import { maxClockShift } from "./faults.ts";
import type { CountingProvider } from "./provider.ts";
import { type TurnAnswer, type TurnRequest, beginTurn, endTurn } from "./turns.ts";

/** Price of a call in USD. */
export const callCost = 0.01;
/** Keys with a budget expire this long after they are made: longer than clocks may be off and a key is used, so no process may refuse one yet. */
const keyLifeMs = (maxClockShift + 600) * 1_000;
/** Calls within a key's budget. */
export const budgetCalls = 20;
const turnsOfSession = 3;
const pauseMs = 10;

/**
 * Permitted statuses: no answer, no money, a repeat too soon or too late, a failure of the service, and a process ended
 * during a turn.
 */
const expected: ReadonlySet<number> = new Set([0, 200, 402, 429, 500, 502, 503, 524]);

export class Clients {
  /** The session of each turn with a whole answer. */
  readonly answered: string[] = [];
  /** Names of the generations of those turns. */
  readonly generations: string[] = [];
  /** Whole answers of each gateway. */
  readonly answers: number[];
  /** Answers violating the contract. */
  readonly odd: string[] = [];
  /** Answers with more text than sent by the provider, or without a terminal event. */
  readonly untrue: string[] = [];
  /** Repeats of a running request that started another turn. */
  readonly repeated: string[] = [];
  /** Sessions of requests answered while they were repeated. */
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

  /** Sessions of several turns, streams and whole answers in turn, each at any gateway. */
  async converse(client: number): Promise<void> {
    const random = new Random(this.#seed, client);
    for (let n = 0; !this.#over(); n++) {
      const session = `session-${client}-${n}`;
      for (let turn = 0; turn < turnsOfSession; turn++) {
        await this.#turn(random, { key: this.#cluster.apiKey, text: session, stream: random.chance(0.5) });
      }
    }
  }

  /** The same request again while it runs. The provider ends its answer only when the second one has been answered, too. */
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

  /** Spends keys of a small budget, one after the other. */
  async spend(client: number, administrator: ReplicaAdministrator): Promise<void> {
    const random = new Random(this.#seed, client);
    for (let n = 0; !this.#over(); n++) {
      const expires_at = new Date(Date.now() + keyLifeMs).toISOString();
      const made = await administrator.makeKey(`budget ${n}`, { limit: budgetCalls * callCost, expires_at });
      if (made) await this.#spendAll(random, made.key, `budget-${client}.${n}`);
      await wait(pauseMs);
    }
  }

  /** Asks four times at once, until the money is spent. */
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

  /** @param isNew false when the answer belongs to an already noted turn */
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
