/** The cookie of a session. */
import type { IncomingMessage } from "node:http";

/** The prefix has browsers refuse a cookie that is not Secure, names a domain, or stands below another path. */
const secureName = "__Host-sluice";
/** Browsers keep no Secure cookie of a page without TLS; only this machine can read the traffic of a loopback address. */
const loopbackName = "sluice_console";

const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

const isPlainLoopback = ({ headers }: IncomingMessage): boolean =>
  loopbackHost.test(headers.host ?? "") && headers["x-forwarded-proto"] !== "https";

const attributes = "Path=/; HttpOnly; SameSite=Strict";

/** Value of `set-cookie`. @param secret empty to remove the cookie */
export function sessionCookie(request: IncomingMessage, secret: string): string {
  const ends = secret === "" ? "; Max-Age=0" : "";
  if (isPlainLoopback(request)) return `${loopbackName}=${secret}; ${attributes}${ends}`;
  return `${secureName}=${secret}; ${attributes}; Secure${ends}`;
}

/** The secret of the session that a request presents. A page of a sibling domain could plant a cookie without the prefix, so none counts there. */
export function presentedSecret(request: IncomingMessage): string | undefined {
  const name = isPlainLoopback(request) ? loopbackName : secureName;
  const pair = (request.headers.cookie ?? "").split(/; */).find((each) => each.startsWith(`${name}=`));
  const value = pair?.slice(name.length + 1);
  return value === undefined || !/^[0-9A-Za-z]{43}$/.test(value) ? undefined : value;
}
