/** Authenticates the senders of messages by the headers, before a message is read. */
import type { IncomingHttpHeaders } from "node:http";
import { plainAddress } from "@sluice/proto/lib/networks/networks.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import { requireAllowedNetwork } from "@sluice/proto/lib/policy/allowed-networks.js";
import type { NetworkRefusals } from "@sluice/proto/lib/rpc/network-refusals.js";
import { type Sender, trustedSender } from "@sluice/proto/lib/rpc/admission.js";
import { invalidKey, isServiceToken, parseBearer, serviceTokenHeader } from "@sluice/proto/lib/rpc/caller.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";

export interface SendersDeps {
  readonly access: Access;
  readonly token: ServiceToken;
  readonly networkRefusals: NetworkRefusals;
}

/** Finds the sender of a message. @throws Fault UNAUTHENTICATED, PERMISSION_DENIED, UNAVAILABLE */
export const senderResolver =
  ({ access, token, networkRefusals }: SendersDeps) =>
  async (
    path: string,
    headers: IncomingHttpHeaders,
    peer: string | undefined,
  ): Promise<Sender | typeof trustedSender> => {
    if (isServiceToken((headers[serviceTokenHeader] as string | undefined) ?? null, token)) return trustedSender;
    const { keyHash } = parseBearer(headers.authorization);
    const { caller } = await access.resolve(keyHash);
    if (!caller) throw invalidKey();
    // The trusted proxies configured for the gateway are not trusted here: everybody in their networks could write the
    // header.
    const address = plainAddress(peer ?? "");
    try {
      requireAllowedNetwork(caller.allowedNetworks, address);
    } catch (error) {
      await networkRefusals.note(caller, path, { address });
      throw error;
    }
    return { key: keyHash };
  };
