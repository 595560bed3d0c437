/**
 * Encrypts captured content with AES-256-GCM. Each record has a separate key and nonce, derived by HKDF from the operator's key and a random salt, so any
 * number of records may be encrypted. The turn is authenticated with the content: content moved to another row is refused.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";

const algorithm = "aes-256-gcm";
const saltBytes = 32;
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

export interface SealedContent {
  /** Identifier of the operator's encryption key, which does not reveal the key. */
  readonly keyId: string;
  readonly salt: Buffer;
  /** Ciphertext and authentication tag. */
  readonly sealed: Buffer;
}

/** Derives the identifier of an encryption key, which does not reveal the key. */
const identifyKey = (key: Buffer): string =>
  createHmac("sha256", key).update("sluice captured content: key id").digest("hex").slice(0, 16);

function derive(key: Buffer, salt: Buffer): { readonly key: Buffer; readonly nonce: Buffer } {
  const bytes = Buffer.from(hkdfSync("sha256", key, salt, "sluice captured content", keyBytes + nonceBytes));
  return { key: bytes.subarray(0, keyBytes), nonce: bytes.subarray(keyBytes) };
}

/** @param turn text identifying the turn; decryption needs the same text */
export function sealContent(operatorKey: Buffer, content: Uint8Array, turn: string): SealedContent {
  const salt = randomBytes(saltBytes);
  const { key, nonce } = derive(operatorKey, salt);
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(turn));
  const sealed = Buffer.concat([cipher.update(content), cipher.final(), cipher.getAuthTag()]);
  return { keyId: identifyKey(operatorKey), salt, sealed };
}

/** @returns `unknown-key` when no configured key matches, `changed` when the stored content was modified */
export function openContent(
  operatorKeys: readonly Buffer[],
  { keyId, salt, sealed }: SealedContent,
  turn: string,
): Buffer | "unknown-key" | "changed" {
  const operatorKey = operatorKeys.find((key) => identifyKey(key) === keyId);
  if (!operatorKey) return "unknown-key";
  if (sealed.length < tagBytes) return "changed";
  const { key, nonce } = derive(operatorKey, salt);
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(turn));
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, -tagBytes)), decipher.final()]);
  } catch {
    return "changed";
  }
}
