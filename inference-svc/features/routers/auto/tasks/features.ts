/** Features of a request for guessing its task: words, pairs of words, and marks of its parts, each as the number of a hash bucket. */
import { type UserRequest, findLastUserRequest, messageText } from "../../../../models/routing/choose/user-messages.ts";
import type { InputItem, Tool, TurnRequest } from "../../../../turn/request.ts";
import { unitAt } from "@sluice/proto/lib/text/unit-at.js";

/** Number of hash buckets. Different words may share one; only some thousand have a weight. */
export const featureBuckets = 16_384;

/**
 * Number of words read at the start of each message. The instruction is at the beginning or the end, and the text to
 * which it refers is in between.
 */
const firstWords = 60;
const lastWords = 40;
/** Number of characters at the end of a message in which words are read. */
const lastCharacters = 1_000;
/** Number of words of the system instructions read; many requests share the same instructions. */
const instructionWords = 80;
/** Characters read at each end of a text; the middle of a longer text is skipped. */
const endCharacters = 8_192;

export interface TaskFeatures {
  /** Text of the user's last request. */
  readonly text: string;
  readonly instructions: string;
  /** Properties of the request, such as `tools`, `image` or `long`. */
  readonly marks: ReadonlySet<string>;
}

export function extractTaskFeatures(request: TurnRequest): TaskFeatures {
  const { input } = request;
  const userRequest = findLastUserRequest(input);
  const text = ends(userRequest.text);
  const leading = input.find(({ type, role }) => type === "message" && (role === "system" || role === "developer"));
  const instructions = ends(request.instructions ?? messageText(leading?.content));
  return { text, instructions, marks: new Set([...marksOfRequest(request, userRequest), ...marksOfText(text)]) };
}

/** The buckets of a request's features, without duplicates. */
export function bucketsOf({ text, instructions, marks }: TaskFeatures): ReadonlySet<number> {
  const found = new Set<number>();
  for (const mark of marks) found.add(bucketOf("#", mark));
  const words = wordsOf(text, firstWords + lastWords + 1);
  if (words[0] !== undefined) found.add(bucketOf("^", words[0]));
  const isLonger = words.length > firstWords + lastWords;
  add(found, "", isLonger ? words.slice(0, firstWords) : words);
  if (isLonger) add(found, "", wordsOf(text.slice(-lastCharacters)).slice(-lastWords));
  add(found, "i", wordsOf(instructions, instructionWords));
  return found;
}

function add(found: Set<number>, kind: string, words: readonly string[]): void {
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as string;
    found.add(bucketOf(kind, word));
    if (index > 0) found.add(bucketOf(kind, `${words[index - 1]} ${word}`));
  }
}

/** Matches words, single signs, and the letters of scripts without spaces. */
const word = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]|[\p{L}\p{M}]{1,40}|\p{N}{1,40}|[?^*=+<>{}$|]/gu;

/** @param most maximum number of words, counted from the start */
function wordsOf(text: string, most = Number.POSITIVE_INFINITY): readonly string[] {
  const words: string[] = [];
  for (const [found] of text.toLowerCase().matchAll(word)) {
    if (words.length >= most) break;
    words.push(found);
  }
  return words;
}

/** Bucket of a feature: the FNV-1a hash of its UTF-16 units. */
function bucketOf(kind: string, text: string): number {
  let hash = 0x811c_9dc5;
  const whole = `${kind} ${text}`;
  for (let index = 0; index < whole.length; index++) hash = Math.imul(hash ^ unitAt(whole, index), 0x0100_0193);
  return (hash ^ (hash >>> 15)) & (featureBuckets - 1);
}

/**
 * Patterns for marks of a text, such as code or questions. No part of a pattern can match the beginning of the next
 * part, so all run in linear time.
 */
