/** `test-provider ID`: one tiny request to a provider, by the code that serves. */
import { create } from "@bufbuild/protobuf";
import { parseArgs } from "node:util";
import { CallerSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { Fault } from "@sluice/proto/runtime/fault.js";
import type { LoadedHouse, ProviderSettings } from "@sluice/proto/runtime/house-file.js";
import { newId, newUuid } from "@sluice/proto/runtime/id.js";
import { Catalog } from "../routing/catalog.ts";
import type { TurnRequest } from "../turn/request.ts";
import { type Scope, Trace } from "../turn/scope.ts";
import { TurnAbort } from "../turn/signal.ts";
import type { Outcome, Turn, Usage } from "../turn/turn.ts";
import { loadSdkPackages } from "../upstream/ai-sdk/load.ts";
import { connectionLost, providerTimeout } from "../upstream/failure.ts";
import { type Destination, openUpstreams } from "../upstream/providers.ts";
import { type Cause, causeOf } from "./causes.ts";
import { type Command, CommandError, type Terminal, UsageError, load, leftOutWords } from "./command.ts";

const limitMs = 60_000;
/** The least that every provider takes. */
const answerTokens = 16;

export const testProvider: Command = {
  usage: "ID [--model MODEL] [--json]",
  summary: "Sends one tiny request to a provider, which may cost a fraction of a cent, and says how that went.",
  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: { json: { type: "boolean" }, model: { type: "string" } },
    });
    const [id, extra] = positionals;
    if (id === undefined) throw new UsageError("missing argument: ID");
    if (extra !== undefined) throw new UsageError(`unexpected argument: ${extra}`);
    const house = load(terminal.config, terminal);
    const provider = providerOf(house, id);
    const tried = await attempt(provider, targetOf(house, id, values.model), terminal);
    if (values.json === true) terminal.print(JSON.stringify(tried, null, 2));
    else linesOf(tried).forEach(terminal.print);
    return tried.ok ? 0 : 1;
  },
};

interface Tried {
  readonly ok: boolean;
  readonly provider: string;
  /** Slug; the provider's own name where the catalogue has none. */
  readonly model: string;
  readonly upstream_model: string;
  readonly latency_ms: number;
  /** Only when it is ok. */
  readonly outcome?: string;
  readonly usage?: { readonly input_tokens: number; readonly output_tokens: number };
  /** Only when it is not. */
  readonly cause?: Cause;
}

function providerOf({ file, leftOut }: LoadedHouse, id: string): ProviderSettings {
  const provider = file.providers.find((each) => each.id === id);
  if (provider) return provider;
  const left = leftOut.find((each) => each.provider === id);
  if (left) throw new CommandError(`${id} is left out: ${leftOutWords(left)}`);
  throw new CommandError(`no provider is called ${id}; one of ${file.providers.map((each) => each.id).join(", ")}`);
}

interface Target {
  /** Slug; the provider's own name where the catalogue has none. */
  readonly model: string;
  readonly destination: Destination;
}

/** The one that was asked for, by its slug or by the provider's name of it, listed or not; else the cheapest. */
function targetOf({ file }: LoadedHouse, id: string, model: string | undefined): Target {
  const endpoints = new Catalog(file).models.flatMap((each) => each.endpoints).filter((each) => each.provider === id);
  const named = endpoints.find((each) => each.model === model || each.upstreamModel === model);
  if (named) return { model: named.model, destination: named };
  if (model !== undefined) return { model, destination: { provider: id, upstreamModel: model, tier: "default" } };
  const [cheapest] = endpoints.toSorted((a, b) => (a.prices?.blended ?? 0) - (b.prices?.blended ?? 0));
  if (cheapest) return { model: cheapest.model, destination: cheapest };
  throw new CommandError(`${id} serves no model here; name one of its own with --model`);
}

async function attempt(settings: ProviderSettings, target: Target, { version, environment }: Terminal): Promise<Tried> {
  const { model, destination } = target;
  const packages = await loadSdkPackages([settings], environment["SLUICE_PACKAGES_DIR"]);
  const log = { error: () => {} };
  const upstreams = openUpstreams([settings], { version, packages, log, now: () => performance.now() });
  const startedAt = performance.now();
  const tried = () => ({
    provider: settings.id,
    model,
    upstream_model: destination.upstreamModel,
    latency_ms: Math.round(performance.now() - startedAt),
  });
  try {
    const turn = upstreams.turn(destination, { withinMs: limitMs, last: true });
    const { status, reason, usage } = await ask(turn).catch((error: unknown) => {
      // Signed by a clock that is wrong: the provider has said by how much.
      if (Fault.from(error).repeat !== "now") throw error;
      return ask(turn);
    });
    return {
      ok: true,
      ...tried(),
      outcome: reason === undefined ? status : `${status}: ${reason}`,
      ...(usage && { usage: usageOf(usage) }),
    };
  } catch (error) {
    const host = settings.base_url === undefined ? settings.id : new URL(settings.base_url).host;
    const cause = causeOf(Fault.from(error), host, destination.upstreamModel);
    return { ok: false, ...tried(), cause: { ...cause, message: withoutKeys(cause.message, settings) } };
  } finally {
    await upstreams.close();
  }
}

/** Some providers quote the key that they refuse. */
const withoutKeys = (text: string, { api_keys: keys = [] }: ProviderSettings): string =>
  keys.reduce((left, key) => left.replaceAll(key, "***"), text);

const usageOf = ({ inputTokens, outputTokens }: Usage) => ({ input_tokens: inputTokens, output_tokens: outputTokens });

const request: TurnRequest = {
  models: [],
  input: [{ type: "message", role: "user", content: "Answer with one word: are you there?" }],
  stream: false,
  maxOutputTokens: answerTokens,
  tools: [],
  include: [],
  outputModalities: [],
  echoUpstreamBody: false,
  serviceMetadata: false,
};

/** The end of the answer. */
async function ask(turn: Turn): Promise<Outcome> {
  const abort = new TurnAbort();
  const timer = setTimeout(() => abort.abort(providerTimeout("answer")), limitMs);
  const scope: Scope = {
    signal: abort,
    caller: create(CallerSchema),
    requestId: newId("req_"),
    turnId: newUuid(),
    generationId: newId("gen-"),
    deadline: performance.now() + limitMs,
    trace: new Trace(0n),
  };
  try {
    for await (const batch of await turn(request, scope)) {
      const last = batch.at(-1);
      if (last?.type === "end") return last.outcome;
    }
    throw connectionLost();
  } catch (error) {
    throw abort.aborted ? abort.reason : error;
  } finally {
    clearTimeout(timer);
    abort.abort(new Error("turn over"));
  }
}

function linesOf({ ok, provider, model, upstream_model, latency_ms, outcome = "", usage, cause }: Tried): string[] {
  const asked = upstream_model === model ? model : `${model} (there: ${upstream_model})`;
  const facts = [
    ["provider", provider],
    ["model", asked],
    ["latency", `${latency_ms} ms`],
    ...(usage ? [["usage", `${usage.input_tokens} tokens in, ${usage.output_tokens} out`]] : []),
    ...(ok ? [["status", outcome]] : [["failed", `${cause?.kind}: ${cause?.message}`]]),
  ];
  return facts.map(([name = "", value = ""]) => `${name.padEnd(10)}${value}`);
}
