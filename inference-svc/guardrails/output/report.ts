/** What the rules have found in an answer, as the receipt tells it: names and counts, never what was found. */
import { isAudit } from "../../turn/applied.ts";
import type { Stage } from "../../turn/scope.ts";
import type { Failed, Rule } from "../policy.ts";
import { type Deed, failureStage, namesOf, stagesOf } from "../stages.ts";

const deeds: Readonly<Record<Rule["action"], Deed>> = { block: "blocked", redact: "redacted", flag: "flagged" };

export class Report {
  /** How often each rule has found something. */
  readonly #counts = new Map<Rule, number>();
  /** Guardrails, and rules of services, that could not look. */
  readonly #failures = new Map<string, Failed>();
  readonly #dropped = new Set<string>();

  found(rule: Rule): void {
    this.#counts.set(rule, (this.#counts.get(rule) ?? 0) + 1);
  }

  /** It could not look. */
  failed(failed: Failed): void {
    const { guardrail, scope, outage, name } = failed;
    if (outage === undefined) this.#failures.set(guardrail.id, { guardrail, scope });
    else this.#failures.set(`${guardrail.id} ${outage} ${name}`, failed);
  }

  /** A field that would have told what was redacted is not handed out. @param path in the response: `output.0.signature` */
  dropped(path: string): void {
    this.#dropped.add(path);
  }

  /** Names of the block rules that have found something. */
  get blocked(): readonly string[] {
    return namesOf([...this.#counts.keys()].filter((rule) => rule.action === "block" && !isAudit(rule)));
  }

  stages(): readonly Stage[] {
    const failures = [...this.#failures.values()].map(failureStage);
    const found = stagesOf(this.#counts, ({ action }) => deeds[action]);
    return [...failures, ...found].map((stage) => ({ ...stage, data: { ...stage.data, ...this.#more(stage) } }));
  }

  #more({ data }: Stage): object {
    const dropped = data?.["action"] === "redacted" && data["mode"] !== "audit" && this.#dropped.size > 0;
    return { applies_to: "output", ...(dropped && { dropped: [...this.#dropped] }) };
  }
}
