/** Composition root of inference-svc. */
import { createRequire } from "node:module";
import { hostname } from "node:os";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Access } from "@sluice/proto/runtime/access.js";
import { openServiceToken } from "@sluice/proto/runtime/rpc/service-token.js";
import { ByteBudget } from "@sluice/proto/runtime/byte-budget.js";
import { endOnConfigError, readEnvironment, withOwnToken } from "@sluice/proto/runtime/config.js";
import { type LeftOut, type LoadedHouse, loadHouse } from "@sluice/proto/runtime/house-file.js";
import { LiveFile } from "@sluice/proto/runtime/house/live.js";
import { readSeed } from "@sluice/proto/runtime/house/seed.js";
import { FaultOrigin } from "@sluice/proto/runtime/fault.js";
import { Limiter } from "@sluice/proto/runtime/limits/limiter.js";
import { Lifecycle } from "@sluice/proto/runtime/lifecycle.js";
import { openLog } from "@sluice/proto/runtime/log.js";
import { openMetrics } from "@sluice/proto/runtime/metrics.js";
import { Pressure } from "@sluice/proto/runtime/pressure.js";
import { serveProbes } from "@sluice/proto/runtime/probes.js";
import { dial, pathOf } from "@sluice/proto/runtime/rpc/dial.js";
import { openTracing } from "@sluice/proto/runtime/tracing/open.js";
import { serveRpc } from "@sluice/proto/runtime/rpc/serve.js";
import { outliveErrors } from "@sluice/proto/runtime/uncaught.js";
import { Certificates } from "@sluice/proto/runtime/tls/certificates.js";
import { tlsPeer } from "@sluice/proto/runtime/tls/client.js";
import type { Requester } from "./admission.ts";
import { environment } from "./config.ts";
import { Engine } from "./engine.ts";
import { PdfReaders } from "./files/pdf/readers.ts";
import { FileReader } from "./files/texts.ts";
import { Budgets } from "./ledger/budget.ts";
import { Ledger } from "./ledger/ledger.ts";
import { callMetrics } from "./observe/call-metrics.ts";
import { watched } from "./observe/calls.ts";
import { detectorMetrics, tracedDetectors, watchedBy } from "./observe/detector-calls.ts";
import { tracedCalls } from "./observe/traced-calls.ts";
import { TracedTurns } from "./observe/traced-turns.ts";
import { TurnRecorder } from "./observe/turns.ts";
import { webMetrics } from "./observe/web-calls.ts";
import { Rehearsals } from "./rehearsal.ts";
import { endpointMetrics } from "./routing/endpoint-metrics.ts";
import { EndpointRecords } from "./routing/endpoint-record.ts";
import { InferenceDoors } from "./service.ts";
import { sendersOf } from "./senders.ts";
import { Serving } from "./serving.ts";
import { Identities } from "./turn/identity.ts";
import { parseTurn } from "./turn/parse.ts";
import { loadSdkPackages, withoutBroken } from "./upstream/ai-sdk/load.ts";

/** What is not delivered by then waits on the disk for the next start. */
const lastDeliveryMs = 10_000;

endOnConfigError("inference-svc");
const settings = readEnvironment(environment, withOwnToken(process.env));
const log = openLog("inference-svc", settings.SLUICE_LOG_LEVEL);
const registry = openMetrics("inference-svc");
const lifecycle = new Lifecycle(log);
lifecycle.handleSignals(settings.SLUICE_DRAIN_DELAY_MS, settings.SLUICE_DRAIN_LIMIT_MS);
/** This file is inference-svc/dist/main.js. */
const seedFile = new URL("../catalog/seed.json", import.meta.url);
const house = new LiveFile({
  path: settings.SLUICE_CONFIG,
  load: () => loadHouse(settings.SLUICE_CONFIG, process.env, readSeed(seedFile)),
  files: ({ files }) => files,
  log,
  registry,
});
const packages = await loadSdkPackages(house.current.file.providers, settings.SLUICE_PACKAGES_DIR);
const usable = (loaded: LoadedHouse) => withoutBroken(loaded, packages, settings.SLUICE_CONFIG);
const atStart = usable(house.current);
const isBroken = ({ problem }: LeftOut) => problem !== undefined;
const broken = atStart.leftOut.filter(isBroken);
const unset = atStart.leftOut.filter((left) => !isBroken(left));
if (unset.length > 0) log.info({ left_out: unset }, "left out: their variables are not set");
if (broken.length > 0) log.warn({ left_out: broken }, "left out: their packages cannot be loaded");

const instance = `${hostname()}-${process.pid}`;
const tracing = await openTracing({ room: "inference-svc", instance, log, registry, environment: process.env });
const token = openServiceToken(settings.SLUICE_SERVICE_TOKEN, settings.SLUICE_SERVICE_TOKEN_FILE, log);
const certificates =
  settings.SLUICE_TLS_DIR === undefined ? undefined : new Certificates(settings.SLUICE_TLS_DIR, { log, registry });
