/** Runs each random request through the stack of its applicable features, and through all layers. Both must give the same result. */
import { isDeepStrictEqual } from "node:util";
import { buildKits } from "@sluice/inference-svc/kit.js";
import { buildStack, endpointFeatures, features, pluginTexts } from "@sluice/inference-svc/stack.js";
import { featureMask } from "@sluice/inference-svc/turn/feature.js";
import { type Turn, type TurnEvent, compose } from "@sluice/inference-svc/turn/turn.js";
import { type ConfigFile, configSchema } from "@sluice/proto/config/config-file.js";
import { newScope, openParts, runTestTurn } from "../../../inference-svc/asking.ts";
import { Random } from "../../../support/random.ts";
import { type StackCase, createStackCase } from "./generate.ts";
import { startServices } from "./services.ts";

export interface StackReport {
  readonly requests: number;
  /** Number of requests that were answered completely. */
  readonly answered: number;
  /** Number of different sets of applicable features. */
  readonly masks: number;
  /** Number of requests to which each feature applied, by its id. */
  readonly applied: ReadonlyMap<string, number>;
  readonly complaints: readonly string[];
}

interface Limits {
  readonly seed: number;
  readonly count: number;
  /** The number of the first request. */
  readonly from?: number;
  readonly progress?: (requests: number) => void;
}

/** Number of requests at a time, since the built-in model pauses between words. */
const concurrency = 64;

export async function stackCampaign({ seed, count, from = 0, progress }: Limits): Promise<StackReport> {
  const services = await startServices();
  const file = configuration(services.origin);
  const [masked, full] = [openParts(file), openParts(file)];
  const turns: Both = { masked: buildStack(masked.parts).turn, full: fullStack(full.parts) };
  const complaints: string[] = [];
  const masks = new Set<number>();
  const applied = new Map<string, number>();
  let [next, answered] = [from, 0];
  const work = async () => {
    while (next < from + count && complaints.length < 20) {
      const number = next++;
      const tried = createStackCase(new Random(seed, number), number, services.origin);
      const mask = featureMask(features, tried.request, tried.caller);
      masks.add(mask);
      for (const { id, applies } of features)
        if (applies(tried.request, tried.caller)) applied.set(id, (applied.get(id) ?? 0) + 1);
      const { isAnswered, complaint } = await compareAgain(tried, turns);
      if (isAnswered) answered++;
      if (complaint) complaints.push(`--seed ${seed} --at ${number}\n${complaint}`);
      if ((next - from) % 5_000 === 0) progress?.(next - from);
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrency }, work));
  } finally {
    await Promise.all([masked.engine.upstreams.close(), full.engine.upstreams.close()]);
    await services.stop();
  }
  return { requests: next - from, answered, masks: masks.size, applied, complaints };
}

interface Both {
  readonly masked: Turn;
  readonly full: Turn;
}

/** A stack of all layers, whether they apply or not. */
function fullStack(parts: Parameters<typeof buildKits>[0]): Turn {
  const always = endpointFeatures.map((feature) => ({ ...feature, applies: () => true }));
  const { kit } = buildKits(parts, { endpointFeatures: always, pluginTexts });
  return compose(
    features.map(({ layer }) => layer(kit)),
    kit.callModel,
  );
}

/**
 * Maximum number of runs of a request whose outcomes differ, as they do if a time limit passes in one. A difference made by the set of features shows
 * in each run.
 */
const maxRuns = 4;

async function compareAgain(tried: StackCase, turns: Both): ReturnType<typeof compare> {
  let compared = await compare(tried, turns);
  for (let runs = 1; compared.complaint !== undefined && runs < maxRuns; runs++) compared = await compare(tried, turns);
  return compared;
}

async function compare({ request, caller }: StackCase, { masked, full }: Both) {
  const outcome = async (turn: Turn) => {
    const asked = newScope(caller);
    const { events, fault, rejected } = await runTestTurn(turn, structuredClone(request), asked);
    const { stages, candidates, attempts, droppedFields, usage, strategy, toolCalls, partNotes, aligned } =
      asked.scope.trace;
    const { status, reason, message, metadata } = fault ?? {};
    return comparable({
      fault: { status, reason, message, metadata },
      rejected,
      events: byMember(events),
      receipt: { stages, candidates, attempts, droppedFields, usage, strategy, toolCalls, partNotes, aligned },
    });
  };
  const [is, should] = await Promise.all([outcome(masked), outcome(full)]);
  const isAnswered = (is as { fault: { status?: number } }).fault.status === undefined;
  if (isDeepStrictEqual(is, should)) return { isAnswered, complaint: undefined };
  const [got, wanted] = [is, should].map((each) => JSON.stringify(each, null, 1));
  return { isAnswered, complaint: `${JSON.stringify(request)}\nmasked: ${got}\nfull: ${wanted}` };
}

