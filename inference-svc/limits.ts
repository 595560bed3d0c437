/** The limits of keys whose holders come without a gateway; what comes by a gateway was counted there. */
import type { Access } from "@sluice/proto/runtime/access.js";
import { KeyKind } from "@sluice/proto/runtime/key.js";
import { type Ask, readOnly } from "@sluice/proto/runtime/limits/decision.js";
import type { Admission, Limiter } from "@sluice/proto/runtime/limits/limiter.js";
import { invalidKey } from "@sluice/proto/runtime/rpc/caller.js";

const unlimited: Admission = { refusal: undefined, headers: undefined, countsTokens: false, leave: () => {} };

/**
 * @param told headers of the answer, which say what is left
 * @throws Fault UNAUTHENTICATED, RATE_LIMITED, UNAVAILABLE
 */
export async function admitDirectly(
  { access, limiter }: { readonly access: Access; readonly limiter: Limiter },
  keyHash: string,
  told: Headers,
  ask?: Ask,
): Promise<Admission> {
  const { caller } = await access.resolve(keyHash);
  if (!caller) throw invalidKey();
  // Management keys have no limits: they may read, and what opens a turn refuses them.
  if (ask === readOnly && caller.kind === KeyKind.MANAGEMENT) return unlimited;
  const admission = await limiter.enter(caller, ask);
  for (const [name, value] of Object.entries(admission.headers ?? {})) told.set(name, value);
  if (admission.refusal) throw admission.refusal;
  return admission;
}
