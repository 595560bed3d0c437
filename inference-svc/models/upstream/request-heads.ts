/** The heads of HTTP requests to one endpoint. They differ only by key and by streaming, so each is written once. */
import type { ProviderKey } from "./credentials/keys.ts";
import type { Dialect, Target } from "./dialect.ts";
import { fieldLines, requestLine } from "./transport/http/request-head.ts";

/** Content type of every body, which signatures cover. */
export const jsonContent = { "content-type": "application/json" };

export interface HeadSettings {
  readonly dialect: Dialect;
  readonly url: URL;
  readonly userAgent: string;
  readonly target: Target;
}

export class RequestHeads {
  readonly #settings: HeadSettings;
  /** Heads by the index of the key; the second list is for streams. */
  readonly #withKey: readonly (string | undefined)[][] = [[], []];

  constructor(settings: HeadSettings) {
    this.#settings = settings;
  }

  /** Path of the request with its query, to which both the base URL and the dialect can contribute. */
  path(stream: boolean): string {
    const { url, dialect, target } = this.#settings;
    const path = `${url.pathname.replace(/\/$/, "")}${dialect.path({ stream }, target)}`;
    return path + (path.includes("?") ? url.search.replace("?", "&") : url.search);
  }

  /**
   * The head of requests with a key. A key without a secret stands for servers without keys, and for requests an
   * identity authenticates.
   */
  withKey({ index, secret }: ProviderKey, stream: boolean): string {
    const heads = this.#withKey[stream ? 1 : 0]!;
    return (heads[index] ??= this.#write(stream) + fieldLines(this.#settings.dialect.headers(secret)));
  }

  #write(stream: boolean): string {
    const { url, dialect, userAgent } = this.#settings;
    const fields = {
      ...jsonContent,
      accept: stream ? dialect.framing.type : "application/json",
      "accept-encoding": "identity",
      "user-agent": userAgent,
    };
    return requestLine("POST", this.path(stream), url.host) + fieldLines(fields);
  }
}
