/** Types of the data that the gateway keeps about a request, and of a call of an operation. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Client } from "@grpc/grpc-js";
import type { CheckedRequest } from "@sluice/proto/contract/operations/forward.js";
import type { Operation } from "@sluice/proto/contract/operations/operation.js";
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { NamedDetector } from "@sluice/proto/config/detectors.js";
import type { Reservation } from "@sluice/proto/lib/load/byte-budget.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import type { TraceHeaders } from "@sluice/proto/lib/tracing/context.js";
import type Koa from "koa";
import type { FaultForm } from "./errors.ts";
import type { Observation } from "./observe.ts";

/** Identity of a request in calls to the services. */
export interface RequestCaller {
  readonly keyHash: string;
  readonly requestId: string;
  /** E-mail address of the person, for a request from the console. */
  readonly person?: string | undefined;
  /** Address of the client; undefined for a turn. */
  readonly address?: string | undefined;
  /** Id of the workspace named by a request with a management key; undefined for the key's own workspace. */
  readonly workspace?: string | undefined;
  readonly trace: TraceHeaders;
  /** Memory reserved for this request, released at the end of its answer at the latest. */
  readonly room: Reservation;
}

export interface Edge extends Writable<RequestCaller> {
  /** Form of error answers to this request; undefined for the form of /responses. */
  faults?: FaultForm | undefined;
  /** Time of the request line, by performance.now() in milliseconds. */
  startedAt: number;
  clientRequestId: string | undefined;
  /** Address of the client for the log line; undefined if the configuration does not log it. */
  loggedAddress: string | undefined;
  observation: Observation;
  caller: Caller;
  path: string;
  /** Pattern of the route, for metrics. */
  route: string;
  /** Rejects operations that the role of a person in the console forbids. Absent for a key, which may call everything its kind permits. */
  permit?: (operation: Operation) => Promise<void>;
  /** The failure of the request; undefined for a successful one. */
  fault: Fault | undefined;
}

type Writable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

/** A request under way: the Koa context of most requests, and a TurnCall for turns. */
export interface Exchange extends Edge {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

export type EdgeContext = Koa.ParameterizedContext<Koa.DefaultState, Edge>;

/** Connections and settings that handlers use. */
export interface HandlerDeps {
  /** Connection to admin-svc. */
  readonly admin: Client;
  /** Connection to any inference process: all have the same catalogue. */
  readonly inference: Client;
  readonly token: ServiceToken;
  readonly access: Access;
  /** Detectors in the configuration file, which guardrails can name. */
  readonly detectors: readonly NamedDetector[];
}

/** A call of an operation; query and body have the contract's types. */
export interface OperationCall<Path extends string = string, Query = unknown, Body = unknown>
  extends CheckedRequest<Path, Query, Body> {
  readonly parts: HandlerDeps;
  readonly caller: RequestCaller;
}
