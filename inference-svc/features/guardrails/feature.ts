/** The guardrails as features of the stack. A layer is left out only if no guardrail of the caller needs it. */
import type { FileReader } from "../../content/files/texts.ts";
import type { Judge, JudgeProfile } from "../../models/internal-calls/judge.ts";
import type { CallingFeatureOf, FeatureOf, PluginTexts } from "../../turn/feature.ts";
import { type DryDetectorMap, type DetectorMap } from "./detected/rules.ts";
import { detectedInput, dryDetectedInput } from "./detected/input.ts";
import { detectorOutputLayer, dryDetectorOutputLayer } from "./detected/output.ts";
import { readGuardedFiles } from "./input/files.ts";
import { inputGuardrails } from "./input/guard.ts";
import { refuseTokens } from "./input/tokens.ts";
import { dryJudgedInput, judgedInput } from "./judged/input.ts";
import { judgedOutput } from "./judged/output.ts";
import { outputGuardrails } from "./output/layer.ts";
import { applies } from "../applies.ts";

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
type AskingGuardrail = CallingFeatureOf<Needs, DryNeeds>;

export const fileTexts: GuardrailFeature = {
  id: "guardrail-files",
  applies: applies.fileTexts,
  layer: ({ files }) => readGuardedFiles(files),
};

export const tokenInputs: GuardrailFeature = {
  id: "guardrail-tokens",
  applies: applies.tokenInputs,
  layer: () => refuseTokens,
};

export const inputPatterns: GuardrailFeature = {
  id: "guardrail-input",
  applies: applies.inputPatterns,
  layer: ({ pluginTexts }) => inputGuardrails(pluginTexts),
};

export const inputDetectors: AskingGuardrail = {
  id: "guardrail-input-detectors",
  applies: applies.inputDetectors,
  layer: ({ detectors, pluginTexts }) => detectedInput(detectors, pluginTexts),
  dryRun: ({ detectors }) => dryDetectedInput(detectors),
};

export const inputJudge: AskingGuardrail = {
  id: "guardrail-input-judge",
  applies: applies.inputJudge,
  layer: ({ guardJudge, pluginTexts }) => judgedInput(guardJudge, pluginTexts),
  dryRun: ({ guardJudge, pluginTexts }) => dryJudgedInput(guardJudge, pluginTexts),
};

export const outputJudge: AskingGuardrail = {
  id: "guardrail-output-judge",
  applies: applies.outputJudge,
  layer: ({ guardJudge }) => judgedOutput(guardJudge),
  // A dry run has no answer to judge.
  dryRun: () => (next) => next,
};

export const outputDetectors: AskingGuardrail = {
  id: "guardrail-output-detectors",
  applies: applies.outputDetectors,
  layer: ({ detectors }) => detectorOutputLayer(detectors),
  dryRun: ({ detectors }) => dryDetectorOutputLayer(detectors),
};

export const outputPatterns: GuardrailFeature = {
  id: "guardrail-output",
  applies: applies.outputPatterns,
  layer: () => outputGuardrails,
};

/** Features that scan text added to a running request, in the order of the stack. */
export const inputGuards: readonly GuardrailFeature[] = [fileTexts, inputPatterns, inputDetectors, inputJudge];

/** Features that scan output not written by the model, in the order of the stack. */
export const outputGuards: readonly GuardrailFeature[] = [outputJudge, outputDetectors, outputPatterns];
