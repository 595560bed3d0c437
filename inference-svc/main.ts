/** Composition root of inference-svc. */
import { createRequire } from "node:module";
import { hostname } from "node:os";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Access } from "@sluice/proto/runtime/access.js";
import { readEnvironment } from "@sluice/proto/runtime/config.js";
import { loadHouse } from "@sluice/proto/runtime/house-file.js";
import { readSeed } from "@sluice/proto/runtime/house/seed.js";
import { Lifecycle } from "@sluice/proto/runtime/lifecycle.js";
import { openLog } from "@sluice/proto/runtime/log.js";
import { openMetrics } from "@sluice/proto/runtime/metrics.js";
import { serveProbes } from "@sluice/proto/runtime/probes.js";
import { dial } from "@sluice/proto/runtime/rpc/dial.js";
import { serveRpc } from "@sluice/proto/runtime/rpc/serve.js";
import type { Requester } from "./admission.ts";
import { environment } from "./config.ts";
import { Engine } from "./engine.ts";
import { Catalog } from "./routing/catalog.ts";
import { Rehearsals } from "./rehearsal.ts";
import { EndpointRecords } from "./routing/endpoint-record.ts";
import { InferenceDoors } from "./service.ts";
import { buildStack } from "./stack.ts";
import { Identities } from "./turn/identity.ts";
import { parseTurn } from "./turn/parse.ts";
import { openUpstreams } from "./upstream/providers.ts";

const settings = readEnvironment(environment, process.env);
const log = openLog("inference-svc", settings.SLUICE_LOG_LEVEL);
const registry = openMetrics("inference-svc");
const lifecycle = new Lifecycle(log);
/** This file is inference-svc/dist/main.js. */
const seedFile = new URL("../catalog/seed.json", import.meta.url);
const { file, leftOut } = loadHouse(settings.SLUICE_CONFIG, process.env, readSeed(seedFile));
if (leftOut.length > 0) log.info({ providers: leftOut }, "left out: their variables are not set");

const instance = `${hostname()}-${process.pid}`;
const access = new Access({
  client: dial(settings.SLUICE_ADMIN_ADDRESS[0] as string),
  token: settings.SLUICE_SERVICE_TOKEN,
  process: `inference-svc/${instance}`,
  log,
  registry,
});
const { version } = createRequire(import.meta.url)("../package.json") as { version: string };
const catalog = new Catalog(file);
const upstreams = openUpstreams(file.providers, version);
const records = new EndpointRecords();
const identities = new Identities(settings.SLUICE_SECRET);
const aliases = file.compat.tool_type_aliases;
const stack = buildStack({ catalog, upstreams, records, secret: settings.SLUICE_SECRET, log });
const shared = {
  access,
  parse: (request: RunTurnRequest, { keyHash, scanned }: Requester) =>
    parseTurn(request, { scanned, aliases, identityHash: identities.of(keyHash, request) }),
  log,
  region: settings.SLUICE_REGION,
};
const doors = new InferenceDoors({
  engine: new Engine({ ...shared, turn: stack.turn, registry }),
  rehearsals: new Rehearsals({ ...shared, rehearse: stack.rehearse }),
  access,
  catalog,
  records,
  token: settings.SLUICE_SERVICE_TOKEN,
  instance,
  turnMs: file.limits.turn_ms,
  streamMs: file.limits.stream_ms,
});
const server = await serveRpc({
  port: settings.SLUICE_INFERENCE_PORT,
  lifecycle,
  log,
  serviceNames: [InferenceService.typeName],
  routes: doors.routes,
  http1:
    settings.SLUICE_INFERENCE_HTTP_PORT === undefined
      ? undefined
      : { port: settings.SLUICE_INFERENCE_HTTP_PORT, allowOrigins: file.cors.allow_origins },
});
await serveProbes(settings.SLUICE_INFERENCE_HEALTH_PORT, lifecycle, registry);
await access.watch();

lifecycle.onDrain(() => doors.drain());
lifecycle.onDrain(() => server.drain());
lifecycle.onDrain(() => upstreams.close());
lifecycle.onDrain(() => access.stop());
lifecycle.handleSignals(settings.SLUICE_DRAIN_DELAY_MS, settings.SLUICE_DRAIN_LIMIT_MS);
lifecycle.started();
log.info({ port: server.port, http_port: server.http1Port, models: file.models.length }, "ready");
