/**
 * Weighted rendezvous hashing: every endpoint draws a number for the session, and the best draw serves.
 *
 * A session draws the same numbers in every process, so it stays with its cache although nothing is shared. Shares follow the weights,
 * and removing an endpoint moves only its own sessions.
 */
import { createHash, createHmac } from "node:crypto";

/** A 64-bit seed in two halves. */
export interface Seed {
  readonly high: number;
  readonly low: number;
}

const seedOfDigest = (digest: Buffer): Seed => ({ high: digest.readInt32LE(0), low: digest.readInt32LE(4) });

/** Seed of an endpoint, made once when the configuration is read. */
export const endpointSeed = (name: string): Seed => seedOfDigest(createHash("sha256").update(name).digest());

/**
 * Seed of one key's session with one model. It is keyed, so clients can neither aim at an endpoint nor learn about sessions of others.
 * @param secret shared by all replicas
 */
export const sessionSeed = (secret: string, keyHash: string, model: string, session: string): Seed =>
  seedOfDigest(createHmac("sha256", secret).update(`route\0${keyHash}\0${model}\0${session}`).digest());

const bits = () => Math.trunc(Math.random() * 2 ** 32) | 0;

/** Seed for a request without a session. */
export const randomSeed = (): Seed => ({ high: bits(), low: bits() });

/** Draws a number; lower comes first. @param weight above 0; the share of sessions is proportional to it */
export const drawRank = (session: Seed, endpoint: Seed, weight: number): number =>
  -Math.log(uniform(session, endpoint)) / weight;

/** A number in (0, 1). Both seeds come out of a cryptographic hash, so a quick mix is enough: it has to be fair, not secret. */
function uniform(session: Seed, endpoint: Seed): number {
  const low = mix(session.low ^ endpoint.low);
  const high = mix(session.high ^ endpoint.high ^ low);
  const last = mix(low ^ Math.imul(high, 0x9e3779b1));
  return ((high >>> 0) * 2 ** 20 + (last >>> 12) + 0.5) / 2 ** 52;
}

/** The finalizer of MurmurHash3: every bit of the input moves every bit of the output. */
function mix(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
