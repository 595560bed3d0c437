/** The store of remembered items. */
export interface ItemStore {
  /** @param owner hash of the API key; @param name of the item, which is unique among all owners */
  put(owner: string, name: string, sealed: Buffer, ttlMs: number): void;
  /** @returns an item for each name; undefined for one that is not there, or that the store cannot give in time */
  get(names: readonly string[]): Promise<readonly (Buffer | undefined)[]>;
  stop(): void;
}
