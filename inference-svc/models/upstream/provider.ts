/** The interface of a provider, which is called over HTTP in a dialect, through an AI SDK package, or is built in. */
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
  /** AI SDK packages loaded at the start. */
  readonly packages: SdkPackages;
  /** Log; refused keys are logged as errors, because an operator must act. */
  readonly log: Pick<Logger, "error" | "warn">;
  /** Returns the time in milliseconds, for the time in which a refused key is not used. */
  readonly now: () => number;
}

/** The fields of an endpoint a provider needs. */
export interface Destination {
  /** Id of the provider. */
  readonly provider: string;
  readonly upstreamModel: string;
  readonly tier: string;
  /** Whether the model gives vectors instead of answers. */
  readonly embeds?: boolean;
  readonly supportedParameters?: readonly string[];
  /** Maximum output tokens of the model; absent when the configuration states none. */
  readonly maxOutputTokens?: number;
}

export interface RequestPreview {
  readonly droppedFields: readonly DroppedField[];
  /** Fields of the body that are unknown to Sluice's API and passed on; absent when there are none. */
  readonly passedFields?: readonly string[];
  /** The body without credentials; undefined when the provider was removed from the configuration. */
  readonly bodyJson: string | undefined;
}

export interface Provider {
  /** Why a request cannot be sent to this endpoint. @returns undefined when it can */
  refusal(destination: Destination, request: TurnRequest): Refusal | undefined;
  /** The fields that would be left out of a request that can be sent. */
  droppedFields(destination: Destination, request: TurnRequest): readonly DroppedField[];
  /** The body that would be sent, for a preview. */
  preview(destination: Destination, request: TurnRequest): RequestPreview;
  /** A turn that calls this endpoint once. Its fault tells whether the call may be repeated. */
  turn(destination: Destination): Turn;
  /** Why no key of the provider can be used, and the time when one can. @returns undefined while a key can be used */
  rest(destination: Destination): KeyRest | undefined;
}
