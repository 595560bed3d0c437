/** The reason why an MCP server gave no result. Its message is fit for models and clients: it reveals nothing about private networks. */
export class McpFailure extends Error {
  /** Status of the response that refused the request. */
  readonly status: number | undefined;
  /** True when a part of the message was written by the server. */
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
