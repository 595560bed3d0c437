/**
 * Cost and success of the routers on requests with known outcomes: the outcome is the share of tasks that a model solves in the request's benchmark.
 * The routers choose by the prices and scores of the built-in catalogue, which come from other leaderboards.
 */
import { create } from "@bufbuild/protobuf";
import { autoRouter } from "@sluice/inference-svc/features/routers/auto/router.js";
import { jevRouter } from "@sluice/inference-svc/features/routers/jev/router.js";
import { paretoRouter } from "@sluice/inference-svc/features/routers/pareto/router.js";
import { estimateLocally } from "@sluice/inference-svc/features/routers/switchyard/local-estimate.js";
import type { PriceTier } from "@sluice/inference-svc/features/routers/switchyard/candidates.js";
import type { RouterFeature } from "@sluice/inference-svc/features/routers/router-slugs.js";
import type { Plugins, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import {
  AutoRouterPluginSchema,
  JevRouterPluginSchema,
  ParetoRouterPluginSchema,
} from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { readSeed } from "@sluice/proto/config/seed.js";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { testRequest, newScope } from "../../inference-svc/asking.ts";
import { openDecider } from "../../inference-svc/features/routers/deciding.ts";
import { root } from "../../support/processes.ts";
import { type SimulatedRequest, simulatedRequests } from "./prompts.ts";

interface Outcomes {
  readonly source: { readonly name: string; readonly url: string; readonly date: string };
  readonly benchmarks: readonly string[];
  /** Percentages of solved tasks by model slug, in the order of the benchmarks. */
  readonly models: Readonly<Record<string, readonly number[]>>;
}

export const outcomes = JSON.parse(
  readFileSync(join(root, "test", "fixtures", "routers", "outcomes.json"), "utf8"),
) as Outcomes;

/** The result of one way to choose models, over all requests or over those for code: a point in the plot of cost and solved tasks. */
export interface ChooserResult {
  readonly name: string;
  /** USD per thousand requests, with answers of 600 tokens. */
  readonly cost: number;
  /** Percentage of tasks solved. */
  readonly solved: number;
  /** Percentage of tasks that a random choice between the cheapest and the best model would solve at the same cost. */
  readonly line: number;
  /** Number of requests for which each model was chosen, by the model's id. */
  readonly models: Readonly<Record<string, number>>;
}

const seeded = readSeed(join(root, "inference-svc/models/catalog/seed.json")).models.filter(
  ({ id }) => id in outcomes.models,
);

/** The models have no declared reasoning: outcomes by effort are unknown, so the costs of efforts must not matter. */
const { router, catalog } = openDecider(
  seeded.map(({ id, endpoints, scores, context_length }) => ({
    id,
    scores,
    context_length,
    endpoints: [{ provider: "a", upstream_model: id, pricing: endpoints[0]?.pricing }],
  })),
);

const slugs = Object.keys(outcomes.models);
let sessions = 0;
/** Each request has a session of its own, because a session keeps its model. */
const requestOf = ({ text }: SimulatedRequest, plugins: Plugins = {}): TurnRequest =>
  testRequest({ input: [{ type: "message", role: "user", content: text }], plugins, sessionId: `${++sessions}` });

/** Prices in USD per million tokens, by model. */
const pricesOf = new Map(
  seeded.map(({ id, endpoints: [endpoint] }) => [
    id,
    { prompt: Number(endpoint?.pricing["prompt"]), completion: Number(endpoint?.pricing["completion"]) },
  ]),
);

/** Cost of a request in USD: a token for four characters, and 600 tokens of answer, for every model. */
function costOf(model: string, { text }: SimulatedRequest): number {
  const { prompt, completion } = pricesOf.get(model) ?? { prompt: 0, completion: 0 };
  return ((text.length / 4) * prompt + 600 * completion) / 1_000;
}

const solvedBy = (model: string, { benchmark }: SimulatedRequest): number =>
  outcomes.models[model]?.[outcomes.benchmarks.indexOf(benchmark)] ?? 0;

type Choose = (request: SimulatedRequest) => string;

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function measure(choose: Choose, requests: readonly SimulatedRequest[]) {
  const chosen = requests.map((request) => ({ request, model: choose(request) }));
  const models: Record<string, number> = {};
  for (const { model } of chosen) models[model] = (models[model] ?? 0) + 1;
  return {
    cost: mean(chosen.map(({ model, request }) => costOf(model, request))),
    solved: mean(chosen.map(({ model, request }) => solvedBy(model, request))),
    models,
  };
}

function routed({ choose }: RouterFeature, plugins: Plugins): Choose {
  return (request) => {
    const [first] = choose(router)(requestOf(request, plugins), newScope({}).scope, undefined) as readonly string[];
    return first ?? "";
  };
}

const auto = routed(autoRouter, {});

/** The default choice of service/auto. */
export const chooseAuto = (text: string): string => auto({ text, benchmark: "", isCode: false });

const tiers = ["low", "medium", "high", "xhigh", "max"];

/** The results of all routers over these requests, after those of the cheapest and of the best model. */
export function simulate(): Readonly<Record<"all" | "code" | "switchyard" | "weak", readonly ChooserResult[]>> {
  const every: Readonly<Record<string, Choose>> = {
    auto,
    ...Object.fromEntries(
      tiers.map((costTier) => [
        `auto ${costTier}`,
        routed(autoRouter, { autoRouter: create(AutoRouterPluginSchema, { costTier }) }),
      ]),
    ),
    jev: routed(jevRouter, {}),
    ...Object.fromEntries(
      tiers
        .slice(0, 3)
        .map((costTier) => [
          `jev ${costTier}`,
          routed(jevRouter, { jevRouter: create(JevRouterPluginSchema, { costTier }) }),
        ]),
    ),
  };
  const coding: Readonly<Record<string, Choose>> = Object.fromEntries(
    [0, 0.5, 1].map((minCodingScore) => [
      `pareto ${minCodingScore}`,
      routed(paretoRouter, { paretoRouter: create(ParetoRouterPluginSchema, { minCodingScore }) }),
    ]),
  );
  const code = simulatedRequests.filter(({ isCode }) => isCode);
  return {
    all: withEnds(every, simulatedRequests),
    code: withEnds(coding, code),
    switchyard: pointsOfPair({ efficient: "openai/gpt-5.4-nano", capable: "openai/gpt-5.5" }),
    weak: pointsOfPair({ efficient: "mistralai/ministral-3b-2512", capable: "openai/gpt-5.5" }),
  };
}

/** Candidates of service/switchyard, which the request names. */
type Pair = Readonly<Record<PriceTier, string>>;

const pointsOfPair = (pair: Pair): readonly ChooserResult[] =>
  pointsOf(
    {
      efficient: () => pair.efficient,
      capable: () => pair.capable,
      switchyard: (request) => pair[estimateLocally(requestOf(request), { ...pair, middle: [] }, catalog).tier],
    },
    simulatedRequests,
  );

const bothPrices = (model: string): number => {
  const { prompt, completion } = pricesOf.get(model) ?? { prompt: 0, completion: 0 };
  return prompt + completion;
};

/** The result of service/switchyard for each pair of models in which the dearer model solves more. */
export function simulatePairs(): readonly ChooserResult[] {
  const pairs = slugs.flatMap((efficient) =>
    slugs.flatMap((capable) => (bothPrices(efficient) < bothPrices(capable) ? [{ efficient, capable }] : [])),
  );
  return pairs.flatMap((pair) => {
    const [cheap, dear, chosen] = pointsOfPair(pair) as [ChooserResult, ChooserResult, ChooserResult];
    return dear.solved > cheap.solved ? [chosen] : [];
  });
}

/** The results of several choices. The first two choices are the ends of the reference line. */
function pointsOf(
  choices: Readonly<Record<string, Choose>>,
  requests: readonly SimulatedRequest[],
): readonly ChooserResult[] {
  const measured = Object.entries(choices).map(([name, choose]) => ({ name, ...measure(choose, requests) }));
  const [cheap, dear] = measured as [(typeof measured)[0], (typeof measured)[0]];
  return measured.map((point) => {
    const share = Math.min(1, Math.max(0, (point.cost - cheap.cost) / (dear.cost - cheap.cost)));
    return { ...point, line: cheap.solved + share * (dear.solved - cheap.solved) };
  });
}

function withEnds(
  routers: Readonly<Record<string, Choose>>,
  requests: readonly SimulatedRequest[],
): readonly ChooserResult[] {
  const alone = slugs.map((model) => ({ model, ...measure(() => model, requests) }));
  const cheapest = alone.reduce((a, b) => (b.cost < a.cost ? b : a));
  const best = alone.reduce((a, b) => (b.solved > a.solved ? b : a));
  const ends = { "always cheapest": () => cheapest.model, "always best": () => best.model };
  return pointsOf({ ...ends, ...routers }, requests);
}
