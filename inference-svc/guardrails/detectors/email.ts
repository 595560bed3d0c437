/** Addresses of e-mail (RFC 5321 lengths), told from handles, logins in URLs, packages with versions and names of files. */
import { type Window, finderOf } from "./candidates.ts";
import type { Detector } from "./detector.ts";
import { including, wordUnits } from "./units.ts";

const longestLocal = 64;
const longestDomain = 255;

const ofLocal = including(wordUnits, ".%+-'&");
const ofDomain = including(wordUnits, ".-");

/** At least two labels, the last of letters: with no dot it is a login, with digits a version. */
const domain = /^(?:[\p{L}\d](?:[\p{L}\d-]{0,61}[\p{L}\d])?\.)+(?:xn--[a-z\d-]{2,59}|\p{L}{2,24})(?![\p{L}\d])/iu;

/** Ends of names that are no domains: pictures at double size, units of a system, sources. */
const notDomains =
  /\.(?:png|jpe?g|gif|svg|webp|ico|css|s[ac]ss|jsx?|tsx|json|ya?ml|html?|txt|pdf|exe|dll|tar|gz|service|socket|timer|target|mount|scope|slice|lock)$/i;

/** What stands between a scheme and a login or password. */
const userInfo = /:\/\/[^\s/@]*$/;
const reach = 80;

function match(text: Window, start: number): number | undefined {
  const at = text.run(start, ofLocal, longestLocal + 1);
  if (text.at(at) !== 0x40 || at - start > longestLocal) return undefined;
  const before = text.at(at - 1);
  if (before === 0x2e) return undefined;
  const run = text.run(at + 1, ofDomain, longestDomain);
  const name = domain.exec(text.slice(at + 1, run))?.[0];
  if (name === undefined || notDomains.test(name)) return undefined;
  const end = at + 1 + name.length;
  return isLogin(text, start, at, end) ? undefined : end;
}

/** `git@github.com:org/repository` and `https://name:word@host`. */
function isLogin(text: Window, start: number, at: number, end: number): boolean {
  if (text.at(end) === 0x40) return true;
  if (text.at(end) === 0x3a && text.slice(start, at) === "git") return true;
  return userInfo.test(text.before(start, reach));
}

export const email: Detector = {
  slug: "email",
  engine: "format",
  finder: finderOf({
    behind: reach,
    ahead: longestLocal + longestDomain + 2,
    first: wordUnits,
    notAfter: including(wordUnits, "@"),
    match,
  }),
};
