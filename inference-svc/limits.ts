/** The limits of keys whose holders come without a gateway; what comes by a gateway was counted there. */
import type { Access } from "@sluice/proto/runtime/access.js";
import type { Admission, Limiter } from "@sluice/proto/runtime/limits/limiter.js";
import { invalidKey } from "@sluice/proto/runtime/rpc/caller.js";

/**
 * @param told headers of the answer, which say what is left
 * @throws Fault UNAUTHENTICATED, RATE_LIMITED, UNAVAILABLE
 */
export async function admitDirectly(
  { access, limiter }: { readonly access: Access; readonly limiter: Limiter },
  keyHash: string,
  told: Headers,
): Promise<Admission> {
  const { caller } = await access.resolve(keyHash);
  if (!caller) throw invalidKey();
  const admission = await limiter.enter(caller);
  for (const [name, value] of Object.entries(admission.headers ?? {})) told.set(name, value);
  if (admission.refusal) throw admission.refusal;
  return admission;
}
