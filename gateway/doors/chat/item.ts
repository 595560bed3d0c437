/** Output items in the form needed for completions. */
export interface Annotation {
  readonly type: string;
  readonly start_index?: number;
  readonly end_index?: number;
  readonly url?: string;
  readonly title?: string;
  readonly content?: string;
}

export interface OutputPart {
  readonly type: string;
  readonly text?: string;
  readonly refusal?: string;
  readonly annotations?: readonly Annotation[];
  readonly logprobs?: readonly unknown[];
}

export interface OutputItem {
  readonly type: string;
  readonly id: string;
  readonly call_id?: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly input?: string;
  /** The image of an image item, in base64 or as an address. */
  readonly result?: string | null;
  readonly content?: readonly OutputPart[] | null;
  readonly summary?: readonly OutputPart[] | null;
  readonly format?: string | null;
  readonly signature?: string | null;
  readonly encrypted_content?: string | null;
}

const noParts: readonly OutputPart[] = [];

/** The parts of a message, or the raw reasoning of a reasoning item. */
export const contentOf = ({ content }: OutputItem): readonly OutputPart[] =>
  Array.isArray(content) ? content : noParts;

export const summariesOf = ({ summary }: OutputItem): readonly OutputPart[] =>
  Array.isArray(summary) ? summary : noParts;

export const isRefusal = ({ type }: OutputPart): boolean => type === "refusal";

/** The text of a part of any kind. */
export const visibleText = ({ text, refusal }: OutputPart): string => text ?? refusal ?? "";

/** Calls for the client. Calls of server tools and of providers' tools are not shown. */
export const isClientCall = ({ type }: OutputItem): boolean => type === "function_call" || type === "custom_tool_call";

/** The image of an item as a URL; undefined for any other item. */
export function imageUrl({ type, result }: OutputItem): string | undefined {
  if (!type.includes("image_generation") || typeof result !== "string" || result === "") return undefined;
  return /^(?:https?|data):/i.test(result.slice(0, 6)) ? result : `data:image/${formatOf(result)};base64,${result}`;
}

/** Image formats by the first characters of their base64. */
const heads: readonly (readonly [string, string])[] = [
  ["iVBOR", "png"],
  ["/9j/", "jpeg"],
  ["UklGR", "webp"],
  ["R0lGOD", "gif"],
];

const formatOf = (base64: string): string => heads.find(([head]) => base64.startsWith(head))?.[1] ?? "png";

/** @param url of the image @param index among the images of the answer */
export const imageJson = (url: string, index: number): string =>
  `{"type":"image_url","image_url":{"url":${JSON.stringify(url)}},"index":${index}}`;

/**
 * A citation in the form of completions; undefined for annotations without a counterpart.
 * @param offset characters of the answer before the part
 */
export function annotationJson(annotation: Annotation, offset: number): string | undefined {
  if (annotation.type !== "url_citation") return undefined;
  const { url, title, content, start_index: start = 0, end_index: end = 0 } = annotation;
  const citation = JSON.stringify({ url, title, start_index: start + offset, end_index: end + offset, content });
  return `{"type":"url_citation","url_citation":${citation}}`;
}
