/** The edge: what happens to every request, in order, and where each path leads. */
import type { ServiceToken } from "@sluice/proto/runtime/rpc/service-token.js";
import type { IncomingMessage, ServerResponse } from "node:http";
import Router from "@koa/router";
import type { Client } from "@grpc/grpc-js";
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { ByteBudget, Reservation } from "@sluice/proto/runtime/byte-budget.js";
import type { Access } from "@sluice/proto/runtime/access.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { Compat, Limits } from "@sluice/proto/runtime/house-file.js";
import type { Cors } from "@sluice/proto/runtime/http1/cors.js";
import { KeyKind } from "@sluice/proto/runtime/key.js";
import type { Limiter } from "@sluice/proto/runtime/limits/limiter.js";
import type { NamedDetector } from "@sluice/proto/runtime/house/detectors.js";
import type { Lifecycle } from "@sluice/proto/runtime/lifecycle.js";
import { eventLoop } from "@sluice/proto/runtime/fair-shares.js";
import type { Pressure } from "@sluice/proto/runtime/pressure.js";
import { invalidKey } from "@sluice/proto/runtime/rpc/caller.js";
import type { TraceHeaders } from "@sluice/proto/runtime/tracing/context.js";
import Koa from "koa";
import { isDocument, routeOf, writeDocument } from "./docs/route.ts";
import { administrationFault } from "./http/administration.ts";
import { keyHashOf, readKey } from "./http/auth.ts";
import { refuseEarly } from "./http/early-refusal.ts";
import { writeFault, writeJson, writeJsonText, writeNothing } from "./http/errors.ts";
import type { Observer } from "./http/observe.ts";
import { rawPath } from "./http/path.ts";
import { requestIds } from "./http/request-id.ts";
import { shed } from "./http/shed.ts";
import type { Strangers } from "./http/strangers.ts";
import { responsesPath } from "./http/turn-head.ts";
import { type InFlight, idempotencyKeyOf } from "./idempotency/in-flight.ts";
import type { LanePool } from "./lane/pool.ts";
import { admit, countReading } from "./limits/admission.ts";
import { catalogueRoutes } from "./models/routes.ts";
import { dryRun } from "./responses/dry-run.ts";
import { type AskedOnce, createResponseOnce } from "./responses/once.ts";
import { createResponse } from "./responses/route.ts";
import { type Route, administrationRoutes, isAdministration } from "./routes.ts";
import type { KeepAlive } from "./sse/event-stream.ts";

export interface AppParts {
  readonly access: Access;
  readonly pool: LanePool;
  readonly pressure: Pick<Pressure, "overloaded" | "refuses">;
  readonly strangers: Strangers;
  readonly keepAlive: KeepAlive;
  readonly limiter: Limiter;
  readonly budget: ByteBudget;
  readonly inFlight: InFlight<AskedOnce>;
  readonly limits: Limits;
  readonly compat: Compat;
  readonly cors: Cors | undefined;
  /** Those that guardrails can name. */
  readonly detectors: readonly NamedDetector[];
  readonly lifecycle: Lifecycle;
  readonly observer: Observer;
  /** To admin-svc. */
  readonly admin: Client;
  /** To any inference process. */
  readonly inference: Client;
  readonly token: ServiceToken;
}

/** What the edge has found out about a request before its handler runs. */
interface Edge {
  requestId: string;
  keyHash: string;
  caller: Caller;
  /** Memory of this request; given back at the latest when its answer is out. */
  room: Reservation;
  /** Of this request. */
  trace: TraceHeaders;
  path: string;
  /** Pattern, for metrics. */
  route: string;
  /** How the exchange failed, when it did. */
  fault: Fault | undefined;
}

type EdgeContext = Koa.ParameterizedContext<Koa.DefaultState, Edge>;

/**
 * Every answer is written by its handler, so what Koa does at the end of a request (to write a body, to watch the socket for it) would be done
 * in vain, for a twentieth of the gateway's time.
 */