const signs: readonly (readonly [mark: string, form: RegExp])[] = [
  ["fence", /^[ \t]*```/m],
  [
    "code",
    /[;{}][ \t]*$|=>|\b(?:def|class|func|fn|function)\s\w{1,40}\s?[({:]|^(?:import|from|#include|using|package)\s/m,
  ],
  ["diff", /^(?:@@ |diff --git |--- a\/|\+\+\+ b\/)/m],
  ["trace", /Traceback \(most recent|^[ \t]+at .{1,200}:\d|\w(?:Error|Exception)\b[: ]|\bpanic: /m],
  ["sql", /\bselect\b[^]{1,200}\bfrom\b|\b(?:create table|insert into|group by|left join)\b/i],
  ["shell", /^\$ |\b(?:sudo|chmod|grep|awk|kubectl|docker|systemctl|bash|git)\b/m],
  ["markup", /<\/?(?:div|span|p|a|ul|li|button|form|input|html|body|script|style)\b/i],
  ["formula", /\\(?:frac|int|sum|sqrt)|[∑∫√≤≥≠±∞π]|[a-z]\s?\^\s?\d|\d\s?[-+*/]\s?\d{1,20}\s?=/],
  ["numbers", /\b\d{1,20}\b[^\d]{1,60}\b\d{1,20}\b[^\d]{1,60}\b\d/],
  ["link", /https?:\/\//],
  ["question", /\?\s{0,9}$/],
  ["action", /^[ \t]*\*[^*\n]{1,200}\*/m],
  // Matches an instruction, a colon, and the text to which the instruction refers.
  ["given", /:\s\S[^\n]{25}/],
  ["quote", /["“„«][^"“”„«»\n]{1,80}["“”»]/],
  [
    "tongue",
    /\b(?:english|french|german|spanish|italian|portuguese|dutch|russian|chinese|japanese|korean|arabic|polish|turkish|swedish|greek|hindi|latin|englisch|französisch|deutsch|spanisch|italienisch|anglais|français|allemand|espagnol|inglés|francés|alemán|español)\b/i,
  ],
  ["paragraphs", /\n[ \t]*\n[^]{1,2000}\n[ \t]*\n/],
];

function marksOfText(text: string): readonly string[] {
  const marks = signs.flatMap(([mark, form]) => (form.test(text) ? [mark] : []));
  if (text.length > 1_500) marks.push("long");
  if (text.length < 30) marks.push("short");
  return marks;
}

const edits: ReadonlySet<string> = new Set(["apply_patch", "shell", "local_shell", "bash"]);
const browses = /^(?:web_search|service:web_search|service:web_fetch|computer)/;
const editing =
  /(?:edit|write|patch|create)_?file|str_replace|apply_patch|^bash$|run_(?:command|terminal)|execute_command/i;
const browsing = /search|browse|navigate|fetch|click|screenshot/i;

function marksOfRequest({ input, tools, textFormat }: TurnRequest, { message }: UserRequest): readonly string[] {
  const marks: string[] = [];
  if (tools.length > 0) marks.push("tools");
  if (tools.some(isEditing)) marks.push("edits");
  if (tools.some(isBrowsing)) marks.push("browses");
  if (input.some(({ type }) => type.endsWith("_output"))) marks.push("result");
  if (textFormat !== undefined && textFormat.type !== "text") marks.push("schema");
  if (input.some((item) => item !== message && item.type === "message" && item.role === "user")) marks.push("turns");
  const kinds = new Set(partsOf(message).map(({ type }) => type));
  if (kinds.has("input_image")) marks.push("image");
  if (kinds.has("input_file")) marks.push("file");
  return marks;
}

const isEditing = (tool: Tool): boolean =>
  tool.type === "hosted" ? edits.has(tool.kind.replace("service:", "")) : editing.test(tool.name);
const isBrowsing = (tool: Tool): boolean =>
  tool.type === "hosted" ? browses.test(tool.kind) : browsing.test(tool.name);

interface Part {
  readonly type?: unknown;
}

const partsOf = (message: InputItem | undefined): readonly Part[] =>
  Array.isArray(message?.["content"]) ? (message["content"] as readonly Part[]) : [];

const ends = (text: string): string =>
  text.length <= 2 * endCharacters ? text : `${text.slice(0, endCharacters)}\n${text.slice(-endCharacters)}`;
