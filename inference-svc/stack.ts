/** THE order of layers, outermost first, with the reason for each place. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { AlignmentSettings } from "@sluice/proto/runtime/house/alignment.js";
import type { FusionPresets } from "@sluice/proto/runtime/house/fusion.js";
import type { InternalModels } from "@sluice/proto/runtime/house-file.js";
import type { Logger } from "@sluice/proto/runtime/log.js";
import { type Rehearse, dryStack } from "./dry-stack.ts";
import { lookedAt } from "./guardrails/added.ts";
import type { FileReader } from "./files/texts.ts";
import { filesRead } from "./guardrails/input/files.ts";
import { inputGuardrails } from "./guardrails/input/guard.ts";
import { detectedInput } from "./guardrails/detected/input.ts";
import { detectedOutput } from "./guardrails/detected/output.ts";
import type { DetectorMap } from "./guardrails/detected/rules.ts";
import { judgedInput } from "./guardrails/judged/input.ts";
import { judgedOutput } from "./guardrails/judged/output.ts";
import { outputGuardrails } from "./guardrails/output/layer.ts";
import type { Detector } from "./internal/detection/detector.ts";
import { Judge } from "./internal/judge.ts";
import type { Budgets } from "./ledger/budget.ts";
import { budgeted } from "./ledger/hold.ts";
import type { CallLedger } from "./ledger/ledger.ts";
import { recorded } from "./ledger/recorded.ts";
import { judgeTask } from "./plugins/alignment/evaluator.ts";
import { alignment } from "./plugins/alignment/layer.ts";
import { autoRouters } from "./plugins/auto/auto-router.ts";
import { contextCompression } from "./plugins/compression/layer.ts";
import { fileParser, parserEngines } from "./plugins/file-parser/layer.ts";
import { responseHealing } from "./plugins/healing/layer.ts";
import { fusion } from "./plugins/fusion/layer.ts";
import { fusionParts } from "./plugins/fusion/parts.ts";
import { asksForFusion, fusionSlug } from "./plugins/fusion/slug.ts";
import { jevRouter } from "./plugins/jev/jev-router.ts";
import { moderable, moderation } from "./plugins/moderation/layer.ts";
import { Forecaster } from "./plugins/switchyard/forecast.ts";
import { switchyardRouter } from "./plugins/switchyard/switchyard-router.ts";
import { moderatorOf } from "./plugins/moderation/moderator.ts";
import { webFetch } from "./plugins/web-fetch/layer.ts";
import { citations } from "./plugins/web/citations.ts";
import { isOnline, online, webSearch } from "./plugins/web/layer.ts";
import type { Catalog, Endpoint } from "./routing/catalog.ts";
import type { EndpointRecords } from "./routing/endpoint-record.ts";
import { type Answered, billed, sentUsage } from "./routing/bill.ts";
import { fallback } from "./routing/fallback.ts";
import { tellingTexts } from "./routing/files.ts";
import { paretoRouter } from "./plugins/pareto/pareto-router.ts";
import { inputCost } from "./routing/plan.ts";
import { Router, noteCandidates } from "./routing/router.ts";
import { type StandIn, namesOneOf, standIns } from "./routing/stand-ins.ts";
import { worstCostOf } from "./routing/worst-cost.ts";
import { serverTools } from "./tools/loop.ts";
import { allTools, plainTools } from "./tools/registry.ts";
import { Toolbox, mayUseTools } from "./tools/toolbox.ts";
import { bareRequest } from "./turn/bare.ts";
import type { HostedTool, TurnRequest } from "./turn/request.ts";
import type { Scope } from "./turn/scope.ts";
import { type Patience, type Turn, compose } from "./turn/turn.ts";
import type { Upstreams } from "./upstream/providers.ts";
import { droppingSearch } from "./upstream/unavailable-search.ts";
import type { Web } from "./web/web.ts";

export interface Parts {
  readonly catalog: Catalog;
  readonly upstreams: Upstreams;
  /** The configuration file's `tools.unavailable`. */
  readonly unavailableTools: "drop" | "refuse";
  /** What was seen of the endpoints; this process's own. */
  readonly records: EndpointRecords;
  readonly ledger: CallLedger;
  readonly budgets: Pick<Budgets, "reserve">;
  /** Whom the house asks for its own purposes. */
  readonly internalModels: InternalModels;
  /** Services beside the house that guardrails name. */
  readonly detectors: DetectorMap;
  /** Where the role `moderation` names a provider. */
  readonly moderation: Detector | undefined;
  /** What is searched and read for a turn. */
  readonly web: Web;
  /** What files say. */
  readonly files: FileReader;
  /** Of the plugin. */
  readonly alignment: AlignmentSettings;
  /** Panels that the operator has chosen. */
  readonly fusionPresets: FusionPresets;
  /** Shared by all replicas. */
  readonly secret: string;
  /** Failed attempts are logged: their causes are shown to nobody. */
  readonly log: Pick<Logger, "info" | "warn">;
}