class EdgeApp extends Koa<Koa.DefaultState, Edge> {
  handleRequest(context: EdgeContext, run: (context: EdgeContext) => Promise<void>): Promise<void> {
    return run(context).catch((error: Error) => context.onerror(error));
  }
}

/** What costs much. Administration and probes are never refused. */
const isTurn = ({ method, url }: IncomingMessage): boolean => method === "POST" && url === responsesPath;

export function createApp(parts: AppParts): Koa<Koa.DefaultState, Edge> {
  const app = new EdgeApp();
  const router = adminRoutes(parts);
  const routes = router.routes();
  const door = {
    // While it drains, Node tells every client that its connection ends.
    get overloaded() {
      return parts.pressure.overloaded && !parts.lifecycle.draining;
    },
    refuses: (authorization?: string) => refuses(parts, authorization),
  };
  // Koa would print a stack for every client that resets its connection; failures are logged by the observer.
  app.on("error", () => {});
  app.use(async (context) => {
    const { req: request, res: response } = context;
    context.respond = false;
    if (request.url === "/livez") return writeProbe(response, true, "ok");
    if (request.url === "/readyz") return writeProbe(response, parts.lifecycle.ready && parts.pool.ready, "ready");
    if (isTurn(request) && refuses(parts, request.headers.authorization)) {
      // Pages of other origins may read it, too.
      if (request.headers.origin !== undefined) parts.cors?.(request, response);
      refuseEarly(request, door);
      return shed(request, response);
    }
    observe(parts, context);
    if (parts.lifecycle.draining) response.setHeader("connection", "close");
    // Before the key is asked for: a browser sends none with a preflight.
    if (parts.cors?.(request, response)) return;
    if (isDocument(request)) return await publish(parts, context);
    try {
      await authenticate(parts, context);
      const turn = eventLoop.turnOf(context.keyHash);
      if (turn) await turn;
      if (context.path === responsesPath && request.method === "POST") await respond(parts, context);
      else await routes(context as never, () => notFound(router, context));
    } catch (error) {
      const fault = Fault.from(error);
      if (fault.reason === FaultReason.UNAUTHENTICATED) await parts.strangers.turnOf(request);
      context.fault = isAdministration(request.url ?? "") ? administrationFault(fault) : fault;
      if (!response.headersSent) writeFault(response, context.fault, { requestId: context.requestId });
      else response.destroy();
    }
  });
  return app;
}

/** A queue of turns refuses only keys that have their share of it; a client without a key has none. */
function refuses({ pressure, pool }: AppParts, authorization: string | undefined): boolean {
  if (!pressure.overloaded) return false;
  const keyHash = keyHashOf(authorization);
  return pressure.refuses(keyHash === undefined || pool.hasItsShareWaiting(keyHash));
}

/** Koa begins every answer as a 404. */
function writeProbe(response: ServerResponse, passed: boolean, word: string): void {
  response.statusCode = passed ? 200 : 503;
  response.end(passed ? `${word}\n` : `not ${word}\n`);
}

function observe({ observer }: AppParts, context: EdgeContext): void {
  const startedAt = performance.now();
  const { req: request, res: response } = context;
  const { requestId, clientRequestId } = requestIds(request);
  const observation = observer.begin(request);
  context.trace = observation.trace;
  context.requestId = requestId;
  context.route = "unknown";
  context.fault = undefined;
  response.on("close", () => {
    observation.note({
      requestId,
      clientRequestId,
      method: request.method ?? "",
      route: context.route,
      status: response.writableFinished ? response.statusCode : 499,
      ms: performance.now() - startedAt,
      errorType: context.fault?.errorType,
      cause: context.fault?.cause,
    });
  });
}

