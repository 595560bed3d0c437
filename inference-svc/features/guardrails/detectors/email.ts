/** Detects e-mail addresses (lengths by RFC 5321), but not user handles, logins in URLs, package versions and file names. */
import { type CandidateWindow, buildFinder } from "./candidates.ts";
import type { BuiltinDetector } from "./detector.ts";
import { extendSet, wordUnits } from "./unit-sets.ts";

const maxLocal = 64;
const maxDomain = 255;

const localUnits = extendSet(wordUnits, ".%+-'&");
const domainUnits = extendSet(wordUnits, ".-");

/** Matches a domain of at least two labels, the last of letters: the host of a login often has no dot, and a package version ends in digits. */
const domain = /^(?:[\p{L}\d](?:[\p{L}\d-]{0,61}[\p{L}\d])?\.)+(?:xn--[a-z\d-]{2,59}|\p{L}{2,24})(?![\p{L}\d])/iu;

/** Matches endings of file names and systemd units, such as `icon@2x.png`. */
const notDomain =
  /\.(?:png|jpe?g|gif|svg|webp|ico|css|s[ac]ss|jsx?|tsx|json|ya?ml|html?|txt|pdf|exe|dll|tar|gz|service|socket|timer|target|mount|scope|slice|lock)$/i;

/** Matches the text between a URL's scheme and its login or password. */
const userInfo = /:\/\/[^\s/@]*$/;
const reach = 80;

function match(text: CandidateWindow, start: number): number | undefined {
  const at = text.run(start, localUnits, maxLocal + 1);
  if (text.at(at) !== 0x40 || at - start > maxLocal) return undefined;
  const before = text.at(at - 1);
  if (before === 0x2e) return undefined;
  const run = text.run(at + 1, domainUnits, maxDomain);
  const name = domain.exec(text.slice(at + 1, run))?.[0];
  if (name === undefined || notDomain.test(name)) return undefined;
  const end = at + 1 + name.length;
  return isLogin(text, start, at, end) ? undefined : end;
}

/** Whether the match is the login of an address, as in `git@github.com:org/repository` and `https://name:word@host`. */
function isLogin(text: CandidateWindow, start: number, at: number, end: number): boolean {
  if (text.at(end) === 0x40) return true;
  if (text.at(end) === 0x3a && text.slice(start, at) === "git") return true;
  return userInfo.test(text.before(start, reach));
}

export const email: BuiltinDetector = {
  slug: "email",
  engine: "format",
  finder: buildFinder({
    behind: reach,
    ahead: maxLocal + maxDomain + 2,
    first: wordUnits,
    notAfter: extendSet(wordUnits, "@"),
    match,
  }),
};
