/** Counts rate limits in Redis, for all processes together. */
import type { Logger } from "../log/log.ts";
import { type Registry, gauge } from "../metrics/metrics.ts";
import type { BucketUse, LimitedUse, Decision, JointDecision, LimitName } from "./decision.ts";
import { type TurnEnd, nothingUsed } from "./joint-admission.ts";
import { type CountedLimits, OfflineUse, type KeyUse, type KeyUses } from "./local.ts";
import { Flight, type StepAnswers } from "./flight.ts";
import { RedisLink, type ScriptCall } from "./redis-link.ts";
import { redisKeysOf, scripts } from "./scripts.ts";
import type { KeyLimits } from "./settings.ts";

/** Interval in milliseconds at which a process reports its running turns; a report is valid for three intervals. */
const announceEveryMs = 5_000;
const leaseMs = 15_000;
/** Number of limits that are reported to Redis, or looked at, without a pause. */
const toldAtOnce = 128;
const passedAtOnce = 2_048;
/**
 * Factor by which a process without Redis may exceed its equal part of a limit, because keys rarely use all processes
 * equally.
 */
const slack = 1.2;

export interface SharedOptions {
  readonly url: string;
  /** Name of this process, unique among running processes. */
  readonly process: string;
  /** Kind of the processes among which the limits are divided while Redis is unreachable. */
  readonly kind: "gateway" | "inference-svc";
  readonly log: Pick<Logger, "info" | "warn">;
  readonly registry: Registry;
}

export class SharedLimits {
  readonly #options: SharedOptions;
  readonly #uses: KeyUses;
  readonly #link: RedisLink;
  readonly #timer: NodeJS.Timeout;
  #processes = 1;

