/** Operations forwarded to admin-svc: how the checked request becomes a message, and how its answer becomes JSON. */
import { uuidForm } from "../../lib/ids/uuid.ts";
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { JsonObject } from "../../lib/validation/fields.ts";
import type { Operation, ParameterNames, PublishedParameter } from "./operation.ts";

/** Parameters of an operation's path; of several paths, the union, because an alias may have other parameters. */
export type ParametersOf<Path extends string> = Path extends string
  ? { readonly [Name in ParameterNames<Path>]: string }
  : never;

/** The parts of a request after the check. */
export interface CheckedRequest<Path extends string = string, Query = unknown, Body = unknown> {
  /** Path parameters, percent-decoded. */
  readonly parameters: ParametersOf<Path>;
  readonly query: Query;
  readonly body: Body;
}

/** The fields of a message; undefined leaves a field unset. */
export type MessageFields<Desc extends DescMessage> = {
  readonly [Name in keyof MessageInitShape<Desc>]: MessageInitShape<Desc>[Name] | undefined;
};

export interface ForwardOptions {
  /** Whether the request carries settings: an older admin-svc then refuses it if it does not support one of them. */
  readonly carriesSettings?: true;
}

/** A call of admin-svc. The compiler checks the types of request and answer where the operation is described. */
export interface Forward extends ForwardOptions {
  readonly method: DescMethodUnary;
  readonly toRequest: (request: CheckedRequest) => MessageFields<DescMessage>;
  readonly toAnswer: (message: MessageShape<DescMessage>) => JsonObject | undefined;
}

export type Forwarded = { readonly forward: Forward };

/** Query parameter that names the workspace of an operation. */
const workspaceParameter: PublishedParameter = {
  name: "X-Sluice-Workspace",
  in: "header",
  description:
    "Identifier of the workspace to act in, for a management key of the account; its own workspace when absent. Any other key may only name its own: 404.",
  schema: { type: "string", pattern: uuidForm.source },
};

/** Adds the call of admin-svc to an operation, which then needs no handler in the gateway. */
export const forwarded = <Path extends string, Query, Body, Input extends DescMessage, Output extends DescMessage>(
  operation: Operation<Path, Query, Body>,
  method: DescMethodUnary<Input, Output>,
  toRequest: (request: CheckedRequest<Path, Query, Body>) => MessageFields<Input>,
  toAnswer: (message: MessageShape<Output>) => JsonObject | undefined,
  options: ForwardOptions = {},
): Operation<Path, Query, Body> & Forwarded => ({
  ...operation,
  headers: [...new Set([...(operation.headers ?? []), workspaceParameter])],
  forward: {
    method,
    toRequest: toRequest as Forward["toRequest"],
    toAnswer: toAnswer as Forward["toAnswer"],
    ...options,
  },
});