export interface Stack {
  readonly turn: Turn;
  /** The same without asking anybody. */
  readonly rehearse: Rehearse;
}

export const buildStack = (parts: Parts): Stack => {
  const { catalog, records, ledger, budgets, secret, log } = parts;
  const upstreams = parts.unavailableTools === "drop" ? droppingSearch(parts.upstreams) : parts.upstreams;
  const rest = (endpoint: Endpoint) => upstreams.rest(endpoint);
  const router = new Router({ catalog, telling: tellingTexts(upstreams), secret, records, rest });
  const parsing = { reader: parts.files, telling: upstreams };
  const answered: Answered = (endpoint, scope, usage) => router.answered(endpoint, scope, usage.cachedTokens);
  const billedAttempt = (endpoint: Endpoint, patience: Patience): Turn =>
    // Only what fits into the budget is begun.
    budgeted(
      budgets,
      (request) => worstCostOf(endpoint, request),
      // Written down, with its bill, before anything else hears of it.
      recorded(
        ledger,
        endpoint,
        (request) => sentUsage(endpoint, request),
        billed(endpoint, upstreams.turn(endpoint, patience), answered),
      ),
    );
  const attempt = (endpoint: Endpoint, patience: Patience): Turn =>
    // Before anything is left out: of a file nobody knows how long it is.
    fileParser(
      endpoint,
      parsing,
      // What is left out is not paid for; how much that is depends on the endpoint.
      contextCompression(endpoint, billedAttempt(endpoint, patience)),
    );
  // Closest to the wire: a failed attempt is seen by nobody, and only before commit can it be repeated elsewhere.
  const asked = fallback(router, { turn: attempt, rest }, log);
  const { guard_judge: guardRole, alignment_judge: alignmentRole } = parts.internalModels;
  const judge = guardRole && new Judge(asked, guardRole);
  const { switchyard_judge: switchyardRole } = parts.internalModels;
  const redacting = [
    // What files say is looked at like everything else.
    filesRead(parts.files),
    // Refuses and redacts before anything leaves the house or costs money.
    inputGuardrails,
    // By services beside the house, which read only what is left after that; what they redact no model reads.
    detectedInput(parts.detectors),
  ];
  // By a model, which reads only what is left after that.
  const judged = judgedInput(judge);
  const gates = [
    // Around what the patterns have let through: no judge reads what nobody shall.
    judgedOutput(judge),
    // As of the input: after the patterns, before the judge.
    detectedOutput(parts.detectors),
    // Around all attempts: what one of them has said is delivered only when it was looked at, and a block is no reason to ask another.
    outputGuardrails,
  ];
  const guards = [...redacting, judged];
  const look = lookedAt(guards);
  const plain = plainTools(parts);
  const innerLoop = {
    tools: plain,
    // An operator who says that a provider runs a tool wants it run there.
    isNative: ({ models }: TurnRequest, tool: HostedTool) =>
      models.some((slug) => catalog.find(slug)?.model.endpoints.some((endpoint) => isTold(upstreams, endpoint, tool))),
    guards,
    gates,
    inputCost: (request: TurnRequest, scope: Scope) =>
      inputCost(router.again(request, { ...scope, again: "alone" })[0] as Endpoint, request),
    log,
  };
  const fusing = fusionParts({ catalog, presets: parts.fusionPresets, loop: innerLoop, asked });
  // Whom a tool asks has none that asks others: a run within a run would cost without end.
  const loop = { ...innerLoop, tools: allTools(plain, fusing) };
  const told = (request: TurnRequest, scope: Scope) => Toolbox.of(request, scope, loop)?.request ?? request;
  const jev = jevRouter(router);
  const switchyard = switchyardRouter(router, switchyardRole && new Forecaster(asked, switchyardRole), told);
  const routers: readonly StandIn[] = [...autoRouters(router), paretoRouter(router), switchyard.standIn, jev.standIn];
  // Models in the place of a slug that stands for others: everything behind it knows models only.
  const chosen = standIns(routers, told);
  // What could serve is known first, so that a refusal can name it, and so that a wrong slug costs nobody anything.
  const first = noteCandidates(router, told);
  const moderator = moderatorOf(parts.internalModels.moderation, {
    turn: asked,
    router,
    telling: upstreams,
    service: parts.moderation,
  });
  const layers = [
    // A plugin in the place of a variant: everything behind it knows plugins only.
    online(catalog),
    // An engine that is not there is nobody's to stand in for.
    parserEngines,
    // Before the others: of the models that it names one may stand for others.
    fusionSlug(fusing.settings),
    chosen,
    // A part of the choice.
    jev.effort,
    first,
    // Whoever cannot have it is told before anybody is asked.
    moderable(moderator),
    ...redacting,
    // Reads what is left after that, before any other model does.
    moderation(moderator),
    judged,
    // May ask a model which model to ask: one more that reads only what is left.
    switchyard.decided,
    // Ask others about what is left of the request, and look at what they say as at the request: no model reads what nobody shall.
    webSearch({
      web: parts.web,
      route: (request, scope) => router.route(told(request, scope), scope),
      telling: upstreams,
      look,
    }),
    webFetch(parts.web, look),
    // Before the model answers, and with what was redacted for it.
    fusion(fusing),
    // Around everything that is done for one answer of the model: it asks for several, and no tool runs for one that was withheld.
    serverTools(loop),
    // Around whatever holds back or changes an answer: it evaluates what would be delivered, and what it asks for again is held back alike.
    alignment({
      settings: parts.alignment,
      judge: alignmentRole && new Judge(asked, alignmentRole, { task: judgeTask }),
      route: (request, scope) => router.route(request, scope),
      guards,
    }),
    ...gates,
    // Within what is looked at: guardrails see an answer as it is delivered.
    responseHealing,
    // Closest to what the model has said: whatever changes its text moves the places of citations, or looks at their words.
    citations,
  ];
  const bare = compose([first], asked);
  const layered = compose(layers, asked);
  return {
    // Who is under no guardrail, and asks for no plugin and no tool, pays for none.
    turn: (request, scope) => (isGuarded(scope.caller) || isLayered(request, routers) ? layered : bare)(request, scope),
    rehearse: dryStack(layers, { router, upstreams, reader: parts.files }),
  };
};

const isGuarded = ({ guardrail, workspaceGuardrails }: Caller): boolean =>
  guardrail !== undefined || workspaceGuardrails.length > 0;

const isLayered = (request: TurnRequest, routers: readonly StandIn[]): boolean =>
  request.plugins !== undefined ||
  namesOneOf(routers, request) ||
  asksForFusion(request) ||
  mayUseTools(request) ||
  request.models.some(isOnline);

/** Whether an endpoint is told of the tool; formats leave some out that they have no words for. */
function isTold(upstreams: Pick<Upstreams, "refusal" | "losses">, endpoint: Endpoint, tool: HostedTool): boolean {
  const asked: TurnRequest = bareRequest({ models: [endpoint.model], tools: [tool] });
  if (upstreams.refusal(endpoint, asked)) return false;
  return !upstreams.losses(endpoint, asked).some(({ path }) => path === "tools.0");
}
