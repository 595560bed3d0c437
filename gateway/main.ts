/** Composition root of the gateway. */
import { hostname } from "node:os";
import { Access } from "@sluice/proto/runtime/access.js";
import { ByteBudget } from "@sluice/proto/runtime/byte-budget.js";
import { maxConnections } from "@sluice/proto/runtime/descriptors.js";
import { eventLoop } from "@sluice/proto/runtime/fair-shares.js";
import { endOnConfigError, readEnvironment, withOwnToken } from "@sluice/proto/runtime/config.js";
import { FaultOrigin } from "@sluice/proto/runtime/fault.js";
import { type EdgeSettings, loadEdge } from "@sluice/proto/runtime/house-file.js";
import { LiveFile } from "@sluice/proto/runtime/house/live.js";
import { corsFor } from "@sluice/proto/runtime/http1/cors.js";
import { close, listen } from "@sluice/proto/runtime/http1/server.js";
import { Limiter } from "@sluice/proto/runtime/limits/limiter.js";
import { Lifecycle } from "@sluice/proto/runtime/lifecycle.js";
import { openLog } from "@sluice/proto/runtime/log.js";
import { gauge, openMetrics } from "@sluice/proto/runtime/metrics.js";
import { Pressure } from "@sluice/proto/runtime/pressure.js";
import { serveProbes } from "@sluice/proto/runtime/probes.js";
import { dial, dialAny } from "@sluice/proto/runtime/rpc/dial.js";
import { openServiceToken } from "@sluice/proto/runtime/rpc/service-token.js";
import { Certificates } from "@sluice/proto/runtime/tls/certificates.js";
import { outliveErrors } from "@sluice/proto/runtime/uncaught.js";
import { tlsPeer } from "@sluice/proto/runtime/tls/client.js";
import { openTracing } from "@sluice/proto/runtime/tracing/open.js";
import { createApp } from "./app.ts";
import { environment } from "./config.ts";
import { createEdgeServer } from "./http/edge-server.ts";
import { answerHeaders } from "./http/errors.ts";
import { RequestObserver } from "./http/observe.ts";
import { Strangers } from "./http/strangers.ts";
import { closingText } from "./http/shed.ts";
import { TracedObserver } from "./http/trace.ts";
import { InFlight } from "./idempotency/in-flight.ts";
import { resolverOf } from "./lane/addresses.ts";
import { grpcTransport } from "./lane/link.ts";
import { LanePool } from "./lane/pool.ts";
import type { AskedOnce } from "./responses/once.ts";
import { KeepAlive } from "./sse/event-stream.ts";

/** A turn needs no descriptor but that of its client: it travels on connections that are open. */
const clientShare = 0.75;

endOnConfigError("gateway");
const settings = readEnvironment(environment, withOwnToken(process.env));
const log = openLog("gateway", settings.SLUICE_LOG_LEVEL);
const registry = openMetrics("gateway");
const lifecycle = new Lifecycle(log);
lifecycle.handleSignals(settings.SLUICE_DRAIN_DELAY_MS, settings.SLUICE_DRAIN_LIMIT_MS);
const instance = `gateway/${hostname()}-${process.pid}`;
const tracing = await openTracing({ room: "gateway", instance, log, registry, environment: process.env });
const requests = new RequestObserver(log, registry);
const house = new LiveFile({
  path: settings.SLUICE_CONFIG,
  load: () => loadEdge(settings.SLUICE_CONFIG),
  files: () => [],
  log,
  registry,
});
const corsOf = ({ cors }: EdgeSettings) => corsFor(cors.allow_origins, answerHeaders);
let cors = corsOf(house.current);
const token = openServiceToken(settings.SLUICE_SERVICE_TOKEN, settings.SLUICE_SERVICE_TOKEN_FILE, log);
const certificates =
  settings.SLUICE_TLS_DIR === undefined ? undefined : new Certificates(settings.SLUICE_TLS_DIR, { log, registry });
const adminPeer = certificates && tlsPeer(certificates, "admin-svc");
const inferencePeer = certificates && tlsPeer(certificates, "inference-svc");

// One connection for both: who says in its greeting what it knows is who administers.
const admin = dial(settings.SLUICE_ADMIN_ADDRESS[0] as string, adminPeer);
const access = new Access({
  client: admin,
  token,
  process: instance,
  log,
  registry,
});
const transport = (address: string) => grpcTransport(address, token, inferencePeer);
const pool = new LanePool(resolverOf(settings.SLUICE_INFERENCE_ADDRESSES, log), transport, log);
gauge(registry, "sluice_inference_processes", "Inference processes that take turns.", () => pool.processes);
gauge(
  registry,
  "sluice_lane_waiting_turns",
  "Turns for the least busy inference process that it has not begun.",
  () => pool.waiting,
);
const pressure = new Pressure({ waiting: () => pool.waiting, log, registry });
const keepAlive = new KeepAlive(house.current.limits.keep_alive_ms);
const limiter = new Limiter({
  house: () => house.current.limits,
  origin: FaultOrigin.GATEWAY,
  registry,
  shared:
    settings.REDIS_URL === undefined
      ? undefined
      : { url: settings.REDIS_URL, process: instance, kind: "gateway", log, registry },
});
const budget = new ByteBudget({ origin: FaultOrigin.GATEWAY, registry });
const inFlight = new InFlight<AskedOnce>();
gauge(
  registry,
  "sluice_idempotency_log_bytes",
  "What running turns that can be joined by their Idempotency-Key have said so far.",
  () => inFlight.loggedBytes,
);
gauge(registry, "sluice_open_turns", "Turns that are open in this process.", () => limiter.open);

const app = createApp({
  access,
  pool,
  pressure,
  strangers: new Strangers(eventLoop),
  keepAlive,
  limiter,
  budget,
  inFlight,
  get limits() {
    return house.current.limits;
  },
  get compat() {
    return house.current.compat;
  },
  get detectors() {
    return house.current.detectors;
  },
  get cors() {
    return cors;
  },
  lifecycle,
  observer: tracing ? new TracedObserver(requests, tracing) : requests,
  admin,
  inference: dialAny(settings.SLUICE_INFERENCE_ADDRESSES as [string, ...string[]], inferencePeer),
  token,
});
const handle = app.callback();
const server = createEdgeServer((request, response) => void handle(request, response));
const port = await listen(server, settings.SLUICE_PORT, {
  host: settings.SLUICE_HOST ?? house.current.host,
  maxConnections: maxConnections(clientShare),
  refusal: closingText,
});
const probes = { port: settings.SLUICE_GATEWAY_HEALTH_PORT, host: settings.SLUICE_INTERNAL_HOST };
await serveProbes(probes, lifecycle, registry);
await pool.start();
await access.watch();
await pool.greeted();
pressure.start();

house.watch((edge) => {
  cors = corsOf(edge);
  keepAlive.change(edge.limits.keep_alive_ms);
  log.info("the house file is in force as it is now; ports and secrets stay as they were at the start");
});

lifecycle.onDrain(() => close(server));
lifecycle.onLastMoment(() => pool.endTurns());
lifecycle.onDrain(() => {
  keepAlive.stop();
  pool.stop();
  access.stop();
});
lifecycle.onDrain(() => limiter.stop());
lifecycle.onDrain(() => tracing?.close());
outliveErrors(log, registry);
lifecycle.started();
log.info({ port }, "ready");
