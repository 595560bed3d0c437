/** The console's cookies: one for a session, one for a running sign-in at another service. */
import type { IncomingMessage } from "node:http";

interface Cookie {
  /** The prefix makes browsers reject a cookie that is not Secure, has a domain, or has another path. */
  readonly secureName: string;
  /** Browsers store no Secure cookie from a page without TLS; only this machine can read the traffic of a loopback address. */
  readonly loopbackName: string;
  readonly sameSite: "Strict" | "Lax";
  readonly form: RegExp;
}

/** Cookie with the secret of a console session. */
export const consoleSessionCookie: Cookie = {
  secureName: "__Host-sluice",
  loopbackName: "sluice_console",
  sameSite: "Strict",
  form: /^[0-9A-Za-z]{43}$/,
};

/**
 * Cookie with the state, nonce and verifier of a running sign-in. `SameSite` is not `Strict`: the browser would then leave the cookie out when the
 * sign-in service redirects back.
 */
export const signInCookie: Cookie = {
  secureName: "__Host-sluice-sign-in",
  loopbackName: "sluice_sign_in",
  sameSite: "Lax",
  form: /^[\w-]{43}(?:\.[\w-]{43}){2}$/,
};

const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

const isPlainLoopback = ({ headers }: IncomingMessage): boolean =>
  loopbackHost.test(headers.host ?? "") && headers["x-forwarded-proto"] !== "https";

/** Value of `set-cookie`. @param value empty to remove the cookie @param maxAge lifetime in seconds; until the browser closes when absent */
export function setCookie(cookie: Cookie, request: IncomingMessage, value: string, maxAge?: number): string {
  const seconds = value === "" ? 0 : maxAge;
  const ends = seconds === undefined ? "" : `; Max-Age=${seconds}`;
  const attributes = `Path=/; HttpOnly; SameSite=${cookie.sameSite}`;
  if (isPlainLoopback(request)) return `${cookie.loopbackName}=${value}; ${attributes}${ends}`;
  return `${cookie.secureName}=${value}; ${attributes}; Secure${ends}`;
}

/**
 * @returns the cookie's value in a request. Except on a plain loopback connection, only a cookie with the prefix counts, since a page of a sibling
 * domain could plant any other.
 */
export function presentedCookie(cookie: Cookie, request: IncomingMessage): string | undefined {
  const name = isPlainLoopback(request) ? cookie.loopbackName : cookie.secureName;
  const pair = (request.headers.cookie ?? "").split(/; */).find((each) => each.startsWith(`${name}=`));
  const value = pair?.slice(name.length + 1);
  return value === undefined || !cookie.form.test(value) ? undefined : value;
}
