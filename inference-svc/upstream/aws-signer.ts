/** Signs requests to Amazon with Signature Version 4 (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html). */
import { type Hash, type Hmac, createHash, createHmac } from "node:crypto";
import type { ProviderSettings } from "@sluice/proto/runtime/house-file.js";
import type { SignatureV4 } from "@smithy/signature-v4";
import type { AnswerHead } from "./answer.ts";

export type AwsSettings = NonNullable<ProviderSettings["aws"]>;

export interface Signable {
  /** Scheme, host and port; path and query of the request as they are sent. */
  readonly url: URL;
  readonly method: string;
  /** Those that must not change on the way. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Signatures are taken for five minutes. What is refused in spite of a smaller difference is refused for another reason. */
const noticedSkewMs = 60_000;

export class AwsSigner {
  readonly #service: string;
  readonly #settings: AwsSettings;
  readonly #now: () => number;
  #signer: Promise<SignatureV4> | undefined;
  /** How much the clock over there is ahead of this one, as far as it is known. */
  aheadMs = 0;

  /** @param service the name that Amazon signs requests to it with */
  constructor(service: string, settings: AwsSettings, now: () => number = Date.now) {
    this.#service = service;
    this.#settings = settings;
    this.#now = now;
  }

  /** @returns headers that prove who asks, beside those that were given */
  async sign({ url, method, headers, body }: Signable): Promise<Record<string, string>> {
    this.#signer ??= openSigner(this.#service, this.#settings);
    const signed = await (await this.#signer).sign(
      {
        method,
        protocol: url.protocol,
        hostname: url.hostname,
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        headers: { ...headers, host: url.host },
        body,
      },
      { signingDate: new Date(this.#now() + this.aheadMs) },
    );
    const { host: _, ...proof } = signed.headers;
    return proof;
  }

  /** Learns from a refusal what time it is over there: from then on another signature is worth trying. */
  note({ status, headers }: AnswerHead): void {
    const aheadMs = Date.parse(headers.date ?? "") - this.#now();
    if (status === 403 && Math.abs(aheadMs - this.aheadMs) > noticedSkewMs) this.aheadMs = aheadMs;
  }
}

/** Loaded when it is needed: it costs 0.1 s and 14 MB, which most houses have no use for. */
async function openSigner(service: string, settings: AwsSettings): Promise<SignatureV4> {
  const { SignatureV4: Signer } = await import("@smithy/signature-v4");
  return new Signer({
    service,
    region: settings.region,
    credentials: {
      accessKeyId: settings.access_key_id,
      secretAccessKey: settings.secret_access_key,
      ...(settings.session_token !== undefined && { sessionToken: settings.session_token }),
    },
    sha256: Sha256,
    applyChecksum: false,
  });
}

/** What the library counts with: SHA-256, or its HMAC where there is a key. */
class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(key?: Source) {
    this.#hash = key === undefined ? createHash("sha256") : createHmac("sha256", bytesOf(key));
  }

  update(data: Source): void {
    this.#hash.update(bytesOf(data));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }
}

type Source = string | ArrayBuffer | ArrayBufferView;

function bytesOf(data: Source): string | Uint8Array {
  if (typeof data === "string") return data;
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
