/** Builds the kit of a configuration, with which the features of the stack make their layers. */
import type { AlignmentSettings } from "@sluice/proto/config/alignment.js";
import type { TracingContent } from "@sluice/proto/config/tracing.js";
import type { FusionPresets } from "@sluice/proto/config/routers.js";
import type { InternalModels } from "@sluice/proto/config/config-file.js";
import { type ModelCallerDeps, type EndpointFeature, buildModelCaller } from "./models/ask.ts";
import type { DetectorMap } from "./features/guardrails/detected/rules.ts";
import { inputGuards, outputGuards } from "./features/guardrails/feature.ts";
import type { Budgets } from "./models/ledger/budget.ts";
import { addedItemsScanner } from "./turn/scan-added.ts";
import { Judge, JudgeProfile } from "./models/internal-calls/judge.ts";
import type { Endpoint } from "./models/routing/catalog.ts";
import { findCandidates } from "./models/routing/choose/candidates.ts";
import { supportFileTexts } from "./models/routing/choose/files.ts";
import { estimateInputCost } from "./models/routing/choose/plan.ts";
import { Router } from "./models/routing/choose/router.ts";
import { supportImageUrls } from "./features/web/image-urls.ts";
import { supportClientTools } from "./agent-loop/client-tools/outgoing.ts";
import type { LoopDeps } from "./agent-loop/loop/loop.ts";
import { StateSeal } from "./content/sealed-state.ts";
import { buildCalledModels } from "./agent-loop/called-models.ts";
import { allSources, allTools, plainTools } from "./tool-registry.ts";
import type { Sandbox } from "./features/sandbox/client.ts";
import { Toolbox } from "./agent-loop/toolbox.ts";
import type { ToolSourceDeps } from "./agent-loop/tool-source.ts";
import { bareRequest } from "./turn/bare-request.ts";
import type { PluginTexts } from "./turn/feature.ts";
import type { HostedTool, Tool, TurnRequest } from "./turn/request.ts";
import type { Scope } from "./turn/scope.ts";
import type { ModerationDetectors } from "./features/moderation/client.ts";
import { dropUnavailableSearch } from "./models/upstream/translate/unavailable-search.ts";
import type { VectorStores } from "./features/vector-stores/client.ts";
import type { McpServers } from "./features/mcp/client.ts";
import type { PassedAddresses } from "./features/web/passed-addresses.ts";
import type { Web } from "./features/web/client.ts";
import { fusionRuns, fusionSettings } from "./features/fusion/catalogue-settings.ts";
import type { DryKit, Kit } from "./features/kit.ts";
import { joinedTextGuardrails } from "./features/guardrails/output/layer.ts";

/** Dependencies of the kit: values from the configuration file, the process and the endpoints. */
export interface KitDeps extends Omit<ModelCallerDeps, "router" | "endpointFeatures"> {
  readonly budgets: Pick<Budgets, "reserve" | "begin">;
  /** Secret of the installation, shared by all replicas, so each of them routes a session to the same endpoint. */
  readonly secret: string;
  /** Value of `tools.unavailable` in the configuration file. */
  readonly unavailableTools: "drop" | "refuse";
  readonly internalModels: InternalModels;
  readonly detectors: DetectorMap;
  /** Service with the role `moderation`, if the role names a provider instead of a model. */
  readonly moderation: ModerationDetectors | undefined;
  readonly web: Web;
  readonly addresses: PassedAddresses;
  /** Client of the sandbox; undefined when the configuration file has none. */
  readonly sandbox: Sandbox | undefined;
  readonly mcp: McpServers;
  readonly vectorStores: VectorStores;
  readonly alignment: AlignmentSettings;
  readonly tracing: TracingContent;
  readonly fusionPresets: FusionPresets;
}

/** Features and layers of the stack the kit itself uses. */
export interface KitFeatures {
  readonly endpointFeatures: readonly EndpointFeature[];
  readonly pluginTexts: readonly PluginTexts[];
}

