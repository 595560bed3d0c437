/** What the rules have found in an answer, as the receipt tells it: names and counts, never what was found. */
import type { Stage } from "../../turn/scope.ts";
import type { Owner, Rule } from "./rules.ts";

type Action = "blocked" | "redacted" | "flagged" | "error";

interface Entry {
  readonly owner: Owner;
  readonly action: Action;
  readonly counts: Map<string, number>;
  readonly engines: Set<string>;
}

const past = { block: "blocked", redact: "redacted", flag: "flagged" } as const;

export class Report {
  readonly #entries = new Map<string, Entry>();
  readonly #dropped = new Set<string>();

  found(rule: Rule): void {
    this.#count(rule, past[rule.action]);
  }

  /** It could not look. */
  failed(rule: Rule): void {
    this.#count(rule, "error");
  }

  /** A field that would have told what was redacted is not handed out. @param path in the response: `output.0.signature` */
  dropped(path: string): void {
    this.#dropped.add(path);
  }

  /** Names of the block rules that have found something. */
  get blocked(): readonly string[] {
    const entries = [...this.#entries.values()].filter(({ action, owner }) => action === "blocked" && !owner.audit);
    return entries.flatMap(({ counts }) => [...counts.keys()]);
  }

  stages(): readonly Stage[] {
    return [...this.#entries.values()].map((entry) => this.#stage(entry));
  }

  #count(rule: Rule, action: Action): void {
    const { owner, name, engine } = rule;
    const key = `${owner.id} ${action}`;
    const entry = this.#entries.get(key) ?? { owner, action, counts: new Map(), engines: new Set() };
    entry.counts.set(name, (entry.counts.get(name) ?? 0) + 1);
    entry.engines.add(engine);
    this.#entries.set(key, entry);
  }

  #stage({ owner, action, counts, engines }: Entry): Stage {
    const patterns = [...counts.keys()];
    const what = `${patterns.length} ${patterns.length === 1 ? "pattern" : "patterns"}`;
    const dropped = action === "redacted" && this.#dropped.size > 0;
    return {
      type: "guardrail",
      name: "content-filter",
      guardrail_id: owner.id,
      guardrail_scope: owner.scope,
      summary: `${summaries[action]}${owner.audit ? " (audit)" : ""}: ${what} in the output`,
      data: {
        action,
        applies_to: "output",
        ...(owner.audit && { mode: "audit" }),
        detected: action !== "error",
        engines: [...engines],
        patterns,
        counts: Object.fromEntries(counts),
        ...(dropped && { dropped: [...this.#dropped] }),
      },
    };
  }
}

const summaries: Readonly<Record<Action, string>> = {
  blocked: "Blocked",
  redacted: "Redacted",
  flagged: "Flagged",
  error: "Not checked",
};
