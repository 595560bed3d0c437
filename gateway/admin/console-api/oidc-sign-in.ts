/** The two steps of an OpenID Connect sign-in, as browser requests. */
import { callbackPath } from "@sluice/proto/config/console/section.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import type { EdgeContext } from "../../edge/http/context.ts";
import { writeJson } from "../../edge/http/errors.ts";
import type { KeylessLimiter } from "../../edge/http/keyless-limiter.ts";
import { signInCookie, presentedCookie, consoleSessionCookie, setCookie } from "./cookie.ts";
import type { Oidc } from "./oidc.ts";
import type { Sessions } from "./sessions.ts";

const maxSeconds = 600;

export interface SignInParts {
  readonly keylessLimiter: KeylessLimiter;
  readonly log: Logger;
}

/** Answers with the service's sign-in address. @throws Fault RATE_LIMITED, UNAVAILABLE */
export async function beginSignIn({ keylessLimiter }: SignInParts, oidc: Oidc, context: EdgeContext): Promise<void> {
  const { req: request, res: response } = context;
  const refusal = await keylessLimiter.admit(request);
  if (refusal) throw refusal;
  const { url, state, nonce, verifier } = await oidc.begin();
  response.setHeader("set-cookie", setCookie(signInCookie, request, `${state}.${nonce}.${verifier}`, maxSeconds));
  writeJson(response, { data: { url } }, context);
}

/**
 * Handles the redirect from the sign-in service: answers with the signed-in console, or with the sign-in page and the reason of the failure. @throws
 * Fault RATE_LIMITED
 */
export async function finishSignIn(
  { keylessLimiter, log }: SignInParts,
  oidc: Oidc,
  sessions: Sessions,
  context: EdgeContext,
): Promise<void> {
  const { req: request, res: response, requestId } = context;
  context.route = callbackPath;
  const refusal = await keylessLimiter.admit(request);
  if (refusal) throw refusal;
  const cookies = [setCookie(signInCookie, request, "")];
  let query = "";
  try {
    cookies.push(setCookie(consoleSessionCookie, request, await openSession(oidc, sessions, context)));
  } catch (error) {
    // Logs only the library's message: the error object contains claims and tokens.
    log.warn({ request_id: requestId, reason: (error as Error).message }, "a sign-in to the console failed");
    query = `?sign_in=${outcomeOf(error)}`;
  }
  const headers = { location: `/console${query}`, "set-cookie": cookies, "cache-control": "no-store" };
  response.writeHead(303, { ...headers, "referrer-policy": "no-referrer", "x-request-id": requestId });
  response.end();
}

/** @returns the secret of the new session */
async function openSession(oidc: Oidc, sessions: Sessions, context: EdgeContext): Promise<string> {
  const [state, nonce, verifier] = presentedCookie(signInCookie, context.req)?.split(".") ?? [];
  if (state === undefined || nonce === undefined || verifier === undefined) {
    throw new Error("this browser has begun no sign-in in the last ten minutes");
  }
  const { url = "" } = context.req;
  const person = await oidc.finish(url.slice(url.indexOf("?") + 1), { state, nonce, verifier });
  const { requestId, trace, address } = context;
  return (await sessions.open({ requestId, trace, address }, person)).secret;
}

/** A code for the sign-in page, which has a text for each code. The page shows no text of its address, since anybody could forge one. */
function outcomeOf(error: unknown): string {
  if (!(error instanceof Fault)) return "failed";
  if (error.reason === FaultReason.PERMISSION_DENIED) return "no-role";
  return error.reason === FaultReason.UNAVAILABLE ? "unavailable" : "failed";
}
