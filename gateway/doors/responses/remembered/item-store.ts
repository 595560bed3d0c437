/** The store of remembered items. */
export interface ItemStore {
  /** @param owner hash of the API key; @param name of the item, unique among all owners */
  put(owner: string, name: string, sealed: Buffer, ttlMs: number): void;
  /** @returns an item for each name; undefined for an unknown name, or when the store is too slow */
  get(names: readonly string[]): Promise<readonly (Buffer | undefined)[]>;
  stop(): void;
}
