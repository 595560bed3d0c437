/**
 * Logs each refused call of a client, in the same form as the gateway does. Processes of Sluice log the refusals of
 * their own calls.
 */
import type { Fault } from "../faults/fault.ts";
import { networkOf } from "../limits/client-network.ts";
import { WindowCounts } from "../limits/window-counts.ts";
import type { Logger } from "../log/log.ts";
import { plainAddress } from "../networks/networks.ts";
import { isKeyRefusal } from "../policy/allowed-networks.ts";
import { isServiceToken, parseBearer } from "./caller.ts";
import type { ServiceToken } from "./service-token.ts";

export interface RefusedCall {
  /** Path of the call, without the query, which can contain the message. */
  readonly path: string;
  /** Service token that the caller presented. */
  readonly presented: string | null;
  /** Authorization header of the call. */
  readonly authorization: string | null | undefined;
  /** Address of the other end; undefined once the connection is closed. */
  readonly peer: string | undefined;
}

export type LogRefusal = (call: RefusedCall, fault: Fault) => void;

export interface RefusalLogOptions {
  readonly log: Pick<Logger, "info">;
  readonly token?: ServiceToken | undefined;
  /** Whether lines contain the address of the client; by default they do not. */
  readonly logsAddresses?: (() => boolean) | undefined;
}

const windowMs = 60_000;
/**
 * Maximum lines a minute about calls without a usable key, for one client and for all clients: no rate limit of a key
 * counts these calls.
 */
const maxOfClient = 60;
const maxOfAll = 600;
const all = "all";
/** Maximum length of a logged path, which clients choose. */
const maxPathLength = 200;

export function refusalLog({ log, token, logsAddresses = () => false }: RefusalLogOptions): LogRefusal {
  const keyless = new WindowCounts(windowMs);
  const isWithinBounds = (address: string): boolean => {
    const now = performance.now();
    return keyless.count(networkOf(address), now).count <= maxOfClient && keyless.count(all, now).count <= maxOfAll;
  };
  return ({ path, presented, authorization, peer }, fault) => {
    const { status, errorType } = fault;
    const isOfSluice = token !== undefined && isServiceToken(presented, token);
    if (status < 400 || status > 499 || isOfSluice) return;
    const address = plainAddress(peer ?? "");
    if (isKeyRefusal(fault) && !isWithinBounds(address)) return;
    const keyHash = keyHashIn(authorization);
    const line = {
      method: "POST",
      route: path.split("?", 1)[0]?.slice(0, maxPathLength),
      status,
      error_type: errorType,
      ...(keyHash !== undefined && { key_hash: keyHash }),
      ...(logsAddresses() && address !== "" && { address }),
    };
    log.info(line, "request");
  };
}

/** Hash of the key in a header; undefined when the header does not have the form of a key. */
function keyHashIn(authorization: string | null | undefined): string | undefined {
  try {
    return parseBearer(authorization).keyHash;
  } catch {
    return undefined;
  }
}
