/** Assembles the gateway: the app with its connections to inference-svc and admin-svc, served on its HTTP port. */
import type { ConfigRefusal } from "@sluice/proto/gen/sluice/common/v1/configuration_pb.js";
import type { IncomingMessage, Server } from "node:http";
import type { Client } from "@grpc/grpc-js";
import { FaultOrigin } from "@sluice/proto/lib/faults/fault.js";
import type { EdgeSettings } from "@sluice/proto/config/config-file.js";
import { type Cors, corsFor, originsAllowed } from "@sluice/proto/lib/http1/cors.js";
import { close, listen } from "@sluice/proto/lib/http1/server.js";
import { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import { ByteBudget } from "@sluice/proto/lib/load/byte-budget.js";
import { maxConnections } from "@sluice/proto/lib/load/descriptors.js";
import { eventLoop } from "@sluice/proto/lib/load/fair-shares.js";
import { heldBytes } from "@sluice/proto/lib/load/held-bytes.js";
import { budgetBytes } from "@sluice/proto/lib/load/memory.js";
import { Pressure } from "@sluice/proto/lib/load/pressure.js";
import { gauge } from "@sluice/proto/lib/metrics/metrics.js";
import { Access } from "@sluice/proto/lib/policy/access.js";
import { networksOf } from "@sluice/proto/lib/networks/networks.js";
import type { ProcessDeps } from "@sluice/proto/lib/process/process-parts.js";
import { dial, dialAny } from "@sluice/proto/lib/rpc/dial.js";
import type { Connect } from "@sluice/proto/lib/lane/link.js";
import { tlsPeer } from "@sluice/proto/lib/tls/client.js";
import { type AppDeps, createApp } from "./app.ts";
import type { Settings } from "./config.ts";
import { LiveTurns } from "./admin/console-api/live.ts";
import { Oidc } from "./admin/console-api/oidc.ts";
import { StartLink } from "./admin/console-api/start-link.ts";
import { TrustedHeader } from "./admin/console-api/trusted-header.ts";
import { clientAddress } from "./edge/http/client-address.ts";
import { createEdgeServer } from "./edge/http/edge-server.ts";
import { answerHeaders } from "./edge/http/errors.ts";
import { KeylessLimiter } from "./edge/http/keyless-limiter.ts";
import { NetworkRefusals } from "@sluice/proto/lib/rpc/network-refusals.js";
import { RequestObserver } from "./edge/http/observe.ts";
import { closingRefusalText } from "./edge/http/shed.ts";
import { TracedObserver } from "./edge/http/trace.ts";
import { serveUpgrades } from "./edge/http/upgrade.ts";
import { InFlight } from "@sluice/proto/lib/idempotency/in-flight.js";
import { createResolver } from "./lane/addresses.ts";
import { InferenceClients } from "./lane/clients.ts";
import { sessionConnector } from "./lane/link.ts";
import { LanePool } from "./lane/pool.ts";
import { MemoryItems } from "./doors/responses/remembered/memory-items.ts";
import { RedisItems } from "./doors/responses/remembered/redis-items.ts";
import { RememberedItems } from "./doors/responses/remembered/remembered-items.ts";
import { ResponseSockets, type SocketDeps } from "./doors/responses/socket/sockets.ts";
import { Captures } from "./edge/turns/captures.ts";
import { Refusals } from "./edge/turns/refusals.ts";
import type { SharedTurn } from "./edge/turns/shared-call.ts";
import { KeepAlive } from "./edge/sse/event-stream.ts";

/**
 * Share of the process's file descriptors for client connections. A turn needs no further descriptor, since it travels on connections that are
 * already open.
 */
const clientShare = 0.75;

export interface GatewayOptions extends ProcessDeps {
  readonly settings: Settings;
  /** The sections of the configuration file in force. */
  readonly config: { readonly current: EdgeSettings };
  /** The refusal of the configuration file's latest change; undefined if it was accepted. */
  readonly configRefusal: () => ConfigRefusal | undefined;
  /** Opens sessions to an inference service in this process; absent when sessions use the network. */
  readonly connectHere?: Connect | undefined;
}

/** The connections of a gateway to the other services. */
interface Connections {
  readonly admin: Client;
  readonly inferenceClients: InferenceClients;
  readonly access: Access;
  readonly pool: LanePool;
  readonly live: LiveTurns;
}

export interface Gateway {
  readonly port: number;
  readonly access: Access;
  readonly pool: LanePool;
  readonly pressure: Pressure;
  /** Puts changed sections of the configuration file in force. */
  readonly change: (edge: EdgeSettings) => void;
}

/**
 * Opens the gateway, which listens until the end of the lifecycle. It is ready once the policy watch has begun and an inference process has sent its
 * hello.
 */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, lifecycle, log, registry } = options;
  const connections = connect(options);
  const { access, pool } = connections;
  heldBytes.measure(registry);
  const pressure = new Pressure({ waiting: () => pool.waiting, log, registry });
  const keepAlive = new KeepAlive(config.current.limits.keep_alive_ms);
  const limiter = openLimiter(options);
  let cors = corsOf(config.current);
  let signIn = signInOf(config.current);
  const addressOf = ({ socket, headers }: IncomingMessage) =>
    clientAddress(socket.remoteAddress, headers["x-forwarded-for"], networksOf(config.current.trusted_proxies));
  const parts = {
    ...appParts(options, connections),
    addressOf,
    keylessLimiter: new KeylessLimiter(eventLoop, addressOf),
    networkRefusals: new NetworkRefusals({ admin: connections.admin, token: options.token, log }),
    pressure,
    keepAlive,
    limiter,
    get inference() {
      return connections.inferenceClients.next;
    },
    get limits() {
      return config.current.limits;
    },
    get compat() {
      return config.current.compat;
    },
    get detectors() {
      return config.current.detectors;
    },
    get logsAddresses() {
      return config.current.log_client_addresses;
    },
    get cors() {
      return cors;
    },
    get showsConsole() {
      return config.current.console.enabled ?? isLoopback(hostOf(options));
    },
    get traceUrl() {
      return config.current.console.trace_url;
    },
    get trustedHeader() {
      return signIn.trustedHeader;
    },
    get oidc() {
      return signIn.oidc;
    },
    get signOutUrl() {
      return config.current.console.trusted_header?.sign_out_url;
    },
    startLink: startLinkOf(options),
    configRefusal: options.configRefusal,
    allowsOrigin: (origin: string) => originsAllowed(config.current.cors.allow_origins)(origin),
  } satisfies AppDeps & SocketDeps;
  const sockets = new ResponseSockets(parts, registry);
  const server = createEdgeServer(createApp(parts));
  serveUpgrades(server, sockets);
  lifecycle.onDrain(() => sockets.drain());
  lifecycle.onDrain(() => connections.live.stop());
  const port = await serve(options, server, () => pool.endTurns());
  lifecycle.onDrain(() => parts.refusals.stop());
  lifecycle.onDrain(() => parts.captures.stop());
  lifecycle.onDrain(() => parts.itemMemory.stop());
  lifecycle.onDrain(() => {
    keepAlive.stop();
    pool.stop();
    connections.inferenceClients.stop();
    access.stop();
  });
  lifecycle.onDrain(() => limiter.stop());
  const change = (edge: EdgeSettings) => {
    cors = corsOf(edge);
    signIn = signInOf(edge);
    keepAlive.change(edge.limits.keep_alive_ms);
  };
  return { port, access, pool, pressure, change };
}

