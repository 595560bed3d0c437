/** The kit: the parts for building the stack's layers, and the smaller kit for dry runs, without access to models, services and web pages. */
import type { AlignmentSettings } from "@sluice/proto/config/alignment.js";
import type { FusionPresets } from "@sluice/proto/config/routers.js";
import type { JudgeSettings } from "@sluice/proto/config/internal-models.js";
import type { InternalModels } from "@sluice/proto/config/config-file.js";
import { type AskParts, type EndpointFeature, buildAsk } from "./ask.ts";
import type { FileReader } from "./files/texts.ts";
import type { RunParts } from "./fusion/run.ts";
import type { SettingsParts } from "./fusion/settings.ts";
import type { DetectorMap, DryDetectorMap } from "./guardrails/detected/rules.ts";
import { inputGuards, outputGuards } from "./guardrails/features.ts";
import type { Budgets } from "./ledger/budget.ts";
import { type AddedScanner, scanAdded } from "./guardrails/scan-added.ts";
import { Judge, type JudgeOptions, JudgeProfile } from "./internal/judge.ts";
import type { Endpoint } from "./routing/catalog.ts";
import { findCandidates } from "./routing/choose/candidates.ts";
import { supportFileTexts } from "./routing/choose/files.ts";
import { estimateInputCost } from "./routing/choose/plan.ts";
import { Router } from "./routing/choose/router.ts";
import { supportImageUrls } from "./web/image-urls.ts";
import { supportClientTools } from "./tools/client/outgoing.ts";
import type { OpenedTools } from "./tools/feature.ts";
import type { LoopParts } from "./tools/loop/loop.ts";
import { StateSeal } from "./tools/models/sealed-state.ts";
import { fusionRuns, fusionSettings, partModels } from "./tools/part-models.ts";
import { allSources, allTools, plainTools } from "./tools/registry.ts";
import type { Sandbox } from "./tools/sandbox/sandbox.ts";
import { Toolbox } from "./tools/toolbox.ts";
import type { SourceParts } from "./tools/tool-source.ts";
import { bareRequest } from "./turn/bare-request.ts";
import type * as Generic from "./turn/feature.ts";
import type { PluginTexts } from "./turn/feature.ts";
import type { HostedTool, Tool, TurnRequest } from "./turn/request.ts";
import type { Scope } from "./turn/scope.ts";
import type { Layer, Turn } from "./turn/turn.ts";
import type { ModerationDetectors } from "./upstream/moderation.ts";
import type { Upstreams } from "./upstream/providers.ts";
import { dropUnavailableSearch } from "./upstream/translate/unavailable-search.ts";
import type { VectorStores } from "./vector-stores/vector-stores.ts";
import type { SearchEngine } from "./web/search.ts";
import type { McpServers } from "./mcp/servers.ts";
import type { PassedAddresses } from "./web/passed-addresses.ts";
import type { Web } from "./web/web.ts";

/** An entry of the stack. Its dry run gets only the dry kit: it cannot call anything by mistake. */
export type Feature = Generic.FeatureOf<Kit, DryKit>;
export type AskingFeature = Generic.AskingFeatureOf<Kit, DryKit>;

/** Parts of the kit, from the configuration file, the process and the endpoints. */
export interface KitParts extends Omit<AskParts, "router" | "endpointFeatures"> {
  readonly budgets: Pick<Budgets, "reserve" | "begin">;
  /** Shared by all replicas, to route a session to the same endpoint from each of them. */
  readonly secret: string;
  /** The configuration file's `tools.unavailable`. */
  readonly unavailableTools: "drop" | "refuse";
  readonly internalModels: InternalModels;
  readonly detectors: DetectorMap;
  /** The service of the role `moderation`, if the role names a provider instead of a model. */
  readonly moderation: ModerationDetectors | undefined;
  readonly web: Web;
  readonly addresses: PassedAddresses;
  /** Undefined without one in the configuration file. */
  readonly sandbox: Sandbox | undefined;
  readonly mcp: McpServers;
  readonly vectorStores: VectorStores;
  readonly alignment: AlignmentSettings;
  readonly fusionPresets: FusionPresets;
}

export interface DryKit {
  readonly router: Router;
  /** The request in an endpoint's format, and the fields its dialect cannot express. */
  readonly dialects: Pick<Upstreams, "refusal" | "droppedFields" | "preview">;
  readonly addresses: PassedAddresses;
  readonly files: FileReader;
  readonly roles: InternalModels;
  /** Seals the summaries of conversations. */
  readonly compactionSeal: StateSeal;
  readonly alignment: AlignmentSettings;
  readonly fusionSettings: SettingsParts;
  readonly detectors: DryDetectorMap;
  readonly guardJudge: JudgeProfile | undefined;
  readonly hasModerationService: boolean;
  readonly pluginTexts: readonly PluginTexts[];
  /** @param name empty for the default engine of the configuration file */
  readonly searchEngine: (name: string) => Pick<SearchEngine, "id" | "knows"> | undefined;
  readonly openTools: (request: TurnRequest, scope: Scope) => OpenedTools | undefined;
  /** The request as sent to providers: Sluice's tools as functions. */
  readonly told: (request: TurnRequest, scope: Scope) => TurnRequest;
}

export interface Kit extends DryKit {
  /** Calls the endpoints of a model directly, without layers. */
  readonly ask: Turn;
  readonly judge: (role: JudgeSettings, options?: JudgeOptions) => Judge;
  readonly web: Web;
  readonly detectors: DetectorMap;
  readonly guardJudge: Judge | undefined;
  readonly budgets: Pick<Budgets, "begin">;
  readonly moderationService: ModerationDetectors | undefined;
  /** Redacts or refuses texts added to a running request, before a model reads them. */
  readonly scan: AddedScanner;
  /** The layers of `scan`, for features that process the request within them. */
  readonly guards: readonly Layer[];
  /** Layers for delivered output other than the model's own answer. */
  readonly gates: readonly Layer[];
  readonly fusion: RunParts;
  readonly loop: LoopParts;
}