  /** @param uses counts of this process, kept up to date with answers of Redis */
  constructor(options: SharedOptions, uses: KeyUses) {
    this.#options = options;
    this.#uses = uses;
    const { url, log, registry } = options;
    this.#link = new RedisLink({
      url,
      probe: this.#presence(leaseMs),
      log,
      registry,
      returned: () => this.#returned(),
    });
    gauge(
      registry,
      "sluice_limits_processes",
      "Processes, including this one, that share the limits of keys while Redis is unreachable.",
      () => this.#processes,
    );
    this.#timer = setInterval(() => {
      if (!this.#link.up) return;
      this.#announce();
      void this.#present(leaseMs).catch(() => {});
    }, announceEveryMs);
    this.#timer.unref();
  }

  get up(): boolean {
    return this.#link.up;
  }

  /** Fraction of every limit available to this process while Redis is unreachable. */
  get share(): number {
    return Math.min(1, slack / this.#processes);
  }

  /**
   * Enters a request into the limits of its key: at once or, while a call of the key is running, in the next call
   * together with others. @throws Error when Redis does not answer
   */
  enter(keyHash: string, use: KeyUse, limits: KeyLimits, limited: LimitedUse): Promise<Decision> {
    const { requestsPerMinute = 0, tokensPerMinute = 0, concurrentRequests = 0 } = limits;
    const args = [
      requestsPerMinute,
      limited.tokens ? tokensPerMinute : 0,
      concurrentRequests,
      Number(limited.request),
      Number(limited.turn),
    ];
    if (use.isOnWay) return this.#enterLater(keyHash, use, args);
    use.isOnWay = true;
    const answers = this.#enterNow(keyHash, use, args, 1);
    const land = () => this.#land(keyHash, use);
    answers.then(land, land);
    return answers.then((answer) => decisionOf(answer, use));
  }

  #enterLater(keyHash: string, use: KeyUse, args: readonly number[]): Promise<Decision> {
    const { next } = use;
    const flight = next?.takes(args) ? next : (use.next = new Flight(args));
    const answers = flight.join();
    // The waiting requests are sent before this one, because a later request must not take their place.
    if (next !== undefined && next !== flight) this.#send(keyHash, use, next);
    return answers.then((answer) => decisionOf(answer, use));
  }

  /** @param steps number of equal requests, which Redis does not know yet */
  async #enterNow(keyHash: string, use: KeyUse, args: readonly number[], steps: number): Promise<StepAnswers> {
    if (use.isUntold) this.#tellAhead(keyHash, use, use.sent - steps);
    return (await this.#run(scripts.enter, [keyHash], [...args, steps])) as StepAnswers;
  }

  /** Sends the requests that waited for the answer of a running call. When Redis is down, they are rejected. */
  #land(keyHash: string, use: KeyUse): void {
    const { next } = use;
    use.next = undefined;
    use.isOnWay = next !== undefined && this.up;
    if (next === undefined) return;
    if (!this.up) return next.leave(Promise.reject(new Error("Redis does not answer the step before")));
    this.#send(keyHash, use, next);
  }

  #send(keyHash: string, use: KeyUse, flight: Flight): void {
    flight.leave(this.#enterNow(keyHash, use, flight.args, flight.steps));
    const land = () => this.#land(keyHash, use);
    flight.answers.then(land, land);
  }

  /** Enters a turn into limits by model. @throws Error when Redis does not answer */
  enterJointly(all: readonly CountedLimits[], limited: LimitedUse): Promise<JointDecision> {
    const args = [Number(limited.request), Number(limited.turn)];
    for (const { id, use, limits } of all) {
      const { tokensPerMinute = 0, tokensPerDay = 0 } = limits;
      if (use.isUntold) this.#tellAhead(id, use, use.sent - 1);
      args.push(limits.requestsPerMinute ?? 0, limited.tokens ? tokensPerMinute : 0);
      args.push(limits.requestsPerDay ?? 0, limited.tokens ? tokensPerDay : 0, limits.concurrentRequests ?? 0);
    }
    return this.#stepJointly(scripts.enterAll, all, args);
  }

  /**
   * Ends turns of a key. @throws Error when Redis does not answer: the next report then includes the end of the turns,
   * but not their tokens
   */
  async leave(
    keyHash: string,
    use: KeyUse,
    { tokensPerMinute = 0 }: KeyLimits,
    tokens: number,
    turns: number,
  ): Promise<Decision> {
    return decisionOf(
      (await this.#run(scripts.leave, [keyHash], [turns, tokens, tokensPerMinute])) as StepAnswers,
      use,
    );
  }

  /** Ends a turn in limits by model. @throws Error when Redis does not answer */
  leaveJointly(all: readonly CountedLimits[], ends: readonly TurnEnd[]): Promise<unknown> {
    const args = [1];
    for (const [index, { limits }] of all.entries()) {
      const { tokens, isUnused } = ends[index] ?? nothingUsed;
      args.push(tokens, limits.tokensPerMinute ?? 0, limits.tokensPerDay ?? 0);
      args.push(Number(isUnused), limits.requestsPerMinute ?? 0, limits.requestsPerDay ?? 0);
    }
    return this.#stepJointly(scripts.leaveAll, all, args);
  }

  /** Switches a use to counting in this process; call it before anything is admitted without Redis. */
  offline(use: KeyUse, now: number): OfflineUse {
    return (use.offline ??= new OfflineUse(use.copy(now)));
  }

  /** Gives this process's part of the limits to the other processes. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#link.up) await this.#present(0).catch(() => {});
    this.#link.stop();
  }

  /**
   * Reports to Redis what happened while it was down, before all later commands. Redis may have lost its memory, so all
   * other use is reported as well.
   */
  #returned(): void {
    const now = performance.now();
    for (const [id, use] of this.#uses) {
      if (isBusy(use)) this.#tellAhead(id, use);
      else use.isUntold = !use.isIdle(now);
    }
    void this.#present(leaseMs).catch(() => {});
    // A failure means that Redis is down again; everything is reported after its next return.
    this.#tellRest().catch(() => {});
  }

  /**
   * Reports use without running turns in portions, because the use of many thousands of keys at once would keep turns
   * waiting.
   */
  async #tellRest(): Promise<void> {
    let told: Promise<unknown>[] = [];
    for (const [id, use] of this.#uses) {
      if (!use.isUntold) continue;
      told.push(this.#tell(id, use));
      if (told.length < toldAtOnce) continue;
      await Promise.all(told);
      told = [];
    }
    await Promise.all(told);
  }

  /** Renews the numbers of running turns. Entries are looked at in portions, because turns wait meanwhile. */
  #announce(rest = this.#uses[Symbol.iterator]()): void {
    if (!this.#link.up) return;
    for (let passed = 0; passed < passedAtOnce; passed++) {
      const next = rest.next();
      if (next.done === true) return;
      const [id, use] = next.value;
      if (isBusy(use)) this.#tellAhead(id, use);
    }
    setImmediate(() => this.#announce(rest));
  }

  #tellAhead(id: string, use: KeyUse, turns?: number): void {
    this.#tell(id, use, turns).catch(() => {});
  }

  /** Reports a use to Redis. @param turns number of running turns, without one that is just entering */
  #tell(id: string, use: KeyUse, turns = use.sent): Promise<unknown> {
    const now = performance.now();
    const { offline } = use;
    const known = offline?.lastAnswer ?? use;
    const least = known.ahead(now);
    const owed = offline?.ahead(now) ?? nothing;
    use.offline = undefined;
    use.isUntold = false;
    const args = [turns];
    for (const name of bucketNames) {
      args.push(least[name], dayLimit(known.day, name));
      args.push(owed[name], dayLimit(offline?.day, name));
    }
    return this.#stepJointly(scripts.restore, [{ id, use }], args);
  }

  async #present(forMs: number): Promise<void> {
    this.#processes = Math.max(1, Number(await this.#link.run(this.#presence(forMs))));
  }

  #presence(forMs: number): ScriptCall {
    const { kind, process } = this.#options;
    return { script: scripts.present, keys: [`sluice:limits:processes:${kind}`], args: [process, forMs] };
  }

  /** Runs a script on limits whose ids belong to one workspace. */
  async #stepJointly(
    script: string,
    all: readonly (Pick<CountedLimits, "id" | "use"> & Partial<CountedLimits>)[],
    args: readonly number[],
  ): Promise<JointDecision> {
    const ids = all.map(({ id }) => id);
    const reply = (await this.#run(script, ids, args)) as [string, number, ...string[]];
    const now = performance.now();
    const [refusedBy, index] = reply;
    const ahead = all.map(({ use, limits }, at) => {
      const from = 2 + toldFields * at;
      const told = useIn(reply, from);
      use.set(told, now);
      use.day?.countUnder(Number(reply[from + 4]), Number(reply[from + 5]));
      // After a refusal, the use stays measured under the earlier limits.
      return refusedBy === "" || limits === undefined ? told : use.aheadUnder(limits, now);
    });
    return { refusedBy: refusedBy === "" ? undefined : (refusedBy as LimitName), index, ahead };
  }

  #run(script: string, ids: readonly string[], args: readonly number[]): Promise<unknown> {
    const keys = ids.flatMap(redisKeysOf);
    return this.#link.run({ script, keys, args: [this.#options.process, leaseMs, ...args] });
  }
}

