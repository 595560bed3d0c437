/**
 * Encrypts state that a client keeps and sends back, since Sluice stores nothing. The client can neither read nor change it: what is in it
 * has passed no output guardrail, and what comes back is trusted.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

export class StateSeal {
  readonly #key: Uint8Array;
  readonly #prefix: string;

  /**
   * @param secret shared by all replicas, so that each of them continues what another began
   * @param kind the state is for; a seal opens only states of its own kind
   */
  constructor(secret: string, kind: string) {
    this.#key = new Uint8Array(hkdfSync("sha256", secret, "", `sealed state: ${kind}`, 32));
    this.#prefix = `sluice:${kind}:`;
  }

  /** @param owner names what the state belongs to: it opens with the same text only */
  seal(state: unknown, owner: string): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, this.#key, nonce).setAAD(Buffer.from(owner));
    const hidden = Buffer.concat([cipher.update(JSON.stringify(state)), cipher.final()]);
    return this.#prefix + Buffer.concat([nonce, cipher.getAuthTag(), hidden]).toString("base64url");
  }

  /** Whether a text has the form of a sealed state of this kind; it may still not open. */
  isOwn(sealed: unknown): boolean {
    return typeof sealed === "string" && sealed.startsWith(this.#prefix);
  }

  /** Undefined for everything that was not sealed with the same secret and owner. */
  open(sealed: unknown, owner: string): unknown {
    if (typeof sealed !== "string" || !sealed.startsWith(this.#prefix)) return undefined;
    const bytes = Buffer.from(sealed.slice(this.#prefix.length), "base64url");
    if (bytes.length < nonceBytes + tagBytes) return undefined;
    const tagEnd = nonceBytes + tagBytes;
    const decipher = createDecipheriv(algorithm, this.#key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
    decipher.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(nonceBytes, tagEnd));
    try {
      const json = Buffer.concat([decipher.update(bytes.subarray(tagEnd)), decipher.final()]);
      return JSON.parse(json.toString());
    } catch {
      // The tag does not fit: the state was changed, or has another owner.
      return undefined;
    }
  }
}
