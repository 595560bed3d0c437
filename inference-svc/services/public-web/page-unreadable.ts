/** The reason why a page was not read. The message is safe for models: it reveals nothing about private networks. */
export class PageUnreadable extends Error {
  /** Error status of the response, if that is the reason. */
  readonly status: number | undefined;

  constructor(message: string, { status, ...options }: ErrorOptions & { readonly status?: number } = {}) {
    super(message, options);
    this.status = status;
  }
}
