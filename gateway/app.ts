/**
 * Answers every HTTP request of the gateway: probes, CORS, documents, key, then its operation.
 *
 * Koa runs all requests but turns: it provides the context with the data of a request and catches exceptions of handlers, and @koa/router matches the
 * paths. Handlers write their answers themselves. A turn never enters Koa: `edge/turns/route.ts` takes it through the same steps.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createEmbeddings, dryRunEmbeddings } from "./contract/operations/embeddings.ts";
import { countInputTokens } from "./contract/operations/input-tokens.ts";
import { countMessageTokens } from "./contract/operations/messages.ts";
import { dryRunResponse } from "./contract/operations/responses.ts";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import Koa from "koa";
import { embedDryRun } from "./doors/embeddings/dry-run.ts";
import { embed } from "./doors/embeddings/handler.ts";
import { documentRoute, isDocument, writeDocument } from "./edge/docs/route.ts";
import { Console, type ConsoleParts, isConsole } from "./admin/console-api/console.ts";
import { doorAt, doorOf, faultFormOf } from "./doors/doors.ts";
import type { Edge, EdgeContext, HandlerDeps } from "./edge/http/context.ts";
import type { RequestHandler } from "./edge/http/edge-server.ts";
import { writeFault, writeJsonText } from "./edge/http/errors.ts";
import { authenticate, beginExchange, closeExchange, answerFailure } from "./edge/http/exchange.ts";
import { waitAfterRefusals } from "./edge/http/impatience.ts";
import { pathIn, toPathUnderBase } from "./edge/http/path.ts";
import { admit, countReadRequest } from "./edge/limits/admission.ts";
import { countMessage } from "./doors/messages/count-tokens.ts";
import { dryRun } from "./doors/responses/dry-run.ts";
import { countInput } from "./doors/responses/input-tokens.ts";
import { AdminMcp, mcpPath } from "./admin/mcp/server.ts";
import { type EdgeRouter, createRouter, recordRoutes } from "./admin/routes.ts";
import { TurnRoute, type TurnRouteDeps } from "./edge/turns/route.ts";

export interface AppDeps
  extends HandlerDeps,
    TurnRouteDeps,
    Pick<
      ConsoleParts,
      "live" | "startLink" | "configRefusal" | "log" | "traceUrl" | "trustedHeader" | "oidc" | "signOutUrl"
    > {
  /** Whether the gateway shows the console. */
  readonly showsConsole: boolean;
}

/**
 * Skips Koa's own end of a request, which would write a body and watch the socket: handlers write the answers, and the observer watches. Koa's part
 * took 5 % of the gateway's processor time.
 */
class EdgeApp extends Koa<Koa.DefaultState, Edge> {
  handleRequest(context: EdgeContext, run: (context: EdgeContext) => Promise<void>): Promise<void> {
    return run(context).catch((error: Error) => context.onerror(error));
  }
}

/** @returns the handler of every request */
export function createApp(parts: AppDeps): RequestHandler {
  const handle = createKoa(parts).callback();
  const turns = new TurnRoute(parts);
  return (request, response) => {
    const door = doorOf(request);
    if (door) turns.serve(request, response, door);
    else void handle(request, response);
  };
}

