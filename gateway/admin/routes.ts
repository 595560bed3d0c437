/** Routes of the operations with one JSON object as the answer: the contract defines their paths, and this table their handlers. */
import Router from "@koa/router";
import { type Operation, basePath } from "@sluice/proto/contract/operations/operation.js";
import { recordOperations } from "../contract/operations/operations.ts";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { KeyKind } from "@sluice/proto/lib/ids/key.js";
import type { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import type Koa from "koa";
import { type WithDetectorNames, checkDetectors } from "./guardrails/detectors.ts";
import { tryGuardrail } from "./guardrails/try.ts";
import type { Edge, EdgeContext, HandlerDeps, OperationCall } from "../edge/http/context.ts";
import { writeJson, writeNothing } from "../edge/http/errors.ts";
import { type Route, buildOperationRoutes } from "./operation.ts";
import { countReadRequest } from "../edge/limits/admission.ts";
import { configuredProviderHandlers } from "./catalogue/configured-providers.ts";
import { catalogueHandlers } from "./catalogue/handlers.ts";
import { readWorkspace } from "./workspace.ts";

const checkGuardrail = ({ body, parts }: OperationCall<string, unknown, WithDetectorNames>): void =>
  checkDetectors(body, parts.detectors);

/** Routes of the operations about records and the catalogue. */
export const recordRoutes = buildOperationRoutes(
  recordOperations,
  { ...catalogueHandlers, ...configuredProviderHandlers, tryGuardrail },
  {
    createGuardrail: checkGuardrail,
    updateGuardrail: checkGuardrail,
  },
);

export interface RouteDeps extends HandlerDeps {
  readonly limiter: Limiter;
}

export type EdgeRouter = Router<Koa.DefaultState, Edge>;

/** An operation that calls a model (or previews a call), with its handler, which writes the answer itself. */
export type ModelRoute = readonly [operation: Operation, handle: (context: EdgeContext) => Promise<void>];

export function createRouter(parts: RouteDeps, modelRoutes: readonly ModelRoute[]): EdgeRouter {
  const router: EdgeRouter = new Router({ prefix: basePath, sensitive: true, strict: true });
  for (const route of recordRoutes) {
    router[route.operation.method](route.pattern, (context) => serve(parts, route, context, context.captures ?? []));
  }
  for (const [operation, handle] of modelRoutes) {
    const { method, path } = operation;
    router[method](path, async (context) => {
      context.route = `${basePath}${path}`;
      await context.permit?.(operation);
      return await handle(context);
    });
  }
  return router;
}

/** HTTP status of an answer; undefined for 200. */
const statusOf = ({ answer: { status, whenCreated } }: Operation, answer: object): number | undefined =>
  whenCreated !== undefined && "created" in answer && answer.created === true ? 201 : status;

async function serve(
  parts: RouteDeps,
  { operation, pattern, handle }: Route,
  context: EdgeContext,
  segments: readonly string[],
): Promise<void> {
  context.route = `${basePath}${pattern}`;
  if (operation.key === "management" && context.caller.kind !== KeyKind.MANAGEMENT) {
    throw new Fault(FaultReason.PERMISSION_DENIED, "Only management keys can perform this operation", {
      origin: FaultOrigin.CLIENT,
    });
  }
  await context.permit?.(operation);
  context.workspace = readWorkspace(context);
  await countReadRequest(parts.limiter, context.caller, context.res);
  const answer = await handle(parts, context, context.req, segments);
  if (answer === undefined) writeNothing(context.res, context);
  else writeJson(context.res, answer, context, statusOf(operation, answer));
}
