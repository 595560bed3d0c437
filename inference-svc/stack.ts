/** THE order of layers, outermost first, with the reason for each place. A request runs through the layers of the features that apply to it. */
import type { EndpointFeature } from "./ask.ts";
import { dryRunPlanner } from "./dry-run-plan.ts";
import {
  fileTexts,
  inputDetectors,
  inputJudge,
  inputPatterns,
  outputDetectors,
  outputJudge,
  outputPatterns,
} from "./guardrails/features.ts";
import { compaction } from "./compaction/feature.ts";
import { furtherCalls } from "./further-calls.ts";
import { embeddingFeatures } from "./embedding-features.ts";
import { type Feature, type KitParts, buildKits } from "./kit.ts";
import { alignment } from "./plugins/alignment/plugin.ts";
import { contextCompression } from "./plugins/context-compression/plugin.ts";
import { fileDownloads, fileParser, parserEngines, scannedPages } from "./plugins/file-parser/features.ts";
import { fusionModel, fusionPanel } from "./plugins/fusion/plugin.ts";
import { moderation, moderationAvailable } from "./plugins/moderation/plugin.ts";
import { responseHealing } from "./plugins/response-healing/plugin.ts";
import { jevEffort, routerOrders, routers } from "./plugins/routers.ts";
import { webFetch } from "./plugins/web-fetch/plugin.ts";
import { citations, onlineVariant, webSearch } from "./plugins/web/plugin.ts";
import { candidates, routerSlugs } from "./routing/choose/features.ts";
import { clientTools } from "./tools/client/outgoing.ts";
import { agentLoop } from "./tools/feature.ts";
import { composeByMask } from "./turn/feature.ts";
import { guardrailTrial } from "./guardrails/trial.ts";
import { imageDownloads, passedAddresses } from "./web/features.ts";

export const features: readonly Feature[] = [
  // Outside of everything that may make a call: what is kept for further calls is kept until the last of them has ended.
  furtherCalls,
  // Outside of all layers that change an answer: what it seals has passed all guardrails, and the layers behind it read earlier summaries as text.
  compaction,
  // The plugin takes the place of the variant, so that the layers behind it know plugins only.
  onlineVariant,
  // 400 for a PDF engine that the operator has not set up, before routers run.
  parserEngines,
  // Before the routers, since one of the models that it names may be a router slug.
  fusionModel,
  // Models take the place of slugs, so that the layers behind it know models only.
  routerSlugs(routers),
  // Sets the effort that the router chose together with the model.
  jevEffort,
  // Before anything loads an address. Files come before the candidates, since one that was fetched can be read for models that take no URL.
  passedAddresses,
  fileDownloads,
  // Before guardrails, so that a refusal can name the endpoints that could have served, and a wrong slug costs nothing.
  candidates,
  // 400 early when moderation is requested and cannot run.
  moderationAvailable,
  // Before the input guardrails, which scan the texts of files too.
  fileTexts,
  // Refuses and redacts before anything leaves the process or costs money.
  inputPatterns,
  // Detectors are other services: they are sent only what the patterns left.
  inputDetectors,
  // The moderation model reads only redacted texts, and before any other model.
  moderation,
  // The judge is a model: it reads only what patterns and detectors left.
  inputJudge,
  // A model reads scanned pages of requests that the guardrails let pass, and they scan what it read.
  scannedPages,
  // Routers may ask a model which model to try first; that model reads only redacted texts.
  ...routerOrders,
  // Search engines are sent redacted texts; their results are scanned like the request.
  webSearch,
  // After the search, so that the pages that the user named stand closest to the message.
  webFetch,
  // Before the model answers, and with the redacted request.
  fusionPanel,
  // Around all that is done for one answer of the model: it asks for several, and runs no tool for a withheld one.
  agentLoop,
  // Around everything that holds back or changes an answer: it evaluates what would be delivered, and its retries are scanned alike.
  alignment,
  // Around the patterns: the judge reads no text that they held back.
  outputJudge,
  // After the patterns and before the judge, in the order of the input guardrails.
  outputDetectors,
  // Around all attempts: a block is no reason to ask another endpoint.
  outputPatterns,
  // Within the guardrails, which scan the answer as it is delivered.
  responseHealing,
  // Closest to the model's own text: layers that change text move the places of citations.
  citations,
];

export const endpointFeatures: readonly EndpointFeature[] = [
  // The layers behind it see the tools that the provider is sent.
  clientTools,
  // Before files, which are read for endpoints that take the rest of the request.
  imageDownloads,
  // Before compression: how long a file is shows only in its text.
  fileParser,
  // Before the call is priced: what is left out for an endpoint is not paid for.
  contextCompression,
];

/** The texts among the settings of all plugins, which guardrails scan. */
export const pluginTexts = features.flatMap(({ texts }) => texts ?? []);

export type Stack = ReturnType<typeof buildStack>;

export function buildStack(parts: KitParts) {
  const { kit, dryKit } = buildKits(parts, { endpointFeatures, pluginTexts });
  const composed = (listed: readonly Feature[]) => {
    const layers = listed.map(({ layer }) => layer(kit));
    return composeByMask(listed, layers, kit.ask);
  };
  return {
    turn: composed(features),
    embed: composed(embeddingFeatures),
    planDryRun: dryRunPlanner({ features, endpointFeatures, kit: dryKit }),
    planEmbedDryRun: dryRunPlanner({ features: embeddingFeatures, endpointFeatures, kit: dryKit }),
    tryGuardrail: guardrailTrial(kit),
  };
}
