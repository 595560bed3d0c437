/** An error with the reason why a page was not read. Its message may be shown to models: it reveals nothing about private networks. */
export class PageUnreadable extends Error {
  /** HTTP error status of the response, if this is the reason; else undefined. */
  readonly status: number | undefined;

  constructor(message: string, { status, ...options }: ErrorOptions & { readonly status?: number } = {}) {
    super(message, options);
    this.status = status;
  }
}
