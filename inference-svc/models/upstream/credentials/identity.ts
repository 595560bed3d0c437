/** The identity of this process at a cloud, with which each request is authenticated by a signature or a token. */
import type { AnswerHead } from "../events/answer.ts";
import type { CredentialSource, CredentialWait } from "./source.ts";

export type HeaderFields = Readonly<Record<string, string>>;

export interface SignableRequest {
  /** URL of the request with scheme, host and port, and with path and query exactly as sent. */
  readonly url: URL;
  readonly method: string;
  /** Headers a signature covers. */
  readonly headers: HeaderFields;
  readonly body: string;
}

export interface Identity {
  /** Authenticates a request. @throws Fault when there are no credentials in time */
  authorize(request: SignableRequest, patience: CredentialWait): Promise<Authorization>;
}

/** The headers that authenticate one request. */
export interface Authorization {
  readonly fields: HeaderFields;
  /** Called when the provider has refused the request, to learn from the refusal. */
  refused(head: AnswerHead): void;
  /** Whether the request was refused and the identity now has newer credentials, so another attempt makes sense. */
  readonly isOutdated: boolean;
}

/** Authenticates requests with a token the cloud has issued. */
export class TokenIdentity implements Identity {
  readonly #tokens: CredentialSource<HeaderFields>;

  /** @param tokens source of header fields with the token */
  constructor(tokens: CredentialSource<HeaderFields>) {
    this.#tokens = tokens;
  }

  async authorize(_: SignableRequest, patience: CredentialWait): Promise<Authorization> {
    return new Token(await this.#tokens.take(patience), this.#tokens);
  }
}

class Token implements Authorization {
  readonly fields: HeaderFields;
  readonly #tokens: CredentialSource<HeaderFields>;
  #isRefused = false;

  constructor(fields: HeaderFields, tokens: CredentialSource<HeaderFields>) {
    this.fields = fields;
    this.#tokens = tokens;
  }

  refused({ status }: AnswerHead): void {
    if (status !== 401) return;
    this.#isRefused = true;
    this.#tokens.refused(this.fields);
  }

  get isOutdated(): boolean {
    return this.#isRefused && !this.#tokens.isCurrent(this.fields);
  }
}
