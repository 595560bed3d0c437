/** Encrypts remembered items with an encryption key for each API key: a dump of Redis reveals no content. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const algorithm = "aes-256-gcm";
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

const sealingKey = (secret: string, keyHash: string): Buffer =>
  Buffer.from(hkdfSync("sha256", secret, keyHash, "remembered items", keyBytes));

/** Encrypts an item. @param secret secret shared by all gateways @param name name of the item in the store, required again to decrypt it */
export function seal(json: string, secret: string, keyHash: string, name: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, sealingKey(secret, keyHash), nonce).setAAD(Buffer.from(name));
  return Buffer.concat([nonce, cipher.update(json, "utf8"), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts an item. @returns undefined for bytes encrypted with another secret, key or name */
export function unseal(sealed: Buffer, secret: string, keyHash: string, name: string): string | undefined {
  try {
    const end = sealed.length - tagBytes;
    const decipher = createDecipheriv(algorithm, sealingKey(secret, keyHash), sealed.subarray(0, nonceBytes))
      .setAAD(Buffer.from(name))
      .setAuthTag(sealed.subarray(end));
    return decipher.update(sealed.subarray(nonceBytes, end), undefined, "utf8") + decipher.final("utf8");
  } catch {
    return undefined;
  }
}
