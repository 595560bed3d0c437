/** The identity of this process on a cloud. It authenticates each request by a signature or a token. */
import type { AnswerHead } from "../events/answer.ts";
import type { CredentialSource, CredentialWait } from "./source.ts";

export type HeaderFields = Readonly<Record<string, string>>;

export interface SignableRequest {
  /** Scheme, host and port of the server; path and query as they are sent. */
  readonly url: URL;
  readonly method: string;
  /** Headers covered by a signature. */
  readonly headers: HeaderFields;
  readonly body: string;
}

export interface Identity {
  /** @throws Fault when there are no credentials in time */
  authorize(request: SignableRequest, patience: CredentialWait): Promise<Authorization>;
}

/** The proof of an identity on one request. */
export interface Authorization {
  readonly fields: HeaderFields;
  /** Learns from a refusal of the provider. */
  refused(head: AnswerHead): void;
  /** True when it was refused and the identity has a newer proof by now: another attempt is worth it. */
  readonly isOutdated: boolean;
}

/** Authenticates requests with a token issued by the cloud. */
export class TokenIdentity implements Identity {
  readonly #tokens: CredentialSource<HeaderFields>;

  /** @param tokens header fields with the token */
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
