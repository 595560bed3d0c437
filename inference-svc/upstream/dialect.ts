/** What is particular to a provider's wire format. Sockets, timers and queues are the exchange's. */
import type { IncomingHttpHeaders } from "node:http";
import type { TurnRequest } from "../turn/request.ts";
import type { TurnEvent, Usage } from "../turn/turn.ts";
import type { ProviderError } from "./failure.ts";

/** What is asked where. */
export interface Target {
  /** The provider's name of the model. */
  readonly upstreamModel: string;
  /** Tier of the endpoint. */
  readonly tier: string;
  /** The vendor of the format itself serves: newer names of parameters, and 400 for unknown ones. */
  readonly original: boolean;
  /** Absent when the operator does not say. */
  readonly supportedParameters?: readonly string[];
  /** Types of tools that the provider runs itself; absent when the operator does not say: then those of the format. */
  readonly nativeTools?: ReadonlySet<string>;
  /** The `format` of reasoning that the provider seals, such as openai-responses-v1; absent when nobody knows. */
  readonly reasoningFormat?: string;
  /** The model's largest answer; absent when the operator does not say. */
  readonly maxOutputTokens?: number;
}

/** Why a request cannot be said in a format at all. */
export interface Refusal {
  /** As in the request: `tools.0`. */
  readonly path: string;
  /** Completes the path: "tools of type mcp are not run by any provider of this model". */
  readonly message: string;
}

/** Notes what is left out of a body. */
export type Lose = (path: string, reason: string) => void;

export interface Dialect {
  /** Appended to the base URL; formats differ in whether it names the model, and whether a stream is asked for. */
  path(request: TurnRequest, target: Target): string;
  /** How its streams are cut into events. */
  readonly framing: Framing;
  /** Beside those of every request: who asks, and in which version of the format. */
  headers(key: string | undefined): Readonly<Record<string, string>>;
  /** What makes the request impossible there; undefined when nothing does. Looked at before an endpoint is tried. */
  refusal(request: TurnRequest, target: Target): Refusal | undefined;
  /** @param lose called for everything that the body does not say */
  body(request: TurnRequest, target: Target, lose: Lose): string;
  /** Reads one answer. */
  open(request: TurnRequest, target: Target, emit: (event: TurnEvent) => void): Translator;
  /** @param body of an error answer, as JSON; undefined when it was not JSON */
  error(status: number, body: unknown, headers: IncomingHttpHeaders): ProviderError;
}

/** How the bytes of a stream are cut into events. */
export interface Framing {
  /** The media type: asked for, and expected. */
  readonly type: string;
  open(translator: Translator): Answer;
}

/** Reads the body of an answer. Both throw a Fault. */
export interface Answer {
  feed(chunk: Uint8Array): void;
  end(): void;
}

/** A whole answer is a stream of one event: there is no second way. */
export interface Translator {
  /** A finish reason was seen: when the connection ends now, nothing is missing but figures. */
  readonly finished: boolean;
  /** The end was emitted; nothing more is read. */
  readonly done: boolean;
  /** The figures so far: what is left to pay for an answer that breaks off. */
  readonly usage: Usage | undefined;
  /** @throws Fault for an error inside of the answer, and for what cannot be read */
  event(name: string | undefined, data: string): void;
  /** Nothing more comes. @throws Fault when the answer was not finished */
  close(): void;
  /** Nothing more comes, because there is no room for more: what was said is the answer. */
  cut(): void;
}
