/** The interface of a provider: over HTTP in a dialect, through a package of the AI SDK, or built in. */
import type { Logger } from "@sluice/proto/lib/log/log.js";
import type { TurnRequest } from "../../turn/request.ts";
import type { DroppedField } from "../../turn/trace.ts";
import type { Turn } from "../../turn/turn.ts";
import type { SdkPackages } from "./ai-sdk/load.ts";
import type { Refusal } from "./dialect.ts";
import type { KeyRest } from "./credentials/keys.ts";

/** Dependencies shared by all providers. */
export interface ProviderDependencies {
  /** Version of Sluice, for the user agent. */
  readonly version: string;
  /** Packages of the AI SDK loaded at the start. */
  readonly packages: SdkPackages;
  /** Refused keys are logged as errors, because an operator must act. */
  readonly log: Pick<Logger, "error" | "warn">;
  /** Clock in milliseconds, for the rest of refused keys. */
  readonly now: () => number;
}

/** The fields of an endpoint needed by a provider. */
export interface Destination {
  /** Id of the provider. */
  readonly provider: string;
  readonly upstreamModel: string;
  readonly tier: string;
  /** The model gives vectors instead of answers. */
  readonly embeds?: boolean;
  readonly supportedParameters?: readonly string[];
  /** Maximum output tokens of the model, if the configuration has them. */
  readonly maxOutputTokens?: number;
}

export interface RequestPreview {
  readonly droppedFields: readonly DroppedField[];
  /** Fields outside the contract sent all the same; absent when there are none. */
  readonly passedFields?: readonly string[];
  /** The body without credentials; undefined when the provider was removed from the configuration. */
  readonly bodyJson: string | undefined;
}

export interface Provider {
  /** The reason why a request cannot be sent to this endpoint; undefined when it can. */
  refusal(destination: Destination, request: TurnRequest): Refusal | undefined;
  /** Fields to be left out of an acceptable request. */
  droppedFields(destination: Destination, request: TurnRequest): readonly DroppedField[];
  /** The request body, for a preview. */
  preview(destination: Destination, request: TurnRequest): RequestPreview;
  /** A turn that calls this endpoint once. Its fault shows whether the call may be repeated. */
  turn(destination: Destination): Turn;
  /** The reason why no key of the provider can be used, with the time when one can; undefined while a key can be used. */
  rest(destination: Destination): KeyRest | undefined;
}