/** The parts of the stack's lists that the kit itself uses. */
export interface KitFeatures {
  readonly endpointFeatures: readonly EndpointFeature[];
  readonly pluginTexts: readonly PluginTexts[];
}

export function buildKits(given: KitParts, features: KitFeatures): { readonly kit: Kit; readonly dryKit: DryKit } {
  const upstreams = given.unavailableTools === "drop" ? dropUnavailableSearch(given.upstreams) : given.upstreams;
  const parts: KitParts = { ...given, upstreams };
  const { internalModels: roles, catalog } = parts;
  const { guard_judge: guardRole } = roles;
  const router = buildRouter(parts);
  const ask = buildAsk({ ...parts, router, ...features });
  const guardJudge = guardRole && new Judge(ask, guardRole);
  const plain: SourceParts = {
    tools: plainTools(parts),
    sources: [],
    isNative: (request, tool, beside = []) => runsNatively(given, request, [tool, ...beside]),
  };
  const local = {
    dialects: upstreams,
    addresses: parts.addresses,
    files: parts.files,
    roles,
    compactionSeal: new StateSeal(parts.secret, "compaction"),
    alignment: parts.alignment,
    fusionSettings: fusionSettings({ catalog, presets: parts.fusionPresets, tools: plain }),
    hasModerationService: parts.moderation !== undefined,
    pluginTexts: features.pluginTexts,
    searchEngine: (name: string) => parts.web.engine(name),
  };
  const scanning = { ...local, detectors: parts.detectors, guardJudge };
  const guards = inputGuards.map(({ layer }) => layer(scanning));
  const gates = outputGuards.map(({ layer }) => layer(scanning));
  const cost = (request: TurnRequest, scope: Scope) =>
    estimateInputCost(router.routeAgain(request, scope.with({ again: "alone" }))[0] as Endpoint, request);
  const plainLoop: LoopParts = { ...plain, guards, gates, inputCost: cost, log: parts.log };
  // Models called by a server tool get only plain tools, so such calls never nest.
  const models = partModels({ catalog, loop: plainLoop, ask });
  const fusion = fusionRuns(local.fusionSettings, models);
  const subagentSeal = new StateSeal(parts.secret, "subagent");
  const loop: LoopParts = {
    ...plainLoop,
    tools: allTools(plain.tools, { fusion, models, roles, subagentSeal }),
    sources: allSources(parts.mcp),
  };
  const opening = {
    openTools: (request: TurnRequest, scope: Scope) => Toolbox.of(request, scope, loop),
    told: (request: TurnRequest, scope: Scope) => Toolbox.of(request, scope, loop)?.request ?? request,
  };
  return {
    kit: {
      ...scanning,
      ...opening,
      router,
      ask,
      judge: (role, options) => new Judge(ask, role, options),
      web: parts.web,
      moderationService: parts.moderation,
      scan: scanAdded(guards),
      guards,
      gates,
      budgets: parts.budgets,
      fusion,
      loop,
    },
    dryKit: {
      ...local,
      ...opening,
      router: buildRouter(parts, true),
      detectors: parts.detectors,
      guardJudge: guardRole && new JudgeProfile(guardRole),
    },
  };
}

function buildRouter({ catalog, upstreams, secret, records }: KitParts, dryRun?: true): Router {
  const cooldown = (endpoint: Endpoint) => upstreams.rest(endpoint);
  return new Router({
    catalog,
    support: supportFileTexts(supportClientTools(supportImageUrls(upstreams))),
    secret,
    records,
    cooldown,
    ...(dryRun && { dryRun }),
  });
}

/**
 * Whether an endpoint of the request's models is sent the first of these tools; a provider with native support keeps it.
 * @param tools the tool, then the tools sent together with it
 */
function runsNatively(
  { catalog, upstreams }: KitParts,
  { models, provider, serviceTier }: TurnRequest,
  tools: readonly [HostedTool, ...Tool[]],
): boolean {
  const endpoints = models.flatMap((slug) => catalog.find(slug)?.model.endpoints ?? []);
  const able = endpoints.filter((endpoint) => isSent(upstreams, endpoint, tools));
  if (able.length === 0 || able.length === endpoints.length || provider === undefined) return able.length > 0;
  const tier = serviceTier === undefined ? {} : { serviceTier };
  return isAnyCandidate(catalog, bareRequest({ models, tools, provider, ...tier }), upstreams);
}

/** Whether the request's provider preferences leave an endpoint that supports the request unchanged. */
function isAnyCandidate(...asked: Parameters<typeof findCandidates>): boolean {
  try {
    return findCandidates(...asked).length > 0;
  } catch {
    // The turn itself reports the reason.
    return false;
  }
}

function isSent(
  { refusal, droppedFields }: Pick<KitParts["upstreams"], "refusal" | "droppedFields">,
  endpoint: Endpoint,
  [tool, ...beside]: readonly [HostedTool, ...Tool[]],
): boolean {
  const alone = bareRequest({ models: [endpoint.model], tools: [tool] });
  if (refusal(endpoint, alone)) return false;
  if (beside.length > 0 && refusal(endpoint, { ...alone, tools: [tool, ...beside] })) return false;
  return !droppedFields(endpoint, alone).some(({ path }) => path === "tools.0");
}