/** @param endTurns ends the turns that remain when the time of a drain is over */
async function serve(options: GatewayOptions, server: Server, endTurns: () => void): Promise<number> {
  const { settings, lifecycle } = options;
  const port = await listen(server, settings.SLUICE_PORT, {
    host: hostOf(options),
    maxConnections: maxConnections(clientShare * options.share),
    refusal: closingRefusalText,
  });
  lifecycle.onDrain(() => close(server));
  lifecycle.onLastMoment(endTurns);
  return port;
}

/** Address to listen on; undefined for all addresses of the machine. */
const hostOf = ({ settings, config }: GatewayOptions): string | undefined =>
  settings.SLUICE_HOST ?? config.current.host;

const isLoopback = (host: string | undefined): boolean => host !== undefined && /^(127\.|::1$|localhost$)/.test(host);

const startLinkOf = ({ settings: { SLUICE_CONSOLE_LINK: link } }: GatewayOptions): StartLink | undefined =>
  link === undefined ? undefined : new StartLink(link);

const corsOf = ({ cors }: EdgeSettings): Cors | undefined => corsFor(cors.allow_origins, answerHeaders);

/** The services for identifying people. */
const signInOf = ({ console: { trusted_header: trustedHeader, oidc } }: EdgeSettings) => ({
  trustedHeader: trustedHeader && new TrustedHeader(trustedHeader),
  oidc: oidc && new Oidc(oidc),
});

