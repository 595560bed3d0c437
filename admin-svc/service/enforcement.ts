/** Delays the answer to a policy change until the change is enforced. */
import { type Author, recordAudit } from "../store/audit.ts";
import type { PolicyChange } from "../store/policy.ts";
import { runInTransaction } from "../store/postgres/transaction.ts";
import type { Deps } from "./deps.ts";

/**
 * Waits until all processes enforce the change, or until the limit. Processes without confirmation are then named in
 * the audit log, before the answer.
 */
export async function untilEnforced(
  { policy, writes }: Pick<Deps, "policy" | "writes">,
  author: Author,
  change: PolicyChange,
): Promise<void> {
  const unsure = await policy.enforced(change);
  if (unsure.processes.length + unsure.cut_off.length === 0) return;
  const entry = { action: "policy.late", target: String(change.generation), after: { ...unsure } };
  await runInTransaction(writes, (transaction) => recordAudit(transaction, author, entry));
}
