/** The moment at which a change may be answered. */
import { type Author, recordAudit } from "../store/audit.ts";
import type { PolicyChange } from "../store/policy.ts";
import { transact } from "../store/transaction.ts";
import type { Parts } from "./parts.ts";

/** Waits until the change is in force. Processes of which that is not sure are named in the audit log before the answer. */
export async function untilEnforced(
  { policy, writes }: Pick<Parts, "policy" | "writes">,
  author: Author,
  change: PolicyChange,
): Promise<void> {
  const unsure = await policy.enforced(change);
  if (unsure.processes.length + unsure.cut_off.length === 0) return;
  const entry = { action: "policy.late", target: String(change.generation), after: { ...unsure } };
  await transact(writes, (transaction) => recordAudit(transaction, author, entry));
}
