/** The interface of a dialect: the part of a provider's wire format that differs. Sockets, timers and queues belong to the `Exchange`. */
import type { TurnRequest } from "../turn/request.ts";
import type { TurnEvent } from "../turn/turn.ts";
import type { Usage } from "../turn/usage.ts";
import type { ProviderError } from "./failure.ts";
import type { ResponseFields } from "./transport/http/response-head.ts";

/** The endpoint that a request is translated for. */
export interface Target {
  /** The provider's name of the model. */
  readonly upstreamModel: string;
  /** Service tier of the endpoint. */
  readonly tier: string;
  /** True for the format's own vendor, which has newer names of parameters and answers 400 to unknown ones. */
  readonly original: boolean;
  /** Parameters that the endpoint supports; absent when the configuration does not say. */
  readonly supportedParameters?: readonly string[];
  /** Types of tools that the provider runs itself; absent when the configuration does not say, which means those of the format. */
  readonly nativeTools?: ReadonlySet<string>;
  /** The `format` of the provider's sealed reasoning, such as openai-responses-v1; absent when unknown. */
  readonly reasoningFormat?: string;
  /** Present where the server answers 400 to `stream_options`. */
  readonly streamOptions?: false;
  /** Fields that the configuration lets through to the server though its format does not have them; absent when there are none. */
  readonly passes?: ReadonlySet<string>;
  /** Maximum output tokens of the model; absent when the configuration does not say. */
  readonly maxOutputTokens?: number;
}

/** The reason why a request cannot be sent in a format at all. */
export interface Refusal {
  /** Path in the request, such as `tools.0`. */
  readonly path: string;
  /** Completes the path: "no provider of this model runs tools of type mcp". */
  readonly message: string;
}

/** Called for every field of a request that is left out of the body, with its path and the reason. */
export type OnDropped = (path: string, reason: string) => void;

export interface Dialect {
  /** The path behind the base URL. Some formats put the model and the streaming mode into it. */
  path(request: Pick<TurnRequest, "stream">, target: Target): string;
  /** How the bytes of a stream become events. */
  readonly framing: Framing;
  /** Headers of this dialect: the credential, and the version of the format. */
  headers(key: string | undefined): Readonly<Record<string, string>>;
  /** Headers of this request alone; undefined when it has none. */
  requestHeaders?(request: TurnRequest, target: Target): Readonly<Record<string, string>> | undefined;
  /** The format's own vendor, as the catalogue names it; absent when the dialect treats all servers alike. */
  readonly vendor?: string;
  /** True where every server of the dialect runs the vendor's own implementation. */
  readonly alwaysOriginal?: boolean;
  /** The reason why a request cannot be sent; checked before an endpoint is tried. */
  refusal(request: TurnRequest, target: Target): Refusal | undefined;
  /** @param onDropped called for every field that the body leaves out */
  body(request: TurnRequest, target: Target, onDropped: OnDropped): string;
  /** Opens a translator for one answer. */
  open(request: TurnRequest, target: Target, emit: (event: TurnEvent) => void): Translator;
  /** @param body of an error answer, parsed; undefined when it was no JSON */
  error(status: number, body: unknown, headers: ResponseFields): ProviderError;
  /** The calls that answer embedding requests; absent when the format has none. */
  readonly embeddings?: Dialect;
  /** Inputs that one embedding call takes; absent when it takes all of them. */
  maxInputs?(target: Target): number;
}

/** Splits the bytes of a stream into events. */
export interface Framing {
  /** Media type that is requested and expected. */
  readonly type: string;
  open(translator: Translator): AnswerReader;
}

/** Reads the body of an answer. Both methods throw Faults. */
export interface AnswerReader {
  /** @param chunk valid during the call only: what is needed later must be copied */
  feed(chunk: Uint8Array): void;
  end(): void;
}

/** Turns the events of an answer into turn events. A whole answer is read as a single event. */
export interface Translator {
  /** True once a finish reason has arrived: a connection that ends now has lost nothing but usage. */
  readonly finished: boolean;
  /** True once the end event was emitted; nothing more is read. */
  readonly done: boolean;
  /** Usage so far, which is charged when the answer breaks off. */
  readonly usage: Usage | undefined;
  /** @throws Fault for an error event, and for data that cannot be read */
  event(name: string | undefined, data: string): void;
  /**
   * Ends the answer.
   * @param isWhole whether nothing can be missing: the stream had the format's own end, or the answer was one JSON text. An end of the
   * connection alone says nothing. An answer with content is then complete even if its server gave no finish reason.
   * @throws Fault when the answer was not finished
   */
  close(isWhole?: boolean): void;
  /** Ends the answer as incomplete because the context window is full: the text so far is the answer. */
  cut(): void;
}
