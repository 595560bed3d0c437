/** Signs requests to Amazon with Signature Version 4 (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html). */
import { type AwsCredentials, type RequestSigner, openSigner } from "@sluice/proto/lib/aws/signature.js";
import type { AnswerHead } from "../events/answer.ts";
import type { Authorization, HeaderFields, Identity, SignableRequest } from "./identity.ts";
import type { CredentialSource, CredentialWait } from "./source.ts";

/** Minimum clock difference in milliseconds that can be the cause of a refusal: Amazon accepts signatures for five minutes. */
const noticedSkewMs = 60_000;

/** Matches types of errors about the credentials themselves, and not about their permissions. */
const staleCredentials = /^(ExpiredToken|UnrecognizedClient|InvalidClientTokenId|InvalidToken)/;

export class AwsSigner implements Identity {
  readonly #service: string;
  readonly #region: string;
  readonly #now: () => number;
  readonly credentials: CredentialSource<AwsCredentials>;
  #signer: { readonly credentials: AwsCredentials; readonly opened: Promise<RequestSigner> } | undefined;
  /** Milliseconds by which the server's clock is ahead of this machine's, as far as known. */
  aheadMs = 0;

  /** @param service name of the service in Amazon's signatures */
  constructor(
    service: string,
    region: string,
    credentials: CredentialSource<AwsCredentials>,
    now: () => number = Date.now,
  ) {
    this.#service = service;
    this.#region = region;
    this.credentials = credentials;
    this.#now = now;
  }

  async authorize(request: SignableRequest, patience: CredentialWait): Promise<Authorization> {
    const credentials = await this.credentials.take(patience);
    const { aheadMs } = this;
    return new Signature(this, credentials, aheadMs, await this.#sign(request, credentials, aheadMs));
  }

  /** @returns the headers of the signature, in addition to those of the request */
  async #sign(request: SignableRequest, credentials: AwsCredentials, aheadMs: number): Promise<HeaderFields> {
    const { url, method, headers, body } = request;
    if (this.#signer?.credentials !== credentials)
      this.#signer = { credentials, opened: openSigner({ service: this.#service, region: this.#region, credentials }) };
    const signer = await this.#signer.opened;
    const signed = await signer.sign(
      {
        method,
        protocol: url.protocol,
        hostname: url.hostname,
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        headers: { ...headers, host: url.host },
        body,
      },
      { signingDate: new Date(this.#now() + aheadMs) },
    );
    const { host: _, ...proof } = signed.headers;
    return proof;
  }

  /** Notes the clock difference in a refusal, so the next signature may be accepted. */
  note(head: AnswerHead): void {
    const aheadMs = Date.parse(head.first("date") ?? "") - this.#now();
    if (Math.abs(aheadMs - this.aheadMs) > noticedSkewMs) this.aheadMs = aheadMs;
  }
}

/** The signature of one request. */
class Signature implements Authorization {
  readonly fields: HeaderFields;
  readonly #signer: AwsSigner;
  readonly #credentials: AwsCredentials;
  readonly #aheadMs: number;
  #isRefused = false;

  constructor(signer: AwsSigner, credentials: AwsCredentials, aheadMs: number, fields: HeaderFields) {
    this.fields = fields;
    this.#signer = signer;
    this.#credentials = credentials;
    this.#aheadMs = aheadMs;
  }

  refused(head: AnswerHead): void {
    if (head.status !== 403) return;
    this.#isRefused = true;
    this.#signer.note(head);
    if (staleCredentials.test(head.first("x-amzn-errortype") ?? ""))
      this.#signer.credentials.refused(this.#credentials);
  }

  get isOutdated(): boolean {
    const { aheadMs, credentials } = this.#signer;
    return this.#isRefused && (aheadMs !== this.#aheadMs || !credentials.isCurrent(this.#credentials));
  }
}
