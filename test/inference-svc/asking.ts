/** Turns for tests, with the defaults of a plain request. */
import { create } from "@bufbuild/protobuf";
import { DocumentReaders } from "@sluice/inference-svc/content/files/documents/readers.js";
import { FileReader } from "@sluice/inference-svc/content/files/texts.js";
import { Catalog } from "@sluice/inference-svc/models/routing/catalog.js";
import { EndpointRecords } from "@sluice/inference-svc/models/routing/records/endpoint-record.js";
import type { PlanDryRun } from "@sluice/inference-svc/engine/dry-run-plan.js";
import type { KitDeps } from "@sluice/inference-svc/kit.js";
import { McpServers } from "@sluice/inference-svc/features/mcp/client.js";
import { learnedTasks } from "@sluice/inference-svc/features/routers/auto/tasks/learned.js";
import { type Stack, buildStack } from "@sluice/inference-svc/stack.js";
import type { FunctionTool, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { Scope } from "@sluice/inference-svc/turn/scope.js";
import { TurnAbort } from "@sluice/inference-svc/turn/signal.js";
import { TurnState } from "@sluice/inference-svc/turn/turn-state.js";
import { Trace } from "@sluice/inference-svc/turn/trace.js";
import type { Answer, Batch, Turn, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { noPackages } from "@sluice/inference-svc/models/upstream/ai-sdk/load.js";
import { openDetectors } from "@sluice/inference-svc/services/detection/open-detectors.js";
import { openModeration } from "@sluice/inference-svc/features/moderation/client.js";
import { type Upstreams, openUpstreams } from "@sluice/inference-svc/models/upstream/providers.js";
import { Sandbox } from "@sluice/inference-svc/features/sandbox/client.js";
import { VectorStores } from "@sluice/inference-svc/features/vector-stores/client.js";
import { PageReaders } from "@sluice/inference-svc/features/web/page-readers.js";
import { PassedAddresses } from "@sluice/inference-svc/features/web/passed-addresses.js";
import type { Resolve } from "@sluice/inference-svc/services/public-web/fetch-target.js";
import { Web } from "@sluice/inference-svc/features/web/client.js";
import { type Caller, CallerSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { OpenMeter } from "@sluice/inference-svc/models/ledger/service-meter.js";
import type { Budgets, BudgetHold } from "@sluice/inference-svc/models/ledger/budget.js";
import type { OnStarted } from "@sluice/inference-svc/models/ledger/ledger.js";
import type { CallEnd, CallStart } from "@sluice/inference-svc/models/ledger/record.js";
import { meterServices } from "@sluice/inference-svc/models/ledger/metered-services.js";
import { newUuid } from "@sluice/proto/lib/ids/id.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { type ConfigFile, configSchema } from "@sluice/proto/config/config-file.js";
import { heldBytes } from "@sluice/proto/lib/load/held-bytes.js";
import { recordedService } from "@sluice/inference-svc/services/detection/recorded-detector.js";

export const testRequest = (request: Partial<TurnRequest> & { text?: string } = {}): TurnRequest => {
  const { text = "Hi", ...fields } = request;
  return {
    models: ["acme/large-2"],
    input: [{ type: "message", role: "user", content: text }],
    stream: true,
    tools: [],
    include: [],
    outputModalities: [],
    echoUpstreamBody: false,
    serviceMetadata: false,
    ...fields,
  };
};

/** A parsed function tool. */
export function functionTool(fields: Partial<FunctionTool> = {}): FunctionTool {
  const { name = "f", description, parametersJson = "null" } = fields;
  const json = `{"type":"function","name":${JSON.stringify(name)},"description":${JSON.stringify(description ?? null)},"parameters":${parametersJson}}`;
  return { type: "function", name, parametersJson, json, ...fields };
}

export interface TestScope {
  readonly scope: Scope;
  readonly abort: TurnAbort;
}

export function newScope(caller: Partial<Caller> = {}): TestScope {
  const abort = new TurnAbort();
  const scope = new Scope({
    signal: abort,
    held: heldBytes.open(caller.keyHash ?? "", (fault) => abort.abort(fault)),
    caller: create(CallerSchema, caller as object),
    requestId: "req_test",
    turnId: newUuid(),
    generationId: "gen-test",
    deadline: Number.POSITIVE_INFINITY,
    trace: new Trace(7n),
    state: new TurnState(),
  });
  return { scope, abort };
}

/** A configuration with a single provider and a single model, unless the settings list more. */
export const testConfig = (settings: {
  readonly url?: string;
  readonly dialect?: string;
  readonly providers?: readonly unknown[];
  readonly models?: readonly unknown[];
  readonly aliases?: readonly unknown[];
  readonly provider?: object;
}): ConfigFile =>
  configSchema.parse({
    model_aliases: settings.aliases,
    providers: settings.providers ?? [
      {
        id: "acme",
        name: "Acme",
        dialect: settings.dialect ?? "chat",
        base_url: `${settings.url}/v1`,
        api_keys: ["upstream-key"],
        ...settings.provider,
      },
    ],
    models: settings.models ?? [
      {
        id: "acme/large-2",
        endpoints: [{ provider: "acme", upstream_model: "large-2" }],
        input_modalities: ["text", "image", "file"],
      },
    ],
  });

export interface Engine {
  readonly turn: Turn;
  readonly embed: Turn;
  readonly planDryRun: PlanDryRun;
  readonly upstreams: Upstreams;
  readonly warnings: object[];
  readonly errors: object[];
  /** Ledger rows of ended calls. */
  readonly closed: CallEnd[];
  /** Ledger rows of begun calls. */
  readonly opened: CallStart[];
}

/** Reader shared by all engines, because its processes start with the first file. */
const documents = new DocumentReaders();
const files = new FileReader(documents);

/** A budget with room for everything. */
export const unlimitedBudget: BudgetHold = { raise: () => Promise.resolve(), settle: () => undefined };

/** Secret of every stack of the tests. */
export const stackSecret = "s".repeat(32);

/** Parts of a stack, and its records. */
export interface EngineParts {
  readonly parts: KitDeps;
  readonly engine: Omit<Engine, keyof Stack>;
}

const unlimited: Pick<Budgets, "reserve"> = { reserve: () => Promise.resolve(unlimitedBudget) };

/** A ledger that keeps its rows in lists. */
export function openLedger() {
  const closed: CallEnd[] = [];
  const opened: CallStart[] = [];
  const ledger = {
    open(begun: CallStart, _: Scope, onStarted: OnStarted) {
      opened.push(begun);
      queueMicrotask(() => onStarted(undefined));
      const close = (end: CallEnd) => void closed.push(end);
      return { span: undefined, note: () => {}, close };
    },
  };
  return { ledger, opened, closed };
}

/** Meters calls to services under budgets with room for everything. */
export const openUnlimitedMeter = (): OpenMeter => meterServices({ ...openLedger(), budgets: unlimited });

/** The whole stack over a configuration. */
export function openEngine(...given: Parameters<typeof openParts>): Engine {
  const { parts, engine } = openParts(...given);
  return { ...buildStack(parts), ...engine };
}

export function openParts(
  file: ConfigFile,
  records = new EndpointRecords(),
  packages = noPackages,
  budgets: Pick<Budgets, "reserve"> = unlimited,
  /** Resolves names in addresses passed on to providers; by default they are unknown. */
  resolvePassed: Resolve = () => Promise.resolve([]),
): EngineParts {
  const warnings: object[] = [];
  const errors: object[] = [];
  const into = (list: object[]) => (line: object | string) => void (typeof line === "object" && list.push(line));
  const log = { info: () => {}, warn: into(warnings), error: into(errors) };
  const upstreams = openUpstreams(file.providers, { version: "0.0.0", packages, log, now: records.now });
  const detectors = openDetectors(file.detectors, { version: "0.0.0", watch: () => () => {}, now: records.now });
  const { ledger, opened, closed } = openLedger();
  const meter = meterServices({ ledger, budgets });
  const web = new Web(file, {
    version: "0.0.0",
    watch: () => () => {},
    meter,
    readers: new PageReaders(),
    documents,
    // Host names of the tests' servers.
    resolve: () => Promise.resolve(["127.0.0.1"]),
    now: records.now,
    log,
  });
  const vectorStores = new VectorStores(file.file_search, {
    version: "0.0.0",
    watch: () => () => {},
    meter,
    now: records.now,
    log,
  });
  const moderation = openModeration(file, {
    version: "0.0.0",
    watch: (callee) => recordedService(ledger, callee, "moderation"),
    now: records.now,
  });
  const parts: KitDeps = {
    catalog: new Catalog(file),
    upstreams,
    unavailableTools: file.tools.unavailable,
    records,
    ledger,
    findTask: learnedTasks(file.auto_router.learning_share),
    budgets: { begin: () => () => {}, ...budgets },
    internalModels: file.internal_models,
    tracing: file.tracing,
    detectors: detectors.byId,
    moderation: moderation?.detectors,
    web,
    addresses: new PassedAddresses(file, resolvePassed, records.now),
    sandbox:
      file.sandbox &&
      new Sandbox(file.sandbox, { version: "0.0.0", watch: () => () => {}, meter, now: records.now, log }),
    mcp: new McpServers(file.mcp, {
      version: "0.0.0",
      watch: () => () => {},
      meter,
      log,
      // Host names of the tests' servers.
      resolve: () => Promise.resolve(["127.0.0.1"]),
    }),
    vectorStores,
    alignment: file.alignment,
    files,
    fusionPresets: file.fusion.presets,
    secret: stackSecret,
    log,
  };
  return { parts, engine: { upstreams, warnings, errors, opened, closed } };
}

export interface TurnResult {
  readonly events: TurnEvent[];
  readonly batches: number;
  /** Absent when the turn ended well. */
  readonly fault?: Fault;
  /** The fault came before any output. */
  readonly rejected: boolean;
}

/** Settles with the first batch, as a client's request does with its status; the batches can then be read from the first one on. */
export async function openAnswer(answer: Answer): Promise<AsyncIterable<Batch>> {
  const iterator = answer[Symbol.asyncIterator]();
  const first = await iterator.next();
  async function* all() {
    if (first.done !== true) yield first.value;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  return all();
}

/** Runs a turn to its end, as the service does: the scope is aborted afterwards. */
export async function runTestTurn(
  turn: Turn,
  request: TurnRequest,
  testScope: TestScope = newScope(),
): Promise<TurnResult> {
  const events: TurnEvent[] = [];
  let batches = 0;
  try {
    for await (const batch of turn(request, testScope.scope)) {
      events.push(...batch);
      batches++;
    }
    return { events, batches, rejected: false };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { events, batches, fault: error, rejected: batches === 0 };
  } finally {
    testScope.abort.abort(new Error("turn over"));
  }
}

/** Fails unless the events have the order required by clients; returns the items. */
export function itemsOf(events: readonly TurnEvent[]): Record<string, unknown>[] {
  const items = new Map<number, { said: Map<string, string>; ended: boolean }>();
  const whole: Record<string, unknown>[] = [];
  for (const event of events) {
    if (!("index" in event)) continue;
    if (event.type === "item.start") {
      if (event.index !== items.size) throw new Error(`item ${event.index} begins as number ${items.size}`);
      items.set(event.index, { said: new Map(), ended: false });
      continue;
    }
    const item = items.get(event.index);
    if (!item || item.ended) throw new Error(`${event.type} outside of item ${event.index}`);
    if ("delta" in event) {
      const key = `${event.type}/${"part" in event ? event.part : 0}`;
      item.said.set(key, (item.said.get(key) ?? "") + event.delta);
    }
    if (event.type !== "item.end") continue;
    item.ended = true;
    whole[event.index] = event.item;
    compare(event.item, item.said);
  }
  if ([...items.values()].some((item) => !item.ended)) throw new Error("an item never ends");
  return whole;
}

/** Checks that the end of an item carries the same text as its deltas. */
function compare(item: Record<string, unknown>, said: ReadonlyMap<string, string>): void {
  const parts = (list: unknown) => (Array.isArray(list) ? (list as Record<string, unknown>[]) : []);
  const stated = new Map<string, unknown>();
  for (const [index, part] of parts(item.content).entries()) {
    if (part.type === "output_text") stated.set(`text.delta/${index}`, part.text);
    if (part.type === "refusal") stated.set(`refusal.delta/${index}`, part.refusal);
    if (part.type === "reasoning_text") stated.set(`reasoning.delta/${index}`, part.text);
  }
  for (const [index, part] of parts(item.summary).entries()) stated.set(`summary.delta/${index}`, part.text);
  if (item.type === "function_call" || said.has("arguments.delta/0")) stated.set("arguments.delta/0", carried(item));
  for (const key of new Set([...said.keys(), ...stated.keys()])) {
    if ((said.get(key) ?? "") !== (stated.get(key) ?? "")) {
      throw new Error(`${key}: deltas said ${said.get(key)}, the item says ${String(stated.get(key))}`);
    }
  }
}

function carried(item: Record<string, unknown>): unknown {
  const operation = item.operation as { diff?: unknown } | undefined;
  return item.arguments ?? item.input ?? item.code ?? operation?.diff;
}

/** Ids differ from run to run. */
export const maskIds = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (name, inner: unknown) => (["id", "call_id", "item_id"].includes(name) ? "masked" : inner)),
  );
