/**
 * Encrypts state that the client keeps and sends back, since Sluice stores nothing. The client can neither read nor
 * change it: the state has passed no output guardrail, and is trusted when it comes back.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

export class StateSeal {
  readonly #key: Uint8Array;
  readonly #prefix: string;

  /**
   * @param secret shared by all replicas, so each can continue the work of another
   * @param kind purpose of the state; a seal opens only states of its kind
   */
  constructor(secret: string, kind: string) {
    this.#key = new Uint8Array(hkdfSync("sha256", secret, "", `sealed state: ${kind}`, 32));
    this.#prefix = `sluice:${kind}:`;
  }

  /** Encrypts a state. @param owner a text that identifies the owner; the state can be opened only with the same text */
  seal(state: unknown, owner: string): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, this.#key, nonce).setAAD(Buffer.from(owner));
    const hidden = Buffer.concat([cipher.update(JSON.stringify(state)), cipher.final()]);
    return this.#prefix + Buffer.concat([nonce, cipher.getAuthTag(), hidden]).toString("base64url");
  }

  /** Whether a text has the form of a sealed state of this kind, without checking its tag. */
  isOwn(sealed: unknown): boolean {
    return typeof sealed === "string" && sealed.startsWith(this.#prefix);
  }

  /** Decrypts a state. @returns undefined for anything not sealed with the same secret and owner */
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
      // The tag does not match: the state was changed, or has another owner.
      return undefined;
    }
  }
}
