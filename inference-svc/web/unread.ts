/** Why a page was not read, in words that a model may be told: nothing in them says what stands behind the house's own walls. */
export class Unread extends Error {
  /** With which the page was answered, where that is why. */
  readonly status: number | undefined;

  constructor(message: string, { status, ...options }: ErrorOptions & { readonly status?: number } = {}) {
    super(message, options);
    this.status = status;
  }
}
