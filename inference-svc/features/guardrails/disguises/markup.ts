/**
 * Recognizes markup a page does not show, so the text on both sides reads as one: HTML tags and comments, link targets,
 * and Markdown signs. It accepts more than browsers and CommonMark do, since the raw text is scanned as well.
 */
import { type DecodedEscape } from "./entities.ts";

/** Maximum UTF-16 units of a tag, comment or link target, and so of the text held back until its end comes. */
export const maxMarkupLength = 1_024;
/**
 * Maximum UTF-16 units of a tag with signs that are rare in tags, such as in a loop condition (`i<n; i++`), and of a
 * data URL as link target.
 */
const maxOddMarkup = 64;

/** Characters with which markup may start. */
export const markupStarts = "<[]*`~_\\";

const noText: DecodedEscape = { length: 1, decoded: "" };

/**
 * Reads the markup at the start of the text, with the text a page shows for it. "open" means that further text decides.
 * @param text starts with one of `markupStarts` and has at most `maxMarkupLength` units
 * @param isOver whether no text follows
 * @param isBehindWord whether a letter or digit precedes it; for underscores, whether one precedes the whole run
 */
export function readMarkup(text: string, isOver: boolean, isBehindWord: boolean): DecodedEscape | "open" | undefined {
  const goesOn = !isOver && text.length < maxMarkupLength;
  switch (text.charAt(0)) {
    case "<":
      return readTag(text, goesOn);
    case "]":
      return readLinkEnd(text, goesOn);
    case "_":
      return isBehindWord ? readUnderscore(text, goesOn) : noText;
    case "\\":
      return readEscapedSign(text, goesOn);
    default:
      return noText;
  }
}

const asMarkup = (length: number): DecodedEscape => ({ length, decoded: "" });
const openIf = (goesOn: boolean): "open" | undefined => (goesOn ? "open" : undefined);

const halfCharacter = /^[\ud800-\udbff]$/;

/** Reads a run of underscores. Between letters, it belongs to a name (`snake_case`). */
function readUnderscore(text: string, goesOn: boolean): DecodedEscape | "open" | undefined {
  const next = /^_+(.?)/su.exec(text)?.[1] ?? "";
  if (goesOn && (next === "" || halfCharacter.test(next))) return "open";
  return /[\p{L}\p{N}]/u.test(next) ? undefined : noText;
}

/** Reads a backslash with the sign after it, which Markdown shows as it is. */
function readEscapedSign(text: string, goesOn: boolean): DecodedEscape | "open" | undefined {
  if (text === "\\") return openIf(goesOn);
  return /^\\[!-/:-@[-`{-~]/.test(text) ? { length: 2, decoded: text.charAt(1) } : undefined;
}

/** Matches names of HTML elements a page separates from the text around them. */
const separating =
  /^<\/?(?:address|article|aside|blockquote|body|br|center|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6]|head|header|hgroup|hr|html|legend|li|main|menu|nav|ol|optgroup|option|p|pre|search|section|select|summary|table|tbody|td|tfoot|th|thead|title|tr|ul)(?=[\s/>])/i;
const space = /\s/;
/** Matches the units of a tag outside of quotes. */
const tagUnits = /[\w:./=?%#&-]|\s/;

function readTag(text: string, goesOn: boolean): DecodedEscape | "open" | undefined {
  if (text.startsWith("<!--")) return readComment(text, goesOn);
  if (/^<(?:!-?|\/)?$/.test(text)) return openIf(goesOn);
  if (/^<(?:[!?]|\/[^A-Za-z])/.test(text)) return readDeclaration(text, goesOn);
  return /^<\/?[A-Za-z]/.test(text) && !separating.test(text) ? readElement(text, goesOn) : undefined;
}

function readComment(text: string, goesOn: boolean): DecodedEscape | "open" | undefined {
  const empty = /^<!---?>/.exec(text)?.[0];
  if (empty !== undefined) return asMarkup(empty.length);
  const ends = ["-->", "--!>"].flatMap((end) => (text.includes(end, 4) ? text.indexOf(end, 4) + end.length : []));
  return ends.length > 0 ? asMarkup(Math.min(...ends)) : openIf(goesOn);
}

/** Reads a declaration, or what browsers treat as a comment instead of a tag. */
function readDeclaration(text: string, goesOn: boolean): DecodedEscape | "open" | undefined {
  const at = text.indexOf(">");
  if (at !== -1) return at < maxOddMarkup ? asMarkup(at + 1) : undefined;
  return text.length < maxOddMarkup ? openIf(goesOn) : undefined;
}

/** Reads a tag, which ends at the first ">" outside of an attribute's quoted value. */
function readElement(text: string, goesOn: boolean): DecodedEscape | "open" | undefined {
  let quote = "";
  let isValue = false;
  let max = maxMarkupLength;
  let at = 1;
  for (; at < text.length && at < max; at++) {
    const sign = text.charAt(at);
    if (quote !== "") {
      if (sign === quote) quote = "";
    } else if (sign === ">") return asMarkup(at + 1);
    else if (isValue && (sign === '"' || sign === "'")) quote = sign;
    else if (!tagUnits.test(sign)) max = maxOddMarkup;
    isValue = sign === "=" || (isValue && space.test(sign));
  }
  return at < max ? openIf(goesOn) : undefined;
}

/** Reads the end of a link's text with its target; without a target, it is only a bracket. */
function readLinkEnd(text: string, goesOn: boolean): DecodedEscape | "open" {
  if (text === "]") return goesOn ? "open" : noText;
  const end = text.startsWith("](")
    ? readTarget(text, goesOn)
    : text.startsWith("][")
      ? readLabel(text, goesOn)
      : noText;
  return end ?? noText;
}

function readLabel(text: string, goesOn: boolean): DecodedEscape | "open" | undefined {
  const length = 2 + (/^(?:[^[\]\\]|\\[^])*/.exec(text.slice(2))?.[0].length ?? 0);
  const next = text.slice(length);
  if (next.startsWith("]")) return asMarkup(length + 1);
  return next === "" || next === "\\" ? openIf(goesOn) : undefined;
}

/** Maximum nesting of parentheses in a link target, the number that CommonMark requires. */
const maxDepth = 32;

/** Reads a link target. It ends at its closing parenthesis outside of quotes and angle brackets, and contains no empty line. */
function readTarget(text: string, goesOn: boolean): DecodedEscape | "open" | undefined {
  const max = /^\]\(<?data:/i.test(text) ? maxOddMarkup : maxMarkupLength;
  let depth = 0;
  let quote = "";
  for (let at = 1; at < text.length && at < max; at++) {
    const sign = text.charAt(at);
    if (sign === "\n" && /^[ \t]*\n/.test(text.slice(at + 1, at + 9))) return undefined;
    if (sign === "\\") at++;
    else if (quote !== "") {
      if (sign === quote) quote = "";
      else if (quote === ">" && /[<\n]/.test(sign)) return undefined;
    } else if (space.test(text.charAt(at - 1)) && /["']/.test(sign)) quote = sign;
    else if (at === 2 && sign === "<") quote = ">";
    else if (sign === "(" && ++depth > maxDepth) return undefined;
    else if (sign === ")" && --depth === 0) return asMarkup(at + 1);
  }
  return openIf(goesOn && text.length < max);
}
