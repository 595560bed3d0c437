/** A fixed number of streams per second, whatever their outcomes, of which only counts are kept. */
import { setTimeout as wait } from "node:timers/promises";
import type { Random } from "../../support/random.ts";
import type { Installation } from "../../support/installation.ts";
import { type ClientBehaviour, runClient } from "./client.ts";
import { type SoakCase, faultyCases, ordinaryCase, isExpectedOutcome, isLateOutcome, largeCase } from "./cases.ts";
import type { Provider } from "./provider.ts";

export interface SoakLoadOptions {
  readonly installation: Pick<Installation, "baseUrl" | "apiKey">;
  readonly provider: Provider;
  readonly random: Random;
  readonly streamsPerSecond: number;
  /** Share of streams whose provider fails, from 0 to 1. */
  readonly faults: number;
}

/** Number of occurrences by kind. */
export type OutcomeCounts = Map<string, number>;

/** Outcome of a stream that an overloaded installation refused at once, as it should. */
const busy = "status 503";

const late = "late";

/** Shares of large answers among the working cases, and of leaving clients among all cases. */
const largeShare = 0.05;
const leavingShare = 0.1;

/** Maximum number of details kept for an outcome: enough to see what they have in common. */
const keptDetails = 5;

export class SoakLoad {
  readonly outcomes: OutcomeCounts = new Map();
  /** Unexpected outcomes with their model: the number, and details of the first ones. */
  readonly unexpected = new Map<string, { count: number; readonly details: string[] }>();
  requests = 0;
  readonly #options: SoakLoadOptions;
  readonly #over = new AbortController();
  readonly #open = new Set<Promise<void>>();
  readonly #offered: Promise<void>;

  constructor(options: SoakLoadOptions) {
    this.#options = options;
    this.#offered = this.#offer();
  }

  /** Number of streams that ended by a time limit. */
  get late(): number {
    return [...this.outcomes].reduce((sum, [outcome, times]) => sum + (outcome.endsWith(late) ? times : 0), 0);
  }

  /** Stops the load; the promise resolves once the last client has its answer or has left. */
  async stop(): Promise<void> {
    this.#over.abort();
    await this.#offered;
    await Promise.all(this.#open);
  }

  async #offer(): Promise<void> {
    const began = performance.now();
    for (let n = 1; !this.#over.signal.aborted; n++) {
      const one = this.#one(`soak-${this.requests++}`).finally(() => this.#open.delete(one));
      this.#open.add(one);
      await wait(Math.max(0, began + (n * 1_000) / this.#options.streamsPerSecond - performance.now()));
    }
  }

  async #one(tag: string): Promise<void> {
    const { installation, provider } = this.#options;
    const { asked, manner } = this.#choose();
    const told = await runClient({
      baseUrl: installation.baseUrl,
      key: installation.apiKey,
      model: asked.model,
      tag,
      manner,
      seen: () => provider.seen(tag),
    });
    const { outcome, detail } = told;
    if (isLateOutcome(asked, told)) return count(this.outcomes, `${outcome} ${late}`);
    count(this.outcomes, outcome);
    if (outcome !== busy && !isExpectedOutcome(asked, manner, outcome))
      this.#complain(`${asked.model}: ${outcome}`, detail);
  }

  #complain(what: string, detail: string): void {
    const known = this.unexpected.get(what) ?? { count: 0, details: [] };
    this.unexpected.set(what, known);
    if (known.count++ < keptDetails) known.details.push(detail);
  }

  #choose(): { readonly asked: SoakCase; readonly manner: ClientBehaviour } {
    const { random, faults } = this.#options;
    const asked = random.chance(faults)
      ? random.pick(faultyCases)
      : random.chance(largeShare)
        ? largeCase
        : ordinaryCase;
    if (random.chance(leavingShare)) return { asked, manner: random.chance(0.5) ? "leaves" : "leaves at once" };
    return { asked, manner: asked === largeCase ? "reads slowly" : "reads" };
  }
}

const count = (counts: OutcomeCounts, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
