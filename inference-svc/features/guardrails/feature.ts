/** The guardrails as features of the stack. A layer is left out only if no guardrail of the caller could need it. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { FileReader } from "../../content/files/texts.ts";
import type { Judge, JudgeProfile } from "../../models/internal-calls/judge.ts";
import { type Applied, appliedTo } from "../../turn/applied-guardrails.ts";
import type { AskingFeatureOf, FeatureOf, PluginTexts } from "../../turn/feature.ts";
import { type DryDetectorMap, type DetectorMap } from "./detected/rules.ts";
import { detectedInput, dryDetectedInput } from "./detected/input.ts";
import { detectedOutput, dryDetectedOutput } from "./detected/output.ts";
import { hasInputRules, readGuardedFiles } from "./input/files.ts";
import { inputGuardrails } from "./input/guard.ts";
import { refuseTokens } from "./input/tokens.ts";
import { dryJudgedInput, judgedInput } from "./judged/input.ts";
import { judgedOutput } from "./judged/output.ts";
import { outputGuardrails } from "./output/layer.ts";
import { hasFiltersFor } from "./filter-rules.ts";

interface DryNeeds {
  readonly files: FileReader;
  readonly pluginTexts: readonly PluginTexts[];
  readonly detectors: DryDetectorMap;
  /** Settings of the judge model, as far as a dry run knows them. */
  readonly guardJudge: JudgeProfile | undefined;
}

interface Needs extends DryNeeds {
  readonly detectors: DetectorMap;
  readonly guardJudge: Judge | undefined;
}

type GuardrailFeature = FeatureOf<Needs, DryNeeds>;
type AskingGuardrail = AskingFeatureOf<Needs, DryNeeds>;

/** The layers needed for a caller's guardrails. */
interface NeededLayers {
  readonly files: boolean;
  readonly inputPatterns: boolean;
  readonly outputPatterns: boolean;
  readonly detectors: boolean;
  readonly judgeRules: boolean;
}

const known = new WeakMap<Caller, NeededLayers>();

/** Answered once for each caller, since every turn asks: a change of its policy is another caller. */
function neededBy(caller: Caller): NeededLayers {
  let needed = known.get(caller);
  if (needed === undefined) known.set(caller, (needed = findNeeded(appliedTo(caller))));
  return needed;
}

const findNeeded = (applied: readonly Applied[]): NeededLayers => ({
  files: applied.some(hasInputRules),
  inputPatterns: applied.some((one) => hasFiltersFor(one, "input")),
  outputPatterns: applied.some((one) => hasFiltersFor(one, "output")),
  detectors: applied.some(({ guardrail }) => guardrail.detectors.length > 0),
  judgeRules: applied.some(({ guardrail }) => guardrail.judgeRules.length > 0),
});

export const fileTexts: GuardrailFeature = {
  id: "guardrail-files",
  applies: (_, caller) => neededBy(caller).files,
  layer: ({ files }) => readGuardedFiles(files),
};

export const tokenInputs: GuardrailFeature = {
  id: "guardrail-tokens",
  applies: ({ embedding }, caller) => embedding?.tokens !== undefined && neededBy(caller).files,
  layer: () => refuseTokens,
};

export const inputPatterns: GuardrailFeature = {
  id: "guardrail-input",
  applies: (_, caller) => neededBy(caller).inputPatterns,
  layer: ({ pluginTexts }) => inputGuardrails(pluginTexts),
};

export const inputDetectors: AskingGuardrail = {
  id: "guardrail-input-detectors",
  applies: (_, caller) => neededBy(caller).detectors,
  layer: ({ detectors, pluginTexts }) => detectedInput(detectors, pluginTexts),
  dryRun: ({ detectors }) => dryDetectedInput(detectors),
};

export const inputJudge: AskingGuardrail = {
  id: "guardrail-input-judge",
  applies: (_, caller) => neededBy(caller).judgeRules,
  layer: ({ guardJudge, pluginTexts }) => judgedInput(guardJudge, pluginTexts),
  dryRun: ({ guardJudge, pluginTexts }) => dryJudgedInput(guardJudge, pluginTexts),
};

export const outputJudge: AskingGuardrail = {
  id: "guardrail-output-judge",
  applies: (_, caller) => neededBy(caller).judgeRules,
  layer: ({ guardJudge }) => judgedOutput(guardJudge),
  // A dry run has no answer to judge.
  dryRun: () => (next) => next,
};

export const outputDetectors: AskingGuardrail = {
  id: "guardrail-output-detectors",
  applies: (_, caller) => neededBy(caller).detectors,
  layer: ({ detectors }) => detectedOutput(detectors),
  dryRun: ({ detectors }) => dryDetectedOutput(detectors),
};

export const outputPatterns: GuardrailFeature = {
  id: "guardrail-output",
  applies: (_, caller) => neededBy(caller).outputPatterns,
  layer: () => outputGuardrails,
};

/** Layers for text added to a running request, in the order of the stack. */
export const inputGuards: readonly GuardrailFeature[] = [fileTexts, inputPatterns, inputDetectors, inputJudge];

/** Layers for output not written by the model, in the order of the stack. */
export const outputGuards: readonly GuardrailFeature[] = [outputJudge, outputDetectors, outputPatterns];
