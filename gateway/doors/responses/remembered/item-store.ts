/** The store of remembered items. */
export interface ItemStore {
  /** Stores an item. @param owner hash of the API key @param name name of the item, unique among all owners @param ttlMs lifetime in milliseconds */
  put(owner: string, name: string, sealed: Buffer, ttlMs: number): void;
  /** @returns an item for each name; undefined for an unknown name, or if the store does not answer in time */
  get(names: readonly string[]): Promise<readonly (Buffer | undefined)[]>;
  stop(): void;
}
