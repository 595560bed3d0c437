/** Running generations by key and Idempotency-Key, for later requests to join. Ended generations are removed. */
import { SlotMap } from "../load/slot-map.ts";
import { type Registry, gauge } from "../metrics/metrics.ts";
import { invalid } from "../validation/problems.ts";
import { EventLogMemory } from "./event-log.ts";
import { Generation, type KeyedTurn } from "./generation.ts";

/** Limit for the bytes of events of all generations together. Above it, a growing generation can no longer be joined. */
const maxLoggedBytes = 67_108_864;

const form = /^[\x21-\x7e]{1,255}$/;

/** @param key value of the header or of the metadata `idempotency-key` @throws Fault INVALID_REQUEST */
export function readIdempotencyKey(key: string | readonly string[] | null | undefined): string | undefined {
  if (key === undefined || key === null) return undefined;
  if (typeof key === "string" && form.test(key)) return key;
  throw invalid("idempotency-key", "1 to 255 visible characters of ASCII");
}

export class InFlight<Turn extends KeyedTurn> {
  readonly #generations = new SlotMap<string, Generation<Turn>>();
  readonly #room = new EventLogMemory(maxLoggedBytes);

  constructor(registry: Registry) {
    gauge(
      registry,
      "sluice_idempotency_log_bytes",
      "Bytes of events that are kept for requests that may join a running turn by its Idempotency-Key.",
      () => this.#room.usedBytes,
    );
  }

  find(keyHash: string, idempotencyKey: string): Generation<Turn> | undefined {
    return this.#generations.get(nameOf(keyHash, idempotencyKey));
  }

  /** Call `find` first: this replaces a generation of the same name. */
  begin(keyHash: string, idempotencyKey: string): Generation<Turn> {
    const name = nameOf(keyHash, idempotencyKey);
    const generation = new Generation<Turn>(this.#room, () => this.#generations.delete(name));
    this.#generations.set(name, generation);
    return generation;
  }
}

/** Includes the key, because two keys may use the same Idempotency-Key. */
const nameOf = (keyHash: string, idempotencyKey: string): string => `${keyHash}:${idempotencyKey}`;
