/** People identified by other services, and the rules for their roles. */
import type { PersonRule } from "@sluice/proto/config/console/section.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";

/** A person as identified by a service. */
export interface Identity {
  /** E-mail address in lower case. */
  readonly email: string;
  readonly groups: readonly string[];
}

/** A person with the applicable rule. */
export interface AuthorizedPerson {
  readonly email: string;
  readonly workspace: string;
  readonly account: boolean;
  readonly role: string;
  /** The rule as text, to recognize sessions whose rule was removed. */
  readonly rule: string;
}

/** A single e-mail address, in characters safe for every log and header: with two at signs it would match the rules of two domains. */
const email = /^[!-+\--?A-~]{1,190}@[a-z0-9.-]{1,63}$/i;

/** @param source the setting in use, for the message @throws Fault PERMISSION_DENIED */
export function identityOf(given: string, groups: readonly string[], source: string): Identity {
  if (!email.test(given)) throw signInRefusal(`${source} names a person by something that is no e-mail address`);
  return { email: given.toLowerCase(), groups };
}

/** @param source the section with the rules @throws Fault PERMISSION_DENIED without a rule */
export function authorizePerson(identity: Identity, rules: readonly PersonRule[], source: string): AuthorizedPerson {
  const rule = rules.find((each) => fits(each, identity));
  if (!rule) throw signInRefusal(`No rule in ${source}.roles of the configuration file gives ${identity.email} a role`);
  const { role, workspace = "", account } = rule;
  return { email: identity.email, workspace, account, role, rule: describeRule(rule) };
}

export const describeRule = ({ user, group, role, workspace = "", account }: PersonRule): string =>
  JSON.stringify([user ?? null, group ?? null, role, workspace, account]);

function fits({ user, group }: PersonRule, identity: Identity): boolean {
  if (group !== undefined) return identity.groups.includes(group);
  if (user === undefined) return false;
  return user.startsWith("*@") ? identity.email.endsWith(user.slice(1)) : identity.email === user;
}

export const signInRefusal = (message: string): Fault =>
  new Fault(FaultReason.PERMISSION_DENIED, message, { origin: FaultOrigin.CLIENT });
