/** Opens connections only to addresses that were already checked, so later DNS changes have no effect. */
import { type LookupFunction, isIPv6 } from "node:net";
import { buildConnector } from "undici";
import { isPublic } from "./public-address.ts";
import { PageUnreadable } from "./page-unreadable.ts";
import type { FetchTarget } from "./fetch-target.ts";

const connectMs = 5_000;

/** A connector for undici. The host's name is used only in the TLS handshake and the headers. */
export function pinnedConnector({ addresses, isTrusted }: FetchTarget): buildConnector.connector {
  const pinned = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  const lookup: LookupFunction = (_host, options, done) => {
    const [first] = pinned;
    if (options.all === true) done(null, pinned);
    else if (first) done(null, first.address, first.family);
  };
  const connect = buildConnector({ lookup, timeout: connectMs, maxCachedSessions: 0 });
  return (options, done) =>
    connect(options, (...result) => {
      const [error, socket] = result;
      // The address that counts is the one to which the socket is connected.
      if (error === null && !isTrusted && !isPublic(socket.remoteAddress ?? "")) {
        socket.destroy();
        return done(new PageUnreadable("a host that is not on the public internet"), null);
      }
      return done(...result);
    });
}