const adminPeer = certificates && tlsPeer(certificates, "admin-svc");
const admin = dial(settings.SLUICE_ADMIN_ADDRESS[0] as string, adminPeer);
const access = new Access({
  client: admin,
  token,
  process: `inference-svc/${instance}`,
  log,
  registry,
});
const { version } = createRequire(import.meta.url)("../package.json") as { version: string };
const ledger = new Ledger({
  directory: settings.SLUICE_SPOOL_DIR,
  instance,
  client: admin,
  token,
  log,
  registry,
});
const budgets = new Budgets(admin, token, log);
const records = new EndpointRecords();
const pdfReaders = new PdfReaders();
const callObservers = [
  callMetrics(registry),
  ...(tracing ? [tracedCalls(tracing, () => serving.catalog.providers)] : []),
];
const detectorWatches = [
  detectorMetrics(registry),
  ...(tracing ? [tracedDetectors(tracing, () => serving.file.detectors)] : []),
];
const serving: Serving = new Serving(
  {
    version,
    packages,
    records,
    ledger: watched(ledger, callObservers),
    budgets,
    files: new FileReader(pdfReaders),
    watchDetector: watchedBy(detectorWatches),
    watchWeb: webMetrics(registry),
    secret: settings.SLUICE_SECRET,
    log,
  },
  atStart.file,
);
endpointMetrics(registry, () => serving.catalog, records);
const pressure = new Pressure({ waiting: () => 0, log, registry });
const identities = new Identities(settings.SLUICE_SECRET);
const budget = new ByteBudget({ origin: FaultOrigin.INFERENCE, registry });
const shared = {
  access,
  enforcesEndUsers: () => serving.file.end_users.enforce,
  budget,
  parse: (request: RunTurnRequest, { keyHash, scanned }: Requester) =>
    parseTurn(request, {
      scanned,
      aliases: serving.file.compat.tool_type_aliases,
      identityHash: identities.of(keyHash, request),
      promptCacheKey: identities.cacheKeyOf(keyHash, request),
    }),
  region: settings.SLUICE_REGION,
};
const limiter = new Limiter({
  house: () => serving.file.limits,
  origin: FaultOrigin.INFERENCE,
  registry,
  shared:
    settings.REDIS_URL === undefined
      ? undefined
      : { url: settings.REDIS_URL, process: `inference-svc/${instance}`, kind: "inference-svc", log, registry },
});
const turns = new TurnRecorder(log, registry);
const observer = tracing ? new TracedTurns(turns, tracing) : turns;
const engine = new Engine({ ...shared, turn: serving.turn, observer, registry });
const doors = new InferenceDoors({
  engine,
  rehearsals: new Rehearsals({ ...shared, rehearse: serving.rehearse, log }),
  access,
  limiter,
  pressure,
  serving,
  records,
  token,
  log,
  instance,
});
const server = await serveRpc({
  port: settings.SLUICE_INFERENCE_PORT,
  host: settings.SLUICE_INTERNAL_HOST,
  lifecycle,
  log,
  serviceNames: [InferenceService.typeName],
  strict: [InferenceService.typeName],
  routes: doors.routes,
  admission: { budget, senderOf: sendersOf({ access, token }) },
  endedByClients: [pathOf(InferenceService.method.session)],
  token,
  tls: certificates && { certificates, clients: ["gateway"], token },
  registry,
  tracing,
  http1:
    settings.SLUICE_INFERENCE_HTTP_PORT === undefined
      ? undefined
      : {
          port: settings.SLUICE_INFERENCE_HTTP_PORT,
          host: settings.SLUICE_INTERNAL_HOST,
          allowOrigins: () => serving.file.cors.allow_origins,
        },
});
const probes = { port: settings.SLUICE_INFERENCE_HEALTH_PORT, host: settings.SLUICE_INTERNAL_HOST };
await serveProbes(probes, lifecycle, registry);
await access.watch();
pressure.start();

house.watch((loaded) => {
  const { file, leftOut: left } = usable(loaded);
  serving.replace(file);
  log.info(
    { models: file.models.length, providers: file.providers.map(({ id }) => id), left_out: left },
    "the house file is in force as it is now; ports, secrets and variables stay as they were at the start",
  );
});

lifecycle.onDrain(() => doors.drain());
lifecycle.onLastMoment(() => engine.endTurns());
lifecycle.onDrain(() => server.drain());
lifecycle.onDrain(() => serving.close());
lifecycle.onDrain(() => pdfReaders.close());
lifecycle.onDrain(() => ledger.close(lastDeliveryMs));
lifecycle.onDrain(() => access.stop());
lifecycle.onDrain(() => limiter.stop());
lifecycle.onDrain(() => tracing?.close());
outliveErrors(log, registry);
lifecycle.started();
log.info({ port: server.port, http_port: server.http1Port, models: serving.catalog.models.length }, "ready");
