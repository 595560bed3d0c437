/**
 * Lets services look at what is asked, after everything that patterns redact is gone from it. All texts are asked for first, and together; what was
 * found is then treated like what a pattern finds.
 */
import type { Finder, Found } from "@sluice/proto/runtime/pattern/finder.js";
import type { Detector } from "../../internal/detection/detector.ts";
import { type Mark, NoAnswer } from "../../internal/detection/mark.ts";
import { Breath } from "../../turn/breath.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope, Stage } from "../../turn/scope.ts";
import { type Layer, onRequest } from "../../turn/turn.ts";
import { decide } from "../input/guard.ts";
import { RequestTexts } from "../input/passages.ts";
import { search } from "../input/search.ts";
import { notApplicable, serviceRetryMs } from "../not-applicable.ts";
import { failsOpen } from "../policy.ts";
import { failureStage } from "../stages.ts";
import { type DetectedRule, type DetectedRules, type DetectorMap, detectedRules, spansOf } from "./rules.ts";

export const detectedInput = (detectors: DetectorMap): Layer =>
  onRequest(async (request, scope) => {
    const rules = detectedRules(scope.caller, "input", detectors);
    return rules.rules.length + rules.missing.length === 0 ? request : guarded(request, scope, rules);
  });

/** @throws Fault GUARDRAIL_BLOCKED; UNAVAILABLE when a rule that fails closed could not look */
async function guarded(request: TurnRequest, scope: Scope, { rules, missing }: DetectedRules): Promise<TurnRequest> {
  const { stages } = scope.trace;
  stages.push(...missing.map(failureStage));
  const closed = missing.find((rule) => !failsOpen(rule));
  if (closed) throw notApplicable(new Error(closed.outage));
  if (scope.dryRun === true) {
    stages.push(...rules.map(unasked));
    return request;
  }
  const texts = new RequestTexts(request);
  const answers = await answersTo(texts, rules, scope);
  const silent = rules.filter(({ detector }) => answers.get(detector) instanceof NoAnswer);
  stages.push(...silent.map(failureStage));
  const looking = rules.flatMap((rule) => {
    const found = answers.get(rule.detector);
    return found === undefined || found instanceof NoAnswer ? [] : [{ ...rule, finder: known(found, rule) }];
  });
  decide(await search(texts.passages(), looking, new Breath(scope.signal)), scope);
  const refusing = silent.find((rule) => !failsOpen(rule));
  if (refusing) throw notApplicable(answers.get(refusing.detector), serviceRetryMs);
  return new Breath(scope.signal).through(texts.redacted());
}

type Answer = ReadonlyMap<string, readonly Mark[]> | NoAnswer;

/** Of each detector what it finds in the texts that its rules read. @throws Fault when the turn is over */
async function answersTo(
  texts: RequestTexts,
  rules: readonly DetectedRule[],
  scope: Scope,
): Promise<ReadonlyMap<Detector, Answer>> {
  const readers = new Map(rules.map((rule) => [rule.detector, { rule, texts: new Set<string>() }]));
  const reading = [...readers.values()].map((reader) => ({
    ...reader.rule,
    action: "flag" as const,
    finder: collecting(reader.texts),
  }));
  await search(texts.passages(), reading, new Breath(scope.signal));
  const asked = [...readers].map(
    async ([detector, reader]) => [detector, await ask(detector, reader.texts, scope)] as const,
  );
  return new Map(await Promise.all(asked));
}

async function ask(detector: Detector, texts: ReadonlySet<string>, scope: Scope): Promise<Answer> {
  try {
    return await detector.find(texts, scope);
  } catch (error) {
    if (error instanceof NoAnswer) return error;
    throw error;
  }
}

const nothing: Found = { spans: [], decided: 0 };

/** Looks at texts as a whole. */
const atTheEnd = (look: (text: string) => Found): Finder => ({
  open() {
    let text = "";
    return {
      push(piece) {
        text += piece;
        return nothing;
      },
      end: () => look(text),
    };
  },
});

/** Finds nothing, and notes what it was shown. */
const collecting = (texts: Set<string>): Finder =>
  atTheEnd((text) => {
    texts.add(text);
    return nothing;
  });

/** Finds what a detector has found before. */
const known = (found: ReadonlyMap<string, readonly Mark[]>, rule: DetectedRule): Finder =>
  atTheEnd((text) => ({ spans: spansOf(found.get(text) ?? [], rule), decided: text.length }));

const unasked = ({ guardrail, scope, engine, name }: DetectedRule): Stage => ({
  type: "guardrail",
  name: "content-filter",
  guardrail_id: guardrail.id,
  guardrail_scope: scope,
  summary: "Not looked at: a dry run asks nobody",
  data: { action: "not_run", detected: false, engines: [engine], patterns: [name] },
});