/** Before path, body and everything else, so that nobody without a key can find out what exists. */
async function authenticate({ access, budget }: AppParts, context: EdgeContext): Promise<void> {
  const { keyHash } = readKey(context.req);
  const resolved = access.resolve(keyHash, undefined, context.trace);
  const { caller } = resolved instanceof Promise ? await resolved : resolved;
  if (!caller) throw invalidKey();
  context.keyHash = keyHash;
  context.caller = caller;
  context.room = openRoom(budget, keyHash, context.res);
  context.path = rawPath(context.req);
}

/** Memory of one request, which ends with its answer. */
function openRoom(budget: ByteBudget, keyHash: string, response: ServerResponse): Reservation {
  const room = budget.open(keyHash);
  // A client that left while its key was asked for has closed already.
  if (response.closed) room.release();
  else response.on("close", () => room.release());
  return room;
}

async function publish(parts: AppParts, context: EdgeContext): Promise<void> {
  const { req: request, res: response } = context;
  const refusal = await parts.strangers.turnOf(request);
  context.fault = refusal;
  context.route = routeOf(request);
  if (refusal) writeFault(response, refusal, { requestId: context.requestId });
  else writeDocument(request, response);
}

async function rehearse(parts: AppParts, context: EdgeContext): Promise<void> {
  context.route = `${responsesPath}/dry-run`;
  const admission = await admit(parts.limiter, context.caller, context.res);
  try {
    writeJsonText(context.res, await dryRun(parts, context, context.req, context.res), context);
  } finally {
    admission.leave();
  }
}

async function respond(parts: AppParts, context: EdgeContext): Promise<void> {
  context.route = responsesPath;
  const settled = (fault?: Fault) => {
    context.fault = fault;
  };
  const idempotencyKey = idempotencyKeyOf(context.req);
  if (idempotencyKey !== undefined) {
    const { caller, req: request, res: response } = context;
    return await createResponseOnce(parts, idempotencyKey, { asker: context, caller, request, response, settled });
  }
  const admitted = admit(parts.limiter, context.caller, context.res);
  const admission = admitted instanceof Promise ? await admitted : admitted;
  try {
    await createResponse(parts, context, context.req, context.res, admission, settled);
  } catch (error) {
    admission.leave();
    throw error;
  }
}

function adminRoutes(parts: AppParts): Router<Koa.DefaultState, Edge> {
  const router = new Router<Koa.DefaultState, Edge>({ prefix: "/api/v1", sensitive: true, strict: true });
  for (const route of administrationRoutes) {
    router[route.method](route.path, (context) => administrate(parts, route, context));
  }
  router.post("/responses/dry-run", (context) => rehearse(parts, context));
  for (const { path, read } of catalogueRoutes) {
    router.get(path, async (context) => {
      context.route = `/api/v1${path}`;
      await countReading(parts.limiter, context.caller, context.res);
      writeJson(context.res, await read(parts, context), context);
    });
  }
  return router;
}

async function administrate(parts: AppParts, route: Route, context: EdgeContext): Promise<void> {
  context.route = `/api/v1${route.path}`;
  if (!route.anyKey && context.caller.kind !== KeyKind.MANAGEMENT) {
    throw new Fault(FaultReason.PERMISSION_DENIED, "Only management keys can perform this operation", {
      origin: FaultOrigin.CLIENT,
    });
  }
  await countReading(parts.limiter, context.caller, context.res);
  const answer = await route.operation(parts, context, context.req);
  if (answer === undefined) writeNothing(context.res, context);
  else writeJson(context.res, answer, context, route.status);
}

/** A wrong method as well: the contract has no 405. What the path does take is in a header. */
function notFound(router: Router<Koa.DefaultState, Edge>, { req: request, res: response, path }: EdgeContext): never {
  const methods = path === responsesPath ? ["POST"] : router.match(path, "").path.flatMap((layer) => layer.methods);
  if (methods.length > 0) response.setHeader("allow", methods.join(", "));
  throw new Fault(FaultReason.NOT_FOUND, `Resource not found: ${request.method} ${path}`);
}
