/**
 * Markup that a page shows nothing of, so that a reader sees the words on both sides of it as one: tags and comments of HTML, targets of links, and
 * the signs of Markdown. Taken is what browsers and Markdown take, and somewhat more; a text is read as it is, too.
 */
import { type Escape } from "./entities.ts";

/** Longest tag, comment or link target, in UTF-16 units: so much of an answer waits until it is whole. */
export const maxMarkup = 1_024;
/** Longest tag with signs in it that tags hardly have, such as a condition of a program (`i<n; i++`), and longest picture as a link's target. */
const maxOddMarkup = 64;

/** Signs with which markup begins. */
export const markupSigns = "<[]*`~_\\";

const none: Escape = { length: 1, said: "" };

/**
 * The markup at the beginning of a text, with the text that is shown for it; "open" when it depends on what comes next.
 * @param text begins with one of `markupSigns`, no more than `maxMarkup`
 * @param isOver whether nothing comes behind the text
 * @param isBehindWord whether a letter or number stands before it, or before the underscores of which it is one
 */
export function markupIn(text: string, isOver: boolean, isBehindWord: boolean): Escape | "open" | undefined {
  const goesOn = !isOver && text.length < maxMarkup;
  switch (text.charAt(0)) {
    case "<":
      return tagIn(text, goesOn);
    case "]":
      return linkEndIn(text, goesOn);
    case "_":
      return isBehindWord ? underscoreIn(text, goesOn) : none;
    case "\\":
      return escapedSignIn(text, goesOn);
    default:
      return none;
  }
}

const wholeWith = (length: number): Escape => ({ length, said: "" });
const openOr = (goesOn: boolean): "open" | undefined => (goesOn ? "open" : undefined);

/** Between letters it is one of a name (`snake_case`). */
function underscoreIn(text: string, goesOn: boolean): Escape | "open" | undefined {
  const next = /^_+(.?)/su.exec(text)?.[1] ?? "";
  if (next === "" && goesOn) return "open";
  return /[\p{L}\p{N}]/u.test(next) ? undefined : none;
}

/** Markdown shows a sign behind a backslash as it is. */
function escapedSignIn(text: string, goesOn: boolean): Escape | "open" | undefined {
  if (text === "\\") return openOr(goesOn);
  return /^\\[!-/:-@[-`{-~]/.test(text) ? { length: 2, said: text.charAt(1) } : undefined;
}

/** Elements that stand apart from the text around them. */
const separating =
  /^<\/?(?:address|article|aside|blockquote|body|br|center|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6]|head|header|hgroup|hr|html|legend|li|main|menu|nav|ol|optgroup|option|p|pre|search|section|select|summary|table|tbody|td|tfoot|th|thead|title|tr|ul)(?=[\s/>])/i;
const space = /\s/;
/** Signs of a tag outside of quotes. */
const ofTags = /[\w:./=?%#&-]|\s/;

function tagIn(text: string, goesOn: boolean): Escape | "open" | undefined {
  if (text.startsWith("<!--")) return commentIn(text, goesOn);
  if (/^<(?:!-?|\/)?$/.test(text)) return openOr(goesOn);
  if (/^<(?:[!?]|\/[^A-Za-z])/.test(text)) return declarationIn(text, goesOn);
  return /^<\/?[A-Za-z]/.test(text) && !separating.test(text) ? elementIn(text, goesOn) : undefined;
}

function commentIn(text: string, goesOn: boolean): Escape | "open" | undefined {
  const empty = /^<!---?>/.exec(text)?.[0];
  if (empty !== undefined) return wholeWith(empty.length);
  const ends = ["-->", "--!>"].flatMap((end) => (text.includes(end, 4) ? text.indexOf(end, 4) + end.length : []));
  return ends.length > 0 ? wholeWith(Math.min(...ends)) : openOr(goesOn);
}

/** A declaration, or another comment that browsers make of what is no tag. */
function declarationIn(text: string, goesOn: boolean): Escape | "open" | undefined {
  const at = text.indexOf(">");
  if (at !== -1) return at < maxOddMarkup ? wholeWith(at + 1) : undefined;
  return text.length < maxOddMarkup ? openOr(goesOn) : undefined;
}

/** A tag ends at the first ">" that is not in the quoted value of an attribute. */
function elementIn(text: string, goesOn: boolean): Escape | "open" | undefined {
  let quote = "";
  let isValue = false;
  let max = maxMarkup;
  let at = 1;
  for (; at < Math.min(text.length, max); at++) {
    const sign = text.charAt(at);
    if (quote !== "") {
      if (sign === quote) quote = "";
    } else if (sign === ">") return wholeWith(at + 1);
    else if (isValue && (sign === '"' || sign === "'")) quote = sign;
    else if (!ofTags.test(sign)) max = maxOddMarkup;
    isValue = sign === "=" || (isValue && space.test(sign));
  }
  return at < max ? openOr(goesOn) : undefined;
}

/** The end of a link's text, with its target; without one it is a bracket. */
function linkEndIn(text: string, goesOn: boolean): Escape | "open" {
  if (text === "]") return goesOn ? "open" : none;
  const end = text.startsWith("](") ? targetIn(text, goesOn) : text.startsWith("][") ? labelIn(text, goesOn) : none;
  return end ?? none;
}

function labelIn(text: string, goesOn: boolean): Escape | "open" | undefined {
  const length = 2 + (/^(?:[^[\]\\]|\\[^])*/.exec(text.slice(2))?.[0].length ?? 0);
  const next = text.slice(length);
  if (next.startsWith("]")) return wholeWith(length + 1);
  return next === "" || next === "\\" ? openOr(goesOn) : undefined;
}

/** Parentheses within a target that Markdown takes at least. */
const maxDepth = 32;

/** A target ends at the parenthesis that closes it, quotes of a title and angle brackets apart; no empty line stands in it. */
function targetIn(text: string, goesOn: boolean): Escape | "open" | undefined {
  const max = /^\]\(<?data:/i.test(text) ? maxOddMarkup : maxMarkup;
  let depth = 0;
  let quote = "";
  for (let at = 1; at < Math.min(text.length, max); at++) {
    const sign = text.charAt(at);
    if (sign === "\n" && /^[ \t]*\n/.test(text.slice(at + 1, at + 9))) return undefined;
    if (sign === "\\") at++;
    else if (quote !== "") {
      if (sign === quote) quote = "";
      else if (quote === ">" && /[<\n]/.test(sign)) return undefined;
    } else if (space.test(text.charAt(at - 1)) && /["']/.test(sign)) quote = sign;
    else if (at === 2 && sign === "<") quote = ">";
    else if (sign === "(" && ++depth > maxDepth) return undefined;
    else if (sign === ")" && --depth === 0) return wholeWith(at + 1);
  }
  return openOr(goesOn && text.length < max);
}
