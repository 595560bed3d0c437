/** Authenticates senders of messages by their headers, before reading the message. */
import type { IncomingHttpHeaders } from "node:http";
import { plainAddress } from "@sluice/proto/lib/networks/networks.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import { requireAllowedNetwork } from "@sluice/proto/lib/policy/allowed-networks.js";
import { type Sender, trustedSender } from "@sluice/proto/lib/rpc/admission.js";
import { invalidKey, isServiceToken, parseBearer, serviceTokenHeader } from "@sluice/proto/lib/rpc/caller.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";

export interface SendersDeps {
  readonly access: Access;
  readonly token: ServiceToken;
}

/** @throws Fault UNAUTHENTICATED, PERMISSION_DENIED, UNAVAILABLE */
export const senderResolver =
  ({ access, token }: SendersDeps) =>
  async (
    _path: string,
    headers: IncomingHttpHeaders,
    peer: string | undefined,
  ): Promise<Sender | typeof trustedSender> => {
    if (isServiceToken((headers[serviceTokenHeader] as string | undefined) ?? null, token)) return trustedSender;
    const { keyHash } = parseBearer(headers.authorization);
    const { caller } = await access.resolve(keyHash);
    if (!caller) throw invalidKey();
    // Proxies named for the gateway have no say here: everybody in their networks could write the header.
    if (caller.allowedNetworks.length > 0) requireAllowedNetwork(caller.allowedNetworks, plainAddress(peer ?? ""));
    return { key: keyHash };
  };
