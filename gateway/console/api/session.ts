/** The session of the signed-in person. */
import { signal } from "@preact/signals";
import { type Role, permits } from "@sluice/proto/lib/policy/role.js";
import { ApiError, onSignedOut, sendRequest } from "./client.ts";

export interface Session {
  readonly key: { readonly hash: string; readonly name: string; readonly label: string };
  readonly workspace: { readonly id: string; readonly name: string };
  /** Whether the key may change what applies to every workspace. */
  readonly account: boolean;
  /** E-mail address of the person; null for the holder of a management key. */
  readonly person: string | null;
  readonly role: Role;
  /** URL template of a trace, with {trace_id} as the id. */
  readonly trace_url: string | null;
  /** Sign-out page of an identifying proxy; null for Sluice's own sessions. */
  readonly sign_out_url: string | null;
}

/** The session of this page: undefined until it is loaded, null when nobody is signed in. */
export const session = signal<Session | null | undefined>(undefined);
/** Whether the signed-in person has the role `needed` or a higher one. */
export const hasRole = (needed: Role): boolean => permits(session.value?.role ?? "viewer", needed);

/** Name of the sign-in service; empty without a service. */
export const signInService = signal("");
/** Reason shown on the sign-in page; empty if there is simply no session. */
export const signInReason = signal("");

/** Ends the session in this page and shows the sign-in page with a reason. */
export function endSession(): void {
  if (session.peek()) signInReason.value = "Your session has ended. Sign in again to go on.";
  session.value = null;
}

onSignedOut(endSession);

interface SessionAnswer {
  readonly data: Session | null;
  readonly oidc?: { readonly name: string } | null;
  /** Why the browser's session is refused, such as a key that may not be used from this address. */
  readonly refusal?: string;
}

/** Signs in with the link that Sluice prints at its start, if the address has one. */
export async function signInByLink(): Promise<void> {
  const link = new URLSearchParams(location.hash.slice(1)).get("link");
  if (link === null) return;
  history.replaceState(null, "", location.pathname + location.search);
  await sendRequest("POST", "/session", { link }).catch((error: unknown) => {
    signInReason.value = (error as Error).message;
  });
}

export async function readSession(): Promise<void> {
  try {
    const { data, oidc, refusal } = await sendRequest<SessionAnswer>("GET", "/session");
    signInService.value = oidc?.name ?? "";
    if (data === null) takeOutcome();
    if (refusal !== undefined) signInReason.value = refusal;
    session.value = data;
  } catch (error) {
    signInReason.value = (error as Error).message;
    session.value = null;
  }
}

/** @throws ApiError */
export async function signIn(managementKey: string): Promise<void> {
  await sendRequest("POST", "/session", { management_key: managementKey });
  signInReason.value = "";
  await readSession();
  if (!session.peek()) {
    signInReason.value = "The browser kept no cookie. Open the console over https, or on this machine as localhost.";
  }
}

/** Redirects to the sign-in service. @throws ApiError */
export async function signInThroughService(): Promise<void> {
  const { data } = await sendRequest<{ readonly data: { readonly url: string } }>("POST", "/oidc");
  location.assign(data.url);
}

const outcomes: Readonly<Record<string, string>> = {
  "no-role": "You are signed in there, but no rule gives you a role here. Ask an administrator of Sluice.",
  unavailable: "The sign-in service does not answer. Try again in a moment.",
  failed: "The sign-in did not succeed. Try again.",
};

/** Takes the outcome of a sign-in at the service out of the page's address, and shows it as the reason. */
function takeOutcome(): void {
  const word = new URLSearchParams(location.search).get("sign_in");
  if (word === null) return;
  history.replaceState(null, "", location.pathname);
  signInReason.value = outcomes[word] ?? "";
}

/** Tasks to run before a person signs out. */
const leaving: (() => Promise<void>)[] = [];
export const beforeSignOut = (leave: () => Promise<void>): void => void leaving.push(leave);

/** @param all ends every session of the person or the key */
export async function signOut(all = false): Promise<void> {
  for (const leave of leaving) await leave();
  const failure = await sendRequest("DELETE", all ? "/sessions" : "/session").catch((error: unknown) => error);
  const hasEnded = failure === undefined || (failure instanceof ApiError && failure.status === 401);
  const elsewhere = session.peek()?.sign_out_url;
  if (elsewhere) return location.assign(elsewhere);
  signInReason.value = hasEnded ? "" : `You are still signed in at this browser: ${(failure as Error).message}`;
  session.value = null;
}
