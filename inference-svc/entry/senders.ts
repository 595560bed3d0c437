/** Authenticates senders of messages by their headers, before reading the message. */
import type { IncomingHttpHeaders } from "node:http";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import { type Sender, trustedSender } from "@sluice/proto/lib/rpc/admission.js";
import { invalidKey, isServiceToken, parseBearer, serviceTokenHeader } from "@sluice/proto/lib/rpc/caller.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";

/** @throws Fault UNAUTHENTICATED, UNAVAILABLE */
export const senderResolver =
  ({ access, token }: { readonly access: Access; readonly token: ServiceToken }) =>
  async (_path: string, headers: IncomingHttpHeaders): Promise<Sender | typeof trustedSender> => {
    if (isServiceToken((headers[serviceTokenHeader] as string | undefined) ?? null, token)) return trustedSender;
    const { keyHash } = parseBearer(headers.authorization);
    const { caller } = await access.resolve(keyHash);
    if (!caller) throw invalidKey();
    return { key: keyHash };
  };
