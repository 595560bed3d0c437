/** The interface of a dialect: everything specific to a provider's wire format. Sockets, timers and queues belong to the `Exchange`. */
import type { TurnRequest } from "../../turn/request.ts";
import type { TurnEvent } from "../../turn/turn.ts";
import type { Usage } from "../../turn/usage.ts";
import type { ProviderError } from "./failure.ts";
import type { ResponseFields } from "./transport/http/response-head.ts";

/** The endpoint for which a request is translated. */
export interface Target {
  /** The provider's name for the model. */
  readonly upstreamModel: string;
  /** Service tier of the endpoint. */
  readonly tier: string;
  /** Whether the server is the format's own vendor, which has newer names of parameters and answers 400 to unknown ones. */
  readonly original: boolean;
  /** The vendor of the server, as the catalogue names it; absent when unknown. */
  readonly vendor?: string;
  /** Parameters the endpoint supports; absent when not configured. */
  readonly supportedParameters?: readonly string[];
  /** Types of tools the provider runs; absent when not configured, and the types of the format apply. */
  readonly nativeTools?: ReadonlySet<string>;
  /** The `format` of the provider's encrypted reasoning, such as openai-responses-v1; absent when unknown. */
  readonly reasoningFormat?: string;
  /** Set when the server answers 400 to `stream_options`. */
  readonly streamOptions?: false;
  /**
   * Names of fields outside the format that are passed to the server, because they are configured or its vendor's own;
   * absent when there are none.
   */
  readonly passes?: ReadonlySet<string>;
  /** Maximum output tokens of the model; absent when not configured. */
  readonly maxOutputTokens?: number;
}

/** Why a request cannot be sent in a format at all. */
export interface Refusal {
  /** Path in the request, such as `tools.0`. */
  readonly path: string;
  /** Message after the path in the error, such as "no provider of this model runs tools of type mcp". */
  readonly message: string;
}

/** Called for every field of the request the body leaves out, with its path and the reason. */
export type OnDropped = (path: string, reason: string) => void;

export interface Dialect {
  /** The path after the base URL; in some formats it contains the model and the streaming mode. */
  path(request: Pick<TurnRequest, "stream">, target: Target): string;
  /** How the bytes of a stream are split into events. */
  readonly framing: Framing;
  /** Headers of the dialect: the API key, and the version of the format. */
  headers(key: string | undefined): Readonly<Record<string, string>>;
  /** Headers specific to this request; undefined when it has none. */
  requestHeaders?(request: TurnRequest, target: Target): Readonly<Record<string, string>> | undefined;
  /** The format's own vendor, as the catalogue names it; absent when the dialect treats all servers alike. */
  readonly vendor?: string;
  /** Set when every server of the dialect is the vendor's own implementation. */
  readonly alwaysOriginal?: boolean;
  /** Why a request cannot be sent, checked before an endpoint is tried. @returns undefined when it can be sent */
  refusal(request: TurnRequest, target: Target): Refusal | undefined;
  /** Writes the body. @param onDropped called for every field the body leaves out */
  body(request: TurnRequest, target: Target, onDropped: OnDropped): string;
  /** Opens a translator for one answer. */
  open(request: TurnRequest, target: Target, emit: (event: TurnEvent) => void): Translator;
  /** Reads an error answer. @param body the parsed body; undefined when it was no JSON */
  error(status: number, body: unknown, headers: ResponseFields): ProviderError;
  /** The dialect of embeddings requests; absent when the format has none. */
  readonly embeddings?: Dialect;
  /** Maximum inputs per embeddings call; absent when there is no limit. */
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
  /** @param chunk valid only during the call: bytes needed later must be copied */
  feed(chunk: Uint8Array): void;
  end(): void;
}

/** Converts the events of an answer to turn events. A whole answer is read as a single event. */
export interface Translator {
  /** Whether a finish reason has arrived: if the connection ends now, at most the usage is missing. */
  readonly finished: boolean;
  /** Whether the end event was emitted, after which nothing more is read. */
  readonly done: boolean;
  /** Usage reported so far, which is charged if the answer breaks off. */
  readonly usage: Usage | undefined;
  /**
   * @param values number of JSON values in the data, if they are already counted
   * @throws Fault for an error event, and for data that cannot be read
   */
  event(name: string | undefined, data: string, values?: number): void;
  /**
   * Ends the answer.
   * @param isWhole whether nothing can be missing: the stream had the format's own end, or the answer was one JSON
   * text. The end of the connection proves nothing. An answer with content is then complete even if its server gave no
   * finish reason.
   * @throws Fault when the answer was not finished
   */
  close(isWhole?: boolean): void;
  /** Ends the answer as incomplete because the context window is full: the text so far is the answer. */
  cut(): void;
}