function connect({ settings, instance, token, certificates, log, registry, connectHere }: GatewayOptions): Connections {
  const inferencePeer = certificates && tlsPeer(certificates, "inference-svc");
  // The policy watch and administration calls share one connection, so that calls go to the same build of admin-svc that the watch's hello has
  // described.
  const admin = dial(settings.SLUICE_ADMIN_ADDRESS[0] as string, certificates && tlsPeer(certificates, "admin-svc"));
  const access = new Access({ client: admin, token, process: `gateway/${instance}`, log, registry });
  const connectorFor = (address: string) => connectHere ?? sessionConnector(address, token, inferencePeer);
  const pool = new LanePool(createResolver(settings.SLUICE_INFERENCE_ADDRESSES, log), connectorFor, log);
  gauge(registry, "sluice_inference_processes", "Inference processes that take turns.", () => pool.processes);
  gauge(
    registry,
    "sluice_lane_waiting_turns",
    "Turns for the least busy inference process that it has not said to have begun.",
    () => pool.waiting,
  );
  gauge(
    registry,
    "sluice_inference_hindered_processes",
    "Inference processes that something hinders: they get no turns, or none while others can have them.",
    () => pool.hindered,
  );
  const dialInference = (address: string) => dial(address, inferencePeer);
  const inferenceClients = new InferenceClients({
    addresses: () => pool.fittest,
    dial: dialInference,
    any: dialAny(settings.SLUICE_INFERENCE_ADDRESSES as [string, ...string[]], inferencePeer),
  });
  const live = new LiveTurns({ pool, dialInference, token });
  return { admin, inferenceClients, access, pool, live };
}

function openLimiter({ settings, config, instance, log, registry }: GatewayOptions): Limiter {
  const { REDIS_URL: url } = settings;
  const limiter = new Limiter({
    config: () => config.current.limits,
    origin: FaultOrigin.GATEWAY,
    registry,
    shared: url === undefined ? undefined : { url, process: `gateway/${instance}`, kind: "gateway", log, registry },
  });
  gauge(registry, "sluice_open_turns", "Turns that are open in this process.", () => limiter.open);
  return limiter;
}

/** The parts of the app that do not depend on the configuration file. */
function appParts(
  { settings, token, config, lifecycle, log, registry, tracing, share }: GatewayOptions,
  connections: Connections,
) {
  const requests = new RequestObserver(log, registry);
  return {
    ...connections,
    budget: new ByteBudget({ origin: FaultOrigin.GATEWAY, registry, bytes: budgetBytes(share) }),
    refusals: new Refusals({ inference: () => connections.inferenceClients.next, token, log }),
    captures: new Captures({
      admin: connections.admin,
      token,
      log,
      registry,
      settings: () => config.current.capture,
    }),
    itemMemory: openItemMemory(settings, config, token, log, registry),
    inFlight: new InFlight<SharedTurn>(registry),
    lifecycle,
    log,
    observer: tracing ? new TracedObserver(requests, tracing) : requests,
    token,
  } satisfies Partial<AppDeps>;
}

/** Opens the memory of items in earlier answers: in Redis if the rate limits are there, too, else in this process. */
function openItemMemory(
  { REDIS_URL: url }: Settings,
  config: GatewayOptions["config"],
  token: GatewayOptions["token"],
  log: GatewayOptions["log"],
  registry: GatewayOptions["registry"],
): RememberedItems {
  const memory = new MemoryItems();
  gauge(registry, "sluice_remembered_items_bytes", "Memory of items of earlier answers.", () => memory.bytes);
  const openStore = () => (url === undefined ? memory : new RedisItems(url, log));
  return new RememberedItems({ settings: () => config.current.responses, token, openStore });
}