/** Joins deltas, whose cuts depend on time if a judge holds them back. */
function joined(events: readonly TurnEvent[]): readonly TurnEvent[] {
  const all: TurnEvent[] = [];
  for (const event of events) {
    const last = all.at(-1);
    const isSame =
      last && "delta" in last && "delta" in event && last.type === event.type && last.index === event.index;
    if (isSame) all[all.length - 1] = { ...last, delta: last.delta + event.delta };
    else all.push(event);
  }
  return all;
}

const panelEvent = "response.fusion_call.panel.";

/** Events of a panel by member: members answer concurrently, so the order of their events depends on time. */
function byMember(events: readonly TurnEvent[]): object {
  const members: Record<string, string> = {};
  const others = events.filter((event) => {
    if (event.type !== "native" || !event.name.startsWith(panelEvent)) return true;
    const { model, delta, ...rest } = JSON.parse(event.payloadJson) as { model: string; delta?: string };
    const key = `${event.name} ${model} ${delta === undefined ? JSON.stringify(rest) : ""}`;
    members[key] = (members[key] ?? "") + (delta ?? "once ");
    return false;
  });
  return { others: joined(others), members: Object.entries(members).toSorted(([a], [b]) => a.localeCompare(b)) };
}

const random = new Set(["id", "call_id", "item_id", "subagent_id", "encrypted_content"]);
const isTime = (name: string): boolean => /(?:^|_)ms$|Ms$/.test(name);

/** Replaces values that differ from run to run: ids, durations and the time of day. */
const comparable = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (name, inner: unknown) => {
      if (isTime(name) || random.has(name)) return "left out";
      if (typeof inner === "bigint") return String(inner);
      return typeof inner === "string"
        ? inner.replaceAll(/\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z|[+-]\d\d:\d\d)?/g, "a time")
        : inner;
    }),
  );

function configuration(origin: string): ConfigFile {
  const judge = { model: "m/judge", retries: 0, timeout_ms: 60_000, total_ms: 120_000, max_concurrency: 1_000 };
  const scored = (id: string, price: string, score: number, more: object = {}) => ({
    id,
    context_length: 200_000,
    endpoints: [{ provider: "echo", upstream_model: id, pricing: { prompt: price, completion: price } }],
    scores: { coding: score, general: score },
    ...more,
  });
  return configSchema.parse({
    providers: [
      { id: "echo", dialect: "echo" },
      // A provider that knows the tool web_search, so it can search itself.
      { id: "search", dialect: "responses", base_url: `${origin}/v1`, api_keys: ["k"] },
      { id: "judge", dialect: "chat", base_url: `${origin}/v1`, api_keys: ["k"] },
    ],
    models: [
      scored("m/small", "1", 0.3, { context_length: 4_000 }),
      scored("m/mid", "2", 0.6),
      scored("m/large", "9", 0.9),
      { id: "m/search", endpoints: [{ provider: "search", upstream_model: "s" }] },
      { id: "m/judge", endpoints: [{ provider: "judge", upstream_model: "j" }] },
      {
        id: "m/ocr",
        endpoints: [{ provider: "judge", upstream_model: "o" }],
        input_modalities: ["text", "file"],
      },
    ],
    internal_models: {
      guard_judge: judge,
      alignment_judge: judge,
      switchyard_judge: judge,
      router_classifier: judge,
      jev_decider: judge,
      moderation: judge,
      ocr: { ...judge, model: "m/ocr" },
    },
    detectors: [
      {
        id: "names",
        dialect: "presidio",
        base_url: origin,
        categories: { person: ["PERSON"] },
        timeout_ms: 60_000,
        total_ms: 120_000,
      },
    ],
    file_search: { stores: { files: { base_url: origin, timeout_ms: 60_000 } } },
    search: {
      engines: {
        searxng: { base_url: origin, timeout_ms: 60_000 },
        firecrawl: { base_url: origin, timeout_ms: 60_000, api_key: "k" },
      },
    },
    sandbox: { base_url: origin, api_key: "k" },
    fetch: { allow_private_origins: [origin] },
    mcp: { allow: [origin] },
    fusion: { presets: { "general-high": { analysis_models: ["m/mid", "m/large"], model: "m/large" } } },
  });
}
