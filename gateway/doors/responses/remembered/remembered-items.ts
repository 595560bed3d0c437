/**
 * Remembers the output items of answers, by key. A client may then send an `item_reference` instead of an item, as OpenAI's clients do by default.
 * The feature is off unless the configuration sets a duration; items are encrypted and bounded in memory.
 */
import type { EdgeSettings } from "@sluice/proto/config/config-file.js";
import type { ItemReceiver } from "@sluice/proto/lib/responses/object.js";
import { type ServiceToken, acceptedTokens, tokenToSend } from "@sluice/proto/lib/rpc/service-token.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import type { ItemStore } from "./item-store.ts";
import { findReferences, withItems } from "./references.ts";
import { seal, unseal } from "./sealed-item.ts";

export interface RememberedItemsDeps {
  readonly settings: () => EdgeSettings["responses"];
  readonly token: ServiceToken;
  /** Opens the store when it is first used, so that there is no connection while the feature is off. */
  readonly openStore: () => ItemStore;
}

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

export class RememberedItems {
  readonly #parts: RememberedItemsDeps;
  #opened: ItemStore | undefined = undefined;

  constructor(parts: RememberedItemsDeps) {
    this.#parts = parts;
  }

  get #store(): ItemStore {
    return (this.#opened ??= this.#parts.openStore());
  }

  /** Whether items are remembered. */
  get isOn(): boolean {
    return this.#parts.settings().remember_items !== undefined;
  }

  /** Lifetime of remembered items in milliseconds; 0 when the feature is off. */
  get #ttlMs(): number {
    const { remember_items: time } = this.#parts.settings();
    return time === undefined ? 0 : Number(time.slice(0, -1)) * (unitMs[time.slice(-1)] as number);
  }

  /** @returns the receiver of one answer's items; undefined when the feature is off */
  taker(keyHash: string): ItemReceiver | undefined {
    const ttlMs = this.#ttlMs;
    if (ttlMs === 0) return undefined;
    // Begins to connect to the store while the model still answers.
    void this.#store;
    return (items) => {
      for (const item of items) if (item !== undefined) this.#keep(keyHash, item, ttlMs);
    };
  }

  /** Replaces references by remembered items. @returns undefined if the body stays unchanged */
  restore(keyHash: string, body: Buffer, members: readonly JsonMember[]): Promise<Buffer | undefined> | undefined {
    if (this.#ttlMs === 0) return undefined;
    const references = findReferences(body, members);
    return references.length === 0 ? undefined : this.#restore(keyHash, body, references);
  }

  stop(): void {
    this.#opened?.stop();
  }

  #keep(keyHash: string, item: string, ttlMs: number): void {
    const { id } = JSON.parse(item) as { id?: unknown };
    if (typeof id !== "string" || id === "") return;
    const name = nameOf(keyHash, id);
    this.#store.put(keyHash, name, seal(item, tokenToSend(this.#parts.token), keyHash, name), ttlMs);
  }

  async #restore(
    keyHash: string,
    body: Buffer,
    references: ReturnType<typeof findReferences>,
  ): Promise<Buffer | undefined> {
    const ids = [...new Set(references.map(({ id }) => id))];
    const found = await this.#store.get(ids.map((id) => nameOf(keyHash, id)));
    const items = new Map<string, string>();
    for (const [index, id] of ids.entries()) {
      const item = this.#open(keyHash, id, found[index]);
      if (item !== undefined) items.set(id, item);
    }
    return items.size === 0 ? undefined : withItems(body, references, items);
  }

  #open(keyHash: string, id: string, sealed: Buffer | undefined): string | undefined {
    if (!sealed) return undefined;
    const name = nameOf(keyHash, id);
    for (const secret of acceptedTokens(this.#parts.token)) {
      const item = unseal(sealed, secret, keyHash, name);
      if (item !== undefined) return item;
    }
    return undefined;
  }
}

/** Name of an item in the store. It contains the hash of the key, so a key cannot find items of other keys. */
const nameOf = (keyHash: string, id: string): string => `${keyHash}:${id}`;
