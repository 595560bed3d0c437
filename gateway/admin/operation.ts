/** Converts the contract's operations to routes. Paths, queries and bodies are checked here, once, as the contract describes them. */
import type { IncomingMessage } from "node:http";
import { type Operation, type PathParameter, parameterNames } from "@sluice/proto/contract/operations/operation.js";
import type { Forwarded } from "@sluice/proto/contract/operations/forward.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { forwardToAdmin } from "../edge/http/administration.ts";
import { readBody } from "../edge/http/body.ts";
import type { HandlerDeps, OperationCall, RequestCaller } from "../edge/http/context.ts";
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

/** The parts of a call that are not read from HTTP. */
export interface GivenCall {
  readonly parts: HandlerDeps;
  readonly caller: RequestCaller;
  /** Path parameters, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly body: unknown;
}

/** A path of an operation in the form of the router. */
export interface Route {
  /** Id of the operation. */
  readonly id: string;
  readonly operation: Operation;
  /** Pattern below the base path, such as `/keys/:hash`. */
  readonly pattern: string;
  readonly handle: (
    parts: HandlerDeps,
    caller: RequestCaller,
    request: IncomingMessage,
    segments: readonly string[],
  ) => Promise<object | undefined>;
  /** Checks parameters and query of a request, and calls the operation. @throws Fault */
  readonly call: (given: GivenCall) => Promise<object | undefined>;
}

/** Routes of the operations, with paths of few parameters first: `/models/count` is not a model, and `/models/{model}/endpoints` is not a slug. */
export const buildOperationRoutes = <Operations extends Readonly<Record<string, Operation>>>(
  operations: Operations,
  handlers: Handlers<NoInfer<Operations>>,
  checks: ForwardChecks<NoInfer<Operations>>,
): readonly Route[] =>
  Object.entries<Operation>(operations)
    .flatMap(([id, operation]) => buildRoutes(id, operation, findHandler(operation, id, handlers, checks)))
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

function buildRoutes(id: string, operation: Operation, handler: AnyHandler): Route[] {
  const { path, aliases = [], body } = operation;
  if (body && body.maxBytes === undefined) throw new Error(`${path} takes a body without a maximum`);
  return [path, ...aliases].map((each): Route => {
    const names = parameterNames(each);
    const call = async ({ parameters, query, ...given }: GivenCall) => {
      checkParameters(operation, parameters);
      throwProblems((problems) => operation.query?.check(query, "", problems));
      return await handler({ ...given, parameters, query });
    };
    return {
      id,
      operation,
      call,
      pattern: each.replaceAll(/\{(\w+)\}/g, ":$1"),
      handle: async (parts, caller, request, segments) => {
        const parameters = decodeParameters(names, segments);
        checkParameters(operation, parameters);
        const query = operation.query && readQuery(request, operation.query);
        const body = await readObject(operation, caller, request);
        return await handler({ parts, caller, parameters, query, body });
      },
    };
  });
}

/** Decodes the segments of a path. @throws Fault INVALID_REQUEST for a malformed percent-encoding */
const decodeParameters = (names: readonly string[], segments: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name, index) => [name, decodeSegment(segments[index] ?? "", name)]));

/** Checks the path parameters of a request. @throws Fault INVALID_REQUEST, NOT_FOUND */
function checkParameters(operation: Operation, parameters: Readonly<Record<string, string>>): void {
  const described: Readonly<Record<string, PathParameter>> = operation.parameters ?? {};
  for (const [name, value] of Object.entries(parameters)) {
    const { shape, addressable } = described[name] as PathParameter;
    if (addressable && !addressable.form.test(value)) {
      throw new Fault(FaultReason.NOT_FOUND, addressable.otherwise, { origin: FaultOrigin.CLIENT });
    }
    throwProblems((problems) => shape.check(value, name, problems));
  }
}

/** Reads the JSON body of a request. @throws Fault INVALID_REQUEST with every problem and its path */
async function readObject({ body }: Operation, { room }: RequestCaller, request: IncomingMessage): Promise<unknown> {
  if (!body) return undefined;
  const bytes = await readBody(request, body.maxBytes as number, room);
  scanObject(bytes, "body");
  const value: unknown = JSON.parse(bytes.toString("utf8"));
  throwProblems((problems) => body.shape.check(value, "", problems));
  return value;
}
