/**
 * Records in the audit log that a management key was refused because of its allowed networks; the number of entries is
 * limited.
 */
import { NetworkRefusalBound } from "@sluice/proto/lib/limits/network-refusal-bound.js";
import type { Kysely } from "kysely";
import type { Author } from "../store/audit.ts";
import type { Database } from "../store/database.ts";
import { recordNetworkRefusal } from "../store/network-refusals.ts";

export class NetworkRefusals {
  readonly #writes: Kysely<Database>;
  readonly #bound = new NetworkRefusalBound();

  constructor(writes: Kysely<Database>) {
    this.#writes = writes;
  }

  /** @param call HTTP method and path, or the path of an RPC */
  async note(author: Author & { readonly keyHash: string }, call: string): Promise<void> {
    const { keyHash, address } = author;
    if (!this.#bound.admits(keyHash, address ?? "")) return;
    try {
      await recordNetworkRefusal(this.#writes, author, call);
    } catch (error) {
      this.#bound.release(keyHash, address ?? "");
      throw error;
    }
  }
}
