/**
 * Answers every HTTP request of the gateway: probes, CORS, documents, key, then its operation.
 *
 * Koa runs all requests but turns: it gives the context that carries what is known of a request and catches what a handler throws, and
 * @koa/router matches the paths. Handlers write their answers themselves. A turn never enters Koa: `turns/route.ts` takes it
 * through the same steps.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createEmbeddings, dryRunEmbeddings } from "@sluice/proto/contract/operations/embeddings.js";
import { countInputTokens } from "@sluice/proto/contract/operations/input-tokens.js";
import { countMessageTokens } from "@sluice/proto/contract/operations/messages.js";
import { dryRunResponse } from "@sluice/proto/contract/operations/responses.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import { eventLoop } from "@sluice/proto/runtime/load/fair-shares.js";
import Koa from "koa";
import { embedDryRun } from "./embeddings/dry-run.ts";
import { embed } from "./embeddings/handler.ts";
import { documentRoute, isDocument, writeDocument } from "./docs/route.ts";
import { Console, type ConsoleParts, isConsole } from "./console-api/console.ts";
import { doorAt, doorOf, faultsOf } from "./doors.ts";
import type { Edge, EdgeContext, HandlerParts } from "./http/context.ts";
import type { Handle } from "./http/edge-server.ts";
import { writeFault, writeJsonText } from "./http/errors.ts";
import { authenticate, begin, close, fail } from "./http/exchange.ts";
import { waitAfterRefusals } from "./http/impatience.ts";
import { pathIn, underBasePath } from "./http/path.ts";
import { admit, countReading } from "./limits/admission.ts";
import { countMessage } from "./messages/count-tokens.ts";
import { dryRun } from "./responses/dry-run.ts";
import { countInput } from "./responses/input-tokens.ts";
import { type EdgeRouter, createRouter } from "./routes.ts";
import { TurnRoute, type TurnRouteParts } from "./turns/route.ts";

export interface AppParts
  extends HandlerParts,
    TurnRouteParts,
    Pick<ConsoleParts, "live" | "configRefusal" | "log" | "traceUrl" | "trustedHeader" | "oidc" | "signOutUrl"> {
  /** Whether the gateway shows the console. */
  readonly showsConsole: boolean;
}

/** Leaves out Koa's own end of a request, which would write a body and watch the socket: handlers do so, and it took 5 % of the gateway's time. */
class EdgeApp extends Koa<Koa.DefaultState, Edge> {
  handleRequest(context: EdgeContext, run: (context: EdgeContext) => Promise<void>): Promise<void> {
    return run(context).catch((error: Error) => context.onerror(error));
  }
}

/** @returns the handler of every request */
export function createApp(parts: AppParts): Handle {
  const handle = createKoa(parts).callback();
  const turns = new TurnRoute(parts);
  return (request, response) => {
    const door = doorOf(request);
    if (door) turns.serve(request, response, door);
    else void handle(request, response);
  };
}

function createKoa(parts: AppParts): Koa<Koa.DefaultState, Edge> {
  const app = new EdgeApp();
  const router = createRouter(parts, [
    [
      dryRunResponse,
      (context) => respondDryRun(parts, context, () => dryRun(parts, context, context.req, context.res)),
    ],
    [dryRunEmbeddings, (context) => respondDryRun(parts, context, () => embedDryRun(parts, context))],
    [createEmbeddings, (context) => respondEmbeddings(parts, context)],
    [countInputTokens, (context) => respondTokenCount(parts, context, countInput)],
    [countMessageTokens, (context) => respondTokenCount(parts, context, countMessage)],
  ]);
  const routes = router.routes();
  const operate = (context: EdgeContext) => routes(context as never, () => notFound(router, context));
  const pages = new Console(parts, operate);
  // Koa would print a stack for every client that resets its connection; failures are logged by the observer.
  app.on("error", () => {});
  app.use(async (context) => {
    const { req: request, res: response } = context;
    context.respond = false;
    if (request.url === "/livez") return writeProbe(response, true, "ok");
    if (request.url === "/readyz")
      return writeProbe(response, parts.lifecycle.ready && parts.pool.ready, "ready", parts.lifecycle.reason);
    begin(parts, context);
    context.faults = faultsOf(request);
    response.on("close", () => close(context));
    // The next connection goes to a gateway that is ready.
    if (!parts.lifecycle.ready) response.setHeader("connection", "close");
    // No page of another origin may read what a session shows, so the console stands before CORS.
    if (parts.showsConsole && isConsole(pathIn(request.url ?? ""))) return await pages.serve(context);
    // Preflights are answered before the key is checked, because a browser sends none with them.
    if (parts.cors?.(request, response)) return;
    if (isDocument(request)) return await publish(parts, context);
    try {
      await waitAfterRefusals(request, response);
      if (hasNoKey(request) && !isKnown(router, pathIn(request.url ?? ""))) throw lost(router, request);
      await authenticate(parts, context);
      await eventLoop.turnOf(context.keyHash);
      await operate(context);
    } catch (error) {
      await fail(parts, context, error);
    }
  });
  return app;
}

/** @param reason of the state, where there is one */
function writeProbe(response: ServerResponse, passed: boolean, word: string, reason?: string): void {
  response.statusCode = passed ? 200 : 503;
  response.end(`${passed ? word : `not ${word}`}${reason === undefined ? "" : `: ${reason}`}\n`);
}

async function publish(parts: AppParts, context: EdgeContext): Promise<void> {
  const { req: request, res: response } = context;
  const refusal = await parts.keylessLimiter.admit(request);
  context.fault = refusal;
  context.route = documentRoute(request);
  if (refusal) writeFault(response, refusal, { requestId: context.requestId });
  else writeDocument(request, response);
}

async function respondDryRun(parts: AppParts, context: EdgeContext, run: () => Promise<Uint8Array>): Promise<void> {
  const admission = await admit(parts.limiter, context.caller, context.res);
  try {
    writeJsonText(context.res, await run(), context);
  } finally {
    admission.leave();
  }
}

async function respondEmbeddings(parts: AppParts, context: EdgeContext): Promise<void> {
  try {
    await embed(parts, context, await admit(parts.limiter, context.caller, context.res));
  } catch (error) {
    const { caller, requestId, trace, startedAt } = context;
    const durationMs = performance.now() - startedAt;
    const unread = { request: undefined, generationId: undefined };
    parts.refusals.note({
      caller,
      requestId,
      trace,
      door: "embeddings",
      fault: Fault.from(error),
      durationMs,
      ...unread,
    });
    throw error;
  }
}

/** Counts as reading, because programs count many prompts at once. */
async function respondTokenCount(parts: AppParts, context: EdgeContext, count: typeof countInput): Promise<void> {
  await countReading(parts.limiter, context.caller, context.res);
  await count(parts, context);
}

/** Answers a wrong method as well, since the contract has no 405; the header `allow` lists the methods of the path. */
function notFound(router: EdgeRouter, { req: request, res: response, path }: EdgeContext): never {
  const methods = methodsAt(router, path);
  if (methods.length > 0) response.setHeader("allow", methods.join(", "));
  throw new Fault(FaultReason.NOT_FOUND, whatIsMissing(router, request, path));
}

function whatIsMissing(router: EdgeRouter, { method }: IncomingMessage, path: string): string {
  const meant = underBasePath(path);
  const hint = meant !== path && isKnown(router, meant) ? `; it is at ${meant}` : "";
  return `Resource not found: ${method} ${path}${hint}`;
}

/**
 * The refusal of a request without a key for a path that does not exist. It tells nothing that the published documents do not; a path that exists is 401.
 */
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
