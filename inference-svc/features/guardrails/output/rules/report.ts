/** Collects the matches in an answer for the receipt: names of rules and counts, never the matched text. */
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import { isAudit } from "../../../../turn/applied-guardrails.ts";
import { type RuleMatch, type Stage, actionTaken } from "../../../../turn/trace.ts";
import type { ScanFailure, FilterRule } from "../../filter-rules.ts";
import { buildFailureStage, buildMatch, buildStages } from "../../receipt-stages.ts";

const noStages: readonly Stage[] = [];

export class Report {
  /** Number of matches per rule. */
  readonly #counts = new Map<FilterRule, number>();
  /** Guardrails and detector rules that could not scan. */
  #failures: Map<string, ScanFailure> | undefined;
  #dropped: Set<string> | undefined;
  readonly #matches: RuleMatch[] | undefined;

  /** @param matches receives the places of matches */
  constructor(matches?: RuleMatch[]) {
    this.#matches = matches;
  }

  addHit(hit: TextSpan & { readonly rule: FilterRule }): void {
    this.#counts.set(hit.rule, (this.#counts.get(hit.rule) ?? 0) + 1);
    this.#matches?.push(buildMatch(hit.rule, hit));
  }

  /** Records a guardrail or detector rule that could not scan. */
  addFailure(failed: ScanFailure): void {
    const { guardrail, scope, outage, name } = failed;
    this.#failures ??= new Map();
    if (outage === undefined) this.#failures.set(guardrail.id, { guardrail, scope });
    else this.#failures.set(`${guardrail.id} ${outage} ${name}`, failed);
  }

  /**
   * Records a field left out because it would reveal redacted text.
   * @param path path in the response, such as `output.0.signature`
   */
  addDropped(path: string): void {
    this.#dropped ??= new Set();
    this.#dropped.add(path);
  }

  /** The block rules that matched. */
  get blocking(): readonly FilterRule[] {
    return [...this.#counts.keys()].filter((rule) => rule.action.stops && !isAudit(rule));
  }

  stages(): readonly Stage[] {
    if (this.#counts.size === 0 && this.#failures === undefined) return noStages;
    const failures = [...(this.#failures?.values() ?? [])].map(buildFailureStage);
    const found = buildStages(this.#counts, ({ action }) => action);
    return [...failures, ...found].map((stage) => ({ ...stage, data: { ...stage.data, ...this.#details(stage) } }));
  }

  #details(stage: Stage): object {
    const dropped = actionTaken(stage)?.redacts === true ? this.#dropped : undefined;
    return { applies_to: "output", ...(dropped && { dropped: [...dropped] }) };
  }
}
