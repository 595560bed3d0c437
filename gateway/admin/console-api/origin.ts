/** Refuses requests of other pages that carry a person's cookie. */
import type { IncomingMessage } from "node:http";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";

const reads: ReadonlySet<string | undefined> = new Set(["GET", "HEAD"]);

/**
 * A change has to come from a page of the same origin, in a content type that forms cannot send. Schemes are not compared: a proxy may have terminated TLS.
 * @throws Fault PERMISSION_DENIED, INVALID_REQUEST
 */
export function requireSameOrigin({ method, headers }: IncomingMessage): void {
  const site = headers["sec-fetch-site"];
  if (reads.has(method)) {
    if (site !== undefined && site !== "same-origin" && site !== "none") throw otherOrigin();
    return;
  }
  const isSame = site === "same-origin" || (site === undefined && hostOf(headers.origin) === headers.host);
  if (!isSame) throw otherOrigin();
  if (!/^application\/json(?:;|$)/i.test(headers["content-type"] ?? "")) {
    throw new Fault(FaultReason.INVALID_REQUEST, "content-type: must be application/json", {
      origin: FaultOrigin.CLIENT,
    });
  }
}

const otherOrigin = (): Fault =>
  new Fault(FaultReason.PERMISSION_DENIED, "The console takes requests of its own pages only", {
    origin: FaultOrigin.CLIENT,
  });

/** Host and port of an origin; undefined for `null`, the value of an opaque origin. */
const hostOf = (origin: string | undefined): string | undefined =>
  origin !== undefined && URL.canParse(origin) ? new URL(origin).host : undefined;
