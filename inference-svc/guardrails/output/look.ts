/** Looks at texts that are there as a whole, with every rule. */
import { Breath, type Pauses } from "../../turn/breath.ts";
import { replaced } from "../../turn/replaced.ts";
import type { TurnSignal } from "../../turn/signal.ts";
import { type Hit, regionsOf } from "./regions.ts";
import { Reading } from "./reading.ts";
import type { Report } from "./report.ts";
import { type OutputRule, type OutputRules, jointPieceLength } from "./rules.ts";

/** A block rule that is enforced has found something. */
export class Blocked extends Error {
  override readonly name = "Blocked";
}

export class Looker {
  readonly rules: OutputRules;
  readonly report: Report;
  readonly #all: readonly OutputRule[];
  readonly #enforced: ReadonlySet<OutputRule>;
  readonly #pieceLength: number;
  /** Whether a service is asked. */
  readonly asks: boolean;
  /** Whether something that is found does not go out. */
  readonly enforces: boolean;
  readonly #signal: TurnSignal;
  #breath: Breath;

  constructor(rules: OutputRules, report: Report, signal: TurnSignal) {
    this.rules = rules;
    this.report = report;
    this.#signal = signal;
    this.#breath = new Breath(signal);
    this.#enforced = new Set(rules.enforced);
    this.#all = [...rules.enforced, ...rules.reporting];
    this.enforces = rules.enforced.length > 0;
    this.asks = this.#all.some(({ outage }) => outage !== undefined);
    this.#pieceLength = jointPieceLength(this.#all);
  }

  /** The text without what is redacted; what was found is reported. @throws Blocked; Fault UNAVAILABLE when a rule fails */
  async cleaned(text: string): Promise<string> {
    const hits = this.settled(await this.hits(text));
    return hits.length === 0 ? text : replaced(text, regionsOf(hits));
  }

  /** Reports what is found by rules that change nothing. */
  async reported(text: string): Promise<void> {
    await this.#scan(this.rules.reporting, text, (found) => this.#count(found));
  }

  /** What all rules find. @throws Fault UNAVAILABLE when a rule fails */
  async hits(text: string): Promise<readonly Hit[]> {
    const hits: Hit[] = [];
    await this.#scan(this.#all, text, (found) => {
      for (const hit of found) hits.push(hit);
    });
    return hits;
  }

  /** Reports them. @returns what is to be replaced @throws Blocked */
  settled(hits: readonly Hit[]): readonly Hit[] {
    this.#count(hits);
    const enforced = hits.filter(({ rule }) => this.#enforced.has(rule));
    if (enforced.some(({ rule }) => rule.action === "block")) throw new Blocked();
    return enforced;
  }

  #count(hits: readonly Hit[]): void {
    for (const { rule, continues } of hits) if (!continues) this.report.found(rule);
  }

  /** After others had their turn: the time from now on counts. */
  begin(): void {
    this.#breath = new Breath(this.#signal);
  }

  /** Lets others have their turn when it is time. */
  breathe(): Promise<void> | void {
    if (this.#breath.isDue) return this.#breath.take();
  }

  /** Does all of the work, at once when it is short. @throws Fault when nobody waits any more */
  through<Result>(work: Pauses<Result>): Promise<Result> | Result {
    return this.#breath.through(work);
  }

  /** Pieces of a text, between which others get their turn. */
  async *pieces(text: string): AsyncGenerator<string> {
    for (let at = 0; at < text.length; at += this.#pieceLength) {
      yield text.slice(at, at + this.#pieceLength);
      await this.breathe();
    }
  }

  /** None of the rules could be applied. */
  failed(): void {
    for (const rule of this.#all) this.report.failed(rule);
  }

  /** Whether it is read at once. */
  isShort(text: string): boolean {
    return text.length <= this.#pieceLength;
  }

  async #scan(rules: readonly OutputRule[], text: string, give: (hits: readonly Hit[]) => void): Promise<void> {
    if (text === "" || rules.length === 0) return;
    const reading = new Reading(rules, 0, this.report);
    for await (const piece of this.pieces(text)) give(await this.through(reading.push(piece)));
    if (this.asks) {
      give(await this.through(reading.rest()));
      give(await reading.ask(true));
    }
    give(await this.through(reading.end()));
  }
}
