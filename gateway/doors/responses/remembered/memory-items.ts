/** Keeps items in the memory of this process. Beyond a limit the oldest items are dropped: those of the owner, or of all owners. */
import type { ItemStore } from "./item-store.ts";

const maxBytes = 64 * 1024 * 1024;
/** Maximum for one owner, in bytes: a single owner cannot displace the items of all others. */
const maxOwnerBytes = maxBytes / 8;
/** Estimated memory of an entry in bytes, in addition to its item. */
const entryBytes = 200;

interface Entry {
  readonly owner: string;
  readonly sealed: Buffer;
  readonly expiresAt: number;
}

export class MemoryItems implements ItemStore {
  /** Entries by name, in the order in which they were stored. */
  readonly #entries = new Map<string, Entry>();
  readonly #ownerBytes = new Map<string, number>();
  readonly #now: () => number;
  #bytes = 0;

  /** @param now clock in milliseconds that never goes backwards */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Bytes of all items kept. */
  get bytes(): number {
    return this.#bytes;
  }

  put(owner: string, name: string, sealed: Buffer, ttlMs: number): void {
    this.#remove(name);
    this.#dropExpired();
    this.#entries.set(name, { owner, sealed, expiresAt: this.#now() + ttlMs });
    this.#count(owner, sealed.length + entryBytes);
    while ((this.#ownerBytes.get(owner) ?? 0) > maxOwnerBytes) this.#removeOldest(owner);
    while (this.#bytes > maxBytes) this.#removeOldest();
  }

  get(names: readonly string[]): Promise<readonly (Buffer | undefined)[]> {
    const now = this.#now();
    const found = names.map((name) => {
      const entry = this.#entries.get(name);
      return entry && entry.expiresAt > now ? entry.sealed : undefined;
    });
    return Promise.resolve(found);
  }

  stop(): void {
    this.#entries.clear();
  }

  /** Drops expired items from the oldest on. An expired item behind one that is still valid stays until it is among the oldest. */
  #dropExpired(): void {
    const now = this.#now();
    for (const [name, { expiresAt }] of this.#entries) {
      if (expiresAt > now) return;
      this.#remove(name);
    }
  }

  #removeOldest(owner?: string): void {
    for (const [name, entry] of this.#entries) {
      if (owner === undefined || entry.owner === owner) return this.#remove(name);
    }
  }

  #remove(name: string): void {
    const entry = this.#entries.get(name);
    if (!entry) return;
    this.#entries.delete(name);
    this.#count(entry.owner, -entry.sealed.length - entryBytes);
  }

  #count(owner: string, bytes: number): void {
    this.#bytes += bytes;
    const left = (this.#ownerBytes.get(owner) ?? 0) + bytes;
    if (left > 0) this.#ownerBytes.set(owner, left);
    else this.#ownerBytes.delete(owner);
  }
}
