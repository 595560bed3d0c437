/**
 * Keeps the changes of the policy of the last day in a file, and says at a start when the database has lost some: it was restored from a backup, and what was changed after it
 * is void, such as the revocation of a key.
 */
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import {
  type PolicyHistoryChange,
  policyHistoryName,
  readPolicyHistory,
} from "@sluice/proto/lib/policy/policy-history.js";

/** Another admin-svc may announce an earlier generation until it has read the last change, within a second. */
const settleMs = 3_000;
/** Changes soon after each other share a write. */
const writeMs = 200;
const keepMs = 86_400_000;
const maxChanges = 1_000;
/** Maximum number of keys of a change; a larger one is noted without names. */
const maxKeys = 100;
const keyHash = /^[0-9a-f]{64}$/;

export class PolicyHistory {
  readonly #path: string;
  readonly #log: Pick<Logger, "warn" | "debug">;
  #changes: PolicyHistoryChange[];
  #void: PolicyHistoryChange[];
  #current = 0n;
  #settling: NodeJS.Timeout | undefined;
  #writing: NodeJS.Timeout | undefined;
  #written: Promise<void> = Promise.resolve();

  /** @param directory of the spool */
  constructor(directory: string, log: Pick<Logger, "warn" | "debug">) {
    this.#path = join(directory, policyHistoryName);
    this.#log = log;
    const kept = readPolicyHistory(this.#path);
    this.#changes = [...kept.changes];
    this.#void = [...kept.void];
  }

  /** Notes what admin-svc has announced. @param keyHashes null for all keys, empty for none */
  announced(generation: bigint, keyHashes: readonly string[] | null): void {
    this.#current = generation;
    const last = BigInt(this.#changes.at(-1)?.generation ?? 0);
    if (generation < last) this.#settling ??= setTimeout(this.#compare, settleMs).unref();
    else if (generation > last) this.#note(generation, keyHashes);
  }

  /** Writes what is noted. */
  async close(): Promise<void> {
    clearTimeout(this.#settling);
    if (this.#writing) this.#write();
    await this.#written;
  }

  #note(generation: bigint, keyHashes: readonly string[] | null): void {
    const keys = keyHashes?.filter((name) => keyHash.test(name)) ?? null;
    const isNamed = keys !== null && keys.length <= maxKeys;
    this.#changes.push({ generation: generation.toString(), at: Date.now(), keys: isNamed ? keys : null });
    this.#writeSoon();
  }

  readonly #compare = (): void => {
    this.#settling = undefined;
    const lost = this.#changes.filter(({ generation }) => BigInt(generation) > this.#current);
    const [first] = lost;
    if (first === undefined) return;
    this.#changes = this.#changes.filter((change) => !lost.includes(change));
    this.#void.push(...lost);
    const keys = [...new Set(lost.flatMap((change) => change.keys ?? []))];
    this.#log.warn(
      {
        restored_to: new Date(first.at).toISOString(),
        generation: this.#current,
        void_changes: lost.length,
        void_keys: keys.slice(0, maxKeys),
      },
      "the database was restored from a backup: later changes are void, and ledger replay stores the missing turns",
    );
    this.#writeSoon();
  };

  #writeSoon(): void {
    this.#writing ??= setTimeout(() => this.#write(), writeMs).unref();
  }

  #write(): void {
    clearTimeout(this.#writing);
    this.#writing = undefined;
    const since = Date.now() - keepMs;
    const isKept = ({ at }: PolicyHistoryChange): boolean => at >= since;
    const last = this.#changes.length - 1;
    this.#changes = this.#changes.filter((change, index) => index === last || isKept(change)).slice(-maxChanges);
    this.#void = this.#void.filter(isKept).slice(-maxChanges);
    const text = JSON.stringify({ changes: this.#changes, void: this.#void });
    const draft = `${this.#path}.new`;
    this.#written = this.#written
      .then(() => writeFile(draft, text, { mode: 0o600 }))
      .then(() => rename(draft, this.#path))
      .catch((err: unknown) => this.#log.debug({ err }, "changes of the policy are not on the disk"));
  }
}
