/**
 * Keeps the policy changes of the last day in a file. At a start it reports changes that the database no longer has
 * because it was restored from an older backup, such as the lost revocation of a key.
 */
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import {
  type PolicyHistoryChange,
  policyHistoryName,
  readPolicyHistory,
} from "@sluice/proto/lib/policy/policy-history.js";

/**
 * Milliseconds to wait for a newer generation: an admin-svc process reads the last change of another one within a
 * second, and announces an earlier generation until then.
 */
const settleMs = 3_000;
/** Milliseconds to wait before writing, so changes in quick succession share one write. */
const writeMs = 200;
const keepMs = 86_400_000;
const maxChanges = 1_000;
/** Maximum number of keys listed for a change; a larger change is noted without its keys. */
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

  /** @param directory the folder of the spool */
  constructor(directory: string, log: Pick<Logger, "warn" | "debug">) {
    this.#path = join(directory, policyHistoryName);
    this.#log = log;
    const kept = readPolicyHistory(this.#path);
    this.#changes = [...kept.changes];
    this.#void = [...kept.void];
  }

  /** Notes a generation announced by admin-svc. @param keyHashes hashes of the changed keys; null for all keys, empty for none */
  announced(generation: bigint, keyHashes: readonly string[] | null): void {
    this.#current = generation;
    const last = BigInt(this.#changes.at(-1)?.generation ?? 0);
    if (generation < last) this.#settling ??= setTimeout(this.#compare, settleMs).unref();
    else if (generation > last) this.#note(generation, keyHashes);
  }

  /** Writes the changes still in memory. */
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
