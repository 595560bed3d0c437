/** A web page after reading. */
export interface Page {
  /** The final URL after redirects. */
  readonly url: string;
  /** Title of the page; empty when it has none. */
  readonly title: string;
  /** Text of the page: Markdown, or the page's own text format. */
  readonly text: string;
  readonly status: number;
  /** Whether the text was truncated. */
  readonly isCut: boolean;
}