/** Whether Redis has to know its running turns, or what was counted without Redis. */
const isBusy = ({ open, pending, offline }: KeyUse): boolean => open > 0 || pending > 0 || offline !== undefined;

/** Reads the decision about one request, and copies the state into the count of this process. */
function decisionOf(answer: StepAnswers, use: KeyUse): Decision {
  const [refusedBy = "", requestsMs, tokensMs] = answer;
  const ahead = { ...nothing, requestsMs: Number(requestsMs), tokensMs: Number(tokensMs) };
  use.set(ahead, performance.now());
  return { refusedBy: refusedBy === "" ? undefined : (refusedBy as LimitName), ahead };
}

/** Names of the buckets in the order of the scripts. */
const bucketNames = ["requestsMs", "tokensMs", "requestsDayMs", "tokensDayMs"] as const;

/** Number of fields in an answer for each use: its four buckets, and the limits of the two by the day. */
const toldFields = 6;

/** The limit under which a bucket is measured; 0 for a bucket by the minute, and while it is unknown. */
const dayLimit = (day: KeyUse["day"], name: keyof BucketUse): number =>
  (name === "requestsDayMs" ? day?.requests.limit : name === "tokensDayMs" ? day?.tokens.limit : 0) ?? 0;

const nothing: BucketUse = { requestsMs: 0, tokensMs: 0, requestsDayMs: 0, tokensDayMs: 0 };

const useIn = (reply: readonly (string | number)[], at: number): BucketUse => ({
  requestsMs: Number(reply[at]),
  tokensMs: Number(reply[at + 1]),
  requestsDayMs: Number(reply[at + 2]),
  tokensDayMs: Number(reply[at + 3]),
});
