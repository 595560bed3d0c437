/**
 * An error with the reason why an MCP server gave no result. Its message may be shown to models and clients: it reveals
 * nothing about private networks.
 */
export class McpFailure extends Error {
  /** HTTP status of the server's error response; undefined without a response. */
  readonly status: number | undefined;
  /** Whether part of the message comes from the server. */
  readonly isQuoted: boolean;

  constructor(
    message: string,
    {
      status,
      isQuoted = false,
      ...options
    }: ErrorOptions & { readonly status?: number; readonly isQuoted?: boolean } = {},
  ) {
    super(message, options);
    this.status = status;
    this.isQuoted = isQuoted;
  }
}
