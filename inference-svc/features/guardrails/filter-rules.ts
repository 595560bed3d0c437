/** Compiles a caller's guardrails into rules. */
import { builtinPlaceholders, injectionSlug } from "@sluice/proto/contract/records/content-filters.js";
import { type RuleAction, filterActions, onlyReports } from "@sluice/proto/lib/policy/guardrail-words.js";
import {
  type BuiltinFilter,
  type ContentFilter,
  ErrorPolicy,
  type FilterAction,
  ScanScope,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { Finder } from "@sluice/proto/lib/pattern/finder.js";
import { type AppliedGuardrail, isAudit } from "../../turn/applied-guardrails.ts";
import type { BuiltinDetector } from "./detectors/detector.ts";
import { builtinDetectors } from "./detectors/registry.ts";
import { injectionScorer } from "./detectors/scorer/index.ts";
import { compileStoredPattern } from "@sluice/proto/lib/pattern/pattern.js";
import { guardrailUnavailable } from "./not-applicable.ts";

/** A pattern or built-in detector to scan for, and the action to take. */
export interface FilterRule extends AppliedGuardrail {
  /** The rule's name in answers and receipts: its label, or else the pattern or the detector's slug. */
  readonly name: string;
  readonly action: RuleAction;
  /** Text that replaces redacted text. */
  readonly placeholder: string;
  /** Name of the matching engine in the receipt. */
  readonly engine: string;
  /** Name of the receipt's stage for the rule. */
  readonly stage: "content-filter" | "regex_pi_detection";
  /** Whether only messages of the role user are scanned. */
  readonly userOnly: boolean;
  /** How the rule reads JSON. When absent, it reads strings and whole texts, and identifiers as well. */
  readonly reads?: ReadMode;
  /** The receipt's text for an outage of the detector service; set exactly for rules that call a service. */
  readonly outage?: string;
  readonly finder: Finder;
}

/** Two ways to scan JSON: string by string, or as one text. */
export type ReadMode = "words" | "wholes";

/** A guardrail, or one of its rules, that could not scan a text. */
export type ScanFailure = AppliedGuardrail & Partial<Pick<FilterRule, "name" | "action" | "engine" | "outage">>;

/** Whether text that could not be scanned passes, with the failure recorded. A detector rule that only reports always passes it. */
export const failsOpen = (failed: ScanFailure): boolean =>
  failed.guardrail.onError === ErrorPolicy.OPEN ||
  isAudit(failed) ||
  (failed.outage !== undefined && failed.action !== undefined && onlyReports(failed.action));

/** The rules of a guardrail that can be applied, and the errors of the others. */
export interface BuiltRules {
  readonly rules: readonly FilterRule[];
  readonly failures: readonly unknown[];
}

/**
 * Cache of compiled rules, since every turn of a caller uses the same rules. Rules hold their compiled patterns, so the
 * cache must not be larger than the cache of patterns.
 */
export class RuleMemo<Key, Rules extends readonly object[]> {
  readonly #built = new Map<Key, Rules>();
  #count = 0;

  get(key: Key): Rules | undefined {
    return this.#built.get(key);
  }

  set(key: Key, rules: Rules): void {
    // An entry without rules takes memory, too.
    this.#count += rules.length + 1;
    if (this.#count > maxCompiled) {
      this.#built.clear();
      this.#count = rules.length + 1;
    }
    this.#built.set(key, rules);
  }
}

const knownRules = new RuleMemo<AppliedGuardrail, readonly FilterRule[]>();
const noFailures: readonly unknown[] = [];

/** Compiles the rules of a guardrail. A rule of a newer admin-svc that is unknown here becomes an error, and is never skipped. */
export function buildRules(applied: AppliedGuardrail): BuiltRules {
  const known = knownRules.get(applied);
  if (known) return { rules: known, failures: noFailures };
  const built = build(applied);
  if (built.failures.length === 0) knownRules.set(applied, built.rules);
  return built;
}

function build(applied: AppliedGuardrail): BuiltRules {
  const rules: FilterRule[] = [];
  const failures: unknown[] = [];
  const add = (make: () => FilterRule) => {
    try {
      rules.push(make());
    } catch (error) {
      failures.push(error);
    }
  };
  for (const filter of applied.guardrail.contentFilters) add(() => buildPatternRule(applied, filter));
  for (const builtin of applied.guardrail.contentFilterBuiltins) {
    add(() => buildBuiltinRule(applied, builtin));
    if (builtin.slug === injectionSlug) add(() => buildScorerRule(applied, builtin));
  }
  return { rules, failures };
}

const buildPatternRule = (applied: AppliedGuardrail, { pattern, label, action }: ContentFilter): FilterRule => ({
  name: label || pattern,
  action: actionOf(action),
  placeholder: label || "[REDACTED]",
  engine: "regex",
  stage: "content-filter",
  userOnly: false,
  finder: compiledPattern(pattern),
  ...applied,
});

const detectorsBySlug: ReadonlyMap<string, BuiltinDetector> = new Map(
  builtinDetectors.map((detector) => [detector.slug, detector]),
);

function buildBuiltinRule(applied: AppliedGuardrail, { slug, action, scanScope }: BuiltinFilter): FilterRule {
  const detector = detectorsBySlug.get(slug);
  const placeholder = builtinPlaceholders[slug];
  if (detector === undefined || placeholder === undefined) throw new Error(`built-in filter ${slug}`);
  const isInjection = slug === injectionSlug;
  return {
    name: slug,
    action: actionOf(action),
    placeholder,
    engine: detector.engine,
    stage: isInjection ? "regex_pi_detection" : "content-filter",
    userOnly: isInjection && scanScope === ScanScope.USER_ONLY,
    finder: detector.finder,
    ...applied,
  };
}

/** The rule of the scorer for prompt injection. It only flags, whatever the filter's action: 1 % of harmless texts reach its threshold. */
const buildScorerRule = (applied: AppliedGuardrail, builtin: BuiltinFilter): FilterRule => ({
  ...buildBuiltinRule(applied, builtin),
  name: "prompt-injection-score",
  action: filterActions.of("flag"),
  engine: "n-gram",
  finder: injectionScorer,
});

/** Maximum number of cached patterns. Keys share patterns; one takes some kilobytes, and up to 2 MB with its cached states. */
const maxCompiled = 1_000;

const compiledPatterns = new Map<string, Finder>();

/**
 * Compiles a pattern, case-sensitive unless it starts with (?i).
 * @throws Fault UNAVAILABLE: an invalid pattern is never skipped
 */
function compiledPattern(source: string): Finder {
  const known = compiledPatterns.get(source);
  if (known) {
    // Inserted again, so the map stays ordered by last use.
    compiledPatterns.delete(source);
    compiledPatterns.set(source, known);
    return known;
  }
  const pattern = compile(source);
  compiledPatterns.set(source, pattern);
  const oldest = compiledPatterns.keys().next();
  if (compiledPatterns.size > maxCompiled && oldest.done !== true) compiledPatterns.delete(oldest.value);
  return pattern;
}

function compile(source: string): Finder {
  try {
    return compileStoredPattern(source);
  } catch (cause) {
    throw guardrailUnavailable(cause);
  }
}

function actionOf(value: FilterAction): RuleAction {
  const action = filterActions.ofValue(value);
  if (action === undefined) throw new Error(`filter action ${value}`);
  return action;
}
