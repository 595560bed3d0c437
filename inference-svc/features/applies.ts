/**
 * Decides which features a request needs: one predicate for plain requests, which need none, and one for each feature,
 * in the order of the stack. The predicates stand in one file and run no code of a feature: that code is reached only
 * when the predicate holds.
 */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { findFileKind, findFiles, isNamedByUrl } from "../content/files/part.ts";
import { parsesFiles } from "../content/files/parsing.ts";
import { findAddresses } from "../content/request-addresses.ts";
import { hasAlias } from "../models/routing/choose/model-aliases.ts";
import { type AppliedGuardrail, guardrailsFor, hasFiltersFor, hasInputRules } from "../turn/applied-guardrails.ts";
import { hasHostedTools, mayUseTools } from "../turn/item-kinds.ts";
import { hasUnknownItem } from "../turn/parse/beginnings.ts";
import { textOnly } from "../turn/parse/text-only.ts";
import type { TurnRequest } from "../turn/request.ts";
import { isCompressed } from "../turn/window.ts";
import { autoBetaSlug, autoSlug, isOnline, jevSlug, namesFusion, routerAliases, switchyardSlug } from "./slugs.ts";

type Predicate = (request: TurnRequest, caller: Caller) => boolean;

/** Whether a name of a model may mean something other than a model of the catalogue. */
const isSpecial = (model: string): boolean => model.startsWith("service/") || isOnline(model);

/**
 * Whether a request contains only text and functions, for models of the catalogue, from a key without guardrails. Most
 * requests are, and none of the predicates below holds for them: only the `plainFeatures` of the stack apply.
 */
export const isPlain: Predicate = (request, caller) =>
  request.plugins === undefined &&
  request.imageConfigJson === undefined &&
  request.extraFields === undefined &&
  request.mayKeepContent === undefined &&
  !request.models.some(isSpecial) &&
  !hasHostedTools(request) &&
  textOnly.of(request.input) &&
  guardrailsFor(caller).length === 0;

const compactionItems: ReadonlySet<string> = new Set(["compaction", "compaction_trigger"]);

/** Whether the plugin `web` may act on the request. */
const mayUseWeb = ({ plugins, models }: TurnRequest): boolean => plugins?.web !== undefined || models.some(isOnline);

/** Whether the request names the slug, with or without a variant. */
const namesSlug = ({ models }: TurnRequest, slug: string): boolean =>
  models.some((model) => model.startsWith(slug) && (model.length === slug.length || model[slug.length] === ":"));

/** The kinds of guardrail layers a caller's guardrails need. */
interface NeededLayers {
  readonly files: boolean;
  readonly inputPatterns: boolean;
  readonly outputPatterns: boolean;
  readonly detectors: boolean;
  readonly judgeRules: boolean;
}

const known = new WeakMap<Caller, NeededLayers>();

/** The layers needed for a caller. Cached, since every turn asks; a change of the policy creates a new caller object. */
function neededBy(caller: Caller): NeededLayers {
  let needed = known.get(caller);
  if (needed === undefined) known.set(caller, (needed = findNeeded(guardrailsFor(caller))));
  return needed;
}

const findNeeded = (applied: readonly AppliedGuardrail[]): NeededLayers => ({
  files: applied.some(hasInputRules),
  inputPatterns: applied.some((one) => hasFiltersFor(one, "input")),
  outputPatterns: applied.some((one) => hasFiltersFor(one, "output")),
  detectors: applied.some(({ guardrail }) => guardrail.detectors.length > 0),
  judgeRules: applied.some(({ guardrail }) => guardrail.judgeRules.length > 0),
});

const usesModeration: Predicate = ({ plugins }) => plugins?.moderation !== undefined;
const namesJev: Predicate = (request) => namesSlug(request, jevSlug);

/** The predicates by feature. In doubt they return true: a feature left out by mistake silently does nothing. */
export const applies = {
  tracedContent: ({ mayKeepContent }, { tracesContent }) => mayKeepContent === true && tracesContent,
  furtherCalls: (request, { hasBudget, budgetTags }) =>
    (hasBudget || budgetTags.length > 0) &&
    (mayUseTools(request) || mayUseWeb(request) || namesFusion(request) || request.plugins !== undefined),
  compaction: ({ input }) => hasUnknownItem(input, ({ type }) => compactionItems.has(type)),
  onlineVariant: ({ models }) => models.some(isOnline),
  parserEngines: ({ plugins }) => plugins?.fileParser !== undefined,
  fusionModel: namesFusion,
  routerSlugs: (request) => hasAlias(routerAliases, request),
  jevEffort: namesJev,
  passedAddresses: (request) => findAddresses(request).length > 0,
  fileDownloads: ({ input }) => findFiles(input).some(isNamedByUrl),
  candidates: () => true,
  moderationAvailable: usesModeration,
  fileTexts: (_, caller) => neededBy(caller).files,
  tokenInputs: ({ embedding }, caller) => embedding?.tokens !== undefined && neededBy(caller).files,
  inputPatterns: (_, caller) => neededBy(caller).inputPatterns,
  inputDetectors: (_, caller) => neededBy(caller).detectors,
  moderation: usesModeration,
  inputJudge: (_, caller) => neededBy(caller).judgeRules,
  scannedPages: (request) =>
    parsesFiles(request) && findFiles(request.input).some((file) => findFileKind(file) === "pdf"),
  switchyardOrder: (request) => namesSlug(request, switchyardSlug),
  autoOrder: (request) => namesSlug(request, autoSlug) || namesSlug(request, autoBetaSlug),
  jevOrder: namesJev,
  webSearch: mayUseWeb,
  webFetch: ({ plugins }) => plugins?.webFetch !== undefined,
  fusionPanel: namesFusion,
  // The plugin `web` may add a search tool to the request on its way.
  agentLoop: (request) => mayUseTools(request) || mayUseWeb(request),
  alignment: ({ plugins }) => plugins?.alignment !== undefined,
  outputJudge: (_, caller) => neededBy(caller).judgeRules,
  outputDetectors: (_, caller) => neededBy(caller).detectors,
  outputPatterns: (_, caller) => neededBy(caller).outputPatterns,
  responseHealing: ({ plugins }) => plugins?.responseHealing !== undefined,
  // Every feature that reads web pages can add sources to cite: plugins, server tools, and fusion panels.
  citations: (request) =>
    mayUseWeb(request) || request.plugins?.webFetch !== undefined || mayUseTools(request) || namesFusion(request),
} as const satisfies Readonly<Record<string, Predicate>>;

const hasMoreThanText = ({ input }: TurnRequest): boolean => !textOnly.of(input);

/**
 * The predicates of features for one endpoint. They get the request before any layer of an endpoint has changed it, so
 * they hold for every input to which a layer could still add a picture or a file.
 */
export const endpointApplies = {
  imageDownloads: hasMoreThanText,
  fileParser: hasMoreThanText,
  contextCompression: isCompressed,
} as const;
