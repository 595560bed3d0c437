/** A web page after reading. */
export interface Page {
  /** The final URL after redirects. */
  readonly url: string;
  /** Empty when the page has none. */
  readonly title: string;
  /** Markdown, or the page's own text format. */
  readonly text: string;
  readonly status: number;
  /** True when the text was truncated. */
  readonly isCut: boolean;
}
