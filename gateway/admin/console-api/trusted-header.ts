/** Sign-in through a reverse proxy, which names the person of each request in a header. */
import type { IncomingMessage } from "node:http";
import type { TrustedHeaderSettings } from "@sluice/proto/config/console/section.js";
import { Networks, plainAddress } from "@sluice/proto/lib/networks/networks.js";
import { type AuthorizedPerson, identityOf, authorizePerson, signInRefusal } from "./people.ts";

const section = "console.trusted_header";

export class TrustedHeader {
  readonly #settings: TrustedHeaderSettings;
  readonly #proxies: Networks;

  constructor(settings: TrustedHeaderSettings) {
    this.#settings = settings;
    this.#proxies = new Networks(settings.from);
  }

  /**
   * Identifies the person of a request by the proxy's header. A request with the header from another sender is refused, not served without the
   * header: the sender would wrongly believe the header to be effective.  @returns undefined for a request without the header  @throws Fault
   * PERMISSION_DENIED
   */
  find(request: IncomingMessage): AuthorizedPerson | undefined {
    const { user_header: userHeader, group_header: groupHeader, roles } = this.#settings;
    const user = single(request, userHeader);
    const groups = groupHeader === undefined ? undefined : single(request, groupHeader);
    if (user === undefined && groups === undefined) return undefined;
    if (!this.#proxies.has(plainAddress(request.socket.remoteAddress ?? ""))) {
      const named = user === undefined ? groupHeader : userHeader;
      throw signInRefusal(`The header ${named} counts only in requests from the addresses of ${section}.from`);
    }
    if (user === undefined) throw signInRefusal(`The header ${groupHeader} came without ${userHeader}`);
    const listed = (groups ?? "").split(",").map((group) => group.trim());
    return authorizePerson(identityOf(user, listed, `The header ${userHeader}`), roles, section);
  }
}

/** The value of a header. A repeated header is refused, since one value could be the proxy's and one the client's. @throws Fault PERMISSION_DENIED */
function single({ rawHeaders, headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  if (value === undefined) return undefined;
  const times = rawHeaders.filter((each, index) => index % 2 === 0 && each.toLowerCase() === name).length;
  if (times > 1) throw signInRefusal(`The header ${name} is sent more than once`);
  return String(value);
}
