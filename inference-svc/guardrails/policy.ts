/** The guardrails that a request is under, and their rules in the form in which texts are looked at. */
import { builtinPlaceholders, injectionSlug } from "@sluice/proto/contract/content-filters.js";
import { type FilterActionWord, filterActions } from "@sluice/proto/contract/guardrail-words.js";
import {
  AppliesTo,
  type BuiltinFilter,
  type ContentFilter,
  ErrorPolicy,
  type FilterAction,
  ScanScope,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { Finder } from "@sluice/proto/runtime/pattern/finder.js";
import { type Applied, isAudit } from "../turn/applied.ts";
import type { Detector } from "./detectors/detector.ts";
import { detectors } from "./detectors/registry.ts";
import { injectionScorer } from "./detectors/scorer/index.ts";
import { patternOf } from "./patterns.ts";

/** Something to look for, and what follows from it. */
export interface Rule extends Applied {
  /** Told to clients: the label, else the pattern or the name of what is built in. */
  readonly name: string;
  readonly action: FilterActionWord;
  /** Put in the place of what is redacted. */
  readonly placeholder: string;
  /** How it is looked for, as stages have it. */
  readonly engine: string;
  /** Name of the stage that reports it. */
  readonly stage: "content-filter" | "regex_pi_detection";
  /** Looks at messages of the user alone. */
  readonly userOnly: boolean;
  /** Which passages of a request it reads; absent: all. Others than all leave out what others refer to by what it says. */
  readonly reads?: Reading;
  /** Set where a service is asked: what the receipt says when that has not looked. */
  readonly outage?: string;
  readonly finder: Finder;
}

/** JSON word by word, or as one text. */
export type Reading = "words" | "wholes";

export type Side = "input" | "output";

/** Something that could not look: a guardrail, or one of its rules. */
export type Failed = Applied & Partial<Pick<Rule, "name" | "action" | "engine" | "outage">>;

/** What it could not look at passes, on record. What only reports does not stand in the way of the outage of a service. */
export const failsOpen = (failed: Failed): boolean =>
  failed.guardrail.onError === ErrorPolicy.OPEN ||
  isAudit(failed) ||
  (failed.outage !== undefined && failed.action === "flag");

/** Whether it is for that side. */
export function covers({ guardrail: { appliesTo } }: Applied, side: Side): boolean {
  if (side === "output") return appliesTo === AppliesTo.OUTPUT || appliesTo === AppliesTo.BOTH;
  return appliesTo !== AppliesTo.OUTPUT;
}

/** Whether it has filters for that side. */
export const looksAt = (applied: Applied, side: Side): boolean =>
  applied.guardrail.contentFilters.length + applied.guardrail.contentFilterBuiltins.length > 0 && covers(applied, side);

/** Rules that can be applied, and why others cannot. */
export interface Rules {
  readonly rules: readonly Rule[];
  readonly failures: readonly unknown[];
}

/** A rule of a newer admin-svc is not ours to guess: it cannot be applied. */
export function rulesOf(applied: Applied): Rules {
  const rules: Rule[] = [];
  const failures: unknown[] = [];
  const add = (make: () => Rule) => {
    try {
      rules.push(make());
    } catch (error) {
      failures.push(error);
    }
  };
  for (const filter of applied.guardrail.contentFilters) add(() => written(applied, filter));
  for (const builtin of applied.guardrail.contentFilterBuiltins) {
    add(() => builtIn(applied, builtin));
    if (builtin.slug === injectionSlug) add(() => secondOpinion(applied, builtin));
  }
  return { rules, failures };
}

const written = (applied: Applied, { pattern, label, action }: ContentFilter): Rule => ({
  name: label || pattern,
  action: known(action),
  placeholder: label || "[REDACTED]",
  engine: "regex",
  stage: "content-filter",
  userOnly: false,
  finder: patternOf(pattern),
  // Last: what is added behind a spread costs eighty times as much, and every turn makes all of its rules.
  ...applied,
});

const detectorOf: ReadonlyMap<string, Detector> = new Map(detectors.map((detector) => [detector.slug, detector]));

function builtIn(applied: Applied, { slug, action, scanScope }: BuiltinFilter): Rule {
  const detector = detectorOf.get(slug);
  const placeholder = builtinPlaceholders[slug];
  if (detector === undefined || placeholder === undefined) throw new Error(`built-in filter ${slug}`);
  const isInjection = slug === injectionSlug;
  return {
    name: slug,
    action: known(action),
    placeholder,
    engine: detector.engine,
    stage: isInjection ? "regex_pi_detection" : "content-filter",
    userOnly: isInjection && scanScope === ScanScope.USER_ONLY,
    finder: detector.finder,
    ...applied,
  };
}

/** Flagged, whatever is to become of what the wordings find: it takes a hundredth of harmless texts for attempts. */
const secondOpinion = (applied: Applied, builtin: BuiltinFilter): Rule => ({
  ...builtIn(applied, builtin),
  name: "prompt-injection-score",
  action: "flag",
  engine: "n-gram",
  finder: injectionScorer,
});

function known(action: FilterAction): FilterActionWord {
  const word = filterActions.wordOf(action);
  if (word === undefined) throw new Error(`filter action ${action}`);
  return word;
}
