/**
 * Scans requests with external detector services, after rules with patterns have redacted their matches. Every text is
 * sent to its detectors first; their findings are then handled like matches of a pattern.
 */
import { filterActions } from "@sluice/proto/lib/policy/guardrail-words.js";
import type { Finder, Found } from "@sluice/proto/lib/pattern/finder.js";
import type { Detector } from "../../../services/detection/detector.ts";
import { type Detection, DetectorUnavailable } from "../../../services/detection/wire.ts";
import { TimeSlice } from "../../../turn/time-slice.ts";
import type { PluginTexts } from "../../../turn/feature.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { Scope } from "../../../turn/scope.ts";
import type { Stage } from "../../../turn/trace.ts";
import { requestLayer } from "../../../turn/layer-builders.ts";
import type { Layer } from "../../../turn/turn.ts";
import { enforceResults } from "../input/guard.ts";
import { RequestTexts } from "../input/request-texts.ts";
import { searchTexts } from "../input/search.ts";
import { guardrailUnavailable } from "../not-applicable.ts";
import { failsOpen } from "../filter-rules.ts";
import { buildFailureStage } from "../receipt-stages.ts";
import {
  type DetectedRule,
  type DetectedRules,
  type DetectorMap,
  type DetectorProfile,
  type DryDetectorMap,
  buildDetectedRules,
  selectSpans,
} from "./rules.ts";
import { serviceRetryMs } from "../../../models/internal-calls/retry-hint.ts";

export const detectedInput = (detectors: DetectorMap, pluginTexts: readonly PluginTexts[]): Layer =>
  requestLayer(async (request, scope) => {
    const { rules, missing } = buildDetectedRules(scope.caller, "input", detectors);
    refuseMissing(missing, scope);
    return rules.length === 0 ? request : guarded(new RequestTexts(request, pluginTexts), scope, rules);
  });

/** Layer for a dry run: lists the rules in the receipt without calling a detector. */
export const dryDetectedInput = (detectors: DryDetectorMap): Layer =>
  requestLayer((request, scope) => {
    const { rules, missing } = buildDetectedRules(scope.caller, "input", detectors);
    refuseMissing(missing, scope);
    scope.trace.stages.push(...rules.map(buildNotRunStage));
    return request;
  });

/**
 * Refuses a request whose rules need a missing detector. @throws Fault UNAVAILABLE when a rule fails closed and its
 * detector is not configured
 */
function refuseMissing(missing: DetectedRules["missing"], { trace }: Scope): void {
  trace.stages.push(...missing.map(buildFailureStage));
  const closed = missing.find((rule) => !failsOpen(rule));
  if (closed) throw guardrailUnavailable(new Error(closed.outage));
}

/** Scans and redacts the request. @throws Fault GUARDRAIL_BLOCKED; UNAVAILABLE when a rule fails closed and its detector gave no answer */
async function guarded(texts: RequestTexts, scope: Scope, rules: readonly DetectedRule[]): Promise<TurnRequest> {
  const { stages } = scope.trace;
  const answers = await callDetectors(texts, rules, scope);
  const silent = rules.filter(({ detector }) => answers.get(detector) instanceof DetectorUnavailable);
  stages.push(...silent.map(buildFailureStage));
  const looking = rules.flatMap((rule) => {
    const found = answers.get(rule.detector);
    return found === undefined || found instanceof DetectorUnavailable
      ? []
      : [{ ...rule, finder: buildLookup(found, rule) }];
  });
  const found = await searchTexts(texts.scanUnits(), looking, new TimeSlice(scope.signal), scope.trace.matches);
  enforceResults(found, scope);
  const refusing = silent.find((rule) => !failsOpen(rule));
  if (refusing) throw guardrailUnavailable(answers.get(refusing.detector), serviceRetryMs);
  return new TimeSlice(scope.signal).run(texts.redacted());
}

type Answer = ReadonlyMap<string, readonly Detection[]> | DetectorUnavailable;

/**
 * Collects the texts for each detector's rules and calls all detectors concurrently.
 * @throws Fault when the turn is over
 */
async function callDetectors(
  texts: RequestTexts,
  rules: readonly DetectedRule[],
  scope: Scope,
): Promise<ReadonlyMap<Detector, Answer>> {
  const readers = new Map(rules.map((rule) => [rule.detector, { rule, texts: new Set<string>() }]));
  const reading = [...readers.values()].map((reader) => ({
    ...reader.rule,
    action: filterActions.of("flag"),
    finder: buildCollector(reader.texts),
  }));
  await searchTexts(texts.scanUnits(), reading, new TimeSlice(scope.signal));
  const detectorCalls = [...readers].map(
    async ([detector, reader]) => [detector, await callDetector(detector, reader.texts, scope)] as const,
  );
  return new Map(await Promise.all(detectorCalls));
}

async function callDetector(detector: Detector, texts: ReadonlySet<string>, scope: Scope): Promise<Answer> {
  try {
    return await detector.find(texts, scope);
  } catch (error) {
    if (error instanceof DetectorUnavailable) return error;
    throw error;
  }
}

const nothing: Found = { spans: [], decided: 0 };

/** A finder that buffers all of a text and searches it at the end. */
const buildWholeTextFinder = (look: (text: string) => Found): Finder => ({
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

/** A finder that matches nothing and collects the texts to send to the detector. */
const buildCollector = (texts: Set<string>): Finder =>
  buildWholeTextFinder((text) => {
    texts.add(text);
    return nothing;
  });

/** A finder that matches what the detector found in the texts already sent. */
const buildLookup = (found: ReadonlyMap<string, readonly Detection[]>, rule: DetectedRule): Finder =>
  buildWholeTextFinder((text) => ({ spans: selectSpans(found.get(text) ?? [], rule), decided: text.length }));

const buildNotRunStage = ({ guardrail, scope, engine, name }: DetectedRule<DetectorProfile>): Stage => ({
  type: "guardrail",
  name: "content-filter",
  guardrail_id: guardrail.id,
  guardrail_scope: scope,
  summary: "Not scanned: a dry run calls no detector",
  data: { action: "not_run", detected: false, engines: [engine], patterns: [name] },
});
