/**
 * Weighted rendezvous hashing: every endpoint draws a number for the session, and the best draw serves.
 *
 * For one session, every process draws the same numbers, so the session stays at the endpoint with its cache
 * although the processes share nothing. The endpoints' shares of sessions follow the weights, and removing an endpoint
 * moves only its own sessions.
 */
import { createHash, createHmac } from "node:crypto";

/** A 64-bit seed as two halves of 32 bits. */
export interface Seed {
  readonly high: number;
  readonly low: number;
}

const seedOfDigest = (digest: Buffer): Seed => ({ high: digest.readInt32LE(0), low: digest.readInt32LE(4) });

/** Seed of an endpoint, computed once when the configuration is read. */
export const endpointSeed = (name: string): Seed => seedOfDigest(createHash("sha256").update(name).digest());

/**
 * Seed of one key's session with one model. It is a keyed hash, so clients can neither aim at an endpoint nor learn
 * about the sessions of others.
 * @param secret secret of the installation, shared by all replicas
 */
export const sessionSeed = (secret: string, keyHash: string, model: string, session: string): Seed =>
  seedOfDigest(createHmac("sha256", secret).update(`route\0${keyHash}\0${model}\0${session}`).digest());

const bits = () => Math.trunc(Math.random() * 2 ** 32) | 0;

/** A random seed for a request without a session. */
export const randomSeed = (): Seed => ({ high: bits(), low: bits() });

/** Draws a number for an endpoint; the lowest serves. @param weight above 0; the endpoint's share of sessions is proportional to it */
export const drawRank = (session: Seed, endpoint: Seed, weight: number): number =>
  -Math.log(uniform(session, endpoint)) / weight;

/** A number in (0, 1). Both seeds come from a cryptographic hash, so a quick mix is enough: the number has to be fair, not secret. */
function uniform(session: Seed, endpoint: Seed): number {
  const low = mix(session.low ^ endpoint.low);
  const high = mix(session.high ^ endpoint.high ^ low);
  const last = mix(low ^ Math.imul(high, 0x9e3779b1));
  return ((high >>> 0) * 2 ** 20 + (last >>> 12) + 0.5) / 2 ** 52;
}

/** The finalizer of MurmurHash3: every bit of the input influences every bit of the output. */
function mix(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
