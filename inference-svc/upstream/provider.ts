/** What every way of asking a provider has in common: over HTTP in a dialect, through a package, or the one that is built in. */
import type { Logger } from "@sluice/proto/runtime/log.js";
import type { TurnRequest } from "../turn/request.ts";
import type { Loss } from "../turn/scope.ts";
import type { Patience, Turn } from "../turn/turn.ts";
import type { SdkPackages } from "./ai-sdk/load.ts";
import type { Refusal } from "./dialect.ts";
import type { KeyRest } from "./keys.ts";

/** What all providers of a house share. */
export interface Surroundings {
  /** Of the house, for the user agent. */
  readonly version: string;
  /** Of the AI SDK, as they were loaded at the start. */
  readonly packages: SdkPackages;
  /** Refused keys are an operator's business. */
  readonly log: Pick<Logger, "error">;
  /** Milliseconds, by which keys rest. */
  readonly now: () => number;
}

/** What of an endpoint matters here. */
export interface Destination {
  /** Id of the provider. */
  readonly provider: string;
  readonly upstreamModel: string;
  readonly tier: string;
  readonly supportedParameters?: readonly string[];
  /** The model's largest answer, where the operator says. */
  readonly maxOutputTokens?: number;
}

export interface Told {
  readonly losses: readonly Loss[];
  /** Without credentials; undefined where the provider is not of this house any more. */
  readonly bodyJson: string | undefined;
}

export interface Provider {
  /** Why the request cannot be said there at all. */
  refusal(destination: Destination, request: TurnRequest): Refusal | undefined;
  /** What would be left out there of a request that can be said. */
  losses(destination: Destination, request: TurnRequest): readonly Loss[];
  /** What would be sent there of it. */
  told(destination: Destination, request: TurnRequest): Told;
  /** The turn that asks exactly there, once. What it fails with says whether it may be repeated. */
  turn(destination: Destination, patience: Patience): Turn;
  /** Why no key of the provider is to be asked with; undefined while there is one. */
  rest(destination: Destination): KeyRest | undefined;
}
