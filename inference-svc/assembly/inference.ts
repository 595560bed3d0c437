/** Assembles inference-svc: engine and handlers with the runtime, the ledger and the policy, served on its RPC port. */
import type { ConfigRefusal } from "@sluice/proto/gen/sluice/common/v1/configuration_pb.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { FaultOrigin } from "@sluice/proto/lib/faults/fault.js";
import type { ConfigFile, LeftOut, ReadConfig } from "@sluice/proto/config/config-file.js";
import type { Hindrances } from "@sluice/proto/lib/process/hindrances.js";
import { InFlight } from "@sluice/proto/lib/idempotency/in-flight.js";
import { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import { ByteBudget } from "@sluice/proto/lib/load/byte-budget.js";
import { heldBytes } from "@sluice/proto/lib/load/held-bytes.js";
import { budgetBytes } from "@sluice/proto/lib/load/memory.js";
import { type Registry, labelledGauge } from "@sluice/proto/lib/metrics/metrics.js";
import { Pressure } from "@sluice/proto/lib/load/pressure.js";
import { Access } from "@sluice/proto/lib/policy/access.js";
import type { ProcessDeps } from "@sluice/proto/lib/process/process-parts.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { NetworkRefusals } from "@sluice/proto/lib/rpc/network-refusals.js";
import { type RpcServer, serveRpc } from "@sluice/proto/lib/rpc/serve.js";
import type { Connect } from "@sluice/proto/lib/lane/link.js";
import { tlsPeer } from "@sluice/proto/lib/tls/client.js";
import { version } from "@sluice/proto/lib/process/version.js";
import type { Settings } from "./config.ts";
import { checkDescriptors } from "./free-descriptor.ts";
import { CurrentConfig } from "../engine/current-config.ts";
import { Engine } from "../engine/engine.ts";
import { DocumentReaders } from "../content/files/documents/readers.ts";
import { Budgets } from "../models/ledger/budget.ts";
import { Ledger } from "../models/ledger/ledger.ts";
import { callMetrics } from "../models/ledger/observers/call-metrics.ts";
import { mcpMetrics } from "../features/mcp/metrics.ts";
import { observeCalls } from "../models/ledger/observers/observed-calls.ts";
import { doubtfulUsageObserver } from "../models/ledger/observers/doubtful-usage.ts";
import { detectorMetrics, tracedDetectors, combineWatches } from "../services/detection/detector-watches.ts";
import { tracedCalls } from "../models/ledger/observers/traced-calls.ts";
import { TracedTurns } from "../engine/traced-turns.ts";
import { LedgerTurns } from "../engine/ledger-turns.ts";
import { TurnRecorder } from "../engine/turn-recorder.ts";
import { sandboxMetrics } from "../features/sandbox/metrics.ts";
import { webMetrics } from "../features/web/metrics.ts";
import { DryRun } from "../engine/dry-run.ts";
import { exchangeEndpointNews } from "../models/routing/records/endpoint-news.ts";
import { endpointMetrics } from "../models/routing/records/endpoint-metrics.ts";
import { EndpointRecords } from "../models/routing/records/endpoint-record.ts";
import type { DirectTurn } from "../entry/handlers/direct-call.ts";
import { LearnedSpending } from "../models/routing/records/learned-spending.ts";
import { InferenceHandlers } from "../entry/handlers/handlers.ts";
import { OpenTurns } from "../engine/open-turns.ts";
import { StoredProviders } from "../engine/stored-providers.ts";
import { senderResolver } from "../entry/senders.ts";
import { PolicyHistory } from "./policy-history.ts";
import { Runtime } from "./runtime.ts";
import { Identities } from "../turn/identity.ts";
import { RequestParser } from "../turn/parse/request-parser.ts";
import type { SdkPackages } from "../models/upstream/ai-sdk/load.ts";
import { sharedEgress } from "../models/upstream/transport/connections.ts";

/** Time limit of the last delivery of usage records; after it, the rest waits on disk for the next start. */
const lastDeliveryMs = 10_000;

export interface InferenceOptions extends ProcessDeps {
  readonly settings: Settings;
  /** The configuration file without its unusable providers. */
  readonly file: ConfigFile;
  /** The configuration file as it was read. */
  readonly read: ReadConfig;
  /** The changed configuration file, if it was rejected. */
  readonly configRefusal: () => ConfigRefusal | undefined;
  /** Providers currently unusable. */
  readonly leftOut: () => readonly LeftOut[];
  /** AI SDK packages loaded at the start. */
  readonly packages: SdkPackages;
}

export interface Inference {
  readonly server: RpcServer;
  /** Opens a session to a gateway of this process. */
  readonly connectHere: Connect;
  readonly access: Access;
  readonly config: CurrentConfig;
  readonly runtime: Runtime;
  readonly pressure: Pressure;
  readonly learned: LearnedSpending;
  /** The stored providers, which are known once the policy watch has called `read`. */
  readonly stored: StoredProviders;
}

/** Listens until the end of the lifecycle. Requests are served once the policy watch runs. */
export async function openInference(options: InferenceOptions): Promise<Inference> {
  const { settings, token, certificates, lifecycle, log, registry, instance } = options;
  const admin = dial(settings.SLUICE_ADMIN_ADDRESS[0] as string, certificates && tlsPeer(certificates, "admin-svc"));
  const access = new Access({ client: admin, token, process: `inference-svc/${instance}`, log, registry });
  const config = new CurrentConfig(options.file);
  const records = new EndpointRecords();
  const { hindrances } = lifecycle;
  const directory = settings.SLUICE_SPOOL_DIR;
  const history = new PolicyHistory(directory, log);
  access.onGeneration((generation, keyHashes) => history.announced(generation, keyHashes));
  const ledger = new Ledger({
    directory,
    keep: keepDelivered(settings),
    instance,
    client: admin,
    token,
    log,
    registry,
    hindrances,
  });
  const share = () => config.file.auto_router.learning_share;
  const learned = new LearnedSpending({ client: admin, token, spending: records.taskSpending, share, log });
  const budgets = new Budgets({ client: admin, token, log, bootId: ledger.bootId, instance });
  const stored = new StoredProviders({ client: admin, token, secret: settings.SLUICE_SECRET, log }, options.read);
  const documentReaders = new DocumentReaders();
  const runtime = openRuntime(options, { config, records, ledger, budgets, documentReaders });
  endpointMetrics(registry, () => config.catalog, records);
  exchangeEndpointNews({ access, catalog: () => config.catalog, records, registry });
  const pressure = new Pressure({ waiting: () => 0, log, registry });
  heldBytes.measure(registry);
  watchHindrances(hindrances, { access, pressure, configRefusal: options.configRefusal, registry });
  const budget = new ByteBudget({ origin: FaultOrigin.INFERENCE, registry, bytes: budgetBytes(options.share) });
  const limiter = openLimiter(options, config);
  const openTurns = new OpenTurns();
  const { engine, pipeline, dryRun, turns } = openEngine(options, {
    access,
    budget,
    config,
    runtime,
    ledger,
    openTurns,
    limiter,
  });
  const beforeSending = () => ledger.flush();
  const { embed, planDryRun, planEmbedDryRun, tryGuardrail } = runtime;
  const parts = {
    engine,
    hindrances,
    openTurns,
    pipeline,
    dryRun,
    parse: pipeline.parse,
    planDryRun,
    budget,
    embed,
    planEmbedDryRun,
    tryGuardrail,
    turns,
    ledger,
    access,
    limiter,
    inFlight: new InFlight<DirectTurn>(registry),
    pressure,
    config,
    stored,
    admin,
    records,
    token,
    log,
    instance,
    beforeSending,
    version,
    packages: options.packages,
    leftOut: options.leftOut,
    configRefusal: options.configRefusal,
  };
  const handlers = new InferenceHandlers(parts);
  const server = await serve(options, {
    handlers,
    access,
    budget,
    config,
    networkRefusals: new NetworkRefusals({ admin, token, log }),
  });
  lifecycle.onDrain(() => handlers.drain());
  lifecycle.onLastMoment(() => engine.endTurns());
  lifecycle.onDrain(() => server.drain());
  lifecycle.onDrain(() => runtime.close());
  lifecycle.onDrain(() => documentReaders.close());
  lifecycle.onDrain(() => budgets.close());
  lifecycle.onDrain(() => {
    turns.flush();
    return ledger.close(lastDeliveryMs);
  });
  lifecycle.onDrain(() => stored.stop());
  lifecycle.onDrain(() => access.stop());
  lifecycle.onDrain(() => history.close());
  lifecycle.onDrain(() => learned.stop());
  lifecycle.onDrain(() => limiter.stop());
  return { server, connectHere: handlers.connectHere, access, config, runtime, pressure, learned, stored };
}

const keepDelivered = ({ SLUICE_SPOOL_KEEP_HOURS: hours, SLUICE_SPOOL_KEEP_MIB: mib }: Settings) =>
  hours === 0 ? undefined : { ms: hours * 3_600_000, bytes: mib * 1024 * 1024 };

interface Hindered {
  readonly access: Access;
  readonly pressure: Pressure;
  readonly configRefusal: () => ConfigRefusal | undefined;
  readonly registry: Registry;
}

/** Registers the hindrances of this process, except for the spool's, which the ledger itself watches. */
function watchHindrances(hindrances: Hindrances, { access, pressure, configRefusal, registry }: Hindered): void {
  const help = "Whether a cause of its own hinders this process: 1 for all of its work, 0.5 for some of it.";
  labelledGauge(registry, { name: "sluice_hindered", help, labelNames: ["cause"] }, (set) => {
    for (const [cause, found] of hindrances) set({ cause }, found ? (found.isPartial ? 0.5 : 1) : 0);
  });
  hindrances.watch("policy", () => access.findHindrance(), access.findHindrance());
  hindrances.watch("descriptors", checkDescriptors, checkDescriptors());
  hindrances.watch("egress", () => sharedEgress.look());
  sharedEgress.onLoss((found) => hindrances.found("egress", found));
  hindrances.watch("memory", () =>
    pressure.isMemoryScarce ? { reason: "memory is scarce, new work waits", isPartial: true } : undefined,
  );
  hindrances.watch("configuration", () =>
    configRefusal() ? { reason: "the changed configuration file is not in force", isPartial: true } : undefined,
  );
}

interface RuntimeParts {
  readonly config: CurrentConfig;
  readonly records: EndpointRecords;
  readonly ledger: Ledger;
  readonly budgets: Budgets;
  readonly documentReaders: DocumentReaders;
}

function openRuntime({ settings, packages, log, registry, tracing }: InferenceOptions, parts: RuntimeParts): Runtime {
  const { config, records, ledger, budgets, documentReaders } = parts;
  const calls = [
    callMetrics(registry),
    doubtfulUsageObserver(registry, log),
    ...(tracing ? [tracedCalls(tracing, () => config.catalog.providers)] : []),
  ];
  const detectors = [
    detectorMetrics(registry),
    ...(tracing ? [tracedDetectors(tracing, () => config.file.detectors)] : []),
  ];
  return new Runtime(
    {
      version,
      packages,
      records,
      ledger: observeCalls(ledger, calls),
      budgets,
      documents: documentReaders,
      watchDetector: combineWatches(detectors),
      watchWeb: webMetrics(registry),
      watchSandbox: sandboxMetrics(registry),
      watchMcp: mcpMetrics(registry),
      secret: settings.SLUICE_SECRET,
      log,
    },
    config,
  );
}

function openLimiter({ settings, instance, log, registry }: InferenceOptions, config: CurrentConfig): Limiter {
  const { REDIS_URL: url } = settings;
  return new Limiter({
    config: () => config.file.limits,
    origin: FaultOrigin.INFERENCE,
    registry,
    shared:
      url === undefined
        ? undefined
        : { url, process: `inference-svc/${instance}`, kind: "inference-svc", log, registry },
  });
}

interface SearchVendorDeps {
  readonly access: Access;
  readonly budget: ByteBudget;
  readonly config: CurrentConfig;
  readonly runtime: Runtime;
  readonly ledger: Ledger;
  readonly openTurns: OpenTurns;
  readonly limiter: Limiter;
}

function openEngine({ settings, lifecycle, log, registry, tracing }: InferenceOptions, parts: SearchVendorDeps) {
  const { access, budget, config, runtime, ledger, openTurns, limiter } = parts;
  const parser = new RequestParser(config, new Identities(settings.SLUICE_SECRET));
  const shared = {
    access,
    enforcesEndUsers: () => config.file.end_users.enforce,
    permissionDefault: () => config.file.permissions.default,
    budget,
    region: settings.SLUICE_REGION,
    hindrances: lifecycle.hindrances,
  };
  const turns = new LedgerTurns({ inner: new TurnRecorder(log, registry), ledger, access });
  const observer = tracing ? new TracedTurns(turns, tracing) : turns;
  return {
    turns,
    pipeline: { parse: parser.parse, turn: runtime.turn },
    engine: new Engine({ ...shared, modelLimiter: limiter, openTurns, observer, registry }),
    dryRun: new DryRun({ ...shared, log }),
  };
}

interface ServerParts {
  readonly handlers: InferenceHandlers;
  readonly access: Access;
  readonly budget: ByteBudget;
  readonly config: CurrentConfig;
  readonly networkRefusals: NetworkRefusals;
}

function serve(
  options: InferenceOptions,
  { handlers, access, budget, config, networkRefusals }: ServerParts,
): Promise<RpcServer> {
  const { settings, token, certificates, lifecycle, log, registry, tracing, share } = options;
  const { SLUICE_INFERENCE_HTTP_PORT: http1Port, SLUICE_INTERNAL_HOST: host } = settings;
  return serveRpc({
    port: settings.SLUICE_INFERENCE_PORT,
    host,
    share,
    lifecycle,
    log,
    services: [InferenceService],
    strict: [InferenceService.typeName],
    routes: handlers.routes,
    admission: {
      budget,
      senderOf: senderResolver({ access, token, networkRefusals }),
    },
    internalCalls: handlers.internalCalls,
    logsAddresses: () => config.file.log_client_addresses,
    token,
    tls: certificates && { certificates, clients: ["gateway"], token },
    registry,
    tracing,
    http1:
      http1Port === undefined
        ? undefined
        : { port: http1Port, host, allowOrigins: () => config.file.cors.allow_origins },
  });
}
