/** Keys that are disabled or put under a blocking guardrail, and their requests, which must then be refused. */
import { setTimeout as wait } from "node:timers/promises";
import type { ReplicaAdministrator, AdministratorReply } from "./administrator.ts";
import type { ReplicaCluster } from "./cluster.ts";
import { beginTurn, endTurn } from "./turns.ts";

const word = "forbidden";
const pauseMs = 20;
const limitMs = 60_000;

interface Barred {
  readonly key: string;
  /** Status that every request must get from now on. */
  readonly status: 401 | 403;
}

export class PolicyClients {
  /** Number of requests served although their key was blocked: a disconnected process serves on its last policy. */
  servedLate = 0;
  /** Number of requests with blocked keys. */
  asked = 0;
  readonly #cluster: ReplicaCluster;
  readonly #administrator: ReplicaAdministrator;
  readonly #barred: Barred[] = [];
  #guardrail = "";

  constructor(cluster: ReplicaCluster, administrator: ReplicaAdministrator) {
    this.#cluster = cluster;
    this.#administrator = administrator;
  }

  async prepare(): Promise<void> {
    this.#guardrail = await this.#administrator.makeGuardrail(word);
  }

  /** Changes the policy of new keys at every gateway, and then sends requests to the gateway that acknowledged the change. */
  async change(over: () => boolean): Promise<void> {
    for (let n = 0; !over(); n++) {
      const made = await this.#administrator.makeKey(`barred ${n}`);
      if (made) await this.#bar(made.key, made.named.hash, n % this.#cluster.gateways.length);
      await wait(pauseMs);
    }
  }

  async #bar(key: string, hash: string, gateway: number): Promise<void> {
    await this.#ask(key, gateway);
    if (!(await this.#isBarred(await this.#administrator.assign(this.#guardrail, hash, gateway), { key, status: 403 })))
      return;
    const { status } = await this.#administrator.change("PATCH", `/keys/${hash}`, { disabled: true }, gateway);
    if (status === 200) this.#barred.push({ key, status: 401 });
    // If the key was not disabled, its guardrail must still block; without an answer, it is unknown whether the key is disabled.
    else if (status !== 500 && status !== 0) this.#barred.push({ key, status: 403 });
  }

  async #isBarred({ status, gateway }: AdministratorReply, { key }: Barred): Promise<boolean> {
    if (status !== 200) return false;
    this.asked++;
    if ((await this.#ask(key, gateway)) === 200) this.servedLate++;
    return true;
  }

  async #ask(key: string, gateway: number): Promise<number> {
    const baseUrl = this.#cluster.baseUrl(gateway);
    const turn = { baseUrl, key, model: "sluice/echo", text: word, isSession: false, stream: false };
    return (await endTurn(await beginTurn(turn))).status;
  }

  /** @returns blocked keys that a gateway still serves after the cluster has recovered completely */
  async stillServed(): Promise<readonly string[]> {
    const wrong: string[] = [];
    for (const { key, status } of this.#barred.slice(-20)) {
      for (const gateway of this.#cluster.gateways.keys()) {
        const found = await this.#settled(key, gateway);
        if (found !== status) wrong.push(`gateway-${gateway} answers ${found} to a key that gets ${status}`);
      }
    }
    return wrong;
  }

  /** Status of the first answer that is neither a failure of the connection nor 503. */
  async #settled(key: string, gateway: number): Promise<number> {
    const limit = performance.now() + limitMs;
    for (;;) {
      const status = await this.#ask(key, gateway);
      if ((status !== 0 && status < 500) || performance.now() > limit) return status;
      await wait(pauseMs);
    }
  }

  /**
   * Measures how long an assignment takes to reach all gateways, without other activity.  @returns milliseconds from the call to the start of the
   * last unblocked request, for each gateway in each round
   */
  async measure(rounds: number): Promise<readonly number[]> {
    const found: number[] = [];
    const made = await this.#administrator.makeKey("measured");
    if (!made) throw new Error("no key to measure with");
    const gateways = [...this.#cluster.gateways.keys()];
    for (let round = 0; round < rounds; round++) {
      for (const gateway of gateways) await this.#ask(made.key, gateway);
      const began = performance.now();
      const watching = gateways.map((gateway) => this.#untilBarred(made.key, gateway, began));
      await this.#administrator.assign(this.#guardrail, made.named.hash);
      for (const lastPassed of await Promise.all(watching)) found.push(Math.max(0, lastPassed - began));
      await this.#administrator.unassign(this.#guardrail, made.named.hash);
    }
    return found;
  }

  async #untilBarred(key: string, gateway: number, since: number): Promise<number> {
    let lastPassed = since;
    for (let barred = 0; barred < 3; ) {
      const began = performance.now();
      const passed = (await this.#ask(key, gateway)) === 200;
      barred = passed ? 0 : barred + 1;
      if (passed) lastPassed = began;
      if (began - since > limitMs) throw new Error("never enforced");
    }
    return lastPassed;
  }
}
