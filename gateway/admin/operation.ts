/** Converts the contract's operations to routes. Paths, queries and bodies are checked here, once, as the contract describes them. */
import type { IncomingMessage } from "node:http";
import { type Operation, type PathParameter, parameterNames } from "@sluice/proto/contract/operations/operation.js";
import type { Forwarded } from "@sluice/proto/contract/operations/forward.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { forwardToAdmin } from "../edge/http/administration.ts";
import { readBody } from "../edge/http/body.ts";
import type { HandlerParts, OperationCall, RequestCaller } from "../edge/http/context.ts";
import { decodeSegment } from "../edge/http/path.ts";
import { readQuery } from "./query.ts";

/** @returns the object to answer with; undefined for an answer without a body. @throws Fault */
type Handler<Described extends Operation> =
  Described extends Operation<infer Path, infer Query, infer Body>
    ? (call: OperationCall<Path, Query, Body>) => Promise<object | undefined>
    : never;

/** Every operation not forwarded has a handler: a missing handler, or a handler without an operation, does not compile. */
export type Handlers<Operations extends Readonly<Record<string, Operation>>> = {
  readonly [Id in keyof Operations as Operations[Id] extends Forwarded ? never : Id]: Handler<Operations[Id]>;
};

/** Checks of forwarded operations against the configuration file. @throws Fault */
export type ForwardChecks<Operations extends Readonly<Record<string, Operation>>> = {
  readonly [Id in keyof Operations]?: Operations[Id] extends Operation<infer Path, infer Query, infer Body>
    ? (call: OperationCall<Path, Query, Body>) => void
    : never;
};

/** A path of an operation in the form of the router. */
export interface Route {
  readonly operation: Operation;
  /** Pattern below the base path, such as `/keys/:hash`. */
  readonly pattern: string;
  readonly handle: (
    parts: HandlerParts,
    caller: RequestCaller,
    request: IncomingMessage,
    segments: readonly string[],
  ) => Promise<object | undefined>;
}

/** Sorts paths with the fewest parameters first: `/models/count` is not a model, and `/models/{model}/endpoints` is not a slug. */
export const buildOperationRoutes = <Operations extends Readonly<Record<string, Operation>>>(
  operations: Operations,
  handlers: Handlers<NoInfer<Operations>>,
  checks: ForwardChecks<NoInfer<Operations>>,
): readonly Route[] =>
  Object.entries<Operation>(operations)
    .flatMap(([id, operation]) => buildRoutes(operation, findHandler(operation, id, handlers, checks)))
    .toSorted((a, b) => parameterCount(a) - parameterCount(b));

type AnyHandler = (call: OperationCall) => Promise<object | undefined>;

function findHandler(
  operation: Operation & Partial<Forwarded>,
  id: string,
  handlers: object,
  checks: object,
): AnyHandler {
  const { forward } = operation;
  if (!forward) return (handlers as Readonly<Record<string, AnyHandler>>)[id] as AnyHandler;
  const check = (checks as Readonly<Record<string, ((call: OperationCall) => void) | undefined>>)[id];
  return async (call) => {
    check?.(call);
    return await forwardToAdmin(call, operation, forward);
  };
}

const parameterCount = ({ pattern }: Route): number => pattern.split(":").length;

function buildRoutes(operation: Operation, handler: AnyHandler): Route[] {
  const { path, aliases = [], body } = operation;
  if (body && body.maxBytes === undefined) throw new Error(`${path} takes a body without a maximum`);
  return [path, ...aliases].map((each): Route => {
    const names = parameterNames(each);
    return {
      operation,
      pattern: each.replaceAll(/\{(\w+)\}/g, ":$1"),
      handle: async (parts, caller, request, segments) => {
        const parameters = readParameters(operation, names, segments);
        const query = operation.query && readQuery(request, operation.query);
        const body = await readObject(operation, caller, request);
        return await handler({ parts, caller, parameters, query, body });
      },
    };
  });
}

/** @throws Fault INVALID_REQUEST, NOT_FOUND */
function readParameters(
  operation: Operation,
  names: readonly string[],
  segments: readonly string[],
): Readonly<Record<string, string>> {
  const described: Readonly<Record<string, PathParameter>> = operation.parameters ?? {};
  const values = names.map((name, index) => {
    const { shape, addressable } = described[name] as PathParameter;
    const value = decodeSegment(segments[index] ?? "", name);
    if (addressable && !addressable.form.test(value)) {
      throw new Fault(FaultReason.NOT_FOUND, addressable.otherwise, { origin: FaultOrigin.CLIENT });
    }
    throwProblems((problems) => shape.check(value, name, problems));
    return [name, value];
  });
  return Object.fromEntries(values) as Readonly<Record<string, string>>;
}

/** @throws Fault INVALID_REQUEST with every problem and its path */
async function readObject({ body }: Operation, { room }: RequestCaller, request: IncomingMessage): Promise<unknown> {
  if (!body) return undefined;
  const bytes = await readBody(request, body.maxBytes as number, room);
  scanObject(bytes, "body");
  const value: unknown = JSON.parse(bytes.toString("utf8"));
  throwProblems((problems) => body.shape.check(value, "", problems));
  return value;
}