export function buildKits(given: KitDeps, features: KitFeatures): { readonly kit: Kit; readonly dryKit: DryKit } {
  const upstreams = given.unavailableTools === "drop" ? dropUnavailableSearch(given.upstreams) : given.upstreams;
  const parts: KitDeps = { ...given, upstreams };
  const { internalModels: roles, catalog } = parts;
  const { guard_judge: guardRole } = roles;
  const router = buildRouter(parts);
  const callModel = buildModelCaller({ ...parts, router, ...features });
  const guardJudge = guardRole && new Judge(callModel, guardRole);
  const plain: ToolSourceDeps = {
    tools: plainTools(parts),
    sources: [],
    isNative: (request, tool, otherTools = []) => runsNatively(given, request, [tool, ...otherTools]),
  };
  const local = {
    dialects: upstreams,
    addresses: parts.addresses,
    files: parts.files,
    roles,
    compactionSeal: new StateSeal(parts.secret, "compaction"),
    alignment: parts.alignment,
    tracing: parts.tracing,
    fusionSettings: fusionSettings({ catalog, presets: parts.fusionPresets, tools: plain }),
    hasModerationService: parts.moderation !== undefined,
    pluginTexts: features.pluginTexts,
    searchEngine: parts.web.engine.bind(parts.web),
  };
  const scanning = { ...local, detectors: parts.detectors, guardJudge };
  const guards = inputGuards.map(({ layer }) => layer(scanning));
  const gates = outputGuards.map(({ layer }) => layer(scanning));
  const cost = (request: TurnRequest, scope: Scope) =>
    estimateInputCost(router.routeAgain(request, scope.with({ again: "alone" }))[0] as Endpoint, request);
  const plainLoop: LoopDeps = {
    ...plain,
    guards,
    gates,
    joinedTextGate: joinedTextGuardrails,
    inputCost: cost,
    log: parts.log,
  };
  // A model called by a server tool gets only tools that call no models, so such calls never nest.
  const models = buildCalledModels({ catalog, loop: plainLoop, callModel });
  const fusion = fusionRuns(local.fusionSettings, models);
  const subagentSeal = new StateSeal(parts.secret, "subagent");
  const loop: LoopDeps = {
    ...plainLoop,
    tools: allTools(plain.tools, { fusion, models, roles, subagentSeal }),
    sources: allSources(parts.mcp),
  };
  const opening = {
    openTools: (request: TurnRequest, scope: Scope) => Toolbox.of(request, scope, loop),
    toProviderRequest: (request: TurnRequest, scope: Scope) => Toolbox.of(request, scope, loop)?.request ?? request,
  };
  return {
    kit: {
      ...scanning,
      ...opening,
      router,
      callModel,
      judge: (role, options) => new Judge(callModel, role, options),
      web: parts.web,
      moderationService: parts.moderation,
      scan: addedItemsScanner(guards),
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

function buildRouter({ catalog, upstreams, secret, records }: KitDeps, dryRun?: true): Router {
  return new Router({
    catalog,
    support: supportFileTexts(supportClientTools(supportImageUrls(upstreams))),
    secret,
    records,
    cooldown: upstreams.rest,
    ...(dryRun && { dryRun }),
  });
}

/**
 * Whether a provider with support for a tool must run it, because an endpoint of the request's models is sent the tool
 * unchanged.
 * @param tools the tool, then the tools sent together with it
 */
function runsNatively(
  { catalog, upstreams }: KitDeps,
  { models, provider, serviceTier }: TurnRequest,
  tools: readonly [HostedTool, ...Tool[]],
): boolean {
  const endpoints = models.flatMap((slug) => catalog.find(slug)?.model.endpoints ?? []);
  const able = endpoints.filter((endpoint) => isSent(upstreams, endpoint, tools));
  if (able.length === 0 || able.length === endpoints.length || provider === undefined) return able.length > 0;
  const tier = serviceTier === undefined ? {} : { serviceTier };
  return isAnyCandidate(catalog, bareRequest({ models, tools, provider, ...tier }), upstreams);
}

/** Whether any endpoint the request's provider preferences allow supports the request unchanged. */
function isAnyCandidate(...args: Parameters<typeof findCandidates>): boolean {
  try {
    return findCandidates(...args).length > 0;
  } catch {
    // The turn itself reports why no endpoint can serve.
    return false;
  }
}

function isSent(
  { refusal, droppedFields }: Pick<KitDeps["upstreams"], "refusal" | "droppedFields">,
  endpoint: Endpoint,
  [tool, ...otherTools]: readonly [HostedTool, ...Tool[]],
): boolean {
  const endpointRequest = bareRequest({ models: [endpoint.model], tools: [tool] });
  if (refusal(endpoint, endpointRequest)) return false;
  if (otherTools.length > 0 && refusal(endpoint, { ...endpointRequest, tools: [tool, ...otherTools] })) return false;
  return !droppedFields(endpoint, endpointRequest).some(({ path }) => path === "tools.0");
}
