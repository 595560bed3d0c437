/** The members of output items used for completions. */
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
  /** Image of an image item: base64, or a URL. */
  readonly result?: string | null;
  readonly content?: readonly OutputPart[] | null;
  readonly summary?: readonly OutputPart[] | null;
  readonly format?: string | null;
  readonly signature?: string | null;
  readonly encrypted_content?: string | null;
}

const noParts: readonly OutputPart[] = [];

/** The parts of a message, or of raw reasoning. */
export const contentOf = ({ content }: OutputItem): readonly OutputPart[] =>
  Array.isArray(content) ? content : noParts;

export const summariesOf = ({ summary }: OutputItem): readonly OutputPart[] =>
  Array.isArray(summary) ? summary : noParts;

export const isRefusal = ({ type }: OutputPart): boolean => type === "refusal";

/** The text of a part: its text, or its refusal. */
export const visibleText = ({ text, refusal }: OutputPart): string => text ?? refusal ?? "";

/** Whether an item is a call for the client. Calls of server tools and of the provider's own tools are not shown in completions. */
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

/** An image in a message as JSON. @param index number of the image in the answer */
export const imageJson = (url: string, index: number): string =>
  `{"type":"image_url","image_url":{"url":${JSON.stringify(url)}},"index":${index}}`;

/**
 * A citation in the form of completions; undefined for annotations without a counterpart.  @param offset number of characters in the answer before
 * the part with the citation
 */
export function annotationJson(annotation: Annotation, offset: number): string | undefined {
  if (annotation.type !== "url_citation") return undefined;
  const { url, title, content, start_index: start = 0, end_index: end = 0 } = annotation;
  const citation = JSON.stringify({ url, title, start_index: start + offset, end_index: end + offset, content });
  return `{"type":"url_citation","url_citation":${citation}}`;
}
