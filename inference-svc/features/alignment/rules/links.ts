/** Alignment rules about links. */
import { type Template, lastingRule, mustPhrase, neverPhrase, replyPhrase, visibleTextOf } from "./rule.ts";

/** Matches a URL with a scheme, or a host with `www.` or a path. */
const address =
  /\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s<>"'`\])}]+|\bwww\.[^\s<>"'`\])}]+|(?<![\w@.-])(?:[a-z0-9-]+\.)+[a-z]{2,}\/[^\s<>"'`\])}]*/gi;
/** Matches a Markdown or HTML link to any target. */
const link = /\]\([^)\s]|<a\s/i;

const hostOf = (url: string): string | undefined => {
  try {
    return new URL(url.includes("://") ? url : `https://${url}`).hostname.toLowerCase().replace(/\.$/, "");
  } catch {
    return undefined;
  }
};

const links = "(?:urls?|links?|web addresses)";
const domain = "[a-z0-9-]+(?:\\.[a-z0-9-]+)+";
const domains = `["'\`]?(${domain}(?:["'\`]?(?:,? or |,? and |, )["'\`]?${domain})*)["'\`]?`;

export const linkTemplates: readonly Template[] = [
  {
    form: new RegExp(`(?:${neverPhrase} (?:use|write|include|mention|give)|no)(?: any| an?)? ${links}`),
    read: () =>
      lastingRule((message) => {
        const text = visibleTextOf(message);
        return link.test(text) || text.search(address) !== -1;
      }),
  },
  {
    form: new RegExp(
      `(?:only ${links}|only (?:use|write|include|mention|give|link to)(?: ${links})?|${replyPhrase} ${mustPhrase} only (?:use|include|contain) ${links}|(?:all|every|any) ${links} ${mustPhrase} be)` +
        `(?: (?:of|from|to|on|at|in))?(?: (?:the )?domains?)? ${domains}`,
    ),
    read: ([list = ""]) => {
      const allowed = list.toLowerCase().match(new RegExp(domain, "g")) ?? [];
      const isAllowed = (host: string) => allowed.some((name) => host === name || host.endsWith(`.${name}`));
      const isOther = (url: string): boolean => {
        const host = hostOf(url);
        return host === undefined || !isAllowed(host);
      };
      return {
        isTotal: true,
        isBroken: (message) => (visibleTextOf(message).match(address) ?? []).some(isOther),
        // An address at the end of the text may continue, so it does not count yet.
        isBrokenForGood: ({ content }) =>
          content !== null &&
          [...content.matchAll(address)].some(
            ({ 0: url, index }) => index + url.length < content.length && isOther(url),
          ),
      };
    },
  },
];
