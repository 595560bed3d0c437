/**
 * THE order of layers, outermost first, with the reason for each place. A request passes through the layers of all
 * features that apply to it.
 */
import type { EndpointFeature } from "./models/ask.ts";
import { dryRunPlanner } from "./engine/dry-run-plan.ts";
import {
  fileTexts,
  inputDetectors,
  inputJudge,
  inputPatterns,
  outputDetectors,
  outputJudge,
  outputPatterns,
} from "./features/guardrails/feature.ts";
import { compaction } from "./features/compaction/feature.ts";
import { tracedAnswer, tracedRequest } from "./features/trace-content/feature.ts";
import { furtherCalls } from "./features/further-calls/feature.ts";
import { embeddingFeatures } from "./embedding-stack.ts";
import { type KitDeps, buildKits } from "./kit.ts";
import { alignment } from "./features/alignment/feature.ts";
import { contextCompression } from "./features/compression/feature.ts";
import { fileDownloads, fileParser, parserEngines, scannedPages } from "./features/file-parser/feature.ts";
import { fusionModel, fusionPanel } from "./features/fusion/feature.ts";
import { moderation, moderationAvailable } from "./features/moderation/feature.ts";
import { responseHealing } from "./features/healing/feature.ts";
import { jevEffort, routerOrders, routers } from "./features/routers/feature.ts";
import { webFetch } from "./features/web/fetch-feature.ts";
import { citationsFeature, onlineVariant, webSearch } from "./features/web/search-feature.ts";
import { candidatesFeature, routerSlugs } from "./features/routers/router-slugs.ts";
import { clientToolsLayer } from "./agent-loop/client-tools/outgoing.ts";
import { agentLoop } from "./features/server-tools/feature.ts";
import { isPlain } from "./features/applies.ts";
import { composeByMask } from "./turn/feature.ts";
import { type Turn, compose } from "./turn/turn.ts";
import { guardrailTrial } from "./features/guardrails/guardrail-trial.ts";
import { imageDownloads, passedAddresses } from "./features/web/addresses-feature.ts";
import type { Feature, Kit } from "./features/kit.ts";

export const features: readonly Feature[] = [
  // Around all layers that change an answer, so a trace gets what the client gets.
  tracedAnswer,
  // Around every layer with calls: the budget reserve for further calls must last until the last of them has ended.
  furtherCalls,
  // Around all layers that change an answer: a summary has passed all guardrails before it is sealed, and inner layers
  // see earlier summaries as text.
  compaction,
  // The plugin `web` replaces the variant `:online`, so inner layers need to know only plugins.
  onlineVariant,
  // Answers 400 for a PDF engine that is not configured, before routers run.
  parserEngines,
  // Before the routers, since one of fusion's models may be the slug of a router.
  fusionModel,
  // Replaces slugs of routers by models, so inner layers need to know only models.
  routerSlugs(routers),
  // Sets the reasoning effort the router has chosen together with the model.
  jevEffort,
  // Addresses are checked before any of them is loaded. Files come before the candidates, since a downloaded file can
  // be read for models that accept no URLs.
  passedAddresses,
  fileDownloads,
  // Before the guardrails: their refusals list the candidate endpoints, and a wrong slug costs nothing.
  candidatesFeature,
  // Answers 400 early when moderation is requested and cannot run.
  moderationAvailable,
  // Before the input guardrails, since these also scan the texts of files.
  fileTexts,
  // Refuses or redacts before anything leaves the process or costs money.
  inputPatterns,
  // Detectors are external services: they get only text already redacted by the patterns.
  inputDetectors,
  // The moderation model gets only redacted texts, and it gets them before any other model.
  moderation,
  // The judge is a model: it gets only text already redacted by patterns and detectors.
  inputJudge,
  // After the input guardrails, so a trace gets only redacted texts, and none of a refused request.
  tracedRequest,
  // After the input guardrails: a model reads scanned pages only of requests that have passed, and guardrails scan the
  // resulting text.
  scannedPages,
  // A router may call a model to order the chosen models; that model gets only redacted texts.
  ...routerOrders,
  // Search engines get redacted texts; search results are scanned like the request.
  webSearch,
  // After the search, so pages named by the user stand closest to the message.
  webFetch,
  // Before the model answers, and with the redacted request.
  fusionPanel,
  // Around everything that belongs to one answer of the model: the loop requests several answers, and runs no tool for
  // a withheld one.
  agentLoop,
  // Around everything that holds back or changes an answer: alignment evaluates what would be delivered, and its
  // retries are scanned like a first answer.
  alignment,
  // Around the patterns, so the judge gets no text they hold back.
  outputJudge,
  // Scans answers after the patterns and before the judge, in the order of the input guardrails.
  outputDetectors,
  // Around all attempts, because a block is no reason to try another endpoint.
  outputPatterns,
  // Within the guardrails, which must scan the answer as it is delivered.
  responseHealing,
  // Closest to the model's own text, because layers that change text would move the places of citations.
  citationsFeature,
];

/** The features that apply to plain requests, as `isPlain` in features/applies.ts defines them. */
export const plainFeatures: readonly Feature[] = [candidatesFeature];

export const endpointFeatures: readonly EndpointFeature[] = [
  // First, so inner layers see the tools as they are sent to the provider.
  clientToolsLayer,
  // Before files, which are read only for endpoints that support the rest of the request.
  imageDownloads,
  // Before compression, because the length of a file is known only from its text.
  fileParser,
  // Before the call is priced, because text removed for an endpoint is not paid for.
  contextCompression,
];

/** The texts in the settings of all plugins, for guardrails. */
export const pluginTexts = features.flatMap(({ texts }) => texts ?? []);

export type { TrialText, TryGuardrail } from "./features/guardrails/guardrail-trial.ts";
export type Stack = ReturnType<typeof buildStack>;

export function buildStack(parts: KitDeps) {
  const { kit, dryKit } = buildKits(parts, { endpointFeatures, pluginTexts });
  const composed = (listed: readonly Feature[]) => {
    const layers = listed.map(({ layer }) => layer(kit));
    return composeByMask(listed, layers, kit.callModel);
  };
  // Plain requests have no tools of Sluice, so providers get them unchanged.
  const plainKit: Kit = { ...kit, toProviderRequest: (request) => request };
  const plainLayers = plainFeatures.map(({ layer }) => layer(plainKit));
  const plainTurn = compose(plainLayers, kit.callModel);
  const composedTurn = composed(features);
  const turn: Turn = (request, scope) => (isPlain(request, scope.caller) ? plainTurn : composedTurn)(request, scope);
  return {
    turn,
    embed: composed(embeddingFeatures),
    planDryRun: dryRunPlanner({ features, endpointFeatures, kit: dryKit }),
    planEmbedDryRun: dryRunPlanner({ features: embeddingFeatures, endpointFeatures, kit: dryKit }),
    tryGuardrail: guardrailTrial(kit),
  };
}