function createKoa(parts: AppDeps): Koa<Koa.DefaultState, Edge> {
  const app = new EdgeApp();
  const router = createRouter(parts, [
    [dryRunResponse, (context) => respondDryRun(parts, context, dryRun)],
    [dryRunEmbeddings, (context) => respondDryRun(parts, context, embedDryRun)],
    [createEmbeddings, (context) => embed(parts, context)],
    [countInputTokens, (context) => respondTokenCount(parts, context, countInput)],
    [countMessageTokens, (context) => respondTokenCount(parts, context, countMessage)],
  ]);
  const routes = router.routes();
  const operate = (context: EdgeContext) => routes(context as never, () => notFound(router, context));
  const pages = new Console(parts, operate);
  const mcp = new AdminMcp(parts, recordRoutes);
  // Koa would print a stack trace for every client reset; the observer already logs failures.
  app.on("error", () => {});
  app.use(async (context) => {
    const { req: request, res: response } = context;
    context.respond = false;
    if (request.url === "/livez") return writeProbe(response, true, "ok");
    if (request.url === "/readyz")
      return writeProbe(response, parts.lifecycle.ready && parts.pool.ready, "ready", parts.lifecycle.reason);
    beginExchange(parts, context);
    context.address = parts.addressOf(request);
    context.faults = faultFormOf(request);
    response.on("close", () => closeExchange(context));
    // An unready gateway closes the connection, so that the client's next one reaches a ready gateway.
    if (!parts.lifecycle.ready) response.setHeader("connection", "close");
    // Pages of other origins must not read session data: the console comes before CORS.
    if (parts.showsConsole && isConsole(pathIn(request.url ?? ""))) return await pages.serve(context);
    // Preflights come before the key check, because browsers send them without a key.
    if (parts.cors?.(request, response)) return;
    if (isDocument(request)) return await publish(parts, context);
    try {
      await waitAfterRefusals(request, response);
      const isMcp = pathIn(request.url ?? "") === mcpPath;
      if (hasNoKey(request) && !isMcp && !isKnown(router, pathIn(request.url ?? ""))) throw lost(router, request);
      await authenticate(parts, context);
      await (isMcp ? mcp.serve(context) : operate(context));
    } catch (error) {
      await answerFailure(parts, context, error);
    }
  });
  return app;
}

/** @param reason text after the word, if the state has a reason */
function writeProbe(response: ServerResponse, passed: boolean, word: string, reason?: string): void {
  response.statusCode = passed ? 200 : 503;
  response.end(`${passed ? word : `not ${word}`}${reason === undefined ? "" : `: ${reason}`}\n`);
}

async function publish(parts: AppDeps, context: EdgeContext): Promise<void> {
  const { req: request, res: response } = context;
  const refusal = await parts.keylessLimiter.admit(request);
  context.fault = refusal;
  context.route = documentRoute(request);
  if (refusal) writeFault(response, refusal, { requestId: context.requestId });
  else await writeDocument(request, response);
}

async function respondDryRun(
  parts: AppDeps,
  context: EdgeContext,
  run: (parts: AppDeps, context: EdgeContext) => Promise<Uint8Array>,
): Promise<void> {
  const admission = await admit(parts.limiter, context.caller, context.res);
  try {
    writeJsonText(context.res, await run(parts, context), context);
  } finally {
    admission.leave(false);
  }
}

/** Counts the tokens of a request. It takes part in the limits like a request that reads, because programs count many prompts at once. */
async function respondTokenCount(parts: AppDeps, context: EdgeContext, count: typeof countInput): Promise<void> {
  await countReadRequest(parts.limiter, context.caller, context.res);
  await count(parts, context);
}

/** Answers a wrong method, too, since the contract has no 405; the header `allow` lists the path's methods. */
function notFound(router: EdgeRouter, { req: request, res: response, path }: EdgeContext): never {
  const methods = methodsAt(router, path);
  if (methods.length > 0) response.setHeader("allow", methods.join(", "));
  throw new Fault(FaultReason.NOT_FOUND, whatIsMissing(router, request, path));
}

function whatIsMissing(router: EdgeRouter, { method }: IncomingMessage, path: string): string {
  const meant = toPathUnderBase(path);
  const hint = meant !== path && isKnown(router, meant) ? `; it is at ${meant}` : "";
  return `Resource not found: ${method} ${path}${hint}`;
}

/** The error for an unknown path without a key: 404, since the published documents list the known paths anyway; a known path gets 401. */
const lost = (router: EdgeRouter, request: IncomingMessage): Fault =>
  new Fault(
    FaultReason.NOT_FOUND,
    `${whatIsMissing(router, request, pathIn(request.url ?? ""))}. What there is: /docs, and /api/v1/openapi.json for programs`,
  );

const hasNoKey = ({ headers }: IncomingMessage): boolean =>
  headers.authorization === undefined && headers["x-api-key"] === undefined;

const isKnown = (router: EdgeRouter, path: string): boolean => methodsAt(router, path).length > 0;

const methodsAt = (router: EdgeRouter, path: string): readonly string[] =>
  doorAt(path) ? ["POST"] : router.match(path, "").path.flatMap((layer) => layer.methods);
