/**
 * Weighted rendezvous: every endpoint draws a number for the session, and the best draw serves.
 *
 * The same session draws the same numbers in every process, so that it stays where its cache is without anything being shared; shares follow
 * the weights; and an endpoint that goes takes only its own sessions along.
 */
import { createHash, createHmac } from "node:crypto";

/** 64 bits. */
export interface Seed {
  readonly high: number;
  readonly low: number;
}

const seedOfDigest = (digest: Buffer): Seed => ({ high: digest.readInt32LE(0), low: digest.readInt32LE(4) });

/** Of an endpoint; made once, when the configuration is read. */
export const seedOf = (name: string): Seed => seedOfDigest(createHash("sha256").update(name).digest());

/**
 * Of a session of one key with one model: nobody can aim at an endpoint, or learn of another's session.
 * @param secret shared by all replicas
 */
export const sessionSeed = (secret: string, keyHash: string, model: string, session: string): Seed =>
  seedOfDigest(createHmac("sha256", secret).update(`route\0${keyHash}\0${model}\0${session}`).digest());

const bits = () => Math.trunc(Math.random() * 2 ** 32) | 0;

/** For a request that belongs to no session. */
export const randomSeed = (): Seed => ({ high: bits(), low: bits() });

/** The lower the earlier. @param weight above 0; the share of sessions is proportional to it */
export const draw = (session: Seed, endpoint: Seed, weight: number): number =>
  -Math.log(uniform(session, endpoint)) / weight;

/** In (0, 1). Both seeds come out of a cryptographic hash, so a quick mix is enough: it has to be fair, not secret. */
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
