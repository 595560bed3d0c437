/** The interface of a dialect: everything specific to a provider's wire format. Sockets, timers and queues belong to the `Exchange`. */
import type { TurnRequest } from "../../turn/request.ts";
import type { TurnEvent } from "../../turn/turn.ts";
import type { Usage } from "../../turn/usage.ts";
import type { ProviderError } from "./failure.ts";
import type { ResponseFields } from "./transport/http/response-head.ts";

/** The endpoint a request is translated for. */
export interface Target {
  /** The provider's name of the model. */
  readonly upstreamModel: string;
  /** Service tier of the endpoint. */
  readonly tier: string;
  /** True for the format's own vendor, with newer names of parameters and 400 for unknown parameters. */
  readonly original: boolean;
  /** The vendor of the server, as the catalogue names it; absent when unknown. */
  readonly vendor?: string;
  /** Parameters supported by the endpoint; absent when not configured. */
  readonly supportedParameters?: readonly string[];
  /** Types of tools run by the provider; absent when not configured: then those of the format. */
  readonly nativeTools?: ReadonlySet<string>;
  /** The `format` of the provider's sealed reasoning, such as openai-responses-v1; absent when unknown. */
  readonly reasoningFormat?: string;
  /** Present where the server answers 400 to `stream_options`. */
  readonly streamOptions?: false;
  /** Fields outside the format passed to the server, by configuration or as its vendor's own; absent when there are none. */
  readonly passes?: ReadonlySet<string>;
  /** Maximum output tokens of the model; absent when not configured. */
  readonly maxOutputTokens?: number;
}

/** The reason why a request cannot be sent in a format at all. */
export interface Refusal {
  /** Path in the request, such as `tools.0`. */
  readonly path: string;
  /** Completes the path: "no provider of this model runs tools of type mcp". */
  readonly message: string;
}

/** Called for every request field left out of the body, with its path and the reason. */
export type OnDropped = (path: string, reason: string) => void;

export interface Dialect {
  /** The path after the base URL. Some formats put the model and the streaming mode into it. */
  path(request: Pick<TurnRequest, "stream">, target: Target): string;
  /** How the bytes of a stream become events. */
  readonly framing: Framing;
  /** Headers of this dialect: the credential, and the version of the format. */
  headers(key: string | undefined): Readonly<Record<string, string>>;
  /** Headers specific to this request; undefined when it has none. */
  requestHeaders?(request: TurnRequest, target: Target): Readonly<Record<string, string>> | undefined;
  /** The format's own vendor, as the catalogue names it; absent when the dialect treats all servers alike. */
  readonly vendor?: string;
  /** True where every server of the dialect runs the vendor's own implementation. */
  readonly alwaysOriginal?: boolean;
  /** The reason why a request cannot be sent; checked before an endpoint is tried. */
  refusal(request: TurnRequest, target: Target): Refusal | undefined;
  /** @param onDropped called for every field left out of the body */
  body(request: TurnRequest, target: Target, onDropped: OnDropped): string;
  /** Opens a translator for one answer. */
  open(request: TurnRequest, target: Target, emit: (event: TurnEvent) => void): Translator;
  /** @param body of an error answer, parsed; undefined when it was no JSON */
  error(status: number, body: unknown, headers: ResponseFields): ProviderError;
  /** The calls for embedding requests; absent when the format has none. */
  readonly embeddings?: Dialect;
  /** Maximum inputs per embedding call; absent for no limit. */
  maxInputs?(target: Target): number;
}

/** Splits the bytes of a stream into events. */
export interface Framing {
  /** Media type requested and expected. */
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
  /** Usage so far, charged if the answer breaks off. */
  readonly usage: Usage | undefined;
  /**
   * @param values number of JSON values in the data, when they are counted already
   * @throws Fault for an error event, and for unreadable data
   */
  event(name: string | undefined, data: string, values?: number): void;
  /**
   * Ends the answer.
   * @param isWhole whether nothing can be missing: the stream had the format's own end, or the answer was one JSON text. An end of the
   * connection by itself proves nothing. An answer with content is then complete even if its server gave no finish reason.
   * @throws Fault when the answer was not finished
   */
  close(isWhole?: boolean): void;
  /** Ends the answer as incomplete because the context window is full: the text so far is the answer. */
  cut(): void;
}
